// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/bpf/verifier_state.h"

#include <algorithm>
#include <bit>
#include <map>

namespace rkperf::ke {

Tnum tnum_const(std::uint64_t v) { return {v, 0}; }

Tnum tnum_range(std::uint64_t min, std::uint64_t max) {
    const std::uint64_t differ = min ^ max;
    const int bits = 64 - std::countl_zero(differ);
    if (bits > 63) return {0, ~std::uint64_t{0}};
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    return {min & ~mask, mask};
}

Tnum tnum_add(Tnum a, Tnum b) {
    // A carry that may or may not come makes every bit unknown that it may reach.
    const std::uint64_t least = a.value + b.value, most = least + a.mask + b.mask;
    const std::uint64_t unknown = (least ^ most) | a.mask | b.mask;
    return {least & ~unknown, unknown};
}

Tnum tnum_sub(Tnum a, Tnum b) {
    const std::uint64_t diff = a.value - b.value;
    const std::uint64_t unknown = ((diff + a.mask) ^ (diff - b.mask)) | a.mask | b.mask;
    return {diff & ~unknown, unknown};
}

Tnum tnum_and(Tnum a, Tnum b) {
    const std::uint64_t maybe_a = a.value | a.mask, maybe_b = b.value | b.mask, sure = a.value & b.value;
    return {sure, maybe_a & maybe_b & ~sure};
}

Tnum tnum_or(Tnum a, Tnum b) {
    const std::uint64_t sure = a.value | b.value;
    return {sure, (a.mask | b.mask) & ~sure};
}

Tnum tnum_xor(Tnum a, Tnum b) {
    const std::uint64_t unknown = a.mask | b.mask;
    return {(a.value ^ b.value) & ~unknown, unknown};
}

Tnum tnum_lshift(Tnum a, unsigned n) { return {a.value << n, a.mask << n}; }
Tnum tnum_rshift(Tnum a, unsigned n) { return {a.value >> n, a.mask >> n}; }

Tnum tnum_intersect(Tnum a, Tnum b) {
    const std::uint64_t mask = a.mask & b.mask;
    return {(a.value | b.value) & ~mask, mask};
}

void BpfReg::mark_unknown() {
    *this = BpfReg{};
    type = BpfType::scalar;
}

void BpfReg::mark_const(std::uint64_t v) {
    mark_unknown();
    bits = tnum_const(v);
    umin = umax = v;
    smin = smax = static_cast<std::int64_t>(v);
}

void BpfReg::mark_range(std::uint64_t min, std::uint64_t max) {
    mark_unknown();
    umin = min;
    umax = max;
    sync();
}

void BpfReg::mark_pointer(BpfType t) {
    mark_const(0);
    type = t;
}

bool BpfReg::sync() {
    for (int round = 0; round < 2; ++round) {
        umin = std::max(umin, bits.value);
        umax = std::min(umax, bits.value | bits.mask);
        // The sign bit: signed and unsigned bounds agree on either side of it.
        if (static_cast<std::int64_t>(umin) <= static_cast<std::int64_t>(umax) && (umin >> 63) == (umax >> 63)) {
            smin = std::max(smin, static_cast<std::int64_t>(umin));
            smax = std::min(smax, static_cast<std::int64_t>(umax));
        }
        if (smin >= 0 || smax < 0) {
            umin = std::max(umin, static_cast<std::uint64_t>(smin));
            umax = std::min(umax, static_cast<std::uint64_t>(smax));
        }
        if (umin > umax || smin > smax) return false;
        bits = tnum_intersect(bits, tnum_range(umin, umax));
    }
    return (bits.value & bits.mask) == 0 && umin <= umax && smin <= smax;
}

namespace {

/// Which id of the one state stands for which of the other.
using Ids = std::map<std::uint32_t, std::uint32_t>;

bool same_id(std::uint32_t old, std::uint32_t now, Ids& ids) {
    if (!old || !now) return old == now;
    return ids.emplace(old, now).first->second == now;
}

bool within(const BpfReg& old, const BpfReg& now) {
    return old.umin <= now.umin && now.umax <= old.umax && old.smin <= now.smin && now.smax <= old.smax &&
           old.bits.contains(now.bits);
}

bool reg_safe(const BpfReg& old, const BpfReg& now, Ids& ids) {
    if (old.type == BpfType::not_init) return true; // it was not used from there on
    if (old.type != now.type) return false;
    switch (old.type) {
        case BpfType::scalar: return within(old, now);
        case BpfType::map_value: return old.map == now.map && old.off == now.off && within(old, now);
        case BpfType::map_value_or_null:
            return old.map == now.map && old.off == now.off && same_id(old.id, now.id, ids);
        default: return old.map == now.map && old.off == now.off && old.frame == now.frame && within(old, now);
    }
}

bool slot_safe(const BpfSlot& old, const BpfSlot& now, Ids& ids) {
    using Byte = BpfSlot::Byte;
    if (old.is_spill()) return now.is_spill() && reg_safe(old.spilled, now.spilled, ids);
    for (std::size_t i = 0; i < old.bytes.size(); ++i) {
        const Byte o = old.bytes[i], n = now.bytes[i];
        if (o == Byte::invalid || o == n) continue;
        if (o == Byte::misc && (n == Byte::zero || (n == Byte::spill && !now.spilled.is_pointer()))) continue;
        return false;
    }
    return true;
}

} // namespace

bool bpf_states_equal(const BpfState& old, const BpfState& now) {
    if (old.frames.size() != now.frames.size()) return false;
    Ids ids;
    for (std::size_t f = 0; f < old.frames.size(); ++f) {
        const BpfFrame &a = old.frames[f], &b = now.frames[f];
        if (a.return_to != b.return_to || a.subprog_start != b.subprog_start) return false;
        for (std::size_t r = 0; r < a.regs.size(); ++r)
            if (!reg_safe(a.regs[r], b.regs[r], ids)) return false;
        for (std::size_t s = 0; s < a.stack.size(); ++s)
            if (!slot_safe(a.stack[s], b.stack[s], ids)) return false;
    }
    return true;
}

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/decoded_op.h"

#include <bit>

namespace rkperf::cpu {
namespace {

using a64::Insn;
using a64::InsnKind;
using a64::TimingClass;

constexpr std::uint32_t bit(Lane l) { return 1u << index_of(l); }

bool in(TimingClass t, TimingClass first, TimingClass last) { return t >= first && t <= last; }

/// Acquire and release semantics, from the encoding (DDI 0487 C4.1.88: exclusive/ordered and atomic groups).
std::uint32_t ordering(std::uint32_t raw) {
    bool acquire = false, release = false;
    if ((raw & 0x3f000000) == 0x08000000) { // exclusives, LDAR, STLR, CAS
        const bool cas = (raw & 0x00a07c00) == 0x00a07c00 || (raw & 0xbfa07c00) == 0x08207c00;
        const bool l = raw >> 22 & 1, o0 = raw >> 15 & 1;
        acquire = cas ? l : l && o0;
        release = cas ? o0 : !l && o0;
    } else if ((raw & 0x3f200c00) == 0x38200000) { // atomics, LDAPR
        acquire = raw >> 23 & 1;
        release = raw >> 22 & 1;
    }
    return (acquire ? bit(Lane::load_acquire) : 0) | (release ? bit(Lane::store_release) : 0);
}

/// STADD and its like: the atomics that give nothing back (Rt = 31, no acquire) are stores only.
bool is_store_atomic(std::uint32_t raw) { return (raw & 0x3fa08c1f) == 0x3820001f; }

std::uint32_t kind_lanes(const Insn& i) {
    switch (i.kind) {
        case InsnKind::load: return bit(Lane::load) | ordering(i.raw);
        case InsnKind::store: return bit(Lane::store) | ordering(i.raw);
        case InsnKind::load_store:
            return (is_store_atomic(i.raw) ? 0 : bit(Lane::load)) | bit(Lane::store) | ordering(i.raw);
        case InsnKind::exclusive_load: return bit(Lane::load) | bit(Lane::load_exclusive) | ordering(i.raw);
        case InsnKind::exclusive_store: return ordering(i.raw); // store: only if it passes
        case InsnKind::branch_immed:
        case InsnKind::branch_call: return bit(Lane::branch_immed);
        case InsnKind::branch_cond: return bit(Lane::branch_immed) | bit(Lane::branch_cond);
        case InsnKind::branch_indirect:
        case InsnKind::branch_call_indirect: return bit(Lane::branch_indirect);
        case InsnKind::branch_return: return bit(Lane::branch_return);
        case InsnKind::barrier_dmb: return bit(Lane::dmb);
        case InsnKind::barrier_dsb: return bit(Lane::dsb);
        case InsnKind::crypto: return bit(Lane::crypto);
        case InsnKind::fp: return bit(Lane::fp);
        case InsnKind::simd: return bit(Lane::simd);
        case InsnKind::isb:
        case InsnKind::exception: return 0;
        case InsnKind::other: break;
    }
    if (i.timing == TimingClass::prefetch) return bit(Lane::load);
    return in(i.timing, TimingClass::alu, TimingClass::pac) ? bit(Lane::data_processing) : 0;
}

bool is_branch(InsnKind k) { return k >= InsnKind::branch_immed && k <= InsnKind::branch_return; }

bool is_store(const Insn& i) {
    return i.kind == InsnKind::store || i.kind == InsnKind::load_store || i.kind == InsnKind::exclusive_store;
}
bool is_load(const Insn& i) {
    return i.kind == InsnKind::load || i.kind == InsnKind::exclusive_load || i.timing == TimingClass::prefetch;
}

/// Several registers' worth of structure elements: the body may access memory once per element.
bool is_structure(TimingClass t) {
    return in(t, TimingClass::ld1, TimingClass::ld1r) || in(t, TimingClass::st1, TimingClass::st4);
}

bool is_pair(TimingClass t) {
    return t == TimingClass::load_pair || t == TimingClass::load_fp_pair || t == TimingClass::store_pair ||
           t == TimingClass::store_fp_pair;
}

std::uint8_t align_mask(const Insn& i) {
    if (i.mem_bytes < 2 || i.timing == TimingClass::prefetch || i.timing == TimingClass::dc_zva) return 0;
    if (is_structure(i.timing)) {
        // Multiple structures: size in bits 11:10; single structures: scale in bits 15:14 (3: replicate, size 11:10).
        const bool single = (i.raw >> 24 & 1) != 0;
        unsigned scale = i.raw >> 10 & 3;
        if (single && (i.raw >> 14 & 3) != 3) {
            scale = i.raw >> 14 & 3;
            if (scale == 2 && (i.raw >> 10 & 1)) scale = 3;
        }
        return static_cast<std::uint8_t>((1u << scale) - 1);
    }
    const unsigned element = is_pair(i.timing) ? i.mem_bytes / 2u : i.mem_bytes;
    return static_cast<std::uint8_t>(std::bit_floor(element) - 1);
}

bool is_plain(const Insn& i, const OpTiming& t) {
    const bool one = t.uops == 1 && t.occupancy == 1 && t.dst[1] == kReadySink && t.dst[2] == kReadySink;
    if (is_store(i)) return one && t.dst[0] == kReadySink;
    return one && i.src[2] == a64::reg::none && i.src[3] == a64::reg::none;
}

/// Adds, logic, selects and compares, most of which read or write the flags beside their operands.
bool is_flags(const Insn& i, const OpTiming& t) {
    const bool kind = in(i.timing, TimingClass::alu, TimingClass::rev) || i.timing == TimingClass::fp_cmp ||
                      i.timing == TimingClass::fp_csel;
    return kind && t.uops == 1 && t.occupancy == 1 && t.accumulate == 0 && t.dst[2] == kReadySink &&
           i.src[3] == a64::reg::none;
}

OpGroup group_of(const Insn& i, const OpTiming& t) {
    if (is_branch(i.kind)) return OpGroup::branch;
    if (is_store(i)) return OpGroup::store;
    if (is_load(i)) return OpGroup::load;
    if (i.timing >= TimingClass::barrier || i.kind == InsnKind::exception || i.row == a64::kNoRow)
        return OpGroup::system;
    if (i.timing == TimingClass::div32 || i.timing == TimingClass::div64) return OpGroup::divide;
    // AESE and AESMC go together, which the pipelines look for.
    if (in(i.timing, TimingClass::aes, TimingClass::aes_mc)) return OpGroup::general;
    return is_plain(i, t) ? OpGroup::simple : is_flags(i, t) ? OpGroup::flags : OpGroup::general;
}

} // namespace

std::uint32_t static_lanes(const Insn& i, std::uint64_t pc_low, bool entry) {
    const std::uint32_t fetch = entry || pc_low % kFetchBytes == 0 ? bit(Lane::fetch) : 0;
    return kind_lanes(i) | bit(Lane::instruction) | fetch;
}

bool reads_memory(const Insn& i) { return i.kind == InsnKind::load || i.kind == InsnKind::exclusive_load; }

DecodedOp make_op(std::uint32_t raw, TimingOf timing_of) {
    DecodedOp op;
    op.insn = a64::decode(raw);
    const Insn& i = op.insn;
    op.timing = timing_of(i);
    for (unsigned k = 0; k < 3; ++k)
        if (i.dst[k] != a64::reg::none) op.timing.dst[k] = i.dst[k];
    op.group = group_of(i, op.timing);
    op.align_mask = align_mask(i);
    op.is_store = is_store(i);
    op.heavy = is_structure(i.timing);
    op.plain = is_plain(i, op.timing);
    return op;
}

} // namespace rkperf::cpu

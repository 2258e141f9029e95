// SPDX-License-Identifier: Apache-2.0
#include "models/debug_regs/matching.h"

#include <algorithm>

namespace rkperf::debug {

namespace {

constexpr std::uint64_t low_bits(unsigned n) { return (std::uint64_t{1} << n) - 1; }
/// Addresses are compared up to bit 48 (no FEAT_LVA).
constexpr std::uint64_t kCompared = low_bits(49);

constexpr unsigned field(std::uint32_t control, unsigned lsb, unsigned width) {
    return control >> lsb & static_cast<unsigned>(low_bits(width));
}
constexpr unsigned bit(ExceptionLevel el) { return 1u << static_cast<unsigned>(el); }

/// DBGBCR.BT without its linking bit.
enum class Type : unsigned {
    address = 0,
    context_id = 1,
    mismatch = 2,
    context_id_el1 = 3,
    vmid = 4,
    vmid_context_id = 5,
    context_id_el2 = 6,
    both_context_ids = 7,
};
constexpr Type type_of(std::uint32_t control) { return static_cast<Type>(field(control, 21, 3)); }
constexpr bool linked(std::uint32_t control) { return field(control, 20, 1); }

bool context_matches(const State& s, unsigned n, ExceptionLevel el) {
    const State::Pair& b = s.bp[n];
    const bool host = s.e2h && s.tge;
    const bool guest_level = el <= ExceptionLevel::el1 && !host; // CONTEXTIDR_EL1 and VMID mean something
    const auto low = static_cast<std::uint32_t>(b.value), high = static_cast<std::uint32_t>(b.value >> 32);
    const bool el2_matches = high == s.contextidr_el2;
    switch (type_of(b.control)) {
        case Type::context_id:
            if (s.e2h && (s.tge || el == ExceptionLevel::el2)) return low == s.contextidr_el2;
            return el <= ExceptionLevel::el1 && low == s.contextidr_el1;
        case Type::context_id_el1: return guest_level && low == s.contextidr_el1;
        case Type::vmid: return guest_level && (high & 0xffff) == s.vmid;
        case Type::vmid_context_id: return guest_level && (high & 0xffff) == s.vmid && low == s.contextidr_el1;
        case Type::context_id_el2: return el2_matches;
        case Type::both_context_ids: return guest_level && el2_matches && low == s.contextidr_el1;
        case Type::address:
        case Type::mismatch: break;
    }
    return false;
}

bool context_type(std::uint32_t control) {
    const Type t = type_of(control);
    return t != Type::address && t != Type::mismatch;
}

/// The breakpoint that LBN names lets a linked breakpoint or watchpoint match (DBG-021).
bool link_matches(const State& s, std::uint32_t control, ExceptionLevel el) {
    const unsigned n = field(control, 16, 4);
    if (n >= kBreakpoints || n < kFirstContextAware) return false;
    const std::uint32_t target = s.bp[n].control;
    return enabled(target) && context_type(target) && linked(target) && context_matches(s, n, el);
}

/// What a watchpoint compares: bytes of `select` within the unit at `base`, or the whole of `bytes` if MASK is used.
struct Watched {
    std::uint64_t base{}, bytes{};
    unsigned select{};
};
std::optional<Watched> watched(const State::Pair& w) {
    const unsigned mask = field(w.control, 24, 5);
    unsigned select = field(w.control, 5, 8);
    const std::uint64_t value = w.value & kCompared;
    if (mask == 1 || mask == 2) return std::nullopt; // reserved (DBG-030)
    if (mask) {
        if (select != 0xff || (value & low_bits(mask))) return std::nullopt;
        return Watched{value, std::uint64_t{1} << mask, 0};
    }
    if (value & 4) select &= 0xf;
    if (!select) return std::nullopt;
    return Watched{value & ~std::uint64_t{3}, value & 4 ? 4u : 8u, select};
}

/// Lowest watched byte that the access touches.
std::optional<std::uint64_t> first_touched(const Watched& w, std::uint64_t va, std::uint64_t bytes) {
    const std::uint64_t from = std::max(va, w.base), to = std::min(va + bytes, w.base + w.bytes);
    if (from >= to) return std::nullopt;
    if (!w.select) return from;
    for (std::uint64_t at = from; at < to; ++at)
        if (w.select >> (at - w.base) & 1) return at;
    return std::nullopt;
}

/// The control fields of watchpoint n let it match accesses as level `as` at all.
bool watchpoint_selects(const State& s, unsigned n, ExceptionLevel as) {
    const std::uint32_t c = s.wp[n].control;
    return enabled(c) && (levels(c) & bit(as)) && (!linked(c) || link_matches(s, c, as));
}

} // namespace

bool exceptions_enabled(const State& s, ExceptionLevel el, bool d) {
    if (s.os_lock || (s.double_lock && !s.no_powerdown)) return false;
    const ExceptionLevel target = s.tge || s.tde ? ExceptionLevel::el2 : ExceptionLevel::el1;
    return el < target || (el == target && (s.mdscr & mdscr::KDE) && !d);
}

namespace {

/// By HMC, SSC and PMC or PAC. Everything that is not listed selects Secure state only, or is reserved: no level.
constexpr std::array<std::uint8_t, 32> levels_by_fields() {
    constexpr std::uint8_t kEl0 = 1, kEl1 = 2, kEl2 = 4;
    std::array<std::uint8_t, 32> out{};
    const auto row = [&](unsigned hmc, unsigned ssc, unsigned pxc, unsigned levels) {
        out[hmc << 4 | ssc << 2 | pxc] = static_cast<std::uint8_t>(levels);
    };
    row(0, 0, 1, kEl1);
    row(0, 0, 2, kEl0);
    row(0, 0, 3, kEl1 | kEl0);
    row(0, 1, 1, kEl1);
    row(0, 1, 2, kEl0);
    row(0, 1, 3, kEl1 | kEl0);
    row(1, 0, 1, kEl2 | kEl1);
    row(1, 0, 3, kEl2 | kEl1 | kEl0);
    row(1, 1, 0, kEl2);
    row(1, 1, 1, kEl2 | kEl1);
    row(1, 1, 3, kEl2 | kEl1 | kEl0);
    row(1, 3, 0, kEl2);
    row(1, 3, 1, kEl2 | kEl1);
    row(1, 3, 3, kEl2 | kEl1 | kEl0);
    return out;
}

} // namespace

unsigned levels(std::uint32_t control) {
    static constexpr auto kLevels = levels_by_fields();
    return kLevels[field(control, 13, 1) << 4 | field(control, 14, 2) << 2 | field(control, 1, 2)];
}

bool breakpoint_matches(const State& s, unsigned n, std::uint64_t pc, ExceptionLevel el) {
    const State::Pair& b = s.bp[n];
    if (!enabled(b.control) || !(levels(b.control) & bit(el))) return false;
    if (context_type(b.control)) {
        // A linked context breakpoint only serves others.
        return n >= kFirstContextAware && !linked(b.control) && context_matches(s, n, el);
    }
    if (type_of(b.control) != Type::address) return false;
    if (((b.value ^ pc) & kCompared) >> 2 || !(field(b.control, 5, 4) >> (pc & 3) & 1)) return false;
    return !linked(b.control) || link_matches(s, b.control, el);
}

bool breakpoint(const State& s, std::uint64_t pc, ExceptionLevel el, bool d) {
    if (!(s.mdscr & mdscr::MDE) || !exceptions_enabled(s, el, d)) return false;
    for (unsigned n = 0; n < kBreakpoints; ++n)
        if (breakpoint_matches(s, n, pc, el)) return true;
    return false;
}

std::optional<Range> breakpoint_range(const State& s, unsigned n, ExceptionLevel el) {
    const State::Pair& b = s.bp[n];
    if (!enabled(b.control) || !(levels(b.control) & bit(el))) return std::nullopt;
    if (context_type(b.control)) {
        if (!breakpoint_matches(s, n, 0, el)) return std::nullopt;
        return Range{0, ~std::uint64_t{0}};
    }
    if (type_of(b.control) != Type::address || (linked(b.control) && !link_matches(s, b.control, el)))
        return std::nullopt;
    const std::uint64_t at = b.value & ~std::uint64_t{3};
    return Range{at, at + 3};
}

std::optional<Range> watchpoint_range(const State& s, unsigned n, ExceptionLevel el) {
    if (!watchpoint_selects(s, n, el) || !field(s.wp[n].control, 3, 2)) return std::nullopt;
    const auto w = watched(s.wp[n]);
    if (!w) return std::nullopt;
    return Range{w->base, w->base + w->bytes - 1};
}

std::optional<std::uint64_t> watchpoint(const State& s, std::uint64_t va, std::uint64_t bytes, bool write,
                                        ExceptionLevel as, ExceptionLevel el, bool d) {
    if (!(s.mdscr & mdscr::MDE) || !exceptions_enabled(s, el, d)) return std::nullopt;
    for (unsigned n = 0; n < kWatchpoints; ++n) {
        if (!(field(s.wp[n].control, 3, 2) & (write ? 2u : 1u)) || !watchpoint_selects(s, n, as)) continue;
        const auto w = watched(s.wp[n]);
        if (!w) continue;
        const auto hit = first_touched(*w, va & kCompared, bytes);
        if (!hit) continue;
        const std::uint64_t block = *hit & ~(kFarBlock - 1);
        return std::max(va & kCompared, block) | (va & ~kCompared);
    }
    return std::nullopt;
}

void Step::exception_return(const State& s, bool ss, bool d) {
    ss_ = ss && (s.mdscr & mdscr::SS) && !exceptions_enabled(s, ExceptionLevel::el1, d) &&
          exceptions_enabled(s, ExceptionLevel::el0, false);
    valid_ = exclusive_ = false;
}

bool Step::exception_entry(const State& s, bool executed) {
    if (executed && active(s, ExceptionLevel::el0, false)) ss_ = false;
    const bool saved = ss_;
    ss_ = false;
    return saved;
}

void Step::stepped(const State& s, bool load_exclusive) {
    if (!ss_ || !active(s, ExceptionLevel::el0, false)) return;
    ss_ = false;
    valid_ = true;
    exclusive_ = load_exclusive;
}

} // namespace rkperf::debug

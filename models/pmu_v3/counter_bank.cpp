// SPDX-License-Identifier: Apache-2.0
#include "models/pmu_v3/counter_bank.h"

#include <algorithm>
#include <bit>

namespace rkperf::pmu {

namespace {

constexpr std::uint64_t kWrap32 = std::uint64_t{1} << 32;
constexpr unsigned kDivider = 64;

constexpr std::uint8_t bit(ExceptionLevel el) { return static_cast<std::uint8_t>(1u << static_cast<unsigned>(el)); }

template <class F>
void for_each_level(std::uint8_t mask, F f) {
    for (unsigned el = 0; el < kExceptionLevels; ++el)
        if (mask >> el & 1) f(el);
}

} // namespace

std::uint32_t CounterBank::below_hpmn() const {
    const unsigned hpmn = std::min<unsigned>(controls_.mdcr_el2 & mdcr_el2::HPMN, n_);
    return (1u << hpmn) - 1;
}

// PMUV3-052: PMCR.E for the cycle counter and the counters below HPMN, MDCR_EL2.HPME for the rest.
std::uint32_t CounterBank::globally_enabled() const {
    std::uint32_t mask = 0;
    if (controls_.pmcr & pmcr::E) mask |= below_hpmn() | kCycleBit;
    if (controls_.mdcr_el2 & mdcr_el2::HPME) mask |= ((1u << n_) - 1) & ~below_hpmn();
    return mask;
}

// PMUV3-053 (filter, in Non-secure state) and PMUV3-054 (prohibited regions).
std::uint8_t CounterBank::counted_levels(unsigned n) const {
    const std::uint32_t type = counters_[n].type;
    const auto is = [type](std::uint32_t f) { return (type & f) != 0; };
    std::uint8_t mask = 0;
    if (is(evtyper::U) == is(evtyper::NSU)) mask |= bit(ExceptionLevel::el0);
    if (is(evtyper::P) == is(evtyper::NSK)) mask |= bit(ExceptionLevel::el1);
    if (is(evtyper::NSH)) mask |= bit(ExceptionLevel::el2);
    if (is(evtyper::M) == is(evtyper::P)) mask |= bit(ExceptionLevel::el3);

    const bool cycle = n == kCycleCounter;
    if (cycle && !(controls_.pmcr & pmcr::DP)) return mask;
    if (!controls_.el3_allowed) mask &= static_cast<std::uint8_t>(~bit(ExceptionLevel::el3));
    const bool guest_range = cycle || (below_hpmn() >> n & 1);
    if (guest_range && (controls_.mdcr_el2 & mdcr_el2::HPMD))
        mask &= static_cast<std::uint8_t>(~bit(ExceptionLevel::el2));
    return mask;
}

void CounterBank::mark_seen(Counter& c) {
    if (c.source == Source::totals)
        for_each_level(c.el_mask,
                       [&](unsigned el) { c.seen[el] = totals_.total(c.event, static_cast<ExceptionLevel>(el)); });
}

void CounterBank::reconfigure(unsigned n) {
    Counter& c = counters_[n];
    c.event = n == kCycleCounter ? pmu_event::CPU_CYCLES : static_cast<EventNumber>(c.type & evtyper::kEvent);
    c.el_mask = (enabled_ & globally_enabled()) >> n & 1 ? counted_levels(n) : 0;
    if (n == kCycleCounter)
        c.source = Source::totals;
    else if (c.event == pmu_event::SW_INCR)
        c.source = Source::software;
    else if (c.event == pmu_event::CHAIN)
        c.source = n & 1 ? Source::chain : Source::none; // PMUV3-060: never on an even counter
    else
        c.source = c.el_mask && totals_.knows(c.event) ? Source::totals : Source::none; // PMUV3-061
    if (c.source == Source::none) c.el_mask = 0;
    const std::uint32_t n_bit = std::uint32_t{1} << n;
    counting_ = c.source == Source::totals && c.el_mask ? counting_ | n_bit : counting_ & ~n_bit;
    mark_seen(c);
}

void CounterBank::reconfigure_all() {
    for (unsigned n = 0; n < n_; ++n) reconfigure(n);
    reconfigure(kCycleCounter);
}

std::uint64_t CounterBank::delta(const Counter& c) const {
    std::uint64_t sum = 0;
    if (c.source == Source::totals)
        for_each_level(c.el_mask, [&](unsigned el) {
            sum += totals_.total(c.event, static_cast<ExceptionLevel>(el)) - c.seen[el];
        });
    return sum;
}

CounterBank::Counter* CounterBank::chained(unsigned n) {
    if (n & 1 || n + 1 >= n_) return nullptr;
    // Both halves in the same range of HPMN.
    if ((below_hpmn() >> n & 1) != (below_hpmn() >> (n + 1) & 1)) return nullptr;
    Counter& odd = counters_[n + 1];
    return odd.source == Source::chain && odd.el_mask ? &odd : nullptr;
}

void CounterBank::add(unsigned n, std::uint64_t events) {
    Counter& c = counters_[n];
    const std::uint64_t sum = c.value + events % kWrap32;
    if (events >= kWrap32 || sum >= kWrap32) wrapped_ |= 1u << n;
    c.value = sum % kWrap32;
}

void CounterBank::fold_cycles() {
    Counter& c = counters_[kCycleCounter];
    std::uint64_t add = delta(c);
    mark_seen(c);
    if (divides()) {
        const unsigned __int128 cycles = static_cast<unsigned __int128>(add) + divider_;
        add = static_cast<std::uint64_t>(cycles / kDivider);
        divider_ = static_cast<std::uint32_t>(cycles % kDivider);
    }
    const std::uint64_t old = c.value;
    c.value = old + add;
    const bool wrapped = controls_.pmcr & pmcr::LC ? c.value < old : add >= kWrap32 || old % kWrap32 + add >= kWrap32;
    if (wrapped) wrapped_ |= kCycleBit;
}

bool CounterBank::fold() {
    wrapped_ = 0;
    if (counting_ & kCycleBit) fold_cycles();
    for (std::uint32_t left = counting_ & ~kCycleBit; left; left &= left - 1) {
        const auto n = static_cast<unsigned>(std::countr_zero(left));
        Counter& c = counters_[n];
        Counter* odd = chained(n);
        std::uint64_t chain_events = 0;
        for_each_level(c.el_mask, [&](unsigned el) {
            const std::uint64_t now = totals_.total(c.event, static_cast<ExceptionLevel>(el));
            const std::uint64_t events = now - c.seen[el];
            c.seen[el] = now;
            const std::uint64_t carries = (events / kWrap32) + ((c.value + events % kWrap32) / kWrap32);
            add(n, events);
            // A CHAIN event belongs to the level at which the low half wrapped.
            if (odd && odd->el_mask >> el & 1) chain_events += carries;
        });
        if (chain_events) add(n + 1, chain_events);
    }
    overflowed_ |= wrapped_;
    return wrapped_ != 0;
}

std::uint64_t CounterBank::value(unsigned n) {
    Counter& c = counters_[n];
    if (n == kCycleCounter) {
        std::uint64_t add = c.el_mask ? delta(c) : 0;
        if (divides()) add = (add + divider_) / kDivider;
        return c.value + add;
    }
    if (c.source == Source::chain && c.el_mask) fold(); // its low half may have wrapped
    return (c.value + delta(c)) % kWrap32;
}

void CounterBank::set_value(unsigned n, std::uint64_t value) {
    counters_[n].value = n == kCycleCounter ? value : value % kWrap32;
}

void CounterBank::set_type(unsigned n, std::uint32_t type) {
    counters_[n].type = type;
    reconfigure(n);
}

void CounterBank::set_enabled(std::uint32_t mask) {
    enabled_ = mask;
    reconfigure_all();
}

void CounterBank::set_controls(const CountControls& controls) {
    const bool divided = divides();
    controls_ = controls;
    if (divides() != divided) restart_divider();
    reconfigure_all();
}

void CounterBank::software_increment(std::uint32_t mask, ExceptionLevel el) {
    wrapped_ = 0;
    for (unsigned n = 0; n < n_; ++n) {
        const Counter& c = counters_[n];
        if (!(mask >> n & 1) || c.source != Source::software || !(c.el_mask & bit(el))) continue;
        const std::uint32_t before = wrapped_;
        add(n, 1);
        if (Counter* odd = chained(n); odd && wrapped_ != before && odd->el_mask & bit(el)) add(n + 1, 1);
    }
    overflowed_ |= wrapped_;
}

std::uint64_t CounterBank::distance(unsigned n) const {
    const Counter& c = counters_[n];
    if (n != kCycleCounter) return kWrap32 - c.value;
    unsigned __int128 left =
        controls_.pmcr & pmcr::LC ? (static_cast<unsigned __int128>(1) << 64) - c.value : kWrap32 - c.value % kWrap32;
    if (divides()) left = left * kDivider - divider_;
    return static_cast<std::uint64_t>(std::min<unsigned __int128>(left, ~std::uint64_t{0}));
}

std::uint64_t CounterBank::chain_distance(unsigned n) {
    const Counter* odd = chained(n);
    const Counter& even = counters_[n];
    if (!odd || !(odd->el_mask & even.el_mask)) return 0;
    const std::uint64_t low = distance(n);
    if (even.el_mask & ~odd->el_mask) {
        // Which level the low half wraps at decides whether the high half counts it. Stopping one event earlier makes
        // sure that the last fold before the wrap leaves the events of one level only.
        return low > 1 ? low - 1 : low;
    }
    if (line() || !((interrupts_ & ~overflowed_) >> (n + 1) & 1)) return 0;
    const unsigned __int128 left = static_cast<unsigned __int128>(kWrap32 - 1 - odd->value) * kWrap32 + low;
    return static_cast<std::uint64_t>(std::min<unsigned __int128>(left, ~std::uint64_t{0}));
}

std::span<const ArmedCounter> CounterBank::armed() {
    std::size_t count = 0;
    if (!counting_) return {};
    const bool high = line(); // then no wrap can raise it
    const auto look_at = [&](unsigned n) {
        const Counter& c = counters_[n];
        std::uint64_t left = 0;
        if (!high && (interrupts_ & ~overflowed_) >> n & 1) left = distance(n);
        if (n != kCycleCounter)
            if (const std::uint64_t chain = chain_distance(n)) left = left ? std::min(left, chain) : chain;
        if (left) armed_[count++] = ArmedCounter{c.event, c.el_mask, left};
    };
    if (counting_ & kCycleBit) look_at(kCycleCounter);
    for (std::uint32_t left = counting_ & ~kCycleBit; left; left &= left - 1)
        look_at(static_cast<unsigned>(std::countr_zero(left)));
    return {armed_.data(), count};
}

} // namespace rkperf::pmu

// SPDX-License-Identifier: Apache-2.0
// The counters of one PMUv3 (Arm ARM D11, spec PMUV3-050..065): up to 31 event counters of 32 bits and the 64-bit cycle
// counter. Counters are not incremented: each remembers the core's running totals at the last fold, so that its value is
// value + (totals now - totals then) over the exception levels it counts at. Every change of configuration folds first.
#pragma once

#include "sim/base/pmu_events.h"
#include "sim/base/types.h"
#include "sim/base/wires.h"

#include <array>
#include <cstdint>
#include <span>

namespace rkperf::pmu {

/// Number of the cycle counter: its bit in PMCNTENSET and the like.
inline constexpr unsigned kCycleCounter = 31;
inline constexpr unsigned kCounters = 32;
inline constexpr std::uint32_t kCycleBit = 1u << kCycleCounter;

/// Bits of PMCR_EL0.
namespace pmcr {
inline constexpr std::uint32_t E = 1u << 0, P = 1u << 1, C = 1u << 2, D = 1u << 3, X = 1u << 4, DP = 1u << 5,
                               LC = 1u << 6;
inline constexpr std::uint32_t kStored = E | D | X | DP | LC;
} // namespace pmcr

/// Bits of PMEVTYPERn_EL0 and PMCCFILTR_EL0.
namespace evtyper {
inline constexpr std::uint32_t P = 1u << 31, U = 1u << 30, NSK = 1u << 29, NSU = 1u << 28, NSH = 1u << 27, M = 1u << 26,
                               MT = 1u << 25;
inline constexpr std::uint32_t kEvent = 0xffff;
inline constexpr std::uint32_t kFilter = P | U | NSK | NSU | NSH | M;
} // namespace evtyper

/// Bits of MDCR_EL2 that concern the PMU.
namespace mdcr_el2 {
inline constexpr std::uint32_t HPMN = 0x1f, TPMCR = 1u << 5, TPM = 1u << 6, HPME = 1u << 7, HPMD = 1u << 17;
inline constexpr std::uint32_t kStored = HPMN | TPMCR | TPM | HPME | HPMD;
} // namespace mdcr_el2

/// Everything that decides whether a counter counts, apart from the per-counter registers.
struct CountControls {
    std::uint32_t pmcr{};     ///< E, D, X, DP, LC
    std::uint32_t mdcr_el2{}; ///< HPMN, HPME, HPMD
    bool el3_allowed{};       ///< MDCR_EL3.SPME
    bool operator==(const CountControls&) const = default;
};

class CounterBank {
  public:
    /// `implemented` event counters (PMCR.N), 0..31.
    CounterBank(unsigned implemented, EventTotalsView& totals) : n_(implemented), totals_(totals) {}

    unsigned implemented() const { return n_; }

    /// Takes the totals over into the counters and sets overflow flags. Returns true if a counter wrapped.
    bool fold();

    // Reading does not need a fold.
    std::uint64_t value(unsigned n);
    std::uint32_t type(unsigned n) const { return counters_[n].type; }
    std::uint32_t enabled() const { return enabled_; }
    std::uint32_t interrupts() const { return interrupts_; }
    std::uint32_t overflowed() const { return overflowed_; }
    const CountControls& controls() const { return controls_; }

    // Changes. The caller has folded; each takes effect at once (PMUV3-069).
    void set_value(unsigned n, std::uint64_t value);
    void set_type(unsigned n, std::uint32_t type);
    void set_enabled(std::uint32_t mask);
    void set_interrupts(std::uint32_t mask) { interrupts_ = mask; }
    void set_overflowed(std::uint32_t mask) { overflowed_ = mask; }
    void set_controls(const CountControls& controls);
    /// Restarts the 64-cycle divider of PMCR.D.
    void restart_divider() { divider_ = 0; }
    /// PMSWINC written at `el` (PMUV3-059).
    void software_increment(std::uint32_t mask, ExceptionLevel el);

    /// Level of the interrupt line (PMUV3-063).
    bool line() const { return (overflowed_ & interrupts_ & globally_enabled()) != 0; }

    /// See OverflowMonitor::armed(). The caller has folded. Valid until the next call.
    std::span<const ArmedCounter> armed();

  private:
    /// What a counter takes its events from.
    enum class Source : std::uint8_t { none, totals, software, chain };
    struct Counter {
        std::uint64_t value{};
        std::uint32_t type{};
        Source source{Source::none};
        std::uint8_t el_mask{}; ///< levels at which it counts now; 0 if it does not count
        EventNumber event{};
        std::array<std::uint64_t, kExceptionLevels> seen{};
    };

    std::uint32_t globally_enabled() const;
    std::uint32_t below_hpmn() const;
    std::uint8_t counted_levels(unsigned n) const;
    void reconfigure(unsigned n);
    void reconfigure_all();
    std::uint64_t delta(const Counter& c) const;
    void mark_seen(Counter& c);
    bool divides() const { return (controls_.pmcr & (pmcr::D | pmcr::LC)) == pmcr::D; }
    /// The odd counter that receives CHAIN events of even counter `n`, or null.
    Counter* chained(unsigned n);
    void add(unsigned n, std::uint64_t events);
    void fold_cycles();
    /// Events until counter `n` wraps.
    std::uint64_t distance(unsigned n) const;
    /// Events of even counter `n` until the core must stop because of its partner, or 0 for never.
    std::uint64_t chain_distance(unsigned n);

    unsigned n_;
    EventTotalsView& totals_;
    std::array<Counter, kCounters> counters_{};
    std::uint32_t enabled_{}, interrupts_{}, overflowed_{};
    std::uint32_t counting_{}; ///< those that take events from the totals now
    std::uint32_t wrapped_{};  ///< wraps of the present fold
    CountControls controls_{};
    std::uint32_t divider_{}; ///< cycles not yet worth an increment while PMCR.D divides
    std::array<ArmedCounter, kCounters> armed_{};
};

} // namespace rkperf::pmu

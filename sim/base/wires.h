// SPDX-License-Identifier: Apache-2.0
// Narrow interfaces between models that live in different rooms. A core runs ahead of SystemC time by up to a quantum,
// so wires carry the local time at which they change instead of waiting for the SystemC kernel.
#pragma once

#include "sim/base/types.h"

#include <cstdint>
#include <span>

namespace rkperf {

/// A level-sensitive line (PMU overflow -> PPI, timer -> PPI, redistributor -> core).
class LevelSink {
  public:
    virtual ~LevelSink() = default;
    /// `level` from local time `when` on. Repeating the present level has no effect.
    virtual void set_level(bool level, Picoseconds when) = 0;
};

/// Number of a PMU event (Arm ARM D13; pmu_events_*.csv), 16 bits.
using EventNumber = std::uint16_t;

/// Ground truth of one core: running totals of everything it can count, since reset, never reset, counted or not.
class EventTotalsView {
  public:
    virtual ~EventTotalsView() = default;
    /// Total at exception level `el` up to the core's present instruction; 0 for an event the core does not know.
    virtual std::uint64_t total(EventNumber event, ExceptionLevel el) const = 0;
    virtual bool knows(EventNumber event) const = 0;
    /// The core's own time now.
    virtual Picoseconds now() const = 0;
    /// The set of armed counters or their distance changed: the core must look at OverflowMonitor::armed() before it
    /// executes on.
    virtual void rearm() = 0;
};

/// One counter that must stop the core's fast path at the exact instruction that wraps it.
struct ArmedCounter {
    EventNumber event{};
    std::uint8_t el_mask{}; ///< bit n: events at exception level n count
    std::uint64_t left{};   ///< further events until the wrap, at least 1
};

/// What a core asks of its PMU.
class OverflowMonitor {
  public:
    virtual ~OverflowMonitor() = default;
    /// Counters that count now and whose wrap would raise the interrupt line; `left` as of the core's present totals.
    virtual std::span<const ArmedCounter> armed() = 0;
    /// Called at the boundary of the instruction by which an armed counter may have wrapped: takes the totals over,
    /// sets overflow flags and moves the line, all at EventTotalsView::now().
    virtual void sync() = 0;
};

/// A source of core-local deadlines (generic timer).
class DeadlineSource {
  public:
    virtual ~DeadlineSource() = default;
    /// Next time at which this source changes a line by itself, or kNever.
    virtual Picoseconds next_deadline() const = 0;
    /// The core's local time has reached `t` >= next_deadline(): change the lines.
    virtual void advance_to(Picoseconds t) = 0;
};

} // namespace rkperf

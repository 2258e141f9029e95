// SPDX-License-Identifier: Apache-2.0
// Ground truth: running totals of one core's events, by Arm event number and exception level.
#pragma once

#include "sim/base/pmu_events.h"
#include "sim/base/types.h"

#include <array>
#include <cstdint>

namespace rkperf {

class EventTotals {
  public:
    using Row = std::array<std::uint64_t, pmu_event::kCount>;

    /// Adds to the totals of the level the core executes at. An event that is armed for an exact stop and is not a
    /// per-instruction or per-cycle one sets `dirty`, so that the core looks at its PMU at this instruction's end.
    void add(EventNumber e, std::uint64_t n = 1) {
        (*now_)[e] += n;
        dirty |= watched_[e];
    }
    std::uint64_t get(EventNumber e, ExceptionLevel el) const { return rows_[static_cast<unsigned>(el)][e]; }
    Row& row(ExceptionLevel el) { return rows_[static_cast<unsigned>(el)]; }
    Row& now() { return *now_; }
    void set_level(ExceptionLevel el) { now_ = &rows_[static_cast<unsigned>(el)]; }
    ExceptionLevel level() const { return static_cast<ExceptionLevel>(now_ - rows_.data()); }

    void watch(EventNumber e, bool on) { watched_[e] = on; }
    bool dirty{};

  private:
    std::array<Row, kExceptionLevels> rows_{};
    Row* now_{&rows_[1]};
    std::array<bool, pmu_event::kCount> watched_{};
};

} // namespace rkperf

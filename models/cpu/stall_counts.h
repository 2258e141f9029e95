// SPDX-License-Identifier: Apache-2.0
// Cycles in which a core did nothing, by reason. A pipeline adds; the core reads, and asks to be stopped at a count.
#pragma once

#include "models/cpu/event_lanes.h"

#include <array>
#include <cstdint>

namespace rkperf::cpu {

struct StallCounts {
    std::array<std::uint64_t, kStalls> count{};
    std::array<std::uint64_t, kStalls> flushed{}; ///< part of `count` already in the totals
    std::array<std::uint64_t, kStalls> stop_at{};
    bool armed{};              ///< some count is to stop the core
    std::uint64_t* deadline{}; ///< cleared when a count reaches stop_at: the core then looks at this instruction's end

    StallCounts() { stop_at.fill(~std::uint64_t{0}); }
    void add(Lane l, std::uint64_t cycles) {
        const unsigned i = stall_index(l);
        count[i] += cycles;
        if (count[i] >= stop_at[i]) *deadline = 0;
    }
};

} // namespace rkperf::cpu

// SPDX-License-Identifier: Apache-2.0
// A core's table of resource classes: one row each, complete and in order, which is checked at build time.
#pragma once

#include "models/a64/insn.h"
#include "models/cpu/decoded_op.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace rkperf::cpu {

struct ClassRow {
    a64::TimingClass timing_class;
    std::uint8_t latency, pipes;
    std::uint8_t occupancy{1}, uops{1}, accumulate{}, second{};
};

/// Instructions that differ from their class: those whose encoding is `bits` under `mask`.
struct ExactRow {
    std::uint32_t mask, bits;
    std::uint8_t latency;
    std::uint8_t occupancy{1}, uops{1};
};

inline constexpr std::size_t kClasses = static_cast<std::size_t>(a64::TimingClass::count);

template <std::size_t N>
constexpr bool complete(const ClassRow (&rows)[N]) {
    if (N != kClasses) return false;
    for (std::size_t i = 0; i < N; ++i)
        if (static_cast<std::size_t>(rows[i].timing_class) != i) return false;
    return true;
}

inline OpTiming timing_of_row(const ClassRow& row) {
    OpTiming t;
    t.latency = row.latency;
    t.pipes = row.pipes;
    t.occupancy = row.occupancy;
    t.uops = row.uops;
    t.accumulate = row.accumulate;
    t.second = row.second;
    return t;
}

/// Takes over the first row that fits.
template <std::size_t N>
void refine(OpTiming& t, std::uint32_t raw, const ExactRow (&rows)[N]) {
    for (const ExactRow& r : rows) {
        if ((raw & r.mask) != r.bits) continue;
        t.latency = r.latency;
        t.occupancy = r.occupancy;
        t.uops = r.uops;
        return;
    }
}

// Masks that leave the operands out: AdvSIMD operations by their kind (DDI 0487, C4.1).
inline constexpr std::uint32_t kThreeSame = 0xbf20fc00, kTwoMisc = 0xbf3ffc00, kAcross = 0xbffffc00,
                               kShiftImm = 0xbf80fc00, kTable = 0xbfe0fc00;

} // namespace rkperf::cpu

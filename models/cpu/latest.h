// SPDX-License-Identifier: Apache-2.0
// The latest of some cycles. std::max of a list builds the list in memory, which the pipelines cannot afford.
#pragma once

#include <cstdint>

namespace rkperf::cpu {

constexpr std::uint64_t latest(std::uint64_t a, std::uint64_t b) { return a < b ? b : a; }
constexpr std::uint64_t latest(std::uint64_t a, std::uint64_t b, std::uint64_t c) { return latest(latest(a, b), c); }
constexpr std::uint64_t latest(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    return latest(latest(a, b), latest(c, d));
}

} // namespace rkperf::cpu

// SPDX-License-Identifier: Apache-2.0
// The bitmask immediates of logical instructions (DDI 0487, DecodeBitMasks).
#pragma once

#include <bit>
#include <cstdint>

namespace rkperf::a64 {

/// The 64-bit mask of N:imms:immr; false if the encoding is reserved. A run of ones, rotated within an element of 2 to
/// 64 bits, repeated.
constexpr bool logical_immediate(unsigned n, unsigned imms, unsigned immr, std::uint64_t& mask) {
    const unsigned selector = n << 6 | (~imms & 0x3f);
    if (selector < 2) return false;
    const unsigned size = 1u << (std::bit_width(selector) - 1);
    const unsigned ones = (imms & (size - 1)) + 1, rotate = immr & (size - 1);
    if (ones == size) return false;
    std::uint64_t m = ~std::uint64_t{0} >> (64 - ones);
    if (rotate) m = m >> rotate | m << (size - rotate);
    if (size < 64) m &= (std::uint64_t{1} << size) - 1;
    for (unsigned filled = size; filled < 64; filled *= 2) m |= m << filled;
    mask = m;
    return true;
}

} // namespace rkperf::a64

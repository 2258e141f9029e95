// SPDX-License-Identifier: Apache-2.0
// Fields of an encoding, and how register numbers become slots of CpuState::x and dependency numbers.
#pragma once

#include "models/a64/insn.h"

#include <bit>
#include <cstdint>

namespace rkperf::a64 {

constexpr std::uint32_t field(std::uint32_t raw, unsigned lo, unsigned width) {
    return raw >> lo & ((1u << width) - 1);
}
constexpr std::int64_t signed_field(std::uint32_t raw, unsigned lo, unsigned width) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(raw) << (64 - lo - width)) >> (64 - width);
}
constexpr unsigned rd_of(std::uint32_t raw) { return field(raw, 0, 5); }
constexpr unsigned rn_of(std::uint32_t raw) { return field(raw, 5, 5); }
constexpr unsigned rm_of(std::uint32_t raw) { return field(raw, 16, 5); }
constexpr unsigned ra_of(std::uint32_t raw) { return field(raw, 10, 5); }

// Register number 31 as source is XZR (slot kZr), as destination the sink, and in address and most immediate forms SP.
constexpr std::uint8_t src_slot(unsigned n) { return static_cast<std::uint8_t>(n); }
constexpr std::uint8_t dst_slot(unsigned n) { return static_cast<std::uint8_t>(n == 31 ? kSink : n); }
constexpr std::uint8_t sp_slot(unsigned n) { return static_cast<std::uint8_t>(n == 31 ? kSp : n); }
// Dependency numbers; XZR is reg::none, which is 31 as well.
constexpr std::uint8_t zr_dep(unsigned n) { return static_cast<std::uint8_t>(n); }
constexpr std::uint8_t sp_dep(unsigned n) { return static_cast<std::uint8_t>(n == 31 ? reg::sp : n); }
constexpr std::uint8_t v_dep(unsigned n) { return static_cast<std::uint8_t>(reg::v0 + n); }

/// The mask of a condition: bit n is set if the condition holds when NZCV is n.
constexpr std::uint16_t condition_mask(unsigned cond) {
    std::uint16_t mask = 0;
    for (unsigned f = 0; f < 16; ++f) {
        const bool n = f & 8, z = f & 4, c = f & 2, v = f & 1;
        const bool base[8] = {z, c, n, v, c && !z, n == v, n == v && !z, true};
        const bool holds = base[cond >> 1] != ((cond & 1) && cond != 15);
        mask = static_cast<std::uint16_t>(mask | holds << f);
    }
    return mask;
}
inline bool condition_holds(std::uint16_t mask, std::uint32_t flags) { return mask >> (flags >> 28) & 1; }

/// Rows of 32-bit and 64-bit forms differ in bit 31.
inline constexpr std::uint32_t kSf = 0x80000000u;

static_assert(condition_mask(0) == 0xf0f0 && condition_mask(1) == 0x0f0f && condition_mask(14) == 0xffff &&
              condition_mask(15) == 0xffff);

} // namespace rkperf::a64

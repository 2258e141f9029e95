// SPDX-License-Identifier: Apache-2.0
// Floating-point formats, the FPCR fields and the FPSR bits (Arm ARM DDI 0487, A1.4 and C5.2).
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace rkperf::a64 {

/// FPSR cumulative exception and saturation bits.
namespace fpsr {
inline constexpr std::uint32_t IOC = 1u << 0, DZC = 1u << 1, OFC = 1u << 2, UFC = 1u << 3, IXC = 1u << 4, IDC = 1u << 7,
                               QC = 1u << 27;
}

/// FPCR control bits. The trap enables are RAZ/WI on both cores, so no exception ever traps.
namespace fpcr {
inline constexpr std::uint32_t FZ16 = 1u << 19, RMode = 3u << 22, FZ = 1u << 24, DN = 1u << 25, AHP = 1u << 26;
}

/// The first four are the encodings of FPCR.RMode.
enum class Rounding : std::uint8_t { tie_even = 0, plus = 1, minus = 2, zero = 3, tie_away = 4, odd = 5 };

/// What one operation reads of FPCR, and the FPSR bits it sets.
struct FpEnv {
    std::uint32_t fpcr{};
    std::uint32_t flags{};

    Rounding rounding() const { return static_cast<Rounding>(fpcr >> 22 & 3); }
    bool fz() const { return fpcr & fpcr::FZ; }
    bool fz16() const { return fpcr & fpcr::FZ16; }
    bool dn() const { return fpcr & fpcr::DN; }
    bool ahp() const { return fpcr & fpcr::AHP; }
};

/// An IEEE 754 interchange format. `Bits` holds an encoding, `Host` is the host's type of that format, if it has one.
template <class BitsT, class HostT, unsigned ExpBits, unsigned FracBits, unsigned SizeLog2>
struct FpFormat {
    using Bits = BitsT;
    using Host = HostT;
    static constexpr unsigned size_log2 = SizeLog2; ///< of the size in bytes; the index of the element size
    static constexpr unsigned exp_bits = ExpBits, frac_bits = FracBits, bits = 1 + ExpBits + FracBits;
    static constexpr int bias = (1 << (ExpBits - 1)) - 1, min_exp = 1 - bias;
    static constexpr unsigned exp_max = (1u << ExpBits) - 1;
    static constexpr Bits sign_bit = static_cast<Bits>(std::uint64_t{1} << (bits - 1));
    static constexpr Bits frac_mask = static_cast<Bits>((std::uint64_t{1} << FracBits) - 1);
    static constexpr Bits quiet_bit = static_cast<Bits>(std::uint64_t{1} << (FracBits - 1));
    static constexpr Bits infinity = static_cast<Bits>(std::uint64_t{exp_max} << FracBits);
    static constexpr Bits max_normal = static_cast<Bits>(infinity - 1);
    static constexpr Bits default_nan = static_cast<Bits>(infinity | quiet_bit);
    static constexpr Bits one = static_cast<Bits>(static_cast<std::uint64_t>(bias) << FracBits);

    static constexpr Bits signed_zero(bool sign) { return sign ? sign_bit : Bits{0}; }
    static constexpr bool is_nan(Bits v) { return static_cast<Bits>(v & ~sign_bit) > infinity; }
    static constexpr bool is_denormal(Bits v) { return !(v & infinity) && (v & frac_mask); }
};

using F16 = FpFormat<std::uint16_t, void, 5, 10, 1>;
using F32 = FpFormat<std::uint32_t, float, 8, 23, 2>;
using F64 = FpFormat<std::uint64_t, double, 11, 52, 3>;

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);
static_assert(static_cast<int>(std::float_round_style::round_to_nearest) == std::numeric_limits<double>::round_style);

} // namespace rkperf::a64

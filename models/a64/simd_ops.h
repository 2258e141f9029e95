// SPDX-License-Identifier: Apache-2.0
// Integer lane operations of Advanced SIMD.
#pragma once

#include "models/a64/simd_exec.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace rkperf::a64::lane_op {

/// Operations on wider intermediates name the narrow type E; W is the type twice as wide.
///
/// The integer type twice as wide (128 bits for 64).
template <class T>
struct Doubled;
template <>
struct Doubled<std::int8_t> {
    using type = std::int16_t;
};
template <>
struct Doubled<std::int16_t> {
    using type = std::int32_t;
};
template <>
struct Doubled<std::int32_t> {
    using type = std::int64_t;
};
template <>
struct Doubled<std::int64_t> {
    using type = __int128;
};
template <>
struct Doubled<std::uint8_t> {
    using type = std::uint16_t;
};
template <>
struct Doubled<std::uint16_t> {
    using type = std::uint32_t;
};
template <>
struct Doubled<std::uint32_t> {
    using type = std::uint64_t;
};
template <>
struct Doubled<std::uint64_t> {
    using type = unsigned __int128;
};
template <class T>
using Twice = typename Doubled<T>::type;

template <class T>
constexpr std::make_unsigned_t<T> to_unsigned(T v) {
    return static_cast<std::make_unsigned_t<T>>(v);
}

/// v, or the nearest value T can hold.
template <class T, class W>
inline T saturate(W v, auto& saturated) {
    constexpr W low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    const W clamped = v < low ? low : v > high ? high : v;
    saturated |= clamped != v;
    return static_cast<T>(clamped);
}

template <bool sign, unsigned element_sizes>
struct Int : LaneOp {
    static constexpr bool is_signed = sign;
    static constexpr unsigned sizes = element_sizes;
};
inline constexpr unsigned kAll = 0b1111, kNoD = 0b0111, kB = 0b0001, kHS = 0b0110, kD = 0b1000;

template <unsigned z = kAll>
struct Add : Int<false, z> {
    template <class T>
    static T run(T a, T b) {
        return static_cast<T>(a + b);
    }
};
template <unsigned z = kAll>
struct Sub : Int<false, z> {
    template <class T>
    static T run(T a, T b) {
        return static_cast<T>(a - b);
    }
};
struct Mul : Int<false, kNoD> {
    template <class T>
    static T run(T a, T b) {
        return static_cast<T>(1u * a * b);
    }
};
struct Mla : Int<false, kNoD> {
    static constexpr bool accumulates = true;
    template <class T>
    static T run(T d, T a, T b) {
        return static_cast<T>(d + 1u * a * b);
    }
};
struct Mls : Int<false, kNoD> {
    static constexpr bool accumulates = true;
    template <class T>
    static T run(T d, T a, T b) {
        return static_cast<T>(d - 1u * a * b);
    }
};

// Halving: sums that fit in the next wider type, without it.
template <bool sign>
struct HAdd : Int<sign, kNoD> {
    template <class T>
    static T run(T a, T b) {
        return static_cast<T>((a >> 1) + (b >> 1) + (a & b & 1));
    }
};
template <bool sign>
struct RHAdd : Int<sign, kNoD> {
    template <class T>
    static T run(T a, T b) {
        return static_cast<T>((a >> 1) + (b >> 1) + ((a | b) & 1));
    }
};
template <bool sign>
struct HSub : Int<sign, kNoD> {
    template <class T>
    static T run(T a, T b) {
        return static_cast<T>((a >> 1) - (b >> 1) - (~a & b & 1));
    }
};

template <bool sign>
struct QAdd : Int<sign, kAll> {
    static constexpr bool saturates = true;
    template <class T>
    static T run(T a, T b, auto& saturated) {
        return saturate<T>(static_cast<Twice<T>>(static_cast<Twice<T>>(a) + b), saturated);
    }
};
template <bool sign>
struct QSub : Int<sign, kAll> {
    static constexpr bool saturates = true;
    template <class T>
    static T run(T a, T b, auto& saturated) {
        if constexpr (sign) return saturate<T>(static_cast<Twice<T>>(static_cast<Twice<T>>(a) - b), saturated);
        saturated |= a < b;
        return a < b ? T{0} : static_cast<T>(a - b);
    }
};

template <class T>
constexpr T mask_of(bool v) {
    return static_cast<T>(v ? ~T{0} : T{0});
}
template <bool sign, unsigned z = kAll>
struct CmGt : Int<sign, z> {
    template <class T>
    static T run(T a, T b) {
        return mask_of<T>(a > b);
    }
};
template <bool sign, unsigned z = kAll>
struct CmGe : Int<sign, z> {
    template <class T>
    static T run(T a, T b) {
        return mask_of<T>(a >= b);
    }
};
template <unsigned z = kAll>
struct CmEq : Int<false, z> {
    template <class T>
    static T run(T a, T b) {
        return mask_of<T>(a == b);
    }
};
template <unsigned z = kAll>
struct CmTst : Int<false, z> {
    template <class T>
    static T run(T a, T b) {
        return mask_of<T>((a & b) != 0);
    }
};

template <bool sign>
struct Max : Int<sign, kNoD> {
    template <class T>
    static T run(T a, T b) {
        return a > b ? a : b;
    }
};
template <bool sign>
struct Min : Int<sign, kNoD> {
    template <class T>
    static T run(T a, T b) {
        return a < b ? a : b;
    }
};
template <bool sign>
struct Abd : Int<sign, kNoD> {
    template <class T>
    static T run(T a, T b) {
        using U = std::make_unsigned_t<T>;
        return static_cast<T>(a > b ? static_cast<U>(static_cast<U>(a) - static_cast<U>(b))
                                    : static_cast<U>(static_cast<U>(b) - static_cast<U>(a)));
    }
};
template <bool sign>
struct Aba : Int<sign, kNoD> {
    static constexpr bool accumulates = true;
    template <class T>
    static T run(T d, T a, T b) {
        return static_cast<T>(to_unsigned(d) + to_unsigned(Abd<sign>::template run<T>(a, b)));
    }
};

/// Carry-less product of two bytes, its low eight bits.
struct PMul : Int<false, kB> {
    template <class T>
    static T run(T a, T b) {
        unsigned r = 0;
        for (unsigned n = 0; n < 8; ++n) r ^= (b >> n & 1) ? static_cast<unsigned>(a) << n : 0;
        return static_cast<T>(r);
    }
};

/// Shifts by a signed number in the low byte of the other operand: left if positive.
template <bool sign, bool rounds, unsigned z = kAll>
struct Shl : Int<sign, z> {
    template <class T>
    static T run(T a, T b) {
        constexpr int width = sizeof(T) * 8;
        const int n = static_cast<std::int8_t>(b);
        if (n >= 0) return n >= width ? T{0} : static_cast<T>(to_unsigned(a) << n);
        if (n <= -width) {
            if (!rounds) return a < 0 ? static_cast<T>(-1) : T{0};
            // Only a rounding shift by exactly the width can leave anything.
            return n == -width && !sign ? static_cast<T>(to_unsigned(a) >> (width - 1)) : T{0};
        }
        const T shifted = static_cast<T>(a >> -n);
        return rounds ? static_cast<T>(to_unsigned(shifted) + (to_unsigned(a) >> (-n - 1) & 1)) : shifted;
    }
};
template <class T>
inline T saturating_shift_left(T a, int n, auto& saturated) {
    constexpr int width = sizeof(T) * 8;
    const T limit = a < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    if (a == 0) return 0;
    if (n < width) {
        const T shifted = static_cast<T>(to_unsigned(a) << n);
        if (static_cast<T>(shifted >> n) == a) return shifted;
    }
    saturated = true;
    return limit;
}
template <bool sign, bool rounds>
struct QShl : Int<sign, kAll> {
    static constexpr bool saturates = true;
    template <class T>
    static T run(T a, T b, auto& saturated) {
        const int n = static_cast<std::int8_t>(b);
        return n < 0 ? Shl<sign, rounds>::template run<T>(a, b) : saturating_shift_left<T>(a, n, saturated);
    }
};

/// High half of twice the product, saturated.
template <bool rounds>
struct QDMulH : Int<true, kHS> {
    static constexpr bool saturates = true;
    template <class T>
    static T run(T a, T b, auto& saturated) {
        constexpr unsigned width = sizeof(T) * 8;
        using W = Twice<T>;
        W p = static_cast<W>(static_cast<W>(a) * b);
        if (rounds) p = static_cast<W>(p + (W{1} << (width - 2))); // at most 2^(2 width - 2) + half: no overflow
        return saturate<T>(static_cast<W>(p >> (width - 1)), saturated);
    }
};
/// SQRDMLAH, SQRDMLSH: accumulated before the one rounding.
template <bool subtracts>
struct QRDMlaH : Int<true, kHS> {
    static constexpr bool saturates = true, accumulates = true;
    template <class T>
    static T run(T d, T a, T b, auto& saturated) {
        constexpr unsigned width = sizeof(T) * 8;
        const __int128 p = static_cast<__int128>(2) * a * b;
        const __int128 sum =
            (static_cast<__int128>(d) << width) + (subtracts ? -p : p) + (static_cast<__int128>(1) << (width - 1));
        return saturate<T>(static_cast<__int128>(sum >> width), saturated);
    }
};

// ---- one operand

struct CountLeadingZeros : Int<false, kNoD> {
    template <class T>
    static T run(T a) {
        return static_cast<T>(std::countl_zero(a));
    }
};
struct CountLeadingSigns : Int<false, kNoD> {
    template <class T>
    static T run(T a) {
        constexpr unsigned width = sizeof(T) * 8;
        const T folded = static_cast<T>(a ^ (a >> (width - 1) ? ~T{0} : T{0}));
        return static_cast<T>(std::countl_zero(folded) - 1);
    }
};
struct CountBits : Int<false, kB> {
    template <class T>
    static T run(T a) {
        unsigned v = a;
        v -= v >> 1 & 0x55;
        v = (v & 0x33) + (v >> 2 & 0x33);
        return static_cast<T>((v + (v >> 4)) & 15);
    }
};
struct Not : Int<false, kB> {
    template <class T>
    static T run(T a) {
        return static_cast<T>(~a);
    }
};
struct ReverseBits : Int<false, kB> {
    template <class T>
    static T run(T a) {
        unsigned v = a;
        v = (v >> 1 & 0x55) | (v & 0x55) << 1;
        v = (v >> 2 & 0x33) | (v & 0x33) << 2;
        return static_cast<T>(v >> 4 | v << 4);
    }
};
template <unsigned z = kAll>
struct Abs : Int<true, z> {
    template <class T>
    static T run(T a) {
        return a < 0 ? static_cast<T>(0 - to_unsigned(a)) : a;
    }
};
template <unsigned z = kAll>
struct Neg : Int<false, z> {
    template <class T>
    static T run(T a) {
        return static_cast<T>(0 - a);
    }
};
template <bool only_negative>
struct QNeg : Int<true, kAll> {
    static constexpr bool saturates = true;
    template <class T>
    static T run(T a, auto& saturated) {
        if (only_negative && a >= 0) return a;
        const bool lowest = a == std::numeric_limits<T>::min();
        saturated |= lowest;
        return lowest ? std::numeric_limits<T>::max() : static_cast<T>(0 - to_unsigned(a));
    }
};
/// SUQADD (signed rd + unsigned rn), USQADD (unsigned rd + signed rn).
template <bool sign>
struct MixedQAdd : Int<sign, kAll> {
    static constexpr bool saturates = true, accumulates = true;
    template <class T>
    static T run(T d, T a, auto& saturated) {
        using Other = std::conditional_t<sign, std::make_unsigned_t<T>, std::make_signed_t<T>>;
        using W = std::conditional_t<sizeof(T) == 8, __int128, std::int64_t>;
        const W sum = static_cast<W>(d) + static_cast<W>(static_cast<Other>(a));
        constexpr W low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
        saturated |= sum < low || sum > high;
        return static_cast<T>(sum < low ? low : sum > high ? high : sum);
    }
};
enum class Relation { gt, ge, eq, le, lt };
template <Relation r, unsigned z = kAll>
struct CmZero : Int<true, z> {
    template <class T>
    static T run(T a) {
        return mask_of<T>(r == Relation::gt   ? a > 0
                          : r == Relation::ge ? a >= 0
                          : r == Relation::eq ? a == 0
                          : r == Relation::le ? a <= 0
                                              : a < 0);
    }
};

} // namespace rkperf::a64::lane_op

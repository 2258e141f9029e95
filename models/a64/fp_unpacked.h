// SPDX-License-Identifier: Apache-2.0
// Inner parts of the soft-float core: unpacked numbers, rounding, NaN rules. Private to the fp_soft*.cpp files.
#pragma once

#include "models/a64/fp_format.h"

#include <bit>
#include <cstdint>
#include <utility>

namespace rkperf::a64::soft {

enum class Class : std::uint8_t { zero, finite, infinity, quiet_nan, signalling_nan };

/// A finite number is mant / 2^63 * 2^exp with bit 63 of mant set.
struct Unpacked {
    Class cls{};
    bool sign{};
    int exp{};
    std::uint64_t mant{};

    bool is_zero() const { return cls == Class::zero; }
    bool is_inf() const { return cls == Class::infinity; }
    bool is_nan() const { return cls >= Class::quiet_nan; }
};

/// The rules for half precision differ between arithmetic (FZ16 counts, AHP does not) and conversions (the reverse).
enum class Use : bool { arithmetic, conversion };

/// Shifts right; bits lost are ORed into bit 0, so that later rounding still knows that something was there.
template <class T>
constexpr T shift_right_jam(T v, unsigned n) {
    constexpr unsigned width = sizeof(T) * 8;
    if (n == 0) return v;
    if (n >= width) return v != 0;
    return v >> n | static_cast<T>((v << (width - n)) != 0);
}

template <class F, Use use = Use::arithmetic>
Unpacked unpack(typename F::Bits op, FpEnv& env) {
    constexpr bool half = F::bits == 16;
    Unpacked u;
    u.sign = op >> (F::bits - 1);
    const unsigned exp = static_cast<unsigned>(op >> F::frac_bits) & F::exp_max;
    const std::uint64_t frac = op & F::frac_mask;
    if (exp == 0) {
        if (frac == 0) return u;
        if (half ? use == Use::arithmetic && env.fz16() : env.fz()) {
            if (!half) env.flags |= fpsr::IDC;
            return u;
        }
        const unsigned lead = static_cast<unsigned>(std::countl_zero(frac));
        u.cls = Class::finite;
        u.mant = frac << lead;
        u.exp = F::min_exp - static_cast<int>(lead - (63 - F::frac_bits));
    } else if (exp == F::exp_max && !(half && use == Use::conversion && env.ahp())) {
        u.cls = frac == 0 ? Class::infinity : op & F::quiet_bit ? Class::quiet_nan : Class::signalling_nan;
    } else {
        u.cls = Class::finite;
        u.mant = (frac | std::uint64_t{1} << F::frac_bits) << (63 - F::frac_bits);
        u.exp = static_cast<int>(exp) - F::bias;
    }
    return u;
}

inline bool rounds_up(Rounding rounding, bool sign, bool odd, bool above_half, bool half, bool inexact) {
    switch (rounding) {
        case Rounding::tie_even: return above_half || (half && odd);
        case Rounding::tie_away: return above_half || half;
        case Rounding::plus: return inexact && !sign;
        case Rounding::minus: return inexact && sign;
        default: return false;
    }
}

/// Rounds (-1)^sign * mant / 2^63 * 2^exp; bit 63 of mant is set, bit 0 may be a sticky bit.
template <class F, Use use = Use::arithmetic>
typename F::Bits round_pack(bool sign, int exp, std::uint64_t mant, Rounding rounding, FpEnv& env) {
    using Bits = typename F::Bits;
    constexpr bool half_precision = F::bits == 16;
    constexpr unsigned tail_bits = 63 - F::frac_bits;
    constexpr std::uint64_t tail_mask = (std::uint64_t{1} << tail_bits) - 1, half = std::uint64_t{1} << (tail_bits - 1);
    const bool flush = half_precision ? use == Use::arithmetic && env.fz16() : env.fz();
    unsigned biased = 0;
    if (exp < F::min_exp) {
        if (flush) {
            env.flags |= fpsr::UFC;
            return F::signed_zero(sign);
        }
        mant = shift_right_jam(mant, static_cast<unsigned>(F::min_exp - exp));
    } else {
        biased = static_cast<unsigned>(exp - F::min_exp + 1);
    }
    std::uint64_t value = mant >> tail_bits;
    const std::uint64_t error = mant & tail_mask;
    if (biased == 0 && error) env.flags |= fpsr::UFC;
    if (rounds_up(rounding, sign, value & 1, error > half, error == half, error != 0)) {
        ++value;
        if (value == std::uint64_t{1} << F::frac_bits) biased = 1;
        if (value == std::uint64_t{2} << F::frac_bits) {
            ++biased;
            value >>= 1;
        }
    }
    bool inexact = error != 0;
    if (inexact && rounding == Rounding::odd) value |= 1;
    const Bits sign_bits = F::signed_zero(sign);
    if (half_precision && use == Use::conversion && env.ahp()) {
        if (biased > F::exp_max) {
            env.flags |= fpsr::IOC;
            return static_cast<Bits>(sign_bits | static_cast<Bits>(~F::sign_bit));
        }
    } else if (biased >= F::exp_max) {
        env.flags |= fpsr::OFC | fpsr::IXC;
        const bool to_infinity = rounding == Rounding::tie_even || (rounding == Rounding::plus && !sign) ||
                                 (rounding == Rounding::minus && sign);
        return static_cast<Bits>(sign_bits | (to_infinity ? F::infinity : F::max_normal));
    }
    if (inexact) env.flags |= fpsr::IXC;
    return static_cast<Bits>(sign_bits | static_cast<std::uint64_t>(biased) << F::frac_bits | (value & F::frac_mask));
}

/// The result for a NaN operand.
template <class F>
typename F::Bits process_nan(typename F::Bits op, Class cls, FpEnv& env) {
    if (cls == Class::signalling_nan) {
        env.flags |= fpsr::IOC;
        op = static_cast<typename F::Bits>(op | F::quiet_bit);
    }
    return env.dn() ? F::default_nan : op;
}

/// If an operand is a NaN, puts the result in `result`: signalling NaNs first, then in operand order.
template <class F>
bool process_nans(const Unpacked& ua, const Unpacked& ub, typename F::Bits a, typename F::Bits b,
                  typename F::Bits& result, FpEnv& env) {
    if (!ua.is_nan() && !ub.is_nan()) return false;
    const bool first = ua.cls == Class::signalling_nan || (ua.is_nan() && ub.cls != Class::signalling_nan);
    result = first ? process_nan<F>(a, ua.cls, env) : process_nan<F>(b, ub.cls, env);
    return true;
}

template <class F>
typename F::Bits invalid(FpEnv& env) {
    env.flags |= fpsr::IOC;
    return F::default_nan;
}

/// Sign of an exact zero sum of operands that are not both zeros of one sign.
inline bool zero_sum_sign(const FpEnv& env) { return env.rounding() == Rounding::minus; }

using Wide = unsigned __int128;

inline unsigned leading_zeros(Wide v) {
    const auto high = static_cast<std::uint64_t>(v >> 64);
    return high ? static_cast<unsigned>(std::countl_zero(high))
                : 64 + static_cast<unsigned>(std::countl_zero(static_cast<std::uint64_t>(v)));
}

/// Rounds (-1)^sign * v / 2^127 * 2^exp for any v other than 0.
template <class F>
typename F::Bits round_pack_wide(bool sign, int exp, Wide v, FpEnv& env) {
    const unsigned lead = leading_zeros(v);
    v <<= lead;
    const std::uint64_t mant = static_cast<std::uint64_t>(v >> 64) | (static_cast<std::uint64_t>(v) != 0);
    return round_pack<F>(sign, exp - static_cast<int>(lead), mant, env.rounding(), env);
}

/// (-1)^sa * a / 2^127 * 2^ea + (-1)^sb * b / 2^127 * 2^eb, rounded once. a and b have bit 126 as their highest, and so
/// many zero bits at the bottom that a jammed bit 0 cannot disturb the rounding.
template <class F>
typename F::Bits add_wide(bool sa, int ea, Wide a, bool sb, int eb, Wide b, FpEnv& env) {
    if (ea < eb || (ea == eb && a < b)) {
        std::swap(sa, sb);
        std::swap(ea, eb);
        std::swap(a, b);
    }
    b = shift_right_jam(b, static_cast<unsigned>(ea - eb));
    const Wide sum = sa == sb ? a + b : a - b;
    if (sum == 0) return F::signed_zero(zero_sum_sign(env));
    return round_pack_wide<F>(sa, ea, sum, env);
}

} // namespace rkperf::a64::soft

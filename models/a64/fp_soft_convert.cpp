// SPDX-License-Identifier: Apache-2.0
// Soft-float conversions and estimates.
#include "models/a64/fp_soft.h"
#include "models/a64/fp_unpacked.h"

namespace rkperf::a64::soft {

namespace {

/// The magnitude of a finite number as an integer, rounded. exp is at most 63.
std::uint64_t integral(const Unpacked& u, int exp, Rounding rounding, bool& inexact) {
    std::uint64_t value = 0, below = 0; // below: the fraction, in units of 2^-64, if exp >= -1
    bool above_half = false, half = false;
    if (exp >= 0) {
        value = u.mant >> (63 - exp);
        below = exp == 63 ? 0 : u.mant << (exp + 1);
        half = below == std::uint64_t{1} << 63;
        above_half = below > std::uint64_t{1} << 63;
        inexact = below != 0;
    } else {
        half = exp == -1 && u.mant == std::uint64_t{1} << 63;
        above_half = exp == -1 && !half;
        inexact = true;
    }
    return value + rounds_up(rounding, u.sign, value & 1, above_half, half, inexact);
}

/// 1 / a to 9 bits: a and the result are in 256..511 and stand for [0.5, 1) and [1, 2).
unsigned recip_table(unsigned a) {
    const unsigned b = (1u << 19) / (2 * a + 1);
    return (b + 1) / 2;
}

/// 1 / sqrt(a) to 9 bits: a in 128..511 stands for [0.25, 1), the result in 256..511 for [1, 2).
unsigned recip_sqrt_table(unsigned a) {
    a = a < 256 ? 2 * a + 1 : ((a >> 1 << 1) + 1) * 2;
    unsigned b = 512;
    while (a * (b + 1) * (b + 1) < 1u << 28) ++b;
    return (b + 1) / 2;
}

} // namespace

template <class F>
typename F::Bits round_int(typename F::Bits a, Rounding rounding, bool exact, FpEnv& env) {
    const Unpacked u = unpack<F>(a, env);
    if (u.is_nan()) return process_nan<F>(a, u.cls, env);
    if (u.is_inf()) return a;
    if (u.is_zero()) return F::signed_zero(u.sign);
    if (u.exp >= static_cast<int>(F::frac_bits)) return a;
    bool inexact = false;
    const std::uint64_t value = integral(u, u.exp, rounding, inexact);
    if (inexact && exact) env.flags |= fpsr::IXC;
    if (value == 0) return F::signed_zero(u.sign);
    const int lead = std::countl_zero(value);
    return round_pack<F>(u.sign, 63 - lead, value << lead, Rounding::zero, env);
}

template <class F>
std::uint64_t to_fixed(typename F::Bits a, unsigned fbits, unsigned width, bool is_unsigned, Rounding rounding,
                       FpEnv& env) {
    const Unpacked u = unpack<F>(a, env);
    if (u.is_nan()) {
        env.flags |= fpsr::IOC;
        return 0;
    }
    if (u.is_zero()) return 0;
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - width);
    const std::uint64_t limit = is_unsigned ? (u.sign ? 0 : all) : u.sign ? (all >> 1) + 1 : all >> 1;
    const int exp = u.exp + static_cast<int>(fbits);
    std::uint64_t value = 0;
    bool inexact = false, saturate = u.is_inf() || exp > 63;
    if (!saturate) {
        value = integral(u, exp, rounding, inexact);
        saturate = value > limit;
    }
    if (saturate) {
        env.flags |= fpsr::IOC;
        value = limit;
    } else if (inexact) {
        env.flags |= fpsr::IXC;
    }
    return (u.sign ? 0 - value : value) & all;
}

template <class F>
typename F::Bits from_fixed(bool sign, std::uint64_t magnitude, unsigned fbits, FpEnv& env) {
    if (magnitude == 0) return 0;
    const int lead = std::countl_zero(magnitude);
    return round_pack<F>(sign, 63 - lead - static_cast<int>(fbits), magnitude << lead, env.rounding(), env);
}

template <class To, class From>
typename To::Bits convert(typename From::Bits a, Rounding rounding, FpEnv& env) {
    using Bits = typename To::Bits;
    const Unpacked u = unpack<From, Use::conversion>(a, env);
    const bool alternative = To::bits == 16 && env.ahp();
    const Bits sign = To::signed_zero(u.sign);
    if (u.is_nan()) {
        if (u.cls == Class::signalling_nan || alternative) env.flags |= fpsr::IOC;
        if (alternative) return sign;
        if (env.dn()) return To::default_nan;
        const std::uint64_t top = static_cast<std::uint64_t>(a & From::frac_mask) << (63 - From::frac_bits);
        return static_cast<Bits>(sign | To::default_nan | top >> (63 - To::frac_bits));
    }
    if (u.is_inf()) {
        if (!alternative) return static_cast<Bits>(sign | To::infinity);
        env.flags |= fpsr::IOC;
        return static_cast<Bits>(sign | static_cast<Bits>(~To::sign_bit));
    }
    if (u.is_zero()) return sign;
    return round_pack<To, Use::conversion>(u.sign, u.exp, u.mant, rounding, env);
}

template <class F>
typename F::Bits recip_estimate(typename F::Bits a, FpEnv& env) {
    using Bits = typename F::Bits;
    const Unpacked u = unpack<F>(a, env);
    if (u.is_nan()) return process_nan<F>(a, u.cls, env);
    const Bits sign = F::signed_zero(u.sign);
    if (u.is_inf()) return sign;
    if (u.is_zero()) {
        env.flags |= fpsr::DZC;
        return static_cast<Bits>(sign | F::infinity);
    }
    if (u.exp < F::min_exp - 2) {
        env.flags |= fpsr::OFC | fpsr::IXC;
        const Rounding r = env.rounding();
        const bool to_infinity = r == Rounding::tie_even || r == (u.sign ? Rounding::minus : Rounding::plus);
        return static_cast<Bits>(sign | (to_infinity ? F::infinity : F::max_normal));
    }
    if ((F::bits == 16 ? env.fz16() : env.fz()) && u.exp >= F::bias - 1) {
        env.flags |= fpsr::UFC;
        return sign;
    }
    const unsigned estimate = recip_table(static_cast<unsigned>(u.mant >> 55));
    const int exp = -1 - u.exp; // of the estimate in [1, 2)
    int biased = exp + F::bias;
    std::uint64_t frac = static_cast<std::uint64_t>(estimate & 0xff) << 44 | std::uint64_t{1} << 52;
    if (biased <= 0) {
        frac >>= 1 - biased; // a denormal result is cut off, not rounded
        biased = 0;
    }
    frac &= F64::frac_mask;
    return static_cast<Bits>(sign | static_cast<std::uint64_t>(biased) << F::frac_bits | frac >> (52 - F::frac_bits));
}

template <class F>
typename F::Bits recip_sqrt_estimate(typename F::Bits a, FpEnv& env) {
    using Bits = typename F::Bits;
    const Unpacked u = unpack<F>(a, env);
    if (u.is_nan()) return process_nan<F>(a, u.cls, env);
    if (u.is_zero()) {
        env.flags |= fpsr::DZC;
        return static_cast<Bits>(F::signed_zero(u.sign) | F::infinity);
    }
    if (u.sign) return invalid<F>(env);
    if (u.is_inf()) return 0;
    // Scale the operand to [0.25, 1) by an even power of two.
    const bool odd = u.exp & 1;
    const unsigned scaled = static_cast<unsigned>(u.mant >> (odd ? 55 : 56));
    const int half = (u.exp + (odd ? 1 : 2)) / 2;
    const unsigned estimate = recip_sqrt_table(scaled);
    const auto biased = static_cast<std::uint64_t>(F::bias - half);
    return static_cast<Bits>(biased << F::frac_bits | static_cast<std::uint64_t>(estimate & 0xff)
                                                          << (F::frac_bits - 8));
}

template <class F>
typename F::Bits recip_exponent(typename F::Bits a, FpEnv& env) {
    using Bits = typename F::Bits;
    const Unpacked u = unpack<F>(a, env);
    if (u.is_nan()) return process_nan<F>(a, u.cls, env);
    const Bits sign = F::signed_zero(u.sign);
    if (!(a & F::infinity)) return static_cast<Bits>(sign | std::uint64_t{F::exp_max - 1} << F::frac_bits);
    return static_cast<Bits>(sign | (~a & F::infinity));
}

std::uint32_t unsigned_recip_estimate(std::uint32_t a) { return a >> 31 ? recip_table(a >> 23) << 23 : ~0u; }

std::uint32_t unsigned_recip_sqrt_estimate(std::uint32_t a) { return a >> 30 ? recip_sqrt_table(a >> 23) << 23 : ~0u; }

#define RK_INSTANTIATE(F) \
    template F::Bits round_int<F>(F::Bits, Rounding, bool, FpEnv&); \
    template std::uint64_t to_fixed<F>(F::Bits, unsigned, unsigned, bool, Rounding, FpEnv&); \
    template F::Bits from_fixed<F>(bool, std::uint64_t, unsigned, FpEnv&); \
    template F::Bits recip_estimate<F>(F::Bits, FpEnv&); \
    template F::Bits recip_sqrt_estimate<F>(F::Bits, FpEnv&); \
    template F::Bits recip_exponent<F>(F::Bits, FpEnv&);
RK_INSTANTIATE(F16)
RK_INSTANTIATE(F32)
RK_INSTANTIATE(F64)
#undef RK_INSTANTIATE

template F16::Bits convert<F16, F32>(F32::Bits, Rounding, FpEnv&);
template F16::Bits convert<F16, F64>(F64::Bits, Rounding, FpEnv&);
template F32::Bits convert<F32, F16>(F16::Bits, Rounding, FpEnv&);
template F32::Bits convert<F32, F64>(F64::Bits, Rounding, FpEnv&);
template F64::Bits convert<F64, F16>(F16::Bits, Rounding, FpEnv&);
template F64::Bits convert<F64, F32>(F32::Bits, Rounding, FpEnv&);

} // namespace rkperf::a64::soft

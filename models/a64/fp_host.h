// SPDX-License-Identifier: Apache-2.0
// When and how the host's floating-point arithmetic stands in for the definition (fp_soft.h).
//
// The host computes in round-to-nearest, never flushes, and reports nothing. So its result stands if FPCR.RMode is
// nearest, FPSR.IXC is set already or exactness is known, the result's exponent shows that there was neither overflow
// nor underflow nor an invalid operation, and, with FPCR.FZ, nothing denormal was involved.
#pragma once

#include "models/a64/fp_soft.h"
#include "models/a64/state.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace rkperf::a64 {

template <class F>
inline constexpr bool kHasHost = !std::is_void_v<typename F::Host>;

/// The host's arithmetic gives the result wherever it is `plain`.
inline bool host_mode(const CpuState& s) { return ((s.fpcr & (fpcr::RMode | fpcr::FZ)) | (~s.fpsr & fpsr::IXC)) == 0; }
/// The same, but FPCR.FZ may be set: then operands must not be denormal nor the result outside is_well_normal().
inline bool host_mode_or_flush(const CpuState& s) { return ((s.fpcr & fpcr::RMode) | (~s.fpsr & fpsr::IXC)) == 0; }

/// Neither infinite nor a NaN.
template <class F>
constexpr bool is_finite(typename F::Bits r) {
    return static_cast<typename F::Bits>(r << 1) < static_cast<typename F::Bits>(F::infinity << 1);
}
/// A normal number, and not the smallest binade, into which rounding may have lifted a tiny result.
template <class F>
constexpr bool is_well_normal(typename F::Bits r) {
    using Bits = typename F::Bits;
    constexpr Bits low = static_cast<Bits>(Bits{2} << (F::frac_bits + 1));
    return static_cast<Bits>(static_cast<Bits>(r << 1) - low) < static_cast<Bits>((F::infinity << 1) - low);
}

/// Far enough from overflow for error terms to be computed.
template <class F>
constexpr bool is_moderate(typename F::Bits r) {
    using Bits = typename F::Bits;
    return static_cast<Bits>(r << 1) < static_cast<Bits>((F::infinity << 1) - (Bits{4} << (F::frac_bits + 1)));
}

/// What the host's sum r of a and b lacks: Knuth's error term is exact, denormals included.
template <class H>
inline H sum_error(H a, H b, H r) {
    const H t = r - a;
    return (a - (r - t)) + (b - t);
}
template <class H>
inline bool sum_inexact(H a, H b, H r) {
    return sum_error(a, b, r) != 0;
}

/// Whether the product of two finite numbers, neither zero, has more significant bits than the format.
template <class F>
inline bool product_inexact(typename F::Bits a, typename F::Bits b) {
    const auto odd_part = [](typename F::Bits v) {
        const std::uint64_t f = v & F::frac_mask;
        const std::uint64_t m = v & F::infinity ? f | std::uint64_t{1} << F::frac_bits : f;
        return m >> std::countr_zero(m);
    };
    constexpr int digits = F::frac_bits + 1;
    const std::uint64_t x = odd_part(a), y = odd_part(b);
    const int length = std::bit_width(x) + std::bit_width(y); // of the product, or one more
    return length > digits + 1 || std::bit_width(x * y) > digits;
}

enum class Exactness { exact, inexact, unknown };

/// Op on a and b by the host if that stands. env.flags holds FPSR on entry.
template <class F, class Op>
inline bool host_binary(typename F::Bits a, typename F::Bits b, typename F::Bits& result, FpEnv& env) {
    using Host = typename F::Host;
    if (env.fpcr & fpcr::RMode) return false;
    const Host x = std::bit_cast<Host>(a), y = std::bit_cast<Host>(b);
    const Host value = Op::host(x, y);
    const auto r = std::bit_cast<typename F::Bits>(value);
    if (env.fz() ? !is_well_normal<F>(r) || F::is_denormal(a) || F::is_denormal(b) : !Op::template plain<F>(r))
        return false;
    if (!(env.flags & fpsr::IXC)) {
        if (!is_moderate<F>(a) || !is_moderate<F>(b) || !is_moderate<F>(r)) return false;
        const Exactness e = Op::template exactness<F>(a, b, r);
        if (e == Exactness::unknown) return false;
        if (e == Exactness::inexact) env.flags |= fpsr::IXC;
    }
    result = r;
    return true;
}

/// a * b + c with one rounding, as the host's own operations give it; round to nearest, no NaN rules, no flags.
inline float host_fma(float a, float b, float c) {
    // The product is exact in double. Rounding the sum twice matters only if the first rounding hit a tie of the second.
    const double p = static_cast<double>(a) * b, addend = c;
    double sum = p + addend;
    std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
    if (__builtin_expect((bits & 0x1fffffff) == 0x10000000, 0)) {
        const double t = sum - p;
        const double error = (p - (sum - t)) + (addend - t);
        if (error != 0) {
            bits += (error > 0) == (sum > 0) ? 1 : ~std::uint64_t{0};
            sum = std::bit_cast<double>(bits);
        }
    }
    return static_cast<float>(sum);
}

#if defined(__x86_64__)
#define RK_TARGET_FMA [[gnu::target("fma")]]
/// The host has fused multiply-add instructions. Which body runs depends on it, results do not.
inline bool host_has_fma() { return __builtin_cpu_supports("fma"); }
#else
#define RK_TARGET_FMA
inline bool host_has_fma() { return true; }
#endif
RK_TARGET_FMA inline float hw_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
RK_TARGET_FMA inline double hw_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

/// Exponent field of a product from which on the last bit of the whole product is a number of the format, and so is the
/// product's error.
template <class F>
inline constexpr auto least_exact_product = static_cast<typename F::Bits>(typename F::Bits{F::frac_bits + 2}
                                                                          << F::frac_bits);

/// a * b + c where it is exact, so that there is nothing to report; round to nearest, no flushing. False: it is not, or
/// that cannot be told, or there are infinities or NaNs.
template <class F>
RK_TARGET_FMA inline bool hw_fused_exact(typename F::Host a, typename F::Host b, typename F::Host c,
                                         typename F::Host& result) {
    using Bits = typename F::Bits;
    const auto p = a * b, sum = p + c;
    if ((std::bit_cast<Bits>(p) & F::infinity) < least_exact_product<F> && a != 0 && b != 0) return false;
    // Infinities and NaNs make a NaN of one of the errors, which equals nothing.
    const auto t = sum - p;
    if (!(hw_fma(a, b, -p) == 0 && (p - (sum - t)) + (c - t) == 0)) return false;
    result = sum;
    return true;
}

/// addend + a * b where the product is exact, so that only the sum is rounded; conditions as for host_binary().
template <class F>
inline bool host_fused(typename F::Bits addend, typename F::Bits a, typename F::Bits b, typename F::Bits& result,
                       FpEnv& env) {
    using Host = typename F::Host;
    if (env.fpcr & fpcr::RMode) return false;
    const Host p = std::bit_cast<Host>(a) * std::bit_cast<Host>(b), c = std::bit_cast<Host>(addend);
    const auto product = std::bit_cast<typename F::Bits>(p), r = std::bit_cast<typename F::Bits>(p + c);
    if (!is_well_normal<F>(product) || !is_well_normal<F>(r) || !is_moderate<F>(product) || !is_moderate<F>(r) ||
        !is_moderate<F>(addend) || product_inexact<F>(a, b))
        return false;
    if (env.fz() && (F::is_denormal(a) || F::is_denormal(b) || F::is_denormal(addend))) return false;
    if (!(env.flags & fpsr::IXC) && sum_inexact(p, c, p + c)) env.flags |= fpsr::IXC;
    result = r;
    return true;
}

} // namespace rkperf::a64

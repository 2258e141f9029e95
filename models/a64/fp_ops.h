// SPDX-License-Identifier: Apache-2.0
// Floating-point operations as function objects, shared by scalar and vector bodies: `soft` is the definition, `host`
// the host's arithmetic, which is used only where it gives the same result and the same FPSR.
//
// The host computes in round-to-nearest, never flushes, and reports nothing. So its result stands if FPCR.RMode is
// nearest, FPCR.FZ is off, FPSR.IXC is set already (or the result is known to be exact) and the result's exponent shows
// that there was neither overflow nor underflow nor an invalid operation: see host_mode() and each op's `plain`.
#pragma once

#include "models/a64/fp_soft.h"
#include "models/a64/insn.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace rkperf::a64 {

template <class F>
inline constexpr bool kHasHost = !std::is_void_v<typename F::Host>;

inline bool host_rounding(const CpuState& s) { return (s.fpcr & (fpcr::RMode | fpcr::FZ)) == 0; }
inline bool host_mode(const CpuState& s) { return ((s.fpcr & (fpcr::RMode | fpcr::FZ)) | (~s.fpsr & fpsr::IXC)) == 0; }

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

namespace op {

struct Add {
    static constexpr bool has_host = true, has_quick = false;
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return soft::add<F>(a, b, env);
    }
    template <class H>
    static H host(H a, H b) {
        return a + b;
    }
    /// A sum in the denormal range is exact, and so are zeros.
    template <class F>
    static bool plain(typename F::Bits r) {
        return is_finite<F>(r);
    }
};
struct Sub {
    static constexpr bool has_host = true, has_quick = false;
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return soft::sub<F>(a, b, env);
    }
    template <class H>
    static H host(H a, H b) {
        return a - b;
    }
    template <class F>
    static bool plain(typename F::Bits r) {
        return is_finite<F>(r);
    }
};
struct Mul {
    static constexpr bool has_host = true, has_quick = false;
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return soft::mul<F>(a, b, env);
    }
    template <class H>
    static H host(H a, H b) {
        return a * b;
    }
    template <class F>
    static bool plain(typename F::Bits r) {
        return is_well_normal<F>(r);
    }
};
struct MulX : Mul {
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return soft::mulx<F>(a, b, env);
    }
};
struct NegMul : Mul {
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return static_cast<typename F::Bits>(soft::mul<F>(a, b, env) ^ F::sign_bit);
    }
    template <class H>
    static H host(H a, H b) {
        return -(a * b);
    }
};
struct Div : Mul {
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return soft::div<F>(a, b, env);
    }
    template <class H>
    static H host(H a, H b) {
        return a / b;
    }
};
struct AbsDiff : Sub {
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return static_cast<typename F::Bits>(soft::sub<F>(a, b, env) & static_cast<typename F::Bits>(~F::sign_bit));
    }
    template <class H>
    static H host(H a, H b) {
        return std::fabs(a - b);
    }
};

/// Binary operations without a host form.
struct SoftOnly {
    static constexpr bool has_host = false, has_quick = false;
};
/// Those that only compare may have a `quick` form, which holds if FPCR.FZ is off; it declines NaNs and, where the sign of
/// a zero matters, equal operands.
struct Quick {
    static constexpr bool has_host = false, has_quick = true;
};
template <bool want_max>
struct Select : Quick {
    template <class F>
    static bool quick(typename F::Bits a, typename F::Bits b, typename F::Bits& r) {
        const auto x = std::bit_cast<typename F::Host>(a), y = std::bit_cast<typename F::Host>(b);
        r = (want_max ? x > y : x < y) ? a : b;
        return x > y || x < y;
    }
};
struct Max : Select<true> {
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return soft::max<F>(a, b, env);
    }
};
struct Min : Select<false> {
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return soft::min<F>(a, b, env);
    }
};
struct MaxNum : Select<true> {
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return soft::max_num<F>(a, b, env);
    }
};
struct MinNum : Select<false> {
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return soft::min_num<F>(a, b, env);
    }
};
struct RecipStep : SoftOnly {
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return soft::recip_step<F>(a, b, env);
    }
};
struct RecipSqrtStep : SoftOnly {
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return soft::recip_sqrt_step<F>(a, b, env);
    }
};

/// Comparisons give a mask.
template <bool holds_on_equal, bool absolute>
struct Greater : Quick {
    template <class F>
    static bool quick(typename F::Bits a, typename F::Bits b, typename F::Bits& r) {
        const auto x = std::bit_cast<typename F::Host>(a), y = std::bit_cast<typename F::Host>(b);
        const bool holds = absolute ? (holds_on_equal ? std::fabs(x) >= std::fabs(y) : std::fabs(x) > std::fabs(y))
                                    : (holds_on_equal ? x >= y : x > y);
        r = static_cast<typename F::Bits>(holds ? ~typename F::Bits{0} : typename F::Bits{0});
        return !(x != x || y != y);
    }
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        using Bits = typename F::Bits;
        if constexpr (absolute) {
            a = static_cast<Bits>(a & static_cast<Bits>(~F::sign_bit));
            b = static_cast<Bits>(b & static_cast<Bits>(~F::sign_bit));
        }
        const bool r = holds_on_equal ? soft::greater_equal<F>(a, b, env) : soft::greater<F>(a, b, env);
        return static_cast<Bits>(r ? ~Bits{0} : Bits{0});
    }
};
using CmpGt = Greater<false, false>;
using CmpGe = Greater<true, false>;
using AbsGt = Greater<false, true>;
using AbsGe = Greater<true, true>;
struct CmpEq : Quick {
    template <class F>
    static bool quick(typename F::Bits a, typename F::Bits b, typename F::Bits& r) {
        const auto x = std::bit_cast<typename F::Host>(a), y = std::bit_cast<typename F::Host>(b);
        r = static_cast<typename F::Bits>(x == y ? ~typename F::Bits{0} : typename F::Bits{0});
        return !(x != x || y != y);
    }
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        using Bits = typename F::Bits;
        return static_cast<Bits>(soft::equal<F>(a, b, env) ? ~Bits{0} : Bits{0});
    }
};
/// The operands exchanged: less than, and comparisons with zero in that sense.
template <class Op>
struct Swapped : Quick {
    template <class F>
    static bool quick(typename F::Bits a, typename F::Bits b, typename F::Bits& r) {
        return Op::template quick<F>(b, a, r);
    }
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return Op::template soft<F>(b, a, env);
    }
};

/// Unary operations.
struct Abs {
    template <class F>
    static auto soft(typename F::Bits a, FpEnv&) {
        return static_cast<typename F::Bits>(a & static_cast<typename F::Bits>(~F::sign_bit));
    }
};
struct Neg {
    template <class F>
    static auto soft(typename F::Bits a, FpEnv&) {
        return static_cast<typename F::Bits>(a ^ F::sign_bit);
    }
};
struct Move {
    template <class F>
    static auto soft(typename F::Bits a, FpEnv&) {
        return a;
    }
};
struct Sqrt {
    template <class F>
    static auto soft(typename F::Bits a, FpEnv& env) {
        return soft::sqrt<F>(a, env);
    }
};
struct RecipEstimate {
    template <class F>
    static auto soft(typename F::Bits a, FpEnv& env) {
        return soft::recip_estimate<F>(a, env);
    }
};
struct RecipSqrtEstimate {
    template <class F>
    static auto soft(typename F::Bits a, FpEnv& env) {
        return soft::recip_sqrt_estimate<F>(a, env);
    }
};
struct RecipExponent {
    template <class F>
    static auto soft(typename F::Bits a, FpEnv& env) {
        return soft::recip_exponent<F>(a, env);
    }
};
template <Rounding rounding>
struct RoundInt {
    template <class F>
    static auto soft(typename F::Bits a, FpEnv& env) {
        return soft::round_int<F>(a, rounding, false, env);
    }
};
template <bool exact>
struct RoundIntCurrent {
    template <class F>
    static auto soft(typename F::Bits a, FpEnv& env) {
        return soft::round_int<F>(a, env.rounding(), exact, env);
    }
};
/// To an integer of the operand's own size.
template <Rounding rounding, bool is_unsigned>
struct ToInt {
    template <class F>
    static auto soft(typename F::Bits a, FpEnv& env) {
        return static_cast<typename F::Bits>(soft::to_fixed<F>(a, 0, F::bits, is_unsigned, rounding, env));
    }
};
template <bool is_unsigned>
struct FromInt {
    template <class F>
    static typename F::Bits soft(typename F::Bits a, FpEnv& env) {
        const bool negative = !is_unsigned && (a & F::sign_bit);
        return soft::from_fixed<F>(negative, negative ? static_cast<typename F::Bits>(0 - a) : a, 0, env);
    }
};

} // namespace op

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

/// One lane of a register.
template <class T>
inline T& lane(Vec& v, unsigned n) {
    if constexpr (std::is_same_v<T, std::uint8_t>)
        return v.b[n];
    else if constexpr (std::is_same_v<T, std::uint16_t>)
        return v.h[n];
    else if constexpr (std::is_same_v<T, std::uint32_t>)
        return v.s[n];
    else if constexpr (std::is_same_v<T, std::uint64_t>)
        return v.d[n];
    else if constexpr (std::is_same_v<T, std::int8_t>)
        return v.sb[n];
    else if constexpr (std::is_same_v<T, std::int16_t>)
        return v.sh[n];
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return v.ss[n];
    else
        return v.sd[n];
}
template <class T>
inline T lane(const Vec& v, unsigned n) {
    return lane<T>(const_cast<Vec&>(v), n);
}
/// Writes a scalar: the rest of the register becomes zero.
template <class T>
inline void set_scalar(Vec& v, T value) {
    v.d[0] = static_cast<std::make_unsigned_t<T>>(value);
    v.d[1] = 0;
}

} // namespace rkperf::a64

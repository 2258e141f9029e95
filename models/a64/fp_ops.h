// SPDX-License-Identifier: Apache-2.0
// Floating-point operations as function objects, shared by scalar and vector bodies: `soft` is the definition, `host`
// the host's arithmetic under the conditions of fp_host.h; `plain` says of a result that they hold, `exactness` whether
// it was rounded.
#pragma once

#include "models/a64/fp_host.h"
#include "models/a64/fp_soft.h"
#include "models/a64/insn.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace rkperf::a64 {

namespace op {

struct Add {
    static constexpr bool has_host = true, has_quick = false, is_sum = true;
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return soft::add<F>(a, b, env);
    }
    template <class H>
    static H host(H a, H b) {
        return a + b;
    }
    template <class H>
    static H error(H a, H b) {
        return sum_error(a, b, a + b);
    }
    /// A sum in the denormal range is exact, and so are zeros.
    template <class F>
    static bool plain(typename F::Bits r) {
        return is_finite<F>(r);
    }
    template <class F>
    static Exactness exactness(typename F::Bits a, typename F::Bits b, typename F::Bits r) {
        using Host = typename F::Host;
        const bool inexact = sum_inexact(std::bit_cast<Host>(a), std::bit_cast<Host>(b), std::bit_cast<Host>(r));
        return inexact ? Exactness::inexact : Exactness::exact;
    }
};
struct Sub {
    static constexpr bool has_host = true, has_quick = false, is_sum = true;
    template <class F>
    static auto soft(typename F::Bits a, typename F::Bits b, FpEnv& env) {
        return soft::sub<F>(a, b, env);
    }
    template <class H>
    static H host(H a, H b) {
        return a - b;
    }
    template <class H>
    static H error(H a, H b) {
        return sum_error(a, -b, a - b);
    }
    template <class F>
    static bool plain(typename F::Bits r) {
        return is_finite<F>(r);
    }
    template <class F>
    static Exactness exactness(typename F::Bits a, typename F::Bits b, typename F::Bits r) {
        using Host = typename F::Host;
        const bool inexact = sum_inexact(std::bit_cast<Host>(a), -std::bit_cast<Host>(b), std::bit_cast<Host>(r));
        return inexact ? Exactness::inexact : Exactness::exact;
    }
};
struct Mul {
    static constexpr bool has_host = true, has_quick = false, is_sum = false;
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
    template <class F>
    static Exactness exactness(typename F::Bits a, typename F::Bits b, typename F::Bits) {
        return product_inexact<F>(a, b) ? Exactness::inexact : Exactness::exact;
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
    template <class F>
    static Exactness exactness(typename F::Bits, typename F::Bits, typename F::Bits) {
        return Exactness::unknown;
    }
};
struct AbsDiff : Sub {
    template <class F>
    static Exactness exactness(typename F::Bits a, typename F::Bits b, typename F::Bits) {
        const auto r = std::bit_cast<typename F::Host>(a) - std::bit_cast<typename F::Host>(b);
        return Sub::exactness<F>(a, b, std::bit_cast<typename F::Bits>(r));
    }
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

/// One lane of a binary operation: by the host if that stands, else by definition. env.flags holds FPSR on entry.
template <class F, class Op>
inline typename F::Bits binary_lane(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    if constexpr (kHasHost<F> && (Op::has_host || Op::has_quick)) {
        typename F::Bits r;
        if constexpr (Op::has_host) {
            if (host_binary<F, Op>(a, b, r, env)) return r;
        } else {
            if (!env.fz() && Op::template quick<F>(a, b, r)) return r;
        }
    }
    return Op::template soft<F>(a, b, env);
}
/// The same for addend + a * b.
template <class F>
inline typename F::Bits fused_lane(typename F::Bits addend, typename F::Bits a, typename F::Bits b, FpEnv& env) {
    if constexpr (kHasHost<F>) {
        typename F::Bits r;
        if (host_fused<F>(addend, a, b, r, env)) return r;
    }
    return soft::fma<F>(addend, a, b, env);
}

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

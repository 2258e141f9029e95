// SPDX-License-Identifier: Apache-2.0
#include "models/a64/fp_soft.h"

#include "models/a64/fp_unpacked.h"
#include "models/a64/state.h"

namespace rkperf::a64::soft {

namespace {

/// Sum of two operands that are not NaNs; `b` carries the sign with which it counts.
template <class F>
typename F::Bits sum(const Unpacked& a, const Unpacked& b, FpEnv& env) {
    if (a.is_inf() || b.is_inf()) {
        if (a.is_inf() && b.is_inf() && a.sign != b.sign) return invalid<F>(env);
        return static_cast<typename F::Bits>(F::signed_zero(a.is_inf() ? a.sign : b.sign) | F::infinity);
    }
    if (a.is_zero() && b.is_zero()) return F::signed_zero(a.sign == b.sign ? a.sign : zero_sum_sign(env));
    if (b.is_zero()) return round_pack<F>(a.sign, a.exp, a.mant, env.rounding(), env);
    if (a.is_zero()) return round_pack<F>(b.sign, b.exp, b.mant, env.rounding(), env);

    const bool swap = a.exp < b.exp || (a.exp == b.exp && a.mant < b.mant);
    const Unpacked& big = swap ? b : a;
    const Unpacked& small = swap ? a : b;
    const std::uint64_t x = big.mant >> 1;
    const std::uint64_t y = shift_right_jam(small.mant >> 1, static_cast<unsigned>(big.exp - small.exp));
    const std::uint64_t total = big.sign == small.sign ? x + y : x - y;
    if (total == 0) return F::signed_zero(zero_sum_sign(env));
    const int lead = std::countl_zero(total);
    return round_pack<F>(big.sign, big.exp + 1 - lead, total << lead, env.rounding(), env);
}

template <class F>
typename F::Bits product(const Unpacked& a, const Unpacked& b, FpEnv& env) {
    const bool sign = a.sign != b.sign;
    const Wide p = static_cast<Wide>(a.mant) * b.mant;
    return round_pack_wide<F>(sign, a.exp + b.exp + 1, p, env);
}

/// Multiplication; `times_zero` is the result of infinity times zero apart from its sign.
template <class F, bool mulx_rule>
typename F::Bits multiply(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    using Bits = typename F::Bits;
    const Unpacked ua = unpack<F>(a, env), ub = unpack<F>(b, env);
    Bits result;
    if (process_nans<F>(ua, ub, a, b, result, env)) return result;
    const Bits sign = F::signed_zero(ua.sign != ub.sign);
    if ((ua.is_inf() && ub.is_zero()) || (ua.is_zero() && ub.is_inf())) {
        if (!mulx_rule) return invalid<F>(env);
        return static_cast<Bits>(sign | (F::one + (F::frac_mask + 1))); // 2.0
    }
    if (ua.is_inf() || ub.is_inf()) return static_cast<Bits>(sign | F::infinity);
    if (ua.is_zero() || ub.is_zero()) return sign;
    return product<F>(ua, ub, env);
}

/// -1, 0, 1 as a is less than, equal to, greater than b; neither is a NaN.
int order(const Unpacked& a, const Unpacked& b) {
    if (a.is_zero() && b.is_zero()) return 0;
    if (a.is_zero()) return b.sign ? 1 : -1;
    if (b.is_zero()) return a.sign ? -1 : 1;
    if (a.sign != b.sign) return a.sign ? -1 : 1;
    const int up = a.sign ? -1 : 1;
    if (a.is_inf() || b.is_inf()) return a.is_inf() == b.is_inf() ? 0 : a.is_inf() ? up : -up;
    if (a.exp != b.exp) return a.exp > b.exp ? up : -up;
    return a.mant == b.mant ? 0 : a.mant > b.mant ? up : -up;
}

template <class F, bool want_max>
typename F::Bits select(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    using Bits = typename F::Bits;
    const Unpacked ua = unpack<F>(a, env), ub = unpack<F>(b, env);
    Bits result;
    if (process_nans<F>(ua, ub, a, b, result, env)) return result;
    const int o = order(ua, ub);
    const bool first = want_max ? o > 0 : o < 0;
    const Unpacked& u = first ? ua : ub;
    if (u.is_zero()) return F::signed_zero(want_max ? ua.sign && ub.sign : ua.sign || ub.sign);
    return first ? a : b;
}

template <class F, bool want_max>
typename F::Bits select_num(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    const auto quiet = [](typename F::Bits v) { return F::is_nan(v) && (v & F::quiet_bit); };
    const typename F::Bits neutral = want_max ? static_cast<typename F::Bits>(F::infinity | F::sign_bit) : F::infinity;
    const bool qa = quiet(a), qb = quiet(b);
    if (qa && !qb)
        a = neutral;
    else if (qb && !qa)
        b = neutral;
    return select<F, want_max>(a, b, env);
}

/// floor(sqrt(v)) and whether anything remained.
std::uint64_t integer_sqrt(Wide v, bool& remains) {
    Wide root = 0, rest = v, bit = static_cast<Wide>(1) << 126;
    while (bit != 0) {
        if (rest >= root + bit) {
            rest -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
        bit >>= 2;
    }
    remains = rest != 0;
    return static_cast<std::uint64_t>(root);
}

} // namespace

template <class F>
typename F::Bits add(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    const Unpacked ua = unpack<F>(a, env), ub = unpack<F>(b, env);
    typename F::Bits result;
    if (process_nans<F>(ua, ub, a, b, result, env)) return result;
    return sum<F>(ua, ub, env);
}

template <class F>
typename F::Bits sub(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    const Unpacked ua = unpack<F>(a, env);
    Unpacked ub = unpack<F>(b, env);
    typename F::Bits result;
    if (process_nans<F>(ua, ub, a, b, result, env)) return result;
    ub.sign = !ub.sign;
    return sum<F>(ua, ub, env);
}

template <class F>
typename F::Bits mul(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    return multiply<F, false>(a, b, env);
}

template <class F>
typename F::Bits mulx(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    return multiply<F, true>(a, b, env);
}

template <class F>
typename F::Bits div(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    using Bits = typename F::Bits;
    const Unpacked ua = unpack<F>(a, env), ub = unpack<F>(b, env);
    Bits result;
    if (process_nans<F>(ua, ub, a, b, result, env)) return result;
    const Bits sign = F::signed_zero(ua.sign != ub.sign);
    if ((ua.is_inf() && ub.is_inf()) || (ua.is_zero() && ub.is_zero())) return invalid<F>(env);
    if (ua.is_inf()) return static_cast<Bits>(sign | F::infinity);
    if (ub.is_zero()) {
        env.flags |= fpsr::DZC;
        return static_cast<Bits>(sign | F::infinity);
    }
    if (ua.is_zero() || ub.is_inf()) return sign;
    // Both mantissas have 63 - frac_bits zero bits at the bottom; dropping those of the divisor makes the quotient long
    // enough for rounding in every format.
    constexpr unsigned spare = 63 - F::frac_bits;
    const Wide dividend = static_cast<Wide>(ua.mant) << 63 >> spare;
    const std::uint64_t divisor = ub.mant >> spare;
    const Wide quotient = dividend / divisor;
    const bool remains = dividend % divisor != 0;
    const unsigned lead = leading_zeros(quotient) - 64;
    const std::uint64_t mant = (static_cast<std::uint64_t>(quotient) << lead) | remains;
    return round_pack<F>(ua.sign != ub.sign, ua.exp - ub.exp - static_cast<int>(lead), mant, env.rounding(), env);
}

template <class F>
typename F::Bits sqrt(typename F::Bits a, FpEnv& env) {
    const Unpacked u = unpack<F>(a, env);
    if (u.is_nan()) return process_nan<F>(a, u.cls, env);
    if (u.is_zero()) return F::signed_zero(u.sign);
    if (u.sign) return invalid<F>(env);
    if (u.is_inf()) return a;
    // value = m / 2^126 * 2^even with m in [2^126, 2^128), so the root of m lies in [2^63, 2^64).
    const bool odd = u.exp & 1;
    const Wide m = static_cast<Wide>(u.mant) << (odd ? 64 : 63);
    bool remains = false;
    const std::uint64_t root = integer_sqrt(m, remains);
    return round_pack<F>(false, (u.exp - odd) / 2, root | remains, env.rounding(), env);
}

template <class F>
typename F::Bits fma(typename F::Bits addend, typename F::Bits a, typename F::Bits b, FpEnv& env) {
    using Bits = typename F::Bits;
    const Unpacked uc = unpack<F>(addend, env), ua = unpack<F>(a, env), ub = unpack<F>(b, env);
    const bool inf_times_zero = (ua.is_inf() && ub.is_zero()) || (ua.is_zero() && ub.is_inf());
    if (uc.is_nan() || ua.is_nan() || ub.is_nan()) {
        if (uc.cls == Class::quiet_nan && inf_times_zero) return invalid<F>(env);
        if (uc.cls == Class::signalling_nan) return process_nan<F>(addend, uc.cls, env);
        if (ua.cls == Class::signalling_nan) return process_nan<F>(a, ua.cls, env);
        if (ub.cls == Class::signalling_nan) return process_nan<F>(b, ub.cls, env);
        if (uc.is_nan()) return process_nan<F>(addend, uc.cls, env);
        return ua.is_nan() ? process_nan<F>(a, ua.cls, env) : process_nan<F>(b, ub.cls, env);
    }
    const bool sign = ua.sign != ub.sign;
    const bool product_inf = ua.is_inf() || ub.is_inf();
    if (inf_times_zero || (uc.is_inf() && product_inf && uc.sign != sign)) return invalid<F>(env);
    if (uc.is_inf() || product_inf)
        return static_cast<Bits>(F::signed_zero(uc.is_inf() ? uc.sign : sign) | F::infinity);
    if (ua.is_zero() || ub.is_zero()) {
        if (uc.is_zero()) return F::signed_zero(uc.sign == sign ? sign : zero_sum_sign(env));
        return round_pack<F>(uc.sign, uc.exp, uc.mant, env.rounding(), env);
    }
    if (uc.is_zero()) return product<F>(ua, ub, env);
    // The product is exact in 128 bits and has at least 22 zero bits at the bottom; with its highest bit at 126 there is
    // room for the carry.
    Wide p = static_cast<Wide>(ua.mant) * ub.mant;
    int exp = ua.exp + ub.exp + 1;
    if (p >> 127) {
        p >>= 1;
        ++exp;
    }
    const Wide c = static_cast<Wide>(uc.mant) << 63;
    return add_wide<F>(sign, exp, p, uc.sign, uc.exp + 1, c, env);
}

template <class F>
typename F::Bits max(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    return select<F, true>(a, b, env);
}
template <class F>
typename F::Bits min(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    return select<F, false>(a, b, env);
}
template <class F>
typename F::Bits max_num(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    return select_num<F, true>(a, b, env);
}
template <class F>
typename F::Bits min_num(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    return select_num<F, false>(a, b, env);
}

template <class F>
std::uint32_t compare(typename F::Bits a, typename F::Bits b, bool signal_all, FpEnv& env) {
    const Unpacked ua = unpack<F>(a, env), ub = unpack<F>(b, env);
    if (ua.is_nan() || ub.is_nan()) {
        if (signal_all || ua.cls == Class::signalling_nan || ub.cls == Class::signalling_nan) env.flags |= fpsr::IOC;
        return nzcv::C | nzcv::V;
    }
    const int o = order(ua, ub);
    return o == 0 ? nzcv::Z | nzcv::C : o < 0 ? nzcv::N : nzcv::C;
}

template <class F>
bool equal(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    const Unpacked ua = unpack<F>(a, env), ub = unpack<F>(b, env);
    if (ua.is_nan() || ub.is_nan()) {
        if (ua.cls == Class::signalling_nan || ub.cls == Class::signalling_nan) env.flags |= fpsr::IOC;
        return false;
    }
    return order(ua, ub) == 0;
}

template <class F>
bool greater_equal(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    const Unpacked ua = unpack<F>(a, env), ub = unpack<F>(b, env);
    if (ua.is_nan() || ub.is_nan()) {
        env.flags |= fpsr::IOC;
        return false;
    }
    return order(ua, ub) >= 0;
}

template <class F>
bool greater(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    const Unpacked ua = unpack<F>(a, env), ub = unpack<F>(b, env);
    if (ua.is_nan() || ub.is_nan()) {
        env.flags |= fpsr::IOC;
        return false;
    }
    return order(ua, ub) > 0;
}

namespace {

constexpr Wide kTwo = static_cast<Wide>(1) << 126; // a number with its highest bit at 126, as add_wide wants it

/// constant + a * b, halved if `halve`; a has been negated already. exp is that of add_wide for the constant, whose
/// leading bits are `constant`.
template <class F>
typename F::Bits step(typename F::Bits a, typename F::Bits b, bool sqrt_step, FpEnv& env) {
    using Bits = typename F::Bits;
    a = static_cast<Bits>(a ^ F::sign_bit);
    const Unpacked ua = unpack<F>(a, env), ub = unpack<F>(b, env);
    Bits result;
    if (process_nans<F>(ua, ub, a, b, result, env)) return result;
    const Bits trivial = static_cast<Bits>(sqrt_step ? F::one | F::quiet_bit : F::one + (F::frac_mask + 1)); // 1.5, 2.0
    if ((ua.is_inf() && ub.is_zero()) || (ua.is_zero() && ub.is_inf())) return trivial;
    const bool sign = ua.sign != ub.sign;
    if (ua.is_inf() || ub.is_inf()) return static_cast<Bits>(F::signed_zero(sign) | F::infinity);
    if (ua.is_zero() || ub.is_zero()) return trivial;
    Wide p = static_cast<Wide>(ua.mant) * ub.mant;
    int exp = ua.exp + ub.exp + 1;
    if (p >> 127) {
        p >>= 1;
        ++exp;
    }
    // In add_wide's terms 2 is 2^126 / 2^127 * 2^2, and 3 is one and a half times that.
    const Wide constant = sqrt_step ? kTwo | kTwo >> 1 : kTwo;
    const int halve = sqrt_step ? 1 : 0;
    return add_wide<F>(false, 2 - halve, constant, sign, exp - halve, p, env);
}

} // namespace

template <class F>
typename F::Bits recip_step(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    return step<F>(a, b, false, env);
}

template <class F>
typename F::Bits recip_sqrt_step(typename F::Bits a, typename F::Bits b, FpEnv& env) {
    return step<F>(a, b, true, env);
}

#define RK_INSTANTIATE(F) \
    template F::Bits add<F>(F::Bits, F::Bits, FpEnv&); \
    template F::Bits sub<F>(F::Bits, F::Bits, FpEnv&); \
    template F::Bits mul<F>(F::Bits, F::Bits, FpEnv&); \
    template F::Bits mulx<F>(F::Bits, F::Bits, FpEnv&); \
    template F::Bits div<F>(F::Bits, F::Bits, FpEnv&); \
    template F::Bits sqrt<F>(F::Bits, FpEnv&); \
    template F::Bits fma<F>(F::Bits, F::Bits, F::Bits, FpEnv&); \
    template F::Bits max<F>(F::Bits, F::Bits, FpEnv&); \
    template F::Bits min<F>(F::Bits, F::Bits, FpEnv&); \
    template F::Bits max_num<F>(F::Bits, F::Bits, FpEnv&); \
    template F::Bits min_num<F>(F::Bits, F::Bits, FpEnv&); \
    template std::uint32_t compare<F>(F::Bits, F::Bits, bool, FpEnv&); \
    template bool equal<F>(F::Bits, F::Bits, FpEnv&); \
    template bool greater_equal<F>(F::Bits, F::Bits, FpEnv&); \
    template bool greater<F>(F::Bits, F::Bits, FpEnv&); \
    template F::Bits recip_step<F>(F::Bits, F::Bits, FpEnv&); \
    template F::Bits recip_sqrt_step<F>(F::Bits, F::Bits, FpEnv&);
RK_INSTANTIATE(F16)
RK_INSTANTIATE(F32)
RK_INSTANTIATE(F64)
#undef RK_INSTANTIATE

} // namespace rkperf::a64::soft

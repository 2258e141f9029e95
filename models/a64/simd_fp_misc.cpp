// SPDX-License-Identifier: Apache-2.0
// Advanced SIMD floating point with one operand: two-register miscellaneous, conversions between sizes, fixed point;
// vector and scalar. Arm ARM C4.1.96.
#include "models/a64/simd_fp.h"

namespace rkperf::a64 {
namespace {

using T = TimingClass;

// ---- host forms, as in fp_ops.h: host(bits, result) is false if the lane needs the definition

struct Sqrt : op::Sqrt {
    template <class F>
    static bool host(typename F::Bits a, typename F::Bits& r) {
        r = std::bit_cast<typename F::Bits>(std::sqrt(std::bit_cast<typename F::Host>(a)));
        return is_well_normal<F>(r);
    }
};
template <bool is_unsigned>
struct FromInt : op::FromInt<is_unsigned> {
    template <class F>
    static bool host(typename F::Bits a, typename F::Bits& r) {
        using Host = typename F::Host;
        using Int = std::conditional_t<is_unsigned, typename F::Bits, std::make_signed_t<typename F::Bits>>;
        r = std::bit_cast<typename F::Bits>(static_cast<Host>(static_cast<Int>(a)));
        return true;
    }
};
template <bool is_unsigned>
struct Truncate : op::ToInt<Rounding::zero, is_unsigned> {
    template <class F>
    static bool host(typename F::Bits a, typename F::Bits& r) {
        using Host = typename F::Host;
        using Int = std::make_signed_t<typename F::Bits>;
        const Host v = std::bit_cast<Host>(a);
        // Both signednesses agree on numbers from 0 to below 2^(bits - 1).
        constexpr Host limit = static_cast<Host>(std::uint64_t{1} << (F::bits - 2)) * 2;
        const bool fits = v < limit && (is_unsigned ? v >= 0 : v > -limit);
        r = static_cast<typename F::Bits>(static_cast<Int>(fits ? v : Host{0}));
        return fits;
    }
};

template <class F, unsigned N, class Op>
void exec_fp1_host(CpuState& s, const Insn& i) {
    if constexpr (kHasHost<F>) {
        if (__builtin_expect(host_mode(s), 1)) {
            const auto a = FpLanes<F, N>::load(s.v[i.rn]);
            FpLanes<F, N> d;
            bool good = true;
            for (unsigned l = 0; l < N; ++l) {
                typename F::Bits r;
                good &= Op::template host<F>(a.v[l], r);
                d.v[l] = r;
            }
            if (__builtin_expect(good, 1)) return d.store(s.v[i.rd]);
        }
    }
    exec_fp1<F, N, Op>(s, i);
}
template <class Op>
struct Fp1HostFamily {
    template <class F, unsigned N>
    static Exec body() {
        return exec_fp1_host<F, N, Op>;
    }
};

// ---- comparisons with zero

template <class Op>
struct WithZero {
    template <class F>
    static auto soft(typename F::Bits a, FpEnv& env) {
        return Op::template soft<F>(a, typename F::Bits{0}, env);
    }
};

// ---- conversions between sizes; a is the narrow element's size

template <class To, class From, bool upper>
void exec_lengthen(CpuState& s, const Insn& i) {
    constexpr unsigned n = 8 / sizeof(typename From::Bits);
    const auto a = FpLanes<From, n>::load(s.v[i.rn], upper ? n : 0);
    FpLanes<To, n> d;
    FpEnv env{s.fpcr};
    for (unsigned l = 0; l < n; ++l) d.v[l] = soft::convert<To, From>(a.v[l], env.rounding(), env);
    d.store(s.v[i.rd]);
    s.fpsr |= env.flags;
}
/// `odd`: FCVTXN's rounding to odd. n lanes: 1 for the scalar form.
template <class To, class From, bool upper, bool odd, unsigned n = 8 / sizeof(typename To::Bits)>
void exec_shorten(CpuState& s, const Insn& i) {
    const auto a = FpLanes<From, n>::load(s.v[i.rn]);
    FpLanes<To, n> d;
    FpEnv env{s.fpcr};
    for (unsigned l = 0; l < n; ++l)
        d.v[l] = soft::convert<To, From>(a.v[l], odd ? Rounding::odd : env.rounding(), env);
    store_half(s.v[i.rd], d, upper);
    s.fpsr |= env.flags;
}
template <bool upper>
bool dec_lengthen(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    const bool dbl = raw >> 22 & 1;
    set_shape(out, dbl ? 2 : 1, upper);
    out.fn = dbl ? exec_lengthen<F64, F32, upper> : exec_lengthen<F32, F16, upper>;
    return true;
}
template <bool upper>
bool dec_shorten(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    if (upper) set_v_merges(out);
    const bool dbl = raw >> 22 & 1;
    set_shape(out, dbl ? 2 : 1, upper);
    out.fn = dbl ? exec_shorten<F32, F64, upper, false> : exec_shorten<F16, F32, upper, false>;
    return true;
}
template <bool upper>
bool dec_shorten_odd(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    if (upper) set_v_merges(out);
    set_shape(out, 2, upper);
    return true;
}

// ---- fixed point; imm is the number of fraction bits

template <class F, unsigned N, bool is_unsigned, bool to_fixed>
void exec_fixed(CpuState& s, const Insn& i) {
    using Bits = typename F::Bits;
    const auto a = FpLanes<F, N>::load(s.v[i.rn]);
    FpLanes<F, N> d;
    FpEnv env{s.fpcr};
    const auto fbits = static_cast<unsigned>(i.imm);
    for (unsigned l = 0; l < N; ++l) {
        if constexpr (to_fixed) {
            d.v[l] = static_cast<Bits>(soft::to_fixed<F>(a.v[l], fbits, F::bits, is_unsigned, Rounding::zero, env));
        } else {
            const bool negative = !is_unsigned && (a.v[l] & F::sign_bit);
            d.v[l] = soft::from_fixed<F>(negative, negative ? static_cast<Bits>(0 - a.v[l]) : a.v[l], fbits, env);
        }
    }
    d.store(s.v[i.rd]);
    s.fpsr |= env.flags;
}
template <class F, bool is_unsigned, bool to_fixed, bool scalar>
bool dec_fixed(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    out.imm = 2 * F::bits - field(raw, 16, 7);
    const bool q = !scalar && (raw >> 30 & 1);
    set_shape(out, F::size_log2, q);
    if constexpr (scalar) {
        out.fn = exec_fixed<F, 1, is_unsigned, to_fixed>;
    } else if constexpr (F::bits == 64) {
        out.fn = exec_fixed<F, 2, is_unsigned, to_fixed>;
        return q;
    } else {
        out.fn = q ? exec_fixed<F, 128 / F::bits, is_unsigned, to_fixed>
                   : exec_fixed<F, 64 / F::bits, is_unsigned, to_fixed>;
    }
    return true;
}

// ---- rows

template <class Family, FpSizes sizes, bool scalar>
bool dec_fp1(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    return choose_fp<Family, sizes, scalar>(raw, out);
}

struct Code {
    unsigned u, o, opcode; // bits 29, 23, 16:12
};
constexpr std::uint32_t misc_value(Code c) { return 0x0e200800u | c.u << 29 | c.o << 23 | c.opcode << 12; }
constexpr std::uint32_t half_value(Code c) { return 0x0e780800u | c.u << 29 | c.o << 23 | c.opcode << 12; }
constexpr std::uint32_t kScalarBits = 0x50000000;

template <Name name, class Family>
constexpr std::array<OpRow, 2> family(Code c, const char* mnemonic, T timing, Exec any) {
    return {OpRow{0xbfbffc00, misc_value(c), JoinedName<name, "_vector">::text, mnemonic,
                  dec_fp1<Family, FpSizes::single_double, false>, any, timing, kSimd},
            OpRow{0xbffffc00, half_value(c), JoinedName<name, "_vector_half">::text, mnemonic,
                  dec_fp1<Family, FpSizes::half, false>, any, timing, kSimd}};
}
template <Name name, class Op>
constexpr auto vec(Code c, const char* mnemonic, T timing) {
    return family<name, Fp1Family<Op>>(c, mnemonic, timing, exec_fp1<F64, 2, Op>);
}
template <Name name, class Op>
constexpr auto host(Code c, const char* mnemonic, T timing) {
    return family<name, Fp1HostFamily<Op>>(c, mnemonic, timing, exec_fp1_host<F64, 2, Op>);
}
template <Name name, class Op>
constexpr std::array<OpRow, 2> scl(Code c, const char* mnemonic, T timing) {
    constexpr Exec any = exec_fp1<F64, 1, Op>;
    return {OpRow{0xffbffc00, misc_value(c) | kScalarBits, JoinedName<name, "_simd_scalar">::text, mnemonic,
                  dec_fp1<Fp1Family<Op>, FpSizes::single_double, true>, any, timing, kSimd},
            OpRow{0xfffffc00, half_value(c) | kScalarBits, JoinedName<name, "_simd_scalar_half">::text, mnemonic,
                  dec_fp1<Fp1Family<Op>, FpSizes::half, true>, any, timing, kSimd}};
}
/// The three sizes of a fixed-point conversion, told apart by the highest bit of immh.
template <Name name, bool is_unsigned, bool to_fixed, bool scalar>
constexpr std::array<OpRow, 3> fixed(unsigned opcode, const char* mnemonic) {
    constexpr std::uint32_t form = scalar ? kScalarBits : 0, mask = scalar ? 0xff80fc00 : 0xbf80fc00;
    const std::uint32_t value = 0x0f000400u | form | is_unsigned << 29 | opcode << 11;
    constexpr Exec any = exec_fixed < F64, scalar ? 1 : 2, is_unsigned, to_fixed > ;
    return {OpRow{mask | 0x00700000, value | 0x00100000, JoinedName<name, "_h">::text, mnemonic,
                  dec_fixed<F16, is_unsigned, to_fixed, scalar>, any, T::simd_fp_cvt, kSimd},
            OpRow{mask | 0x00600000, value | 0x00200000, JoinedName<name, "_s">::text, mnemonic,
                  dec_fixed<F32, is_unsigned, to_fixed, scalar>, any, T::simd_fp_cvt, kSimd},
            OpRow{mask | 0x00400000, value | 0x00400000, JoinedName<name, "_d">::text, mnemonic,
                  dec_fixed<F64, is_unsigned, to_fixed, scalar>, any, T::simd_fp_cvt, kSimd}};
}

using GtZero = WithZero<op::CmpGt>;
using GeZero = WithZero<op::CmpGe>;
using EqZero = WithZero<op::CmpEq>;
using LeZero = WithZero<op::Swapped<op::CmpGe>>;
using LtZero = WithZero<op::Swapped<op::CmpGt>>;
template <Rounding r, bool is_unsigned>
using ToInt = op::ToInt<r, is_unsigned>;
constexpr auto kN = Rounding::tie_even, kP = Rounding::plus, kM = Rounding::minus, kZ = Rounding::zero,
               kA = Rounding::tie_away;

// clang-format off
constexpr auto kVector = concat(
    vec<"FRINTN", op::RoundInt<kN>>({0, 0, 0x18}, "frintn", T::simd_fp_cvt),
    vec<"FRINTA", op::RoundInt<kA>>({1, 0, 0x18}, "frinta", T::simd_fp_cvt),
    vec<"FRINTP", op::RoundInt<kP>>({0, 1, 0x18}, "frintp", T::simd_fp_cvt),
    vec<"FRINTM", op::RoundInt<kM>>({0, 0, 0x19}, "frintm", T::simd_fp_cvt),
    vec<"FRINTX", op::RoundIntCurrent<true>>({1, 0, 0x19}, "frintx", T::simd_fp_cvt),
    vec<"FRINTZ", op::RoundInt<kZ>>({0, 1, 0x19}, "frintz", T::simd_fp_cvt),
    vec<"FRINTI", op::RoundIntCurrent<false>>({1, 1, 0x19}, "frinti", T::simd_fp_cvt),
    vec<"FCVTNS", ToInt<kN, false>>({0, 0, 0x1a}, "fcvtns", T::simd_fp_cvt),
    vec<"FCVTNU", ToInt<kN, true>>({1, 0, 0x1a}, "fcvtnu", T::simd_fp_cvt),
    vec<"FCVTPS", ToInt<kP, false>>({0, 1, 0x1a}, "fcvtps", T::simd_fp_cvt),
    vec<"FCVTPU", ToInt<kP, true>>({1, 1, 0x1a}, "fcvtpu", T::simd_fp_cvt),
    vec<"FCVTMS", ToInt<kM, false>>({0, 0, 0x1b}, "fcvtms", T::simd_fp_cvt),
    vec<"FCVTMU", ToInt<kM, true>>({1, 0, 0x1b}, "fcvtmu", T::simd_fp_cvt),
    host<"FCVTZS", Truncate<false>>({0, 1, 0x1b}, "fcvtzs", T::simd_fp_cvt),
    host<"FCVTZU", Truncate<true>>({1, 1, 0x1b}, "fcvtzu", T::simd_fp_cvt),
    vec<"FCVTAS", ToInt<kA, false>>({0, 0, 0x1c}, "fcvtas", T::simd_fp_cvt),
    vec<"FCVTAU", ToInt<kA, true>>({1, 0, 0x1c}, "fcvtau", T::simd_fp_cvt),
    host<"SCVTF", FromInt<false>>({0, 0, 0x1d}, "scvtf", T::simd_fp_cvt),
    host<"UCVTF", FromInt<true>>({1, 0, 0x1d}, "ucvtf", T::simd_fp_cvt),
    vec<"FRECPE", op::RecipEstimate>({0, 1, 0x1d}, "frecpe", T::simd_fp_recip),
    vec<"FRSQRTE", op::RecipSqrtEstimate>({1, 1, 0x1d}, "frsqrte", T::simd_fp_recip),
    vec<"FCMGT_zero", GtZero>({0, 1, 0x0c}, "fcmgt", T::simd_fp_cmp),
    vec<"FCMGE_zero", GeZero>({1, 1, 0x0c}, "fcmge", T::simd_fp_cmp),
    vec<"FCMEQ_zero", EqZero>({0, 1, 0x0d}, "fcmeq", T::simd_fp_cmp),
    vec<"FCMLE_zero", LeZero>({1, 1, 0x0d}, "fcmle", T::simd_fp_cmp),
    vec<"FCMLT_zero", LtZero>({0, 1, 0x0e}, "fcmlt", T::simd_fp_cmp),
    vec<"FABS", op::Abs>({0, 1, 0x0f}, "fabs", T::simd_fp_arith),
    vec<"FNEG", op::Neg>({1, 1, 0x0f}, "fneg", T::simd_fp_arith),
    host<"FSQRT", Sqrt>({1, 1, 0x1f}, "fsqrt", T::simd_fp_sqrt),
    fixed<"SCVTF_fixed_vector", false, false, false>(0x1c, "scvtf"),
    fixed<"UCVTF_fixed_vector", true, false, false>(0x1c, "ucvtf"),
    fixed<"FCVTZS_fixed_vector", false, true, false>(0x1f, "fcvtzs"),
    fixed<"FCVTZU_fixed_vector", true, true, false>(0x1f, "fcvtzu"),
    std::array{
        OpRow{0xffbffc00, 0x0e217800, "FCVTL", "fcvtl", dec_lengthen<false>, exec_lengthen<F64, F32, false>, T::simd_fp_cvt_long, kSimd},
        OpRow{0xffbffc00, 0x4e217800, "FCVTL2", "fcvtl2", dec_lengthen<true>, exec_lengthen<F64, F32, true>, T::simd_fp_cvt_long, kSimd},
        OpRow{0xffbffc00, 0x0e216800, "FCVTN", "fcvtn", dec_shorten<false>, exec_shorten<F32, F64, false, false>, T::simd_fp_cvt_long, kSimd},
        OpRow{0xffbffc00, 0x4e216800, "FCVTN2", "fcvtn2", dec_shorten<true>, exec_shorten<F32, F64, true, false>, T::simd_fp_cvt_long, kSimd},
        OpRow{0xfffffc00, 0x2e616800, "FCVTXN", "fcvtxn", dec_shorten_odd<false>, exec_shorten<F32, F64, false, true>, T::simd_fp_cvt_long, kSimd},
        OpRow{0xfffffc00, 0x6e616800, "FCVTXN2", "fcvtxn2", dec_shorten_odd<true>, exec_shorten<F32, F64, true, true>, T::simd_fp_cvt_long, kSimd},
    });
constexpr auto kScalar = concat(
    scl<"FCVTNS", ToInt<kN, false>>({0, 0, 0x1a}, "fcvtns", T::simd_fp_cvt),
    scl<"FCVTNU", ToInt<kN, true>>({1, 0, 0x1a}, "fcvtnu", T::simd_fp_cvt),
    scl<"FCVTPS", ToInt<kP, false>>({0, 1, 0x1a}, "fcvtps", T::simd_fp_cvt),
    scl<"FCVTPU", ToInt<kP, true>>({1, 1, 0x1a}, "fcvtpu", T::simd_fp_cvt),
    scl<"FCVTMS", ToInt<kM, false>>({0, 0, 0x1b}, "fcvtms", T::simd_fp_cvt),
    scl<"FCVTMU", ToInt<kM, true>>({1, 0, 0x1b}, "fcvtmu", T::simd_fp_cvt),
    scl<"FCVTZS", ToInt<kZ, false>>({0, 1, 0x1b}, "fcvtzs", T::simd_fp_cvt),
    scl<"FCVTZU", ToInt<kZ, true>>({1, 1, 0x1b}, "fcvtzu", T::simd_fp_cvt),
    scl<"FCVTAS", ToInt<kA, false>>({0, 0, 0x1c}, "fcvtas", T::simd_fp_cvt),
    scl<"FCVTAU", ToInt<kA, true>>({1, 0, 0x1c}, "fcvtau", T::simd_fp_cvt),
    scl<"SCVTF", op::FromInt<false>>({0, 0, 0x1d}, "scvtf", T::simd_fp_cvt),
    scl<"UCVTF", op::FromInt<true>>({1, 0, 0x1d}, "ucvtf", T::simd_fp_cvt),
    scl<"FRECPE", op::RecipEstimate>({0, 1, 0x1d}, "frecpe", T::simd_fp_recip),
    scl<"FRSQRTE", op::RecipSqrtEstimate>({1, 1, 0x1d}, "frsqrte", T::simd_fp_recip),
    scl<"FRECPX", op::RecipExponent>({0, 1, 0x1f}, "frecpx", T::simd_fp_recip),
    scl<"FCMGT_zero", GtZero>({0, 1, 0x0c}, "fcmgt", T::simd_fp_cmp),
    scl<"FCMGE_zero", GeZero>({1, 1, 0x0c}, "fcmge", T::simd_fp_cmp),
    scl<"FCMEQ_zero", EqZero>({0, 1, 0x0d}, "fcmeq", T::simd_fp_cmp),
    scl<"FCMLE_zero", LeZero>({1, 1, 0x0d}, "fcmle", T::simd_fp_cmp),
    scl<"FCMLT_zero", LtZero>({0, 1, 0x0e}, "fcmlt", T::simd_fp_cmp),
    fixed<"SCVTF_fixed_scalar", false, false, true>(0x1c, "scvtf"),
    fixed<"UCVTF_fixed_scalar", true, false, true>(0x1c, "ucvtf"),
    fixed<"FCVTZS_fixed_scalar", false, true, true>(0x1f, "fcvtzs"),
    fixed<"FCVTZU_fixed_scalar", true, true, true>(0x1f, "fcvtzu"),
    std::array{
        OpRow{0xfffffc00, 0x7e616800, "FCVTXN_scalar", "fcvtxn", dec_shorten_odd<false>, exec_shorten<F32, F64, false, true, 1>, T::simd_fp_cvt_long, kSimd},
    });
// clang-format on
static_assert(table_sound(kVector, region::fp_simd) && table_sound(kScalar, region::fp_simd));

} // namespace

std::span<const OpRow> simd_fp_misc_rows() { return kVector; }
std::span<const OpRow> simd_fp_misc_scalar_rows() { return kScalar; }

} // namespace rkperf::a64

// SPDX-License-Identifier: Apache-2.0
// Advanced SIMD floating point with two operands: three same, pairwise, across lanes, by element; vector and scalar.
// Arm ARM C4.1.96.
#include "models/a64/simd_fp.h"

namespace rkperf::a64 {
namespace {

using T = TimingClass;

// ---- pairwise and across lanes

template <class F, unsigned N, class Op>
void exec_fp_pairwise(CpuState& s, const Insn& i) {
    const auto a = FpLanes<F, N>::load(s.v[i.rn]), b = FpLanes<F, N>::load(s.v[i.rm]);
    FpLanes<F, N> d;
    FpEnv env{s.fpcr, s.fpsr};
    for (unsigned l = 0; l < N / 2; ++l) d.v[l] = binary_lane<F, Op>(a.v[2 * l], a.v[2 * l + 1], env);
    for (unsigned l = 0; l < N / 2; ++l) d.v[l + N / 2] = binary_lane<F, Op>(b.v[2 * l], b.v[2 * l + 1], env);
    d.store(s.v[i.rd]);
    s.fpsr = env.flags;
}
template <class Op>
struct FpPairwiseFamily {
    template <class F, unsigned N>
    static Exec body() {
        return exec_fp_pairwise<F, N, Op>;
    }
};

/// Halves are reduced separately, then combined; with two lanes this is the scalar pairwise form.
template <class F, unsigned N, class Op>
void exec_fp_reduce(CpuState& s, const Insn& i) {
    auto a = FpLanes<F, N>::load(s.v[i.rn]);
    FpEnv env{s.fpcr, s.fpsr};
    for (unsigned n = N / 2; n > 0; n /= 2)
        for (unsigned l = 0; l < n; ++l) a.v[l] = binary_lane<F, Op>(a.v[2 * l], a.v[2 * l + 1], env);
    set_scalar(s.v[i.rd], a.v[0]);
    s.fpsr = env.flags;
}

// ---- decoding

template <class Family, FpSizes sizes, bool scalar, bool accumulates>
bool dec_fp2(std::uint32_t raw, Insn& out) {
    set_v_binary(raw, out);
    if (accumulates) set_v_accumulates(out);
    return choose_fp<Family, sizes, scalar>(raw, out);
}

template <class Family, FpSizes sizes, bool scalar, bool accumulates>
bool dec_fp_element(std::uint32_t raw, Insn& out) {
    const unsigned h = field(raw, 11, 1), l = field(raw, 21, 1), m = field(raw, 20, 1);
    set_v_unary(raw, out);
    if (sizes == FpSizes::half) {
        out.rm = small(field(raw, 16, 4));
        out.c = small(h << 2 | l << 1 | m);
    } else {
        out.rm = small(rm_of(raw));
        const bool dbl = raw >> 22 & 1;
        if (dbl && l) return false;
        out.c = small(dbl ? h : h << 1 | l);
    }
    out.src[1] = v_dep(out.rm);
    if (accumulates) set_v_accumulates(out);
    return choose_fp<Family, sizes, scalar>(raw, out);
}

template <class Op, FpSizes sizes>
bool dec_scalar_pair(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    const bool dbl = raw >> 22 & 1;
    set_shape(out, sizes == FpSizes::half ? 1 : dbl ? 3 : 2, false);
    if constexpr (sizes == FpSizes::half)
        out.fn = exec_fp_reduce<F16, 2, Op>;
    else
        out.fn = dbl ? exec_fp_reduce<F64, 2, Op> : exec_fp_reduce<F32, 2, Op>;
    return true;
}

template <class Op, FpSizes sizes>
bool dec_across(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    const bool q = raw >> 30 & 1;
    set_shape(out, sizes == FpSizes::half ? 1 : 2, q);
    if constexpr (sizes == FpSizes::half)
        out.fn = q ? exec_fp_reduce<F16, 8, Op> : exec_fp_reduce<F16, 4, Op>;
    else
        out.fn = exec_fp_reduce<F32, 4, Op>;
    return true;
}

// ---- rows: each of these makes the single/double row and the half row

struct Code {
    unsigned u, o, opcode; // bits 29, 23, 15:11
};
constexpr std::uint32_t same_value(Code c) { return 0x0e200400u | c.u << 29 | c.o << 23 | c.opcode << 11; }
constexpr std::uint32_t half_value(Code c) { return 0x0e400400u | c.u << 29 | c.o << 23 | (c.opcode & 7) << 11; }
constexpr std::uint32_t kScalarBits = 0x50000000;

template <Name name, class Family, bool accumulates = false>
constexpr std::array<OpRow, 2> vec(Code c, const char* mnemonic, T timing, Exec any) {
    return {OpRow{0xbfa0fc00, same_value(c), JoinedName<name, "_vector">::text, mnemonic,
                  dec_fp2<Family, FpSizes::single_double, false, accumulates>, any, timing, kSimd},
            OpRow{0xbfe0fc00, half_value(c), JoinedName<name, "_vector_half">::text, mnemonic,
                  dec_fp2<Family, FpSizes::half, false, accumulates>, any, timing, kSimd}};
}
template <Name name, class Op>
constexpr auto vec2(Code c, const char* mnemonic, T timing) {
    return vec<name, Fp2Family<Op, false>>(c, mnemonic, timing, exec_fp2<F64, 2, Op, false>);
}
template <Name name, bool negate>
constexpr auto mla(Code c, const char* mnemonic) {
    return vec<name, FpMlaFamily<negate, false>, true>(c, mnemonic, T::simd_fp_mla,
                                                       exec_fp_mla_slow<F64, 2, negate, false>);
}
template <Name name, class Op>
constexpr auto pair(Code c, const char* mnemonic) {
    return vec<name, FpPairwiseFamily<Op>>(c, mnemonic, T::simd_pairwise, exec_fp_pairwise<F64, 2, Op>);
}
template <Name name, class Op>
constexpr std::array<OpRow, 2> scl(Code c, const char* mnemonic, T timing) {
    using Family = Fp2Family<Op, false>;
    constexpr Exec any = exec_fp2<F64, 1, Op, false>;
    return {OpRow{0xffa0fc00, same_value(c) | kScalarBits, JoinedName<name, "_simd_scalar">::text, mnemonic,
                  dec_fp2<Family, FpSizes::single_double, true, false>, any, timing, kSimd},
            OpRow{0xffe0fc00, half_value(c) | kScalarBits, JoinedName<name, "_simd_scalar_half">::text, mnemonic,
                  dec_fp2<Family, FpSizes::half, true, false>, any, timing, kSimd}};
}

/// By element: vector and scalar, single/double and half.
template <Name name, class Family, bool accumulates>
constexpr std::array<OpRow, 4> element(unsigned u, unsigned opcode, const char* mnemonic, T timing, Exec any) {
    const std::uint32_t code = 0x0f000000u | u << 29 | opcode << 12, single = 1u << 23;
    return {OpRow{0xbf80f400, code | single, JoinedName<name, "_element">::text, mnemonic,
                  dec_fp_element<Family, FpSizes::single_double, false, accumulates>, any, timing, kSimd},
            OpRow{0xbfc0f400, code, JoinedName<name, "_element_half">::text, mnemonic,
                  dec_fp_element<Family, FpSizes::half, false, accumulates>, any, timing, kSimd},
            OpRow{0xff80f400, code | single | kScalarBits, JoinedName<name, "_element_scalar">::text, mnemonic,
                  dec_fp_element<Family, FpSizes::single_double, true, accumulates>, any, timing, kSimd},
            OpRow{0xffc0f400, code | kScalarBits, JoinedName<name, "_element_scalar_half">::text, mnemonic,
                  dec_fp_element<Family, FpSizes::half, true, accumulates>, any, timing, kSimd}};
}
template <Name name, class Op>
constexpr auto element2(unsigned u, unsigned opcode, const char* mnemonic) {
    return element<name, Fp2Family<Op, true>, false>(u, opcode, mnemonic, T::simd_fp_mul, exec_fp2<F64, 2, Op, true>);
}
template <Name name, bool negate>
constexpr auto element_mla(unsigned opcode, const char* mnemonic) {
    return element<name, FpMlaFamily<negate, true>, true>(0, opcode, mnemonic, T::simd_fp_mla,
                                                          exec_fp_mla_slow<F64, 2, negate, true>);
}

/// Scalar pairwise; `o` is bit 23.
template <Name name, class Op>
constexpr std::array<OpRow, 2> scalar_pair(unsigned o, unsigned opcode, const char* mnemonic) {
    const std::uint32_t code = 0x5e300800u | o << 23 | opcode << 12;
    return {OpRow{0xffbffc00, code | 1u << 29, JoinedName<name, "_simd_scalar">::text, mnemonic,
                  dec_scalar_pair<Op, FpSizes::single_double>, exec_fp_reduce<F64, 2, Op>, T::simd_pairwise, kSimd},
            OpRow{0xfffffc00, code, JoinedName<name, "_simd_scalar_half">::text, mnemonic,
                  dec_scalar_pair<Op, FpSizes::half>, exec_fp_reduce<F16, 2, Op>, T::simd_pairwise, kSimd}};
}
template <Name name, class Op>
constexpr std::array<OpRow, 2> across(unsigned o, unsigned opcode, const char* mnemonic) {
    const std::uint32_t code = 0x0e300800u | o << 23 | opcode << 12;
    return {OpRow{0xfffffc00, code | 1u << 29 | 1u << 30, name.text, mnemonic, dec_across<Op, FpSizes::single_only>,
                  exec_fp_reduce<F32, 4, Op>, T::simd_fp_reduce, kSimd},
            OpRow{0xbffffc00, code, JoinedName<name, "_half">::text, mnemonic, dec_across<Op, FpSizes::half>,
                  exec_fp_reduce<F16, 8, Op>, T::simd_fp_reduce, kSimd}};
}

// clang-format off
constexpr auto kVector = concat(
    vec2<"FMAXNM", op::MaxNum>({0, 0, 0x18}, "fmaxnm", T::simd_fp_arith),
    vec2<"FMINNM", op::MinNum>({0, 1, 0x18}, "fminnm", T::simd_fp_arith),
    mla<"FMLA", false>({0, 0, 0x19}, "fmla"),
    mla<"FMLS", true>({0, 1, 0x19}, "fmls"),
    vec2<"FADD", op::Add>({0, 0, 0x1a}, "fadd", T::simd_fp_arith),
    vec2<"FSUB", op::Sub>({0, 1, 0x1a}, "fsub", T::simd_fp_arith),
    vec2<"FABD", op::AbsDiff>({1, 1, 0x1a}, "fabd", T::simd_fp_arith),
    vec2<"FMULX", op::MulX>({0, 0, 0x1b}, "fmulx", T::simd_fp_mul),
    vec2<"FMUL", op::Mul>({1, 0, 0x1b}, "fmul", T::simd_fp_mul),
    vec2<"FCMEQ", op::CmpEq>({0, 0, 0x1c}, "fcmeq", T::simd_fp_cmp),
    vec2<"FCMGE", op::CmpGe>({1, 0, 0x1c}, "fcmge", T::simd_fp_cmp),
    vec2<"FCMGT", op::CmpGt>({1, 1, 0x1c}, "fcmgt", T::simd_fp_cmp),
    vec2<"FACGE", op::AbsGe>({1, 0, 0x1d}, "facge", T::simd_fp_cmp),
    vec2<"FACGT", op::AbsGt>({1, 1, 0x1d}, "facgt", T::simd_fp_cmp),
    vec2<"FMAX", op::Max>({0, 0, 0x1e}, "fmax", T::simd_fp_arith),
    vec2<"FMIN", op::Min>({0, 1, 0x1e}, "fmin", T::simd_fp_arith),
    vec2<"FRECPS", op::RecipStep>({0, 0, 0x1f}, "frecps", T::simd_fp_recip_step),
    vec2<"FRSQRTS", op::RecipSqrtStep>({0, 1, 0x1f}, "frsqrts", T::simd_fp_recip_step),
    vec2<"FDIV", op::Div>({1, 0, 0x1f}, "fdiv", T::simd_fp_div),
    pair<"FMAXNMP", op::MaxNum>({1, 0, 0x18}, "fmaxnmp"),
    pair<"FMINNMP", op::MinNum>({1, 1, 0x18}, "fminnmp"),
    pair<"FADDP", op::Add>({1, 0, 0x1a}, "faddp"),
    pair<"FMAXP", op::Max>({1, 0, 0x1e}, "fmaxp"),
    pair<"FMINP", op::Min>({1, 1, 0x1e}, "fminp"),
    across<"FMAXNMV", op::MaxNum>(0, 0x0c, "fmaxnmv"),
    across<"FMINNMV", op::MinNum>(1, 0x0c, "fminnmv"),
    across<"FMAXV", op::Max>(0, 0x0f, "fmaxv"),
    across<"FMINV", op::Min>(1, 0x0f, "fminv"),
    element_mla<"FMLA", false>(1, "fmla"),
    element_mla<"FMLS", true>(5, "fmls"),
    element2<"FMUL", op::Mul>(0, 9, "fmul"),
    element2<"FMULX", op::MulX>(1, 9, "fmulx"));
constexpr auto kScalar = concat(
    scl<"FABD", op::AbsDiff>({1, 1, 0x1a}, "fabd", T::simd_fp_arith),
    scl<"FMULX", op::MulX>({0, 0, 0x1b}, "fmulx", T::simd_fp_mul),
    scl<"FCMEQ", op::CmpEq>({0, 0, 0x1c}, "fcmeq", T::simd_fp_cmp),
    scl<"FCMGE", op::CmpGe>({1, 0, 0x1c}, "fcmge", T::simd_fp_cmp),
    scl<"FCMGT", op::CmpGt>({1, 1, 0x1c}, "fcmgt", T::simd_fp_cmp),
    scl<"FACGE", op::AbsGe>({1, 0, 0x1d}, "facge", T::simd_fp_cmp),
    scl<"FACGT", op::AbsGt>({1, 1, 0x1d}, "facgt", T::simd_fp_cmp),
    scl<"FRECPS", op::RecipStep>({0, 0, 0x1f}, "frecps", T::simd_fp_recip_step),
    scl<"FRSQRTS", op::RecipSqrtStep>({0, 1, 0x1f}, "frsqrts", T::simd_fp_recip_step),
    scalar_pair<"FMAXNMP", op::MaxNum>(0, 0x0c, "fmaxnmp"),
    scalar_pair<"FMINNMP", op::MinNum>(1, 0x0c, "fminnmp"),
    scalar_pair<"FADDP", op::Add>(0, 0x0d, "faddp"),
    scalar_pair<"FMAXP", op::Max>(0, 0x0f, "fmaxp"),
    scalar_pair<"FMINP", op::Min>(1, 0x0f, "fminp"));
// clang-format on
static_assert(table_sound(kVector, region::fp_simd) && table_sound(kScalar, region::fp_simd));

} // namespace

std::span<const OpRow> simd_fp_rows() { return kVector; }
std::span<const OpRow> simd_fp_scalar_rows() { return kScalar; }

} // namespace rkperf::a64

// SPDX-License-Identifier: Apache-2.0
// Advanced SIMD two-register miscellaneous and across lanes, integer; vector and scalar. Arm ARM C4.1.96.
#include "models/a64/simd_exec.h"
#include "models/a64/simd_ops.h"

namespace rkperf::a64 {
namespace {

using namespace lane_op;
using T = TimingClass;

// ---- reversal of elements in containers of 2^group bytes

template <class E, unsigned N, unsigned group>
void exec_rev(CpuState& s, const Insn& i) {
    const auto a = Lanes<E, N>::load(s.v[i.rn]);
    Lanes<E, N> d;
    for (unsigned l = 0; l < N; ++l) d.v[l] = a.v[l ^ ((1u << group) / sizeof(E) - 1)];
    d.store(s.v[i.rd]);
}
template <unsigned group>
struct Rev : Int<false, (1u << group) - 1> {
    template <class E, unsigned N, class>
    struct Body {
        static constexpr Exec fn = exec_rev<E, N, group>;
    };
};

// ---- sums of neighbours, twice as wide

template <class E, unsigned N, bool accumulates>
void exec_add_long_pairs(CpuState& s, const Insn& i) {
    using W = Twice<E>;
    const auto a = Lanes<E, N>::load(s.v[i.rn]);
    Lanes<W, N / 2> d{};
    if (accumulates) d = Lanes<W, N / 2>::load(s.v[i.rd]);
    for (unsigned l = 0; l < N / 2; ++l)
        d.v[l] = static_cast<W>(to_unsigned(d.v[l]) + to_unsigned(static_cast<W>(a.v[2 * l])) +
                                to_unsigned(static_cast<W>(a.v[2 * l + 1])));
    d.store(s.v[i.rd]);
}
template <bool sign, bool acc>
struct AddLongPairs : Int<sign, kNoD> {
    static constexpr bool accumulates = acc;
    template <class E, unsigned N, class>
    struct Body {
        static constexpr Exec fn = exec_add_long_pairs<E, N, acc>;
    };
};

// ---- narrowing: Narrow::run<E>(W) gives the low half, saturated or not

struct Truncate : Int<false, kNoD> {
    template <class E, class W>
    static E run(W v, auto&) {
        return static_cast<E>(v);
    }
};
/// From a signed or unsigned wide lane to a signed or unsigned narrow one.
template <bool from_signed, bool to_signed>
struct SaturateTo : Int<from_signed, kNoD> {
    template <class E, class W>
    static E run(W v, auto& saturated) {
        using To = std::conditional_t<to_signed, std::make_signed_t<E>, std::make_unsigned_t<E>>;
        return static_cast<E>(saturate<To>(v, saturated));
    }
};

template <class E, unsigned N, class Op, bool upper>
void exec_narrow(CpuState& s, const Insn& i) {
    const auto a = Lanes<Twice<E>, N>::load(s.v[i.rn]);
    Lanes<E, N> d;
    std::make_unsigned_t<E> saturated = 0;
    for (unsigned l = 0; l < N; ++l) d.v[l] = Op::template run<E>(a.v[l], saturated);
    store_half(s.v[i.rd], d, upper);
    set_qc(s, saturated);
}
template <class E, unsigned N, class Op>
struct Narrow {
    static constexpr Exec fn = exec_narrow<E, N, Op, false>;
};
template <class E, unsigned N, class Op>
struct NarrowUpper {
    static constexpr Exec fn = exec_narrow<E, N, Op, true>;
};
template <class Op, bool upper>
bool dec_narrow(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    if (upper) set_v_merges(out);
    const unsigned size = field(raw, 22, 2);
    set_shape(out, size, upper);
    out.fn = upper ? BySize<NarrowUpper, Op, Shape::d>::fns[size] : BySize<Narrow, Op, Shape::d>::fns[size];
    return out.fn != nullptr;
}

/// SHLL: widened and shifted by the element's width.
template <class E, unsigned N, bool upper>
void exec_shll(CpuState& s, const Insn& i) {
    const auto a = Lanes<E, N>::load(s.v[i.rn], upper ? N : 0);
    Lanes<Twice<E>, N> d;
    for (unsigned l = 0; l < N; ++l) d.v[l] = static_cast<Twice<E>>(static_cast<Twice<E>>(a.v[l]) << (sizeof(E) * 8));
    d.store(s.v[i.rd]);
}
template <bool upper>
struct Shll : Int<false, kNoD> {
    template <class E, unsigned N, class>
    struct Body {
        static constexpr Exec fn = exec_shll<E, N, upper>;
    };
};
template <bool upper>
bool dec_shll(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    const unsigned size = field(raw, 22, 2);
    set_shape(out, size, upper);
    out.fn = BySize<Shll<upper>::template Body, Shll<upper>, Shape::d>::fns[size];
    return out.fn != nullptr;
}

// ---- bytes whatever the size field says

template <class Op>
bool dec_bytes(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    const bool q = raw >> 30 & 1;
    set_shape(out, 0, q);
    out.fn = q ? exec_map1<std::uint8_t, 16, Op> : exec_map1<std::uint8_t, 8, Op>;
    return true;
}

struct RecipEstimate : Int<false, 0b0100> {
    template <class E>
    static E run(E a) {
        return soft::unsigned_recip_estimate(a);
    }
};
struct RecipSqrtEstimate : Int<false, 0b0100> {
    template <class E>
    static E run(E a) {
        return soft::unsigned_recip_sqrt_estimate(a);
    }
};

// ---- across lanes

template <class E, unsigned N, class Op>
void exec_reduce(CpuState& s, const Insn& i) {
    const auto a = Lanes<E, N>::load(s.v[i.rn]);
    E r = a.v[0];
    for (unsigned l = 1; l < N; ++l) r = Op::template run<E>(r, a.v[l]);
    set_scalar(s.v[i.rd], static_cast<std::make_unsigned_t<E>>(r));
}
template <class E, unsigned N, class Op>
struct Reduce {
    static constexpr Exec fn = exec_reduce<E, N, Op>;
};
template <class E, unsigned N, class>
struct AddLongReduce {
    static void run(CpuState& s, const Insn& i) {
        const auto a = Lanes<E, N>::load(s.v[i.rn]);
        std::int64_t sum = 0;
        for (unsigned l = 0; l < N; ++l) sum += a.v[l];
        set_scalar(s.v[i.rd], static_cast<Twice<std::make_unsigned_t<E>>>(sum));
    }
    static constexpr Exec fn = run;
};
template <template <class, unsigned, class> class Body, class Op>
bool dec_across(std::uint32_t raw, Insn& out) {
    if (field(raw, 22, 2) == 2 && !(raw >> 30 & 1)) return false; // two lanes are a pairwise operation
    return dec_vector1<Body, Op>(raw, out);
}

// ---- rows

constexpr std::uint32_t misc_value(unsigned u, unsigned opcode) { return 0x0e200800u | u << 29 | opcode << 12; }

template <class Op>
constexpr OpRow vec(unsigned u, unsigned opcode, const char* name, const char* mnemonic, T timing) {
    return {0xbf3ffc00,
            misc_value(u, opcode),
            name,
            mnemonic,
            dec_vector1<Map1, Op>,
            BySize<Map1, Op, Shape::q>::any(),
            timing,
            kSimd};
}
/// Operations that bring their own Body.
template <class Op>
constexpr OpRow own(unsigned u, unsigned opcode, const char* name, const char* mnemonic, T timing) {
    return {0xbf3ffc00,
            misc_value(u, opcode),
            name,
            mnemonic,
            dec_vector1<Op::template Body, Op>,
            BySize<Op::template Body, Op, Shape::q>::any(),
            timing,
            kSimd};
}
template <class Op>
constexpr OpRow bytes(unsigned u, unsigned size, const char* name, const char* mnemonic) {
    return {0xbffffc00,    misc_value(u, 5) | size << 22,   name,          mnemonic,
            dec_bytes<Op>, exec_map1<std::uint8_t, 16, Op>, T::simd_arith, kSimd};
}
template <class Op>
constexpr OpRow estimate(unsigned u, const char* name, const char* mnemonic) {
    return {0xbffffc00,
            misc_value(u, 0x1c) | 2u << 22,
            name,
            mnemonic,
            dec_vector1<Map1, Op>,
            exec_map1<std::uint32_t, 4, Op>,
            T::simd_fp_recip,
            kSimd};
}
template <Name name, Name mnemonic, class Op>
constexpr std::array<OpRow, 2> narrow(unsigned u, unsigned opcode, T timing) {
    return {OpRow{0xff3ffc00, misc_value(u, opcode), JoinedName<name, "">::text, JoinedName<mnemonic, "">::text,
                  dec_narrow<Op, false>, BySize<Narrow, Op, Shape::d>::any(), timing, kSimd},
            OpRow{0xff3ffc00, misc_value(u, opcode) | 1u << 30, JoinedName<name, "2">::text,
                  JoinedName<mnemonic, "2">::text, dec_narrow<Op, true>, BySize<NarrowUpper, Op, Shape::d>::any(),
                  timing, kSimd}};
}
template <template <class, unsigned, class> class Body, class Op>
constexpr OpRow scl(unsigned u, unsigned opcode, const char* name, const char* mnemonic, T timing) {
    return {0xff3ffc00,
            misc_value(u, opcode) | 0x50000000u,
            name,
            mnemonic,
            dec_scalar1<Body, Op>,
            BySize<Body, Op, Shape::scalar>::any(),
            timing,
            kSimd};
}
template <template <class, unsigned, class> class Body, class Op>
constexpr OpRow across(unsigned u, unsigned opcode, const char* name, const char* mnemonic) {
    return {0xbf3ffc00,           0x0e300800u | u << 29 | opcode << 12, name,           mnemonic,
            dec_across<Body, Op>, BySize<Body, Op, Shape::q>::any(),    T::simd_reduce, kSimd};
}

// clang-format off
constexpr auto kVector = concat(std::array{
    own<Rev<3>>(0, 0x00, "REV64", "rev64", T::simd_permute),
    own<Rev<2>>(1, 0x00, "REV32_vector", "rev32", T::simd_permute),
    own<Rev<1>>(0, 0x01, "REV16_vector", "rev16", T::simd_permute),
    own<AddLongPairs<true, false>>(0, 0x02, "SADDLP", "saddlp", T::simd_arith),
    own<AddLongPairs<false, false>>(1, 0x02, "UADDLP", "uaddlp", T::simd_arith),
    vec<MixedQAdd<true>>(0, 0x03, "SUQADD", "suqadd", T::simd_sat),
    vec<MixedQAdd<false>>(1, 0x03, "USQADD", "usqadd", T::simd_sat),
    vec<CountLeadingSigns>(0, 0x04, "CLS_vector", "cls", T::simd_arith),
    vec<CountLeadingZeros>(1, 0x04, "CLZ_vector", "clz", T::simd_arith),
    bytes<CountBits>(0, 0, "CNT", "cnt"),
    bytes<Not>(1, 0, "NOT", "not"),
    bytes<ReverseBits>(1, 1, "RBIT_vector", "rbit"),
    own<AddLongPairs<true, true>>(0, 0x06, "SADALP", "sadalp", T::simd_abs_diff_acc),
    own<AddLongPairs<false, true>>(1, 0x06, "UADALP", "uadalp", T::simd_abs_diff_acc),
    vec<QNeg<true>>(0, 0x07, "SQABS", "sqabs", T::simd_sat),
    vec<QNeg<false>>(1, 0x07, "SQNEG", "sqneg", T::simd_sat),
    vec<CmZero<Relation::gt>>(0, 0x08, "CMGT_zero", "cmgt", T::simd_cmp),
    vec<CmZero<Relation::ge>>(1, 0x08, "CMGE_zero", "cmge", T::simd_cmp),
    vec<CmZero<Relation::eq>>(0, 0x09, "CMEQ_zero", "cmeq", T::simd_cmp),
    vec<CmZero<Relation::le>>(1, 0x09, "CMLE_zero", "cmle", T::simd_cmp),
    vec<CmZero<Relation::lt>>(0, 0x0a, "CMLT_zero", "cmlt", T::simd_cmp),
    vec<lane_op::Abs<>>(0, 0x0b, "ABS_vector", "abs", T::simd_arith),
    vec<lane_op::Neg<>>(1, 0x0b, "NEG_vector", "neg", T::simd_arith),
    OpRow{0xff3ffc00, misc_value(1, 0x13), "SHLL", "shll", dec_shll<false>, exec_shll<std::uint8_t, 8, false>, T::simd_shift, kSimd},
    OpRow{0xff3ffc00, misc_value(1, 0x13) | 1u << 30, "SHLL2", "shll2", dec_shll<true>, exec_shll<std::uint8_t, 8, true>, T::simd_shift, kSimd},
    estimate<RecipEstimate>(0, "URECPE", "urecpe"),
    estimate<RecipSqrtEstimate>(1, "URSQRTE", "ursqrte"),
    across<AddLongReduce, Int<true, kNoD>>(0, 0x03, "SADDLV", "saddlv"),
    across<AddLongReduce, Int<false, kNoD>>(1, 0x03, "UADDLV", "uaddlv"),
    across<Reduce, Max<true>>(0, 0x0a, "SMAXV", "smaxv"),
    across<Reduce, Max<false>>(1, 0x0a, "UMAXV", "umaxv"),
    across<Reduce, Min<true>>(0, 0x1a, "SMINV", "sminv"),
    across<Reduce, Min<false>>(1, 0x1a, "UMINV", "uminv"),
    across<Reduce, Add<kNoD>>(0, 0x1b, "ADDV", "addv")},
    narrow<"XTN", "xtn", Truncate>(0, 0x12, T::simd_arith),
    narrow<"SQXTUN", "sqxtun", SaturateTo<true, false>>(1, 0x12, T::simd_shift_acc),
    narrow<"SQXTN", "sqxtn", SaturateTo<true, true>>(0, 0x14, T::simd_shift_acc),
    narrow<"UQXTN", "uqxtn", SaturateTo<false, false>>(1, 0x14, T::simd_shift_acc));
constexpr std::array kScalar = {
    scl<Map1, MixedQAdd<true>>(0, 0x03, "SUQADD_scalar", "suqadd", T::simd_sat),
    scl<Map1, MixedQAdd<false>>(1, 0x03, "USQADD_scalar", "usqadd", T::simd_sat),
    scl<Map1, QNeg<true>>(0, 0x07, "SQABS_scalar", "sqabs", T::simd_sat),
    scl<Map1, QNeg<false>>(1, 0x07, "SQNEG_scalar", "sqneg", T::simd_sat),
    scl<Map1, CmZero<Relation::gt, kD>>(0, 0x08, "CMGT_zero_scalar", "cmgt", T::simd_cmp),
    scl<Map1, CmZero<Relation::ge, kD>>(1, 0x08, "CMGE_zero_scalar", "cmge", T::simd_cmp),
    scl<Map1, CmZero<Relation::eq, kD>>(0, 0x09, "CMEQ_zero_scalar", "cmeq", T::simd_cmp),
    scl<Map1, CmZero<Relation::le, kD>>(1, 0x09, "CMLE_zero_scalar", "cmle", T::simd_cmp),
    scl<Map1, CmZero<Relation::lt, kD>>(0, 0x0a, "CMLT_zero_scalar", "cmlt", T::simd_cmp),
    scl<Map1, lane_op::Abs<kD>>(0, 0x0b, "ABS_scalar", "abs", T::simd_arith),
    scl<Map1, lane_op::Neg<kD>>(1, 0x0b, "NEG_scalar", "neg", T::simd_arith),
    scl<Narrow, SaturateTo<true, false>>(1, 0x12, "SQXTUN_scalar", "sqxtun", T::simd_shift_acc),
    scl<Narrow, SaturateTo<true, true>>(0, 0x14, "SQXTN_scalar", "sqxtn", T::simd_shift_acc),
    scl<Narrow, SaturateTo<false, false>>(1, 0x14, "UQXTN_scalar", "uqxtn", T::simd_shift_acc),
};
// clang-format on
static_assert(table_sound(kVector, region::fp_simd) && table_sound(kScalar, region::fp_simd));

} // namespace

std::span<const OpRow> simd_misc_rows() { return kVector; }
std::span<const OpRow> simd_misc_scalar_rows() { return kScalar; }

} // namespace rkperf::a64

// SPDX-License-Identifier: Apache-2.0
// Advanced SIMD three same, integer: vector and scalar, with the SQRDMLAH group and the dot products. Arm ARM C4.1.96.
#include "models/a64/simd_exec.h"
#include "models/a64/simd_ops.h"

namespace rkperf::a64 {
namespace {

using namespace lane_op;
using T = TimingClass;

// ---- pairwise: the operands one after the other, neighbours combined

template <class E, unsigned N, class Op>
void exec_pairwise(CpuState& s, const Insn& i) {
    const auto a = Lanes<E, N>::load(s.v[i.rn]), b = Lanes<E, N>::load(s.v[i.rm]);
    Lanes<E, N> d;
    for (unsigned l = 0; l < N / 2; ++l) {
        d.v[l] = Op::template run<E>(a.v[2 * l], a.v[2 * l + 1]);
        d.v[l + N / 2] = Op::template run<E>(b.v[2 * l], b.v[2 * l + 1]);
    }
    d.store(s.v[i.rd]);
}
template <class E, unsigned N, class Op>
struct Pairwise {
    static constexpr Exec fn = exec_pairwise<E, N, Op>;
};

/// ADDP Dd, Vn.2D
void exec_addp_scalar(CpuState& s, const Insn& i) { set_scalar(s.v[i.rd], s.v[i.rn].d[0] + s.v[i.rn].d[1]); }
bool dec_addp_scalar(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    set_shape(out, 3, true);
    return true;
}

// ---- bitwise

struct Bitwise : Int<false, kAll> {};
struct And : Bitwise {
    template <class E>
    static E run(E a, E b) {
        return a & b;
    }
};
struct Bic : Bitwise {
    template <class E>
    static E run(E a, E b) {
        return a & ~b;
    }
};
struct Orr : Bitwise {
    template <class E>
    static E run(E a, E b) {
        return a | b;
    }
};
struct Orn : Bitwise {
    template <class E>
    static E run(E a, E b) {
        return a | ~b;
    }
};
struct Eor : Bitwise {
    template <class E>
    static E run(E a, E b) {
        return a ^ b;
    }
};
struct Selecting : Bitwise {
    static constexpr bool merges = true;
};
struct Bsl : Selecting {
    template <class E>
    static E run(E d, E a, E b) {
        return (a & d) | (b & ~d);
    }
};
struct Bit : Selecting {
    template <class E>
    static E run(E d, E a, E b) {
        return (a & b) | (d & ~b);
    }
};
struct Bif : Selecting {
    template <class E>
    static E run(E d, E a, E b) {
        return (d & b) | (a & ~b);
    }
};

template <class Op>
bool dec_bitwise(std::uint32_t raw, Insn& out) {
    set_v_binary(raw, out);
    const bool q = raw >> 30 & 1;
    set_shape(out, 0, q);
    set_rd_use<Op>(out);
    out.fn = q ? exec_map2<std::uint64_t, 2, Op> : exec_map2<std::uint64_t, 1, Op>;
    return true;
}

// ---- dot products

template <class E, unsigned N>
void exec_dot(CpuState& s, const Insn& i) {
    const auto a = Lanes<E, 4 * N>::load(s.v[i.rn]), b = Lanes<E, 4 * N>::load(s.v[i.rm]);
    auto d = Lanes<std::uint32_t, N>::load(s.v[i.rd]);
    for (unsigned l = 0; l < N; ++l)
        for (unsigned k = 0; k < 4; ++k) d.v[l] += static_cast<std::uint32_t>(a.v[4 * l + k] * b.v[4 * l + k]);
    d.store(s.v[i.rd]);
}
template <class E>
bool dec_dot(std::uint32_t raw, Insn& out) {
    set_v_binary(raw, out);
    set_v_accumulates(out);
    const bool q = raw >> 30 & 1;
    set_shape(out, 2, q);
    out.fn = q ? exec_dot<E, 4> : exec_dot<E, 2>;
    return true;
}

// ---- rows

template <class Op>
constexpr OpRow vec(unsigned u, unsigned opcode, const char* name, const char* mnemonic, T timing) {
    return {0xbf20fc00,
            0x0e200400u | u << 29 | opcode << 11,
            name,
            mnemonic,
            dec_vector2<Map2, Op>,
            BySize<Map2, Op, Shape::q>::any(),
            timing,
            kSimd};
}
template <class Op>
constexpr OpRow pair(unsigned u, unsigned opcode, const char* name, const char* mnemonic) {
    return {0xbf20fc00,
            0x0e200400u | u << 29 | opcode << 11,
            name,
            mnemonic,
            dec_vector2<Pairwise, Op>,
            BySize<Pairwise, Op, Shape::q>::any(),
            T::simd_pairwise,
            kSimd};
}
template <class Op>
constexpr OpRow scl(unsigned u, unsigned opcode, const char* name, const char* mnemonic, T timing) {
    return {0xff20fc00,
            0x5e200400u | u << 29 | opcode << 11,
            name,
            mnemonic,
            dec_scalar2<Map2, Op>,
            BySize<Map2, Op, Shape::scalar>::any(),
            timing,
            kSimd};
}
template <class Op>
constexpr OpRow bits(unsigned u, unsigned size, const char* name, const char* mnemonic) {
    return {0xbfe0fc00,      0x0e201c00u | u << 29 | size << 22, name,          mnemonic,
            dec_bitwise<Op>, exec_map2<std::uint64_t, 2, Op>,    T::simd_logic, kSimd};
}
/// The group "three same extra".
template <class Op>
constexpr OpRow extra(bool scalar, unsigned opcode, const char* name, const char* mnemonic) {
    if (scalar)
        return {0xff20fc00,
                0x7e008400u | opcode << 11,
                name,
                mnemonic,
                dec_scalar2<Map2, Op>,
                BySize<Map2, Op, Shape::scalar>::any(),
                T::simd_mla,
                kSimd};
    return {0xbf20fc00,
            0x2e008400u | opcode << 11,
            name,
            mnemonic,
            dec_vector2<Map2, Op>,
            BySize<Map2, Op, Shape::q>::any(),
            T::simd_mla,
            kSimd};
}

// clang-format off
constexpr std::array kVector = {
    vec<HAdd<true>>(0, 0x00, "SHADD", "shadd", T::simd_arith),
    vec<HAdd<false>>(1, 0x00, "UHADD", "uhadd", T::simd_arith),
    vec<QAdd<true>>(0, 0x01, "SQADD", "sqadd", T::simd_sat),
    vec<QAdd<false>>(1, 0x01, "UQADD", "uqadd", T::simd_sat),
    vec<RHAdd<true>>(0, 0x02, "SRHADD", "srhadd", T::simd_arith),
    vec<RHAdd<false>>(1, 0x02, "URHADD", "urhadd", T::simd_arith),
    vec<HSub<true>>(0, 0x04, "SHSUB", "shsub", T::simd_arith),
    vec<HSub<false>>(1, 0x04, "UHSUB", "uhsub", T::simd_arith),
    vec<QSub<true>>(0, 0x05, "SQSUB", "sqsub", T::simd_sat),
    vec<QSub<false>>(1, 0x05, "UQSUB", "uqsub", T::simd_sat),
    vec<CmGt<true>>(0, 0x06, "CMGT", "cmgt", T::simd_cmp),
    vec<CmGt<false>>(1, 0x06, "CMHI", "cmhi", T::simd_cmp),
    vec<CmGe<true>>(0, 0x07, "CMGE", "cmge", T::simd_cmp),
    vec<CmGe<false>>(1, 0x07, "CMHS", "cmhs", T::simd_cmp),
    vec<Shl<true, false>>(0, 0x08, "SSHL", "sshl", T::simd_shift),
    vec<Shl<false, false>>(1, 0x08, "USHL", "ushl", T::simd_shift),
    vec<QShl<true, false>>(0, 0x09, "SQSHL_reg", "sqshl", T::simd_shift_acc),
    vec<QShl<false, false>>(1, 0x09, "UQSHL_reg", "uqshl", T::simd_shift_acc),
    vec<Shl<true, true>>(0, 0x0a, "SRSHL", "srshl", T::simd_shift_acc),
    vec<Shl<false, true>>(1, 0x0a, "URSHL", "urshl", T::simd_shift_acc),
    vec<QShl<true, true>>(0, 0x0b, "SQRSHL", "sqrshl", T::simd_shift_acc),
    vec<QShl<false, true>>(1, 0x0b, "UQRSHL", "uqrshl", T::simd_shift_acc),
    vec<Max<true>>(0, 0x0c, "SMAX", "smax", T::simd_minmax),
    vec<Max<false>>(1, 0x0c, "UMAX", "umax", T::simd_minmax),
    vec<Min<true>>(0, 0x0d, "SMIN", "smin", T::simd_minmax),
    vec<Min<false>>(1, 0x0d, "UMIN", "umin", T::simd_minmax),
    vec<Abd<true>>(0, 0x0e, "SABD", "sabd", T::simd_arith),
    vec<Abd<false>>(1, 0x0e, "UABD", "uabd", T::simd_arith),
    vec<Aba<true>>(0, 0x0f, "SABA", "saba", T::simd_abs_diff_acc),
    vec<Aba<false>>(1, 0x0f, "UABA", "uaba", T::simd_abs_diff_acc),
    vec<Add<>>(0, 0x10, "ADD_vector", "add", T::simd_arith),
    vec<Sub<>>(1, 0x10, "SUB_vector", "sub", T::simd_arith),
    vec<CmTst<>>(0, 0x11, "CMTST", "cmtst", T::simd_cmp),
    vec<CmEq<>>(1, 0x11, "CMEQ", "cmeq", T::simd_cmp),
    vec<Mla>(0, 0x12, "MLA", "mla", T::simd_mla),
    vec<Mls>(1, 0x12, "MLS", "mls", T::simd_mla),
    vec<Mul>(0, 0x13, "MUL_vector", "mul", T::simd_mul),
    vec<PMul>(1, 0x13, "PMUL", "pmul", T::simd_mul),
    vec<QDMulH<false>>(0, 0x16, "SQDMULH", "sqdmulh", T::simd_mul),
    vec<QDMulH<true>>(1, 0x16, "SQRDMULH", "sqrdmulh", T::simd_mul),
    pair<Max<true>>(0, 0x14, "SMAXP", "smaxp"),
    pair<Max<false>>(1, 0x14, "UMAXP", "umaxp"),
    pair<Min<true>>(0, 0x15, "SMINP", "sminp"),
    pair<Min<false>>(1, 0x15, "UMINP", "uminp"),
    pair<Add<>>(0, 0x17, "ADDP_vector", "addp"),
    bits<And>(0, 0, "AND_vector", "and"),
    bits<Bic>(0, 1, "BIC_vector", "bic"),
    bits<Orr>(0, 2, "ORR_vector", "orr"),
    bits<Orn>(0, 3, "ORN_vector", "orn"),
    bits<Eor>(1, 0, "EOR_vector", "eor"),
    bits<Bsl>(1, 1, "BSL", "bsl"),
    bits<Bit>(1, 2, "BIT", "bit"),
    bits<Bif>(1, 3, "BIF", "bif"),
    extra<QRDMlaH<false>>(false, 0, "SQRDMLAH", "sqrdmlah"),
    extra<QRDMlaH<true>>(false, 1, "SQRDMLSH", "sqrdmlsh"),
    OpRow{0xbfe0fc00, 0x0e809400, "SDOT", "sdot", dec_dot<std::int8_t>, exec_dot<std::int8_t, 4>, T::simd_dot, kSimd},
    OpRow{0xbfe0fc00, 0x2e809400, "UDOT", "udot", dec_dot<std::uint8_t>, exec_dot<std::uint8_t, 4>, T::simd_dot, kSimd},
};
constexpr std::array kScalar = {
    scl<QAdd<true>>(0, 0x01, "SQADD_scalar", "sqadd", T::simd_sat),
    scl<QAdd<false>>(1, 0x01, "UQADD_scalar", "uqadd", T::simd_sat),
    scl<QSub<true>>(0, 0x05, "SQSUB_scalar", "sqsub", T::simd_sat),
    scl<QSub<false>>(1, 0x05, "UQSUB_scalar", "uqsub", T::simd_sat),
    scl<CmGt<true, kD>>(0, 0x06, "CMGT_scalar", "cmgt", T::simd_cmp),
    scl<CmGt<false, kD>>(1, 0x06, "CMHI_scalar", "cmhi", T::simd_cmp),
    scl<CmGe<true, kD>>(0, 0x07, "CMGE_scalar", "cmge", T::simd_cmp),
    scl<CmGe<false, kD>>(1, 0x07, "CMHS_scalar", "cmhs", T::simd_cmp),
    scl<Shl<true, false, kD>>(0, 0x08, "SSHL_scalar", "sshl", T::simd_shift),
    scl<Shl<false, false, kD>>(1, 0x08, "USHL_scalar", "ushl", T::simd_shift),
    scl<QShl<true, false>>(0, 0x09, "SQSHL_reg_scalar", "sqshl", T::simd_shift_acc),
    scl<QShl<false, false>>(1, 0x09, "UQSHL_reg_scalar", "uqshl", T::simd_shift_acc),
    scl<Shl<true, true, kD>>(0, 0x0a, "SRSHL_scalar", "srshl", T::simd_shift_acc),
    scl<Shl<false, true, kD>>(1, 0x0a, "URSHL_scalar", "urshl", T::simd_shift_acc),
    scl<QShl<true, true>>(0, 0x0b, "SQRSHL_scalar", "sqrshl", T::simd_shift_acc),
    scl<QShl<false, true>>(1, 0x0b, "UQRSHL_scalar", "uqrshl", T::simd_shift_acc),
    scl<Add<kD>>(0, 0x10, "ADD_scalar", "add", T::simd_arith),
    scl<Sub<kD>>(1, 0x10, "SUB_scalar", "sub", T::simd_arith),
    scl<CmTst<kD>>(0, 0x11, "CMTST_scalar", "cmtst", T::simd_cmp),
    scl<CmEq<kD>>(1, 0x11, "CMEQ_scalar", "cmeq", T::simd_cmp),
    scl<QDMulH<false>>(0, 0x16, "SQDMULH_scalar", "sqdmulh", T::simd_mul),
    scl<QDMulH<true>>(1, 0x16, "SQRDMULH_scalar", "sqrdmulh", T::simd_mul),
    extra<QRDMlaH<false>>(true, 0, "SQRDMLAH_scalar", "sqrdmlah"),
    extra<QRDMlaH<true>>(true, 1, "SQRDMLSH_scalar", "sqrdmlsh"),
    OpRow{0xfffffc00, 0x5ef1b800, "ADDP_scalar", "addp", dec_addp_scalar, exec_addp_scalar, T::simd_pairwise, kSimd},
};
// clang-format on
static_assert(table_sound(kVector, region::fp_simd) && table_sound(kScalar, region::fp_simd));

} // namespace

std::span<const OpRow> simd_same_rows() { return kVector; }
std::span<const OpRow> simd_same_scalar_rows() { return kScalar; }

} // namespace rkperf::a64

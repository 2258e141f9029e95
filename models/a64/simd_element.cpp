// SPDX-License-Identifier: Apache-2.0
// Advanced SIMD vector and scalar by element, integer. Arm ARM C4.1.96.
#include "models/a64/simd_long.h"

namespace rkperf::a64 {
namespace {

using namespace lane_op;
using T = TimingClass;

/// Element size, register and lane of the second operand; false if the size does not exist.
bool set_element(std::uint32_t raw, Insn& out) {
    const unsigned size = field(raw, 22, 2), h = field(raw, 11, 1), l = field(raw, 21, 1), m = field(raw, 20, 1);
    set_v_unary(raw, out);
    if (size == 1) {
        out.rm = small(field(raw, 16, 4));
        out.c = small(h << 2 | l << 1 | m);
    } else if (size == 2) {
        out.rm = small(rm_of(raw));
        out.c = small(h << 1 | l);
    } else {
        return false;
    }
    out.src[1] = v_dep(out.rm);
    return true;
}

template <class Op>
bool dec_same(std::uint32_t raw, Insn& out) {
    return set_element(raw, out) && dec_vector<Map2Element, Op>(raw, out);
}
template <template <class, unsigned, class> class Body, class Op>
bool dec_one(std::uint32_t raw, Insn& out) {
    return set_element(raw, out) && dec_scalar<Body, Op>(raw, out);
}
template <class Op, bool upper>
bool dec_widening(std::uint32_t raw, Insn& out) {
    if (!set_element(raw, out)) return false;
    set_rd_use<Op>(out);
    set_shape(out, field(raw, 22, 2), upper);
    out.fn = BySize<LongBodies<upper, true>::template Body, Op, Shape::d>::fns[out.a];
    return out.fn != nullptr;
}

/// SDOT, UDOT: the element is four bytes.
template <class E, unsigned N>
void exec_dot(CpuState& s, const Insn& i) {
    const auto a = Lanes<E, 4 * N>::load(s.v[i.rn]);
    const auto b = Lanes<E, 4>::load(s.v[i.rm], 4u * i.c);
    auto d = Lanes<std::uint32_t, N>::load(s.v[i.rd]);
    for (unsigned l = 0; l < N; ++l)
        for (unsigned k = 0; k < 4; ++k) d.v[l] += static_cast<std::uint32_t>(a.v[4 * l + k] * b.v[k]);
    d.store(s.v[i.rd]);
}
template <class E>
bool dec_dot(std::uint32_t raw, Insn& out) {
    if (!set_element(raw, out)) return false;
    set_v_accumulates(out);
    const bool q = raw >> 30 & 1;
    set_shape(out, 2, q);
    out.fn = q ? exec_dot<E, 4> : exec_dot<E, 2>;
    return true;
}

constexpr std::uint32_t value(unsigned u, unsigned opcode) { return 0x0f000000u | u << 29 | opcode << 12; }
constexpr std::uint32_t kScalarBits = 0x50000000;

template <class Op>
constexpr OpRow vec(unsigned u, unsigned opcode, const char* name, const char* mnemonic, T timing) {
    return {0xbf00f400,   value(u, opcode),
            name,         mnemonic,
            dec_same<Op>, exec_map2<Element<Op::is_signed, 1>, 8, Op, true>,
            timing,       kSimd};
}
template <class Op>
constexpr OpRow scl(unsigned u, unsigned opcode, const char* name, const char* mnemonic, T timing) {
    return {0xff00f400,
            value(u, opcode) | kScalarBits,
            name,
            mnemonic,
            dec_one<Map2Element, Op>,
            exec_map2<Element<Op::is_signed, 1>, 1, Op, true>,
            timing,
            kSimd};
}
template <class Op>
constexpr OpRow scalar_long(unsigned opcode, const char* name, const char* mnemonic) {
    return {0xff00f400,
            value(0, opcode) | kScalarBits,
            name,
            mnemonic,
            dec_one<LongBodies<false, true>::Body, Op>,
            exec_long<std::int16_t, 1, Op, false, true>,
            T::simd_mull,
            kSimd};
}
template <Name name, Name mnemonic, class Op>
constexpr std::array<OpRow, 2> lng(unsigned u, unsigned opcode) {
    using E = Element<Op::is_signed, 1>;
    return {OpRow{0xff00f400, value(u, opcode), JoinedName<name, "_element">::text, JoinedName<mnemonic, "">::text,
                  dec_widening<Op, false>, exec_long<E, 4, Op, false, true>, T::simd_mull, kSimd},
            OpRow{0xff00f400, value(u, opcode) | 1u << 30, JoinedName<name, "2_element">::text,
                  JoinedName<mnemonic, "2">::text, dec_widening<Op, true>, exec_long<E, 4, Op, true, true>,
                  T::simd_mull, kSimd}};
}

// clang-format off
constexpr auto kRows = concat(std::array{
    vec<Mul>(0, 0x8, "MUL_element", "mul", T::simd_mul),
    vec<Mla>(1, 0x0, "MLA_element", "mla", T::simd_mla),
    vec<Mls>(1, 0x4, "MLS_element", "mls", T::simd_mla),
    vec<QDMulH<false>>(0, 0xc, "SQDMULH_element", "sqdmulh", T::simd_mul),
    vec<QDMulH<true>>(0, 0xd, "SQRDMULH_element", "sqrdmulh", T::simd_mul),
    vec<QRDMlaH<false>>(1, 0xd, "SQRDMLAH_element", "sqrdmlah", T::simd_mla),
    vec<QRDMlaH<true>>(1, 0xf, "SQRDMLSH_element", "sqrdmlsh", T::simd_mla),
    scl<QDMulH<false>>(0, 0xc, "SQDMULH_element_scalar", "sqdmulh", T::simd_mul),
    scl<QDMulH<true>>(0, 0xd, "SQRDMULH_element_scalar", "sqrdmulh", T::simd_mul),
    scl<QRDMlaH<false>>(1, 0xd, "SQRDMLAH_element_scalar", "sqrdmlah", T::simd_mla),
    scl<QRDMlaH<true>>(1, 0xf, "SQRDMLSH_element_scalar", "sqrdmlsh", T::simd_mla),
    scalar_long<QDMulL<Into::add>>(0x3, "SQDMLAL_element_scalar", "sqdmlal"),
    scalar_long<QDMulL<Into::sub>>(0x7, "SQDMLSL_element_scalar", "sqdmlsl"),
    scalar_long<QDMulL<Into::replace>>(0xb, "SQDMULL_element_scalar", "sqdmull"),
    OpRow{0xbfc0f400, value(0, 0xe) | 2u << 22, "SDOT_element", "sdot", dec_dot<std::int8_t>, exec_dot<std::int8_t, 4>, T::simd_dot, kSimd},
    OpRow{0xbfc0f400, value(1, 0xe) | 2u << 22, "UDOT_element", "udot", dec_dot<std::uint8_t>, exec_dot<std::uint8_t, 4>, T::simd_dot, kSimd}},
    lng<"SMLAL", "smlal", MulL<true, Into::add, kHS>>(0, 0x2),
    lng<"UMLAL", "umlal", MulL<false, Into::add, kHS>>(1, 0x2),
    lng<"SQDMLAL", "sqdmlal", QDMulL<Into::add>>(0, 0x3),
    lng<"SMLSL", "smlsl", MulL<true, Into::sub, kHS>>(0, 0x6),
    lng<"UMLSL", "umlsl", MulL<false, Into::sub, kHS>>(1, 0x6),
    lng<"SQDMLSL", "sqdmlsl", QDMulL<Into::sub>>(0, 0x7),
    lng<"SMULL", "smull", MulL<true, Into::replace, kHS>>(0, 0xa),
    lng<"UMULL", "umull", MulL<false, Into::replace, kHS>>(1, 0xa),
    lng<"SQDMULL", "sqdmull", QDMulL<Into::replace>>(0, 0xb));
// clang-format on
static_assert(table_sound(kRows, region::fp_simd));

} // namespace

std::span<const OpRow> simd_element_rows() { return kRows; }

} // namespace rkperf::a64

// SPDX-License-Identifier: Apache-2.0
// Advanced SIMD three different: widening, wide and high-narrowing operations; vector and scalar. Arm ARM C4.1.96.
#include "models/a64/simd_long.h"

namespace rkperf::a64 {
namespace {

using namespace lane_op;
using T = TimingClass;

/// SADDW and the like: rn is wide already.
template <class E, unsigned N, bool subtracts, bool upper>
void exec_wide(CpuState& s, const Insn& i) {
    using W = Twice<E>;
    const auto a = Lanes<W, N>::load(s.v[i.rn]);
    const auto b = Lanes<E, N>::load(s.v[i.rm], upper ? N : 0);
    Lanes<W, N> d;
    for (unsigned l = 0; l < N; ++l)
        d.v[l] = subtracts ? wrap_sub(a.v[l], static_cast<W>(b.v[l])) : wrap_add(a.v[l], static_cast<W>(b.v[l]));
    d.store(s.v[i.rd]);
}
template <bool sign, bool subtracts>
struct Wide : Int<sign, kNoD> {
    template <bool upper>
    struct Bodies {
        template <class E, unsigned N, class>
        struct Body {
            static constexpr Exec fn = exec_wide<E, N, subtracts, upper>;
        };
    };
};

/// ADDHN and the like: the upper half of a wide sum.
template <class E, unsigned N, bool subtracts, bool rounds, bool upper>
void exec_high_narrow(CpuState& s, const Insn& i) {
    using W = Twice<E>;
    constexpr unsigned width = sizeof(E) * 8;
    const auto a = Lanes<W, N>::load(s.v[i.rn]), b = Lanes<W, N>::load(s.v[i.rm]);
    Lanes<E, N> d;
    for (unsigned l = 0; l < N; ++l) {
        const W sum =
            static_cast<W>((subtracts ? a.v[l] - b.v[l] : a.v[l] + b.v[l]) + (rounds ? W{1} << (width - 1) : 0));
        d.v[l] = static_cast<E>(sum >> width);
    }
    store_half(s.v[i.rd], d, upper);
}
template <bool subtracts, bool rounds>
struct HighNarrow : Int<false, kNoD> {
    template <bool upper>
    struct Bodies {
        template <class E, unsigned N, class>
        struct Body {
            static constexpr Exec fn = exec_high_narrow<E, N, subtracts, rounds, upper>;
        };
    };
};
template <class Op, bool upper, bool narrows>
bool dec_different(std::uint32_t raw, Insn& out) {
    set_v_binary(raw, out);
    if (narrows && upper) set_v_merges(out);
    set_rd_use<Op>(out);
    const unsigned size = field(raw, 22, 2);
    set_shape(out, size, upper);
    out.fn = BySize<Op::template Bodies<upper>::template Body, Op, Shape::d>::fns[size];
    return out.fn != nullptr;
}

template <class Op, bool upper, bool narrows>
constexpr OpRow row(unsigned u, unsigned opcode, const char* name, const char* mnemonic, T timing) {
    return {0xff20fc00,
            0x0e200000u | upper << 30 | u << 29 | opcode << 12,
            name,
            mnemonic,
            dec_different<Op, upper, narrows>,
            BySize<Op::template Bodies<upper>::template Body, Op, Shape::d>::any(),
            timing,
            kSimd};
}
/// The rows of a mnemonic and its "2" form. `mnemonic` names both.
template <Name name, Name mnemonic, class Op, bool narrows = false>
constexpr std::array<OpRow, 2> both(unsigned u, unsigned opcode, T timing) {
    return {row<Op, false, narrows>(u, opcode, JoinedName<name, "">::text, JoinedName<mnemonic, "">::text, timing),
            row<Op, true, narrows>(u, opcode, JoinedName<name, "2">::text, JoinedName<mnemonic, "2">::text, timing)};
}
template <Name name, Name mnemonic, class Op>
constexpr auto lng(unsigned u, unsigned opcode, T timing) {
    return both<name, mnemonic, Widening<Op>>(u, opcode, timing);
}

template <class Op>
bool dec_scalar_long(std::uint32_t raw, Insn& out) {
    set_v_binary(raw, out);
    return dec_scalar<LongBodies<false, false>::Body, Op>(raw, out);
}
template <class Op>
constexpr OpRow scl(unsigned opcode, const char* name, const char* mnemonic) {
    return {0xff20fc00,
            0x5e200000u | opcode << 12,
            name,
            mnemonic,
            dec_scalar_long<Op>,
            BySize<LongBodies<false, false>::Body, Op, Shape::scalar>::any(),
            T::simd_mull,
            kSimd};
}

// clang-format off
constexpr auto kRows = concat(
    lng<"SADDL", "saddl", AddL<true>>(0, 0x0, T::simd_arith),
    lng<"UADDL", "uaddl", AddL<false>>(1, 0x0, T::simd_arith),
    both<"SADDW", "saddw", Wide<true, false>>(0, 0x1, T::simd_arith),
    both<"UADDW", "uaddw", Wide<false, false>>(1, 0x1, T::simd_arith),
    lng<"SSUBL", "ssubl", SubL<true>>(0, 0x2, T::simd_arith),
    lng<"USUBL", "usubl", SubL<false>>(1, 0x2, T::simd_arith),
    both<"SSUBW", "ssubw", Wide<true, true>>(0, 0x3, T::simd_arith),
    both<"USUBW", "usubw", Wide<false, true>>(1, 0x3, T::simd_arith),
    both<"ADDHN", "addhn", HighNarrow<false, false>, true>(0, 0x4, T::simd_arith),
    both<"RADDHN", "raddhn", HighNarrow<false, true>, true>(1, 0x4, T::simd_arith),
    lng<"SABAL", "sabal", AbdL<true, Into::add>>(0, 0x5, T::simd_abs_diff_acc),
    lng<"UABAL", "uabal", AbdL<false, Into::add>>(1, 0x5, T::simd_abs_diff_acc),
    both<"SUBHN", "subhn", HighNarrow<true, false>, true>(0, 0x6, T::simd_arith),
    both<"RSUBHN", "rsubhn", HighNarrow<true, true>, true>(1, 0x6, T::simd_arith),
    lng<"SABDL", "sabdl", AbdL<true, Into::replace>>(0, 0x7, T::simd_arith),
    lng<"UABDL", "uabdl", AbdL<false, Into::replace>>(1, 0x7, T::simd_arith),
    lng<"SMLAL", "smlal", MulL<true, Into::add>>(0, 0x8, T::simd_mull),
    lng<"UMLAL", "umlal", MulL<false, Into::add>>(1, 0x8, T::simd_mull),
    lng<"SQDMLAL", "sqdmlal", QDMulL<Into::add>>(0, 0x9, T::simd_mull),
    lng<"SMLSL", "smlsl", MulL<true, Into::sub>>(0, 0xa, T::simd_mull),
    lng<"UMLSL", "umlsl", MulL<false, Into::sub>>(1, 0xa, T::simd_mull),
    lng<"SQDMLSL", "sqdmlsl", QDMulL<Into::sub>>(0, 0xb, T::simd_mull),
    lng<"SMULL", "smull", MulL<true, Into::replace>>(0, 0xc, T::simd_mull),
    lng<"UMULL", "umull", MulL<false, Into::replace>>(1, 0xc, T::simd_mull),
    lng<"SQDMULL", "sqdmull", QDMulL<Into::replace>>(0, 0xd, T::simd_mull),
    std::array{
        OpRow{0xffe0fc00, 0x0e20e000, "PMULL", "pmull", dec_different<Widening<PMulL>, false, false>, exec_long<std::uint8_t, 8, PMulL, false, false>, T::simd_mull, kSimd},
        OpRow{0xffe0fc00, 0x4e20e000, "PMULL2", "pmull2", dec_different<Widening<PMulL>, true, false>, exec_long<std::uint8_t, 8, PMulL, true, false>, T::simd_mull, kSimd},
        scl<QDMulL<Into::add>>(0x9, "SQDMLAL_scalar", "sqdmlal"),
        scl<QDMulL<Into::sub>>(0xb, "SQDMLSL_scalar", "sqdmlsl"),
        scl<QDMulL<Into::replace>>(0xd, "SQDMULL_scalar", "sqdmull"),
    });
// clang-format on
static_assert(table_sound(kRows, region::fp_simd));

} // namespace

std::span<const OpRow> simd_long_rows() { return kRows; }

} // namespace rkperf::a64

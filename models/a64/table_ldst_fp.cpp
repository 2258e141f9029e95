// SPDX-License-Identifier: Apache-2.0
// Loads and stores of SIMD&FP registers, one or a pair, every addressing form, and literals (DDI 0487 C4.1.88).
#include "models/a64/body_ldst.h"
#include "models/a64/tables.h"

namespace rkperf::a64 {
namespace {

using namespace ldst;

template <class Op, Address kAddress>
constexpr Exec kBody[2] = {body<Op, kAddress, false>, body<Op, kAddress, true>};
template <class Op>
void decode_data(u32 raw, Insn& out) {
    out.rd = static_cast<u8>(rd_of(raw));
    out.mem_bytes = Op::kBytes;
    (Op::kStore ? out.src[3] : out.dst[0]) = v_dep(rd_of(raw));
}
template <class Op>
bool decode_unsigned(u32 raw, Insn& out) {
    decode_data<Op>(raw, out);
    decode_base(raw, out, false);
    out.imm = field(raw, 10, 12) * static_cast<int>(Op::kBytes);
    out.fn = kBody<Op, Address::offset>[rn_of(raw) == 31];
    return true;
}
template <class Op, Address kAddress>
bool decode_imm9(u32 raw, Insn& out) {
    decode_data<Op>(raw, out);
    decode_base(raw, out, writes_back(kAddress));
    out.imm = signed_field(raw, 12, 9);
    out.fn = kBody<Op, kAddress>[rn_of(raw) == 31];
    return true;
}
template <class Op>
bool decode_reg(u32 raw, Insn& out) {
    decode_data<Op>(raw, out);
    Address form{};
    if (!decode_reg_offset(raw, out, log2_of(Op::kBytes), form)) return false;
    constexpr const Exec* kForms[3] = {kBody<Op, Address::reg_uxtw>, kBody<Op, Address::reg_lsl>,
                                       kBody<Op, Address::reg_sxtw>};
    out.fn = kForms[static_cast<unsigned>(form) - static_cast<unsigned>(Address::reg_uxtw)][rn_of(raw) == 31];
    return true;
}
template <class Op, Address kAddress>
bool decode_pair(u32 raw, Insn& out) {
    decode_data<Op>(raw, out);
    decode_base(raw, out, writes_back(kAddress));
    out.ra = static_cast<u8>(ra_of(raw));
    (Op::kStore ? out.src[2] : out.dst[1]) = v_dep(ra_of(raw));
    out.imm = signed_field(raw, 15, 7) * static_cast<int>(Op::kElement);
    out.fn = kBody<Op, kAddress>[rn_of(raw) == 31];
    return true;
}

template <unsigned kSize>
bool decode_literal(u32 raw, Insn& out) {
    decode_data<LoadV<kSize>>(raw, out);
    out.imm = signed_field(raw, 5, 19) * 4;
    return true;
}

using Tc = TimingClass;
using Kind = InsnKind;

constexpr u32 kMaskUnsigned = 0xffc00000, kMask9 = 0xffe00c00, kMaskPair = 0xffc00000, kMaskLit = 0xff000000;
constexpr u32 kUnsigned = 0x3d000000, kUnscaled = 0x3c000000, kPost = 0x3c000400, kPre = 0x3c000c00, kReg = 0x3c200800;
constexpr u32 kPairNoAlloc = 0x2c000000, kPairPost = 0x2c800000, kPairOffset = 0x2d000000, kPairPre = 0x2d800000;
constexpr u32 op(unsigned size, unsigned opc) { return size << 30 | opc << 22; }

// clang-format off
#define RK_ONE(DIR, dir, TAG, SIZE, OPC, OP, TIMING, KIND)                                                                                                              \
    {kMaskUnsigned, kUnsigned | op(SIZE, OPC), DIR "R_" TAG "_imm",  dir "r",  decode_unsigned<OP>,              kBody<OP, Address::offset>[0],  Tc::TIMING, Kind::KIND}, \
    {kMask9,        kUnscaled | op(SIZE, OPC), DIR "UR_" TAG,        dir "ur", decode_imm9<OP, Address::offset>, kBody<OP, Address::offset>[0],  Tc::TIMING, Kind::KIND}, \
    {kMask9,        kPost     | op(SIZE, OPC), DIR "R_" TAG "_post", dir "r",  decode_imm9<OP, Address::post>,   kBody<OP, Address::post>[0],    Tc::TIMING, Kind::KIND}, \
    {kMask9,        kPre      | op(SIZE, OPC), DIR "R_" TAG "_pre",  dir "r",  decode_imm9<OP, Address::pre>,    kBody<OP, Address::pre>[0],     Tc::TIMING, Kind::KIND}, \
    {kMask9,        kReg      | op(SIZE, OPC), DIR "R_" TAG "_reg",  dir "r",  decode_reg<OP>,                   kBody<OP, Address::reg_lsl>[0], Tc::TIMING, Kind::KIND}
#define RK_PAIR(DIR, dir, TAG, OPC, LOAD, OP, TIMING, KIND)                                                                                                             \
    {kMaskPair, kPairNoAlloc | op(OPC, LOAD), DIR "NP_" TAG,          dir "np", decode_pair<OP, Address::offset>, kBody<OP, Address::offset>[0], Tc::TIMING, Kind::KIND}, \
    {kMaskPair, kPairPost    | op(OPC, LOAD), DIR "P_" TAG "_post",   dir "p",  decode_pair<OP, Address::post>,   kBody<OP, Address::post>[0],   Tc::TIMING, Kind::KIND}, \
    {kMaskPair, kPairOffset  | op(OPC, LOAD), DIR "P_" TAG "_offset", dir "p",  decode_pair<OP, Address::offset>, kBody<OP, Address::offset>[0], Tc::TIMING, Kind::KIND}, \
    {kMaskPair, kPairPre     | op(OPC, LOAD), DIR "P_" TAG "_pre",    dir "p",  decode_pair<OP, Address::pre>,    kBody<OP, Address::pre>[0],    Tc::TIMING, Kind::KIND}

constexpr OpRow kRows[] = {
    RK_ONE("ST", "st", "B", 0, 0, StoreV<1>,  store_fp,   store),
    RK_ONE("LD", "ld", "B", 0, 1, LoadV<1>,   load_fp,    load),
    RK_ONE("ST", "st", "H", 1, 0, StoreV<2>,  store_fp,   store),
    RK_ONE("LD", "ld", "H", 1, 1, LoadV<2>,   load_fp,    load),
    RK_ONE("ST", "st", "S", 2, 0, StoreV<4>,  store_fp,   store),
    RK_ONE("LD", "ld", "S", 2, 1, LoadV<4>,   load_fp,    load),
    RK_ONE("ST", "st", "D", 3, 0, StoreV<8>,  store_fp,   store),
    RK_ONE("LD", "ld", "D", 3, 1, LoadV<8>,   load_fp,    load),
    RK_ONE("ST", "st", "Q", 0, 2, StoreV<16>, store_fp_q, store),
    RK_ONE("LD", "ld", "Q", 0, 3, LoadV<16>,  load_fp_q,  load),
    RK_PAIR("ST", "st", "S", 0, 0, StoreVPair<4>,  store_fp_pair, store),
    RK_PAIR("LD", "ld", "S", 0, 1, LoadVPair<4>,   load_fp_pair,  load),
    RK_PAIR("ST", "st", "D", 1, 0, StoreVPair<8>,  store_fp_pair, store),
    RK_PAIR("LD", "ld", "D", 1, 1, LoadVPair<8>,   load_fp_pair,  load),
    RK_PAIR("ST", "st", "Q", 2, 0, StoreVPair<16>, store_fp_pair, store),
    RK_PAIR("LD", "ld", "Q", 2, 1, LoadVPair<16>,  load_fp_pair,  load),
    {kMaskLit, 0x1c000000, "LDR_S_lit", "ldr", decode_literal<4>,  literal<LoadV<4>>,  Tc::load_lit, Kind::load},
    {kMaskLit, 0x5c000000, "LDR_D_lit", "ldr", decode_literal<8>,  literal<LoadV<8>>,  Tc::load_lit, Kind::load},
    {kMaskLit, 0x9c000000, "LDR_Q_lit", "ldr", decode_literal<16>, literal<LoadV<16>>, Tc::load_lit, Kind::load},
};
#undef RK_ONE
#undef RK_PAIR
// clang-format on
static_assert(table_sound(kRows, region::load_store));

} // namespace

std::span<const OpRow> ldst_fp_rows() { return kRows; }

} // namespace rkperf::a64

// SPDX-License-Identifier: Apache-2.0
// Data processing, immediate (DDI 0487 C4.1.86 onwards): ADR, add/subtract, logical, move wide, bitfield, extract.
#include "models/a64/body_dp_imm.h"
#include "models/a64/decode_util.h"
#include "models/a64/logical_imm.h"
#include "models/a64/tables.h"

namespace rkperf::a64 {
namespace {

using namespace dp_imm;

// ADR, ADRP

template <bool kPage>
bool decode_adr(u32 raw, Insn& out) {
    out.rd = dst_slot(rd_of(raw));
    out.dst[0] = zr_dep(rd_of(raw));
    out.imm = signed_field(raw, 5, 19) * 4 | field(raw, 29, 2);
    if (kPage) out.imm = static_cast<std::int64_t>(static_cast<u64>(out.imm) << kPageShift);
    return true;
}
// Add, subtract

template <bool kSub>
bool decode_add(u32 raw, Insn& out) {
    out.rd = sp_slot(rd_of(raw));
    out.rn = sp_slot(rn_of(raw));
    const std::int64_t imm = static_cast<std::int64_t>(field(raw, 10, 12)) << (field(raw, 22, 1) * 12);
    out.imm = kSub ? -imm : imm; // SUB shares the body of ADD
    out.src[0] = sp_dep(rn_of(raw));
    out.dst[0] = sp_dep(rd_of(raw));
    return true;
}
template <class T, bool kSub>
bool decode_adds(u32 raw, Insn& out) {
    decode_add<false>(raw, out);
    out.rd = dst_slot(rd_of(raw));
    out.dst[0] = zr_dep(rd_of(raw));
    out.dst[1] = reg::flags;
    if (kSub && rd_of(raw) == 31) out.fn = cmp_imm<T>;
    return true;
}

// Logical

template <class T, Logic kOp>
bool decode_logic(u32 raw, Insn& out) {
    u64 mask;
    if (!logical_immediate(field(raw, 22, 1), field(raw, 10, 6), field(raw, 16, 6), mask)) return false;
    out.imm = static_cast<std::int64_t>(static_cast<T>(mask));
    out.rn = src_slot(rn_of(raw));
    out.src[0] = zr_dep(rn_of(raw));
    if (kOp == Logic::ands) {
        out.rd = dst_slot(rd_of(raw));
        out.dst[0] = zr_dep(rd_of(raw));
        out.dst[1] = reg::flags;
    } else {
        out.rd = sp_slot(rd_of(raw));
        out.dst[0] = sp_dep(rd_of(raw));
    }
    if (kOp == Logic::orr && rn_of(raw) == 31) {
        out.fn = mov_imm;
        out.timing = TimingClass::mov_imm;
    }
    return true;
}

// Move wide

template <class T, bool kInvert>
bool decode_mov(u32 raw, Insn& out) {
    const u64 v = u64{field(raw, 5, 16)} << (field(raw, 21, 2) * 16);
    out.imm = static_cast<std::int64_t>(static_cast<T>(kInvert ? ~v : v));
    out.rd = dst_slot(rd_of(raw));
    out.dst[0] = zr_dep(rd_of(raw));
    return true;
}
bool decode_movk(u32 raw, Insn& out) {
    decode_mov<u64, false>(raw, out);
    out.a = static_cast<u8>(field(raw, 21, 2) * 16);
    out.src[0] = zr_dep(rd_of(raw));
    return true;
}

template <class T>
bool decode_bitfield(u32 raw, Insn& out) {
    constexpr unsigned kBits = kWidth<T>;
    using U = std::make_unsigned_t<T>;
    const unsigned immr = field(raw, 16, 6), imms = field(raw, 10, 6);
    out.rd = dst_slot(rd_of(raw));
    out.rn = src_slot(rn_of(raw));
    out.src[0] = zr_dep(rn_of(raw));
    out.dst[0] = zr_dep(rd_of(raw));
    out.a = static_cast<u8>(kBits - 1 - imms);
    out.b = static_cast<u8>(imms >= immr ? kBits - 1 - imms + immr : immr - imms - 1);
    if (imms == kBits - 1)
        out.fn = shift_right_imm<T>;
    else if (std::is_unsigned_v<T> && imms + 1 == immr)
        out.fn = lsl_imm<U>;
    else if (immr == 0 && (imms == 7 || imms == 15 || imms == 31)) {
        constexpr bool kSigned = std::is_signed_v<T>;
        using B = std::conditional_t<kSigned, std::int8_t, u8>;
        using H = std::conditional_t<kSigned, std::int16_t, u16>;
        using W = std::conditional_t<kSigned, std::int32_t, u32>;
        if constexpr (kBits == 32)
            out.fn = imms == 7 ? extend_reg_w<B> : extend_reg_w<H>;
        else
            out.fn = imms == 7 ? extend_reg<B> : imms == 15 ? extend_reg<H> : extend_reg<W>;
    }
    return true;
}
template <class T>
bool decode_bfm(u32 raw, Insn& out) {
    constexpr unsigned kBits = kWidth<T>;
    const unsigned immr = field(raw, 16, 6), imms = field(raw, 10, 6);
    out.rd = dst_slot(rd_of(raw));
    out.rn = src_slot(rn_of(raw));
    out.src[0] = zr_dep(rn_of(raw));
    out.src[3] = zr_dep(rd_of(raw));
    out.dst[0] = zr_dep(rd_of(raw));
    out.a = static_cast<u8>(immr);
    const unsigned width = imms >= immr ? imms - immr + 1 : imms + 1;
    const unsigned low = imms >= immr ? 0 : kBits - immr;
    out.imm = static_cast<std::int64_t>((~u64{0} >> (64 - width)) << low);
    return true;
}

// Extract

template <class T>
bool decode_extr(u32 raw, Insn& out) {
    out.rd = dst_slot(rd_of(raw));
    out.rn = src_slot(rn_of(raw));
    out.rm = src_slot(rm_of(raw));
    out.a = static_cast<u8>(field(raw, 10, 6));
    out.src[0] = zr_dep(rn_of(raw));
    out.src[1] = zr_dep(rm_of(raw));
    out.dst[0] = zr_dep(rd_of(raw));
    if (rn_of(raw) == rm_of(raw)) {
        out.fn = ror_imm<T>;
        out.timing = TimingClass::shift_reg;
    }
    return true;
}

using Tc = TimingClass;
using Kind = InsnKind;
using i32 = std::int32_t;
using i64 = std::int64_t;

// clang-format off
constexpr OpRow kRows[] = {
    {0x9f000000, 0x10000000, "ADR",          "adr",  decode_adr<false>,            adr,                         Tc::adr, Kind::other},
    {0x9f000000, 0x90000000, "ADRP",         "adrp", decode_adr<true>,             adrp,                        Tc::adr, Kind::other},

    {0xff800000, 0x11000000, "ADD_imm_32",   "add",  decode_add<false>,            add_imm<u32>,                Tc::alu, Kind::other},
    {0xff800000, 0x91000000, "ADD_imm_64",   "add",  decode_add<false>,            add_imm<u64>,                Tc::alu, Kind::other},
    {0xff800000, 0x31000000, "ADDS_imm_32",  "adds", decode_adds<u32, false>,      adds_imm<u32>,               Tc::alu_flags, Kind::other},
    {0xff800000, 0xb1000000, "ADDS_imm_64",  "adds", decode_adds<u64, false>,      adds_imm<u64>,               Tc::alu_flags, Kind::other},
    {0xff800000, 0x51000000, "SUB_imm_32",   "sub",  decode_add<true>,             add_imm<u32>,                Tc::alu, Kind::other},
    {0xff800000, 0xd1000000, "SUB_imm_64",   "sub",  decode_add<true>,             add_imm<u64>,                Tc::alu, Kind::other},
    {0xff800000, 0x71000000, "SUBS_imm_32",  "subs", decode_adds<u32, true>,       subs_imm<u32>,               Tc::alu_flags, Kind::other},
    {0xff800000, 0xf1000000, "SUBS_imm_64",  "subs", decode_adds<u64, true>,       subs_imm<u64>,               Tc::alu_flags, Kind::other},

    {0xffc00000, 0x12000000, "AND_imm_32",   "and",  decode_logic<u32, Logic::band>, logic_imm<u32, Logic::band>, Tc::alu, Kind::other},
    {0xff800000, 0x92000000, "AND_imm_64",   "and",  decode_logic<u64, Logic::band>, logic_imm<u64, Logic::band>, Tc::alu, Kind::other},
    {0xffc00000, 0x32000000, "ORR_imm_32",   "orr",  decode_logic<u32, Logic::orr>,  logic_imm<u32, Logic::orr>,  Tc::alu, Kind::other},
    {0xff800000, 0xb2000000, "ORR_imm_64",   "orr",  decode_logic<u64, Logic::orr>,  logic_imm<u64, Logic::orr>,  Tc::alu, Kind::other},
    {0xffc00000, 0x52000000, "EOR_imm_32",   "eor",  decode_logic<u32, Logic::eor>,  logic_imm<u32, Logic::eor>,  Tc::alu, Kind::other},
    {0xff800000, 0xd2000000, "EOR_imm_64",   "eor",  decode_logic<u64, Logic::eor>,  logic_imm<u64, Logic::eor>,  Tc::alu, Kind::other},
    {0xffc00000, 0x72000000, "ANDS_imm_32",  "ands", decode_logic<u32, Logic::ands>, logic_imm<u32, Logic::ands>, Tc::alu_flags, Kind::other},
    {0xff800000, 0xf2000000, "ANDS_imm_64",  "ands", decode_logic<u64, Logic::ands>, logic_imm<u64, Logic::ands>, Tc::alu_flags, Kind::other},

    {0xffc00000, 0x12800000, "MOVN_32",      "movn", decode_mov<u32, true>,        mov_imm,                     Tc::mov_imm, Kind::other},
    {0xff800000, 0x92800000, "MOVN_64",      "movn", decode_mov<u64, true>,        mov_imm,                     Tc::mov_imm, Kind::other},
    {0xffc00000, 0x52800000, "MOVZ_32",      "movz", decode_mov<u32, false>,       mov_imm,                     Tc::mov_imm, Kind::other},
    {0xff800000, 0xd2800000, "MOVZ_64",      "movz", decode_mov<u64, false>,       mov_imm,                     Tc::mov_imm, Kind::other},
    {0xffc00000, 0x72800000, "MOVK_32",      "movk", decode_movk,                  movk_w,                      Tc::mov_imm, Kind::other},
    {0xff800000, 0xf2800000, "MOVK_64",      "movk", decode_movk,                  movk,                        Tc::mov_imm, Kind::other},

    {0xffe08000, 0x13000000, "SBFM_32",      "sbfm", decode_bitfield<i32>,         bitfield<i32>,               Tc::bitfield, Kind::other},
    {0xffc00000, 0x93400000, "SBFM_64",      "sbfm", decode_bitfield<i64>,         bitfield<i64>,               Tc::bitfield, Kind::other},
    {0xffe08000, 0x33000000, "BFM_32",       "bfm",  decode_bfm<u32>,              bfm<u32>,                    Tc::bfm, Kind::other},
    {0xffc00000, 0xb3400000, "BFM_64",       "bfm",  decode_bfm<u64>,              bfm<u64>,                    Tc::bfm, Kind::other},
    {0xffe08000, 0x53000000, "UBFM_32",      "ubfm", decode_bitfield<u32>,         bitfield<u32>,               Tc::bitfield, Kind::other},
    {0xffc00000, 0xd3400000, "UBFM_64",      "ubfm", decode_bitfield<u64>,         bitfield<u64>,               Tc::bitfield, Kind::other},

    {0xffe08000, 0x13800000, "EXTR_32",      "extr", decode_extr<u32>,             extr<u32>,                   Tc::extr, Kind::other},
    {0xffe00000, 0x93c00000, "EXTR_64",      "extr", decode_extr<u64>,             extr<u64>,                   Tc::extr, Kind::other},
};
// clang-format on
static_assert(table_sound(kRows, region::dp_imm));

} // namespace

std::span<const OpRow> dp_imm_rows() { return kRows; }

} // namespace rkperf::a64

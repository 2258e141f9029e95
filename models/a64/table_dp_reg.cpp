// SPDX-License-Identifier: Apache-2.0
// Data processing, register: logical and add/subtract with shifted or extended register (DDI 0487 C4.1.89). The decode
// functions choose a body without shift, or one for the shift or extend.
#include "models/a64/body_dp_reg.h"
#include "models/a64/decode_util.h"
#include "models/a64/tables.h"

#include <array>

namespace rkperf::a64 {
namespace {

using namespace dp_reg;

template <class T, Logic kOp>
constexpr Exec kLogic[4] = {logic<T, kOp, Shift::lsl>, logic<T, kOp, Shift::lsr>, logic<T, kOp, Shift::asr>,
                            logic<T, kOp, Shift::ror>};

void decode_shifted(u32 raw, Insn& out, bool flags) {
    out.rd = dst_slot(rd_of(raw));
    out.rn = src_slot(rn_of(raw));
    out.rm = src_slot(rm_of(raw));
    out.a = static_cast<u8>(field(raw, 22, 2));
    out.b = static_cast<u8>(field(raw, 10, 6));
    out.src[0] = zr_dep(rn_of(raw));
    out.src[1] = zr_dep(rm_of(raw));
    out.dst[0] = zr_dep(rd_of(raw));
    if (flags) out.dst[1] = reg::flags;
}

template <class T, Logic kOp>
bool decode_logic(u32 raw, Insn& out) {
    decode_shifted(raw, out, sets_flags(kOp));
    if (out.b != 0) {
        out.c = 1;
        out.fn = kLogic<T, kOp>[out.a];
        out.timing = sets_flags(kOp) ? TimingClass::logic_shift_flags : TimingClass::alu_shift;
    } else if (kOp == Logic::orr && rn_of(raw) == 31) {
        out.fn = mov_reg<T>;
    }
    return true;
}

// Add, subtract

template <class T, bool kSub, bool kFlags>
constexpr Exec kAddShifted[3] = {add_shifted<T, kSub, kFlags, Shift::lsl>, add_shifted<T, kSub, kFlags, Shift::lsr>,
                                 add_shifted<T, kSub, kFlags, Shift::asr>};

template <class T, bool kSub, bool kFlags>
bool decode_add(u32 raw, Insn& out) {
    if (field(raw, 22, 2) == 3) return false;
    decode_shifted(raw, out, kFlags);
    if (out.b != 0) {
        out.fn = kAddShifted<T, kSub, kFlags>[out.a];
        out.timing = TimingClass::alu_shift;
    } else if (kSub && kFlags && rd_of(raw) == 31) {
        out.fn = cmp_reg<T>;
    }
    return true;
}

template <class T, bool kSub, bool kFlags>
constexpr Exec kAddExtended[8] = {
    add_extended<T, kSub, kFlags, Extend::uxtb>, add_extended<T, kSub, kFlags, Extend::uxth>,
    add_extended<T, kSub, kFlags, Extend::uxtw>, add_extended<T, kSub, kFlags, Extend::uxtx>,
    add_extended<T, kSub, kFlags, Extend::sxtb>, add_extended<T, kSub, kFlags, Extend::sxth>,
    add_extended<T, kSub, kFlags, Extend::sxtw>, add_extended<T, kSub, kFlags, Extend::sxtx>};

template <class T, bool kSub, bool kFlags>
bool decode_extended(u32 raw, Insn& out) {
    if (field(raw, 10, 3) > 4) return false;
    out.rd = kFlags ? dst_slot(rd_of(raw)) : sp_slot(rd_of(raw));
    out.rn = sp_slot(rn_of(raw));
    out.rm = src_slot(rm_of(raw));
    out.b = static_cast<u8>(field(raw, 10, 3));
    out.src[0] = sp_dep(rn_of(raw));
    out.src[1] = zr_dep(rm_of(raw));
    out.dst[0] = kFlags ? zr_dep(rd_of(raw)) : sp_dep(rd_of(raw));
    if (kFlags) out.dst[1] = reg::flags;
    out.fn = kAddExtended<T, kSub, kFlags>[field(raw, 13, 3)];
    return true;
}

using Tc = TimingClass;
using Kind = InsnKind;

// The 32-bit form has one bit of the amount fixed.
constexpr u32 kMask32 = 0xff208000, kMask64 = 0xff200000, kMaskExt = 0xffe00000;

// clang-format off
#define RK_LOGIC(NAME, MNEMONIC, VALUE, OP, TIMING)                                                                          \
    {kMask32, VALUE,       NAME "_reg_32", MNEMONIC, decode_logic<u32, Logic::OP>, logic<u32, Logic::OP, Shift::none>, Tc::TIMING, Kind::other}, \
    {kMask64, VALUE | kSf, NAME "_reg_64", MNEMONIC, decode_logic<u64, Logic::OP>, logic<u64, Logic::OP, Shift::none>, Tc::TIMING, Kind::other}
#define RK_ADD(NAME, MNEMONIC, VALUE, SUB, FLAGS, TIMING)                                                                    \
    {kMask32, VALUE,        NAME "_reg_32", MNEMONIC, decode_add<u32, SUB, FLAGS>, add_shifted<u32, SUB, FLAGS, Shift::none>, Tc::TIMING, Kind::other}, \
    {kMask64, VALUE | kSf,  NAME "_reg_64", MNEMONIC, decode_add<u64, SUB, FLAGS>, add_shifted<u64, SUB, FLAGS, Shift::none>, Tc::TIMING, Kind::other}, \
    {kMaskExt, VALUE | 1u << 21,       NAME "_ext_32", MNEMONIC, decode_extended<u32, SUB, FLAGS>, add_extended<u32, SUB, FLAGS, Extend::uxtx>, Tc::alu_ext, Kind::other}, \
    {kMaskExt, VALUE | 1u << 21 | kSf, NAME "_ext_64", MNEMONIC, decode_extended<u64, SUB, FLAGS>, add_extended<u64, SUB, FLAGS, Extend::uxtx>, Tc::alu_ext, Kind::other}

constexpr OpRow kRows[] = {
    RK_LOGIC("AND",  "and",  0x0a000000, band, alu),
    RK_LOGIC("BIC",  "bic",  0x0a200000, bic,  alu),
    RK_LOGIC("ORR",  "orr",  0x2a000000, orr,  alu),
    RK_LOGIC("ORN",  "orn",  0x2a200000, orn,  alu),
    RK_LOGIC("EOR",  "eor",  0x4a000000, eor,  alu),
    RK_LOGIC("EON",  "eon",  0x4a200000, eon,  alu),
    RK_LOGIC("ANDS", "ands", 0x6a000000, ands, alu_flags),
    RK_LOGIC("BICS", "bics", 0x6a200000, bics, alu_flags),
    RK_ADD("ADD",  "add",  0x0b000000, false, false, alu),
    RK_ADD("ADDS", "adds", 0x2b000000, false, true,  alu_flags),
    RK_ADD("SUB",  "sub",  0x4b000000, true,  false, alu),
    RK_ADD("SUBS", "subs", 0x6b000000, true,  true,  alu_flags),
};
#undef RK_LOGIC
#undef RK_ADD
// clang-format on
static_assert(table_sound(kRows, region::dp_reg));

} // namespace

std::span<const OpRow> dp_reg_rows() { return kRows; }

} // namespace rkperf::a64

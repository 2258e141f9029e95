// SPDX-License-Identifier: Apache-2.0
// Branches and exception generation (DDI 0487 C4.1.87). Pointer-authenticated branches are Armv8.3 and not allocated;
// HVC, SMC, ERET, DRPS and DCPSn are undefined at EL0.
#include "models/a64/body_branch.h"
#include "models/a64/decode_util.h"
#include "models/a64/tables.h"

#include <array>
#include <utility>

namespace rkperf::a64 {
namespace {

using namespace branches;

template <bool kLink>
bool decode_b(u32 raw, Insn& out) {
    out.imm = signed_field(raw, 0, 26) * 4;
    if (kLink) out.dst[0] = kLinkRegister;
    return true;
}

template <std::size_t... kConds>
constexpr std::array<Exec, sizeof...(kConds)> b_cond_bodies(std::index_sequence<kConds...>) {
    return {branch_if<OnFlags<kConds>>...};
}
constexpr auto kBCond = b_cond_bodies(std::make_index_sequence<16>{});
bool decode_b_cond(u32 raw, Insn& out) {
    out.imm = signed_field(raw, 5, 19) * 4;
    out.a = static_cast<u8>(field(raw, 0, 4));
    out.fn = kBCond[out.a];
    out.src[0] = reg::flags;
    return true;
}

bool decode_cbz(u32 raw, Insn& out) {
    out.rn = src_slot(rd_of(raw));
    out.src[0] = zr_dep(rd_of(raw));
    out.imm = signed_field(raw, 5, 19) * 4;
    return true;
}
bool decode_tbz(u32 raw, Insn& out) {
    out.rn = src_slot(rd_of(raw));
    out.src[0] = zr_dep(rd_of(raw));
    out.a = static_cast<u8>(field(raw, 31, 1) << 5 | field(raw, 19, 5));
    out.imm = signed_field(raw, 5, 14) * 4;
    return true;
}

template <bool kLink>
bool decode_br(u32 raw, Insn& out) {
    out.rn = src_slot(rn_of(raw));
    out.src[0] = zr_dep(rn_of(raw));
    if (kLink) out.dst[0] = kLinkRegister;
    return true;
}

void svc(CpuState& s, const Insn& i) { stop_next(s, Stop::svc, static_cast<u32>(i.imm)); }
template <Stop kStop>
void trap(CpuState& s, const Insn& i) {
    s.stop_info = static_cast<u32>(i.imm);
    stop_here(s, kStop);
}
bool decode_exception(u32 raw, Insn& out) {
    out.imm = field(raw, 5, 16);
    return true;
}

using Tc = TimingClass;
using Kind = InsnKind;

// clang-format off
constexpr OpRow kRows[] = {
    {0xfc000000, 0x14000000, "B",       "b",    decode_b<false>,  b,                 Tc::branch,      Kind::branch_immed},
    {0xfc000000, 0x94000000, "BL",      "bl",   decode_b<true>,   bl,                Tc::branch_link, Kind::branch_call},
    {0xff000010, 0x54000000, "B_cond",  "",     decode_b_cond,    branch_if<OnFlags<14>>, Tc::branch_cond, Kind::branch_cond},
    {0xff000000, 0x34000000, "CBZ_32",  "cbz",  decode_cbz,       branch_if<OnRegister<u32, false>>,   Tc::branch_cond, Kind::branch_cond},
    {0xff000000, 0xb4000000, "CBZ_64",  "cbz",  decode_cbz,       branch_if<OnRegister<u64, false>>,   Tc::branch_cond, Kind::branch_cond},
    {0xff000000, 0x35000000, "CBNZ_32", "cbnz", decode_cbz,       branch_if<OnRegister<u32, true>>,    Tc::branch_cond, Kind::branch_cond},
    {0xff000000, 0xb5000000, "CBNZ_64", "cbnz", decode_cbz,       branch_if<OnRegister<u64, true>>,    Tc::branch_cond, Kind::branch_cond},
    {0x7f000000, 0x36000000, "TBZ",     "tbz",  decode_tbz,       branch_if<OnBit<false>>,        Tc::branch_cond, Kind::branch_cond},
    {0x7f000000, 0x37000000, "TBNZ",    "tbnz", decode_tbz,       branch_if<OnBit<true>>,         Tc::branch_cond, Kind::branch_cond},
    {0xfffffc1f, 0xd61f0000, "BR",      "br",   decode_br<false>, br,                Tc::branch_reg,  Kind::branch_indirect},
    {0xfffffc1f, 0xd63f0000, "BLR",     "blr",  decode_br<true>,  blr,               Tc::branch_reg,  Kind::branch_call_indirect},
    {0xfffffc1f, 0xd65f0000, "RET",     "ret",  decode_br<false>, br,                Tc::ret,         Kind::branch_return},
    {0xffe0001f, 0xd4000001, "SVC",     "svc",  decode_exception, svc,               Tc::svc,         Kind::exception},
    {0xffe0001f, 0xd4200000, "BRK",     "brk",  decode_exception, trap<Stop::brk>,   Tc::svc,         Kind::exception},
    {0xffe0001f, 0xd4400000, "HLT",     "hlt",  decode_exception, trap<Stop::hlt>,   Tc::svc,         Kind::exception},
};
// clang-format on
static_assert(table_sound(kRows, region::branch_system));

} // namespace

std::span<const OpRow> branch_rows() { return kRows; }

} // namespace rkperf::a64

// SPDX-License-Identifier: Apache-2.0
// System instructions as EL0 sees them under Linux (DDI 0487 C4.1.87): hints, barriers, CLREX, MSR and MRS, cache
// maintenance. Everything else of the group is undefined at EL0 or belongs to a later architecture.
#include "models/a64/decode_util.h"
#include "models/a64/exec_util.h"
#include "models/a64/tables.h"

namespace rkperf::a64 {
namespace {

// Hints. Pointer authentication, BTI and the like live in this space and do nothing on Armv8.2.

void hint_stop(CpuState& s, const Insn& i) { stop_next(s, Stop::wait, i.a); }
bool decode_hint(u32 raw, Insn& out) {
    out.a = static_cast<u8>(field(raw, 5, 7));
    constexpr unsigned kYield = 1, kSevl = 5;
    // Not allocated: marks of regions for the core (models/cpu/execution_mode.h).
    constexpr unsigned kRegionBegin = 120, kRegionEnd = 121;
    if ((out.a >= kYield && out.a <= kSevl) || out.a == kRegionBegin || out.a == kRegionEnd) out.fn = hint_stop;
    out.timing = out.a == 0 ? TimingClass::nop : TimingClass::hint;
    return true;
}

// Barriers

constexpr unsigned kDsbOption = 16;
void barrier(CpuState& s, const Insn& i) { s.hooks->barrier(i.a); }
template <unsigned kExtra>
bool decode_barrier(u32 raw, Insn& out) {
    out.a = static_cast<u8>(field(raw, 8, 4) | kExtra);
    return true;
}
void isb(CpuState& s, const Insn&) { stop_next(s, Stop::isb); }
void clrex(CpuState& s, const Insn&) { s.hooks->clear_exclusive(); }
bool decode_none(u32, Insn&) { return true; }

// System registers. Insn::c holds a 1 if the access goes through CoreHooks; imm is the SysReg encoding.

SysReg register_of(const Insn& i) { return SysReg{static_cast<u16>(i.imm)}; }

/// ISS of a trapped MSR, MRS or system instruction (DDI 0487 ESR_ELx, EC 0x18).
u32 trap_iss(SysReg r, unsigned rt, bool read) {
    return r.op0() << 20 | r.op2() << 17 | r.op1() << 14 | r.crn() << 10 | rt << 5 | r.crm() << 1 | (read ? 1u : 0u);
}
void refuse(CpuState& s, const Insn& i, SysRegOutcome outcome, bool read) {
    if (outcome == SysRegOutcome::undefined) return stop_here(s, Stop::undefined);
    s.stop_info = trap_iss(register_of(i), rd_of(i.raw), read);
    stop_here(s, Stop::trap_sysreg);
}

void mrs_hooks(CpuState& s, const Insn& i) {
    u64 value = 0;
    const SysRegOutcome outcome = s.hooks->read_sysreg(register_of(i), value);
    if (outcome != SysRegOutcome::ok) return refuse(s, i, outcome, true);
    s.x[i.rd] = value;
}
void msr_hooks(CpuState& s, const Insn& i) {
    const SysRegOutcome outcome = s.hooks->write_sysreg(register_of(i), s.x[i.rd]);
    if (outcome != SysRegOutcome::ok) refuse(s, i, outcome, false);
}
void mrs_nzcv(CpuState& s, const Insn& i) { s.x[i.rd] = s.nzcv; }
void mrs_fpcr(CpuState& s, const Insn& i) { s.x[i.rd] = s.fpcr; }
void mrs_fpsr(CpuState& s, const Insn& i) { s.x[i.rd] = s.fpsr; }
void mrs_tpidr(CpuState& s, const Insn& i) { s.x[i.rd] = s.tpidr_el0; }
void mrs_tpidrro(CpuState& s, const Insn& i) { s.x[i.rd] = s.tpidrro_el0; }
void msr_nzcv(CpuState& s, const Insn& i) { s.nzcv = static_cast<u32>(s.x[i.rd]) & 0xf0000000u; }
void msr_fpcr(CpuState& s, const Insn& i) { s.fpcr = static_cast<u32>(s.x[i.rd]) & kFpcrMask; }
void msr_fpsr(CpuState& s, const Insn& i) { s.fpsr = static_cast<u32>(s.x[i.rd]) & kFpsrMask; }
void msr_tpidr(CpuState& s, const Insn& i) { s.tpidr_el0 = s.x[i.rd]; }

/// The registers every EL0 program uses; the body reaches them in CpuState.
struct InlineRegister {
    SysReg reg;
    Exec read, write;
    u8 dep;
};
constexpr InlineRegister kInline[] = {
    {sysreg::NZCV, mrs_nzcv, msr_nzcv, reg::flags},
    {sysreg::FPCR, mrs_fpcr, msr_fpcr, reg::none},
    {sysreg::FPSR, mrs_fpsr, msr_fpsr, reg::fpsr},
    {sysreg::TPIDR_EL0, mrs_tpidr, msr_tpidr, reg::none},
    {sysreg::TPIDRRO_EL0, mrs_tpidrro, exec_undefined, reg::none},
};

template <bool kRead>
bool decode_sysreg(u32 raw, Insn& out) {
    const SysReg reg{static_cast<u16>(field(raw, 5, 15) | 1u << 15)};
    out.imm = reg.encoding;
    out.rd = kRead ? dst_slot(rd_of(raw)) : src_slot(rd_of(raw));
    out.c = 1;
    (kRead ? out.dst[0] : out.src[0]) = zr_dep(rd_of(raw));
    for (const InlineRegister& r : kInline) {
        if (r.reg != reg) continue;
        out.c = 0;
        out.fn = kRead ? r.read : r.write;
        (kRead ? out.src[0] : out.dst[1]) = r.dep;
    }
    return true;
}

/// MSR DAIFSet, DAIFClr: SCTLR_EL1.UMA is clear, so EL0 traps.
void msr_daif(CpuState& s, const Insn& i) {
    s.stop_info = trap_iss(register_of(i), 31, false);
    stop_here(s, Stop::trap_sysreg);
}
bool decode_daif(u32 raw, Insn& out) {
    out.imm = field(raw, 5, 15);
    return true;
}

// System instructions

void dc_zva(CpuState& s, const Insn& i) {
    const u64 va = s.x[i.rn] & ~(kLineSize - 1); // DCZID_EL0.BS = 4: 64 bytes
    u8* p = s.hooks->access(va, kLineSize, AccessKind::dc_zva);
    if (p) std::memset(p, 0, kLineSize);
}
void cache_op(CpuState& s, const Insn& i) { s.hooks->cache_op(register_of(i), s.x[i.rn]); }
bool decode_sys(u32 raw, Insn& out) {
    out.rn = src_slot(rd_of(raw));
    out.src[0] = zr_dep(rd_of(raw));
    out.imm = field(raw, 5, 16) & 0x7fff;
    return true;
}
bool decode_zva(u32 raw, Insn& out) {
    out.mem_bytes = kLineSize;
    return decode_sys(raw, out);
}

using Tc = TimingClass;
using Kind = InsnKind;

// clang-format off
constexpr OpRow kRows[] = {
    {0xfffff01f, 0xd503201f, "HINT",        "",      decode_hint,                exec_nop,  Tc::hint,         Kind::other},
    {0xfffff0ff, 0xd503305f, "CLREX",       "clrex", decode_none,                clrex,     Tc::hint,         Kind::other},
    {0xfffff0ff, 0xd503309f, "DSB",         "",      decode_barrier<kDsbOption>, barrier,   Tc::barrier,      Kind::barrier_dsb},
    {0xfffff0ff, 0xd50330bf, "DMB",         "dmb",   decode_barrier<0>,          barrier,   Tc::barrier,      Kind::barrier_dmb},
    {0xfffff0ff, 0xd50330df, "ISB",         "isb",   decode_none,                isb,       Tc::isb,          Kind::isb},
    {0xfffff0ff, 0xd50340df, "MSR_DAIFSet", "msr",   decode_daif,                msr_daif,  Tc::sysreg_write, Kind::other},
    {0xfffff0ff, 0xd50340ff, "MSR_DAIFClr", "msr",   decode_daif,                msr_daif,  Tc::sysreg_write, Kind::other},
    {0xfff00000, 0xd5100000, "MSR_reg",     "msr",   decode_sysreg<false>,       msr_hooks, Tc::sysreg_write, Kind::other},
    {0xfff00000, 0xd5300000, "MRS",         "mrs",   decode_sysreg<true>,        mrs_hooks, Tc::sysreg_read,  Kind::other},
    {0xffffffe0, 0xd50b7420, "DC_ZVA",      "sys",   decode_zva,                 dc_zva,    Tc::dc_zva,       Kind::store},
    {0xffffffe0, 0xd50b7a20, "DC_CVAC",     "sys",   decode_sys,                 cache_op,  Tc::cache_op,     Kind::other},
    {0xffffffe0, 0xd50b7b20, "DC_CVAU",     "sys",   decode_sys,                 cache_op,  Tc::cache_op,     Kind::other},
    {0xffffffe0, 0xd50b7c20, "DC_CVAP",     "sys",   decode_sys,                 cache_op,  Tc::cache_op,     Kind::other},
    {0xffffffe0, 0xd50b7e20, "DC_CIVAC",    "sys",   decode_sys,                 cache_op,  Tc::cache_op,     Kind::other},
    {0xffffffe0, 0xd50b7520, "IC_IVAU",     "sys",   decode_sys,                 cache_op,  Tc::cache_op,     Kind::other},
};
// clang-format on
static_assert(table_sound(kRows, region::branch_system));

} // namespace

std::span<const OpRow> system_rows() { return kRows; }

} // namespace rkperf::a64

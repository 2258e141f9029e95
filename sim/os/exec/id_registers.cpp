// SPDX-License-Identifier: Apache-2.0
#include "sim/os/exec/id_registers.h"

#include "sim/os/kernel.h"

namespace rkperf::os {

namespace {

/// Fields that Linux shows to EL0 (Documentation/arm64/cpu-feature-registers.rst); hidden fields read as below.
struct Visible {
    SysReg reg;
    std::uint64_t mask;  ///< bits taken from the hardware's value
    std::uint64_t fixed; ///< value of hidden signed fields
};
constexpr Visible kVisible[] = {
    {sysreg::ID_AA64PFR0_EL1, 0x000f'000f'00ff'0000, 0x11},
    {sysreg::ID_AA64PFR1_EL1, 0x0000'0000'0000'00ff, 0},
    {sysreg::ID_AA64ISAR0_EL1, 0xfff0'ffff'f0ff'fff0, 0},
    {sysreg::ID_AA64ISAR1_EL1, 0x00ff'ffff'ffff'ffff, 0},
    {sysreg::ID_AA64MMFR0_EL1, 0xf000'0000'0000'0000, 0xff00'0000},
    {sysreg::ID_AA64MMFR2_EL1, 0x0000'000f'0000'0000, 0},
    {sysreg::ID_AA64DFR0_EL1, 0, 0x6},
};

} // namespace

bool emulate_id_register_read(Kernel& k, a64::CpuState& u) {
    std::uint32_t insn = 0;
    if (k.copy_from_user_nofault(&insn, u.pc, sizeof insn) != sizeof insn) return false;
    constexpr std::uint32_t kMrsMask = 0xfff00000, kMrs = 0xd5300000;
    if ((insn & kMrsMask) != kMrs) return false;
    const SysReg reg{static_cast<std::uint16_t>(insn >> 5 & 0xffff)};
    // op0 3, op1 0, CRn 0 is the identification space.
    if (reg.op0() != 3 || reg.op1() != 0 || reg.crn() != 0) return false;
    std::uint64_t value = 0;
    if (reg == sysreg::MIDR_EL1) {
        value = k.core().midr();
    } else if (reg == sysreg::MPIDR_EL1) {
        value = 0x80000000; // the rest is not shown
    } else if (reg == sysreg::REVIDR_EL1) {
        value = k.mrs(reg);
    } else if (reg.crm() >= 2 && reg.crm() <= 7) {
        for (const Visible& v : kVisible)
            if (v.reg == reg) value = (k.mrs(reg) & v.mask) | v.fixed;
    } else {
        return false;
    }
    const unsigned rt = insn & 31;
    if (rt != 31) u.x[rt] = value;
    u.pc += 4;
    return true;
}

} // namespace rkperf::os

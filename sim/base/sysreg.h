// SPDX-License-Identifier: Apache-2.0
// AArch64 system-register names (Arm ARM, DDI 0487, D17) as encodings, and the rules of the system-register bus.
#pragma once

#include <cstdint>
#include <string_view>

namespace rkperf {

/// op0:2 op1:3 CRn:4 CRm:4 op2:3, as in bits 20:5 of MRS/MSR.
struct SysReg {
    std::uint16_t encoding{};
    constexpr bool operator==(const SysReg&) const = default;
    constexpr auto operator<=>(const SysReg&) const = default;
    static constexpr SysReg make(unsigned op0, unsigned op1, unsigned crn, unsigned crm, unsigned op2) {
        return SysReg{static_cast<std::uint16_t>(op0 << 14 | op1 << 11 | crn << 7 | crm << 3 | op2)};
    }
    constexpr unsigned op0() const { return encoding >> 14; }
    constexpr unsigned op1() const { return encoding >> 11 & 7; }
    constexpr unsigned crn() const { return encoding >> 7 & 15; }
    constexpr unsigned crm() const { return encoding >> 3 & 15; }
    constexpr unsigned op2() const { return encoding & 7; }
};

namespace sysreg {
// PMUv3 (spec PMUV3-044)
inline constexpr SysReg PMCR_EL0 = SysReg::make(3, 3, 9, 12, 0);
inline constexpr SysReg PMCNTENSET_EL0 = SysReg::make(3, 3, 9, 12, 1);
inline constexpr SysReg PMCNTENCLR_EL0 = SysReg::make(3, 3, 9, 12, 2);
inline constexpr SysReg PMOVSCLR_EL0 = SysReg::make(3, 3, 9, 12, 3);
inline constexpr SysReg PMSWINC_EL0 = SysReg::make(3, 3, 9, 12, 4);
inline constexpr SysReg PMSELR_EL0 = SysReg::make(3, 3, 9, 12, 5);
inline constexpr SysReg PMCEID0_EL0 = SysReg::make(3, 3, 9, 12, 6);
inline constexpr SysReg PMCEID1_EL0 = SysReg::make(3, 3, 9, 12, 7);
inline constexpr SysReg PMCCNTR_EL0 = SysReg::make(3, 3, 9, 13, 0);
inline constexpr SysReg PMXEVTYPER_EL0 = SysReg::make(3, 3, 9, 13, 1);
inline constexpr SysReg PMXEVCNTR_EL0 = SysReg::make(3, 3, 9, 13, 2);
inline constexpr SysReg PMUSERENR_EL0 = SysReg::make(3, 3, 9, 14, 0);
inline constexpr SysReg PMOVSSET_EL0 = SysReg::make(3, 3, 9, 14, 3);
inline constexpr SysReg PMINTENSET_EL1 = SysReg::make(3, 0, 9, 14, 1);
inline constexpr SysReg PMINTENCLR_EL1 = SysReg::make(3, 0, 9, 14, 2);
inline constexpr SysReg PMCCFILTR_EL0 = SysReg::make(3, 3, 14, 15, 7);
constexpr SysReg PMEVCNTR_EL0(unsigned n) { return SysReg::make(3, 3, 14, 8 | n >> 3, n & 7); }
constexpr SysReg PMEVTYPER_EL0(unsigned n) { return SysReg::make(3, 3, 14, 12 | n >> 3, n & 7); }
// GIC CPU interface
inline constexpr SysReg ICC_PMR_EL1 = SysReg::make(3, 0, 4, 6, 0);
inline constexpr SysReg ICC_IAR0_EL1 = SysReg::make(3, 0, 12, 8, 0);
inline constexpr SysReg ICC_EOIR0_EL1 = SysReg::make(3, 0, 12, 8, 1);
inline constexpr SysReg ICC_DIR_EL1 = SysReg::make(3, 0, 12, 11, 1);
inline constexpr SysReg ICC_RPR_EL1 = SysReg::make(3, 0, 12, 11, 3);
inline constexpr SysReg ICC_SGI1R_EL1 = SysReg::make(3, 0, 12, 11, 5);
inline constexpr SysReg ICC_IAR1_EL1 = SysReg::make(3, 0, 12, 12, 0);
inline constexpr SysReg ICC_EOIR1_EL1 = SysReg::make(3, 0, 12, 12, 1);
inline constexpr SysReg ICC_HPPIR1_EL1 = SysReg::make(3, 0, 12, 12, 2);
inline constexpr SysReg ICC_BPR1_EL1 = SysReg::make(3, 0, 12, 12, 3);
inline constexpr SysReg ICC_CTLR_EL1 = SysReg::make(3, 0, 12, 12, 4);
inline constexpr SysReg ICC_SRE_EL1 = SysReg::make(3, 0, 12, 12, 5);
inline constexpr SysReg ICC_IGRPEN0_EL1 = SysReg::make(3, 0, 12, 12, 6);
inline constexpr SysReg ICC_IGRPEN1_EL1 = SysReg::make(3, 0, 12, 12, 7);
// Generic timer
inline constexpr SysReg CNTFRQ_EL0 = SysReg::make(3, 3, 14, 0, 0);
inline constexpr SysReg CNTPCT_EL0 = SysReg::make(3, 3, 14, 0, 1);
inline constexpr SysReg CNTVCT_EL0 = SysReg::make(3, 3, 14, 0, 2);
inline constexpr SysReg CNTP_TVAL_EL0 = SysReg::make(3, 3, 14, 2, 0);
inline constexpr SysReg CNTP_CTL_EL0 = SysReg::make(3, 3, 14, 2, 1);
inline constexpr SysReg CNTP_CVAL_EL0 = SysReg::make(3, 3, 14, 2, 2);
inline constexpr SysReg CNTV_TVAL_EL0 = SysReg::make(3, 3, 14, 3, 0);
inline constexpr SysReg CNTV_CTL_EL0 = SysReg::make(3, 3, 14, 3, 1);
inline constexpr SysReg CNTV_CVAL_EL0 = SysReg::make(3, 3, 14, 3, 2);
inline constexpr SysReg CNTKCTL_EL1 = SysReg::make(3, 0, 14, 1, 0);
// Identification
inline constexpr SysReg MIDR_EL1 = SysReg::make(3, 0, 0, 0, 0);
inline constexpr SysReg MPIDR_EL1 = SysReg::make(3, 0, 0, 0, 5);
inline constexpr SysReg REVIDR_EL1 = SysReg::make(3, 0, 0, 0, 6);
inline constexpr SysReg ID_AA64PFR0_EL1 = SysReg::make(3, 0, 0, 4, 0);
inline constexpr SysReg ID_AA64PFR1_EL1 = SysReg::make(3, 0, 0, 4, 1);
inline constexpr SysReg ID_AA64DFR0_EL1 = SysReg::make(3, 0, 0, 5, 0);
inline constexpr SysReg ID_AA64DFR1_EL1 = SysReg::make(3, 0, 0, 5, 1);
inline constexpr SysReg ID_AA64ISAR0_EL1 = SysReg::make(3, 0, 0, 6, 0);
inline constexpr SysReg ID_AA64ISAR1_EL1 = SysReg::make(3, 0, 0, 6, 1);
inline constexpr SysReg ID_AA64MMFR0_EL1 = SysReg::make(3, 0, 0, 7, 0);
inline constexpr SysReg ID_AA64MMFR1_EL1 = SysReg::make(3, 0, 0, 7, 1);
inline constexpr SysReg ID_AA64MMFR2_EL1 = SysReg::make(3, 0, 0, 7, 2);
inline constexpr SysReg CTR_EL0 = SysReg::make(3, 3, 0, 0, 1);
inline constexpr SysReg DCZID_EL0 = SysReg::make(3, 3, 0, 0, 7);
// Context
inline constexpr SysReg TTBR0_EL1 = SysReg::make(3, 0, 2, 0, 0);
inline constexpr SysReg TTBR1_EL1 = SysReg::make(3, 0, 2, 0, 1);
inline constexpr SysReg CONTEXTIDR_EL1 = SysReg::make(3, 0, 13, 0, 1);
inline constexpr SysReg TPIDR_EL1 = SysReg::make(3, 0, 13, 0, 4);
inline constexpr SysReg TPIDR_EL0 = SysReg::make(3, 3, 13, 0, 2);
inline constexpr SysReg TPIDRRO_EL0 = SysReg::make(3, 3, 13, 0, 3);
inline constexpr SysReg NZCV = SysReg::make(3, 3, 4, 2, 0);
inline constexpr SysReg FPCR = SysReg::make(3, 3, 4, 4, 0);
inline constexpr SysReg FPSR = SysReg::make(3, 3, 4, 4, 1);
inline constexpr SysReg MDSCR_EL1 = SysReg::make(2, 0, 0, 2, 2);
} // namespace sysreg

/// How an access on the system-register bus ended.
enum class SysRegOutcome : std::uint8_t {
    ok,
    undefined, ///< unallocated encoding, write to read-only, read of write-only: UNDEFINED exception
    trap_el1,  ///< EL0 access refused by PMUSERENR_EL0, CNTKCTL_EL1 and the like: trap with EC 0x18
};

} // namespace rkperf

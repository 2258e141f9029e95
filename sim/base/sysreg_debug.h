// SPDX-License-Identifier: Apache-2.0
// System registers of self-hosted debug (Arm ARM D17.3; spec DBG-001) and the fields of theirs that hardware and kernel
// both use.
#pragma once

#include "sim/base/sysreg.h"

namespace rkperf::sysreg {

constexpr SysReg DBGBVR_EL1(unsigned n) { return SysReg::make(2, 0, 0, n, 4); }
constexpr SysReg DBGBCR_EL1(unsigned n) { return SysReg::make(2, 0, 0, n, 5); }
constexpr SysReg DBGWVR_EL1(unsigned n) { return SysReg::make(2, 0, 0, n, 6); }
constexpr SysReg DBGWCR_EL1(unsigned n) { return SysReg::make(2, 0, 0, n, 7); }
inline constexpr SysReg MDCCINT_EL1 = SysReg::make(2, 0, 0, 2, 0);
inline constexpr SysReg MDRAR_EL1 = SysReg::make(2, 0, 1, 0, 0);
inline constexpr SysReg OSLAR_EL1 = SysReg::make(2, 0, 1, 0, 4);
inline constexpr SysReg OSLSR_EL1 = SysReg::make(2, 0, 1, 1, 4);
inline constexpr SysReg OSDLR_EL1 = SysReg::make(2, 0, 1, 3, 4);
inline constexpr SysReg DBGPRCR_EL1 = SysReg::make(2, 0, 1, 4, 4);
inline constexpr SysReg DBGCLAIMSET_EL1 = SysReg::make(2, 0, 7, 8, 6);
inline constexpr SysReg DBGCLAIMCLR_EL1 = SysReg::make(2, 0, 7, 9, 6);
inline constexpr SysReg DBGAUTHSTATUS_EL1 = SysReg::make(2, 0, 7, 14, 6);
inline constexpr SysReg MDCCSR_EL0 = SysReg::make(2, 3, 0, 1, 0);

} // namespace rkperf::sysreg

namespace rkperf {

/// Bits of MDSCR_EL1 (DBG-004).
namespace mdscr {
inline constexpr std::uint32_t SS = 1u << 0, TDCC = 1u << 12, KDE = 1u << 13, HDE = 1u << 14, MDE = 1u << 15;
} // namespace mdscr

/// PSTATE.SS and PSTATE.D where an exception saves them (SPSR_ELx).
namespace spsr {
inline constexpr std::uint64_t SS = std::uint64_t{1} << 21, D = std::uint64_t{1} << 9;
} // namespace spsr

/// ESR_ELx of debug exceptions (DBG-050, 051).
namespace esr {
inline constexpr unsigned kEcShift = 26;
inline constexpr std::uint32_t IL = 1u << 25;
inline constexpr std::uint32_t kBreakpointLower = 0x30, kBreakpointSame = 0x31, kStepLower = 0x32, kStepSame = 0x33,
                               kWatchpointLower = 0x34, kWatchpointSame = 0x35, kBkpt32 = 0x38, kVectorCatch = 0x3a,
                               kBrk = 0x3c;
inline constexpr std::uint32_t kDebugFault = 0x22; ///< IFSC, DFSC
inline constexpr std::uint32_t kWnR = 1u << 6, kCM = 1u << 8, kISV = 1u << 24, kEX = 1u << 6;
constexpr std::uint32_t make(std::uint32_t ec, std::uint32_t iss) { return ec << kEcShift | IL | iss; }
} // namespace esr

} // namespace rkperf

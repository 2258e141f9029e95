// SPDX-License-Identifier: Apache-2.0
#include "models/cpu_a76/id_registers.h"

namespace rkperf::cpu_a76 {
namespace {

// clang-format off
constexpr cpu::IdRegister kRegisters[] = {
    {sysreg::MIDR_EL1,         kMidr},
    {sysreg::REVIDR_EL1,       0},
    {sysreg::ID_AA64PFR0_EL1,  0x1100000010111112},
    {sysreg::ID_AA64PFR1_EL1,  0},
    {sysreg::ID_AA64DFR0_EL1,  0x10305408}, // debug v8.2, PMUv3 for v8.1, 6 breakpoints, 4 watchpoints, 2 context-aware
    {sysreg::ID_AA64DFR1_EL1,  0},
    {sysreg::ID_AA64ISAR0_EL1, 0x0000100010211120},
    {sysreg::ID_AA64ISAR1_EL1, 0x00100001},
    {sysreg::ID_AA64MMFR0_EL1, 0x00101122},
    {sysreg::ID_AA64MMFR1_EL1, 0x10212122},
    {sysreg::ID_AA64MMFR2_EL1, 0x1011},
    {sysreg::CTR_EL0,          0x8444C004},
    {sysreg::DCZID_EL0,        4}, // 64 bytes
};
// clang-format on

} // namespace

std::span<const cpu::IdRegister> id_registers() { return kRegisters; }

} // namespace rkperf::cpu_a76

// SPDX-License-Identifier: Apache-2.0
// Identification registers of the Cortex-A76 r4p0 (facts/rk3588.md section 1; MPIDR_EL1 is Core::mpidr()).
#pragma once

#include "models/cpu/core_tables.h"

#include <span>

namespace rkperf::cpu_a76 {

inline constexpr std::uint64_t kMidr = 0x414FD0B0;

std::span<const cpu::IdRegister> id_registers();

} // namespace rkperf::cpu_a76

// SPDX-License-Identifier: Apache-2.0
// What arm64 Linux 6.1 does with an instruction under a probe: run it in a slot, simulate it, or refuse it
// (arch/arm64/kernel/probes/decode-insn.c; UPR-069 to 077).
#pragma once

#include "kernel_events/kernel.h"

#include <cstdint>

namespace rkperf::ke {

enum class ProbeInsn : std::uint8_t {
    INSN_REJECTED,
    INSN_GOOD_NO_SLOT, ///< simulated
    INSN_GOOD,         ///< stepped out of line
};

/// BRK #5, what a uprobe puts in the place of an instruction.
inline constexpr std::uint32_t UPROBE_SWBP_INSN = 0xd42000a0;

ProbeInsn arm_probe_decode_insn(std::uint32_t insn);

/// Executes an INSN_GOOD_NO_SLOT instruction at address `addr` on `regs`, pc included (UPR-078 to 082).
void simulate_insn(std::uint32_t insn, std::uint64_t addr, PtRegs& regs);

} // namespace rkperf::ke

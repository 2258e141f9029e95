// SPDX-License-Identifier: Apache-2.0
// Unwinding of kernel stacks by their frame records (arm64's stacktrace.c; spec CC-036 to 044).
#pragma once

#include "kernel_events/kernel.h"

#include <functional>

namespace rkperf::ke {

/// Gives `consume` the addresses that led to `regs` (kernel mode, of the running context), innermost first, until it returns
/// false or a record is not sound. The first one is regs.pc; the link register is not looked at.
void arch_stack_walk(Kernel& kernel, const PtRegs& regs, const std::function<bool(std::uint64_t pc)>& consume);

/// Removes a pointer authentication code: the bits that do not take part in translation become copies of bit 55, without
/// the tag byte of a user address (CC-029).
std::uint64_t ptrauth_strip_insn_pac(std::uint64_t ptr);

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
// Synchronous exceptions from EL0, and the system-call table (numbers of asm-generic/unistd.h).
#pragma once

#include "sim/os/kernel.h"

namespace rkperf::os {

/// Handles the exception that ended run_user (state.stop of this CPU's user registers). Interrupts are masked on entry.
void handle_sync_exception(Kernel& k, Task& t);
enum class DebugStop : std::uint8_t { breakpoint, step, watchpoint, brk };
/// A debug exception came from EL0. Interrupts are masked on entry.
void handle_debug_exception(Kernel& k, Task& t, DebugStop why);

/// The row of a system call, or null. Every number of the table has exactly one row.
const SyscallRow* find_syscall(int nr);

} // namespace rkperf::os

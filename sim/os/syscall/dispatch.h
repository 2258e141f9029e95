// SPDX-License-Identifier: Apache-2.0
// Synchronous exceptions from EL0, and the system-call table (numbers of asm-generic/unistd.h).
#pragma once

#include "sim/os/kernel.h"

namespace rkperf::os {

/// Handles the exception that ended run_user (state.stop of this CPU's user registers). Interrupts are masked on entry.
void handle_sync_exception(Kernel& k, Task& t);
/// A hardware breakpoint or software step came.
void handle_debug_exception(Kernel& k, Task& t, cpu::UserExit why);

/// The row of a system call, or null. Every number of the table has exactly one row.
const SyscallRow* find_syscall(int nr);

} // namespace rkperf::os

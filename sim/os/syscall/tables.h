// SPDX-License-Identifier: Apache-2.0
// The system calls by topic; syscall/dispatch.cpp makes one table of them.
#pragma once

#include <span>

namespace rkperf::os {

struct SyscallRow;

std::span<const SyscallRow> fs_syscalls();
std::span<const SyscallRow> mm_syscalls();
std::span<const SyscallRow> process_syscalls();
std::span<const SyscallRow> signal_syscalls();
std::span<const SyscallRow> time_syscalls();
std::span<const SyscallRow> misc_syscalls();
std::span<const SyscallRow> cred_syscalls();
std::span<const SyscallRow> prctl_syscalls();
std::span<const SyscallRow> ns_syscalls();
std::span<const SyscallRow> bpf_syscalls();
std::span<const SyscallRow> perf_syscalls();
std::span<const SyscallRow> ptrace_syscalls();
std::span<const SyscallRow> process_vm_syscalls();
std::span<const SyscallRow> seccomp_syscalls();

} // namespace rkperf::os

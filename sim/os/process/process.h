// SPDX-License-Identifier: Apache-2.0
// Life of tasks: the first one, clone, exec's share, exit, wait; futexes.
#pragma once

#include "sim/os/kernel.h"

#include <string>
#include <string_view>
#include <vector>

namespace rkperf::os {

/// Creates process 1 (adopts orphans, reaps, ends the run when the program has ended) with the program as its child.
Task& create_init_task(Kernel& k, const InitProgram& program);

struct CloneArgs {
    std::uint64_t flags{};
    int exit_signal{};
    std::uint64_t stack{}, parent_tid{}, child_tid{}, tls{};
    std::uint64_t pidfd{};    ///< address
    bool pidfd_separate{};    ///< clone3: not the address of parent_tid
    int cgroup{};             ///< descriptor for CLONE_INTO_CGROUP
    std::vector<int> set_tid; ///< numbers for the child, innermost namespace first
};
/// clone, clone3, fork, vfork: the child's pid, or negative errno.
std::int64_t do_clone(Kernel& k, Task& t, const CloneArgs& a);

/// wait4 and waitid. type: P_ALL 0, P_PID 1, P_PGID 2, with `id` as in the initial pid namespace; the result's pid and the
/// returned one are as the caller's namespace has them.
/// RUSAGE_SELF of a process: its threads, living and ended; the most memory it had.
Rusage usage_of(const Process& p);

struct WaitResult {
    int pid{}, status{}, code{};
    std::uint32_t uid{};
    Rusage usage{};
};
std::int64_t do_wait(Kernel& k, Task& t, int type, int id, int options, WaitResult& result);

/// Removes an ended task for good (release_task); with the last other thread its zombie leader may go, too.
void release_task(Kernel& k, Task& t);

/// exec: ends the other threads of the process. 0 or -EAGAIN.
int de_thread(Kernel& k, Task& t);
/// exec: timer_create's timers go.
void exit_posix_timers(Kernel& k, Process& p);
/// exec or exit of a vfork child: its parent goes on.
void release_vfork_parent(Task& t);
void set_comm(Kernel& k, Task& t, std::string_view name, bool exec);

/// Futex operations (FUTEX_WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_BITSET, WAKE_BITSET, and those of PI futexes).
std::int64_t do_futex(Kernel& k, Task& t, const SyscallArgs& a);
std::int64_t do_futex_waitv(Kernel& k, Task& t, const SyscallArgs& a);
int futex_wake(Kernel& k, Task& t, std::uint64_t uaddr, bool is_private, int count, std::uint32_t bitset);
void exit_robust_list(Kernel& k, Task& t);

} // namespace rkperf::os

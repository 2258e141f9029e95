// SPDX-License-Identifier: Apache-2.0
// Secure computing (kernel/seccomp.c of Linux 6.1): strict mode, filters and their actions. User notification is not
// there: a filter with a listener is refused, and SECCOMP_RET_USER_NOTIF finds none (ENOSYS).
#pragma once

#include "sim/os/seccomp/bpf.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace rkperf::os {

class Kernel;
struct Task;

enum : int { SECCOMP_MODE_DISABLED = 0, SECCOMP_MODE_STRICT = 1, SECCOMP_MODE_FILTER = 2 };

/// struct seccomp_filter: one program, and the one that was there before it. Shared by those that inherited it.
struct SeccompFilter {
    std::vector<bpf::Insn> program;
    bool log{}; ///< SECCOMP_FILTER_FLAG_LOG
    std::shared_ptr<const SeccompFilter> prev;
};

/// What a task carries (struct seccomp).
struct SeccompState {
    int mode{SECCOMP_MODE_DISABLED};
    std::shared_ptr<const SeccompFilter> filter; ///< newest first
    unsigned filters() const;
};

/// Whether current may make the system call `nr`: 0, or -1: not to be made, x0 is what it returns. It may have been
/// changed by a tracer (Task::syscall_nr). May not return, if the task is killed.
int secure_computing(Kernel& k, Task& t);

/// prctl(PR_SET_SECCOMP).
std::int64_t prctl_set_seccomp(Kernel& k, Task& t, std::uint64_t mode, std::uint64_t filter);

/// PTRACE_SECCOMP_GET_FILTER and _METADATA of a stopped task.
std::int64_t seccomp_get_filter(Kernel& k, const Task& me, const Task& t, std::uint64_t index, std::uint64_t to);
std::int64_t seccomp_get_metadata(Kernel& k, const Task& me, const Task& t, std::uint64_t size, std::uint64_t to);

} // namespace rkperf::os

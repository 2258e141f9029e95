// SPDX-License-Identifier: Apache-2.0
// bpf(2): the work is done by kernel_events/bpf.
#include "kernel_events/bpf/bpf.h"
#include "sim/os/kernel.h"
#include "sim/os/syscall/tables.h"

namespace rkperf::os {

namespace {

std::int64_t sys_bpf(Kernel& k, Task&, const SyscallArgs& a) {
    return k.perf().bpf().sys_bpf(static_cast<int>(a[0]), a[1], static_cast<std::uint32_t>(a[2]));
}

constexpr SyscallRow kRows[] = {{280, "bpf", sys_bpf, 3}};

} // namespace

std::span<const SyscallRow> bpf_syscalls() { return kRows; }

} // namespace rkperf::os

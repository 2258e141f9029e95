// SPDX-License-Identifier: Apache-2.0
// ptrace(2) of Linux 6.1 on arm64 (kernel/ptrace.c, arch/arm64/kernel/ptrace.c): attaching, stops and events, requests,
// register sets, and access to another task's memory.
#pragma once

#include "sim/os/kernel.h"

#include <cstdint>
#include <span>

namespace rkperf::os {

/// Numbers of PTRACE_EVENT_*; the option that asks for one is bit (number) of PTRACE_O_*.
namespace ptrace_event_nr {
inline constexpr int fork = 1, vfork = 2, clone = 3, exec = 4, vfork_done = 5, exit = 6, seccomp = 7, stop = 128;
}
namespace ptrace_option {
inline constexpr std::uint32_t sysgood = 1, exitkill = 1u << 20, suspend_seccomp = 1u << 21;
inline constexpr std::uint32_t mask = 0xff | exitkill | suspend_seccomp;
} // namespace ptrace_option
/// PTRACE_EVENTMSG_SYSCALL_ENTRY and _EXIT.
inline constexpr std::uint64_t kEventmsgSyscallEntry = 1, kEventmsgSyscallExit = 2;

/// CLD_* of siginfo_t.
namespace cld {
inline constexpr int exited = 1, killed = 2, dumped = 3, trapped = 4, stopped = 5, continued = 6;
}

/// PTRACE_MODE_*: which of the caller's ids count. The kind of access (read, attach) makes no difference without a
/// security module.
enum class PtraceMode : std::uint8_t { realcreds, fscreds };
/// __ptrace_may_access: may `me` look into `t`?
bool ptrace_may_access(const Task& me, const Task& t, PtraceMode mode);

// --- stops of current (stop.cpp) ---
/// Stops for the tracer; returns the signal to go on with, `code` itself if there is no tracer or current is to die.
int ptrace_stop(Kernel& k, int code, int why, std::uint64_t message, SigInfo* info);
/// A SIGTRAP stop with `code` as si_code.
int ptrace_notify(Kernel& k, int code, std::uint64_t message);
bool ptrace_event_enabled(const Task& t, int event);
/// Stops with PTRACE_EVENT_... if the tracer asked for it; an exec without asking gives SIGTRAP.
void ptrace_event(Kernel& k, int event, std::uint64_t message);
/// syscall_trace_enter and syscall_trace_exit. Enter: the number to call, -1 for none; it may have been changed.
int syscall_trace_enter(Kernel& k, Task& t);
void syscall_trace_exit(Kernel& k, Task& t);
bool has_syscall_work(const Task& t);
/// May `t` ask for PTRACE_O_SUSPEND_SECCOMP?
bool may_suspend_seccomp(const Task& t);

// --- links (attach.cpp); the caller masks interrupts ---
void ptrace_link(Task& child, Task& tracer);
void ptrace_unlink(Kernel& k, Task& child);
/// A forked child of a traced task is traced, too (copy_process).
void ptrace_init_task(Kernel& k, Task& child, Task& forker, bool trace);
/// The tracer ends: its tracees go free, or die with PTRACE_O_EXITKILL.
void exit_ptrace(Kernel& k, Task& tracer);
/// __ptrace_detach: unlinks; true if `child` has ended and nobody else will reap it.
bool ptrace_detach_links(Kernel& k, Task& tracer, Task& child);
/// The tracer is in another process than the real parent.
inline bool ptrace_reparented(const Task& t) {
    return t.ptrace.tracer && t.parent && t.ptrace.tracer->process != t.parent->process;
}
std::int64_t ptrace_traceme(Kernel& k, Task& t);
std::int64_t ptrace_attach(Kernel& k, Task& t, Task& child, bool seize, std::uint64_t addr, std::uint64_t options);

// --- register sets (regset.cpp) ---
/// PTRACE_GETREGSET and SETREGSET of a stopped task; `iov` is the address of the caller's struct iovec.
std::int64_t ptrace_regset(Kernel& k, Task& child, bool set, std::uint32_t note, std::uint64_t iov);

// --- memory (access_vm.cpp) ---
/// Reads or writes another address space page by page, past its protection where `force` allows it (FOLL_FORCE: a
/// write to a private mapping gets a page of its own). Bytes transferred. Cached code is dropped on all cores. If the
/// last other user goes meanwhile, the mappings go at the end.
std::size_t access_remote_vm(Kernel& k, std::shared_ptr<AddressSpace> as, std::uint64_t addr,
                             std::span<std::uint8_t> buffer, bool write, bool force);

} // namespace rkperf::os

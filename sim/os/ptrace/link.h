// SPDX-License-Identifier: Apache-2.0
// What a task carries for ptrace and for job control (task_struct::ptrace, ::jobctl, ::last_siginfo ...).
#pragma once

#include <cstdint>
#include <vector>

namespace rkperf::os {

struct Task;
struct SigInfo;

/// Bits of Task::jobctl, by the kernel's names (linux/sched/jobctl.h); the low 16 hold the signal of a group stop.
namespace jobctl {
inline constexpr std::uint32_t stop_sigmask = 0xffff;
inline constexpr std::uint32_t stop_dequeued = 1u << 16; ///< a stop signal was dequeued and no SIGCONT came since
inline constexpr std::uint32_t stop_pending = 1u << 17;  ///< is to stop for the group
inline constexpr std::uint32_t stop_consume = 1u << 18;  ///< ... and counts in Process::group_stop_count
inline constexpr std::uint32_t trap_stop = 1u << 19;     ///< is to trap for its tracer
inline constexpr std::uint32_t trap_notify = 1u << 20;   ///< is to trap because the group's state changed
inline constexpr std::uint32_t trapping = 1u << 21;  ///< leaves a group stop for a ptrace stop; the tracer waits for it
inline constexpr std::uint32_t listening = 1u << 22; ///< PTRACE_LISTEN
inline constexpr std::uint32_t stopped = 1u << 26;   ///< in a group stop, not traced
inline constexpr std::uint32_t traced = 1u << 27;    ///< in a ptrace stop
inline constexpr std::uint32_t trap_mask = trap_stop | trap_notify;
inline constexpr std::uint32_t pending_mask = stop_pending | trap_mask;
} // namespace jobctl

/// The tracee's side and the tracer's side of ptrace.
struct PtraceLink {
    Task* tracer{};             ///< the thread that traces; null: nobody does
    std::vector<Task*> tracees; ///< in the order in which they were attached
    bool seized{};              ///< PTRACE_SEIZE, or by inheritance from such a task
    std::uint32_t options{};    ///< PTRACE_O_*
    std::uint64_t message{};    ///< PTRACE_GETEVENTMSG
    SigInfo* last_siginfo{};    ///< of the stop it is in; on the stack of the stopped task
    int stop_code{};            ///< at a stop: what wait() reports, 0 once reported; then the signal to go on with
    bool syscall_trace{};       ///< TIF_SYSCALL_TRACE
    bool syscall_emu{};         ///< TIF_SYSCALL_EMU
    int forker{};               ///< thread id of the task that made this one: whom PTRACE_TRACEME means
    explicit operator bool() const { return tracer != nullptr; }
};

} // namespace rkperf::os

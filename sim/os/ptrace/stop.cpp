// SPDX-License-Identifier: Apache-2.0
// Stops of the traced task itself: signals, events, system calls.
#include "sim/os/ptrace/ptrace.h"
#include "sim/os/sched/scheduler.h"
#include "sim/os/signal/signals.h"

namespace rkperf::os {

namespace {
/// Instructions of a stop and of going on, beyond the switches and the word to the tracer (measured: 12706 for a stop at a
/// system call, from PTRACE_SYSCALL to the return of wait4).
constexpr std::uint32_t kStopCost = 650;
} // namespace

int ptrace_stop(Kernel& k, int code, int why, std::uint64_t message, SigInfo* info) {
    Task& t = k.cur();
    Frame f(k, KernelSymbol::ptrace_stop);
    k.charge(kStopCost);
    const IrqGuard guard(k); // stop, word to the tracer and departure from the CPU are one for everybody else
    if (!t.ptrace || Signals::fatal_pending(t)) return code;
    t.jobctl |= jobctl::traced;
    t.ptrace.message = message;
    t.ptrace.last_siginfo = info;
    t.ptrace.stop_code = code;
    bool group_stopped = false;
    if (why == cld::stopped && (t.jobctl & jobctl::stop_pending)) group_stopped = k.signals().participate_group_stop(t);
    Signals::clear_jobctl_pending(t, jobctl::trap_stop);
    if (info && info->code() >> 8 == ptrace_event_nr::stop) Signals::clear_jobctl_pending(t, jobctl::trap_notify);
    t.jobctl &= ~jobctl::trapping;
    t.state = TaskState::traced;
    k.signals().notify_parent_cldstop(t, true, why);
    if (group_stopped && ptrace_reparented(t)) k.signals().notify_parent_cldstop(t, false, why);
    while (t.jobctl & jobctl::traced) {
        t.state = TaskState::traced;
        k.schedule();
    }
    t.state = TaskState::running;
    const int signo = t.ptrace.stop_code;
    t.ptrace.last_siginfo = nullptr;
    t.ptrace.message = 0;
    t.ptrace.stop_code = 0;
    t.jobctl &= ~jobctl::listening;
    return signo;
}

int ptrace_notify(Kernel& k, int code, std::uint64_t message) {
    Task& t = k.cur();
    SigInfo info = siginfo_user(SIGTRAP, code, t.pid, t.cred.uid);
    return ptrace_stop(k, code, cld::trapped, message, &info);
}

bool ptrace_event_enabled(const Task& t, int event) { return t.ptrace && (t.ptrace.options >> event & 1); }

void ptrace_event(Kernel& k, int event, std::uint64_t message) {
    Task& t = k.cur();
    if (ptrace_event_enabled(t, event)) {
        ptrace_notify(k, event << 8 | SIGTRAP, message);
    } else if (event == ptrace_event_nr::exec && t.ptrace && !t.ptrace.seized) {
        k.signals().send_thread(t, siginfo_user(SIGTRAP, 0, t.tgid, t.cred.uid));
    }
}

namespace {

/// ptrace_report_syscall: true if the task is about to die.
bool report_syscall(Kernel& k, Task& t, std::uint64_t message) {
    if (!t.ptrace) return false;
    const int code = SIGTRAP | (t.ptrace.options & ptrace_option::sysgood ? 0x80 : 0);
    // Where the tracer ended without having been told of the stop, its code is what comes back: with sysgood no signal.
    const int signo = ptrace_notify(k, code, message);
    if (signo > 0 && signo <= kNumSignals) k.signals().send_thread(t, siginfo_kernel(signo));
    return Signals::fatal_pending(t);
}

} // namespace

namespace {
bool is_syscall_traced(const Task& t) { return t.ptrace.syscall_trace || t.ptrace.syscall_emu; }
} // namespace

bool has_syscall_work(const Task& t) { return is_syscall_traced(t) || t.seccomp.mode; }

int syscall_trace_enter(Kernel& k, Task& t) {
    if (!is_syscall_traced(t)) return secure_computing(k, t) ? -1 : t.syscall_nr;
    // What counts is how the task came here, not how the tracer lets it go on.
    const bool emulate = t.ptrace.syscall_emu;
    // During the stop x7 tells entry from exit; what the tracer writes there is lost.
    const std::uint64_t x7 = k.user().x[7];
    k.user().x[7] = 0;
    if (report_syscall(k, t, kEventmsgSyscallEntry)) t.syscall_nr = -1;
    k.user().x[7] = x7;
    if (emulate || Signals::fatal_pending(t)) return -1;
    return secure_computing(k, t) ? -1 : t.syscall_nr;
}

void syscall_trace_exit(Kernel& k, Task& t) {
    if (t.tif_singlestep) {
        // The step that executed the SVC ends here: a trap of its own beside the step exception to come.
        k.signals().force(t, siginfo_user(SIGTRAP, 0, 0, 0));
        return;
    }
    if (!t.ptrace.syscall_trace) return;
    const std::uint64_t x7 = k.user().x[7];
    k.user().x[7] = 1;
    report_syscall(k, t, kEventmsgSyscallExit);
    k.user().x[7] = x7;
}

} // namespace rkperf::os

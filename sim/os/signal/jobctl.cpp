// SPDX-License-Identifier: Apache-2.0
// Job control: group stops, SIGCONT, and the traps that show them to a tracer (JOBCTL_* of kernel/signal.c).
#include "sim/os/kernel.h"
#include "sim/os/ptrace/ptrace.h"
#include "sim/os/signal/signals.h"

namespace rkperf::os {

bool will_become_orphaned_pgrp(const Kernel& k, int pgid, const Task* ignored) {
    for (const auto& [tid, t] : k.tasks()) {
        const Process& p = *t->process;
        if (p.leader != t || p.pgid != pgid || t == ignored || !t->parent || t->parent->pid <= 1) continue;
        if (t->state == TaskState::zombie && p.threads.size() == 1) continue;
        const Process& parent = *t->parent->process;
        if (parent.pgid != pgid && parent.sid == p.sid) return false;
    }
    return true;
}

void kill_orphaned_pgrp(Kernel& k, const Task& leader, const Task* old_parent) {
    const Task* parent = old_parent ? old_parent : leader.parent;
    const Process& p = *leader.process;
    if (!parent || parent->process->pgid == p.pgid || parent->process->sid != p.sid) return;
    if (!will_become_orphaned_pgrp(k, p.pgid, old_parent ? nullptr : &leader)) return;
    std::vector<Task*> members;
    bool stopped = false;
    for (const auto& [tid, t] : k.tasks()) {
        if (t->process->leader != t || t->process->pgid != p.pgid) continue;
        members.push_back(t);
        stopped |= t->process->stop_stopped;
    }
    if (!stopped) return;
    for (const int signo : {SIGHUP, SIGCONT})
        for (Task* t : members) k.signals().send_process(*t, siginfo_kernel(signo));
}

bool Signals::set_jobctl_pending(Task& t, std::uint32_t mask) {
    if (fatal_pending(t) || t.exiting) return false;
    if (mask & jobctl::stop_sigmask) t.jobctl &= ~jobctl::stop_sigmask;
    t.jobctl |= mask;
    return true;
}

void Signals::clear_jobctl_pending(Task& t, std::uint32_t mask) {
    if (mask & jobctl::stop_pending) mask |= jobctl::stop_consume | jobctl::stop_dequeued;
    t.jobctl &= ~mask;
    if ((t.jobctl & jobctl::pending_mask) || !(t.jobctl & jobctl::trapping)) return;
    t.jobctl &= ~jobctl::trapping;
    if (t.ptrace) t.ptrace.tracer->process->wait_chldexit->wake_up_all();
}

bool Signals::participate_group_stop(Task& t) {
    Process& p = *t.process;
    const bool consume = t.jobctl & jobctl::stop_consume;
    clear_jobctl_pending(t, jobctl::stop_pending);
    if (!consume) return false;
    if (p.group_stop_count) --p.group_stop_count;
    if (p.group_stop_count || p.stop_stopped) return false;
    p.stop_stopped = true;
    p.stop_continued = p.cld_stopped = p.cld_continued = false;
    return true;
}

void Signals::ptrace_wake(Task& t, bool resume) {
    if (resume) {
        t.jobctl &= ~jobctl::traced;
        if (t.state == TaskState::traced) {
            os_.wake_up_process(t);
            return;
        }
    }
    wake(t, false);
}

void Signals::ptrace_trap_notify(Task& t) {
    set_jobctl_pending(t, jobctl::trap_notify);
    ptrace_wake(t, t.jobctl & jobctl::listening);
}

void Signals::continue_group(Process& p) {
    for (Task* t : p.threads) {
        clear_jobctl_pending(*t, jobctl::stop_pending);
        if (t->ptrace && t->ptrace.seized) {
            ptrace_trap_notify(*t);
        } else {
            t->jobctl &= ~jobctl::stopped;
            if (t->state == TaskState::stopped) os_.wake_up_process(*t);
        }
    }
    // The first thread on its way to EL0 tells the parent; a stop that was not complete counts as one.
    const bool was_stopped = p.stop_stopped;
    if (!was_stopped && !p.group_stop_count) return;
    p.stop_stopped = false;
    p.stop_continued = true;
    p.cld_continued = was_stopped;
    p.cld_stopped = !was_stopped;
    p.group_stop_count = 0;
    p.group_stop_code = 0;
}

bool Signals::do_signal_stop(int signo) {
    Task& t = os_.cur();
    Process& p = *t.process;
    const IrqGuard guard(os_);
    if (!(t.jobctl & jobctl::stop_pending)) {
        constexpr std::uint32_t kStop = jobctl::stop_pending | jobctl::stop_consume;
        if (!(t.jobctl & jobctl::stop_dequeued) || p.group_exit || p.exec_waiter) return false;
        if (!p.stop_stopped) p.group_stop_code = signo;
        p.group_stop_count = 0;
        const std::uint32_t how = static_cast<std::uint32_t>(signo) | kStop;
        if (set_jobctl_pending(t, how)) ++p.group_stop_count;
        for (Task* x : p.threads) {
            if (x == &t || (x->jobctl & jobctl::stopped) || !set_jobctl_pending(*x, how)) continue;
            ++p.group_stop_count;
            if (x->ptrace && x->ptrace.seized)
                ptrace_trap_notify(*x);
            else
                wake(*x, false);
        }
    }
    if (t.ptrace) {
        set_jobctl_pending(t, jobctl::trap_stop); // the trap takes part in the stop
        return false;
    }
    const bool last = participate_group_stop(t);
    t.jobctl |= jobctl::stopped;
    t.state = TaskState::stopped;
    if (last) notify_parent_cldstop(t, false, cld::stopped);
    while (t.jobctl & jobctl::stopped) {
        t.state = TaskState::stopped;
        os_.schedule();
    }
    t.state = TaskState::running;
    return true;
}

void Signals::do_jobctl_trap() {
    Task& t = os_.cur();
    const Process& p = *t.process;
    int signo = static_cast<int>(t.jobctl & jobctl::stop_sigmask);
    if (!t.ptrace.seized) {
        ptrace_stop(os_, signo, cld::stopped, 0, nullptr);
        return;
    }
    if (!p.group_stop_count && !p.stop_stopped) signo = SIGTRAP;
    const int code = signo | ptrace_event_nr::stop << 8;
    SigInfo info = siginfo_user(signo, code, t.pid, t.cred.uid);
    ptrace_stop(os_, code, cld::stopped, 0, &info);
}

int Signals::ptrace_signal(SigInfo& info, bool shared) {
    Task& t = os_.cur();
    // A stop signal injected by the tracer stops, whatever came meanwhile; SIGCONT still cancels it.
    t.jobctl |= jobctl::stop_dequeued;
    const int signo = ptrace_stop(os_, info.signo(), cld::trapped, 0, &info);
    if (!signo) return 0;
    if (signo != info.signo()) {
        const Task* tracer = t.ptrace ? t.ptrace.tracer : t.parent;
        info = siginfo_user(signo, 0, tracer->tgid, tracer->cred.uid);
    }
    if ((t.blocked >> (signo - 1) & 1) || fatal_pending(t)) {
        queue(t, shared ? t.process->shared_pending : t.pending, info, &t);
        return 0;
    }
    return signo;
}

} // namespace rkperf::os

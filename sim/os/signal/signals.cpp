// SPDX-License-Identifier: Apache-2.0
// Sending and dequeuing. Stops are in jobctl.cpp, delivery to the user stack is in frame.cpp.
#include "sim/os/signal/signals.h"
#include "sim/os/ns/pid_namespace.h"

#include "kernel_events/trace/tracepoints.h"
#include "sim/os/irq/gic_driver.h"
#include "sim/os/kernel.h"
#include "sim/os/ptrace/ptrace.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

namespace rkperf::os {

namespace {

constexpr SigSet bit(int signo) { return 1ull << (signo - 1); }
constexpr SigSet kUnblockable = bit(SIGKILL) | bit(SIGSTOP);
constexpr SigSet kSynchronous = bit(SIGSEGV) | bit(SIGBUS) | bit(SIGILL) | bit(SIGTRAP) | bit(SIGFPE) | bit(SIGSYS);
constexpr SigSet kStopSignals = bit(SIGSTOP) | bit(SIGTSTP) | bit(SIGTTIN) | bit(SIGTTOU);
constexpr SigSet kIgnoredByDefault = bit(SIGCHLD) | bit(SIGCONT) | bit(SIGURG) | bit(SIGWINCH);
constexpr int kFirstRealtime = 32, kCapKill = 5;
constexpr std::uint64_t kNsPerClockTick = 10'000'000;

/// The sender's user id as the receiver has it.
std::uint32_t shown_uid(const Task& to, const Task& from) {
    return from_kuid_munged(to.cred.user_ns.get(), from.cred.uid);
}

/// Process 1 of a pid namespace takes only what it has a handler for.
bool unkillable(const Task& t, int signo) {
    return t.pid_ns && t.pid_ns->child_reaper == t.process->leader &&
           t.process->sighand->action[static_cast<unsigned>(signo)].handler == 0;
}

/// `forced`: SIGKILL or SIGSTOP from the kernel or from outside the receiver's pid namespace.
bool ignored(const Task& t, int signo, bool forced) {
    if (t.process->leader->pid == 1) return true; // has no handlers and cannot be killed
    if (unkillable(t, signo) && !forced) return true;
    if ((t.blocked | t.real_blocked) & bit(signo)) return false; // may be caught once it is unblocked
    if (t.ptrace && signo != SIGKILL) return false;              // the tracer sees them all
    const std::uint64_t h = t.process->sighand->action[static_cast<unsigned>(signo)].handler;
    return h == 1 || (h == 0 && (kIgnoredByDefault & bit(signo)));
}

bool may_signal(const Task& me, const Task& t, int signo) {
    if (me.process == t.process || ns_capable(me.cred, t.cred.user_ns.get(), kCapKill)) return true;
    if (signo == SIGCONT && me.process->sid == t.process->sid) return true;
    return me.cred.euid == t.cred.suid || me.cred.euid == t.cred.uid || me.cred.uid == t.cred.suid ||
           me.cred.uid == t.cred.uid;
}

ke::TraceSignalInfo trace_info(const SigInfo& info) {
    std::int32_t words[3]; // si_signo, si_errno, si_code
    std::memcpy(words, info.raw.data(), sizeof words);
    return {words[0], words[1], words[2]};
}

void remove_all(PendingSignals& p, SigSet which) {
    p.set &= ~which;
    std::erase_if(p.queue, [&](const SigInfo& i) { return bit(i.signo()) & which; });
}

} // namespace

bool Signals::pending(const Task& t) {
    const Process& p = *t.process;
    return ((t.pending.set | p.shared_pending.set) & ~t.blocked) || p.group_exit || t.exec_killed ||
           (t.jobctl & jobctl::pending_mask) || p.cld_stopped || p.cld_continued;
}

bool Signals::fatal_pending(const Task& t) { return t.pending.set & bit(SIGKILL); }

void Signals::wake(Task& t, bool fatal) {
    if (fatal) t.jobctl &= ~(jobctl::stopped | jobctl::traced);
    const bool stopped = t.state == TaskState::stopped || t.state == TaskState::traced;
    const bool killable = t.state == TaskState::uninterruptible && t.wakekill;
    if (t.state == TaskState::interruptible || (fatal && (stopped || killable))) {
        os_.wake_up_process(t);
    } else if (t.on_cpu >= 0 && t.on_cpu != os_.this_cpu()) {
        os_.gic().send(t.on_cpu, Ipi::reschedule); // leaves EL0 and looks at its signals
    }
}

int Signals::send_thread(Task& t, const SigInfo& info) { return queue(t, t.pending, info, &t); }

int Signals::send_process(Task& any, const SigInfo& info) {
    Process& p = *any.process;
    // The thread that will take it: the leader if it can, else any that does not block it and is not stopped.
    Task* target = nullptr;
    const SigSet b = bit(info.signo());
    const auto wants = [&](const Task& t) {
        return !t.exiting && !(t.blocked & b) && !(t.jobctl & (jobctl::stopped | jobctl::traced));
    };
    if (wants(*p.leader)) target = p.leader;
    for (Task* t : p.threads)
        if (!target && wants(*t)) target = t;
    return queue(target ? *target : any, p.shared_pending, info, target);
}

int Signals::queue(Task& t, PendingSignals& where, const SigInfo& info, Task* wake_target) {
    const int signo = info.signo();
    Process& p = *t.process;
    const IrqGuard guard(os_);
    Frame f(os_, KernelSymbol::__send_signal_locked);
    if (p.group_exit) return 0; // it is dying
    if (signo == SIGCONT) {
        remove_all(p.shared_pending, kStopSignals);
        for (Task* x : p.threads) remove_all(x->pending, kStopSignals);
        continue_group(p);
    } else if (bit(signo) & kStopSignals) {
        remove_all(p.shared_pending, bit(SIGCONT));
        for (Task* x : p.threads) remove_all(x->pending, bit(SIGCONT));
    }
    const bool group = &where == &p.shared_pending;
    const auto trace = [&](int result) {
        os_.tracepoints().trace_signal_generate(trace_info(info), group ? *p.leader : t, group, result);
        return 0;
    };
    const bool outside = t.pid_ns && !t.pid_ns->local(os_.cur().tgid);
    const bool only_kernel = signo == SIGKILL || signo == SIGSTOP;
    if (ignored(t, signo, only_kernel && (outside || info.code() > 0))) return trace(ke::TRACE_SIGNAL_IGNORED);
    // Standard signals do not queue.
    if (signo < kFirstRealtime && (where.set & bit(signo))) return trace(ke::TRACE_SIGNAL_ALREADY_PENDING);
    where.set |= bit(signo);
    where.queue.push_back(info);
    if (signo == SIGKILL) {
        kill_all_threads(p, SIGKILL);
    } else if (wake_target && !(wake_target->blocked & bit(signo))) {
        wake(*wake_target, false);
    }
    if (t.signalfd_wq) t.signalfd_wq->wake_up_all();
    return trace(ke::TRACE_SIGNAL_DELIVERED);
}

void Signals::force(Task& t, const SigInfo& info) {
    const int signo = info.signo();
    const IrqGuard guard(os_);
    SigAction& a = t.process->sighand->action[static_cast<unsigned>(signo)];
    if ((t.blocked & bit(signo)) || a.handler == 1) {
        a = SigAction{};
        t.blocked &= ~bit(signo);
    }
    if (signo < kFirstRealtime && (t.pending.set & bit(signo)))
        return os_.tracepoints().trace_signal_generate(trace_info(info), t, false, ke::TRACE_SIGNAL_ALREADY_PENDING);
    t.pending.set |= bit(signo);
    t.pending.queue.push_back(info);
    wake(t, signo == SIGKILL);
    os_.tracepoints().trace_signal_generate(trace_info(info), t, false, ke::TRACE_SIGNAL_DELIVERED);
}

void Signals::force_exit(Task& t, const SigInfo& info) {
    const IrqGuard guard(os_);
    t.process->sighand->action[static_cast<unsigned>(info.signo())] = SigAction{};
    t.process->sighand->immutable |= bit(info.signo());
    t.blocked &= ~bit(info.signo());
    force(t, info);
}

std::int64_t Signals::kill(int pid, int signo) {
    Task& me = os_.cur();
    Frame f(os_, KernelSymbol::kill_something_info);
    const IrqGuard guard(os_); // tasks do not go while they are looked at
    const auto deliver = [&](Task& t) -> std::int64_t {
        if (signo < 0 || signo > kNumSignals) return -EINVAL;
        if (!may_signal(me, t, signo)) return -EPERM;
        if (signo) send_process(t, siginfo_user(signo, 0, pid_vnr(t, me.tgid), shown_uid(t, me)));
        return 0;
    };
    if (pid > 0) {
        Task* t = os_.find_task_vpid(pid);
        return t ? deliver(*t->process->leader) : -ESRCH;
    }
    if (pid == std::numeric_limits<int>::min()) return -ESRCH;
    const int group = pid == 0 ? me.process->pgid : pid_global(me, -pid);
    if (!group) return -ESRCH;
    std::int64_t result = -ESRCH;
    std::vector<Task*> leaders;
    for (const auto& [tid, t] : os_.tasks())
        if (t->process->leader == t && tid > 1 && pid_visible(me, *t)) leaders.push_back(t);
    for (Task* t : leaders) {
        if (pid == -1 ? t->process == me.process || pid_vnr(me, t->pid) == 1 : t->process->pgid != group) continue;
        const std::int64_t r = deliver(*t);
        if (r == 0 || result == -ESRCH) result = r;
    }
    return result;
}

std::int64_t Signals::tgkill(int tgid, int tid, int signo) {
    if (tid <= 0 || (tgid != -1 && tgid <= 0)) return -EINVAL;
    Task* t = os_.find_task_vpid(tid);
    Task& me = os_.cur();
    if (!t || (tgid != -1 && pid_vnr(me, t->tgid) != tgid)) return -ESRCH;
    if (signo < 0 || signo > kNumSignals) return -EINVAL;
    if (!may_signal(me, *t, signo)) return -EPERM;
    if (signo) send_thread(*t, siginfo_user(signo, -6 /* SI_TKILL */, pid_vnr(*t, me.tgid), shown_uid(*t, me)));
    return 0;
}

void Signals::kill_all_threads(Process& p, int signo) {
    p.group_exit = true;
    p.group_exit_code = signo;
    p.group_stop_count = 0;
    for (Task* x : p.threads) {
        clear_jobctl_pending(*x, jobctl::pending_mask);
        x->pending.set |= bit(SIGKILL);
        wake(*x, true);
    }
}

bool Signals::dequeue(Task& t, SigSet blocked, SigInfo& info, bool* shared) {
    for (PendingSignals* p : {&t.pending, &t.process->shared_pending}) {
        const SigSet ready = p->set & ~blocked;
        if (!ready) continue;
        const SigSet first = ready & kSynchronous ? ready & kSynchronous : ready;
        const int signo = __builtin_ctzll(first) + 1;
        const auto it =
            std::find_if(p->queue.begin(), p->queue.end(), [&](const SigInfo& i) { return i.signo() == signo; });
        if (it != p->queue.end()) {
            info = *it;
            p->queue.erase(it);
        } else {
            info = siginfo_user(signo, 0, 0, 0);
        }
        const bool more =
            std::any_of(p->queue.begin(), p->queue.end(), [&](const SigInfo& i) { return i.signo() == signo; });
        if (!more) p->set &= ~bit(signo);
        if (shared) *shared = p != &t.pending;
        if (bit(signo) & kStopSignals) t.jobctl |= jobctl::stop_dequeued;
        return true;
    }
    return false;
}

void Signals::set_blocked(Task& t, SigSet set) {
    t.blocked = set & ~kUnblockable;
    const IrqGuard guard(os_);
    // A process signal that this thread no longer takes may be for another one.
    for (Task* x : t.process->threads)
        if (x != &t && !x->exiting && (t.process->shared_pending.set & ~x->blocked)) wake(*x, false);
}

void Signals::flush_ignored(Process& p, int signo) {
    remove_all(p.shared_pending, bit(signo));
    for (Task* t : p.threads) remove_all(t->pending, bit(signo));
}

void Signals::flush_handlers(Task& t) {
    for (SigAction& a : t.process->sighand->action)
        if (a.handler != 1)
            a = SigAction{};
        else
            a = SigAction{1, 0, 0, 0};
}

int Signals::do_sigaction(Task& t, int signo, const SigAction* act, SigAction* old) {
    if (signo < 1 || signo > kNumSignals || (act && (bit(signo) & kUnblockable))) return -EINVAL;
    SigAction& a = t.process->sighand->action[static_cast<unsigned>(signo)];
    if (t.process->sighand->immutable & bit(signo)) return -EINVAL;
    if (old) *old = a;
    if (!act) return 0;
    a = *act;
    a.mask &= ~kUnblockable;
    if (a.handler == 1 || (a.handler == 0 && (kIgnoredByDefault & bit(signo)))) flush_ignored(*t.process, signo);
    return 0;
}

bool Signals::notify_parent(Task& t, int signo) {
    Task* to = t.ptrace ? t.ptrace.tracer : t.parent;
    if (!to || to->pid == 0) return false;
    const IrqGuard guard(os_);
    Process& parent = *to->process;
    const SigAction& chld = parent.sighand->action[SIGCHLD];
    bool reaped = false;
    if (!t.ptrace && signo == SIGCHLD && (chld.handler == 1 || (chld.flags & 2 /* SA_NOCLDWAIT */))) {
        reaped = true;
        if (chld.handler == 1) signo = 0;
    }
    if (signo > 0 && signo <= kNumSignals) {
        const int sig = t.exit_code & 0x7f;
        const int code = !sig ? cld::exited : t.exit_code & 0x80 ? cld::dumped : cld::killed;
        const int status = sig ? sig : t.exit_code >> 8;
        send_process(
            *to, siginfo_child(signo, code, pid_vnr(*to, t.pid), shown_uid(*to, t), status,
                               t.process->exited.utime / kNsPerClockTick, t.process->exited.stime / kNsPerClockTick));
    }
    parent.wait_chldexit->wake_up_all();
    return reaped;
}

void Signals::notify_parent_cldstop(Task& task, bool for_ptracer, int why) {
    const Task& t = for_ptracer ? task : *task.process->leader;
    Task* to = for_ptracer ? t.ptrace.tracer : t.parent;
    if (!to || to->pid == 0) return;
    const IrqGuard guard(os_);
    Process& parent = *to->process;
    const SigAction& chld = parent.sighand->action[SIGCHLD];
    if (chld.handler != 1 && !(chld.flags & 1 /* SA_NOCLDSTOP */)) {
        const int status = why == cld::continued ? SIGCONT
                           : why == cld::stopped ? t.process->group_stop_code & 0x7f
                                                 : t.ptrace.stop_code & 0x7f;
        send_process(
            *to, siginfo_child(SIGCHLD, why, pid_vnr(*to, t.pid), shown_uid(*to, t), status,
                               t.process->exited.utime / kNsPerClockTick, t.process->exited.stime / kNsPerClockTick));
    }
    parent.wait_chldexit->wake_up_all();
}

} // namespace rkperf::os

// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/hw_breakpoint.h"
#include "kernel_events/kprobes.h"
#include "kernel_events/trace/tracepoints.h"
#include "sim/os/cgroup/cgroup.h"
#include "sim/os/ns/pid_namespace.h"
#include "sim/os/process/process.h"
#include "sim/os/ptrace/ptrace.h"
#include "sim/os/sched/scheduler.h"
#include "sim/os/signal/signals.h"
#include "sim/os/time/posix_timers.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rkperf::os {

namespace {

constexpr int kWnohang = 1, kWstopped = 2, kWexited = 4, kWcontinued = 8, kWnowait = 0x01000000,
              kWnothread = 0x20000000, kWall = 0x40000000, kWclone = static_cast<int>(0x80000000);

template <class T>
void erase_value(std::vector<T*>& v, T* x) {
    v.erase(std::remove(v.begin(), v.end(), x), v.end());
}

Task* find_new_reaper(Kernel& k, Task& t) {
    // Nobody outside adopts a process of a pid namespace.
    Task* reaper = t.pid_ns ? t.pid_ns->child_reaper : nullptr;
    for (Task* p = t.process->leader->parent; p && p->pid > 1 && p != reaper && p->pid_ns == t.pid_ns;
         p = p->process->leader->parent)
        if (p->process->child_subreaper && p->process->live) return p->process->leader;
    return reaper ? reaper : k.find_task(1);
}

void account_dead_thread(Task& t) { t.process->exited += t.usage(); }

/// A leader that has ended and whose other threads have, too.
bool is_dead_process(const Task& leader) {
    return leader.state == TaskState::zombie && leader.process->threads.size() == 1;
}

void cancel_timers(Kernel& k, Process& p, bool with_itimer) {
    if (!p.timers) return;
    for (auto& [id, timer] : p.timers->timers) k.hrtimer_cancel(timer->timer);
    p.timers->timers.clear();
    if (with_itimer) k.hrtimer_cancel(p.timers->real.timer);
}

void reparent_children(Kernel& k, Task& leader) {
    Process& p = *leader.process;
    if (p.children.empty()) return;
    Task* reaper = find_new_reaper(k, leader);
    const IrqGuard guard(k);
    for (Task* c : std::exchange(p.children, {})) {
        for (Task* thread : c->process->threads) {
            thread->real_parent = thread->parent = reaper;
            if (thread->pdeath_signal) k.signals().send_thread(*thread, siginfo_kernel(thread->pdeath_signal));
        }
        c->exit_signal = SIGCHLD;
        reaper->process->children.push_back(c);
        kill_orphaned_pgrp(k, *c, &leader);
        if (!c->ptrace && is_dead_process(*c) && k.signals().notify_parent(*c, c->exit_signal)) release_task(k, *c);
    }
}

/// exit_notify: the task becomes a zombie, if somebody will wait for it, and is gone otherwise.
void exit_notify(Kernel& k, Task& t) {
    Process& p = *t.process;
    const bool leader = p.leader == &t, alone = p.threads.size() == 1;
    t.state = TaskState::zombie;
    if (leader && alone && p.group_exit) t.exit_code = p.group_exit_code;
    bool reaped = true;
    if (t.ptrace)
        reaped = k.signals().notify_parent(t, leader && alone && !ptrace_reparented(t) ? t.exit_signal : SIGCHLD);
    else if (leader)
        reaped = alone && k.signals().notify_parent(t, t.exit_signal);
    if (reaped) release_task(k, t);
    if (p.exec_waiter) k.wake_up_process(*p.exec_waiter);
    if (p.wait_pidfd && !p.live) p.wait_pidfd->wake_up_all();
}

} // namespace

Rusage usage_of(const Process& p) {
    Rusage u = p.exited;
    for (const Task* x : p.threads) {
        if (!x->exiting) u += x->usage();
        if (x->as) u.maxrss = std::max(u.maxrss, x->as->hiwater_rss());
    }
    return u;
}

void release_task(Kernel& k, Task& t) {
    Process& p = *t.process;
    const std::shared_ptr<Process> keep = t.process;
    ptrace_unlink(k, t);
    if (p.leader == &t)
        erase_value(t.parent->process->children, &t);
    else
        erase_value(p.threads, &t);
    k.unregister_task(t);
    t.state = TaskState::dead;
    if (&t != &k.cur()) { // else it goes when it has left its CPU
        k.perf().perf_event_delayed_put(t);
        k.tracepoints().trace_sched_process_free(t);
        k.perf().trace_events().pids().freed(t.pid);
        k.drop_ref(t);
    }
    if (p.exec_waiter) k.wake_up_process(*p.exec_waiter);
    Task* leader = p.leader;
    if (leader == &t || !is_dead_process(*leader)) return;
    if (p.group_exit) leader->exit_code = p.group_exit_code;
    if (k.signals().notify_parent(*leader, leader->exit_signal)) release_task(k, *leader);
}

void exit_posix_timers(Kernel& k, Process& p) { cancel_timers(k, p, false); }

void Kernel::do_exit(int code) {
    Task& t = cur();
    Process& p = *t.process;
    {
        Frame f(*this, KernelSymbol::do_exit);
        ptrace_event(*this, ptrace_event_nr::exit, static_cast<std::uint64_t>(p.group_exit ? p.group_exit_code : code));
        {
            const IrqGuard guard(*this);
            t.exiting = true;
            if ((t.jobctl & jobctl::stop_pending) && signals_->participate_group_stop(t))
                signals_->notify_parent_cldstop(t, false, cld::stopped);
        }
        t.exit_code = p.group_exit ? p.group_exit_code : code;
        // perf lets go of the task first: its own events do not see what follows.
        perf_->perf_event_exit_task(t);
        exit_robust_list(*this, t);
        if (t.clear_child_tid && t.as && t.as.use_count() > 1) {
            const int zero = 0;
            if (!put(t.clear_child_tid, zero)) futex_wake(*this, t, t.clear_child_tid, false, 1, ~0u);
        }
        t.clear_child_tid = 0;
        const bool group_dead = --p.live == 0;
        if (group_dead) cancel_timers(*this, p, true);
        // The address space goes first, so that perf's mappings are closed before their files.
        uprobes().uprobe_free_utask(t);
        release_vfork_parent(t);
        std::shared_ptr<AddressSpace> as = std::move(t.as);
        t.mm = nullptr;
        const bool last_user = as.use_count() == 1;
        t.as = as; // unmap needs it as current's
        p.exited.maxrss = std::max(p.exited.maxrss, as->hiwater_rss());
        if (last_user) as->unmap_all();
        t.as.reset();
        as.reset();
        tracepoints().trace_sched_process_exit(t);
        std::shared_ptr<FdTable> files = std::move(t.files);
        if (files.use_count() == 1) files->close_all();
        t.files = std::make_shared<FdTable>();
        files.reset();
        perf_->hw_breakpoints().flush_ptrace_hw_breakpoint(t);
        exit_ptrace(*this, t);
        t.nsproxy.reset();
        if (group_dead && t.pid_ns && t.pid_ns->child_reaper == p.leader) zap_pid_ns_processes(*this, t);
        if (group_dead) reparent_children(*this, *p.leader);
        local_irq_save();
        t.account_kernel_time(core().now());
        account_dead_thread(t);
        cgroups_->exit(t);
        // The functions it is in do not return.
        for (Task::Frame& frame : t.kstack) perf_->kprobes().drop(std::exchange(frame.kretprobe, 0));
        if (group_dead) kill_orphaned_pgrp(*this, *p.leader, nullptr);
        exit_notify(*this, t);
    }
    sched_->schedule(false);
    __builtin_unreachable();
}

void Kernel::do_group_exit(int code) {
    Task& t = cur();
    Process& p = *t.process;
    if (!p.group_exit) {
        p.group_exit = true;
        p.group_exit_code = code;
        const IrqGuard guard(*this);
        p.group_stop_count = 0;
        for (Task* other : p.threads) {
            if (other == &t) continue;
            Signals::clear_jobctl_pending(*other, jobctl::pending_mask);
            other->pending.set |= 1ull << (SIGKILL - 1);
            signals_->wake(*other, true);
        }
    }
    do_exit(p.group_exit_code);
}

int de_thread(Kernel& k, Task& t) {
    Process& p = *t.process;
    if (p.threads.size() == 1 && p.leader == &t) {
        if (p.sighand.use_count() > 1) p.sighand = std::make_shared<SigHand>(*p.sighand);
        return 0;
    }
    if (p.group_exit) return -EAGAIN;
    p.exec_waiter = &t;
    {
        const IrqGuard guard(k);
        for (Task* other : p.threads) {
            if (other == &t) continue;
            Signals::clear_jobctl_pending(*other, jobctl::pending_mask);
            other->exec_killed = true;
            other->pending.set |= 1ull << (SIGKILL - 1);
            k.signals().wake(*other, true);
        }
    }
    for (;;) {
        t.state = TaskState::uninterruptible;
        const bool alone = std::all_of(p.threads.begin(), p.threads.end(), [&](Task* x) {
            return x == &t || (x == p.leader && x->state == TaskState::zombie && x->on_cpu < 0);
        });
        if (alone) break;
        k.schedule();
    }
    t.state = TaskState::running;
    p.exec_waiter = nullptr;
    if (p.leader != &t) {
        // The caller becomes the process's leader and takes its pid.
        Task& old = *p.leader;
        const int pid = old.pid;
        // The process keeps its number in all namespaces; the thread's is free.
        const auto ns = std::exchange(old.pid_ns, nullptr);
        k.unregister_task(old);
        old.pid_ns = ns;
        k.unregister_task(t);
        t.dead = false;
        if (ns && ns->child_reaper == &old) ns->child_reaper = &t;
        std::swap(t.pid, old.pid);
        t.pid = pid;
        t.group_leader = &t;
        t.parent = old.parent;
        t.real_parent = old.real_parent;
        t.exit_signal = SIGCHLD;
        auto& siblings = t.parent->process->children;
        std::replace(siblings.begin(), siblings.end(), &old, &t);
        erase_value(p.threads, &old);
        p.leader = &t;
        for (Task* child : p.children) child->real_parent = child->parent = &t;
        k.register_task(t);
        if (old.ptrace) old.ptrace.tracer->process->wait_chldexit->wake_up_all(); // it waits in vain for the old leader
        ptrace_unlink(k, old);
        k.perf().perf_event_delayed_put(old);
        k.drop_ref(old);
    }
    t.exit_signal = SIGCHLD;
    if (p.sighand.use_count() > 1) p.sighand = std::make_shared<SigHand>(*p.sighand);
    return 0;
}

namespace {

/// One look of a waiter at one of its children or tracees.
class Waiter {
  public:
    Waiter(Kernel& k, Task& me, int type, int id, int options, WaitResult& result)
        : k_(k), me_(me), type_(type), id_(id), options_(options), result_(result) {}

    /// True if there is something to return: a result, or -ECHILD if there is nothing to wait for.
    bool look(std::int64_t& out) {
        bool any = false;
        const auto consider_all = [&](const std::vector<Task*>& tasks, bool by_ptrace) {
            const std::vector<Task*> copy = tasks;
            for (Task* c : copy)
                if (consider(*c, by_ptrace, any, out)) return true;
            return false;
        };
        Process& p = *me_.process;
        if (consider_all(p.children, false)) return true;
        for (Task* t : p.threads)
            if (t == &me_ || !(options_ & kWnothread))
                if (consider_all(t->ptrace.tracees, true)) return true;
        if (!any) {
            out = -ECHILD;
        } else if (options_ & kWnohang) {
            out = 0;
            result_.pid = 0;
        } else {
            return false;
        }
        return true;
    }

  private:
    bool eligible(const Task& c, bool by_ptrace) const {
        if (type_ == 1 && c.pid != id_) return false;
        if (type_ == 2 && c.process->pgid != id_) return false;
        if (by_ptrace || (options_ & kWall)) return true;
        return (c.exit_signal != SIGCHLD) == ((options_ & kWclone) != 0);
    }

    bool consider(Task& c, bool by_ptrace, bool& any, std::int64_t& out) {
        if (!eligible(c, by_ptrace) || c.state == TaskState::dead) return false;
        // The parent that traces its child waits for it once, as its tracer.
        if (!by_ptrace && c.ptrace && !ptrace_reparented(c)) by_ptrace = true;
        if (c.state == TaskState::zombie) {
            const bool delayed = c.process->leader == &c && c.process->threads.size() > 1;
            if (!delayed && (by_ptrace || !c.ptrace) && (options_ & kWexited)) return zombie(c, any, out);
            if (!by_ptrace || (options_ & (kWcontinued | kWexited))) any = true;
        } else {
            any = true;
        }
        return stopped(c, by_ptrace, out) || continued(c, out);
    }

    bool zombie(Task& c, bool& any, std::int64_t& out) {
        any = true;
        if (c.on_cpu >= 0) return false; // on its last steps
        Process& cp = *c.process;
        // Its number goes with it.
        result_ = {pid_vnr(me_, c.pid), cp.group_exit ? cp.group_exit_code : c.exit_code, 0, c.cred.uid};
        const bool whole = cp.leader == &c;
        result_.usage = both(cp);
        const int sig = result_.status & 0x7f;
        result_.code = !sig ? cld::exited : result_.status & 0x80 ? cld::dumped : cld::killed;
        out = result_.pid;
        if (options_ & kWnowait) return true;
        const IrqGuard guard(k_);
        if (whole && ptrace_reparented(c)) {
            // The tracer has seen the end: now it is the real parent's turn.
            ptrace_unlink(k_, c);
            if (k_.signals().notify_parent(c, c.exit_signal)) release_task(k_, c);
            return true;
        }
        if (whole) {
            Process& mine = *me_.process;
            mine.reaped += both(cp);
        }
        release_task(k_, c);
        return true;
    }

    /// RUSAGE_BOTH, of the whole process even for one thread.
    static Rusage both(const Process& p) {
        Rusage u = usage_of(p);
        u += p.reaped;
        return u;
    }

    bool stopped(Task& c, bool by_ptrace, std::int64_t& out) {
        if (!by_ptrace && !(options_ & kWstopped)) return false;
        int* code = nullptr;
        if (by_ptrace) {
            if ((c.jobctl & jobctl::traced) && !(c.jobctl & jobctl::listening)) code = &c.ptrace.stop_code;
        } else if (c.process->stop_stopped) {
            code = &c.process->group_stop_code;
        }
        if (!code || !*code) return false;
        result_ = {pid_vnr(me_, c.pid), *code << 8 | 0x7f, by_ptrace ? cld::trapped : cld::stopped, c.cred.uid,
                   both(*c.process)};
        if (!(options_ & kWnowait)) *code = 0;
        out = result_.pid;
        return true;
    }

    bool continued(Task& c, std::int64_t& out) {
        Process& cp = *c.process;
        if (!(options_ & kWcontinued) || !cp.stop_continued) return false;
        if (!(options_ & kWnowait)) cp.stop_continued = false;
        result_ = {pid_vnr(me_, c.pid), 0xffff, cld::continued, c.cred.uid, both(*c.process)};
        out = result_.pid;
        return true;
    }

    Kernel& k_;
    Task& me_;
    const int type_, id_, options_;
    WaitResult& result_;
};

} // namespace

std::int64_t do_wait(Kernel& k, Task& t, int type, int id, int options, WaitResult& result) {
    Frame f(k, KernelSymbol::do_wait);
    k.tracepoints().trace_sched_process_wait(type == 1 ? id : 0);
    Waiter waiter(k, t, type, id, options, result);
    std::int64_t out = 0;
    const std::int64_t r = k.wait_event_interruptible(*t.process->wait_chldexit, [&] { return waiter.look(out); });
    return r < 0 ? r : out;
}

} // namespace rkperf::os

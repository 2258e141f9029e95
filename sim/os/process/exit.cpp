// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/hw_breakpoint.h"
#include "sim/os/process/process.h"
#include "kernel_events/trace/tracepoints.h"
#include "sim/os/sched/scheduler.h"
#include "sim/os/signal/signals.h"
#include "sim/os/time/posix_timers.h"

#include <algorithm>
#include <cerrno>

namespace rkperf::os {

namespace {

constexpr int kWnohang = 1, kWstopped = 2, kWexited = 4, kWcontinued = 8, kWnowait = 0x01000000, kWall = 0x40000000,
              kWclone = static_cast<int>(0x80000000);

template <class T>
void erase_value(std::vector<T*>& v, T* x) {
    v.erase(std::remove(v.begin(), v.end(), x), v.end());
}

Task* find_new_reaper(Kernel& k, Task& t) {
    for (Task* p = t.process->leader->parent; p && p->pid > 1; p = p->process->leader->parent)
        if (p->process->child_subreaper && p->process->live) return p->process->leader;
    return k.find_task(1);
}

/// Removes a dead leader for good.
void release(Kernel& k, Task& leader) {
    Process& p = *leader.process;
    Process& parent = *leader.parent->process;
    erase_value(parent.children, &leader);
    parent.cutime += p.utime + p.cutime;
    parent.cstime += p.stime + p.cstime;
    parent.cmin_flt += p.min_flt + p.cmin_flt;
    parent.cmaj_flt += p.maj_flt + p.cmaj_flt;
    k.unregister_task(leader);
    k.perf().perf_event_delayed_put(leader);
    k.tracepoints().trace_sched_process_free(leader);
    k.drop_ref(leader);
}

void account_dead_thread(Task& t) {
    Process& p = *t.process;
    p.utime += t.utime;
    p.stime += t.stime;
    p.min_flt += t.min_flt;
    p.maj_flt += t.maj_flt;
    p.nvcsw += t.nvcsw;
    p.nivcsw += t.nivcsw;
}

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
    for (Task* c : p.children) {
        for (Task* thread : c->process->threads) {
            thread->real_parent = thread->parent = reaper;
            if (thread->pdeath_signal) k.signals().send_thread(*thread, siginfo_kernel(thread->pdeath_signal));
        }
        reaper->process->children.push_back(c);
        if (is_dead_process(*c)) {
            c->exit_signal = SIGCHLD;
            k.signals().notify_parent(*c, 0, c->exit_code);
        }
    }
    p.children.clear();
}

/// The whole process is gone: tells the parent, or reaps at once if the parent does not care.
void notify_of_death(Kernel& k, Task& leader) {
    const Process& parent = *leader.parent->process;
    const SigAction& chld = parent.sighand->action[SIGCHLD];
    const bool ignored = leader.exit_signal == SIGCHLD && (chld.handler == 1 || (chld.flags & 2 /* SA_NOCLDWAIT */));
    leader.process->reaped = ignored;
    if (leader.exit_signal > 0) k.signals().notify_parent(leader, 0, leader.exit_code);
    leader.parent->process->wait_chldexit->wake_up_all();
}

} // namespace

void exit_posix_timers(Kernel& k, Process& p) { cancel_timers(k, p, false); }

void Kernel::do_exit(int code) {
    Task& t = cur();
    Process& p = *t.process;
    {
        Frame f(*this, KernelSymbol::do_exit);
        t.exiting = true;
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
        release_vfork_parent(t);
        std::shared_ptr<AddressSpace> as = std::move(t.as);
        t.mm = nullptr;
        const bool last_user = as.use_count() == 1;
        t.as = as; // unmap needs it as current's
        if (last_user) as->unmap_all();
        t.as.reset();
        as.reset();
        tracepoints().trace_sched_process_exit(t);
        std::shared_ptr<FdTable> files = std::move(t.files);
        if (files.use_count() == 1) files->close_all();
        t.files = std::make_shared<FdTable>();
        files.reset();
        perf_->hw_breakpoints().flush_ptrace_hw_breakpoint(t);
        if (group_dead) reparent_children(*this, *p.leader);
        local_irq_save();
        t.account_kernel_time(core().now());
        account_dead_thread(t);
        Task& leader = *p.leader;
        if (&t != &leader) {
            erase_value(p.threads, &t);
            unregister_task(t);
            t.state = TaskState::dead;
        } else {
            t.state = TaskState::zombie;
        }
        if (p.exec_waiter) wake_up_process(*p.exec_waiter);
        if (is_dead_process(leader)) {
            if (p.group_exit) leader.exit_code = p.group_exit_code;
            notify_of_death(*this, leader);
            if (p.reaped) {
                if (&leader == &t) {
                    erase_value(leader.parent->process->children, &leader);
                    unregister_task(leader);
                    t.state = TaskState::dead;
                } else {
                    release(*this, leader);
                }
            }
        }
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
        for (Task* other : p.threads) {
            if (other == &t) continue;
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
        k.unregister_task(old);
        k.unregister_task(t);
        t.dead = false;
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
        k.perf().perf_event_delayed_put(old);
        k.drop_ref(old);
    }
    t.exit_signal = SIGCHLD;
    if (p.sighand.use_count() > 1) p.sighand = std::make_shared<SigHand>(*p.sighand);
    return 0;
}

std::int64_t do_wait(Kernel& k, Task& t, int type, int id, int options, WaitResult& result) {
    Frame f(k, KernelSymbol::do_wait);
    k.tracepoints().trace_sched_process_wait(type == 1 ? id : 0);
    Process& p = *t.process;
    std::int64_t out = 0;
    const auto eligible = [&](const Task& c) {
        const bool clone_child = c.exit_signal != SIGCHLD;
        if (!(options & kWall) && clone_child != ((options & kWclone) != 0)) return false;
        if (type == 1) return c.pid == id;
        if (type == 2) return c.process->pgid == id;
        return true;
    };
    const auto try_once = [&]() -> bool {
        bool any = false;
        for (Task* c : p.children) {
            if (!eligible(*c)) continue;
            any = true;
            Process& cp = *c->process;
            result.pid = c->pid;
            result.uid = c->cred.uid;
            if ((options & kWexited) && is_dead_process(*c) && c->on_cpu < 0) {
                result.status = c->exit_code;
                result.utime = cp.utime, result.stime = cp.stime;
                result.min_flt = cp.min_flt, result.maj_flt = cp.maj_flt;
                result.nvcsw = cp.nvcsw, result.nivcsw = cp.nivcsw;
                const int sig = result.status & 0x7f;
                result.code = !sig ? 1 /* CLD_EXITED */ : result.status & 0x80 ? 3 /* DUMPED */ : 2 /* KILLED */;
                out = c->pid;
                if (!(options & kWnowait)) release(k, *c);
                return true;
            }
            if ((options & kWstopped) && cp.group_stop_signal && !cp.stop_reported) {
                result.status = cp.group_stop_signal << 8 | 0x7f;
                result.code = 5; // CLD_STOPPED
                out = c->pid;
                if (!(options & kWnowait)) cp.stop_reported = true;
                return true;
            }
            if ((options & kWcontinued) && cp.continued) {
                result.status = 0xffff;
                result.code = 6; // CLD_CONTINUED
                out = c->pid;
                if (!(options & kWnowait)) cp.continued = false;
                return true;
            }
        }
        if (!any) {
            out = -ECHILD;
            return true;
        }
        if (options & kWnohang) {
            out = 0;
            result.pid = 0;
            return true;
        }
        return false;
    };
    const std::int64_t r = k.wait_event_interruptible(*p.wait_chldexit, try_once);
    return r < 0 ? r : out;
}

} // namespace rkperf::os

// SPDX-License-Identifier: Apache-2.0
#include "sim/os/sched/scheduler.h"

#include "kernel_events/hw_breakpoint.h"
#include "kernel_events/trace/tracepoints.h"
#include "sim/os/irq/gic_driver.h"
#include "sim/os/kernel.h"
#include "sim/os/mm/address_space.h"
#include "sim/os/time/time_keeper.h"

#include <algorithm>
#include <bit>

namespace rkperf::os {

namespace {

/// prev_state of a switch that the task made by itself.
long trace_state(const Task& t) {
    switch (t.state) {
        case TaskState::interruptible: return ke::TASK_INTERRUPTIBLE;
        case TaskState::uninterruptible: return ke::TASK_UNINTERRUPTIBLE;
        case TaskState::stopped: return ke::TASK_STOPPED;
        case TaskState::traced: return ke::TASK_TRACED;
        case TaskState::zombie: return ke::TASK_ZOMBIE;
        case TaskState::dead: return ke::TASK_DEAD;
        default: return ke::TASK_RUNNING;
    }
}

} // namespace

Scheduler::Scheduler(Kernel& k) : os_(k) {
    for (int i = 0; i < k.num_cpus(); ++i) rqs_.push_back(std::make_unique<RunQueue>());
}
Scheduler::~Scheduler() = default;

unsigned Scheduler::nr_running(int cpu) const { return rq(cpu).nr; }
bool Scheduler::has_runnable(int cpu) const { return !rq(cpu).rt.empty() || !rq(cpu).fair.empty(); }

Picoseconds Scheduler::next_runnable(int cpu) const {
    Picoseconds best = kNever;
    for (const auto* list : {&rq(cpu).rt, &rq(cpu).fair})
        for (const Task* t : *list) best = std::min(best, t->se.runnable_at);
    return best;
}

bool Scheduler::may_run_now(const Task& t, int cpu) const { return t.se.runnable_at <= os_.pcpu(cpu).core->now(); }

void Scheduler::insert(RunQueue& q, Task& t, bool first) {
    t.se.order = ++order_;
    if (is_rt(t.se)) {
        const int beat = first ? t.se.rt_priority + 1 : t.se.rt_priority;
        const auto pos =
            std::find_if(q.rt.begin(), q.rt.end(), [&](const Task* o) { return o->se.rt_priority < beat; });
        q.rt.insert(pos, &t);
    } else {
        const auto pos =
            std::find_if(q.fair.begin(), q.fair.end(), [&](const Task* o) { return o->se.vruntime > t.se.vruntime; });
        q.fair.insert(pos, &t);
    }
}

void Scheduler::remove(RunQueue& q, Task& t) {
    for (auto* list : {&q.rt, &q.fair}) {
        const auto pos = std::find(list->begin(), list->end(), &t);
        if (pos != list->end()) list->erase(pos);
    }
}

fair::Tunables Scheduler::tunables() const {
    return fair::tunables(static_cast<unsigned>(std::popcount(os_.cpu_online_mask())));
}

std::uint64_t Scheduler::wakeup_gran(const fair::Tunables& t, const Task& woken) {
    return t.wakeup_granularity_ns * fair::kNice0Weight / fair::weight(woken.se);
}

std::uint64_t Scheduler::slice_ns(int cpu, const Task& t) const {
    const fair::Tunables tune = tunables();
    const RunQueue& q = rq(cpu);
    const std::uint64_t n = q.nr + (t.se.on_rq ? 0 : 1), load = q.load + (t.se.on_rq ? 0 : fair::weight(t.se));
    const std::uint64_t period = n > fair::kNrLatency ? n * tune.min_granularity_ns : tune.latency_ns;
    return std::max(period * fair::weight(t.se) / std::max<std::uint64_t>(load, 1), tune.min_granularity_ns);
}

void Scheduler::update_curr(int cpu) {
    Task* t = os_.pcpu(cpu).current;
    if (!t || t == os_.pcpu(cpu).idle) return;
    const std::uint64_t now = os_.pcpu(cpu).core->now().v / 1000;
    if (now <= t->se.exec_start) return;
    const std::uint64_t delta = now - t->se.exec_start;
    t->se.exec_start = now;
    t->sum_exec_runtime += delta;
    if (is_rt(t->se)) return os_.tracepoints().trace_sched_stat_runtime(*t, delta, 0);
    t->se.vruntime += delta * fair::kNice0Weight / fair::weight(t->se);
    RunQueue& q = rq(cpu);
    std::uint64_t v = t->se.vruntime;
    if (!q.fair.empty()) v = std::min(v, q.fair.front()->se.vruntime);
    q.min_vruntime = std::max(q.min_vruntime, v);
    os_.tracepoints().trace_sched_stat_runtime(*t, delta, t->se.vruntime);
}

void Scheduler::rebase(Task& t, int from, int to) const {
    const std::uint64_t old_min = rq(from).min_vruntime, now = t.se.vruntime + rq(to).min_vruntime;
    t.se.vruntime = now > old_min ? now - old_min : 0;
}

void Scheduler::enqueue(int cpu, Task& t, bool wakeup) {
    RunQueue& q = rq(cpu);
    if (!is_rt(t.se) && wakeup) {
        // A sleeper is owed at most half a scheduling latency.
        const std::uint64_t credit = tunables().latency_ns / 2;
        const std::uint64_t floor = q.min_vruntime > credit ? q.min_vruntime - credit : 0;
        t.se.vruntime = std::max(t.se.vruntime, floor);
    }
    t.task_cpu = cpu;
    t.se.on_rq = true;
    t.se.runnable_at = std::max(t.se.runnable_at, os_.core().now());
    insert(q, t);
    ++q.nr;
    q.load += fair::weight(t.se);
}

void Scheduler::dequeue(int cpu, Task& t) {
    RunQueue& q = rq(cpu);
    remove(q, t);
    left(q, t);
}

void Scheduler::left(RunQueue& q, Task& t) {
    t.se.on_rq = false;
    --q.nr;
    q.load -= fair::weight(t.se);
    if (q.skip == &t) q.skip = nullptr;
    if (!q.fair.empty()) q.min_vruntime = std::max(q.min_vruntime, q.fair.front()->se.vruntime);
}

int Scheduler::select_rt_cpu(const Task& t) const {
    // Where the least urgent task runs; among those where it ran, then the fastest.
    int best = -1;
    std::uint64_t best_key = 0;
    for (int c = 0; c < os_.num_cpus(); ++c) {
        if (!(t.cpus_allowed >> c & 1) || !os_.pcpu(c).online) continue;
        const RunQueue& q = rq(c);
        const Task& curr = *os_.pcpu(c).current;
        int urgency = q.nr ? 1 : 0;
        if (is_rt(curr.se)) urgency = 1 + curr.se.rt_priority;
        if (!q.rt.empty()) urgency = std::max(urgency, 1 + q.rt.front()->se.rt_priority);
        const std::uint64_t cap = os_.config().cpu_capacity[static_cast<unsigned>(c)];
        const std::uint64_t key =
            std::uint64_t{static_cast<unsigned>(127 - urgency)} << 32 | std::uint64_t{c == t.task_cpu} << 16 | cap;
        if (best >= 0 && key <= best_key) continue;
        best = c;
        best_key = key;
    }
    return best < 0 ? t.task_cpu : best;
}

int Scheduler::select_cpu(Task& t, bool fork) const {
    // None of its CPUs is left: it may run anywhere from now on (select_fallback_rq).
    if (!(t.cpus_allowed & os_.cpu_online_mask())) t.cpus_allowed = os_.cpu_possible_mask();
    if (is_rt(t.se)) return select_rt_cpu(t);
    const int prev = t.task_cpu;
    const auto allowed = [&](int c) { return t.cpus_allowed >> c & 1 && os_.pcpu(c).online; };
    if (!fork && allowed(prev) && rq(prev).nr == 0) return prev;
    // The idle CPU of the highest capacity, the nearest number first; else the least loaded for its capacity.
    int best = -1;
    std::uint64_t best_load = 0, best_cap = 0;
    for (int c = 0; c < os_.num_cpus(); ++c) {
        if (!allowed(c)) continue;
        const std::uint64_t cap = os_.config().cpu_capacity[static_cast<unsigned>(c)];
        const std::uint64_t load = rq(c).load * 1024 / cap;
        if (best < 0 || load < best_load || (load == best_load && cap > best_cap)) {
            best = c;
            best_load = load;
            best_cap = cap;
        }
    }
    return best < 0 ? prev : best;
}

void Scheduler::resched(int cpu) {
    if (cpu == os_.this_cpu()) {
        os_.cur().need_resched = true;
        return;
    }
    // The other CPU's time may be behind: it makes its choice when the interrupt reaches it.
    RunQueue& q = rq(cpu);
    q.resched_at = std::min(q.resched_at, os_.core().now());
    os_.gic().send(cpu, Ipi::reschedule);
}

void Scheduler::ipi() {
    const int cpu = os_.this_cpu();
    RunQueue& q = rq(cpu);
    const Picoseconds now = os_.core().now();
    if (q.resched_at <= now) {
        q.resched_at = kNever;
        os_.cur().need_resched = true;
    }
    // Interrupts of two senders come as one, at the earlier time: see to the later one's task.
    Picoseconds later = q.resched_at;
    for (const auto* list : {&q.rt, &q.fair})
        for (const Task* t : *list)
            if (t->se.runnable_at > now) later = std::min(later, t->se.runnable_at);
    q.resched_at = kNever;
    if (later != kNever) os_.time().resched_at(cpu, later);
}

void Scheduler::check_preempt(int cpu, Task& t) {
    Task* curr = os_.pcpu(cpu).current;
    if (curr == os_.pcpu(cpu).idle) return resched(cpu);
    if (is_rt(t.se)) {
        if (!is_rt(curr->se) || t.se.rt_priority > curr->se.rt_priority) resched(cpu);
        return;
    }
    if (is_rt(curr->se)) return;
    if (curr->se.policy == kSchedIdle && t.se.policy != kSchedIdle) return resched(cpu);
    if (t.se.policy != kSchedOther) return;
    update_curr(cpu);
    if (curr->se.vruntime > t.se.vruntime + wakeup_gran(tunables(), t)) resched(cpu);
}

bool Scheduler::try_to_wake_up(Task& t) {
    const IrqGuard guard(os_);
    return wake(t);
}

bool Scheduler::wake(Task& t) {
    if (t.state == TaskState::running || t.state == TaskState::zombie || t.state == TaskState::dead) return false;
    ke::Tracepoints& trace = os_.tracepoints();
    if (t.se.on_rq) { // it was on its way to sleep and has not left its CPU yet
        trace.trace_sched_waking(t);
        t.state = TaskState::running;
        trace.trace_sched_wakeup(t);
        return true;
    }
    Frame f(os_, KernelSymbol::try_to_wake_up);
    trace.trace_sched_waking(t);
    t.state = TaskState::running;
    if (!is_rt(t.se)) Frame enqueued(os_, KernelSymbol::enqueue_task_fair);
    const int cpu = select_cpu(t, false);
    if (cpu != t.task_cpu) {
        ++t.se.migrations;
        trace.trace_sched_migrate_task(t, cpu);
        os_.perf().perf_event_task_migrate(t);
        rebase(t, t.task_cpu, cpu);
    }
    enqueue(cpu, t, true);
    check_preempt(cpu, t);
    trace.trace_sched_wakeup(t);
    return true;
}

void Scheduler::fork(Task& child, const Task& parent) {
    child.se.policy = parent.se.policy;
    child.se.nice = parent.se.nice;
    child.se.rt_priority = parent.se.rt_priority;
    if (parent.se.reset_on_fork) {
        child.se.policy = kSchedOther;
        child.se.rt_priority = 0;
        child.se.nice = std::max(child.se.nice, 0);
    }
    child.cpus_allowed = parent.cpus_allowed;
    child.task_cpu = parent.task_cpu;
    // A new task comes after those who are there, by a turn of its own (START_DEBIT); relative to the queue's minimum.
    const int cpu = os_.this_cpu();
    update_curr(cpu);
    const std::uint64_t base = rq(cpu).min_vruntime;
    const std::uint64_t debit = slice_ns(cpu, child) * fair::kNice0Weight / fair::weight(child.se);
    const std::uint64_t ahead = is_rt(parent.se) || parent.se.vruntime < base ? 0 : parent.se.vruntime - base;
    child.se.vruntime = std::max(ahead, debit);
}

void Scheduler::wake_up_new_task(Task& t) {
    const IrqGuard guard(os_);
    Frame f(os_, KernelSymbol::wake_up_new_task);
    t.state = TaskState::running;
    const int cpu = select_cpu(t, true);
    t.se.vruntime += rq(cpu).min_vruntime; // it has been relative since fork()
    enqueue(cpu, t, false);
    os_.tracepoints().trace_sched_wakeup_new(t);
    check_preempt(cpu, t);
}

void Scheduler::yield() {
    const IrqGuard guard(os_);
    const int cpu = os_.this_cpu();
    Task& t = os_.cur();
    update_curr(cpu);
    RunQueue& q = rq(cpu);
    t.se.slice_used = true;
    if (!is_rt(t.se) && !q.fair.empty()) q.skip = &t;
    schedule(false);
}

Task* Scheduler::pick_next(int cpu) {
    RunQueue& q = rq(cpu);
    for (Task* t : q.rt)
        if (may_run_now(*t, cpu)) return t;
    Task* first = nullptr;
    for (Task* t : q.fair) {
        if (!may_run_now(*t, cpu)) continue;
        if (!first) {
            first = t;
            if (t != q.skip) break;
        } else {
            if (t->se.vruntime <= first->se.vruntime + wakeup_gran(tunables(), *first)) first = t;
            break;
        }
    }
    if (first && first == q.skip) q.skip = nullptr;
    return first ? first : os_.pcpu(cpu).idle;
}

void Scheduler::schedule(bool preempt, bool in_kernel) {
    const bool was = os_.local_irq_save();
    int cpu = os_.this_cpu();
    Task& prev = os_.cur();
    Task* idle = os_.pcpu(cpu).idle;
    {
        Frame f(os_, KernelSymbol::__schedule);
        update_curr(cpu);
        prev.need_resched = false;
        RunQueue& q = rq(cpu);
        if (&prev != idle) {
            prev.se.runnable_at = os_.core().now();
            if (prev.state == TaskState::running) {
                if (!(prev.cpus_allowed >> cpu & 1) || !os_.pcpu(cpu).online) {
                    // It may not stay here: hand it to another CPU as if it had just woken there.
                    left(q, prev);
                    leaving_[cpu] = &prev;
                } else {
                    // A preempted real-time task keeps its turn.
                    insert(q, prev, preempt && !prev.se.slice_used);
                }
            } else {
                Frame g(os_, KernelSymbol::dequeue_task_fair);
                left(q, prev);
            }
        }
        prev.se.slice_used = false;
        if (!has_runnable(cpu)) newidle_balance(cpu);
        Task* next = pick_next(cpu);
        if (next != idle) remove(q, *next);
        if (next == &prev) {
            os_.local_irq_restore(was);
            return;
        }
        // Putting one back and taking another off the tree; idle's part is cheap.
        if (&prev != idle && next != idle && !is_rt(next->se)) Frame picked(os_, KernelSymbol::pick_next_task_fair);
        ++switches_;
        if (&prev != idle) ++(prev.state == TaskState::running ? prev.nivcsw : prev.nvcsw);
        os_.tracepoints().trace_sched_switch(prev, in_kernel ? ke::TASK_PREEMPTED : trace_state(prev), *next);
        context_switch(cpu, prev, *next);
        // From here on this is `prev` again, perhaps on another CPU.
    }
    finish_switch();
    os_.local_irq_restore(was);
}

void Scheduler::context_switch(int cpu, Task& prev, Task& next) {
    auto& p = os_.pcpu(cpu);
    os_.perf().perf_event_task_sched_out(prev, next);
    for (auto* o : os_.observers()) o->task_switch(cpu, prev, next);
    prev.account_kernel_time(p.core->now());
    {
        Frame f(os_, KernelSymbol::__switch_to);
        if (prev.as) prev.ctx.save(p.user);
        os_.perf().hw_breakpoints().hw_breakpoint_thread_switch(next);
        // Only time on a CPU is system time.
        const std::uint64_t now_ps = p.core->now().v;
        prev.stime += (now_ps - prev.kernel_since_ps) / 1000;
        next.kernel_since_ps = now_ps;
        prev.on_cpu = -1;
        p.current = &next;
        next.on_cpu = cpu;
        next.task_cpu = cpu;
        next.rseq_event = next.rseq != 0;
        next.se.exec_start = p.core->now().v / 1000;
        next.kernel_since_ps = p.core->now().v;
        next.se.slice_start_runtime = next.sum_exec_runtime;
        if (next.as) {
            if (next.as.get() != active_as_[cpu]) {
                Frame g(os_, KernelSymbol::check_and_switch_context);
                p.core->set_address_space(next.as->pgd(), next.as->asid());
                active_as_[cpu] = next.as.get();
            }
            next.ctx.load(p.user);
        }
    }
    switched_from_[cpu] = &prev;
    p.frames = &next.kstack;
    Fibre::switch_to(*prev.fibre, *next.fibre);
}

void Scheduler::finish_switch() {
    const int cpu = os_.this_cpu();
    Task* prev = switched_from_[cpu];
    switched_from_[cpu] = nullptr;
    Task& me = os_.cur();
    Frame f(os_, KernelSymbol::finish_task_switch);
    os_.perf().perf_event_task_sched_in(*prev, me);
    if (leaving_[cpu]) {
        Task* t = leaving_[cpu];
        leaving_[cpu] = nullptr;
        const int to = select_cpu(*t, true);
        ++t->se.migrations;
        os_.tracepoints().trace_sched_migrate_task(*t, to);
        os_.perf().perf_event_task_migrate(*t);
        rebase(*t, cpu, to);
        enqueue(to, *t, false);
        check_preempt(to, *t);
    }
    if (prev->state == TaskState::dead || prev->state == TaskState::zombie) {
        prev->fibre.reset();
        if (prev->state == TaskState::dead) {
            os_.tracepoints().trace_sched_process_free(*prev);
            os_.perf().trace_events().pids().freed(prev->pid);
            os_.drop_ref(*prev);
        }
    }
}

void Scheduler::switch_address_space() {
    const int cpu = os_.this_cpu();
    AddressSpace* as = os_.cur().as.get();
    os_.core().set_address_space(as->pgd(), as->asid());
    active_as_[cpu] = as;
}

void Scheduler::forget(const AddressSpace& as) {
    for (auto& a : active_as_)
        if (a == &as) a = nullptr;
}

bool Scheduler::newidle_balance(int cpu) {
    if (!os_.pcpu(cpu).online) return false;
    // A real-time task that waits for its CPU comes first.
    for (int c = 0; c < os_.num_cpus(); ++c)
        for (Task* t : rq(c).rt)
            if (c != cpu && t->cpus_allowed >> cpu & 1) {
                move(*t, c, cpu);
                return true;
            }
    // Else one waiting task of the CPU with the most of them.
    int from = -1;
    unsigned most = 1;
    for (int c = 0; c < os_.num_cpus(); ++c)
        if (c != cpu && rq(c).nr > most) {
            most = rq(c).nr;
            from = c;
        }
    if (from < 0) return false;
    for (Task* t : rq(from).fair) {
        if (!(t->cpus_allowed >> cpu & 1) || t->on_cpu >= 0) continue;
        move(*t, from, cpu);
        return true;
    }
    return false;
}

void Scheduler::move(Task& t, int from, int to) {
    dequeue(from, t);
    rebase(t, from, to);
    ++t.se.migrations;
    os_.tracepoints().trace_sched_migrate_task(t, to);
    os_.perf().perf_event_task_migrate(t);
    enqueue(to, t, false);
}

void Scheduler::tick() {
    const int cpu = os_.this_cpu();
    Task& curr = os_.cur();
    {
        Frame f(os_, KernelSymbol::scheduler_tick);
        update_curr(cpu);
        RunQueue& q = rq(cpu);
        if (&curr == os_.pcpu(cpu).idle) {
            if (has_runnable(cpu)) curr.need_resched = true;
        } else if (curr.se.policy == kSchedRr) {
            if (curr.sum_exec_runtime - curr.se.slice_start_runtime >= fair::kRrSliceNs && !q.rt.empty() &&
                q.rt.front()->se.rt_priority == curr.se.rt_priority)
                curr.need_resched = curr.se.slice_used = true;
        } else if (!is_rt(curr.se) && !q.fair.empty()) {
            const fair::Tunables tune = tunables();
            const std::uint64_t slice = std::min(slice_ns(cpu, curr), tune.latency_ns);
            const std::uint64_t ran = curr.sum_exec_runtime - curr.se.slice_start_runtime;
            if (ran > slice ||
                (ran >= tune.min_granularity_ns && curr.se.vruntime > q.fair.front()->se.vruntime + slice))
                curr.need_resched = true;
        }
    }
    os_.perf().perf_event_task_tick();
    // Idle CPUs have no tick of their own: wake one that could take a waiting task.
    if (rq(cpu).nr > 1)
        for (int c = os_.num_cpus() - 1; c >= 0; --c)
            if (rq(c).nr == 0 && c != cpu && os_.pcpu(c).online) {
                const bool any = std::any_of(rq(cpu).fair.begin(), rq(cpu).fair.end(),
                                             [&](const Task* t) { return t->cpus_allowed >> c & 1; });
                if (any) {
                    resched(c);
                    break;
                }
            }
}

int Scheduler::set_affinity(Task& t, ke::CpuMask mask) {
    mask &= os_.cpu_online_mask();
    if (!mask) return -EINVAL;
    const bool was = os_.local_irq_save();
    t.cpus_allowed = mask;
    const int cpu = t.task_cpu;
    if (mask >> cpu & 1) {
        os_.local_irq_restore(was);
        return 0;
    }
    if (&t == &os_.cur()) {
        schedule(false);
    } else if (t.on_cpu >= 0) {
        ++t.refs;
        resched(t.on_cpu);
        os_.local_irq_restore(was);
        // The caller may rely on the task having left: wait as the migration stopper does.
        while (t.on_cpu >= 0 && !(t.cpus_allowed >> t.on_cpu & 1)) {
            os_.charge(20);
            os_.core().sync();
        }
        os_.drop_ref(t);
        return 0;
    } else if (t.se.on_rq) {
        const int to = select_cpu(t, true);
        move(t, cpu, to);
        check_preempt(to, t);
    }
    os_.local_irq_restore(was);
    return 0;
}

int Scheduler::set_policy(Task& t, int policy, int rt_priority, int nice) {
    const IrqGuard guard(os_);
    const bool queued = t.se.on_rq && t.on_cpu < 0, counted = t.se.on_rq;
    const int cpu = t.task_cpu;
    update_curr(cpu);
    if (queued) remove(rq(cpu), t);
    if (counted) rq(cpu).load -= fair::weight(t.se);
    const bool lowered = is_rt(t.se) && rt_priority < t.se.rt_priority;
    t.se.policy = policy;
    t.se.rt_priority = rt_priority;
    t.se.nice = nice;
    if (counted) rq(cpu).load += fair::weight(t.se);
    if (queued) {
        insert(rq(cpu), t, lowered); // who becomes less urgent keeps its place before its new equals
        check_preempt(cpu, t);
    } else if (t.on_cpu >= 0 && has_runnable(t.on_cpu)) {
        resched(t.on_cpu);
    }
    return 0;
}

} // namespace rkperf::os

// SPDX-License-Identifier: Apache-2.0
// Per-CPU run queues: FIFO/RR, then a CFS-like fair class with CPU capacities; wake-up placement, balancing, affinity.
#pragma once

#include "sim/os/sched/run_queue.h"
#include "sim/os/task.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace rkperf::os {

class Kernel;

class Scheduler {
  public:
    explicit Scheduler(Kernel& k);
    ~Scheduler();

    /// The one place where a CPU changes its task. Current keeps running if it is the best choice.
    /// `in_kernel`: the task gives way at a point inside a system call (SM_PREEMPT).
    void schedule(bool preempt, bool in_kernel = false);
    bool try_to_wake_up(Task& t);
    /// First wake-up of a forked task.
    void wake_up_new_task(Task& t);
    void yield();
    void tick(); ///< of this CPU, interrupts masked
    void ipi();  ///< the reschedule interrupt has come
    int set_affinity(Task& t, ke::CpuMask mask);
    int set_policy(Task& t, int policy, int rt_priority, int nice);
    void update_curr(int cpu);
    /// What a task's turn lasts among those on its CPU (sched_slice), in ns; one that is not queued there is counted in.
    std::uint64_t slice_ns(int cpu, const Task& t) const;
    /// A CPU has nothing to do: tries to pull a task; true if it got one.
    bool newidle_balance(int cpu);
    unsigned nr_running(int cpu) const;
    std::uint64_t nr_switches() const { return switches_; }
    /// Earliest runnable_at among queued tasks that are not yet to be picked, or kNever.
    Picoseconds next_runnable(int cpu) const;
    bool has_runnable(int cpu) const;
    /// The idle loop of a CPU asks after each wake-up.
    void fork(Task& child, const Task& parent);
    /// The address space is going away: no CPU may take it for the active one.
    void forget(const AddressSpace& as);
    /// exec: current's address space was replaced.
    void switch_address_space();
    /// CPU hotplug (hotplug.cpp): -EBUSY for the last CPU; the other direction cannot fail.
    int cpu_down(int cpu);
    int cpu_up(int cpu);
    /// First thing a fibre does after it was switched to.
    void finish_switch();

  private:
    RunQueue& rq(int cpu) const { return *rqs_[static_cast<unsigned>(cpu)]; }
    Task* pick_next(int cpu);
    /// vruntime is relative to its queue's minimum.
    void rebase(Task& t, int from, int to) const;
    fair::Tunables tunables() const;
    static std::uint64_t wakeup_gran(const fair::Tunables& t, const Task& woken);
    bool wake(Task& t);
    int select_rt_cpu(const Task& t) const;
    void enqueue(int cpu, Task& t, bool wakeup);
    void dequeue(int cpu, Task& t);
    static void left(RunQueue& q, Task& t); ///< no longer counted on the queue
    int select_cpu(Task& t, bool fork) const;
    void check_preempt(int cpu, Task& t);
    void resched(int cpu);
    void context_switch(int cpu, Task& prev, Task& next);
    void insert(RunQueue& q, Task& t, bool first = false); ///< first: before its equals
    void remove(RunQueue& q, Task& t);
    bool may_run_now(const Task& t, int cpu) const;
    void move(Task& t, int from, int to);
    void migrate_tasks(int cpu); ///< those queued on a CPU that goes

    Kernel& os_;
    std::vector<std::unique_ptr<RunQueue>> rqs_;
    std::uint64_t switches_{}, order_{};
    Task* switched_from_[ke::kMaxCpus]{};
    Task* leaving_[ke::kMaxCpus]{};                 ///< must be queued on another CPU once it has left this one
    const AddressSpace* active_as_[ke::kMaxCpus]{}; ///< lazily kept over kernel threads
};

} // namespace rkperf::os

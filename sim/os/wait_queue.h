// SPDX-License-Identifier: Apache-2.0
// Sleeping and waking inside the simulated kernel.
#pragma once

#include "kernel_events/kernel.h"
#include "sim/os/spin_lock.h"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>

namespace rkperf::os {

class Kernel;
struct Task;

/// struct wait_queue_head. Entries are woken in the order they came.
/// add, remove and arrive take no time and let nobody else run. wake_up is done as a whole, and may let others run when it
/// has ended, if interrupts were on; prepare_to_wait may at any moment. The queue may be gone after either.
class WaitQueueHead : public ke::WaitQueue {
  public:
    /// Whether CPUs wait for each other at the queue's lock (SpinLock).
    enum class LockTime : bool { none, modelled };
    explicit WaitQueueHead(Kernel& k, LockTime time = LockTime::modelled) : kernel_(k), lock_time_(time), lock_(k) {}

    struct Entry {
        Task* task{};
        bool exclusive{};
        std::function<void(Entry&)> func; ///< instead of waking the task (epoll)
        WaitQueueHead* head{};
        std::list<Entry*>::iterator pos{};
    };
    void add(Entry& e);
    void remove(Entry& e); ///< no effect if not queued
    /// Takes the queue's lock for a moment: SpinLock::spend() the wait when nothing hangs on it any more.
    [[nodiscard]] SpinLock::Wait arrive() { return lock_time_ == LockTime::none ? SpinLock::Wait{} : lock_.arrive(); }
    /// What prepare_to_wait costs a sleeper who finds the queue's lock taken.
    void prepare_to_wait() { SpinLock::spend(kernel_, arrive()); }
    void wake_up(int exclusive_count = 1);
    void wake_up_all() override { wake_up(0); }
    bool empty() const { return entries_.empty(); }

  private:
    void lock();
    void unlock();

    Kernel& kernel_;
    const LockTime lock_time_;
    std::list<Entry*> entries_;
    SpinLock lock_;
};

class KernelMutex : public ke::Mutex {
  public:
    explicit KernelMutex(Kernel& k);
    void lock() override;
    void unlock() override;
    bool try_lock() override;
    bool is_locked() const override { return locked_; }

  private:
    Kernel& kernel_;
    WaitQueueHead waiters_; ///< woken one by one after their lock is let go (wake_q)
    bool locked_{};
    const std::uint64_t address_; ///< for tracepoints: invented, the same in every run
};

} // namespace rkperf::os

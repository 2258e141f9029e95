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
class WaitQueueHead : public ke::WaitQueue {
  public:
    explicit WaitQueueHead(Kernel& k) : kernel_(k), lock_(k) {}

    struct Entry {
        Task* task{};
        bool exclusive{};
        std::function<void(Entry&)> func; ///< instead of waking the task (epoll)
        WaitQueueHead* head{};
        std::list<Entry*>::iterator pos{};
    };
    void add(Entry& e);
    void remove(Entry& e); ///< no effect if not queued
    /// The same for who was woken and is still queued (poll, epoll): takes the queue's lock.
    void remove_wait_queue(Entry& e);
    /// What prepare_to_wait costs a sleeper who finds the queue's lock taken.
    void prepare_to_wait() { lock_.pass(); }
    void wake_up(int exclusive_count = 1);
    void wake_up_all() override { wake_up(0); }
    bool empty() const { return entries_.empty(); }

  private:
    Kernel& kernel_;
    std::list<Entry*> entries_;
    SpinLock lock_;
};

class KernelMutex : public ke::Mutex {
  public:
    explicit KernelMutex(Kernel& k);
    void lock() override;
    void unlock() override;
    bool try_lock() override;
    bool is_locked() const override { return owner_ != nullptr; }

  private:
    Kernel& kernel_;
    WaitQueueHead waiters_;
    Task* owner_{};
    const std::uint64_t address_; ///< for tracepoints: invented, the same in every run
};

} // namespace rkperf::os

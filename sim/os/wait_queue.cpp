// SPDX-License-Identifier: Apache-2.0
#include "sim/os/wait_queue.h"

#include "kernel_events/trace/tracepoints.h"
#include "sim/os/kernel.h"

namespace rkperf::os {

namespace {
/// Once more than so many entries have been woken, the lock is let go for a moment (WAITQUEUE_WALK_BREAK_CNT).
constexpr int kWalkBreak = 64;
} // namespace

void WaitQueueHead::add(Entry& e) {
    if (e.head) return;
    e.head = this;
    e.pos = entries_.insert(entries_.end(), &e);
}

void WaitQueueHead::remove(Entry& e) {
    if (e.head != this) return;
    entries_.erase(e.pos);
    e.head = nullptr;
}

void WaitQueueHead::lock() {
    if (lock_time_ == LockTime::modelled) lock_.lock();
}

void WaitQueueHead::unlock() {
    if (lock_time_ == LockTime::modelled) lock_.unlock();
}

void WaitQueueHead::wake_up(int exclusive_count) {
    // At the end of a run entries may lie on stacks that are gone.
    if (entries_.empty() || kernel_.dismantling()) return;
    // Whoever is woken may take the queue away as soon as other CPUs run.
    const IrqGuard guard(kernel_);
    // A woken entry may remove itself or others: walk a copy and skip what has gone.
    const std::vector<Entry*> copy(entries_.begin(), entries_.end());
    lock();
    int walked = 0;
    for (Entry* e : copy) {
        bool there = false;
        for (Entry* x : entries_) there |= x == e;
        if (!there) continue;
        const bool exclusive = e->exclusive;
        if (e->func)
            e->func(*e);
        else
            kernel_.wake_up_process(*e->task);
        if (exclusive && exclusive_count > 0 && --exclusive_count == 0) break;
        if (++walked > kWalkBreak && e != copy.back()) {
            unlock();
            lock();
            walked = 0;
        }
    }
    unlock();
}

KernelMutex::KernelMutex(Kernel& k)
    : kernel_(k), waiters_(k, WaitQueueHead::LockTime::none), address_(k.new_lock_address()) {}

void KernelMutex::lock() {
    const bool contended = locked_ && !kernel_.dismantling();
    if (contended) {
        // Spins first, in vain: the owner sleeps, or would be waited for anyhow.
        kernel_.tracepoints().trace_contention_begin(address_, ke::LCB_F_MUTEX | ke::LCB_F_SPIN);
        kernel_.tracepoints().trace_contention_begin(address_, ke::LCB_F_MUTEX);
    }
    while (locked_ && !kernel_.dismantling()) {
        Task& me = kernel_.cur();
        WaitQueueHead::Entry e;
        e.task = &me;
        e.exclusive = true;
        waiters_.add(e);
        me.state = TaskState::uninterruptible;
        kernel_.schedule();
        waiters_.remove(e);
    }
    locked_ = true;
    if (contended) kernel_.tracepoints().trace_contention_end(address_, 0);
}

void KernelMutex::unlock() {
    locked_ = false;
    waiters_.wake_up(1);
}

bool KernelMutex::try_lock() {
    if (locked_) return false;
    locked_ = true;
    return true;
}

} // namespace rkperf::os

// SPDX-License-Identifier: Apache-2.0
// Futexes: waiters by physical address of the word (shared) or address space and virtual address (private).
#include "sim/os/process/futex.h"

#include "sim/os/process/process.h"
#include "sim/os/signal/signals.h"
#include "sim/os/time/time_keeper.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace rkperf::os {

namespace {

constexpr int kWait = 0, kWake = 1, kRequeue = 3, kCmpRequeue = 4, kWakeOp = 5, kLockPi = 6, kUnlockPi = 7, kTrylockPi = 8,
              kWaitBitset = 9, kWakeBitset = 10, kLockPi2 = 13;
constexpr int kPrivate = 128, kClockRealtime = 256;
constexpr std::uint32_t kWaiters = 0x80000000, kOwnerDied = 0x40000000, kTidMask = 0x3fffffff;

/// The futex word's key; faults the page in. 0 or -EFAULT, -EINVAL.
int key_of(Kernel& k, Task& t, std::uint64_t uaddr, bool is_private, FutexKey& key) {
    if (uaddr & 3) return -EINVAL;
    if (is_private) {
        if (!k.access_ok(uaddr, 4)) return -EFAULT;
        key = {t.as->asid(), uaddr};
        return 0;
    }
    std::uint32_t word;
    if (k.get(uaddr, word)) return -EFAULT;
    const Vma* v = t.as->find(uaddr);
    // A private page may move by copy-on-write, its address in the address space does not.
    if (v && !(v->map_flags & 1)) {
        key = {t.as->asid(), uaddr};
        return 0;
    }
    const auto pa = t.as->lookup(uaddr, false);
    if (!pa) return -EFAULT;
    key = {FutexKey::kShared, pa->v};
    return 0;
}

/// Absolute deadline in CLOCK_MONOTONIC ns from a user timespec; ~0 without one. Negative errno on a bad one.
std::int64_t deadline_of(Kernel& k, std::uint64_t uts, bool absolute, bool realtime, std::uint64_t& out) {
    out = ~std::uint64_t{0};
    if (!uts) return 0;
    std::int64_t ts[2];
    if (k.get(uts, ts)) return -EFAULT;
    if (ts[0] < 0 || ts[1] < 0 || ts[1] >= 1'000'000'000) return -EINVAL;
    std::int64_t ns = ts[0] > 9'000'000'000 ? std::int64_t{9'000'000'000'000'000'000} : ts[0] * 1'000'000'000 + ts[1];
    if (!absolute)
        ns += static_cast<std::int64_t>(k.time().now_ns());
    else if (realtime)
        ns = std::max<std::int64_t>(ns - k.time().realtime_offset_ns, 0);
    out = static_cast<std::uint64_t>(ns);
    return 0;
}

std::int64_t wait(Kernel& k, Task& t, std::uint64_t uaddr, bool is_private, std::uint32_t expected, std::uint64_t deadline,
                  std::uint32_t bitset, bool relative) {
    if (!bitset) return -EINVAL;
    FutexKey key;
    if (const int e = key_of(k, t, uaddr, is_private, key)) return e;
    Frame f(k, KernelSymbol::futex_wait);
    std::uint32_t word = 0;
    if (k.get(uaddr, word)) return -EFAULT;
    // Between the load and the queueing nothing else runs: no time is charged there.
    if (word != expected) return -EAGAIN;
    FutexWaiter w{&t, key, bitset, false};
    auto& list = k.futexes().waiters;
    list.push_back(&w);
    t.state = TaskState::interruptible;
    std::int64_t result = 0;
    while (!w.woken) {
        if (Signals::pending(t)) {
            result = relative ? kERESTART_RESTARTBLOCK : kERESTARTSYS;
            break;
        }
        if (k.schedule_until(deadline) == -ETIME && !w.woken) {
            result = -ETIMEDOUT;
            break;
        }
        if (!w.woken) t.state = TaskState::interruptible;
    }
    t.state = TaskState::running;
    if (w.woken) return 0;
    list.erase(std::find(list.begin(), list.end(), &w));
    if (result == kERESTART_RESTARTBLOCK) {
        if (deadline == ~std::uint64_t{0}) return kERESTARTSYS;
        Kernel* kp = &k;
        Task* tp = &t;
        t.restart_block = [=] { return wait(*kp, *tp, uaddr, is_private, expected, deadline, bitset, true); };
    }
    return result;
}

int wake_key(Kernel& k, const FutexKey& key, int count, std::uint32_t bitset) {
    int n = 0;
    auto& list = k.futexes().waiters;
    for (auto it = list.begin(); it != list.end() && n < count;) {
        FutexWaiter* w = *it;
        if (w->key != key || !(w->bitset & bitset)) {
            ++it;
            continue;
        }
        it = list.erase(it);
        w->woken = true;
        ++n;
        k.wake_up_process(*w->task);
        it = list.begin(); // waking charges time: the list may have changed
    }
    return n;
}

int requeue(Kernel& k, const FutexKey& from, const FutexKey& to, int count) {
    int n = 0;
    for (FutexWaiter* w : k.futexes().waiters)
        if (w->key == from && n < count) {
            w->key = to;
            ++n;
        }
    return n;
}

std::int64_t wake_op(Kernel& k, Task& t, const FutexKey& key, std::uint64_t uaddr2, bool is_private, int count, int count2,
                     std::uint32_t op) {
    FutexKey key2;
    if (const int e = key_of(k, t, uaddr2, is_private, key2)) return e;
    std::uint32_t old = 0;
    if (k.get(uaddr2, old)) return -EFAULT;
    std::uint32_t arg = op >> 12 & 0xfff;
    const unsigned kind = op >> 28, cmp = op >> 24 & 15, cmparg = op & 0xfff;
    if (kind & 8) arg = 1u << (arg & 31);
    std::uint32_t value = 0;
    switch (kind & 7) {
    case 0: value = arg; break;
    case 1: value = old + arg; break;
    case 2: value = old | arg; break;
    case 3: value = old & ~arg; break;
    case 4: value = old ^ arg; break;
    default: return -ENOSYS;
    }
    if (k.put(uaddr2, value)) return -EFAULT;
    const auto o = static_cast<std::int32_t>(old), c = static_cast<std::int32_t>(cmparg);
    bool also = false;
    switch (cmp) {
    case 0: also = o == c; break;
    case 1: also = o != c; break;
    case 2: also = o < c; break;
    case 3: also = o <= c; break;
    case 4: also = o > c; break;
    case 5: also = o >= c; break;
    default: return -ENOSYS;
    }
    int n = wake_key(k, key, count, ~0u);
    if (also) n += wake_key(k, key2, count2, ~0u);
    return n;
}

std::int64_t lock_pi(Kernel& k, Task& t, std::uint64_t uaddr, bool is_private, std::uint64_t deadline, bool try_only) {
    FutexKey key;
    if (const int e = key_of(k, t, uaddr, is_private, key)) return e;
    for (;;) {
        std::uint32_t word = 0;
        if (k.get(uaddr, word)) return -EFAULT;
        if (!(word & kTidMask)) {
            const std::uint32_t mine = static_cast<std::uint32_t>(t.pid) | (word & (kOwnerDied | kWaiters));
            return k.put(uaddr, mine) ? -EFAULT : 0;
        }
        if ((word & kTidMask) == static_cast<std::uint32_t>(t.pid)) return -EDEADLK;
        if (try_only) return -EAGAIN;
        if (!k.find_task(static_cast<int>(word & kTidMask))) return -ESRCH;
        const std::uint32_t contended = word | kWaiters;
        if (k.put(uaddr, contended)) return -EFAULT;
        const std::int64_t r = wait(k, t, uaddr, is_private, contended, deadline, ~0u, false);
        if (r < 0 && r != -EAGAIN) return r == kERESTARTSYS ? kERESTARTNOINTR : r;
    }
}

std::int64_t unlock_pi(Kernel& k, Task& t, std::uint64_t uaddr, bool is_private) {
    FutexKey key;
    if (const int e = key_of(k, t, uaddr, is_private, key)) return e;
    std::uint32_t word = 0;
    if (k.get(uaddr, word)) return -EFAULT;
    if ((word & kTidMask) != static_cast<std::uint32_t>(t.pid)) return -EPERM;
    const std::uint32_t zero = 0;
    if (k.put(uaddr, zero)) return -EFAULT;
    wake_key(k, key, 1, ~0u);
    return 0;
}

} // namespace

int futex_wake(Kernel& k, Task& t, std::uint64_t uaddr, bool is_private, int count, std::uint32_t bitset) {
    if (!bitset) return -EINVAL;
    FutexKey key;
    if (const int e = key_of(k, t, uaddr, is_private, key)) return e;
    Frame f(k, KernelSymbol::futex_wake);
    return wake_key(k, key, count, bitset);
}

std::int64_t do_futex(Kernel& k, Task& t, const SyscallArgs& a) {
    const int op = static_cast<int>(a[1]);
    const int cmd = op & ~(kPrivate | kClockRealtime);
    const bool is_private = op & kPrivate, realtime = op & kClockRealtime;
    if (realtime && cmd != kWaitBitset && cmd != kLockPi2 && cmd != 11) return -ENOSYS;
    const std::uint64_t uaddr = a[0];
    const auto val = static_cast<std::uint32_t>(a[2]);
    const auto val3 = static_cast<std::uint32_t>(a[5]);
    std::uint64_t deadline = 0;
    switch (cmd) {
    case kWait:
    case kWaitBitset: {
        if (const auto r = deadline_of(k, a[3], cmd == kWaitBitset, realtime, deadline)) return r;
        return wait(k, t, uaddr, is_private, val, deadline, cmd == kWait ? ~0u : val3, cmd == kWait && a[3]);
    }
    case kWake: return futex_wake(k, t, uaddr, is_private, std::max(static_cast<int>(val), 1), ~0u);
    case kWakeBitset: return futex_wake(k, t, uaddr, is_private, std::max(static_cast<int>(val), 1), val3);
    case kRequeue:
    case kCmpRequeue: {
        const int nr_requeue = static_cast<int>(a[3]);
        if (static_cast<int>(val) < 0 || nr_requeue < 0) return -EINVAL;
        FutexKey key, key2;
        if (const int e = key_of(k, t, uaddr, is_private, key)) return e;
        if (const int e = key_of(k, t, a[4], is_private, key2)) return e;
        if (cmd == kCmpRequeue) {
            std::uint32_t word = 0;
            if (k.get(uaddr, word)) return -EFAULT;
            if (word != val3) return -EAGAIN;
        }
        const int woken = wake_key(k, key, static_cast<int>(val), ~0u);
        const int moved = requeue(k, key, key2, nr_requeue);
        return cmd == kCmpRequeue ? woken + moved : woken;
    }
    case kWakeOp: {
        FutexKey key;
        if (const int e = key_of(k, t, uaddr, is_private, key)) return e;
        return wake_op(k, t, key, a[4], is_private, static_cast<int>(val), static_cast<int>(a[3]), val3);
    }
    case kLockPi:
    case kLockPi2: {
        if (const auto r = deadline_of(k, a[3], true, cmd == kLockPi || realtime, deadline)) return r;
        return lock_pi(k, t, uaddr, is_private, deadline, false);
    }
    case kTrylockPi: return lock_pi(k, t, uaddr, is_private, 0, true);
    case kUnlockPi: return unlock_pi(k, t, uaddr, is_private);
    default: return -ENOSYS;
    }
}

void exit_robust_list(Kernel& k, Task& t) {
    if (!t.robust_list || !t.as) return;
    std::uint64_t head[3]; // list.next, futex_offset, list_op_pending
    if (k.get(t.robust_list, head)) return;
    constexpr int kLimit = 2048;
    std::uint64_t entry = head[0];
    const auto release = [&](std::uint64_t e) {
        const std::uint64_t uaddr = (e & ~1ull) + head[1];
        std::uint32_t word = 0;
        if (k.get(uaddr, word) || (word & kTidMask) != static_cast<std::uint32_t>(t.pid)) return;
        const std::uint32_t died = (word & kWaiters) | kOwnerDied;
        if (k.put(uaddr, died)) return;
        if (word & kWaiters) futex_wake(k, t, uaddr, false, 1, ~0u);
    };
    for (int i = 0; i < kLimit && entry != t.robust_list; ++i) {
        std::uint64_t next = 0;
        if (k.get(entry & ~1ull, next)) break;
        if (entry != head[2]) release(entry);
        entry = next;
    }
    if (head[2]) release(head[2]);
    t.robust_list = 0;
}

} // namespace rkperf::os

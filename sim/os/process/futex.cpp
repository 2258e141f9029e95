// SPDX-License-Identifier: Apache-2.0
// Futexes: waiters by physical address of the word (shared) or address space and virtual address (private).
#include "sim/os/process/futex.h"
#include "sim/os/ns/pid_namespace.h"

#include "sim/os/process/process.h"
#include "sim/os/signal/signals.h"
#include "sim/os/time/time_keeper.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <vector>

namespace rkperf::os {

namespace {

constexpr int kWait = 0, kWake = 1, kRequeue = 3, kCmpRequeue = 4, kWakeOp = 5, kLockPi = 6, kUnlockPi = 7,
              kTrylockPi = 8, kWaitBitset = 9, kWakeBitset = 10, kWaitRequeuePi = 11, kCmpRequeuePi = 12, kLockPi2 = 13;
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

/// Applies `fn` to the futex word as one atomic step, faulting its page in before; 0 or -EFAULT. With `write`, what fn
/// leaves in the word is stored.
template <class Fn>
int access_word(Kernel& k, Task& t, std::uint64_t uaddr, bool write, Fn&& fn) {
    constexpr int kTries = 64; // another thread may take the page away again
    for (int i = 0; i < kTries; ++i) {
        {
            const IrqGuard guard(k);
            if (const auto pa = t.as->lookup(uaddr, write)) {
                std::uint32_t word;
                std::uint8_t* host = k.memory().host(*pa);
                std::memcpy(&word, host, sizeof word);
                fn(word);
                if (write) std::memcpy(host, &word, sizeof word);
                k.core().kernel_access(*pa, sizeof word, write);
                return 0;
            }
        }
        if (t.as->handle_fault(uaddr, write, false, AddressSpace::FaultBy::kernel).signal) return -EFAULT;
    }
    return -EFAULT;
}

/// Sleeps until w, which is queued, is woken: 0, -ETIMEDOUT, or kERESTARTSYS after a signal. w is off the list then.
std::int64_t sleep(Kernel& k, Task& t, FutexWaiter& w, std::uint64_t deadline) {
    std::int64_t result = 0;
    while (!w.woken) {
        t.state = TaskState::interruptible;
        if (Signals::pending(t)) {
            result = kERESTARTSYS;
            break;
        }
        if (k.schedule_until(deadline) == -ETIME && !w.woken) {
            result = -ETIMEDOUT;
            break;
        }
    }
    t.state = TaskState::running;
    if (w.woken) return 0;
    auto& list = k.futexes().waiters;
    list.erase(std::find(list.begin(), list.end(), &w));
    return result;
}

/// Queues w if the word is as expected; nobody may change it between the look and the queueing. 0, -EFAULT or -EAGAIN.
int queue_if(Kernel& k, Task& t, std::uint64_t uaddr, std::uint32_t expected, FutexWaiter& w) {
    const int e = access_word(k, t, uaddr, false, [&](std::uint32_t word) {
        w.queued = word == expected;
        if (w.queued) k.futexes().waiters.push_back(&w);
    });
    return e || w.queued ? e : -EAGAIN;
}

std::int64_t wait(Kernel& k, Task& t, std::uint64_t uaddr, bool is_private, std::uint32_t expected,
                  std::uint64_t deadline, std::uint32_t bitset) {
    if (!bitset) return -EINVAL;
    FutexKey key;
    if (const int e = key_of(k, t, uaddr, is_private, key)) return e;
    Frame f(k, KernelSymbol::futex_wait);
    FutexWaiter w{&t, key, bitset, false, false, 0};
    if (const int e = queue_if(k, t, uaddr, expected, w)) return e;
    const std::int64_t result = sleep(k, t, w, deadline);
    if (result != kERESTARTSYS || deadline == ~std::uint64_t{0}) return result;
    Kernel* kp = &k;
    Task* tp = &t;
    t.restart_block = [=] { return wait(*kp, *tp, uaddr, is_private, expected, deadline, bitset); };
    return kERESTART_RESTARTBLOCK;
}

/// How many were woken; -EINVAL if it comes to one who waits for a PI futex.
int wake_key(Kernel& k, const FutexKey& key, int count, std::uint32_t bitset) {
    const IrqGuard guard(k);
    int n = 0;
    auto& list = k.futexes().waiters;
    for (auto it = list.begin(); it != list.end() && n < count;) {
        FutexWaiter* w = *it;
        if (w->key != key) {
            ++it;
            continue;
        }
        if (w->pi || w->for_pi) return -EINVAL;
        if (!(w->bitset & bitset)) {
            ++it;
            continue;
        }
        it = list.erase(it);
        w->woken = true;
        ++n;
        k.wake_up_process(*w->task);
    }
    return n;
}

/// Wakes `wake` waiters and moves up to `count` more: how many in all, or -EINVAL if it comes to one who waits for a PI futex.
int requeue(Kernel& k, const FutexKey& from, const FutexKey& to, int wake, int count) {
    const IrqGuard guard(k);
    int n = 0;
    auto& list = k.futexes().waiters;
    for (auto it = list.begin(); it != list.end() && n - wake < count;) {
        FutexWaiter* w = *it;
        if (w->key != from) {
            ++it;
            continue;
        }
        if (w->pi || w->for_pi) return -EINVAL;
        if (++n > wake) {
            w->key = to;
            ++it;
            continue;
        }
        it = list.erase(it);
        w->woken = true;
        k.wake_up_process(*w->task);
    }
    return n;
}

std::int64_t wake_op(Kernel& k, Task& t, const FutexKey& key, std::uint64_t uaddr2, bool is_private, int count,
                     int count2, std::uint32_t op) {
    FutexKey key2;
    if (const int bad = key_of(k, t, uaddr2, is_private, key2)) return bad;
    std::uint32_t arg = op >> 12 & 0xfff;
    const unsigned kind = op >> 28, cmp = op >> 24 & 15, cmparg = op & 0xfff;
    if (kind & 8) arg = 1u << (arg & 31);
    if ((kind & 7) > 4 || cmp > 5) return -ENOSYS;
    std::uint32_t old = 0;
    const int e = access_word(k, t, uaddr2, true, [&](std::uint32_t& word) {
        old = word;
        switch (kind & 7) {
            case 0: word = arg; break;
            case 1: word += arg; break;
            case 2: word |= arg; break;
            case 3: word &= ~arg; break;
            default: word ^= arg; break;
        }
    });
    if (e) return e;
    const auto o = static_cast<std::int32_t>(old), c = static_cast<std::int32_t>(cmparg);
    bool also = false;
    switch (cmp) {
        case 0: also = o == c; break;
        case 1: also = o != c; break;
        case 2: also = o < c; break;
        case 3: also = o <= c; break;
        case 4: also = o > c; break;
        default: also = o >= c; break;
    }
    const int n = wake_key(k, key, count, ~0u);
    if (n < 0 || !also) return n;
    const int more = wake_key(k, key2, count2, ~0u);
    return more < 0 ? more : n + more;
}

/// The most urgent waiter of a PI futex, in order of arrival among equals; null if there is none. `others`: how many more.
FutexWaiter* top_pi_waiter(Kernel& k, const FutexKey& key, unsigned& others) {
    FutexWaiter* best = nullptr;
    unsigned n = 0;
    for (FutexWaiter* w : k.futexes().waiters) {
        if (w->key != key || !w->pi) continue;
        ++n;
        if (!best || w->task->se.rt_priority > best->task->se.rt_priority) best = w;
    }
    others = n ? n - 1 : 0;
    return best;
}

/// Gives the lock to `w` and wakes it; returns the new word. Interrupts masked.
std::uint32_t hand_over(Kernel& k, FutexWaiter& w, unsigned others, std::uint32_t flags) {
    auto& list = k.futexes().waiters;
    list.erase(std::find(list.begin(), list.end(), &w));
    const auto tid = static_cast<std::uint32_t>(pid_vnr(*w.task, w.task->pid));
    for (FutexWaiter* x : list)
        if (x->key == w.key && x->pi) x->owner = w.task->pid;
    w.woken = true;
    k.wake_up_process(*w.task);
    return tid | (others ? kWaiters : 0) | flags;
}

std::int64_t lock_pi(Kernel& k, Task& t, std::uint64_t uaddr, bool is_private, std::uint64_t deadline, bool try_only) {
    FutexKey key;
    if (const int e = key_of(k, t, uaddr, is_private, key)) return e;
    const auto me = static_cast<std::uint32_t>(pid_vnr(t, t.pid));
    FutexWaiter w{&t, key, ~0u, false, true, 0};
    std::int64_t result = 0;
    const int e = access_word(k, t, uaddr, true, [&](std::uint32_t& word) {
        const std::uint32_t owner = word & kTidMask;
        if (!owner) {
            word = me | (word & (kOwnerDied | kWaiters));
        } else if (owner == me) {
            result = -EDEADLK;
        } else if (try_only) {
            result = -EAGAIN;
        } else if (const Task* o = k.find_task_vpid(static_cast<int>(owner)); !o || o->exiting) {
            result = -ESRCH;
        } else {
            word |= kWaiters;
            w.owner = pid_global(t, static_cast<int>(owner));
            w.queued = true;
            k.futexes().waiters.push_back(&w);
        }
    });
    if (e) return e;
    if (!w.queued) return result;
    result = sleep(k, t, w, deadline);
    return result == kERESTARTSYS ? kERESTARTNOINTR : result;
}

std::int64_t unlock_pi(Kernel& k, Task& t, std::uint64_t uaddr, bool is_private) {
    FutexKey key;
    if (const int e = key_of(k, t, uaddr, is_private, key)) return e;
    std::int64_t result = 0;
    const int e = access_word(k, t, uaddr, true, [&](std::uint32_t& word) {
        if ((word & kTidMask) != static_cast<std::uint32_t>(pid_vnr(t, t.pid))) {
            result = -EPERM;
            return;
        }
        unsigned others = 0;
        FutexWaiter* w = top_pi_waiter(k, key, others);
        word = w ? hand_over(k, *w, others, 0) : 0;
    });
    return e ? e : result;
}

/// Waits on a plain futex to be moved to a PI futex, which it has when it returns 0.
std::int64_t wait_requeue_pi(Kernel& k, Task& t, std::uint64_t uaddr, std::uint64_t uaddr2, bool is_private,
                             std::uint32_t expected, std::uint64_t deadline) {
    if (uaddr == uaddr2) return -EINVAL;
    FutexKey key, target;
    if (const int e = key_of(k, t, uaddr2, is_private, target)) return e;
    if (const int e = key_of(k, t, uaddr, is_private, key)) return e;
    if (key == target) return -EINVAL;
    Frame f(k, KernelSymbol::futex_wait);
    FutexWaiter w{&t, key, ~0u, false, false, 0};
    w.for_pi = true;
    w.target = target;
    if (const int e = queue_if(k, t, uaddr, expected, w)) return e;
    const std::int64_t result = sleep(k, t, w, deadline);
    if (result != kERESTARTSYS) return result;
    // The word has changed by the time it is moved: the caller must look again.
    return w.pi ? std::int64_t{-EAGAIN} : kERESTARTNOINTR;
}

std::int64_t cmp_requeue_pi(Kernel& k, Task& t, std::uint64_t uaddr, std::uint64_t uaddr2, bool is_private, int wake,
                            int count, std::uint32_t expected) {
    if (wake < 0 || count < 0) return -EINVAL;
    if (uaddr == uaddr2 || wake != 1) return -EINVAL;
    FutexKey key, key2;
    if (const int e = key_of(k, t, uaddr, is_private, key)) return e;
    if (const int e = key_of(k, t, uaddr2, is_private, key2)) return e;
    if (key == key2) return -EINVAL;
    std::uint32_t now = 0;
    if (access_word(k, t, uaddr, false, [&](std::uint32_t word) { now = word; })) return -EFAULT;
    if (now != expected) return -EAGAIN;
    std::int64_t result = 0;
    int moved = 0;
    auto& list = k.futexes().waiters;
    const int e = access_word(k, t, uaddr2, true, [&](std::uint32_t& word) {
        for (auto it = list.begin(); it != list.end() && moved - wake < count;) {
            FutexWaiter* w = *it;
            if (w->key != key) {
                ++it;
                continue;
            }
            if (!w->for_pi || w->target != key2) {
                result = -EINVAL;
                return;
            }
            const std::uint32_t holder = word & kTidMask;
            if (!holder) { // free: the first one has it at once
                word = static_cast<std::uint32_t>(pid_vnr(*w->task, w->task->pid)) | (word & kOwnerDied);
                w->woken = true;
                it = list.erase(it);
                ++moved;
                k.wake_up_process(*w->task);
                continue;
            }
            const Task* o = k.find_task_vpid(static_cast<int>(holder));
            if (!o || o->exiting) {
                result = -ESRCH;
                return;
            }
            if (o == w->task) {
                result = -EDEADLK;
                return;
            }
            word |= kWaiters;
            w->key = key2;
            w->pi = true;
            w->for_pi = false;
            w->owner = o->pid;
            ++moved;
            ++it;
        }
    });
    if (e) return e;
    return result ? result : moved;
}

/// A task ends that owns PI futexes others wait for: they get them, told that the owner died.
void exit_pi_futexes(Kernel& k, Task& t) {
    for (;;) {
        FutexWaiter* found = nullptr;
        for (FutexWaiter* w : k.futexes().waiters)
            if (w->pi && w->owner == t.pid) {
                found = w;
                break;
            }
        if (!found) return;
        // The word is reached through the waiter's mappings.
        const FutexKey key = found->key;
        const IrqGuard guard(k);
        unsigned others = 0;
        FutexWaiter* w = top_pi_waiter(k, key, others);
        const std::uint32_t word = hand_over(k, *w, others, kOwnerDied);
        const auto pa = key.space == FutexKey::kShared ? std::optional(PhysAddr(key.address))
                                                       : w->task->as->lookup(key.address, true);
        if (!pa) continue;
        std::memcpy(k.memory().host(*pa), &word, sizeof word);
        k.core().kernel_access(*pa, sizeof word, true);
    }
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
    if (realtime && cmd != kWaitBitset && cmd != kLockPi2 && cmd != kWaitRequeuePi) return -ENOSYS;
    const std::uint64_t uaddr = a[0];
    const auto val = static_cast<std::uint32_t>(a[2]);
    const auto val3 = static_cast<std::uint32_t>(a[5]);
    std::uint64_t deadline = 0;
    switch (cmd) {
        case kWait:
        case kWaitBitset: {
            if (const auto r = deadline_of(k, a[3], cmd == kWaitBitset, realtime, deadline)) return r;
            return wait(k, t, uaddr, is_private, val, deadline, cmd == kWait ? ~0u : val3);
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
                if (access_word(k, t, uaddr, false, [&](std::uint32_t now) { word = now; })) return -EFAULT;
                if (word != val3) return -EAGAIN;
            }
            return requeue(k, key, key2, static_cast<int>(val), nr_requeue);
        }
        case kWaitRequeuePi: {
            if (const auto r = deadline_of(k, a[3], true, realtime, deadline)) return r;
            return wait_requeue_pi(k, t, uaddr, a[4], is_private, val, deadline);
        }
        case kCmpRequeuePi:
            return cmp_requeue_pi(k, t, uaddr, a[4], is_private, static_cast<int>(val), static_cast<int>(a[3]), val3);
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

std::int64_t do_futex_waitv(Kernel& k, Task& t, const SyscallArgs& a) {
    struct Entry {
        std::uint64_t value, address;
        std::uint32_t flags, reserved;
    };
    constexpr std::uint32_t k32Bit = 2, kMost = 128;
    if (a[2] || !a[1] || a[1] > kMost || !a[0]) return -EINVAL;
    std::uint64_t deadline = ~std::uint64_t{0};
    if (a[3]) {
        const auto clock = static_cast<int>(a[4]);
        if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return -EINVAL;
        if (const auto r = deadline_of(k, a[3], true, clock == CLOCK_REALTIME, deadline)) return r;
    }
    const auto count = static_cast<std::uint32_t>(a[1]);
    std::vector<Entry> entries(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        if (k.get(a[0] + i * sizeof(Entry), entries[i])) return -EFAULT;
        const Entry& e = entries[i];
        if (e.flags & ~(k32Bit | static_cast<std::uint32_t>(kPrivate)) || e.reserved || !(e.flags & k32Bit))
            return -EINVAL;
    }
    std::vector<FutexWaiter> waiters(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        waiters[i].task = &t;
        waiters[i].bitset = ~0u;
        if (const int e = key_of(k, t, entries[i].address, entries[i].flags & kPrivate, waiters[i].key)) return e;
    }
    Frame f(k, KernelSymbol::futex_wait);
    auto& list = k.futexes().waiters;
    /// Takes all off the list: the last one that was woken, or -1.
    const auto unqueue = [&] {
        const IrqGuard guard(k);
        int woken = -1;
        for (std::uint32_t i = 0; i < count; ++i)
            if (waiters[i].woken)
                woken = static_cast<int>(i);
            else if (waiters[i].queued)
                list.erase(std::find(list.begin(), list.end(), &waiters[i]));
        return woken;
    };
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto expected = static_cast<std::uint32_t>(entries[i].value);
        const int e = queue_if(k, t, entries[i].address, expected, waiters[i]);
        if (!e) continue;
        const int woken = unqueue();
        return woken >= 0 ? woken : e;
    }
    std::int64_t result = 0;
    const auto any = [&] { return std::any_of(waiters.begin(), waiters.end(), [](const auto& w) { return w.woken; }); };
    while (!any()) {
        t.state = TaskState::interruptible;
        if (Signals::pending(t)) {
            result = kERESTARTSYS;
            break;
        }
        if (k.schedule_until(deadline) == -ETIME && !any()) {
            result = -ETIMEDOUT;
            break;
        }
    }
    t.state = TaskState::running;
    const int woken = unqueue();
    return woken >= 0 ? woken : result;
}

void exit_robust_list(Kernel& k, Task& t) {
    if (t.as) exit_pi_futexes(k, t);
    if (!t.robust_list || !t.as) return;
    std::uint64_t head[3]; // list.next, futex_offset, list_op_pending
    if (k.get(t.robust_list, head)) return;
    constexpr int kLimit = 2048;
    std::uint64_t entry = head[0];
    // Bit 0 of an entry marks a PI futex: its waiters have got it already.
    const auto release = [&](std::uint64_t e, bool pending) {
        const std::uint64_t uaddr = (e & ~1ull) + head[1];
        const bool pi = e & 1;
        if (uaddr & 3) return;
        bool wake = false;
        access_word(k, t, uaddr, true, [&](std::uint32_t& word) {
            if (pending && !pi && !word) wake = true; // it had unlocked and was about to wake
            if ((word & kTidMask) != static_cast<std::uint32_t>(pid_vnr(t, t.pid))) return;
            wake = !pi && (word & kWaiters);
            word = (word & kWaiters) | kOwnerDied;
        });
        if (wake) futex_wake(k, t, uaddr, false, 1, ~0u);
    };
    for (int i = 0; i < kLimit && (entry & ~1ull) != t.robust_list; ++i) {
        std::uint64_t next = 0;
        const bool last = k.get(entry & ~1ull, next) != 0;
        if ((entry & ~1ull) != (head[2] & ~1ull)) release(entry, false);
        if (last) break;
        entry = next;
    }
    if (head[2]) release(head[2], true);
    t.robust_list = 0;
}

} // namespace rkperf::os

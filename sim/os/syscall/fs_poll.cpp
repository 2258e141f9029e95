// SPDX-License-Identifier: Apache-2.0
// Waiting for several files: ppoll, pselect6, epoll; timerfd and signalfd.
#include "sim/os/fs/epoll.h"
#include "sim/os/fs/signal_file.h"
#include "sim/os/signal/signals.h"
#include "sim/os/syscall/fs_common.h"

#include <poll.h>
#include <sys/resource.h>
#include <algorithm>
#include <csignal>
#include <limits>
#include <list>

namespace rkperf::os {

namespace {

constexpr std::uint64_t kForever = ~0ull;

/// Sleeps on any number of wait queues at once (struct poll_wqueues).
class PollTable {
  public:
    PollTable(Kernel& k, Task& t) : k_(k), t_(t) {}
    ~PollTable() {
        // As soon as time passes others run, and may take queues away.
        std::vector<SpinLock::Wait> waits;
        for (auto& e : entries_)
            if (e.head) {
                waits.push_back(e.head->arrive());
                e.head->remove(e);
            }
        for (const SpinLock::Wait& w : waits) SpinLock::spend(k_, w);
    }
    PollTable(const PollTable&) = delete;
    PollTable& operator=(const PollTable&) = delete;

    /// Events of a file; the first time round its queue is joined.
    ke::PollMask look(const FileHandle& f) {
        WaitQueueHead* wq = nullptr;
        const ke::PollMask m = f->poll(wq);
        if (!joining_) return m;
        held_.push_back(f); // another thread may close it meanwhile
        if (f->host_polled()) host_ = f.get();
        if (wq) {
            WaitQueueHead::Entry& e = entries_.emplace_back();
            e.func = [this](WaitQueueHead::Entry&) {
                triggered_ = true;
                k_.wake_up_process(t_);
            };
            wq->add(e);
        }
        return m;
    }
    void joined() { joining_ = false; }
    /// False when the deadline has passed.
    bool sleep(std::uint64_t deadline) {
        std::uint64_t until = deadline;
        if (host_) until = std::min(until, now_ns(k_) + kHostPollNs);
        std::int64_t r = 0;
        t_.state = TaskState::interruptible;
        if (!triggered_) r = k_.schedule_until(until);
        t_.state = TaskState::running;
        triggered_ = false;
        if (host_ && r == -ETIME) host_->host_wait(kHostPollMs);
        return r != -ETIME || until != deadline;
    }

  private:
    Kernel& k_;
    Task& t_;
    std::list<WaitQueueHead::Entry> entries_;
    std::vector<FileHandle> held_;
    bool joining_{true}, triggered_{};
    File* host_{};
};

/// A signal mask for the time of a call (set_user_sigmask).
class TemporaryMask {
  public:
    TemporaryMask(Kernel& k, Task& t) : k_(k), t_(t) {}
    int set(std::uint64_t address, std::uint64_t size) {
        if (!address) return 0;
        if (size != sizeof(SigSet)) return -EINVAL;
        SigSet set;
        if (k_.get(address, set)) return -EFAULT;
        t_.saved_sigmask = t_.blocked;
        t_.restore_sigmask = true;
        k_.signals().set_blocked(t_, set);
        return 0;
    }
    /// After the call. A signal that came must still find the mask: the way back to user space restores it then.
    void finish(bool interrupted) {
        if (interrupted || !t_.restore_sigmask) return;
        t_.restore_sigmask = false;
        k_.signals().set_blocked(t_, t_.saved_sigmask);
    }

  private:
    Kernel& k_;
    Task& t_;
};

std::uint64_t deadline_of(Kernel& k, std::uint64_t ns) {
    if (!ns) return 0;
    const std::uint64_t now = now_ns(k);
    return ns > kForever - 1 - now ? kForever : now + ns;
}

/// poll_select_finish: the time left goes back to the caller; if it cannot, the call is not restarted.
std::int64_t finish_timed(Kernel& k, std::uint64_t address, std::uint64_t deadline, std::int64_t result) {
    if (!address) return result;
    const std::uint64_t now = now_ns(k);
    const std::uint64_t left = deadline > now && deadline != 0 ? deadline - now : 0;
    if (put_timespec(k, address, left) == 0) return result;
    return result == kERESTARTNOHAND ? -EINTR : result;
}

std::int64_t do_poll(Kernel& k, Task& t, std::vector<pollfd>& fds, std::uint64_t deadline) {
    Frame f(k, KernelSymbol::do_sys_poll);
    constexpr std::uint32_t kPerFile = 110;
    PollTable table(k, t);
    bool timed_out = deadline == 0;
    for (;;) {
        int count = 0;
        for (pollfd& p : fds) {
            p.revents = 0;
            if (p.fd < 0) continue;
            k.charge(kPerFile);
            const FileHandle file = file_of_fd(t, static_cast<std::uint64_t>(p.fd));
            const auto want = static_cast<std::uint32_t>(static_cast<std::uint16_t>(p.events)) | POLLERR | POLLHUP;
            p.revents = static_cast<short>(file ? table.look(file) & want : POLLNVAL);
            count += p.revents != 0;
        }
        table.joined();
        if (count || timed_out) return count;
        if (Signals::pending(t)) return kERESTARTNOHAND;
        timed_out = !table.sleep(deadline);
    }
}

std::int64_t sys_ppoll(Kernel& k, Task& t, const SyscallArgs& a) {
    std::uint64_t ns = 0, deadline = kForever;
    if (a[2]) {
        if (const int err = get_timespec(k, a[2], ns); err) return err;
        deadline = deadline_of(k, ns);
    }
    TemporaryMask mask(k, t);
    if (const int err = mask.set(a[3], a[4]); err) return err;
    const auto n = static_cast<std::uint32_t>(a[1]);
    std::int64_t r = 0;
    std::vector<pollfd> fds;
    if (n > k.rlimit(RLIMIT_NOFILE)) {
        r = -EINVAL;
    } else {
        fds.resize(n);
        if (n && k.get_user(fds.data(), a[0], n * sizeof(pollfd))) r = -EFAULT;
    }
    if (r == 0) {
        r = do_poll(k, t, fds, deadline);
        for (std::uint32_t i = 0; i < n && r >= 0; ++i)
            if (k.put(a[0] + i * sizeof(pollfd) + offsetof(pollfd, revents), fds[i].revents)) r = -EFAULT;
    }
    mask.finish(r == kERESTARTNOHAND);
    return finish_timed(k, a[2], deadline, r);
}

// --- select ---

struct SelectSet {
    std::uint64_t address;
    ke::PollMask bits;
    std::vector<std::uint64_t> in, out;
};
constexpr ke::PollMask kSelectIn = POLLRDNORM | POLLRDBAND | POLLIN | POLLHUP | POLLERR;
constexpr ke::PollMask kSelectOut = POLLWRBAND | POLLWRNORM | POLLOUT | POLLERR;
constexpr ke::PollMask kSelectEx = POLLPRI;

std::int64_t do_select(Kernel& k, Task& t, int n, std::span<SelectSet> sets, std::uint64_t deadline) {
    Frame f(k, KernelSymbol::do_select);
    constexpr std::uint32_t kPerFile = 110;
    const auto has = [](const std::vector<std::uint64_t>& v, int fd) {
        const auto word = static_cast<std::size_t>(fd / 64);
        return word < v.size() && (v[word] >> (fd % 64) & 1);
    };
    PollTable table(k, t);
    bool timed_out = deadline == 0;
    for (;;) {
        int count = 0;
        for (int fd = 0; fd < n; ++fd) {
            if (std::none_of(sets.begin(), sets.end(), [&](const SelectSet& s) { return has(s.in, fd); })) continue;
            k.charge(kPerFile);
            const FileHandle file = file_of_fd(t, static_cast<std::uint64_t>(fd));
            if (!file) return -EBADF;
            const ke::PollMask m = table.look(file);
            for (SelectSet& s : sets)
                if (has(s.in, fd) && m & s.bits) {
                    s.out[static_cast<std::size_t>(fd / 64)] |= 1ull << (fd % 64);
                    ++count;
                }
        }
        table.joined();
        if (count || timed_out) return count;
        if (Signals::pending(t)) return kERESTARTNOHAND;
        timed_out = !table.sleep(deadline);
    }
}

std::int64_t sys_pselect6(Kernel& k, Task& t, const SyscallArgs& a) {
    std::uint64_t ns = 0, deadline = kForever, sigmask[2] = {0, 0};
    if (a[5] && k.get_user(sigmask, a[5], sizeof sigmask)) return -EFAULT;
    if (a[4]) {
        if (const int err = get_timespec(k, a[4], ns); err) return err;
        deadline = deadline_of(k, ns);
    }
    TemporaryMask mask(k, t);
    if (const int err = mask.set(sigmask[0], sigmask[1]); err) return err;
    int n = static_cast<int>(a[0]);
    std::int64_t r = n < 0 ? -EINVAL : 0;
    // Linux looks no further than its table reaches; descriptors above cannot be open.
    const int highest = t.files->slots().empty() ? 0 : t.files->slots().rbegin()->first + 1;
    n = std::min(n, std::max(64, (highest + 63) / 64 * 64));
    SelectSet sets[] = {{a[1], kSelectIn, {}, {}}, {a[2], kSelectOut, {}, {}}, {a[3], kSelectEx, {}, {}}};
    for (SelectSet& s : sets) {
        if (!s.address || r) continue;
        s.in.resize(static_cast<std::size_t>((n + 63) / 64));
        s.out.resize(s.in.size());
        if (!s.in.empty() && k.get_user(s.in.data(), s.address, s.in.size() * 8)) r = -EFAULT;
    }
    if (r == 0) {
        r = do_select(k, t, n, sets, deadline);
        for (const SelectSet& s : sets)
            if (r >= 0 && s.address && !s.out.empty() && k.put_user(s.address, s.out.data(), s.out.size() * 8))
                r = -EFAULT;
    }
    mask.finish(r == kERESTARTNOHAND);
    return finish_timed(k, a[4], deadline, r);
}

// --- epoll ---

std::int64_t sys_epoll_create1(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::do_epoll_create);
    if (static_cast<std::uint32_t>(a[0]) & ~abi::o_cloexec) return -EINVAL;
    return new_fd(k, t, std::make_shared<Epoll>(vfs_of(k).services()), a[0] & abi::o_cloexec);
}

std::int64_t sys_epoll_ctl(Kernel& k, Task& t, const SyscallArgs& a) {
    abi::epoll_event event{};
    const int op = static_cast<int>(a[1]);
    if (op != 2 && k.get(a[3], event)) return -EFAULT;
    const FileHandle ep = file_of_fd(t, a[0]), file = file_of_fd(t, a[2]);
    if (!ep || !file) return -EBADF;
    if (!file->pollable()) return -EPERM;
    auto* epoll = dynamic_cast<Epoll*>(ep.get());
    return epoll ? epoll->ctl(op, fd_of(a[2]), file, event) : -EINVAL;
}

std::int64_t epoll_wait_common(Kernel& k, Task& t, const SyscallArgs& a, std::uint64_t deadline) {
    TemporaryMask mask(k, t);
    if (const int err = mask.set(a[4], a[5]); err) return err;
    std::int64_t r = 0;
    {
        Frame f(k, KernelSymbol::do_epoll_wait);
        const int max = static_cast<int>(a[2]);
        const FileHandle ep = file_of_fd(t, a[0]);
        auto* epoll = dynamic_cast<Epoll*>(ep.get());
        if (max <= 0 || static_cast<std::size_t>(max) > std::numeric_limits<int>::max() / sizeof(abi::epoll_event))
            r = -EINVAL;
        else if (!k.access_ok(a[1], static_cast<std::uint64_t>(max) * sizeof(abi::epoll_event)))
            r = -EFAULT;
        else if (!ep)
            r = -EBADF;
        else if (!epoll)
            r = -EINVAL;
        else
            r = epoll->wait(max, deadline, [&](int i, const abi::epoll_event& e) {
                return k.put(a[1] + static_cast<std::uint64_t>(i) * sizeof e, e);
            });
    }
    mask.finish(r == -EINTR);
    return r;
}

std::int64_t sys_epoll_pwait(Kernel& k, Task& t, const SyscallArgs& a) {
    const int ms = static_cast<int>(a[3]);
    return epoll_wait_common(k, t, a, ms < 0 ? kForever : deadline_of(k, static_cast<std::uint64_t>(ms) * 1'000'000));
}

std::int64_t sys_epoll_pwait2(Kernel& k, Task& t, const SyscallArgs& a) {
    std::uint64_t ns = 0, deadline = kForever;
    if (a[3]) {
        if (const int err = get_timespec(k, a[3], ns); err) return err;
        deadline = deadline_of(k, ns);
    }
    return epoll_wait_common(k, t, a, deadline);
}

// --- timerfd ---

constexpr std::uint64_t kTfdAbstime = 1, kTfdCancelOnSet = 2;

std::int64_t sys_timerfd_create(Kernel& k, Task& t, const SyscallArgs& a) {
    const int clock = static_cast<int>(a[0]);
    const auto flags = static_cast<std::uint32_t>(a[1]);
    if (flags & ~(abi::o_cloexec | abi::o_nonblock)) return -EINVAL;
    constexpr int kRealtimeAlarm = 8, kBoottimeAlarm = 9;
    const bool alarm = clock == kRealtimeAlarm || clock == kBoottimeAlarm;
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME && !alarm) return -EINVAL;
    // The machine never suspends, so an alarm clock is the clock it follows.
    const int real = clock == kRealtimeAlarm ? CLOCK_REALTIME : clock == kBoottimeAlarm ? CLOCK_BOOTTIME : clock;
    return new_fd(k, t, make_timerfd(vfs_of(k).services(), real, flags), flags & abi::o_cloexec);
}

std::int64_t put_itimerspec(Kernel& k, std::uint64_t address, const TimerFile::Setting& s) {
    return put_timespec(k, address, s.interval_ns) || put_timespec(k, address + 16, s.value_ns) ? -EFAULT : 0;
}

std::int64_t sys_timerfd_settime(Kernel& k, Task& t, const SyscallArgs& a) {
    TimerFile::Setting s;
    if (const int err = get_timespec(k, a[2], s.interval_ns); err) return err;
    if (const int err = get_timespec(k, a[2] + 16, s.value_ns); err) return err;
    if (a[1] & ~(kTfdAbstime | kTfdCancelOnSet)) return -EINVAL;
    const FileHandle f = file_of_fd(t, a[0]);
    if (!f) return -EBADF;
    auto* timer = dynamic_cast<TimerFile*>(f.get());
    if (!timer) return -EINVAL;
    const TimerFile::Setting old = timer->set(s, a[1] & kTfdAbstime);
    return a[3] ? put_itimerspec(k, a[3], old) : 0;
}

std::int64_t sys_timerfd_gettime(Kernel& k, Task& t, const SyscallArgs& a) {
    const FileHandle f = file_of_fd(t, a[0]);
    if (!f) return -EBADF;
    auto* timer = dynamic_cast<TimerFile*>(f.get());
    return timer ? put_itimerspec(k, a[1], timer->get()) : -EINVAL;
}

std::int64_t sys_signalfd4(Kernel& k, Task& t, const SyscallArgs& a) {
    const auto flags = static_cast<std::uint32_t>(a[3]);
    if (a[2] != sizeof(SigSet)) return -EINVAL;
    SigSet mask;
    if (k.get(a[1], mask)) return -EFAULT;
    if (flags & ~(abi::o_cloexec | abi::o_nonblock)) return -EINVAL;
    mask &= ~(1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1));
    if (fd_of(a[0]) == -1)
        return new_fd(k, t, make_signalfd(vfs_of(k).services(), mask, flags), flags & abi::o_cloexec);
    const FileHandle f = file_of_fd(t, a[0]);
    if (!f) return -EBADF;
    auto* file = dynamic_cast<SignalFile*>(f.get());
    if (!file) return -EINVAL;
    file->set_mask(mask);
    return fd_of(a[0]);
}

constexpr SyscallRow kRows[] = {
    {20, "epoll_create1", sys_epoll_create1, 1},
    {21, "epoll_ctl", sys_epoll_ctl, 4},
    {22, "epoll_pwait", sys_epoll_pwait, 6},
    {72, "pselect6", sys_pselect6, 6},
    {73, "ppoll", sys_ppoll, 5},
    {74, "signalfd4", sys_signalfd4, 4},
    {85, "timerfd_create", sys_timerfd_create, 2},
    {86, "timerfd_settime", sys_timerfd_settime, 4},
    {87, "timerfd_gettime", sys_timerfd_gettime, 2},
    {441, "epoll_pwait2", sys_epoll_pwait2, 6},
};

} // namespace

std::span<const SyscallRow> fs_poll_rows() { return kRows; }

} // namespace rkperf::os

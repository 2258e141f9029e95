// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/trace/tracepoints.h"
#include "sim/os/exec/vdso.h"
#include "sim/os/kernel.h"
#include "sim/os/process/process.h"
#include "sim/os/signal/signals.h"
#include "sim/os/syscall/tables.h"
#include "sim/os/time/posix_timers.h"
#include "sim/os/time/time_keeper.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <limits>

namespace rkperf::os {

namespace {

constexpr std::int64_t kNsPerS = 1'000'000'000;
struct Timespec {
    std::int64_t s, ns;
};
Timespec to_timespec(std::uint64_t ns) {
    return {static_cast<std::int64_t>(ns / static_cast<std::uint64_t>(kNsPerS)),
            static_cast<std::int64_t>(ns % static_cast<std::uint64_t>(kNsPerS))};
}
bool valid(const Timespec& t) { return t.s >= 0 && t.ns >= 0 && t.ns < kNsPerS; }
std::uint64_t to_ns(const Timespec& t) {
    constexpr std::int64_t kMaxS = 9'000'000'000;
    return t.s > kMaxS ? static_cast<std::uint64_t>(kMaxS * kNsPerS) : static_cast<std::uint64_t>(t.s * kNsPerS + t.ns);
}

std::uint64_t thread_cpu_ns(Kernel& k, Task& t) {
    k.update_task_clock(&t);
    return t.sum_exec_runtime;
}
std::uint64_t process_cpu_ns(Kernel& k, Task& t) {
    std::uint64_t n = t.process->exited.utime + t.process->exited.stime;
    for (Task* x : t.process->threads)
        if (!x->exiting) n += thread_cpu_ns(k, *x);
    return n;
}

// A negative clock is one of CPU time: the number of the process or thread (0: one's own), whether it is a thread, and
// what counts: CPUCLOCK_PROF, CPUCLOCK_VIRT, CPUCLOCK_SCHED.
constexpr int kClockVirt = 1, kClockSched = 2, kClockWhich = 3, kClockThread = 4;
constexpr int kClockFd = 3; ///< not CPU time but a clock device's descriptor: there are none

/// Whose clock it is, if one may use it: a thread's only within its process, a process's by the number of its leader
/// (or, to read it, by one's own).
Task* cpu_clock_task(Kernel& k, Task& t, int clockid, bool to_read) {
    const int pid = ~(clockid >> 3);
    if ((clockid & kClockWhich) == kClockWhich) return nullptr;
    if (!pid) return &t;
    Task* x = k.find_task_vpid(pid);
    if (!x) return nullptr;
    if (clockid & kClockThread) return x->process == t.process ? x : nullptr;
    return x->process->leader == x || (to_read && x == &t) ? x : nullptr;
}

/// The clock of the timers' own kind that a clock number stands for.
CpuClock cpu_clock_of(int clockid) {
    if (clockid == CLOCK_PROCESS_CPUTIME_ID) return CpuClock::process;
    if (clockid == CLOCK_THREAD_CPUTIME_ID) return CpuClock::thread;
    if (clockid >= 0) return CpuClock::none;
    const int which = clockid & kClockWhich;
    if (!(clockid & kClockThread)) return which == kClockVirt ? CpuClock::process_user : CpuClock::process;
    return which == kClockSched  ? CpuClock::thread
           : which == kClockVirt ? CpuClock::thread_user
                                 : CpuClock::thread_ticks;
}

/// 0, or -EINVAL for a clock that does not exist.
int read_clock(Kernel& k, Task& t, int clockid, std::uint64_t& ns) {
    switch (clockid) {
        case CLOCK_REALTIME:
        case CLOCK_MONOTONIC:
        case CLOCK_MONOTONIC_RAW:
        case CLOCK_REALTIME_COARSE:
        case CLOCK_MONOTONIC_COARSE:
        case CLOCK_BOOTTIME:
        case CLOCK_REALTIME_ALARM:
        case CLOCK_BOOTTIME_ALARM:
        case CLOCK_TAI: ns = k.time().clock_ns(clockid); return 0;
        case CLOCK_PROCESS_CPUTIME_ID: ns = process_cpu_ns(k, t); return 0;
        case CLOCK_THREAD_CPUTIME_ID: ns = thread_cpu_ns(k, t); return 0;
        default: break;
    }
    if (clockid >= 0) return -EINVAL;
    Task* x = cpu_clock_task(k, t, clockid, true);
    if (!x) return -EINVAL;
    if ((clockid & kClockWhich) == kClockSched)
        ns = clockid & kClockThread ? thread_cpu_ns(k, *x) : process_cpu_ns(k, *x);
    else
        ns = read_cpu_clock(k, *x->process, x, cpu_clock_of(clockid));
    return 0;
}

std::int64_t sys_clock_gettime(Kernel& k, Task& t, const SyscallArgs& a) {
    Frame f(k, KernelSymbol::ktime_get_ts64);
    std::uint64_t ns;
    if (const int e = read_clock(k, t, static_cast<int>(a[0]), ns)) return e;
    return k.put(a[1], to_timespec(ns)) ? -EFAULT : 0;
}
std::int64_t sys_clock_getres(Kernel& k, Task& t, const SyscallArgs& a) {
    std::uint64_t ns;
    const int id = static_cast<int>(a[0]);
    if (const int e = read_clock(k, t, id, ns)) return e;
    const bool coarse = id == CLOCK_REALTIME_COARSE || id == CLOCK_MONOTONIC_COARSE;
    const Timespec res{0, coarse ? static_cast<std::int64_t>(k.tick_nsec()) : 1};
    return a[1] && k.put(a[1], res) ? -EFAULT : 0;
}
std::int64_t sys_clock_settime(Kernel& k, Task& t, const SyscallArgs& a) {
    Timespec ts;
    if (static_cast<int>(a[0]) != CLOCK_REALTIME) return -EINVAL;
    if (k.get(a[1], ts)) return -EFAULT;
    if (!valid(ts)) return -EINVAL;
    if (!Kernel::has_cap(t, 25 /* CAP_SYS_TIME */)) return -EPERM;
    k.time().realtime_offset_ns = static_cast<std::int64_t>(to_ns(ts) - k.time().now_ns());
    k.vdso().update();
    return 0;
}
std::int64_t sys_gettimeofday(Kernel& k, Task&, const SyscallArgs& a) {
    if (a[0]) {
        const std::uint64_t ns = k.time().clock_ns(CLOCK_REALTIME);
        const std::int64_t tv[2] = {static_cast<std::int64_t>(ns / 1'000'000'000),
                                    static_cast<std::int64_t>(ns % 1'000'000'000 / 1000)};
        if (k.put(a[0], tv)) return -EFAULT;
    }
    const std::int32_t tz[2] = {0, 0};
    return a[1] && k.put(a[1], tz) ? -EFAULT : 0;
}
std::int64_t sys_times(Kernel& k, Task& t, const SyscallArgs& a) {
    const auto ticks = [](std::uint64_t ns) { return static_cast<std::int64_t>(ns / 10'000'000); };
    t.account_kernel_time(k.core().now());
    const Rusage used = usage_of(*t.process);
    const std::int64_t tms[4] = {ticks(used.utime), ticks(used.stime), ticks(t.process->reaped.utime),
                                 ticks(t.process->reaped.stime)};
    if (a[0] && k.put(a[0], tms)) return -EFAULT;
    return ticks(k.time().now_ns());
}

std::int64_t sleep_until(Kernel& k, Task& t, std::uint64_t deadline, bool relative, std::uint64_t rem) {
    Frame f(k, KernelSymbol::do_nanosleep);
    for (;;) {
        t.state = TaskState::interruptible;
        if (Signals::pending(t)) {
            t.state = TaskState::running;
            if (!relative) return kERESTARTNOHAND;
            const std::uint64_t now = k.time().now_ns();
            const Timespec left = to_timespec(deadline > now ? deadline - now : 0);
            if (rem && k.put(rem, left)) return -EFAULT;
            t.restart_block = [&k, &t, deadline, rem] { return sleep_until(k, t, deadline, true, rem); };
            return kERESTART_RESTARTBLOCK;
        }
        if (k.schedule_until(deadline) == -ETIME) return 0;
    }
}

/// Clocks that are the monotonic one and realtime_offset_ns.
bool follows_realtime(int clockid) {
    return clockid == CLOCK_REALTIME || clockid == CLOCK_REALTIME_ALARM || clockid == CLOCK_TAI;
}

std::int64_t nanosleep_common(Kernel& k, Task& t, int clockid, int flags, std::uint64_t uts, std::uint64_t rem) {
    Timespec ts;
    std::uint64_t now;
    if (clockid == CLOCK_THREAD_CPUTIME_ID) return -EINVAL;
    if (const int e = read_clock(k, t, clockid, now)) return e;
    if (clockid == CLOCK_PROCESS_CPUTIME_ID || clockid == CLOCK_MONOTONIC_RAW || clockid == CLOCK_REALTIME_COARSE ||
        clockid == CLOCK_MONOTONIC_COARSE || clockid < 0)
        return -EOPNOTSUPP;
    if (k.get(uts, ts)) return -EFAULT;
    if (!valid(ts)) return -EINVAL;
    Frame f(k, KernelSymbol::hrtimer_nanosleep);
    std::uint64_t deadline = to_ns(ts);
    const bool absolute = flags & TIMER_ABSTIME;
    if (!absolute) {
        deadline += k.time().now_ns();
        // The slack lets the kernel group expiries; the earliest time is what a lone sleeper sees, plus the slack.
        constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max(); // KTIME_MAX
        if (t.se.policy == 0)
            deadline = t.timer_slack_ns > kMax - std::min(kMax, deadline) ? kMax : deadline + t.timer_slack_ns;
    } else if (follows_realtime(clockid)) {
        const auto offset = static_cast<std::uint64_t>(k.time().realtime_offset_ns);
        deadline = deadline > offset ? deadline - offset : 0;
    }
    return sleep_until(k, t, deadline, !absolute, rem);
}
std::int64_t sys_nanosleep(Kernel& k, Task& t, const SyscallArgs& a) {
    return nanosleep_common(k, t, CLOCK_MONOTONIC, 0, a[0], a[1]);
}
std::int64_t sys_clock_nanosleep(Kernel& k, Task& t, const SyscallArgs& a) {
    return nanosleep_common(k, t, static_cast<int>(a[0]), static_cast<int>(a[1]), a[2], a[3]);
}

// --- timers ---

ProcessTimers& timers_of(Task& t) {
    if (!t.process->timers) t.process->timers = std::make_shared<ProcessTimers>();
    return *t.process->timers;
}

/// Arms or disarms; expires 0 disarms.
void arm(Kernel& k, Task& t, PosixTimer& pt, std::uint64_t expires, std::uint64_t interval) {
    k.hrtimer_cancel(pt.timer);
    pt.overrun = 0;
    pt.expires_ns = expires;
    pt.interval_ns = interval;
    if (!expires || pt.cpu != CpuClock::none) return;
    std::weak_ptr<Process> process = t.process;
    pt.timer.function = [&k, &pt, process](ke::HrTimer& h) {
        const auto p = process.lock();
        if (!p || !p->live) return ke::HrTimer::Restart::no;
        expire_timer(k, *p, pt, k.time().now_ns());
        if (!pt.interval_ns) return ke::HrTimer::Restart::no;
        h.expires = pt.expires_ns;
        return ke::HrTimer::Restart::restart;
    };
    k.hrtimer_start(pt.timer, expires, -1);
}

std::uint64_t timer_now(Kernel& k, Task& t, const PosixTimer& pt) {
    if (pt.cpu == CpuClock::none) return k.time().now_ns();
    return read_cpu_clock(k, *t.process, pt.cpu_tid ? k.find_task(pt.cpu_tid) : nullptr, pt.cpu);
}

PosixTimer& itimer_of(Task& t, std::uint64_t which) {
    ProcessTimers& p = timers_of(t);
    PosixTimer& pt = which == 0 ? p.real : which == 1 ? p.virt : p.prof;
    pt.itimer = true;
    pt.timer.symbol = KernelSymbol::it_real_fn;
    pt.signo = which == 0 ? SIGALRM : which == 1 ? SIGVTALRM : SIGPROF;
    pt.cpu = which == 0 ? CpuClock::none : which == 1 ? CpuClock::process_user : CpuClock::process;
    return pt;
}

std::int64_t read_itimer(Kernel& k, Task& t, std::uint64_t which, std::uint64_t at) {
    const PosixTimer& pt = itimer_of(t, which);
    const std::uint64_t now = timer_now(k, t, pt);
    const auto us = [](std::uint64_t ns) {
        return Timespec{static_cast<std::int64_t>(ns / 1'000'000'000),
                        static_cast<std::int64_t>(ns % 1'000'000'000 / 1000)};
    };
    // An armed timer never reads as disarmed.
    const std::uint64_t left = !pt.expires_ns        ? 0
                               : pt.expires_ns > now ? std::max<std::uint64_t>(pt.expires_ns - now, 1000)
                                                     : 1000;
    const Timespec out[2] = {us(pt.interval_ns), us(left)};
    return k.put(at, out) ? -EFAULT : 0;
}
std::int64_t sys_getitimer(Kernel& k, Task& t, const SyscallArgs& a) {
    return a[0] > 2 ? -EINVAL : read_itimer(k, t, a[0], a[1]);
}
std::int64_t sys_setitimer(Kernel& k, Task& t, const SyscallArgs& a) {
    Timespec in[2] = {};
    if (a[1] && k.get(a[1], in)) return -EFAULT;
    for (const Timespec& v : in)
        if (v.s < 0 || v.ns < 0 || v.ns >= 1'000'000) return -EINVAL;
    if (a[0] > 2) return -EINVAL;
    if (a[2])
        if (const auto e = read_itimer(k, t, a[0], a[2])) return e;
    const auto ns = [](const Timespec& v) { return static_cast<std::uint64_t>(v.s * kNsPerS + v.ns * 1000); };
    PosixTimer& pt = itimer_of(t, a[0]);
    const ke::TraceItimer value{in[1].s, in[1].ns * 1000, in[0].s, in[0].ns * 1000};
    k.tracepoints().trace_itimer_state(static_cast<int>(a[0]), 0, value);
    arm(k, t, pt, ns(in[1]) ? timer_now(k, t, pt) + ns(in[1]) : 0, ns(in[0]));
    return 0;
}

struct SigEvent {
    std::uint64_t value;
    std::int32_t signo, notify, tid;
    std::int32_t pad[11];
};
std::int64_t sys_timer_create(Kernel& k, Task& t, const SyscallArgs& a) {
    std::uint64_t ns;
    const int clock = static_cast<int>(a[0]);
    if (clock < 0 && (clock & (kClockWhich | kClockThread)) == kClockFd) return -EOPNOTSUPP;
    if (const int e = read_clock(k, t, clock, ns)) return e;
    if (clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE)
        return -EOPNOTSUPP;
    Task* timed = &t;
    if (clock < 0 && !(timed = cpu_clock_task(k, t, clock, false))) return -EINVAL;
    if (timed->process != t.process) {
        k.pr_info("timer_create: the CPU time of another process is not implemented: EOPNOTSUPP");
        return -EOPNOTSUPP;
    }
    SigEvent ev{};
    ev.signo = SIGALRM;
    if (a[1] && k.get(a[1], ev)) return -EFAULT;
    if (ev.notify != 0 && ev.notify != 1 && ev.notify != 4) return -EINVAL;
    if (ev.notify != 1 && (ev.signo < 1 || ev.signo > kNumSignals)) return -EINVAL;
    if (ev.notify == 4) {
        Task* x = k.find_task_vpid(ev.tid);
        if (!x || x->process != t.process) return -EINVAL;
        ev.tid = x->pid;
    }
    ProcessTimers& p = timers_of(t);
    auto pt = std::make_unique<PosixTimer>();
    pt->id = p.next_id++;
    pt->timer.symbol = KernelSymbol::posix_timer_fn;
    pt->clockid = static_cast<int>(a[0]);
    pt->cpu = cpu_clock_of(pt->clockid);
    if (pt->clockid == CLOCK_THREAD_CPUTIME_ID || (pt->clockid < 0 && pt->clockid & kClockThread))
        pt->cpu_tid = timed->pid;
    pt->notify = ev.notify;
    pt->signo = ev.signo;
    pt->tid = ev.tid;
    pt->value = a[1] ? ev.value : static_cast<std::uint64_t>(pt->id);
    const int id = pt->id;
    if (k.put(a[2], id)) return -EFAULT;
    if (pt->cpu == CpuClock::none) k.tracepoints().trace_hrtimer_init(pt->timer, pt->clockid, ke::HRTIMER_MODE_ABS);
    p.timers[id] = std::move(pt);
    return 0;
}
PosixTimer* timer_of(Task& t, std::uint64_t id) {
    ProcessTimers& p = timers_of(t);
    const auto it = p.timers.find(static_cast<int>(id));
    return it == p.timers.end() ? nullptr : it->second.get();
}
std::int64_t put_timer(Kernel& k, Task& t, const PosixTimer& pt, std::uint64_t at) {
    const std::uint64_t now = timer_now(k, t, pt);
    const std::uint64_t left = !pt.expires_ns ? 0 : pt.expires_ns > now ? pt.expires_ns - now : 1;
    const Timespec out[2] = {to_timespec(pt.interval_ns), to_timespec(left)};
    return k.put(at, out) ? -EFAULT : 0;
}
std::int64_t sys_timer_settime(Kernel& k, Task& t, const SyscallArgs& a) {
    Timespec in[2];
    if (!a[2]) return -EINVAL;
    if (k.get(a[2], in)) return -EFAULT;
    if (!valid(in[0]) || !valid(in[1])) return -EINVAL;
    PosixTimer* pt = timer_of(t, a[0]);
    if (!pt) return -EINVAL;
    if (a[3])
        if (const auto e = put_timer(k, t, *pt, a[3])) return e;
    std::uint64_t expires = to_ns(in[1]);
    if (expires) {
        if (!(a[1] & 1)) {
            expires += timer_now(k, t, *pt);
        } else if (follows_realtime(pt->clockid)) {
            const auto offset = static_cast<std::uint64_t>(k.time().realtime_offset_ns);
            expires = expires > offset ? expires - offset : 1;
        }
    }
    arm(k, t, *pt, expires, to_ns(in[0]));
    return 0;
}
std::int64_t sys_timer_gettime(Kernel& k, Task& t, const SyscallArgs& a) {
    PosixTimer* pt = timer_of(t, a[0]);
    return pt ? put_timer(k, t, *pt, a[1]) : -EINVAL;
}
std::int64_t sys_timer_getoverrun(Kernel&, Task& t, const SyscallArgs& a) {
    PosixTimer* pt = timer_of(t, a[0]);
    return pt ? pt->overrun : -EINVAL;
}
std::int64_t sys_timer_delete(Kernel& k, Task& t, const SyscallArgs& a) {
    PosixTimer* pt = timer_of(t, a[0]);
    if (!pt) return -EINVAL;
    k.hrtimer_cancel(pt->timer);
    timers_of(t).timers.erase(static_cast<int>(a[0]));
    return 0;
}

constexpr SyscallRow kRows[] = {
    {101, "nanosleep", sys_nanosleep, 2},
    {102, "getitimer", sys_getitimer, 2},
    {103, "setitimer", sys_setitimer, 3},
    {107, "timer_create", sys_timer_create, 3},
    {108, "timer_gettime", sys_timer_gettime, 2},
    {109, "timer_getoverrun", sys_timer_getoverrun, 1},
    {110, "timer_settime", sys_timer_settime, 4},
    {111, "timer_delete", sys_timer_delete, 1},
    {112, "clock_settime", sys_clock_settime, 2},
    {113, "clock_gettime", sys_clock_gettime, 2},
    {114, "clock_getres", sys_clock_getres, 2},
    {115, "clock_nanosleep", sys_clock_nanosleep, 4},
    {153, "times", sys_times, 1},
    {169, "gettimeofday", sys_gettimeofday, 2},
};

} // namespace

std::span<const SyscallRow> time_syscalls() { return kRows; }

} // namespace rkperf::os

// SPDX-License-Identifier: Apache-2.0
#include "sim/os/time/posix_timers.h"

#include "kernel_events/trace/tracepoints.h"
#include "sim/os/kernel.h"
#include "sim/os/process/process.h"
#include "sim/os/signal/signals.h"

#include <sys/time.h>

namespace rkperf::os {

namespace {
constexpr int kSigevNone = 1, kSigevThreadId = 4;
constexpr std::uint64_t kNsPerS = 1'000'000'000, kUnlimited = ~std::uint64_t{0};

constexpr bool is_thread_clock(CpuClock clock) { return clock >= CpuClock::thread; }

void check(Kernel& k, Process& p, PosixTimer& timer, const Task& current) {
    if (timer.cpu == CpuClock::none || !timer.expires_ns) return;
    Task* thread = nullptr;
    if (is_thread_clock(timer.cpu)) {
        if (timer.cpu_tid != current.pid) return; // only the clock of who runs moves
        thread = k.find_task(timer.cpu_tid);
    }
    const std::uint64_t now = read_cpu_clock(k, p, thread, timer.cpu);
    if (now >= timer.expires_ns) expire_timer(k, p, timer, now);
}

void check_limit(Kernel& k, Process& p) {
    Rlimit& limit = p.rlimits[0]; // RLIMIT_CPU, in seconds
    if (limit.cur == kUnlimited) return;
    const std::uint64_t used = read_cpu_clock(k, p, nullptr, CpuClock::process) / kNsPerS;
    if (limit.max != kUnlimited && used >= limit.max) {
        k.signals().send_process(*p.leader, siginfo_kernel(SIGKILL));
    } else if (used >= limit.cur) {
        k.signals().send_process(*p.leader, siginfo_kernel(SIGXCPU));
        limit.cur = used + 1; // again in a second
    }
}
} // namespace

std::uint64_t read_cpu_clock(Kernel& k, Process& p, Task* t, CpuClock clock) {
    if (clock == CpuClock::thread) {
        if (!t) return 0;
        k.update_task_clock(t);
        return t->sum_exec_runtime;
    }
    if (is_thread_clock(clock)) return t ? t->utime + (clock == CpuClock::thread_ticks ? t->stime : 0) : 0;
    const Rusage used = usage_of(p);
    return clock == CpuClock::process ? used.utime + used.stime : used.utime;
}

namespace {
/// A timer has one place in the queue of signals: while it is there, further expiries only count.
bool add_to_pending(PendingSignals& pending, const PosixTimer& timer, int& overrun) {
    for (SigInfo& i : pending.queue) {
        int at = 0;
        if (i.signo() != timer.signo || !siginfo_is_timer(i, timer.id, at)) continue;
        overrun += at + 1;
        i = siginfo_timer(timer.signo, timer.id, overrun, timer.value);
        return true;
    }
    return false;
}
} // namespace

void expire_timer(Kernel& k, Process& p, PosixTimer& timer, std::uint64_t now) {
    timer.overrun = 0;
    if (timer.interval_ns) {
        const std::uint64_t periods = (now - timer.expires_ns) / timer.interval_ns + 1;
        timer.overrun = static_cast<int>(periods - 1);
        timer.expires_ns += periods * timer.interval_ns;
    } else {
        timer.expires_ns = 0;
    }
    if (timer.itimer) {
        const int which = timer.signo == SIGALRM ? ITIMER_REAL : timer.signo == SIGPROF ? ITIMER_PROF : ITIMER_VIRTUAL;
        k.tracepoints().trace_itimer_expire(which, p.tgid, which == ITIMER_REAL ? 0 : now);
    }
    if (timer.notify == kSigevNone || !p.live) return;
    Task* thread = timer.notify == kSigevThreadId ? k.find_task(timer.tid) : nullptr;
    if (thread && thread->process.get() != &p) thread = nullptr;
    if (!timer.itimer && add_to_pending(thread ? thread->pending : p.shared_pending, timer, timer.overrun)) return;
    const SigInfo info =
        timer.itimer ? siginfo_kernel(timer.signo) : siginfo_timer(timer.signo, timer.id, timer.overrun, timer.value);
    if (thread)
        k.signals().send_thread(*thread, info);
    else
        k.signals().send_process(*p.leader, info);
}

void run_posix_cpu_timers(Kernel& k, Task& current) {
    if (current.kthread || current.exiting) return;
    const std::shared_ptr<Process> p = current.process;
    if (p->timers) {
        check(k, *p, p->timers->virt, current);
        check(k, *p, p->timers->prof, current);
        for (auto& [id, timer] : p->timers->timers) check(k, *p, *timer, current);
    }
    check_limit(k, *p);
}

} // namespace rkperf::os

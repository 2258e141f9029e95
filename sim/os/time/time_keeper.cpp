// SPDX-License-Identifier: Apache-2.0
#include "sim/os/time/time_keeper.h"

#include "kernel_events/trace/tracepoints.h"
#include "sim/os/irq/gic_driver.h"
#include "sim/os/kernel.h"
#include "sim/os/sched/scheduler.h"
#include "sim/os/time/posix_timers.h"

#include <algorithm>
#include <ctime>

namespace rkperf::os {

namespace {
constexpr unsigned kVirtualTimerIntid = 27;
constexpr std::uint64_t kCtlEnable = 1, kCtlMask = 2;
// The 24 MHz counter and nanoseconds: 125 ns are 3 counts.
constexpr std::uint64_t to_ns(std::uint64_t count) { return count / 3 * 125 + count % 3 * 125 / 3; }
constexpr std::uint64_t to_count_up(std::uint64_t ns) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(ns) * 3 + 124) / 125);
}
constexpr std::uint64_t kIdle = ~std::uint64_t{0};
/// hrtimer_interrupt looks again this often before it gives way, for at most kMaxHangNs.
constexpr unsigned kMaxRounds = 3;
constexpr std::uint64_t kMaxHangNs = 100'000'000;

/// Of a timer that stands for something else in Linux: an interrupt from a CPU whose time is behind.
constexpr KernelSymbol kNoSymbol = KernelSymbol::count_;
bool is_linux_timer(const ke::HrTimer& t) { return t.symbol != kNoSymbol; }

/// The mode that Linux starts it with.
std::uint32_t start_mode(const ke::HrTimer& t) {
    switch (t.symbol) {
        case KernelSymbol::tick_sched_timer:
        case KernelSymbol::perf_mux_hrtimer_handler: return ke::HRTIMER_MODE_ABS_PINNED_HARD;
        case KernelSymbol::perf_swevent_hrtimer: return ke::HRTIMER_MODE_REL_PINNED_HARD;
        case KernelSymbol::timerfd_tmrproc:
        case KernelSymbol::posix_timer_fn: return ke::HRTIMER_MODE_ABS;
        default: return ke::HRTIMER_MODE_REL;
    }
}
} // namespace

TimeKeeper::TimeKeeper(Kernel& k) : os_(k), queues_(static_cast<unsigned>(k.num_cpus())) {
    realtime_offset_ns = static_cast<std::int64_t>(k.config().epoch_s) * 1'000'000'000;
}

std::uint64_t TimeKeeper::now_ns() { return to_ns(os_.mrs(sysreg::CNTVCT_EL0)); }

std::uint64_t TimeKeeper::clock_ns(int clockid) {
    const std::uint64_t mono = now_ns();
    switch (clockid) {
        case CLOCK_REALTIME:
        case CLOCK_REALTIME_COARSE:
        case CLOCK_REALTIME_ALARM:
        case CLOCK_TAI: return mono + static_cast<std::uint64_t>(realtime_offset_ns);
        default: return mono;
    }
}

std::uint64_t TimeKeeper::jiffies() { return now_ns() / os_.tick_nsec(); }

void TimeKeeper::init_cpu(int cpu) {
    if (cpu == 0)
        os_.request_percpu_irq(kVirtualTimerIntid, "arch_timer", [this](ke::PtRegs&) {
            timer_interrupt();
            return true;
        });
    os_.enable_percpu_irq(kVirtualTimerIntid);
    os_.msr(sysreg::CNTKCTL_EL1, 2); // EL0 may read CNTVCT, nothing else
    os_.msr(sysreg::CNTV_CTL_EL0, kCtlEnable | kCtlMask);
    auto& q = queues_[static_cast<unsigned>(cpu)];
    q.tick.cpu = cpu;
    q.tick.symbol = KernelSymbol::tick_sched_timer;
    q.resched.symbol = kNoSymbol;
    q.tick.function = [this, cpu](ke::HrTimer& t) {
        Frame f(os_, KernelSymbol::tick_sched_timer);
        const std::uint64_t period = os_.tick_nsec(), now = now_ns();
        os_.sched().tick();
        run_posix_cpu_timers(os_, os_.cur());
        (void)cpu;
        // The grid of ticks is the same on every CPU and is kept when ticks were missed.
        t.expires += ((now - t.expires) / period + 1) * period;
        return ke::HrTimer::Restart::restart;
    };
}

void TimeKeeper::reprogram(int cpu) {
    const auto& q = queues_[static_cast<unsigned>(cpu)];
    program(cpu, q.timers.empty() ? kIdle : q.timers.front()->expires);
}

void TimeKeeper::program(int cpu, std::uint64_t next) {
    auto& q = queues_[static_cast<unsigned>(cpu)];
    if (next == q.programmed) return;
    q.programmed = next;
    if (next == kIdle) {
        os_.msr(sysreg::CNTV_CTL_EL0, kCtlEnable | kCtlMask);
        return;
    }
    os_.msr(sysreg::CNTV_CVAL_EL0, to_count_up(next));
    os_.msr(sysreg::CNTV_CTL_EL0, kCtlEnable);
}

std::uint64_t TimeKeeper::next_expiry(int cpu) const {
    const auto& q = queues_[static_cast<unsigned>(cpu)];
    return q.timers.empty() ? kIdle : q.timers.front()->expires;
}

void TimeKeeper::start(ke::HrTimer& t, std::uint64_t expires_ns, int cpu) {
    const bool was_armed = t.queued, restarted = t.running;
    if (t.queued) remove(t);
    auto& q = queues_[static_cast<unsigned>(cpu)];
    t.expires = expires_ns;
    t.cpu = cpu;
    t.queued = true;
    const auto pos =
        std::upper_bound(q.timers.begin(), q.timers.end(), &t,
                         [](const ke::HrTimer* a, const ke::HrTimer* b) { return a->expires < b->expires; });
    const bool first = pos == q.timers.begin();
    q.timers.insert(pos, &t);
    if (is_linux_timer(t))
        os_.tracepoints().trace_hrtimer_start(t, restarted ? ke::HRTIMER_MODE_ABS : start_mode(t), was_armed);
    if (!first) return;
    if (cpu == os_.this_cpu())
        reprogram(cpu);
    else
        os_.gic().send(cpu, Ipi::timer);
}

bool TimeKeeper::cancel(ke::HrTimer& t) {
    if (!t.queued) return false;
    remove(t);
    if (is_linux_timer(t)) os_.tracepoints().trace_hrtimer_cancel(t);
    return true;
}

void TimeKeeper::remove(ke::HrTimer& t) {
    auto& timers = queues_[static_cast<unsigned>(t.cpu)].timers;
    timers.erase(std::find(timers.begin(), timers.end(), &t));
    t.queued = false;
    // The hardware may fire once for nothing; timer_interrupt programs the next expiry then.
}

void TimeKeeper::timer_interrupt() {
    Frame f(os_, KernelSymbol::hrtimer_interrupt);
    const int cpu = os_.this_cpu();
    auto& q = queues_[static_cast<unsigned>(cpu)];
    const std::uint64_t entered = now_ns();
    std::uint64_t now = entered;
    unsigned rounds = 0;
    while (!q.timers.empty() && q.timers.front()->expires <= now) {
        if (rounds == kMaxRounds) {
            // Timers expire faster than they can be seen to: the rest of the machine gets as much time as they took.
            program(cpu, now + std::min(now - entered, kMaxHangNs));
            return;
        }
        ke::HrTimer* t = q.timers.front();
        q.timers.erase(q.timers.begin());
        t->queued = false;
        t->running = true;
        {
            Frame run(os_, KernelSymbol::__hrtimer_run_queues);
            const bool traced = is_linux_timer(*t);
            if (traced) os_.tracepoints().trace_hrtimer_expire_entry(*t, now);
            const auto again = t->function(*t);
            if (traced) os_.tracepoints().trace_hrtimer_expire_exit(*t);
            if (again == ke::HrTimer::Restart::restart && !t->queued) start(*t, t->expires, cpu);
            t->running = false;
        }
        // One round is all that has expired by the time that it began with.
        if (!q.timers.empty() && q.timers.front()->expires <= now) continue;
        now = now_ns();
        ++rounds;
    }
    q.programmed = kIdle - 1;
    reprogram(cpu);
}

void TimeKeeper::ipi_timer(int cpu) {
    queues_[static_cast<unsigned>(cpu)].programmed = kIdle - 1;
    reprogram(cpu);
}

void TimeKeeper::resched_at(int cpu, Picoseconds at) {
    ke::HrTimer& t = queues_[static_cast<unsigned>(cpu)].resched;
    const std::uint64_t ns = at.v / 1000 + 1; // the timer's count rounds up, too
    if (t.queued && t.expires <= ns) return;
    t.function = [this](ke::HrTimer&) {
        os_.cur().need_resched = true;
        return ke::HrTimer::Restart::no;
    };
    start(t, ns, cpu);
}

void TimeKeeper::start_tick(int cpu) {
    auto& q = queues_[static_cast<unsigned>(cpu)];
    if (q.tick_on) return;
    q.tick_on = true;
    const std::uint64_t period = os_.tick_nsec();
    start(q.tick, (now_ns() / period + 1) * period, cpu);
}

void TimeKeeper::migrate_timers(int from, int to) {
    const std::vector<ke::HrTimer*> timers(queues_[static_cast<unsigned>(from)].timers.begin(),
                                           queues_[static_cast<unsigned>(from)].timers.end());
    for (ke::HrTimer* t : timers)
        if (t != &queues_[static_cast<unsigned>(from)].tick && t != &queues_[static_cast<unsigned>(from)].resched)
            start(*t, t->expires, to);
}

void TimeKeeper::stop_tick(int cpu) {
    auto& q = queues_[static_cast<unsigned>(cpu)];
    if (!q.tick_on) return;
    q.tick_on = false;
    os_.tracepoints().trace_tick_stop(true, 0);
    cancel(q.tick);
    reprogram(cpu);
}

} // namespace rkperf::os

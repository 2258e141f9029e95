// SPDX-License-Identifier: Apache-2.0
#include "sim/os/time/time_keeper.h"

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
    q.tick.function = [this, cpu](ke::HrTimer& t) {
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
    auto& q = queues_[static_cast<unsigned>(cpu)];
    const std::uint64_t next = q.timers.empty() ? kIdle : q.timers.front()->expires;
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
    if (t.queued) cancel(t);
    auto& q = queues_[static_cast<unsigned>(cpu)];
    t.expires = expires_ns;
    t.cpu = cpu;
    t.queued = true;
    const auto pos =
        std::upper_bound(q.timers.begin(), q.timers.end(), &t,
                         [](const ke::HrTimer* a, const ke::HrTimer* b) { return a->expires < b->expires; });
    const bool first = pos == q.timers.begin();
    q.timers.insert(pos, &t);
    if (!first) return;
    if (cpu == os_.this_cpu())
        reprogram(cpu);
    else
        os_.gic().send(cpu, Ipi::timer);
}

bool TimeKeeper::cancel(ke::HrTimer& t) {
    if (!t.queued) return false;
    auto& timers = queues_[static_cast<unsigned>(t.cpu)].timers;
    timers.erase(std::find(timers.begin(), timers.end(), &t));
    t.queued = false;
    // The hardware may fire once for nothing; timer_interrupt programs the next expiry then.
    return true;
}

void TimeKeeper::timer_interrupt() {
    Frame f(os_, KernelSymbol::hrtimer_interrupt);
    const int cpu = os_.this_cpu();
    auto& q = queues_[static_cast<unsigned>(cpu)];
    std::uint64_t now = now_ns();
    while (!q.timers.empty() && q.timers.front()->expires <= now) {
        ke::HrTimer* t = q.timers.front();
        q.timers.erase(q.timers.begin());
        t->queued = false;
        t->running = true;
        {
            Frame run(os_, KernelSymbol::__hrtimer_run_queues);
            const auto again = t->function(*t);
            t->running = false;
            if (again == ke::HrTimer::Restart::restart && !t->queued) start(*t, t->expires, cpu);
        }
        now = now_ns();
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

void TimeKeeper::stop_tick(int cpu) {
    auto& q = queues_[static_cast<unsigned>(cpu)];
    if (!q.tick_on) return;
    q.tick_on = false;
    cancel(q.tick);
    reprogram(cpu);
}

} // namespace rkperf::os

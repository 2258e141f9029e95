// SPDX-License-Identifier: Apache-2.0
// Sampling by an hrtimer, common to cpu-clock and task-clock (CORE-461 to 469).
#include "kernel_events/pmu/clock_pmu.h"

#include <time.h>
#include <algorithm>

namespace rkperf::ke {

namespace {
/// Shortest distance of two expiries, ns.
constexpr std::uint64_t kMinPeriod = 10'000;
} // namespace

ClockPmu::ClockPmu(Perf::Impl& perf) : Pmu(perf.kernel), perf_(perf) {
    task_ctx_nr = TaskContext::software;
    capabilities = PERF_PMU_CAP_NO_NMI;
}

int ClockPmu::clock_event_init(PerfEvent& event, std::uint64_t config) {
    if (event.attr.type != PERF_TYPE_SOFTWARE || event.attr.config != config) return -ENOENT;
    if (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) return -EOPNOTSUPP;
    if (!is_sampling_event(event)) return 0;
    event.hw.hrtimer.symbol = KernelSymbol::perf_swevent_hrtimer;
    perf_.tracepoints->trace_hrtimer_init(event.hw.hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
    event.hw.hrtimer.function = [this, &event](HrTimer& timer) { return hrtimer_expired(event, timer); };
    // Linux keeps the timer where other events have their flags. The upper half of its function's address is there: the
    // control page of such an event offers a counter of 32 bits, at index 0.
    event.hw.flags = PERF_EVENT_FLAG_USER_READ_CNT;
    // Time needs no steering: the frequency is a period.
    if (event.attr.freq) {
        event.attr.sample_period = NSEC_PER_SEC / event.attr.sample_freq;
        event.hw.sample_period = event.hw.last_period = event.attr.sample_period;
        event.hw.period_left = static_cast<std::int64_t>(event.attr.sample_period);
        event.attr.freq = 0;
    }
    return 0;
}

HrTimer::Restart ClockPmu::hrtimer_expired(PerfEvent& event, HrTimer& timer) {
    KernelFrame frame(kernel, KernelSymbol::perf_swevent_hrtimer);
    if (event.state != PerfEventState::active) return HrTimer::Restart::no;
    read(event);
    PerfSampleData data;
    perf_sample_data_init(data, 0, event.hw.last_period);
    PtRegs* regs = kernel.get_irq_regs();
    if (regs && !perf_.perf_exclude_event(event, regs)) {
        const TaskBase* task = kernel.current();
        const bool idle = task->kthread && task->pid == 0;
        if (!(event.attr.exclude_idle && idle) && perf_.__perf_event_overflow(event, true, data, *regs))
            return HrTimer::Restart::no;
    }
    hrtimer_forward(timer, kernel.ktime_get_ns(CLOCK_MONOTONIC), std::max(kMinPeriod, event.hw.sample_period));
    return HrTimer::Restart::restart;
}

void ClockPmu::start_hrtimer(PerfEvent& event) {
    if (!is_sampling_event(event)) return;
    std::uint64_t period = std::max(kMinPeriod, event.hw.sample_period);
    if (event.hw.period_left) {
        period = event.hw.period_left < 0 ? kMinPeriod : static_cast<std::uint64_t>(event.hw.period_left);
        event.hw.period_left = 0;
    }
    kernel.hrtimer_start(event.hw.hrtimer, kernel.ktime_get_ns(CLOCK_MONOTONIC) + period, kernel.smp_processor_id());
}

void ClockPmu::cancel_hrtimer(PerfEvent& event) {
    if (!is_sampling_event(event)) return;
    event.hw.period_left = static_cast<std::int64_t>(event.hw.hrtimer.expires - kernel.ktime_get_ns(CLOCK_MONOTONIC));
    kernel.hrtimer_cancel(event.hw.hrtimer);
}

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/pmu/clock_pmu.h"

namespace rkperf::ke {

void TaskClockPmu::update(PerfEvent& event, std::uint64_t now) {
    event.count += now - event.hw.prev_count;
    event.hw.prev_count = now;
}

void TaskClockPmu::start(PerfEvent& event, int) {
    KernelFrame frame(kernel, KernelSymbol::task_clock_event_start);
    event.hw.prev_count = event.ctx->time;
    start_hrtimer(event);
}

void TaskClockPmu::stop(PerfEvent& event, int) {
    KernelFrame frame(kernel, KernelSymbol::task_clock_event_stop);
    cancel_hrtimer(event);
    update(event, event.ctx->time);
}

int TaskClockPmu::add(PerfEvent& event, int flags) {
    KernelFrame frame(kernel, KernelSymbol::task_clock_event_add);
    if (flags & PERF_EF_START) start(event, flags);
    perf_.perf_event_update_userpage(event);
    return 0;
}

void TaskClockPmu::read(PerfEvent& event) {
    // The context's time as of now, without moving it.
    const PerfEventContext& ctx = *event.ctx;
    update(event, ctx.time + (perf_.perf_clock() - ctx.timestamp));
}

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/pmu/clock_pmu.h"

namespace rkperf::ke {

void CpuClockPmu::update(PerfEvent& event) {
    const std::uint64_t now = kernel.local_clock();
    event.count += now - event.hw.prev_count;
    event.hw.prev_count = now;
}

void CpuClockPmu::start(PerfEvent& event, int) {
    KernelFrame frame(kernel, KernelSymbol::cpu_clock_event_start);
    event.hw.prev_count = kernel.local_clock();
    start_hrtimer(event);
}

void CpuClockPmu::stop(PerfEvent& event, int) {
    KernelFrame frame(kernel, KernelSymbol::cpu_clock_event_stop);
    cancel_hrtimer(event);
    update(event);
}

int CpuClockPmu::add(PerfEvent& event, int flags) {
    KernelFrame frame(kernel, KernelSymbol::cpu_clock_event_add);
    if (flags & PERF_EF_START) start(event, flags);
    perf_.perf_event_update_userpage(event);
    return 0;
}

} // namespace rkperf::ke

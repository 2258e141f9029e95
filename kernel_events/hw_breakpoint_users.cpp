// SPDX-License-Identifier: Apache-2.0
// Breakpoints of the kernel's own users: ptrace, tests, debuggers (HWBP-010, 027 to 032).
#include "kernel_events/hw_breakpoint.h"

namespace rkperf::ke {

void HwBreakpoints::hw_breakpoint_init(perf_event_attr& attr) {
    attr = perf_event_attr{};
    attr.type = PERF_TYPE_BREAKPOINT;
    attr.size = sizeof attr;
    attr.pinned = 1;
    attr.sample_period = 1;
}

void HwBreakpoints::ptrace_breakpoint_init(perf_event_attr& attr) {
    hw_breakpoint_init(attr);
    attr.exclude_kernel = 1;
}

PerfEvent* HwBreakpoints::register_user_hw_breakpoint(perf_event_attr attr, Overflow triggered, TaskBase& task,
                                                      int& error) {
    return perf_.perf_event_create_kernel_counter(attr, -1, &task, std::move(triggered), error);
}

int HwBreakpoints::modify_user_hw_breakpoint(PerfEvent& bp, const perf_event_attr& attr) {
    // In the middle of current's own business there must be no interrupt to another CPU.
    if (kernel_.current() == bp.hw.target && kernel_.in_hardirq())
        perf_.perf_event_disable_local(bp);
    else
        perf_.perf_event_disable(bp);
    const int error = modify_user_hw_breakpoint_check(bp, attr, false);
    if (!bp.attr.disabled) perf_.perf_event_enable(bp);
    return error;
}

void HwBreakpoints::unregister_hw_breakpoint(PerfEvent* bp) {
    if (bp) perf_.perf_event_release_kernel(*bp);
}

std::unique_ptr<HwBreakpoints::Wide> HwBreakpoints::register_wide_hw_breakpoint(const perf_event_attr& attr,
                                                                                const Overflow& triggered, int& error) {
    auto events = std::make_unique<Wide>();
    events->fill(nullptr);
    const CpuMask online = kernel_.cpu_online_mask();
    error = 0;
    for (int cpu = 0; cpu < kMaxCpus && !error; ++cpu)
        if (online >> cpu & 1)
            (*events)[static_cast<unsigned>(cpu)] =
                perf_.perf_event_create_kernel_counter(attr, cpu, nullptr, triggered, error);
    if (!error) return events;
    unregister_wide_hw_breakpoint(std::move(events));
    return nullptr;
}

void HwBreakpoints::unregister_wide_hw_breakpoint(std::unique_ptr<Wide> events) {
    for (PerfEvent* bp : *events) unregister_hw_breakpoint(bp);
}

} // namespace rkperf::ke

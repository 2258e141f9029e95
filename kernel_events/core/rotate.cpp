// SPDX-License-Identifier: Apache-2.0
// Multiplexing: the timer that lets flexible groups take turns (CORE-212 to 227).
#include "kernel_events/internal.h"

#include <time.h>

namespace rkperf::ke {

namespace {

/// The group to move to the end of its list. The caller's schedule-in sets rotate_necessary again if need be.
PerfEvent* ctx_event_to_rotate(PerfEventContext& ctx) {
    ctx.rotate_necessary = false;
    if (!ctx.flexible_active.empty()) return ctx.flexible_active.front();
    const auto& tree = ctx.flexible_groups.tree;
    return tree.empty() ? nullptr : tree.begin()->second;
}

} // namespace

std::uint64_t hrtimer_forward(HrTimer& timer, std::uint64_t now, std::uint64_t interval) {
    if (now < timer.expires) return 0;
    const std::uint64_t n = (now - timer.expires) / interval + 1;
    timer.expires += n * interval;
    return n;
}

void Perf::Impl::perf_mux_hrtimer_init(PerfCpuContext& cpuctx, int cpu) {
    Pmu& pmu = *cpuctx.ctx.pmu;
    if (pmu.task_ctx_nr == Pmu::TaskContext::software) return;
    if (pmu.hrtimer_interval_ms < 1) pmu.hrtimer_interval_ms = static_cast<int>(1000 / kernel.hz());
    cpuctx.hrtimer_interval_ns = static_cast<std::uint64_t>(pmu.hrtimer_interval_ms) * 1'000'000;
    cpuctx.hrtimer.cpu = cpu;
    cpuctx.hrtimer.symbol = KernelSymbol::perf_mux_hrtimer_handler;
    cpuctx.hrtimer.function = [this, &cpuctx](HrTimer& timer) {
        KernelFrame frame(kernel, KernelSymbol::perf_mux_hrtimer_handler);
        hrtimer_forward(timer, kernel.ktime_get_ns(CLOCK_MONOTONIC), cpuctx.hrtimer_interval_ns);
        if (perf_rotate_context(cpuctx)) return HrTimer::Restart::restart;
        cpuctx.hrtimer_active = false;
        return HrTimer::Restart::no;
    };
}

void Perf::Impl::perf_mux_hrtimer_restart(PerfCpuContext& cpuctx) {
    if (cpuctx.ctx.pmu->task_ctx_nr == Pmu::TaskContext::software || cpuctx.hrtimer_active) return;
    cpuctx.hrtimer_active = true;
    // Expiries lie on a grid of the interval, so the first turn may be short.
    hrtimer_forward(cpuctx.hrtimer, kernel.ktime_get_ns(CLOCK_MONOTONIC), cpuctx.hrtimer_interval_ns);
    kernel.hrtimer_start(cpuctx.hrtimer, cpuctx.hrtimer.expires, kernel.smp_processor_id());
}

bool Perf::Impl::perf_rotate_context(PerfCpuContext& cpuctx) {
    KernelFrame frame(kernel, KernelSymbol::perf_rotate_context);
    PerfEventContext* task_ctx = cpuctx.task_ctx;
    const bool cpu_rotate = cpuctx.ctx.rotate_necessary;
    const bool task_rotate = task_ctx && task_ctx->rotate_necessary;
    if (!cpu_rotate && !task_rotate) return false;

    IrqGuard irq(kernel);
    perf_pmu_disable(*cpuctx.ctx.pmu);
    PerfEvent* task_event = task_rotate ? ctx_event_to_rotate(*task_ctx) : nullptr;
    PerfEvent* cpu_event = cpu_rotate ? ctx_event_to_rotate(cpuctx.ctx) : nullptr;
    if (task_event || (task_ctx && cpu_event)) ctx_sched_out(*task_ctx, cpuctx, EVENT_FLEXIBLE);
    if (cpu_event) cpu_ctx_sched_out(cpuctx, EVENT_FLEXIBLE);
    const auto rotate_ctx = [&](PerfEventContext& ctx, PerfEvent* event) {
        if (!event || ctx.rotate_disable) return;
        del_event_from_groups(*event, ctx);
        add_event_to_groups(*event, ctx);
    };
    if (task_event) rotate_ctx(*task_ctx, task_event);
    rotate_ctx(cpuctx.ctx, cpu_event);
    perf_event_sched_in(cpuctx, task_ctx);
    perf_pmu_enable(*cpuctx.ctx.pmu);
    return true;
}

} // namespace rkperf::ke

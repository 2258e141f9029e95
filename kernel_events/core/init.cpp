// SPDX-License-Identifier: Apache-2.0
// The subsystem as a whole: start, CPUs that come and go (CORE-079, 094, 509 to 511).
#include "kernel_events/bpf/bpf.h"
#include "kernel_events/debug_monitors.h"
#include "kernel_events/hw_breakpoint.h"
#include "kernel_events/internal.h"
#include "kernel_events/kprobes.h"
#include "kernel_events/pmu/pmus.h"
#include "kernel_events/uprobes.h"

namespace rkperf::ke {

Perf::Perf(Kernel& kernel, PerfConfig config)
    : kernel_(kernel),
      debug_monitors_(std::make_unique<DebugMonitors>(kernel)),
      kprobes_(std::make_unique<Kprobes>(kernel)),
      uprobes_(kernel.uprobe_services() ? std::make_unique<Uprobes>(kernel, *kernel.uprobe_services()) : nullptr),
      impl_(std::make_unique<Impl>(*this, kernel, std::move(config))) {
    bpf_ = std::make_unique<Bpf>(*this, kernel);
    if (uprobes_) uprobes_->init(*debug_monitors_);
    hw_breakpoints_ = std::make_unique<HwBreakpoints>(*impl_, *debug_monitors_);
}

Perf::~Perf() = default;

Perf::Impl::Impl(Perf& p, Kernel& k, PerfConfig c) : perf(p), kernel(k), config(std::move(c)) {
    trace_events = std::make_unique<TraceEvents>(*this);
    tracepoints = std::make_unique<Tracepoints>(*this, *trace_events);
    p.tracepoints_ = tracepoints.get();
    sysctl.perf_event_paranoid = config.paranoid;
    sysctl.perf_event_mlock_kb = config.mlock_kb;
    sysctl.perf_event_max_sample_rate = config.max_sample_rate;
    sysctl.perf_cpu_time_max_percent = config.cpu_time_max_percent;
    sysctl.perf_event_max_stack = config.max_stack;
    sysctl.perf_event_max_contexts_per_stack = config.max_contexts_per_stack;
}

Perf::Impl::~Impl() = default;

TraceEvents& Perf::trace_events() { return *impl_->trace_events; }

void Perf::perf_event_init() {
    Impl& p = *impl_;
    p.perf_online_mask = kernel_.cpu_online_mask();
    p.set_max_sample_rate();
    // The order decides who is asked first for an event, and the numbers of dynamic types.
    register_software_pmus(p);
    register_tracing_pmus(p);
    register_breakpoint_pmu(p);
    register_core_pmus(p);
    p.register_sysctls();
    bpf_->init();
}

void Perf::cpu_starting(int cpu) {
    Impl& p = *impl_;
    p.perf_online_mask |= 1u << cpu;
    for (auto& set : p.cpu_contexts) (*set)[static_cast<unsigned>(cpu)].online = true;
    for (Pmu* pmu : p.pmus) pmu->cpu_starting(cpu);
}

void Perf::cpu_dying(int cpu) {
    Impl& p = *impl_;
    p.perf_online_mask &= ~(1u << cpu);
    for (auto& set : p.cpu_contexts) {
        PerfCpuContext& cpuctx = (*set)[static_cast<unsigned>(cpu)];
        IrqGuard irq(kernel_);
        PerfEventContext& ctx = cpuctx.ctx;
        p.ctx_sched_out(ctx, cpuctx, EVENT_TIME);
        const std::vector<PerfEvent*> events = ctx.event_list;
        for (PerfEvent* event : events) {
            const bool enabled = event->state >= PerfEventState::inactive;
            p.__perf_remove_from_context(*event, cpuctx, ctx, DETACH_GROUP);
            if (enabled) p.notice(EventNotice::What::disabled, *event);
        }
        cpuctx.online = false;
        kernel_.hrtimer_cancel(cpuctx.hrtimer);
        cpuctx.hrtimer_active = false;
    }
    for (Pmu* pmu : p.pmus) pmu->cpu_dying(cpu);
}

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
// exec: events that start or end with a new program (CORE-500 to 502).
#include "kernel_events/internal.h"

namespace rkperf::ke {

void Perf::Impl::perf_event_enable_on_exec(int ctxn) {
    PerfEventContext* clone = nullptr;
    {
        IrqGuard irq(kernel);
        PerfEventContext* ctx = kernel.current()->perf_event_ctxp[ctxn];
        if (!ctx || !ctx->nr_events) return;
        PerfCpuContext& cpuctx = get_cpu_context(*ctx);
        ctx_sched_out(*ctx, cpuctx, EVENT_TIME);
        bool enabled = false;
        int event_type = 0;
        for (PerfEvent* event : ctx->event_list) {
            event_type |= get_event_type(*event, *ctx);
            if (!event->attr.enable_on_exec) continue;
            event->attr.enable_on_exec = 0;
            if (event->state >= PerfEventState::inactive) continue;
            perf_event_set_state(*event, PerfEventState::inactive);
            notice(EventNotice::What::enabled, *event);
            enabled = true;
        }
        if (enabled) {
            clone = unclone_ctx(*ctx);
            ctx_resched(cpuctx, ctx, event_type);
        } else {
            ctx_sched_in(*ctx, cpuctx, EVENT_TIME);
        }
    }
    if (clone) put_ctx(*clone);
}

void Perf::Impl::perf_event_remove_on_exec(int ctxn) {
    PerfEventContext* ctx = perf_pin_task_context(*kernel.current(), ctxn);
    if (!ctx) return;
    PerfEventContext* clone = nullptr;
    {
        MutexGuard lock(*ctx->mutex);
        bool modified = false;
        const std::vector<PerfEvent*> events = ctx->event_list;
        for (PerfEvent* event : events) {
            if (!event->attr.remove_on_exec) continue;
            if (!is_kernel_event(*event)) perf_remove_from_owner(*event);
            modified = true;
            if (event->parent) {
                perf_event_exit_event(*event, *ctx);
                continue;
            }
            // Unlike at the end of the task, the rest of the group goes on.
            perf_remove_from_context(*event, DETACH_GROUP | DETACH_EXIT);
            perf_event_wakeup(*event);
        }
        IrqGuard irq(kernel);
        if (modified) clone = unclone_ctx(*ctx);
        --ctx->pin_count;
    }
    put_ctx(*ctx);
    if (clone) put_ctx(*clone);
}

void Perf::perf_event_exec() {
    KernelFrame frame(kernel_, KernelSymbol::perf_event_exec);
    for (int ctxn = 0; ctxn < 2; ++ctxn) {
        impl_->perf_event_enable_on_exec(ctxn);
        impl_->perf_event_remove_on_exec(ctxn);
        const PerfEventContext* ctx = kernel_.current()->perf_event_ctxp[ctxn];
        if (!ctx) continue;
        const std::vector<PerfEvent*> events = ctx->event_list;
        for (PerfEvent* event : events) impl_->perf_event_addr_filters_exec(*event);
    }
}

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
// The end of a task: its contexts die, copies give their counts back to the original (CORE-503 to 507).
#include "kernel_events/internal.h"

#include <stdexcept>

namespace rkperf::ke {

void Perf::Impl::sync_child_event(PerfEvent& child) {
    PerfEvent& parent = *child.parent;
    if (child.attr.inherit_stat && child.ctx->task && !child.ctx->dead) perf_event_read_event(child, *child.ctx->task);
    parent.child_count += perf_event_count(child);
    parent.child_total_time_enabled += child.total_time_enabled;
    parent.child_total_time_running += child.total_time_running;
}

void Perf::Impl::perf_event_exit_event(PerfEvent& event, PerfEventContext&) {
    KernelFrame frame(kernel, KernelSymbol::perf_event_exit_event);
    PerfEvent* parent = event.parent;
    if (!parent) {
        // An original belongs to its descriptor and stays readable, its group with it: by swapped contexts it may die
        // with any of the tasks that inherited it.
        perf_remove_from_context(event, DETACH_EXIT);
        perf_event_wakeup(event);
        return;
    }
    {
        MutexGuard lock(*parent->child_mutex);
        perf_remove_from_context(event, DETACH_GROUP | DETACH_CHILD | DETACH_EXIT);
    }
    // Pollers look for the end of the last copy.
    perf_event_wakeup(*parent);
    free_event(event);
    put_event(*parent);
}

void Perf::Impl::perf_event_exit_task_context(TaskBase& child, int ctxn) {
    PerfEventContext* ctx = perf_pin_task_context(child, ctxn);
    if (!ctx) return;
    {
        MutexGuard lock(*ctx->mutex);
        PerfEventContext* clone = nullptr;
        {
            IrqGuard irq(kernel);
            task_ctx_sched_out(get_cpu_context(*ctx), *ctx, EVENT_ALL);
            child.perf_event_ctxp[ctxn] = nullptr;
            put_ctx(*ctx);
            ctx->dead = true;
            ctx->task = nullptr;
            kernel.put_task(&child);
            clone = unclone_ctx(*ctx);
        }
        if (clone) put_ctx(*clone);
        // After the events are off the hardware: no sample follows the EXIT record.
        perf_event_task(child, ctx, false);
        const std::vector<PerfEvent*> events = ctx->event_list;
        for (PerfEvent* event : events) perf_event_exit_event(*event, *ctx);
    }
    put_ctx(*ctx);
}

void Perf::perf_event_exit_task(TaskBase& child) {
    KernelFrame frame(kernel_, KernelSymbol::perf_event_exit_task);
    {
        MutexGuard lock(impl_->perf_event_mutex(child));
        for (PerfEvent* event : child.perf_event_list) event->owner = nullptr;
        child.perf_event_list.clear();
    }
    for (int ctxn = 0; ctxn < 2; ++ctxn) impl_->perf_event_exit_task_context(child, ctxn);
    // What is left are the CPU-wide receivers.
    impl_->perf_event_task(child, nullptr, false);
}

void Perf::perf_event_delayed_put(TaskBase& task) {
    for (PerfEventContext* ctx : task.perf_event_ctxp)
        if (ctx) throw std::logic_error("perf_event_delayed_put: the task still has a context");
}

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
// Who receives a record about tasks and mappings (CORE-403 to 410).
#pragma once

#include "kernel_events/core/output.h"

namespace rkperf::ke {

inline bool sb_receives(Perf::Impl& perf, PerfEvent& event) {
    return event.state >= PerfEventState::inactive && perf.event_filter_match(event);
}

/// Calls `output` for the events of a context that receive here, newest first.
template <class Fn>
void perf_iterate_ctx(Perf::Impl& perf, const PerfEventContext& ctx, Fn&& output) {
    if (ctx.event_list.empty()) return;
    KernelFrame frame(perf.kernel, KernelSymbol::perf_iterate_ctx);
    const std::vector<PerfEvent*> events = ctx.event_list;
    for (PerfEvent* event : events)
        if (sb_receives(perf, *event)) output(*event);
}

/// Calls `output` for all that receive: this CPU's receivers, then the events of current's contexts; or, given a
/// context of a task that exits, only its events. Receivers with the wanted attribute are for `output` to choose.
template <class Fn>
void perf_iterate_sb(Perf::Impl& perf, PerfEventContext* task_ctx, Fn&& output) {
    Kernel& kernel = perf.kernel;
    KernelFrame frame(kernel, KernelSymbol::perf_iterate_sb);
    Perf::Impl::RcuReadLock rcu(perf);
    kernel.preempt_disable();
    if (task_ctx) {
        perf_iterate_ctx(perf, *task_ctx, output);
    } else {
        const std::vector<PerfEvent*> receivers = perf.this_cpu().pmu_sb_events;
        for (PerfEvent* event : receivers)
            // An event is in the list before it is complete.
            if (event->ctx && sb_receives(perf, *event)) output(*event);
        TaskBase* current = kernel.current();
        for (int ctxn = 0; ctxn < 2; ++ctxn)
            if (const PerfEventContext* ctx = current->perf_event_ctxp[ctxn]) perf_iterate_ctx(perf, *ctx, output);
    }
    kernel.preempt_enable();
}

} // namespace rkperf::ke

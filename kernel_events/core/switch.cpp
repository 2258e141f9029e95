// SPDX-License-Identifier: Apache-2.0
// The scheduler's hooks: contexts leave and enter a CPU with their task (CORE-228 to 240). Interrupts are masked.
#include "kernel_events/internal.h"

#include <algorithm>
#include <utility>

namespace rkperf::ke {

namespace {

/// Do the two contexts hold the same events (clones of one another or of a third, unchanged since)?
bool context_equiv(const PerfEventContext& a, const PerfEventContext& b) {
    if (a.pin_count || b.pin_count) return false;
    if (&a == b.parent_ctx && a.generation == b.parent_gen) return true;
    if (a.parent_ctx == &b && a.parent_gen == b.generation) return true;
    return a.parent_ctx && a.parent_ctx == b.parent_ctx && a.parent_gen == b.parent_gen;
}

} // namespace

void Perf::Impl::perf_event_sync_stat(PerfEventContext& ctx, PerfEventContext& next_ctx) {
    if (!ctx.nr_stat) return;
    update_context_time(ctx);
    auto theirs = next_ctx.event_list.begin();
    for (PerfEvent* ours : ctx.event_list) {
        if (theirs == next_ctx.event_list.end()) break;
        PerfEvent& event = *ours;
        PerfEvent& next = **theirs++;
        if (!event.attr.inherit_stat) continue;
        if (event.state == PerfEventState::active) event.pmu->read(event);
        perf_event_update_time(event);
        std::swap(event.count, next.count);
        std::swap(event.total_time_enabled, next.total_time_enabled);
        std::swap(event.total_time_running, next.total_time_running);
        perf_event_update_userpage(event);
        perf_event_update_userpage(next);
    }
}

void Perf::Impl::perf_event_context_sched_out(TaskBase& task, int ctxn, TaskBase& next) {
    PerfEventContext* ctx = task.perf_event_ctxp[ctxn];
    if (!ctx) return;
    KernelFrame frame(kernel, KernelSymbol::perf_event_context_sched_out);
    PerfCpuContext& cpuctx = get_cpu_context(*ctx);
    if (!cpuctx.task_ctx) return;
    PerfEventContext* next_ctx = next.perf_event_ctxp[ctxn];
    if (next_ctx) {
        const PerfEventContext* parent = ctx->parent_ctx;
        const PerfEventContext* next_parent = next_ctx->parent_ctx;
        const bool related =
            (parent || next_parent) && (next_parent == ctx || next_ctx == parent || next_parent == parent);
        // A SIGTRAP under way depends on which task the context belongs to.
        if (related && context_equiv(*ctx, *next_ctx) && !ctx->nr_pending && !next_ctx->nr_pending) {
            perf_pmu_disable(*ctx->pmu);
            ctx->task = &next;
            next_ctx->task = &task;
            if (cpuctx.sched_cb_usage) ctx->pmu->sched_task(ctx, false);
            if (!ctx->pmu->swap_task_ctx(*ctx, *next_ctx)) std::swap(ctx->task_ctx_data, next_ctx->task_ctx_data);
            perf_pmu_enable(*ctx->pmu);
            task.perf_event_ctxp[ctxn] = next_ctx;
            next.perf_event_ctxp[ctxn] = ctx;
            perf_event_sync_stat(*ctx, *next_ctx);
            return;
        }
    }
    perf_pmu_disable(*ctx->pmu);
    if (cpuctx.sched_cb_usage) ctx->pmu->sched_task(ctx, false);
    task_ctx_sched_out(cpuctx, *ctx, EVENT_ALL);
    perf_pmu_enable(*ctx->pmu);
}

void Perf::Impl::perf_event_context_sched_in(PerfEventContext& ctx, TaskBase&) {
    PerfCpuContext& cpuctx = get_cpu_context(ctx);
    ctx.pmu = cpuctx.ctx.pmu;
    if (cpuctx.task_ctx == &ctx) {
        if (!cpuctx.sched_cb_usage) return;
        perf_pmu_disable(*ctx.pmu);
        ctx.pmu->sched_task(&ctx, true);
        perf_pmu_enable(*ctx.pmu);
        return;
    }
    if (!ctx.nr_events) return;
    perf_pmu_disable(*ctx.pmu);
    // Priority: CPU pinned, task pinned, CPU flexible, task flexible.
    if (!ctx.pinned_groups.tree.empty()) cpu_ctx_sched_out(cpuctx, EVENT_FLEXIBLE);
    perf_event_sched_in(cpuctx, &ctx);
    if (cpuctx.sched_cb_usage) ctx.pmu->sched_task(cpuctx.task_ctx, true);
    perf_pmu_enable(*ctx.pmu);
}

void Perf::Impl::perf_sched_cb_inc(Pmu& pmu) {
    PerfCpuContext& cpuctx = this_cpu_context(pmu);
    auto& list = this_cpu().sched_cb_list;
    if (!cpuctx.sched_cb_usage++) list.insert(list.begin(), &cpuctx);
}

void Perf::Impl::perf_sched_cb_dec(Pmu& pmu) {
    PerfCpuContext& cpuctx = this_cpu_context(pmu);
    if (!--cpuctx.sched_cb_usage) std::erase(this_cpu().sched_cb_list, &cpuctx);
}

void Perf::Impl::perf_pmu_sched_task(TaskBase& prev, TaskBase& next, bool sched_in) {
    if (&prev == &next) return;
    for (PerfCpuContext* cpuctx : this_cpu().sched_cb_list) {
        // A task's context takes its driver along when it goes in or out itself.
        if (cpuctx->task_ctx) continue;
        Pmu& pmu = *cpuctx->ctx.pmu;
        perf_pmu_disable(pmu);
        pmu.sched_task(nullptr, sched_in);
        perf_pmu_enable(pmu);
    }
}

void Perf::perf_event_task_sched_out(TaskBase& task, TaskBase& next) {
    perf_sw_event_sched(PERF_COUNT_SW_CONTEXT_SWITCHES, 1, 0);
    if (impl_->counts.perf_swevent_enabled[PERF_COUNT_SW_CGROUP_SWITCHES] &&
        kernel_.perf_cgroup_from_task(task) != kernel_.perf_cgroup_from_task(next))
        perf_sw_event_sched(PERF_COUNT_SW_CGROUP_SWITCHES, 1, 0);
    if (!impl_->perf_sched_hooks_on()) return;
    KernelFrame frame(kernel_, KernelSymbol::__perf_event_task_sched_out);
    impl_->perf_pmu_sched_task(task, next, false);
    if (impl_->counts.nr_switch) impl_->perf_event_switch(task, &next, false);
    for (int ctxn = 0; ctxn < 2; ++ctxn) impl_->perf_event_context_sched_out(task, ctxn, next);
    impl_->perf_cgroup_switch(next);
    kernel_.notice(EventNotice{EventNotice::What::task_out, nullptr, static_cast<std::uint64_t>(task.pid),
                               static_cast<std::uint64_t>(kernel_.smp_processor_id())});
}

void Perf::perf_event_task_sched_in(TaskBase& prev, TaskBase& task) {
    if (impl_->perf_sched_hooks_on()) {
        KernelFrame frame(kernel_, KernelSymbol::__perf_event_task_sched_in);
        for (PerfEventContext* ctx : task.perf_event_ctxp)
            if (ctx) impl_->perf_event_context_sched_in(*ctx, task);
        if (impl_->counts.nr_switch) impl_->perf_event_switch(task, &prev, true);
        impl_->perf_pmu_sched_task(prev, task, true);
        kernel_.notice(EventNotice{EventNotice::What::task_in, nullptr, static_cast<std::uint64_t>(task.pid),
                                   static_cast<std::uint64_t>(kernel_.smp_processor_id())});
    }
    if (task.sched_migrated) {
        perf_sw_event_sched(PERF_COUNT_SW_CPU_MIGRATIONS, 1, 0);
        task.sched_migrated = false;
    }
}

void Perf::perf_event_task_migrate(TaskBase& task) {
    if (impl_->counts.perf_swevent_enabled[PERF_COUNT_SW_CPU_MIGRATIONS]) task.sched_migrated = true;
}

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
// Putting events on the hardware and taking them off: events, groups, classes of a context (CORE-142 to 144, 151 to 157,
// 191 to 208). All of it runs with interrupts masked.
#include "kernel_events/internal.h"

#include <algorithm>
#include <iterator>

namespace rkperf::ke {

namespace {

EventList<EventListKind::active>& get_event_list(PerfEvent& event, PerfEventContext& ctx) {
    return event.attr.pinned ? ctx.pinned_active : ctx.flexible_active;
}

bool counts_as_freq(const PerfEvent& e) { return e.attr.freq && e.attr.sample_freq; }

} // namespace

bool Perf::Impl::pmu_filter_match(PerfEvent& event) {
    if (!event.pmu->filter_match(event)) return false;
    return std::all_of(event.sibling_list.begin(), event.sibling_list.end(),
                       [](PerfEvent* s) { return s->pmu->filter_match(*s); });
}

bool Perf::Impl::event_filter_match(PerfEvent& event) {
    return (event.cpu == -1 || event.cpu == kernel.smp_processor_id()) && perf_cgroup_match(event) &&
           pmu_filter_match(event);
}

void Perf::Impl::event_sched_out(PerfEvent& event, PerfCpuContext& cpuctx, PerfEventContext& ctx) {
    if (event.state != PerfEventState::active) return;
    KernelFrame frame(kernel, KernelSymbol::event_sched_out);
    get_event_list(event, ctx).erase(event);

    perf_pmu_disable(*event.pmu);
    event.pmu->del(event, 0);
    event.oncpu = -1;
    PerfEventState state = PerfEventState::inactive;
    if (event.pending_disable) {
        event.pending_disable = false;
        state = PerfEventState::off;
    }
    if (event.pending_sigtrap) {
        event.pending_sigtrap = false;
        --ctx.nr_pending;
        // The task is still current: the signal waits for its return to user mode.
        if (state != PerfEventState::off) perf_sigtrap(event);
    }
    perf_event_set_state(event, state);
    if (!is_software_event(event)) --cpuctx.active_oncpu;
    if (!--ctx.nr_active) perf_event_ctx_deactivate(ctx);
    if (counts_as_freq(event)) --ctx.nr_freq;
    if (event.attr.exclusive || !cpuctx.active_oncpu) cpuctx.exclusive = false;
    notice(EventNotice::What::scheduled_out, event, static_cast<std::uint64_t>(kernel.smp_processor_id()), event.count);
    perf_pmu_enable(*event.pmu);
}

void Perf::Impl::group_sched_out(PerfEvent& leader, PerfCpuContext& cpuctx, PerfEventContext& ctx) {
    if (leader.state != PerfEventState::active) return;
    KernelFrame frame(kernel, KernelSymbol::group_sched_out);
    perf_pmu_disable(*ctx.pmu);
    for_each_group_member(leader, [&](PerfEvent& e) { event_sched_out(e, cpuctx, ctx); });
    perf_pmu_enable(*ctx.pmu);
}

int Perf::Impl::event_sched_in(PerfEvent& event, PerfCpuContext& cpuctx, PerfEventContext& ctx) {
    if (event.state <= PerfEventState::off) return 0;
    KernelFrame frame(kernel, KernelSymbol::event_sched_in);
    event.oncpu = kernel.smp_processor_id();
    perf_event_set_state(event, PerfEventState::active);
    // A new start on the hardware ends a throttling.
    if (event.hw.interrupts == MAX_INTERRUPTS) perf_event_unthrottle(event);

    perf_pmu_disable(*event.pmu);
    perf_log_itrace_start(event);
    int error = 0;
    if (event.pmu->add(event, PERF_EF_START)) {
        perf_event_set_state(event, PerfEventState::inactive);
        event.oncpu = -1;
        error = -EAGAIN;
    } else {
        if (!is_software_event(event)) ++cpuctx.active_oncpu;
        if (!ctx.nr_active++) perf_event_ctx_activate(ctx);
        if (counts_as_freq(event)) ++ctx.nr_freq;
        if (event.attr.exclusive) cpuctx.exclusive = true;
        notice(EventNotice::What::scheduled_in, event, static_cast<std::uint64_t>(event.oncpu),
               static_cast<std::uint64_t>(event.hw.idx));
    }
    perf_pmu_enable(*event.pmu);
    return error;
}

int Perf::Impl::group_sched_in(PerfEvent& leader, PerfCpuContext& cpuctx, PerfEventContext& ctx) {
    if (leader.state == PerfEventState::off) return 0;
    KernelFrame frame(kernel, KernelSymbol::group_sched_in);
    Pmu& pmu = *ctx.pmu;
    pmu.start_txn(PERF_PMU_TXN_ADD);
    if (event_sched_in(leader, cpuctx, ctx)) {
        pmu.cancel_txn();
        return -EAGAIN;
    }
    const auto& siblings = leader.sibling_list;
    const auto failed =
        std::find_if(siblings.begin(), siblings.end(), [&](PerfEvent* s) { return event_sched_in(*s, cpuctx, ctx); });
    if (failed == siblings.end() && !pmu.commit_txn()) return 0;
    // All or nothing.
    for (auto it = siblings.begin(); it != failed; ++it) event_sched_out(**it, cpuctx, ctx);
    event_sched_out(leader, cpuctx, ctx);
    pmu.cancel_txn();
    return -EAGAIN;
}

bool Perf::Impl::group_can_go_on(PerfEvent& leader, PerfCpuContext& cpuctx, bool can_add_hw) {
    if (leader.group_caps & PERF_EV_CAP_SOFTWARE) return true;
    if (cpuctx.exclusive) return false;
    if (leader.attr.exclusive && !get_event_list(leader, *leader.ctx).empty()) return false;
    return can_add_hw;
}

void Perf::Impl::perf_event_update_group_userpage(PerfEvent& leader) {
    for_each_group_member(leader, [&](PerfEvent& e) {
        if (e.rb) perf_event_update_userpage(e);
    });
}

void Perf::Impl::merge_sched_in(PerfEvent& leader, PerfCpuContext& cpuctx, PerfEventContext& ctx, bool& can_add_hw) {
    KernelFrame frame(kernel, KernelSymbol::merge_sched_in);
    if (leader.state <= PerfEventState::off || !event_filter_match(leader)) return;
    if (group_can_go_on(leader, cpuctx, can_add_hw) && !group_sched_in(leader, cpuctx, ctx))
        get_event_list(leader, ctx).push_back(leader);
    if (leader.state != PerfEventState::inactive) return;
    can_add_hw = false;
    if (leader.attr.pinned) {
        perf_event_set_state(leader, PerfEventState::error);
        notice(EventNotice::What::error, leader);
    } else {
        ctx.rotate_necessary = true;
        perf_mux_hrtimer_restart(cpuctx);
        perf_event_update_group_userpage(leader);
    }
}

void Perf::Impl::ctx_groups_sched_in(PerfEventContext& ctx, PerfCpuContext& cpuctx, bool pinned) {
    KernelFrame frame(kernel, KernelSymbol::visit_groups_merge);
    const auto& tree = (pinned ? ctx.pinned_groups : ctx.flexible_groups).tree;
    bool can_add_hw = true;
    // Groups for this CPU and, in a task's context, for any, in the order of their group_index.
    const int cpu = kernel.smp_processor_id();
    const auto first = [&](int c) { return tree.lower_bound(std::pair{c, std::uint64_t{0}}); };
    auto here = first(cpu);
    auto any = ctx.cpu < 0 ? first(-1) : tree.end();
    const auto valid = [&](auto it, int c) { return it != tree.end() && it->first.first == c; };
    for (;;) {
        const bool have_here = valid(here, cpu), have_any = ctx.cpu < 0 && valid(any, -1);
        if (!have_here && !have_any) break;
        const bool take_any = have_any && (!have_here || any->first.second < here->first.second);
        PerfEvent& leader = take_any ? *(any++)->second : *(here++)->second;
        merge_sched_in(leader, cpuctx, ctx, can_add_hw);
    }
}

void Perf::Impl::ctx_sched_in(PerfEventContext& ctx, PerfCpuContext& cpuctx, int event_type) {
    if (!ctx.nr_events) return;
    KernelFrame frame(kernel, KernelSymbol::ctx_sched_in);
    int is_active = ctx.is_active;
    // Time that passed while the context was off does not count.
    if (!(is_active & EVENT_TIME)) {
        __update_context_time(ctx, false);
        perf_cgroup_set_timestamp(cpuctx);
    }
    ctx.is_active |= event_type | EVENT_TIME;
    if (ctx.cpu < 0 && !is_active) cpuctx.task_ctx = &ctx;
    is_active ^= ctx.is_active;
    if (is_active & EVENT_PINNED) ctx_groups_sched_in(ctx, cpuctx, true);
    if (is_active & EVENT_FLEXIBLE) ctx_groups_sched_in(ctx, cpuctx, false);
}

void Perf::Impl::ctx_sched_out(PerfEventContext& ctx, PerfCpuContext& cpuctx, int event_type) {
    if (!ctx.nr_events) return;
    KernelFrame frame(kernel, KernelSymbol::ctx_sched_out);
    int is_active = ctx.is_active;
    if (is_active & EVENT_TIME) {
        update_context_time(ctx);
        update_cgrp_time_from_cpuctx(cpuctx, &ctx == &cpuctx.ctx);
    }
    ctx.is_active &= ~event_type;
    if (!(ctx.is_active & EVENT_ALL)) ctx.is_active = 0;
    if (ctx.cpu < 0 && !ctx.is_active) cpuctx.task_ctx = nullptr;
    is_active ^= ctx.is_active;
    if (!ctx.nr_active || !(is_active & EVENT_ALL)) return;
    perf_pmu_disable(*ctx.pmu);
    const auto out = [&](const EventList<EventListKind::active>& active) {
        const std::vector<PerfEvent*> leaders = active;
        for (PerfEvent* leader : leaders) group_sched_out(*leader, cpuctx, ctx);
    };
    if (is_active & EVENT_PINNED) out(ctx.pinned_active);
    if (is_active & EVENT_FLEXIBLE) {
        out(ctx.flexible_active);
        ctx.rotate_necessary = false;
    }
    perf_pmu_enable(*ctx.pmu);
}

void Perf::Impl::cpu_ctx_sched_out(PerfCpuContext& cpuctx, int event_type) {
    ctx_sched_out(cpuctx.ctx, cpuctx, event_type);
}

void Perf::Impl::cpu_ctx_sched_in(PerfCpuContext& cpuctx, int event_type) {
    ctx_sched_in(cpuctx.ctx, cpuctx, event_type);
}

void Perf::Impl::task_ctx_sched_out(PerfCpuContext& cpuctx, PerfEventContext& ctx, int event_type) {
    if (cpuctx.task_ctx != &ctx) return;
    ctx_sched_out(ctx, cpuctx, event_type);
}

void Perf::Impl::perf_event_sched_in(PerfCpuContext& cpuctx, PerfEventContext* task_ctx) {
    cpu_ctx_sched_in(cpuctx, EVENT_PINNED);
    if (task_ctx) ctx_sched_in(*task_ctx, cpuctx, EVENT_PINNED);
    cpu_ctx_sched_in(cpuctx, EVENT_FLEXIBLE);
    if (task_ctx) ctx_sched_in(*task_ctx, cpuctx, EVENT_FLEXIBLE);
}

void Perf::Impl::perf_pmu_resched(Pmu& pmu) {
    IrqGuard irq(kernel);
    PerfCpuContext& cpuctx = this_cpu_context(pmu);
    ctx_resched(cpuctx, cpuctx.task_ctx, EVENT_ALL | EVENT_CPU);
}

void Perf::Impl::ctx_resched(PerfCpuContext& cpuctx, PerfEventContext* task_ctx, int event_type) {
    KernelFrame frame(kernel, KernelSymbol::ctx_resched);
    const bool cpu_event = event_type & EVENT_CPU;
    // What is pinned may take counters from what is flexible.
    if (event_type & EVENT_PINNED) event_type |= EVENT_FLEXIBLE;
    event_type &= EVENT_ALL;
    perf_pmu_disable(*cpuctx.ctx.pmu);
    if (task_ctx) task_ctx_sched_out(cpuctx, *task_ctx, event_type);
    if (cpu_event)
        cpu_ctx_sched_out(cpuctx, event_type);
    else if (event_type & EVENT_PINNED)
        cpu_ctx_sched_out(cpuctx, EVENT_FLEXIBLE);
    perf_event_sched_in(cpuctx, task_ctx);
    perf_pmu_enable(*cpuctx.ctx.pmu);
}

} // namespace rkperf::ke

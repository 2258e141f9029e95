// SPDX-License-Identifier: Apache-2.0
// Enabling, disabling, refreshing, resetting events and changing their period (CORE-167 to 172, 283, 312 to 317, 325).
#include "kernel_events/core/context_lock.h"

#include <algorithm>
#include <utility>

namespace rkperf::ke {

void Perf::Impl::__event_disable(PerfEvent& event, PerfCpuContext& cpuctx, PerfEventContext& ctx,
                                 PerfEventState state) {
    event_sched_out(event, cpuctx, ctx);
    perf_event_set_state(event, std::min(event.state, state));
}

void Perf::Impl::__perf_event_disable(PerfEvent& event, PerfCpuContext* cpuctx, PerfEventContext& ctx) {
    KernelFrame frame(kernel, KernelSymbol::__perf_event_disable);
    if (event.state < PerfEventState::inactive) return;
    if (ctx.is_active & EVENT_TIME) {
        update_context_time(ctx);
        update_cgrp_time_from_event(event);
    }
    PerfCpuContext& here = cpuctx ? *cpuctx : get_cpu_context(ctx);
    if (&event == event.group_leader)
        group_sched_out(event, here, ctx);
    else
        event_sched_out(event, here, ctx);
    perf_event_set_state(event, PerfEventState::off);
    notice(EventNotice::What::disabled, event);
}

void Perf::Impl::_perf_event_disable(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::_perf_event_disable);
    if (event.state <= PerfEventState::off) return;
    event_function_call(event, [this](PerfEvent& e, PerfCpuContext* cpuctx, PerfEventContext& ctx) {
        __perf_event_disable(e, cpuctx, ctx);
    });
}

void Perf::Impl::perf_event_disable(PerfEvent& event) {
    EventContextLock lock(*this, event);
    _perf_event_disable(event);
}

std::uint64_t Perf::Impl::perf_event_pause(PerfEvent& event, bool reset) {
    EventContextLock lock(*this, event);
    _perf_event_disable(event);
    return reset ? std::exchange(event.count, 0) : event.count;
}

void Perf::Impl::perf_event_disable_local(PerfEvent& event) {
    event_function_local(event, [this](PerfEvent& e, PerfCpuContext* cpuctx, PerfEventContext& ctx) {
        __perf_event_disable(e, cpuctx, ctx);
    });
}

void Perf::Impl::perf_event_disable_inatomic(PerfEvent& event) {
    event.pending_disable = true;
    kernel.irq_work_queue(event.pending_irq);
}

void Perf::Impl::__perf_event_enable(PerfEvent& event, PerfCpuContext* cpuctx, PerfEventContext& ctx) {
    KernelFrame frame(kernel, KernelSymbol::__perf_event_enable);
    if (event.state >= PerfEventState::inactive || event.state <= PerfEventState::error) return;
    PerfCpuContext& here = cpuctx ? *cpuctx : get_cpu_context(ctx);
    if (ctx.is_active) ctx_sched_out(ctx, here, EVENT_TIME);
    perf_event_set_state(event, PerfEventState::inactive);
    notice(EventNotice::What::enabled, event);
    if (!ctx.is_active) return;
    const PerfEvent& leader = *event.group_leader;
    if (!event_filter_match(event) || (&leader != &event && leader.state != PerfEventState::active)) {
        ctx_sched_in(ctx, here, EVENT_TIME);
        return;
    }
    ctx_resched(here, here.task_ctx, get_event_type(event, ctx));
}

void Perf::Impl::_perf_event_enable(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::_perf_event_enable);
    {
        IrqGuard irq(kernel);
        if (event.state >= PerfEventState::inactive || event.state < PerfEventState::error) return;
        if (event.state == PerfEventState::error) {
            if ((event.event_caps & PERF_EV_CAP_SIBLING) && event.group_leader == &event) return;
            event.state = PerfEventState::off;
        }
    }
    event_function_call(event, [this](PerfEvent& e, PerfCpuContext* cpuctx, PerfEventContext& ctx) {
        __perf_event_enable(e, cpuctx, ctx);
    });
}

void Perf::Impl::perf_event_enable(PerfEvent& event) {
    EventContextLock lock(*this, event);
    _perf_event_enable(event);
}

int Perf::Impl::_perf_event_refresh(PerfEvent& event, int refresh) {
    KernelFrame frame(kernel, KernelSymbol::_perf_event_refresh);
    if (event.attr.inherit || !is_sampling_event(event)) return -EINVAL;
    event.event_limit += refresh;
    _perf_event_enable(event);
    return 0;
}

void Perf::Impl::_perf_event_reset(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::_perf_event_reset);
    perf_event_read(event, false);
    notice(EventNotice::What::reset, event, event.count);
    event.count = 0;
    perf_event_update_userpage(event);
}

int Perf::Impl::_perf_event_period(PerfEvent& event, std::uint64_t value) {
    KernelFrame frame(kernel, KernelSymbol::_perf_event_period);
    if (!is_sampling_event(event) || !value) return -EINVAL;
    if (event.attr.freq) {
        if (value > static_cast<std::uint64_t>(sysctl.perf_event_max_sample_rate)) return -EINVAL;
    } else if (event.pmu->check_period(event, value) || value >> 63) {
        return -EINVAL;
    }
    event_function_call(event, [this, value](PerfEvent& e, PerfCpuContext*, PerfEventContext& ctx) {
        KernelFrame inner(kernel, KernelSymbol::__perf_event_period);
        if (e.attr.freq) {
            e.attr.sample_freq = value;
        } else {
            e.attr.sample_period = value;
            e.hw.sample_period = value;
        }
        const bool active = e.state == PerfEventState::active;
        if (active) {
            perf_pmu_disable(*ctx.pmu);
            // Otherwise the tick would start it a second time.
            if (e.hw.interrupts == MAX_INTERRUPTS) perf_event_unthrottle(e);
            e.pmu->stop(e, PERF_EF_UPDATE);
        }
        e.hw.period_left = 0;
        if (active) {
            e.pmu->start(e, PERF_EF_RELOAD);
            perf_pmu_enable(*ctx.pmu);
        }
    });
    return 0;
}

void Perf::Impl::perf_event_for_each_child(PerfEvent& event, void (Impl::*fn)(PerfEvent&)) {
    KernelFrame frame(kernel, KernelSymbol::perf_event_for_each_child);
    MutexGuard lock(*event.child_mutex);
    (this->*fn)(event);
    for (PerfEvent* child : event.child_list) (this->*fn)(*child);
}

void Perf::Impl::perf_event_for_each(PerfEvent& event, void (Impl::*fn)(PerfEvent&)) {
    for_each_group_member(*event.group_leader, [&](PerfEvent& e) { perf_event_for_each_child(e, fn); });
}

int Perf::perf_event_task_enable() {
    KernelFrame frame(kernel_, KernelSymbol::perf_event_task_enable);
    MutexGuard lock(impl_->perf_event_mutex(*kernel_.current()));
    for (PerfEvent* event : kernel_.current()->perf_event_list) {
        EventContextLock ctx(*impl_, *event);
        impl_->perf_event_for_each_child(*event, &Impl::_perf_event_enable);
    }
    return 0;
}

int Perf::perf_event_task_disable() {
    KernelFrame frame(kernel_, KernelSymbol::perf_event_task_disable);
    MutexGuard lock(impl_->perf_event_mutex(*kernel_.current()));
    for (PerfEvent* event : kernel_.current()->perf_event_list) {
        EventContextLock ctx(*impl_, *event);
        impl_->perf_event_for_each_child(*event, &Impl::_perf_event_disable);
    }
    return 0;
}

} // namespace rkperf::ke

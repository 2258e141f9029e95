// SPDX-License-Identifier: Apache-2.0
// Context time, enabled and running time, event state (CORE-177 to 190, 521).
#include "kernel_events/internal.h"

namespace rkperf::ke {

namespace {

/// Adds what passed since the event's last update to its totals.
void update_times(const PerfEvent& event, PerfEventState state, std::uint64_t now, std::uint64_t& enabled,
                  std::uint64_t& running) {
    const std::uint64_t delta = now - event.tstamp;
    enabled = event.total_time_enabled + (state >= PerfEventState::inactive ? delta : 0);
    running = event.total_time_running + (state >= PerfEventState::active ? delta : 0);
}

} // namespace

std::uint64_t Perf::Impl::perf_event_clock(PerfEvent& event) {
    return event.clock < 0 ? kernel.local_clock() : kernel.ktime_get_ns(event.clock);
}

PerfEventState Perf::Impl::effective_state(const PerfEvent& event) {
    const PerfEventState leader = event.group_leader->state;
    return leader <= PerfEventState::off ? leader : event.state;
}

void Perf::Impl::__update_context_time(PerfEventContext& ctx, bool advance) {
    const std::uint64_t now = perf_clock();
    if (advance) ctx.time += now - ctx.timestamp;
    ctx.timestamp = now;
    ctx.timeoffset = ctx.time - ctx.timestamp;
}

void Perf::Impl::update_context_time(PerfEventContext& ctx) { __update_context_time(ctx, true); }

std::uint64_t Perf::Impl::perf_event_time(PerfEvent& event) {
    if (!event.ctx) return 0;
    return event.cgrp ? perf_cgroup_event_time(event, nullptr) : event.ctx->time;
}

std::uint64_t Perf::Impl::perf_event_time_now(PerfEvent& event, std::uint64_t now) {
    if (!event.ctx) return 0;
    if (event.cgrp) return perf_cgroup_event_time(event, &now);
    return event.ctx->is_active & EVENT_TIME ? now + event.ctx->timeoffset : event.ctx->time;
}

void Perf::Impl::perf_event_update_time(PerfEvent& event) {
    const std::uint64_t now = perf_event_time(event);
    update_times(event, effective_state(event), now, event.total_time_enabled, event.total_time_running);
    event.tstamp = now;
}

void Perf::Impl::perf_event_update_sibling_time(PerfEvent& leader) {
    for (PerfEvent* s : leader.sibling_list) perf_event_update_time(*s);
}

void Perf::Impl::perf_event_set_state(PerfEvent& event, PerfEventState state) {
    if (event.state == state) return;
    perf_event_update_time(event);
    // When a leader goes on or off, its siblings' effective state does too.
    if ((event.state < PerfEventState::inactive) != (state < PerfEventState::inactive))
        perf_event_update_sibling_time(event);
    if (event.cgrp && event.ctx && (event.attach_state & PERF_ATTACH_CONTEXT)) {
        if (state > PerfEventState::off)
            perf_cgroup_event_enable(event, *event.ctx);
        else
            perf_cgroup_event_disable(event, *event.ctx);
    }
    event.state = state;
}

void Perf::Impl::calc_timer_values(PerfEvent& event, std::uint64_t& now, std::uint64_t& enabled,
                                   std::uint64_t& running) {
    now = perf_clock();
    update_times(event, effective_state(event), perf_event_time_now(event, now), enabled, running);
}

} // namespace rkperf::ke

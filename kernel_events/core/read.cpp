// SPDX-License-Identifier: Apache-2.0
// Reading events: read(2) in all formats, kernel users, poll (CORE-297 to 309, 328 to 336, 518).
#include "kernel_events/core/context_lock.h"

#include <algorithm>

namespace rkperf::ke {

namespace {
/// Instructions for one member of a group that is read.
constexpr std::uint32_t kMemberCost = 110;
} // namespace

void Perf::Impl::perf_event__read_size(PerfEvent& event, int nr_siblings) {
    const std::uint64_t f = event.attr.read_format;
    unsigned entry = 8, size = 0;
    std::uint64_t members = 1;
    if (f & PERF_FORMAT_TOTAL_TIME_ENABLED) size += 8;
    if (f & PERF_FORMAT_TOTAL_TIME_RUNNING) size += 8;
    if (f & PERF_FORMAT_ID) entry += 8;
    if (f & PERF_FORMAT_LOST) entry += 8;
    if (f & PERF_FORMAT_GROUP) {
        members += static_cast<std::uint64_t>(nr_siblings);
        size += 8;
    }
    // A u16, as in the kernel; perf_event_validate_size keeps it far from its limit.
    event.read_size = static_cast<std::uint16_t>(size + entry * members);
}

void Perf::Impl::__perf_event_read(PerfEvent& event, bool group, int& error) {
    KernelFrame frame(kernel, KernelSymbol::__perf_event_read);
    PerfEventContext& ctx = *event.ctx;
    // Scheduled out before the call arrived: its values are in the event already.
    if (ctx.cpu < 0 && get_cpu_context(ctx).task_ctx != &ctx) return;
    if (ctx.is_active & EVENT_TIME) {
        update_context_time(ctx);
        update_cgrp_time_from_event(event);
    }
    perf_event_update_time(event);
    if (group) perf_event_update_sibling_time(event);
    if (event.state != PerfEventState::active) return;
    Pmu& pmu = *event.pmu;
    if (!group) {
        pmu.read(event);
        error = 0;
        return;
    }
    pmu.start_txn(PERF_PMU_TXN_READ);
    pmu.read(event);
    // Through each sibling's own PMU: a software event may be in a hardware group.
    for (PerfEvent* s : event.sibling_list)
        if (s->state == PerfEventState::active) s->pmu->read(*s);
    error = pmu.commit_txn();
}

int Perf::Impl::perf_event_read(PerfEvent& event, bool group) {
    KernelFrame frame(kernel, KernelSymbol::perf_event_read);
    int error = 0;
    for (;;) {
        if (event.state == PerfEventState::active) {
            int cpu = event.oncpu;
            if (cpu < 0) return 0;
            // The CPUs are one package, so any will do for what is counted per package.
            if (event.group_caps & PERF_EV_CAP_READ_ACTIVE_PKG) cpu = kernel.smp_processor_id();
            kernel.smp_call_function_single(cpu, [&] { __perf_event_read(event, group, error); });
            return error;
        }
        if (event.state != PerfEventState::inactive) return 0;
        IrqGuard irq(kernel);
        if (event.state != PerfEventState::inactive) continue;
        // The time of a task that sleeps stands still.
        if (event.ctx->is_active & EVENT_TIME) {
            update_context_time(*event.ctx);
            update_cgrp_time_from_event(event);
        }
        perf_event_update_time(event);
        if (group) perf_event_update_sibling_time(event);
        return 0;
    }
}

std::uint64_t Perf::Impl::__perf_event_read_value(PerfEvent& event, std::uint64_t& enabled, std::uint64_t& running) {
    MutexGuard lock(*event.child_mutex);
    perf_event_read(event, false);
    std::uint64_t total = perf_event_count(event);
    enabled = event.total_time_enabled + event.child_total_time_enabled;
    running = event.total_time_running + event.child_total_time_running;
    for (PerfEvent* child : event.child_list) {
        perf_event_read(*child, false);
        total += perf_event_count(*child);
        enabled += child->total_time_enabled;
        running += child->total_time_running;
    }
    return total;
}

std::uint64_t Perf::Impl::perf_event_read_value(PerfEvent& event, std::uint64_t& enabled, std::uint64_t& running) {
    EventContextLock lock(*this, event);
    return __perf_event_read_value(event, enabled, running);
}

int Perf::Impl::perf_event_read_local(PerfEvent& event, std::uint64_t& value, std::uint64_t* enabled,
                                      std::uint64_t* running) {
    IrqGuard irq(kernel);
    if (event.attr.inherit) return -EOPNOTSUPP;
    const int here = kernel.smp_processor_id();
    if ((event.attach_state & PERF_ATTACH_TASK) && event.hw.target != kernel.current()) return -EINVAL;
    if (!(event.attach_state & PERF_ATTACH_TASK) && event.cpu != here) return -EINVAL;
    if (event.attr.pinned && event.oncpu != here) return -EBUSY;
    if (event.oncpu == here) event.pmu->read(event);
    value = event.count;
    std::uint64_t now = 0, e = 0, r = 0;
    if (enabled || running) calc_timer_values(event, now, e, r);
    if (enabled) *enabled = e;
    if (running) *running = r;
    return 0;
}

int Perf::Impl::perf_read_group_add(PerfEvent& leader, std::uint64_t format, std::span<std::uint64_t> values) {
    const int error = perf_event_read(leader, true);
    if (error) return error;
    IrqGuard irq(kernel);
    // A child's group may have lost members that the parent's still has.
    if (const PerfEvent* parent = leader.parent)
        if (parent->group_generation != leader.group_generation || parent->nr_siblings != leader.nr_siblings)
            return -ECHILD;
    std::size_t n = 1;
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        values[n++] += leader.total_time_enabled + leader.child_total_time_enabled;
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        values[n++] += leader.total_time_running + leader.child_total_time_running;
    for_each_group_member(leader, [&](PerfEvent& e) {
        kernel.charge(kMemberCost);
        values[n++] += perf_event_count(e);
        if (format & PERF_FORMAT_ID) values[n++] = primary_event_id(e);
        if (format & PERF_FORMAT_LOST) values[n++] = e.lost_samples;
    });
    return 0;
}

std::int64_t Perf::Impl::perf_read_group(PerfEvent& event, std::uint64_t buf) {
    KernelFrame frame(kernel, KernelSymbol::perf_read_group);
    PerfEvent& leader = *event.group_leader;
    const std::uint64_t format = event.attr.read_format;
    std::vector<std::uint64_t> values(event.read_size / 8);
    values[0] = 1 + static_cast<std::uint64_t>(leader.nr_siblings);
    {
        MutexGuard lock(*leader.child_mutex);
        if (const int error = perf_read_group_add(leader, format, values)) return error;
        for (PerfEvent* child : leader.child_list)
            if (const int error = perf_read_group_add(*child, format, values)) return error;
    }
    return kernel.copy_to_user(buf, values.data(), event.read_size) ? event.read_size : -EFAULT;
}

std::int64_t Perf::Impl::perf_read_one(PerfEvent& event, std::uint64_t buf) {
    const std::uint64_t format = event.attr.read_format;
    std::array<std::uint64_t, 5> values{};
    std::uint64_t enabled = 0, running = 0;
    std::size_t n = 0;
    values[n++] = __perf_event_read_value(event, enabled, running);
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED) values[n++] = enabled;
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING) values[n++] = running;
    if (format & PERF_FORMAT_ID) values[n++] = primary_event_id(event);
    if (format & PERF_FORMAT_LOST) values[n++] = event.lost_samples;
    return kernel.copy_to_user(buf, values.data(), n * 8) ? static_cast<std::int64_t>(n * 8) : -EFAULT;
}

std::int64_t Perf::Impl::perf_read(PerfEvent& event, std::uint64_t buf, std::uint64_t count) {
    KernelFrame frame(kernel, KernelSymbol::perf_read);
    if (const int error = kernel.security_perf_event_read(event)) return error;
    EventContextLock lock(*this, event);
    if (event.state == PerfEventState::error) return 0;
    if (count < event.read_size) return -ENOSPC;
    const std::int64_t result =
        event.attr.read_format & PERF_FORMAT_GROUP ? perf_read_group(event, buf) : perf_read_one(event, buf);
    notice(EventNotice::What::read, event, event.count);
    return result;
}

bool Perf::Impl::is_event_hup(PerfEvent& event) {
    if (event.state > PerfEventState::exit) return false;
    MutexGuard lock(*event.child_mutex);
    return event.child_list.empty();
}

PollMask Perf::Impl::perf_poll(PerfEvent& event, WaitQueue*& wq) {
    KernelFrame frame(kernel, KernelSymbol::perf_poll);
    wq = event.waitq.get();
    if (is_event_hup(event)) return kPollHup;
    MutexGuard lock(*event.mmap_mutex);
    if (!event.rb) return kPollHup;
    const PollMask events = event.rb->poll;
    event.rb->poll = 0;
    return events;
}

int Perf::Impl::perf_event_index(PerfEvent& event) {
    if (event.hw.state & PERF_HES_STOPPED || event.state != PerfEventState::active) return 0;
    return event.pmu->event_idx(event);
}

} // namespace rkperf::ke

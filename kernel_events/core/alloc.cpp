// SPDX-License-Identifier: Apache-2.0
// Life of an event: allocation, choice of its PMU, global accounting, release (CORE-009, 070 to 092, 175).
#include "kernel_events/bpf/bpf.h"
#include "kernel_events/core/context_lock.h"

#include <time.h>

namespace rkperf::ke {

namespace {

bool has_any_exclude_flag(const perf_event_attr& a) {
    return a.exclude_idle || a.exclude_user || a.exclude_kernel || a.exclude_hv || a.exclude_guest || a.exclude_host;
}
/// Bit 46 of a register mask is VG, the only register of the extended set on arm64.
bool has_extended_regs(const perf_event_attr& a) { return (a.sample_regs_user | a.sample_regs_intr) >> 46 & 1; }

/// A receiver of side-band records that is not bound to a task (CORE-404).
bool is_sb_event(const PerfEvent& e) {
    const perf_event_attr& a = e.attr;
    if (e.parent || (e.attach_state & PERF_ATTACH_TASK)) return false;
    return a.mmap || a.mmap_data || a.mmap2 || a.comm || a.comm_exec || a.task || a.ksymbol || a.context_switch ||
           a.text_poke || a.bpf_event;
}

/// Which counters of PerfEventCounts an event raises.
struct CountedKind {
    int PerfEventCounts::*count;
    bool (*asks)(const perf_event_attr&);
};
constexpr CountedKind kCountedKinds[] = {
    {&PerfEventCounts::nr_mmap, [](const perf_event_attr& a) { return a.mmap || a.mmap_data; }},
    {&PerfEventCounts::nr_build_id, [](const perf_event_attr& a) { return bool(a.build_id); }},
    {&PerfEventCounts::nr_comm, [](const perf_event_attr& a) { return bool(a.comm); }},
    {&PerfEventCounts::nr_namespaces, [](const perf_event_attr& a) { return bool(a.namespaces); }},
    {&PerfEventCounts::nr_cgroup, [](const perf_event_attr& a) { return bool(a.cgroup); }},
    {&PerfEventCounts::nr_task, [](const perf_event_attr& a) { return bool(a.task); }},
    {&PerfEventCounts::nr_freq, [](const perf_event_attr& a) { return bool(a.freq); }},
    {&PerfEventCounts::nr_switch, [](const perf_event_attr& a) { return bool(a.context_switch); }},
    {&PerfEventCounts::nr_ksymbol, [](const perf_event_attr& a) { return bool(a.ksymbol); }},
    {&PerfEventCounts::nr_bpf, [](const perf_event_attr& a) { return bool(a.bpf_event); }},
    {&PerfEventCounts::nr_text_poke, [](const perf_event_attr& a) { return bool(a.text_poke); }},
};

/// Does the event need the hooks in the scheduler?
bool needs_sched_hooks(const PerfEvent& e) {
    return (e.attach_state & (PERF_ATTACH_TASK | PERF_ATTACH_SCHED_CB)) || e.attr.context_switch ||
           (e.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) || e.cgrp;
}

} // namespace

int Perf::Impl::perf_try_init_event(Pmu& pmu, PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::perf_try_init_event);
    if (!pmu.try_module_get()) return -ENODEV;
    int error;
    {
        // The driver walks the group, so it must not change meanwhile.
        const bool walks = event.group_leader != &event && pmu.task_ctx_nr != Pmu::TaskContext::software;
        std::unique_ptr<EventContextLock> lock;
        if (walks) lock = std::make_unique<EventContextLock>(*this, *event.group_leader);
        event.pmu = &pmu;
        error = pmu.event_init(event);
    }
    if (error) {
        pmu.module_put();
        return error;
    }
    if (!(pmu.capabilities & Pmu::PERF_PMU_CAP_EXTENDED_REGS) && has_extended_regs(event.attr)) error = -EOPNOTSUPP;
    if ((pmu.capabilities & Pmu::PERF_PMU_CAP_NO_EXCLUDE) && has_any_exclude_flag(event.attr)) error = -EINVAL;
    if (error && event.destroy) {
        event.destroy(event);
        event.destroy = nullptr;
    }
    if (error) pmu.module_put();
    return error;
}

Pmu* Perf::Impl::perf_init_event(PerfEvent& event, int& error) {
    KernelFrame frame(kernel, KernelSymbol::perf_init_event);
    if (event.parent && event.parent->pmu) {
        if (!(error = perf_try_init_event(*event.parent->pmu, event))) return event.parent->pmu;
    }
    std::uint32_t type = event.attr.type;
    bool extended_type = false;
    if (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE) {
        type = static_cast<std::uint32_t>(event.attr.config >> PERF_PMU_TYPE_SHIFT);
        if (!type) {
            type = PERF_TYPE_RAW;
        } else {
            extended_type = true;
            event.attr.config &= PERF_HW_EVENT_MASK;
        }
    }
    for (auto it = pmu_idr.find(type); it != pmu_idr.end(); it = pmu_idr.find(type)) {
        Pmu* pmu = it->second;
        if (event.attr.type != type && type != PERF_TYPE_RAW &&
            !(pmu->capabilities & Pmu::PERF_PMU_CAP_EXTENDED_HW_TYPE)) {
            error = -ENOENT;
            return nullptr;
        }
        error = perf_try_init_event(*pmu, event);
        if (error == -ENOENT && event.attr.type != type && !extended_type) {
            type = event.attr.type;
            continue;
        }
        return error ? nullptr : pmu;
    }
    for (Pmu* pmu : pmus) {
        error = perf_try_init_event(*pmu, event);
        if (!error) return pmu;
        if (error != -ENOENT) return nullptr;
    }
    error = -ENOENT;
    return nullptr;
}

PerfEvent* Perf::Impl::perf_event_alloc(const perf_event_attr& attr, const EventRequest& request, int& error) {
    KernelFrame frame(kernel, KernelSymbol::perf_event_alloc);
    const bool cpu_valid =
        request.cpu >= 0 && request.cpu < kMaxCpus && (kernel.cpu_possible_mask() >> request.cpu & 1);
    error = -EINVAL;
    if (!cpu_valid && (!request.task || request.cpu != -1)) return nullptr;
    // A SIGTRAP needs a task to go to.
    if (attr.sigtrap && !request.task) return nullptr;

    auto owner = std::make_unique<PerfEvent>();
    PerfEvent& event = *owner;
    ++nr_live_events;
    event.child_mutex = kernel.make_mutex();
    event.mmap_mutex = kernel.make_mutex();
    event.waitq = kernel.make_waitqueue();
    event.pending_irq.func = [this, &event] { perf_pending_irq(event); };
    event.cpu = request.cpu;
    event.attr = attr;
    event.orig_type = attr.type;
    event.group_leader = request.group_leader ? request.group_leader : &event;
    event.parent = request.parent;
    event.id = event.own_id = ++perf_event_id;
    event.ns = kernel.task_active_pid_ns();
    if (event.parent) {
        event.event_caps = event.parent->event_caps;
        event.clock = event.parent->clock;
    }
    if (request.task) {
        event.attach_state = PERF_ATTACH_TASK;
        kernel.get_task(request.task);
        event.hw.target = request.task;
    }
    event.overflow_handler = request.overflow_handler;
    if (!event.overflow_handler && event.parent && event.parent->kernel_counter)
        event.overflow_handler = event.parent->overflow_handler;
    if (!event.overflow_handler) {
        if (is_write_backward(event))
            event.overflow_handler = [this](PerfEvent& e, PerfSampleData& d, PtRegs& r) {
                perf_event_output_backward(e, d, r);
            };
        else
            event.overflow_handler = [this](PerfEvent& e, PerfSampleData& d, PtRegs& r) {
                perf_event_output_forward(e, d, r);
            };
    }
    event.state = attr.disabled ? PerfEventState::off : PerfEventState::inactive;

    HwPerfEvent& hw = event.hw;
    hw.sample_period = attr.freq && attr.sample_freq ? 1 : attr.sample_period;
    hw.last_period = hw.sample_period;
    hw.period_left = static_cast<std::int64_t>(hw.sample_period);

    bool initialised = false;
    const auto fail = [&](int e) -> PerfEvent* {
        error = e;
        if (event.destroy) event.destroy(event);
        if (initialised) event.pmu->module_put();
        if (event.hw.target) kernel.put_task(event.hw.target);
        --nr_live_events;
        return nullptr;
    };
    // A child's READ would need the values of all the others.
    if (has_inherit_and_sample_read(attr)) return fail(-EINVAL);
    if (!(attr.sample_type & PERF_SAMPLE_BRANCH_STACK)) event.attr.branch_sample_type = 0;

    Pmu* pmu = perf_init_event(event, error);
    if (!pmu) {
        event.destroy = nullptr;
        return fail(error);
    }
    event.pmu = pmu;
    initialised = true;
    if (pmu->task_ctx_nr == Pmu::TaskContext::invalid && request.cgroup_fd != -1) return fail(-EINVAL);
    if (event.attr.aux_output && !(pmu->capabilities & Pmu::PERF_PMU_CAP_AUX_OUTPUT)) return fail(-EOPNOTSUPP);
    if (request.cgroup_fd != -1)
        if (const int e = perf_cgroup_connect(event, request.cgroup_fd, request.group_leader)) return fail(e);
    if (const int e = exclusive_event_init(event)) return fail(e);
    if (has_addr_filter(event)) {
        event.addr_filter_ranges.resize(pmu->nr_addr_filters);
        if (event.parent) event.addr_filter_ranges = event.parent->addr_filter_ranges;
        event.addr_filters_gen = 1;
    }
    const bool chains = !event.parent && (event.attr.sample_type & PERF_SAMPLE_CALLCHAIN);
    if (chains) error = get_callchain_buffers(event.attr.sample_max_stack);
    if (!error && (error = kernel.security_perf_event_alloc(event)) && chains) put_callchain_buffers();
    if (error) {
        exclusive_event_destroy(event);
        return fail(error);
    }
    account_event(event);
    error = 0;
    return owner.release();
}

bool Perf::Impl::perf_sched_hooks_on() {
    if (counts.perf_sched_count > 0) return true;
    if (!perf_sched_off_at) return false;
    if (perf_clock() < perf_sched_off_at) return true;
    perf_sched_off_at = 0;
    return false;
}

void Perf::Impl::account_event(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::account_event);
    if (event.parent) return;
    for (const CountedKind& k : kCountedKinds)
        if (k.asks(event.attr)) ++(counts.*k.count);
    if (event.attr.freq && counts.nr_freq == 1) kernel.tick_dep_set(true);
    if (needs_sched_hooks(event)) {
        // All CPUs must see the hooks before events that need them are installed.
        if (!perf_sched_hooks_on()) kernel.synchronize_rcu();
        ++counts.perf_sched_count;
    }
    account_pmu_sb_event(event);
}

void Perf::Impl::unaccount_event(PerfEvent& event) {
    if (event.parent) return;
    for (const CountedKind& k : kCountedKinds)
        if (k.asks(event.attr)) --(counts.*k.count);
    if (event.attr.freq && !counts.nr_freq) kernel.tick_dep_set(false);
    // The hooks stay on for a second after the last user (CORE-092).
    if (needs_sched_hooks(event) && !--counts.perf_sched_count) perf_sched_off_at = perf_clock() + NSEC_PER_SEC;
    unaccount_pmu_sb_event(event);
}

void Perf::Impl::account_pmu_sb_event(PerfEvent& event) {
    if (!is_sb_event(event)) return;
    IrqGuard irq(kernel);
    percpu[static_cast<unsigned>(event.cpu)].pmu_sb_events.push_front(event);
}

void Perf::Impl::unaccount_pmu_sb_event(PerfEvent& event) {
    if (!is_sb_event(event)) return;
    IrqGuard irq(kernel);
    percpu[static_cast<unsigned>(event.cpu)].pmu_sb_events.erase(event);
}

void Perf::Impl::_free_event(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::_free_event);
    kernel.irq_work_sync(event.pending_irq);
    unaccount_event(event);
    kernel.security_perf_event_free(event);
    if (event.rb) {
        MutexGuard lock(*event.mmap_mutex);
        ring_buffer_attach(event, nullptr);
    }
    if (!event.parent && (event.attr.sample_type & PERF_SAMPLE_CALLCHAIN)) put_callchain_buffers();
    perf.bpf().perf_event_free_bpf_prog(event);
    if (event.destroy) event.destroy(event);
    // The driver's destroy may look at the target, so it goes last.
    if (event.hw.target) kernel.put_task(event.hw.target);
    if (event.ctx) put_ctx(*event.ctx);
    exclusive_event_destroy(event);
    event.pmu->module_put();
    notice(EventNotice::What::freed, event);
    --nr_live_events;
    free_event_rcu(event);
}

void Perf::Impl::free_event(PerfEvent& event) {
    if (event.refcount != 1) throw std::logic_error("free_event: the event is still in use");
    event.refcount = 0;
    _free_event(event);
}

void Perf::Impl::put_event(PerfEvent& event) {
    if (--event.refcount > 0) return;
    _free_event(event);
}

int Perf::Impl::perf_event_set_clock(PerfEvent& event, int clockid) {
    bool nmi_safe = false;
    switch (clockid) {
        case CLOCK_MONOTONIC:
        case CLOCK_MONOTONIC_RAW: nmi_safe = true; break;
        case CLOCK_REALTIME:
        case CLOCK_BOOTTIME:
        case CLOCK_TAI: break;
        default: return -EINVAL;
    }
    if (!nmi_safe && !(event.pmu->capabilities & Pmu::PERF_PMU_CAP_NO_NMI)) return -EINVAL;
    event.clock = clockid;
    return 0;
}

void Perf::Impl::perf_remove_from_owner(PerfEvent& event) {
    if (!event.owner) return;
    TaskBase* owner = event.owner;
    MutexGuard lock(perf_event_mutex(*owner));
    // The owner may have exited while we waited; it has cleared the pointer then.
    if (!event.owner) return;
    owner->perf_event_list.erase(event);
    event.owner = nullptr;
}

int Perf::Impl::perf_event_release_kernel(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::perf_event_release_kernel);
    if (!event.ctx) {
        put_event(event);
        return 0;
    }
    if (!is_kernel_event(event)) perf_remove_from_owner(event);
    {
        EventContextLock lock(*this, event);
        perf_remove_from_context(event, DETACH_GROUP | DETACH_DEAD);
    }
    // The state is DEAD now: no new child can appear. A child's context mutex comes before child_mutex, hence the loop.
    std::vector<PerfEvent*> free_list;
    for (;;) {
        event.child_mutex->lock();
        if (event.child_list.empty()) {
            event.child_mutex->unlock();
            break;
        }
        PerfEvent* child = event.child_list.front();
        PerfEventContext* ctx = child->ctx;
        get_ctx(*ctx);
        event.child_mutex->unlock();
        ctx->mutex->lock();
        event.child_mutex->lock();
        if (!event.child_list.empty() && event.child_list.front() == child) {
            perf_remove_from_context(*child, DETACH_GROUP | DETACH_CHILD);
            free_list.push_back(child);
            put_event(event);
        }
        event.child_mutex->unlock();
        ctx->mutex->unlock();
        put_ctx(*ctx);
    }
    for (PerfEvent* child : free_list) free_event(*child);
    put_event(event);
    return 0;
}

} // namespace rkperf::ke

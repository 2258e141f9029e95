// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/pmu/arm_pmu.h"

#include <algorithm>

namespace rkperf::ke {

ArmPmu::ArmPmu(Perf::Impl& perf, const PmuIrqs& irqs) : Pmu(perf.kernel), perf_(perf), irqs_(irqs) {
    task_ctx_nr = TaskContext::hardware;
    capabilities = PERF_PMU_CAP_HETEROGENEOUS_CPUS | PERF_PMU_CAP_EXTENDED_REGS;
    if (irqs.no_interrupt) capabilities |= PERF_PMU_CAP_NO_INTERRUPT;
    supported_cpus = irqs.supported_cpus;
}

PmuHwEvents& ArmPmu::this_cpu_events() { return hw_events_[static_cast<unsigned>(kernel.smp_processor_id())]; }

std::uint64_t ArmPmu::max_period(const PerfEvent& event) const {
    if (event.hw.flags & ARMPMU_EVT_64BIT) return ~std::uint64_t{0};
    if (event.hw.flags & ARMPMU_EVT_47BIT) return (std::uint64_t{1} << 47) - 1;
    return 0xffffffff;
}

bool ArmPmu::event_set_period(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::armpmu_event_set_period);
    HwPerfEvent& hw = event.hw;
    std::int64_t left = hw.period_left;
    const auto period = static_cast<std::int64_t>(hw.sample_period);
    bool whole = false;
    const auto restart = [&](std::int64_t value) {
        left = value;
        hw.period_left = left;
        hw.last_period = hw.sample_period;
        whole = true;
    };
    if (left <= -period) restart(period);
    if (left <= 0) restart(left + period);
    // Half the counter's range, so that the overflow is noticed before the counter comes round again.
    const std::uint64_t max = max_period(event);
    if (left > static_cast<std::int64_t>(max >> 1)) left = static_cast<std::int64_t>(max >> 1);
    hw.prev_count = static_cast<std::uint64_t>(-left);
    write_counter(event, static_cast<std::uint64_t>(-left) & max);
    perf_.perf_event_update_userpage(event);
    return whole;
}

std::uint64_t ArmPmu::event_update(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::armpmu_event_update);
    HwPerfEvent& hw = event.hw;
    // Reading takes time, in which an interrupt may do the same: start again then.
    for (;;) {
        const std::uint64_t prev = hw.prev_count;
        const std::uint64_t now = read_counter(event);
        if (hw.prev_count != prev) continue;
        hw.prev_count = now;
        const std::uint64_t delta = (now - prev) & max_period(event);
        event.count += delta;
        hw.period_left -= static_cast<std::int64_t>(delta);
        return now;
    }
}

bool ArmPmu::validate_event(PmuHwEvents& fake, PerfEvent& event) {
    if (is_software_event(event)) return true;
    // Another core PMU, or an uncore PMU: their counters are never scheduled together.
    if (event.pmu != this) return false;
    if (event.state < PerfEventState::off) return true;
    if (event.state == PerfEventState::off && !event.attr.enable_on_exec) return true;
    return get_event_idx(fake, event) >= 0;
}

int ArmPmu::validate_group(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::validate_group);
    PerfEvent& leader = *event.group_leader;
    PmuHwEvents fake;
    if (!validate_event(fake, leader)) return -EINVAL;
    if (&leader == &event) return 0;
    for (PerfEvent* s : leader.sibling_list)
        if (!validate_event(fake, *s)) return -EINVAL;
    return validate_event(fake, event) ? 0 : -EINVAL;
}

int ArmPmu::event_init(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::armpmu_event_init);
    if (event.cpu != -1 && !supports(event.cpu)) return -ENOENT;
    if (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) return -EOPNOTSUPP;
    if (map_event(event) == -ENOENT) return -ENOENT;
    HwPerfEvent& hw = event.hw;
    hw.flags = 0;
    const int mapping = map_event(event);
    if (mapping < 0) return mapping;
    hw.idx = -1;
    hw.config = hw.config_base = hw.event_base = 0;
    if (set_event_filter(hw, event.attr)) return -EOPNOTSUPP;
    hw.config_base |= static_cast<std::uint64_t>(mapping);
    if (!is_sampling_event(event)) {
        hw.sample_period = hw.last_period = max_period(event) >> 1;
        hw.period_left = static_cast<std::int64_t>(hw.sample_period);
    }
    return validate_group(event);
}

int ArmPmu::add(PerfEvent& event, int flags) {
    KernelFrame frame(kernel, KernelSymbol::armpmu_add);
    if (!supports(kernel.smp_processor_id())) return -ENOENT;
    PmuHwEvents& hw_events = this_cpu_events();
    const int idx = get_event_idx(hw_events, event);
    if (idx < 0) return idx;
    event.hw.idx = idx;
    hw_events.events[static_cast<unsigned>(idx)] = &event;
    event.hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
    if (flags & PERF_EF_START) start(event, PERF_EF_RELOAD);
    perf_.perf_event_update_userpage(event);
    return 0;
}

void ArmPmu::start(PerfEvent& event, int flags) {
    KernelFrame frame(kernel, KernelSymbol::armpmu_start);
    if ((flags & PERF_EF_RELOAD) && !(event.hw.state & PERF_HES_UPTODATE) && !warned_) {
        warned_ = true;
        kernel.pr_info("WARNING: armpmu_start: reload of an event that is not up to date");
    }
    event.hw.state = 0;
    // Always: after a throttling the counter stands anywhere.
    event_set_period(event);
    enable_event(event);
}

void ArmPmu::stop(PerfEvent& event, int) {
    if (event.hw.state & PERF_HES_STOPPED) return;
    KernelFrame frame(kernel, KernelSymbol::armpmu_stop);
    disable_event(event);
    event_update(event);
    event.hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

void ArmPmu::del(PerfEvent& event, int) {
    KernelFrame frame(kernel, KernelSymbol::armpmu_del);
    PmuHwEvents& hw_events = this_cpu_events();
    stop(event, PERF_EF_UPDATE);
    hw_events.events[static_cast<unsigned>(event.hw.idx)] = nullptr;
    clear_event_idx(hw_events, event);
    perf_.perf_event_update_userpage(event);
    event.hw.idx = -1;
}

void ArmPmu::read(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::armpmu_read);
    event_update(event);
}

void ArmPmu::pmu_enable() {
    if (!supports(kernel.smp_processor_id())) return;
    KernelFrame frame(kernel, KernelSymbol::armpmu_enable);
    if (this_cpu_events().used_mask.any()) pmu_start();
}

void ArmPmu::pmu_disable() {
    if (!supports(kernel.smp_processor_id())) return;
    KernelFrame frame(kernel, KernelSymbol::armpmu_disable);
    pmu_stop();
}

// A transaction of adds happens with the PMU off; a group of reads needs nothing.
void ArmPmu::start_txn(unsigned flags) {
    txn_flags_ = flags;
    if (flags == PERF_PMU_TXN_ADD) perf_.perf_pmu_disable(*this);
}

int ArmPmu::commit_txn() {
    if (txn_flags_ == PERF_PMU_TXN_ADD) perf_.perf_pmu_enable(*this);
    txn_flags_ = 0;
    return 0;
}

void ArmPmu::cancel_txn() { commit_txn(); }

bool ArmPmu::filter_match(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::armpmu_filter_match);
    return supports(kernel.smp_processor_id()) && driver_filter_match(event);
}

bool ArmPmu::dispatch_irq(PtRegs& regs) {
    KernelFrame frame(kernel, KernelSymbol::armpmu_dispatch_irq);
    const std::uint64_t start = kernel.local_clock();
    const bool handled = handle_irq(regs);
    perf_.perf.perf_sample_event_took(kernel.local_clock() - start);
    return handled;
}

bool ArmPmu::cpu_pm_notify(CpuPm what) {
    if (!supports(kernel.smp_processor_id())) return false;
    PmuHwEvents& hw_events = this_cpu_events();
    if (what == CpuPm::exit) pmu_reset();
    if (hw_events.used_mask.none()) return true;
    if (what == CpuPm::enter) pmu_stop();
    for (PerfEvent* event : hw_events.events) {
        if (!event) continue;
        if (what == CpuPm::enter)
            stop(*event, PERF_EF_UPDATE);
        else
            start(*event, PERF_EF_RELOAD);
    }
    if (what != CpuPm::enter) pmu_start();
    return true;
}

void ArmPmu::cpu_starting(int cpu) {
    if (!supports(cpu)) return;
    pmu_reset();
    perf_.cpu_armpmu[static_cast<unsigned>(cpu)] = this;
    const unsigned irq = irqs_.irq[static_cast<unsigned>(cpu)];
    if (!irq) return;
    if (!kernel.irq_is_percpu_devid(irq))
        kernel.enable_irq(irq);
    else if (perf_.armpmu_has_nmi)
        kernel.enable_percpu_nmi(irq);
    else
        kernel.enable_percpu_irq(irq);
}

void ArmPmu::cpu_dying(int cpu) {
    if (!supports(cpu)) return;
    if (const unsigned irq = irqs_.irq[static_cast<unsigned>(cpu)]) {
        if (!kernel.irq_is_percpu_devid(irq))
            kernel.disable_irq(irq);
        else if (perf_.armpmu_has_nmi)
            kernel.disable_percpu_nmi(irq);
        else
            kernel.disable_percpu_irq(irq);
    }
    perf_.cpu_armpmu[static_cast<unsigned>(cpu)] = nullptr;
}

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
// Software events: from a trigger in the kernel to counts and overflows (CORE-435 to 450).
#include "kernel_events/internal.h"

#include <algorithm>

namespace rkperf::ke {

namespace {

/// Bucket of an event id; any spread will do, as matches compare the whole key.
unsigned swevent_hash(std::uint32_t type, std::uint64_t event_id) {
    return static_cast<unsigned>((event_id * 31 + type) % SWEVENT_HLIST_SIZE);
}

} // namespace

bool Perf::Impl::perf_exclude_event(const PerfEvent& event, const PtRegs* regs) {
    if (event.hw.state & PERF_HES_STOPPED) return true;
    if (!regs) return false;
    return regs->user_mode() ? event.attr.exclude_user : event.attr.exclude_kernel;
}

std::uint64_t Perf::Impl::perf_swevent_set_period(PerfEvent& event) {
    HwPerfEvent& hw = event.hw;
    const std::uint64_t period = hw.last_period;
    hw.last_period = hw.sample_period;
    if (hw.period_left < 0) return 0;
    // Unsigned throughout: periods of up to 2^63 - 1 are allowed, and the sum of two of them.
    const auto left = static_cast<std::uint64_t>(hw.period_left);
    const std::uint64_t periods = (period + left) / period;
    hw.period_left = static_cast<std::int64_t>(left - periods * period);
    return periods;
}

void Perf::Impl::perf_swevent_overflow(PerfEvent& event, std::uint64_t overflow, PerfSampleData& data, PtRegs& regs) {
    KernelFrame frame(kernel, KernelSymbol::perf_swevent_overflow);
    if (!overflow) overflow = perf_swevent_set_period(event);
    if (event.hw.interrupts == MAX_INTERRUPTS) return;
    // Only several overflows of one trigger can be throttled.
    for (bool throttle = false; overflow; --overflow, throttle = true)
        if (__perf_event_overflow(event, throttle, data, regs)) break;
}

void Perf::Impl::perf_swevent_event(PerfEvent& event, std::uint64_t nr, PerfSampleData& data, PtRegs* regs) {
    KernelFrame frame(kernel, KernelSymbol::perf_swevent_event);
    event.count += nr;
    if (!regs || !is_sampling_event(event)) return;
    IrqGuard irq(kernel);
    if (event.state != PerfEventState::active) return;
    if ((event.attr.sample_type & PERF_SAMPLE_PERIOD) && !event.attr.freq) {
        data.period = nr;
        return perf_swevent_overflow(event, 1, data, *regs);
    }
    data.period = event.hw.last_period;
    if (nr == 1 && event.hw.sample_period == 1 && !event.attr.freq) return perf_swevent_overflow(event, 1, data, *regs);
    event.hw.period_left += static_cast<std::int64_t>(nr);
    if (event.hw.period_left >= 0) perf_swevent_overflow(event, 0, data, *regs);
}

void Perf::Impl::do_perf_sw_event(std::uint32_t type, std::uint32_t event_id, std::uint64_t nr, PerfSampleData& data,
                                  PtRegs& regs) {
    KernelFrame frame(kernel, KernelSymbol::do_perf_sw_event);
    // An interrupt on the way may unlink events, so the walk goes over a copy and looks at each again.
    RcuReadLock rcu(*this);
    const std::vector<PerfEvent*> bucket = this_cpu().swevent_hlist[swevent_hash(type, event_id)];
    for (PerfEvent* event : bucket)
        if (event->attr.type == type && event->attr.config == event_id && event->state == PerfEventState::active &&
            event->oncpu == kernel.smp_processor_id() && !perf_exclude_event(*event, &regs))
            perf_swevent_event(*event, nr, data, &regs);
}

int Perf::Impl::perf_swevent_add(PerfEvent& event, int flags) {
    KernelFrame frame(kernel, KernelSymbol::perf_swevent_add);
    HwPerfEvent& hw = event.hw;
    if (is_sampling_event(event)) {
        hw.last_period = hw.sample_period;
        perf_swevent_set_period(event);
    }
    hw.state = flags & PERF_EF_START ? 0 : PERF_HES_STOPPED;
    this_cpu().swevent_hlist[swevent_hash(event.attr.type, event.attr.config)].push_front(event);
    perf_event_update_userpage(event);
    return 0;
}

void Perf::Impl::perf_swevent_del(PerfEvent& event, int) {
    KernelFrame frame(kernel, KernelSymbol::perf_swevent_del);
    this_cpu().swevent_hlist[swevent_hash(event.attr.type, event.attr.config)].erase(event);
}

void Perf::perf_sw_event(std::uint32_t event_id, std::uint64_t nr, PtRegs* regs, std::uint64_t addr) {
    if (!impl_->counts.perf_swevent_enabled.at(event_id) || !regs) return;
    KernelFrame frame(kernel_, KernelSymbol::__perf_sw_event);
    kernel_.preempt_disable();
    PerfPerCpu& cpu = impl_->this_cpu();
    const int rctx = impl_->get_recursion_context(cpu.swevent_recursion);
    if (rctx >= 0) {
        PerfSampleData data;
        perf_sample_data_init(data, addr, 0);
        impl_->do_perf_sw_event(PERF_TYPE_SOFTWARE, event_id, nr, data, *regs);
        impl_->put_recursion_context(cpu.swevent_recursion, rctx);
    }
    kernel_.preempt_enable();
}

void Perf::perf_sw_event_sched(std::uint32_t event_id, std::uint64_t nr, std::uint64_t addr) {
    if (!impl_->counts.perf_swevent_enabled.at(event_id)) return;
    PtRegs regs;
    kernel_.fetch_caller_regs(regs);
    PerfSampleData data;
    perf_sample_data_init(data, addr, 0);
    impl_->do_perf_sw_event(PERF_TYPE_SOFTWARE, event_id, nr, data, regs);
}

} // namespace rkperf::ke

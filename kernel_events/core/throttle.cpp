// SPDX-License-Identifier: Apache-2.0
// Overflows: accounting, throttling, event_limit, the tick, and the limits on sampling (CORE-251 to 263, 274 to 287).
#include "kernel_events/internal.h"

#include <algorithm>
#include <string>

namespace rkperf::ke {

namespace {

constexpr std::uint64_t kAccumulatedSamples = 128; ///< length of the running average of handler times

/// Data of a sample that the event should not have seen (skid into the kernel) must not leak.
bool sample_is_allowed(const PerfEvent& event, const PtRegs& regs) {
    return !event.attr.exclude_kernel || regs.user_mode();
}

} // namespace

void Perf::Impl::perf_event_unthrottle(PerfEvent& event) {
    event.hw.interrupts = 0;
    perf_log_throttle(event, true);
    notice(EventNotice::What::unthrottled, event);
}

bool Perf::Impl::__perf_event_account_interrupt(PerfEvent& event, bool throttle) {
    HwPerfEvent& hw = event.hw;
    PerfPerCpu& cpu = this_cpu();
    bool stop = false;
    if (hw.interrupts_seq != cpu.perf_throttled_seq) {
        hw.interrupts_seq = cpu.perf_throttled_seq;
        hw.interrupts = 1;
    } else {
        ++hw.interrupts;
    }
    if (throttle && hw.interrupts >= static_cast<std::uint64_t>(max_samples_per_tick)) {
        ++cpu.perf_throttled_count;
        kernel.tick_dep_set_cpu(kernel.smp_processor_id());
        hw.interrupts = MAX_INTERRUPTS;
        perf_log_throttle(event, false);
        notice(EventNotice::What::throttled, event);
        stop = true;
    }
    if (event.attr.freq) {
        const std::uint64_t now = perf_clock();
        const auto delta = static_cast<std::int64_t>(now - hw.freq_time_stamp);
        hw.freq_time_stamp = now;
        if (delta > 0 && delta < static_cast<std::int64_t>(2 * kernel.tick_nsec()))
            perf_adjust_period(event, static_cast<std::uint64_t>(delta), hw.last_period, true);
    }
    return stop;
}

bool Perf::Impl::__perf_event_overflow(PerfEvent& event, bool throttle, PerfSampleData& data, PtRegs& regs) {
    // A counter that a driver keeps short wraps without anyone having asked for samples.
    if (!is_sampling_event(event)) return false;
    KernelFrame frame(kernel, KernelSymbol::__perf_event_overflow);
    notice(EventNotice::What::overflow, event, data.period, regs.pc);
    bool stop = __perf_event_account_interrupt(event, throttle);

    event.pending_kill = POLL_BAND_IN;
    if (event.event_limit && --event.event_limit == 0) {
        stop = true;
        event.pending_kill = POLL_BAND_HUP;
        perf_event_disable_inatomic(event);
    }
    if (event.attr.sigtrap) {
        if (!event.pending_sigtrap) ++event.ctx->nr_pending;
        event.pending_sigtrap = true;
        const bool show = sample_is_allowed(event, regs) && (data.sample_flags & PERF_SAMPLE_ADDR);
        event.pending_addr = show ? data.addr : 0;
        kernel.irq_work_queue(event.pending_irq);
    }
    event.overflow_handler(event, data, regs);
    if (perf_event_has_fasync(event) && event.pending_kill) {
        event.pending_wakeup = true;
        kernel.irq_work_queue(event.pending_irq);
    }
    return stop;
}

bool Perf::Impl::perf_event_overflow(PerfEvent& event, PerfSampleData& data, PtRegs& regs) {
    KernelFrame frame(kernel, KernelSymbol::perf_event_overflow);
    return __perf_event_overflow(event, true, data, regs);
}

void Perf::perf_event_task_tick() {
    KernelFrame frame(kernel_, KernelSymbol::perf_event_task_tick);
    PerfPerCpu& cpu = impl_->this_cpu();
    ++cpu.perf_throttled_seq;
    const bool throttled = cpu.perf_throttled_count != 0;
    cpu.perf_throttled_count = 0;
    kernel_.tick_dep_clear_cpu(kernel_.smp_processor_id());
    const std::vector<PerfEventContext*> active = cpu.active_ctx_list;
    for (PerfEventContext* ctx : active) impl_->perf_adjust_freq_unthr_context(*ctx, throttled);
}

void Perf::Impl::update_perf_cpu_limits() {
    // 0 and 100 both mean: no limit.
    if (sysctl.perf_cpu_time_max_percent <= 0 || sysctl.perf_cpu_time_max_percent >= 100) {
        perf_sample_allowed_ns = 0;
        return;
    }
    const std::uint64_t allowed =
        perf_sample_period_ns * static_cast<std::uint64_t>(sysctl.perf_cpu_time_max_percent) / 100;
    perf_sample_allowed_ns = std::max<std::uint64_t>(allowed, 1);
}

void Perf::perf_sample_event_took(std::uint64_t sample_len_ns) {
    Impl& p = *impl_;
    const std::uint64_t allowed = p.perf_sample_allowed_ns;
    if (!allowed) return;
    KernelFrame frame(kernel_, KernelSymbol::perf_sample_event_took);
    std::uint64_t& running = p.this_cpu().running_sample_length;
    running -= running / kAccumulatedSamples;
    running += sample_len_ns;
    const std::uint64_t average = running / kAccumulatedSamples;
    if (average <= allowed) return;
    // A quarter of room, so that this does not happen again at once.
    const std::uint64_t new_allowed = average + average / 4;
    const std::uint64_t tick_share =
        kernel_.tick_nsec() / 100 * static_cast<std::uint64_t>(p.sysctl.perf_cpu_time_max_percent);
    p.max_samples_per_tick = new_allowed < tick_share ? static_cast<int>(tick_share / new_allowed) : 1;
    p.perf_sample_allowed_ns = new_allowed;
    p.sysctl.perf_event_max_sample_rate = p.max_samples_per_tick * static_cast<int>(kernel_.hz());
    p.perf_sample_period_ns = NSEC_PER_SEC / static_cast<std::uint64_t>(p.sysctl.perf_event_max_sample_rate);
    kernel_.pr_info("perf: interrupt took too long (" + std::to_string(average) + " > " + std::to_string(allowed) +
                    "), lowering kernel.perf_event_max_sample_rate to " +
                    std::to_string(p.sysctl.perf_event_max_sample_rate));
}

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
// Sampling by frequency: steering the period, at overflows and at the tick (CORE-256 to 258, 264 to 273).
#include "kernel_events/internal.h"

#include <bit>

namespace rkperf::ke {

namespace {

/// A factor of a product that must fit 64 bits, with its number of significant bits.
struct Factor {
    std::uint64_t value;
    int bits;
    explicit Factor(std::uint64_t v) : value(v), bits(static_cast<int>(std::bit_width(v))) {}
    void halve() {
        value >>= 1;
        --bits;
    }
};
void halve_larger(Factor& a, Factor& b) { (a.bits > b.bits ? a : b).halve(); }
bool too_big(const Factor& a, const Factor& b) { return a.bits + b.bits > 64; }

} // namespace

std::uint64_t Perf::Impl::perf_calculate_period(PerfEvent& event, std::uint64_t nsec_passed, std::uint64_t counted) {
    // period = counted * 10^9 / (nsec_passed * frequency): drop low bits of both products alike until they fit.
    Factor count(counted), nsec(nsec_passed), frequency(event.attr.sample_freq), sec(NSEC_PER_SEC);
    while (too_big(count, sec) && too_big(nsec, frequency)) {
        halve_larger(nsec, frequency);
        halve_larger(sec, count);
    }
    std::uint64_t dividend, divisor;
    if (too_big(count, sec)) {
        divisor = nsec.value * frequency.value;
        while (too_big(count, sec)) {
            halve_larger(count, sec);
            divisor >>= 1;
        }
        dividend = count.value * sec.value;
    } else {
        dividend = count.value * sec.value;
        while (too_big(nsec, frequency)) {
            halve_larger(nsec, frequency);
            dividend >>= 1;
        }
        divisor = nsec.value * frequency.value;
    }
    return divisor ? dividend / divisor : dividend;
}

void Perf::Impl::perf_adjust_period(PerfEvent& event, std::uint64_t nsec, std::uint64_t count, bool disable) {
    KernelFrame frame(kernel, KernelSymbol::perf_adjust_period);
    HwPerfEvent& hw = event.hw;
    const std::uint64_t period = perf_calculate_period(event, nsec, count);
    // A low pass: an eighth of the difference, rounded away from zero.
    auto delta = static_cast<std::int64_t>(period - hw.sample_period);
    delta = (delta >= 0 ? delta + 7 : delta - 7) / 8;
    std::uint64_t sample_period = hw.sample_period + static_cast<std::uint64_t>(delta);
    if (!sample_period) sample_period = 1;
    hw.sample_period = sample_period;
    // What is left of a much longer period would delay the next sample too long.
    if (hw.period_left > static_cast<std::int64_t>(8 * sample_period)) {
        if (disable) event.pmu->stop(event, PERF_EF_UPDATE);
        hw.period_left = 0;
        if (disable) event.pmu->start(event, PERF_EF_RELOAD);
    }
}

void Perf::Impl::perf_adjust_freq_unthr_context(PerfEventContext& ctx, bool needs_unthr) {
    if (!ctx.nr_freq && !needs_unthr) return;
    KernelFrame frame(kernel, KernelSymbol::perf_adjust_freq_unthr_context);
    IrqGuard irq(kernel);
    perf_pmu_disable(*ctx.pmu);
    for (PerfEvent* e : ctx.event_list) {
        PerfEvent& event = *e;
        if (event.state != PerfEventState::active || !event_filter_match(event)) continue;
        perf_pmu_disable(*event.pmu);
        HwPerfEvent& hw = event.hw;
        if (hw.interrupts == MAX_INTERRUPTS) {
            perf_event_unthrottle(event);
            event.pmu->start(event, 0);
        }
        if (event.attr.freq && event.attr.sample_freq) {
            event.pmu->stop(event, PERF_EF_UPDATE);
            const auto delta = static_cast<std::int64_t>(event.count - hw.freq_count_stamp);
            hw.freq_count_stamp = event.count;
            if (delta > 0) perf_adjust_period(event, kernel.tick_nsec(), static_cast<std::uint64_t>(delta), false);
            event.pmu->start(event, delta > 0 ? PERF_EF_RELOAD : 0);
        }
        perf_pmu_enable(*event.pmu);
    }
    perf_pmu_enable(*ctx.pmu);
}

} // namespace rkperf::ke

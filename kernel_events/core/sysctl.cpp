// SPDX-License-Identifier: Apache-2.0
// /proc/sys/kernel/perf_* (CORE-115, 274, 275, 280, 281; PMUV3-038).
#include "kernel_events/core/parse.h"
#include "kernel_events/internal.h"

#include <limits>

namespace rkperf::ke {

namespace {

struct Range {
    int min, max;
};
constexpr Range kAnyInt{std::numeric_limits<int>::min(), std::numeric_limits<int>::max()};

/// proc_dointvec_minmax
int parse_in(std::string_view text, Range range, int& value) {
    int v = 0;
    if (const int error = proc_dointvec(text, v)) return error;
    if (v < range.min || v > range.max) return -EINVAL;
    value = v;
    return 0;
}

} // namespace

int Perf::Impl::store_max_sample_rate(std::string_view text) {
    const int percent = sysctl.perf_cpu_time_max_percent;
    if (percent == 0 || percent == 100) return -EINVAL;
    if (const int error = parse_in(text, {1, kAnyInt.max}, sysctl.perf_event_max_sample_rate)) return error;
    set_max_sample_rate();
    return 0;
}

void Perf::Impl::set_max_sample_rate() {
    const int hz = static_cast<int>(kernel.hz());
    max_samples_per_tick = (sysctl.perf_event_max_sample_rate - 1) / hz + 1;
    perf_sample_period_ns = NSEC_PER_SEC / static_cast<std::uint64_t>(sysctl.perf_event_max_sample_rate);
    update_perf_cpu_limits();
}

int Perf::Impl::store_cpu_time_max_percent(std::string_view text) {
    if (const int error = parse_in(text, {0, 100}, sysctl.perf_cpu_time_max_percent)) return error;
    const int percent = sysctl.perf_cpu_time_max_percent;
    if (percent == 0 || percent == 100) {
        kernel.pr_info("perf: Dynamic interrupt throttling disabled, can hang your system!");
        perf_sample_allowed_ns = 0;
    } else {
        update_perf_cpu_limits();
    }
    return 0;
}

int Perf::Impl::store_callchain_limit(std::string_view text, int max, int& value) {
    int v = 0;
    if (const int error = parse_in(text, {0, max}, v)) return error;
    // The buffers in use have the old size.
    if (counts.nr_callchain) return -EBUSY;
    value = v;
    return 0;
}

void Perf::Impl::register_sysctls() {
    const auto add = [this](const char* name, const int& value, std::function<int(std::string_view)> store) {
        kernel.add_attribute({std::string("/proc/sys/kernel/") + name, 0644,
                              [&value] { return std::to_string(value) + "\n"; }, std::move(store)});
    };
    const auto plain = [&add](const char* name, int& value, Range range) {
        add(name, value, [&value, range](std::string_view t) { return parse_in(t, range, value); });
    };
    plain("perf_event_paranoid", sysctl.perf_event_paranoid, kAnyInt);
    plain("perf_event_mlock_kb", sysctl.perf_event_mlock_kb, kAnyInt);
    add("perf_event_max_sample_rate", sysctl.perf_event_max_sample_rate,
        [this](std::string_view t) { return store_max_sample_rate(t); });
    add("perf_cpu_time_max_percent", sysctl.perf_cpu_time_max_percent,
        [this](std::string_view t) { return store_cpu_time_max_percent(t); });
    add("perf_event_max_stack", sysctl.perf_event_max_stack,
        [this](std::string_view t) { return store_callchain_limit(t, 640 * 1024, sysctl.perf_event_max_stack); });
    add("perf_event_max_contexts_per_stack", sysctl.perf_event_max_contexts_per_stack, [this](std::string_view t) {
        return store_callchain_limit(t, 1000, sysctl.perf_event_max_contexts_per_stack);
    });
}

} // namespace rkperf::ke

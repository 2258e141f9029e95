// SPDX-License-Identifier: Apache-2.0
// /proc/sys/kernel/perf_* (CORE-115, 274, 275, 280, 281; PMUV3-038).
#include "kernel_events/core/parse.h"
#include "kernel_events/internal.h"

#include <limits>

namespace rkperf::ke {

namespace {

constexpr int kIntMax = std::numeric_limits<int>::max();

} // namespace

int Perf::Impl::store_max_sample_rate(std::string_view text) {
    const int percent = sysctl.perf_cpu_time_max_percent;
    if (percent == 0 || percent == 100) return -EINVAL;
    const int taken = proc_dointvec(text, sysctl.perf_event_max_sample_rate, 1, kIntMax);
    if (taken < 0) return taken;
    set_max_sample_rate();
    return taken;
}

void Perf::Impl::set_max_sample_rate() {
    const int hz = static_cast<int>(kernel.hz());
    max_samples_per_tick = (sysctl.perf_event_max_sample_rate - 1) / hz + 1;
    perf_sample_period_ns = NSEC_PER_SEC / static_cast<std::uint64_t>(sysctl.perf_event_max_sample_rate);
    update_perf_cpu_limits();
}

int Perf::Impl::store_cpu_time_max_percent(std::string_view text) {
    const int taken = proc_dointvec(text, sysctl.perf_cpu_time_max_percent, 0, 100);
    if (taken < 0) return taken;
    const int percent = sysctl.perf_cpu_time_max_percent;
    if (percent == 0 || percent == 100) {
        kernel.pr_info("perf: Dynamic interrupt throttling disabled, can hang your system!");
        perf_sample_allowed_ns = 0;
    } else {
        update_perf_cpu_limits();
    }
    return taken;
}

int Perf::Impl::store_callchain_limit(std::string_view text, int max, int& value) {
    int v = value;
    const int taken = proc_dointvec(text, v, 0, max);
    if (taken < 0) return taken;
    // The buffers in use have the old size.
    if (counts.nr_callchain) return -EBUSY;
    value = v;
    return taken;
}

void Perf::Impl::register_sysctls() {
    const auto add = [this](const char* name, const int& value, std::function<int(std::string_view)> store) {
        kernel.add_attribute({std::string("/proc/sys/kernel/") + name, 0644,
                              [&value] { return std::to_string(value) + "\n"; }, std::move(store)});
    };
    const auto plain = [&add](const char* name, int& value) {
        add(name, value, [&value](std::string_view t) { return proc_dointvec(t, value); });
    };
    plain("perf_event_paranoid", sysctl.perf_event_paranoid);
    plain("perf_event_mlock_kb", sysctl.perf_event_mlock_kb);
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

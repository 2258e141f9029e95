// SPDX-License-Identifier: Apache-2.0
// The files of the core PMUs (ARMPMU-041; PMUV3-009 to 011, 038).
#include "kernel_events/core/parse.h"
#include "kernel_events/pmu/armv8_pmuv3.h"
#include "kernel_events/pmu/pmus.h"
#include "sim/base/pmu_events.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace rkperf::ke {

namespace {

struct NamedEvent {
    std::uint16_t number;
    std::string_view name;
};
constexpr NamedEvent kNamedEvents[] = {
#define X(number, name) {number, #name},
    RKPERF_PMU_EVENTS(X)
#undef X
};

std::string lower(std::string_view s) {
    std::string r(s);
    std::transform(r.begin(), r.end(), r.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return r;
}

std::string hex4(unsigned v) {
    char b[16];
    std::snprintf(b, sizeof b, "0x%04x", v);
    return b;
}

} // namespace

void register_user_access_sysctl(Perf::Impl& perf) {
    int& value = perf.sysctl.perf_user_access;
    perf.kernel.add_attribute({"/proc/sys/kernel/perf_user_access", 0644,
                               [&value] { return std::to_string(value) + "\n"; },
                               [&perf, &value](std::string_view text) {
                                   const int taken = proc_dointvec(text, value, 0, 1);
                                   if (taken < 0 || value) return taken;
                                   for (int cpu = 0; cpu < kMaxCpus; ++cpu)
                                       if (perf.kernel.cpu_online_mask() >> cpu & 1)
                                           perf.cpu_function_call(cpu, [&] {
                                               perf.kernel.msr(sysreg::PMUSERENR_EL0, 0);
                                               return 0;
                                           });
                                   return taken;
                               }});
}

void Armv8Pmu::add_sysfs_files() {
    const std::string dir = "/sys/bus/event_source/devices/" + name + "/";
    const auto add = [&](const std::string& path, std::string text) {
        kernel.add_attribute({dir + path, 0444, [text = std::move(text) + "\n"] { return text; }, nullptr});
    };
    add("cpus", cpu_list(irqs_.supported_cpus));
    add("format/event", "config:0-15");
    add("format/long", "config1:0");
    add("format/rdpmc", "config1:1");
    // PMMIR_EL1 is not there before PMUv3 for Armv8.4.
    for (const char* cap : {"slots", "bus_slots", "bus_width"}) add(std::string("caps/") + cap, "0x00000000");
    for (const NamedEvent& e : kNamedEvents)
        if (e.number != pmu_event::SW_INCR && e.number != pmu_event::CHAIN && advertised(e.number))
            add("events/" + lower(e.name), "event=" + hex4(e.number));
}

} // namespace rkperf::ke

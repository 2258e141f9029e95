// SPDX-License-Identifier: Apache-2.0
// Start of the core PMUs and their files in sysfs (ARMPMU-035, 038 to 041; PMUV3-009 to 011, 038).
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

void register_user_access_sysctl(Perf::Impl& perf) {
    int& value = perf.sysctl.perf_user_access;
    perf.kernel.add_attribute({"/proc/sys/kernel/perf_user_access", 0644,
                               [&value] { return std::to_string(value) + "\n"; },
                               [&perf, &value](std::string_view text) {
                                   int v = 0;
                                   if (const int error = proc_dointvec(text, v)) return error;
                                   if (v != 0 && v != 1) return -EINVAL;
                                   value = v;
                                   if (v) return 0;
                                   for (int cpu = 0; cpu < kMaxCpus; ++cpu)
                                       if (perf.kernel.cpu_online_mask() >> cpu & 1)
                                           perf.cpu_function_call(cpu, [&] {
                                               perf.kernel.msr(sysreg::PMUSERENR_EL0, 0);
                                               return 0;
                                           });
                                   return 0;
                               }});
}

/// Runs on the node's probe CPU, or on another of its CPUs if that one is offline.
bool probe_on_a_cpu(Perf::Impl& perf, Armv8Pmu& pmu) {
    bool found = false;
    const auto probe = [&](int cpu) {
        return pmu.supports(cpu) && !perf.cpu_function_call(cpu, [&] {
            found = pmu.probe();
            return 0;
        });
    };
    if (probe(pmu.node().probe_cpu)) return found;
    for (int cpu = 0; cpu < kMaxCpus; ++cpu)
        if (probe(cpu)) return found;
    return false;
}

/// armpmu_request_irq: an NMI where there are such.
void request_irq(Perf::Impl& perf, unsigned intid) {
    if (!intid) return;
    const auto dispatch = [&perf](PtRegs& regs) {
        ArmPmu* pmu = perf.cpu_armpmu[static_cast<unsigned>(perf.kernel.smp_processor_id())];
        return pmu && pmu->dispatch_irq(regs);
    };
    perf.armpmu_has_nmi = !perf.kernel.request_percpu_nmi(intid, "arm-pmu", dispatch);
    if (!perf.armpmu_has_nmi) perf.kernel.request_percpu_irq(intid, "arm-pmu", dispatch);
}

} // namespace

void Armv8Pmu::add_sysfs_files() {
    const std::string dir = "/sys/bus/event_source/devices/" + name + "/";
    const auto add = [&](const std::string& path, std::string text) {
        kernel.add_attribute({dir + path, 0444, [text = std::move(text) + "\n"] { return text; }, nullptr});
    };
    add("cpus", cpu_list(node_.cpus));
    add("format/event", "config:0-15");
    add("format/long", "config1:0");
    add("format/rdpmc", "config1:1");
    // PMMIR_EL1 is not there before PMUv3 for Armv8.4.
    for (const char* cap : {"slots", "bus_slots", "bus_width"}) add(std::string("caps/") + cap, "0x00000000");
    for (const NamedEvent& e : kNamedEvents)
        if (e.number != pmu_event::SW_INCR && e.number != pmu_event::CHAIN && advertised(e.number))
            add("events/" + lower(e.name), "event=" + hex4(e.number));
}

void register_core_pmus(Perf::Impl& perf) {
    Kernel& kernel = perf.kernel;
    std::vector<unsigned> requested;
    for (const PmuNode& node : perf.config.pmus) {
        auto owned = std::make_unique<Armv8Pmu>(perf, node);
        Armv8Pmu& pmu = *owned;
        if (!probe_on_a_cpu(perf, pmu)) {
            kernel.pr_info("hw perfevents: " + node.name + ": failed to probe PMU!");
            continue;
        }
        if (node.intid == 0) {
            kernel.pr_info("hw perfevents: no irqs for PMU, sampling events not supported");
            pmu.capabilities |= Pmu::PERF_PMU_CAP_NO_INTERRUPT;
        } else if (std::find(requested.begin(), requested.end(), node.intid) == requested.end()) {
            request_irq(perf, node.intid);
            requested.push_back(node.intid);
        }
        for (int cpu = 0; cpu < kMaxCpus; ++cpu)
            if (pmu.supports(cpu) && (kernel.cpu_online_mask() >> cpu & 1))
                perf.cpu_function_call(cpu, [&] {
                    pmu.cpu_starting(cpu);
                    return 0;
                });
        if (perf.perf_pmu_register(std::move(owned), node.name, -1)) {
            kernel.pr_info("hw perfevents: " + node.name + ": failed to register PMU devices!");
            continue;
        }
        pmu.add_sysfs_files();
        kernel.pr_info("hw perfevents: enabled with " + node.name + " PMU driver, " + std::to_string(pmu.num_events()) +
                       " counters available" + (perf.armpmu_has_nmi ? ", using NMIs" : ""));
    }
    if (!requested.empty()) register_user_access_sysctl(perf);
}

} // namespace rkperf::ke

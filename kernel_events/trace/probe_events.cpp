// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/trace/probe_events.h"

#include "kernel_events/internal.h"

namespace rkperf::ke {

ProbeEvents::ProbeEvents(Perf::Impl& perf)
    : dynamic(*perf.trace_events), kprobes(perf, perf.perf.kprobes(), *perf.trace_events, dynamic) {
    if (perf.perf.uprobes())
        uprobes.emplace(perf, *perf.perf.uprobes(), *perf.kernel.uprobe_services(), *perf.trace_events, dynamic);
}

void init_probe_events(Perf::Impl& perf) {
    if (perf.probe_events) return;
    perf.probe_events = std::make_shared<ProbeEvents>(perf);
    ProbeEvents& p = *perf.probe_events;
    const std::string dir = "/sys/kernel/tracing/";
    const auto file = [&](const char* name, std::vector<DynEventKind*> kinds) {
        DynEventKind* const shown = kinds.size() == 1 ? kinds[0] : nullptr;
        perf.kernel.add_attribute(
            {dir + name, 0640, [&p, shown] { return p.dynamic.show(shown); },
             [&p, kinds = std::move(kinds)](std::string_view text) { return p.dynamic.store(text, kinds); }});
    };
    file("kprobe_events", {&p.kprobes});
    perf.kernel.add_attribute({dir + "kprobe_profile", 0440, [&p] { return p.kprobes.profile(); }, nullptr});
    std::vector<DynEventKind*> all{&p.kprobes};
    if (p.uprobes) {
        TraceUprobes* const uprobes = &*p.uprobes;
        file("uprobe_events", {uprobes});
        perf.kernel.add_attribute({dir + "uprobe_profile", 0440, [uprobes] { return uprobes->profile(); }, nullptr});
        all.push_back(uprobes);
    }
    file("dynamic_events", std::move(all));
}

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
// PMU "kprobe" (type 6): attr.kprobe_func and attr.probe_offset, or attr.kprobe_addr, say where, config bit 0 whether at the
// return (CORE-126, 479).
#include "kernel_events/pmu/probes.h"
#include "kernel_events/pmu/tracing_pmu.h"
#include "kernel_events/trace/probe_events.h"

namespace rkperf::ke {

namespace {

class KprobePmu final : public TracingPmu {
  public:
    using TracingPmu::TracingPmu;
    int event_init(PerfEvent& event) override {
        if (event.attr.type != type) return -ENOENT;
        if (!perf_.perfmon_capable()) return -EACCES;
        if (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) return -EOPNOTSUPP;
        TraceKprobes& kprobes = perf_.probe_events->kprobes;
        if (const int e = kprobes.perf_kprobe_init(event, event.attr.config & 1)) return e;
        event.destroy = [&kprobes](PerfEvent& e) { kprobes.perf_kprobe_destroy(e); };
        return 0;
    }
};

} // namespace

void register_kprobe_pmu(Perf::Impl& perf) {
    init_probe_events(perf);
    perf.perf_pmu_register(std::make_unique<KprobePmu>(perf), "kprobe", -1);
    perf.kernel.add_attribute({"/sys/bus/event_source/devices/kprobe/format/retprobe", 0444,
                               [] { return std::string("config:0\n"); }, nullptr});
}

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
// PMU "uprobe" (type 7): attr.uprobe_path and attr.probe_offset say where, config bit 0 whether at the return, config's upper
// half where the reference counter is (CORE-126, 480; UPR-083 to 086).
#include "kernel_events/pmu/probes.h"
#include "kernel_events/pmu/tracing_pmu.h"
#include "kernel_events/trace/probe_events.h"

namespace rkperf::ke {

namespace {

class UprobePmu final : public TracingPmu {
  public:
    using TracingPmu::TracingPmu;
    int event_init(PerfEvent& event) override {
        if (event.attr.type != type) return -ENOENT;
        if (!kernel.capable(Capability::sys_admin)) return -EACCES;
        if (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) return -EOPNOTSUPP;
        if (!perf_.probe_events->uprobes) return -EOPNOTSUPP;
        TraceUprobes& uprobes = *perf_.probe_events->uprobes;
        const bool is_return = event.attr.config & 1;
        if (const int e = uprobes.perf_uprobe_init(event, event.attr.config >> 32, is_return)) return e;
        event.destroy = [&uprobes](PerfEvent& e) { uprobes.perf_uprobe_destroy(e); };
        return 0;
    }
};

} // namespace

void register_uprobe_pmu(Perf::Impl& perf) {
    init_probe_events(perf);
    perf.perf_pmu_register(std::make_unique<UprobePmu>(perf), "uprobe", -1);
    const std::string format = "/sys/bus/event_source/devices/uprobe/format/";
    perf.kernel.add_attribute({format + "retprobe", 0444, [] { return std::string("config:0\n"); }, nullptr});
    perf.kernel.add_attribute({format + "ref_ctr_offset", 0444, [] { return std::string("config:32-63\n"); }, nullptr});
}

} // namespace rkperf::ke

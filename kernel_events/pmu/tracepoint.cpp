// SPDX-License-Identifier: Apache-2.0
// PMU "tracepoint" (type 2). This kernel has no tracepoints, so every id is unknown: EINVAL, as in Linux (CORE-473).
#include "kernel_events/pmu/pmus.h"
#include "kernel_events/pmu/probes.h"
#include "kernel_events/pmu/refused_pmu.h"

namespace rkperf::ke {

namespace {

class TracepointPmu final : public RefusedPmu {
  public:
    using RefusedPmu::RefusedPmu;
    int event_init(PerfEvent& event) override {
        if (event.attr.type != PERF_TYPE_TRACEPOINT) return -ENOENT;
        if (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) return -EOPNOTSUPP;
        return -EINVAL;
    }
};

} // namespace

void register_tracing_pmus(Perf::Impl& perf) {
    perf.perf_pmu_register(std::make_unique<TracepointPmu>(perf), "tracepoint", PERF_TYPE_TRACEPOINT);
    register_kprobe_pmu(perf);
    register_uprobe_pmu(perf);
}

} // namespace rkperf::ke

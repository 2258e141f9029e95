// SPDX-License-Identifier: Apache-2.0
// PMU "tracepoint" (type 2): attr.config is the id of a trace event (CORE-473 to 478).
#include "kernel_events/pmu/pmus.h"
#include "kernel_events/pmu/probes.h"
#include "kernel_events/pmu/tracing_pmu.h"

namespace rkperf::ke {

namespace {

class TracepointPmu final : public TracingPmu {
  public:
    using TracingPmu::TracingPmu;
    int event_init(PerfEvent& event) override { // perf_tp_event_init
        if (event.attr.type != PERF_TYPE_TRACEPOINT) return -ENOENT;
        if (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) return -EOPNOTSUPP;
        if (const int error = events().perf_trace_init(event)) return error;
        event.destroy = [this](PerfEvent& e) { events().perf_trace_destroy(e); };
        return 0;
    }
};

} // namespace

void register_tracing_pmus(Perf::Impl& perf) {
    perf.perf_pmu_register(std::make_unique<TracepointPmu>(perf), "tracepoint", PERF_TYPE_TRACEPOINT);
    register_kprobe_pmu(perf);
    register_uprobe_pmu(perf);
}

} // namespace rkperf::ke

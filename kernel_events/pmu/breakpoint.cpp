// SPDX-License-Identifier: Apache-2.0
// PMU "breakpoint" (type 5): registered, and no breakpoint can be set yet: EOPNOTSUPP.
#include "kernel_events/pmu/pmus.h"
#include "kernel_events/pmu/refused_pmu.h"

namespace rkperf::ke {

namespace {

class BreakpointPmu final : public RefusedPmu {
  public:
    using RefusedPmu::RefusedPmu;
    int event_init(PerfEvent& event) override {
        return event.attr.type == PERF_TYPE_BREAKPOINT ? -EOPNOTSUPP : -ENOENT;
    }
};

} // namespace

void register_breakpoint_pmu(Perf::Impl& perf) {
    perf.perf_pmu_register(std::make_unique<BreakpointPmu>(perf), "breakpoint", PERF_TYPE_BREAKPOINT);
}

} // namespace rkperf::ke

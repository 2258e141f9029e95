// SPDX-License-Identifier: Apache-2.0
// PMU "kprobe" (type 6): registered with its format; probes themselves are not there yet and give EOPNOTSUPP, after the
// permission check that Linux makes first (CORE-126, 479).
#include "kernel_events/pmu/probes.h"
#include "kernel_events/pmu/refused_pmu.h"

namespace rkperf::ke {

namespace {

class KprobePmu final : public RefusedPmu {
  public:
    using RefusedPmu::RefusedPmu;
    int event_init(PerfEvent& event) override {
        if (event.attr.type != type) return -ENOENT;
        if (!perf_.perfmon_capable()) return -EACCES;
        return -EOPNOTSUPP;
    }
};

} // namespace

void register_kprobe_pmu(Perf::Impl& perf) {
    perf.perf_pmu_register(std::make_unique<KprobePmu>(perf), "kprobe", -1);
    perf.kernel.add_attribute({"/sys/bus/event_source/devices/kprobe/format/retprobe", 0444,
                               [] { return std::string("config:0\n"); }, nullptr});
}

} // namespace rkperf::ke

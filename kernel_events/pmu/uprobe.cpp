// SPDX-License-Identifier: Apache-2.0
// PMU "uprobe" (type 7): registered with its formats; probes themselves are not there yet and give EOPNOTSUPP, after the
// permission check that Linux makes first (CORE-126, 480).
#include "kernel_events/pmu/probes.h"
#include "kernel_events/pmu/refused_pmu.h"

namespace rkperf::ke {

namespace {

class UprobePmu final : public RefusedPmu {
  public:
    using RefusedPmu::RefusedPmu;
    int event_init(PerfEvent& event) override {
        if (event.attr.type != type) return -ENOENT;
        if (!kernel.capable(Capability::sys_admin)) return -EACCES;
        return -EOPNOTSUPP;
    }
};

} // namespace

void register_uprobe_pmu(Perf::Impl& perf) {
    perf.perf_pmu_register(std::make_unique<UprobePmu>(perf), "uprobe", -1);
    const std::string format = "/sys/bus/event_source/devices/uprobe/format/";
    perf.kernel.add_attribute({format + "retprobe", 0444, [] { return std::string("config:0\n"); }, nullptr});
    perf.kernel.add_attribute({format + "ref_ctr_offset", 0444, [] { return std::string("config:32-63\n"); }, nullptr});
}

} // namespace rkperf::ke

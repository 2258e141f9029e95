// SPDX-License-Identifier: Apache-2.0
// PMU "software" (type 1): events that the kernel triggers itself (CORE-447, 451 to 459).
#include "kernel_events/pmu/clock_pmu.h"
#include "kernel_events/pmu/pmus.h"

namespace rkperf::ke {

namespace {

class SoftwarePmu final : public Pmu {
  public:
    explicit SoftwarePmu(Perf::Impl& perf) : Pmu(perf.kernel), perf_(perf) {
        task_ctx_nr = TaskContext::software;
        capabilities = PERF_PMU_CAP_NO_NMI;
    }
    int event_init(PerfEvent& event) override {
        if (event.attr.type != PERF_TYPE_SOFTWARE) return -ENOENT;
        KernelFrame frame(kernel, KernelSymbol::perf_swevent_init);
        if (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) return -EOPNOTSUPP;
        const std::uint64_t id = event.attr.config;
        if (id == PERF_COUNT_SW_CPU_CLOCK || id == PERF_COUNT_SW_TASK_CLOCK || id >= PERF_COUNT_SW_MAX) return -ENOENT;
        if (event.parent) return 0;
        ++perf_.counts.perf_swevent_enabled[id];
        event.destroy = [&perf = perf_](PerfEvent& e) { --perf.counts.perf_swevent_enabled[e.attr.config]; };
        return 0;
    }
    int add(PerfEvent& event, int flags) override { return perf_.perf_swevent_add(event, flags); }
    void del(PerfEvent& event, int flags) override { perf_.perf_swevent_del(event, flags); }
    void start(PerfEvent& event, int) override { event.hw.state = 0; }
    void stop(PerfEvent& event, int) override { event.hw.state = PERF_HES_STOPPED; }
    void read(PerfEvent&) override {}

  private:
    Perf::Impl& perf_;
};

} // namespace

void register_software_pmus(Perf::Impl& perf) {
    perf.perf_pmu_register(std::make_unique<SoftwarePmu>(perf), "software", PERF_TYPE_SOFTWARE);
    perf.perf_pmu_register(std::make_unique<CpuClockPmu>(perf), "", -1);
    perf.perf_pmu_register(std::make_unique<TaskClockPmu>(perf), "", -1);
}

} // namespace rkperf::ke

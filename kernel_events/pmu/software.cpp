// SPDX-License-Identifier: Apache-2.0
// PMU "software" (type 1): events that the kernel triggers itself (CORE-447, 451 to 459).
#include "kernel_events/pmu/clock_pmu.h"
#include "kernel_events/pmu/pmus.h"

namespace rkperf::ke {

namespace {

/// Instructions of releasing the buckets, and of patching the triggers' code when an id gets its first event or loses its
/// last (static_key_slow_inc, static_key_slow_dec).
constexpr std::uint32_t kDestroyCost = 290, kPatchInCost = 1030, kPatchOutCost = 700;

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
        if (!perf_.counts.perf_swevent_enabled[id]++) kernel.charge(kPatchInCost);
        event.destroy = [&perf = perf_](PerfEvent& e) {
            perf.kernel.charge(kDestroyCost);
            if (!--perf.counts.perf_swevent_enabled[e.attr.config]) perf.kernel.charge(kPatchOutCost);
        };
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

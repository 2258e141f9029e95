// SPDX-License-Identifier: Apache-2.0
// PMU "breakpoint" (type 5): registered, and no breakpoint can be set yet: EOPNOTSUPP. What arm64 refuses whatever the
// registers hold is refused as there: kernel addresses of a task, or of an event that excludes the kernel (EINVAL).
#include "kernel_events/pmu/pmus.h"
#include "kernel_events/pmu/refused_pmu.h"

namespace rkperf::ke {

namespace {

/// End of a task's addresses.
constexpr std::uint64_t kTaskSize = std::uint64_t{1} << 48;

class BreakpointPmu final : public RefusedPmu {
  public:
    using RefusedPmu::RefusedPmu;
    int event_init(PerfEvent& event) override {
        if (event.attr.type != PERF_TYPE_BREAKPOINT) return -ENOENT;
        if (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) return -EOPNOTSUPP;
        const bool kernel_address = event.attr.bp_addr >= kTaskSize;
        if (kernel_address && (event.hw.target || event.attr.exclude_kernel)) return -EINVAL;
        if (kernel_address && !kernel.capable(Capability::sys_admin)) return -EPERM;
        return -EOPNOTSUPP;
    }
};

} // namespace

void register_breakpoint_pmu(Perf::Impl& perf) {
    perf.perf_pmu_register(std::make_unique<BreakpointPmu>(perf), "breakpoint", PERF_TYPE_BREAKPOINT);
}

} // namespace rkperf::ke

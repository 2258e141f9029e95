// SPDX-License-Identifier: Apache-2.0
// PMU "breakpoint" (type 5): hardware breakpoints and watchpoints as events (HWBP-001 to 008).
#include "kernel_events/hw_breakpoint.h"
#include "kernel_events/pmu/pmus.h"

namespace rkperf::ke {

namespace {

class BreakpointPmu final : public Pmu {
  public:
    explicit BreakpointPmu(Perf::Impl& perf) : Pmu(perf.kernel), perf_(perf), breakpoints_(perf.perf.hw_breakpoints()) {
        task_ctx_nr = TaskContext::software;
    }
    int event_init(PerfEvent& event) override {
        if (event.attr.type != PERF_TYPE_BREAKPOINT) return -ENOENT;
        KernelFrame frame(kernel, KernelSymbol::hw_breakpoint_event_init);
        if (!breakpoints_.hw_breakpoint_slots(find_slot_idx(event.attr.bp_type)) ||
            (event.attr.sample_type & PERF_SAMPLE_BRANCH_STACK))
            return -EOPNOTSUPP;
        if (const int error = breakpoints_.register_perf_hw_breakpoint(event)) return error;
        event.destroy = [this](PerfEvent& e) { breakpoints_.release_bp_slot(e); };
        return 0;
    }
    int add(PerfEvent& event, int flags) override {
        KernelFrame frame(kernel, KernelSymbol::hw_breakpoint_add);
        if (!(flags & PERF_EF_START)) event.hw.state = PERF_HES_STOPPED;
        if (is_sampling_event(event)) {
            event.hw.last_period = event.hw.sample_period;
            perf_.perf_swevent_set_period(event);
        }
        return breakpoints_.arch_install_hw_breakpoint(event);
    }
    void del(PerfEvent& event, int) override {
        KernelFrame frame(kernel, KernelSymbol::hw_breakpoint_del);
        breakpoints_.arch_uninstall_hw_breakpoint(event);
    }
    void start(PerfEvent& event, int) override { event.hw.state = 0; }
    void stop(PerfEvent& event, int) override { event.hw.state = PERF_HES_STOPPED; }
    void read(PerfEvent&) override {} // the count grows where it is hit
    void cpu_starting(int) override {
        perf_.perf.debug_monitors().cpu_starting();
        breakpoints_.cpu_starting();
    }
    int modify_attr(PerfEvent& event, const perf_event_attr& attr) override {
        perf_._perf_event_disable(event);
        const int error = breakpoints_.modify_user_hw_breakpoint_check(event, attr, true);
        if (!event.attr.disabled) perf_._perf_event_enable(event);
        return error;
    }

  private:
    Perf::Impl& perf_;
    HwBreakpoints& breakpoints_;
};

} // namespace

void register_breakpoint_pmu(Perf::Impl& perf) {
    perf.perf.hw_breakpoints().init();
    perf.perf_pmu_register(std::make_unique<BreakpointPmu>(perf), "breakpoint", PERF_TYPE_BREAKPOINT);
}

} // namespace rkperf::ke

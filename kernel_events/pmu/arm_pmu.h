// SPDX-License-Identifier: Apache-2.0
// The layer common to Arm core PMUs (struct arm_pmu): mapping of events, period arithmetic, groups, interrupts
// (ARMPMU-001 to 041). The registers belong to the driver below it.
#pragma once

#include "kernel_events/internal.h"
#include "kernel_events/pmu/arm_pmu_platform.h"

#include <bitset>

namespace rkperf::ke {

/// hw.flags of a core event, beside PERF_EVENT_FLAG_USER_READ_CNT.
inline constexpr int ARMPMU_EVT_64BIT = 0x1, ARMPMU_EVT_47BIT = 0x2;
inline constexpr unsigned ARMPMU_MAX_HWEVENTS = 32;
/// An entry of an event table without an event.
inline constexpr std::uint16_t HW_OP_UNSUPPORTED = 0xffff;

/// What occupies the counters of one CPU (struct pmu_hw_events). Index 0 is the cycle counter.
struct PmuHwEvents {
    std::array<PerfEvent*, ARMPMU_MAX_HWEVENTS> events{};
    std::bitset<ARMPMU_MAX_HWEVENTS> used_mask;
};

class ArmPmu : public Pmu {
  public:
    ArmPmu(Perf::Impl& perf, const PmuIrqs& irqs);

    int event_init(PerfEvent& event) override;
    int add(PerfEvent& event, int flags) override;
    void del(PerfEvent& event, int flags) override;
    void start(PerfEvent& event, int flags) override;
    void stop(PerfEvent& event, int flags) override;
    void read(PerfEvent& event) override;
    void pmu_enable() override;
    void pmu_disable() override;
    void start_txn(unsigned flags) override;
    int commit_txn() override;
    void cancel_txn() override;
    bool filter_match(PerfEvent& event) override;
    void cpu_starting(int cpu) override;
    void cpu_dying(int cpu) override;

    /// The calling CPU enters or leaves a power state that loses its PMU's registers (cpu_pm_pmu_notify). False: not
    /// this PMU's CPU. No state of the simulated cores is that deep, so only tests come here.
    enum class CpuPm : std::uint8_t { enter, enter_failed, exit };
    bool cpu_pm_notify(CpuPm what);
    /// Returns false (IRQ_NONE) if no counter has overflowed.
    bool dispatch_irq(PtRegs& regs);
    int num_events() const { return num_events_; }
    bool supports(int cpu) const { return irqs_.supported_cpus >> cpu & 1; }
    const PmuIrqs& irqs() const { return irqs_; }

  protected:
    // --- what the driver provides ---
    virtual int map_event(PerfEvent& event) = 0; ///< event number, or a negative errno
    virtual int set_event_filter(HwPerfEvent& hw, const perf_event_attr& attr) = 0;
    virtual int get_event_idx(PmuHwEvents& hw_events, PerfEvent& event) = 0; ///< or -EAGAIN
    virtual void clear_event_idx(PmuHwEvents& hw_events, PerfEvent& event) = 0;
    virtual std::uint64_t read_counter(PerfEvent& event) = 0;
    virtual void write_counter(PerfEvent& event, std::uint64_t value) = 0;
    virtual void enable_event(PerfEvent& event) = 0;
    virtual void disable_event(PerfEvent& event) = 0;
    virtual void pmu_start() = 0;
    virtual void pmu_stop() = 0;
    virtual void pmu_reset() = 0;
    virtual bool handle_irq(PtRegs& regs) = 0;
    virtual bool driver_filter_match(PerfEvent&) { return true; }

    PmuHwEvents& this_cpu_events();
    std::uint64_t max_period(const PerfEvent& event) const;
    bool event_set_period(PerfEvent& event); ///< true: a whole period has passed
    std::uint64_t event_update(PerfEvent& event);
    int validate_group(PerfEvent& event);

    Perf::Impl& perf_;
    PmuIrqs irqs_;
    int num_events_{};
    std::array<PmuHwEvents, kMaxCpus> hw_events_{};

  private:
    bool validate_event(PmuHwEvents& fake, PerfEvent& event);
    unsigned txn_flags_{};
    bool warned_{}; ///< of a start without a stop
};

} // namespace rkperf::ke

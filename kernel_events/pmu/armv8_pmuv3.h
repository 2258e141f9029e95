// SPDX-License-Identifier: Apache-2.0
// The PMUv3 driver of arm64: events to counters, and every access to the PMU's registers (PMUV3-001 to 043).
#pragma once

#include "kernel_events/pmu/arm_pmu.h"

namespace rkperf::ke {

class Armv8Pmu final : public ArmPmu {
  public:
    using ArmPmu::ArmPmu;

    /// Reads the identification registers; on a CPU of this PMU. False: no PMUv3 there.
    bool probe();
    void add_sysfs_files();
    int event_idx(PerfEvent& event) override;
    /// Is event number `n` (0x00-0x3f, 0x4000-0x403f) announced by PMCEID?
    bool advertised(unsigned n) const;

  protected:
    int map_event(PerfEvent& event) override;
    int set_event_filter(HwPerfEvent& hw, const perf_event_attr& attr) override;
    int get_event_idx(PmuHwEvents& hw_events, PerfEvent& event) override;
    void clear_event_idx(PmuHwEvents& hw_events, PerfEvent& event) override;
    std::uint64_t read_counter(PerfEvent& event) override;
    void write_counter(PerfEvent& event, std::uint64_t value) override;
    void enable_event(PerfEvent& event) override;
    void disable_event(PerfEvent& event) override;
    void pmu_start() override;
    void pmu_stop() override;
    void pmu_reset() override;
    bool handle_irq(PtRegs& regs) override;
    bool driver_filter_match(PerfEvent& event) override;

  private:
    bool has_long_event() const { return pmuver_ >= 6; }
    bool event_is_chained(const PerfEvent& event) const;
    bool event_needs_bias(const PerfEvent& event) const;
    void pmcr_write(std::uint64_t value);
    std::uint64_t read_evcntr(int idx);
    void write_evcntr(int idx, std::uint64_t value);
    void write_evtype(int idx, std::uint64_t value);
    void write_event_type(PerfEvent& event);
    void enable_user_access();

    unsigned pmuver_{};
    std::uint64_t pmceid_[2]{};
};

} // namespace rkperf::ke

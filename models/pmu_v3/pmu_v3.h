// SPDX-License-Identifier: Apache-2.0
// The Performance Monitors Extension version 3 of one core: system registers behind a TLM target socket, and the
// overflow line (level, PMUV3-063). Counters count what EventTotalsView says; accesses take no time of their own (who
// executes MRS or MSR is charged for it). All changes happen at EventTotalsView::now().
#pragma once

#include "models/pmu_v3/registers.h"
#include "sim/base/sysreg_bus.h"
#include "sim/base/wires.h"

#include <tlm_utils/simple_target_socket.h>
#include <span>
#include <systemc>
#include <tlm>
#include <vector>

namespace rkperf::pmu {

/// Hears what a PMU does (trace). `when` is the core's local time.
class PmuListener {
  public:
    virtual ~PmuListener() = default;
    /// Overflow flags that were clear are set now: bit n counter n, bit 31 the cycle counter.
    virtual void overflowed(std::uint32_t counters, Picoseconds when) { (void)counters, (void)when; }
    virtual void line_changed(bool level, Picoseconds when) { (void)level, (void)when; }
    /// A register access that succeeded, with the value written or read.
    virtual void register_accessed(SysReg reg, bool write, std::uint64_t value, Picoseconds when) {
        (void)reg, (void)write, (void)value, (void)when;
    }
};

class PmuV3 : public sc_core::sc_module, public OverflowMonitor {
  public:
    /// See sim/base/sysreg_bus.h for the conventions of a transaction.
    tlm_utils::simple_target_socket<PmuV3> sysreg;

    PmuV3(sc_core::sc_module_name name, const PmuConfig& config, EventTotalsView& totals, LevelSink& irq);

    std::span<const ArmedCounter> armed() override;
    void sync() override;

    bool line() const { return line_; }
    /// Counters and their controls, for observers; reading a value changes nothing.
    CounterBank& counters() { return registers_.counters(); }
    void add_listener(PmuListener& listener) { listeners_.push_back(&listener); }
    const PmuConfig& config() const { return registers_.config(); }
    /// Exception level to which the latest refused access with outcome trap_el1 goes: EL1, or EL2 or EL3 if
    /// MDCR_EL2.TPM/TPMCR or MDCR_EL3.TPM made it trap.
    ExceptionLevel trap_target() const { return trap_target_; }

  private:
    void transport(tlm::tlm_generic_payload& trans, sc_core::sc_time& delay);
    void drive_line();
    void tell_overflows();

    EventTotalsView& totals_;
    LevelSink& irq_;
    Registers registers_;
    std::vector<PmuListener*> listeners_;
    std::uint32_t flags_told_{}; ///< overflow flags that the listeners know of
    bool line_{};
    ExceptionLevel trap_target_{ExceptionLevel::el1};
};

} // namespace rkperf::pmu

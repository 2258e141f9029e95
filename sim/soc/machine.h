// SPDX-License-Identifier: Apache-2.0
// The simulated machine: cores, their PMUs and timers, GIC, DSU, DRAM, and the kernel that runs on it, instantiated and
// bound. One per process, because SystemC elaborates once.
#pragma once

#include "models/cpu/core.h"
#include "models/cpu/core_tables.h"
#include "models/cpu/execution_mode.h"
#include "models/cpu/inner_shareable.h"
#include "models/gic/gic600.h"
#include "models/memory/dram.h"
#include "models/memory/dsu.h"
#include "models/memory/physical_memory.h"
#include "models/pmu_v3/pmu_v3.h"
#include "models/timer/generic_timer.h"
#include "sim/os/kernel.h"
#include "sim/soc/debug_adapter.h"
#include "sim/soc/machine_config.h"
#include "sim/soc/sysreg_router.h"
#include "sim/soc/trace_line_tap.h"

#include <functional>

#include <tlm_utils/simple_initiator_socket.h>
#include <memory>
#include <systemc>
#include <vector>

namespace rkperf::soc {

/// How a run ended.
struct RunResult {
    bool finished{};    ///< the program ended by itself
    bool timed_out{};   ///< --timeout-sim
    bool interrupted{}; ///< Ctrl-C
    int status{};       ///< wait status of the program
    Picoseconds time{}; ///< simulated time at the end
    std::uint64_t user_instructions{}, kernel_instructions{};
    int exit_code() const; ///< as a shell reports it: the status, or 128 + signal
};

class Machine : public sc_core::sc_module {
  public:
    Machine(sc_core::sc_module_name name, const MachineConfig& config, const os::MountConfig& mounts,
            Picoseconds timeout = kNever);
    ~Machine() override;

    os::Kernel& kernel() { return *kernel_; }
    cpu::Core& core(unsigned n) { return *cores_[n]; }
    unsigned cores() const { return static_cast<unsigned>(cores_.size()); }
    pmu::PmuV3& pmu(unsigned n) { return *pmus_[n]; }
    debug::DebugRegs& debug_regs(unsigned n) { return *debugs_[n]; }
    DebugAdapter& debug_adapter(unsigned n) { return *debug_adapters_[n]; }
    gic::Gic600& gic() { return *gic_; }
    /// The interrupt line from a core's redistributor to the core.
    LineTap& irq_line(unsigned n) { return *irq_lines_[n]; }
    const MachineConfig& config() const { return config_; }
    mem::PhysicalMemory& memory() { return *memory_; }

    /// Runs until the program ends. `poll` is called from time to time (progress, Ctrl-C); false asks for an orderly end,
    /// a second time for an end. The orderly end is also asked for at simulated time `end_at`.
    RunResult run(os::InitProgram program, const std::function<bool(const RunResult&)>& poll = {},
                  Picoseconds end_at = kNever);

  private:
    std::uint64_t mmio(int cpu, std::uint64_t address, bool write, std::uint64_t value);

    MachineConfig config_;
    std::unique_ptr<mem::PhysicalMemory> memory_;
    cpu::InnerShareable domain_;
    cpu::ExecutionMode mode_;
    std::unique_ptr<mem::Dram> dram_;
    std::unique_ptr<mem::Dsu> dsu_;
    std::unique_ptr<gic::Gic600> gic_;
    std::vector<std::unique_ptr<cpu::Core>> cores_;
    std::vector<std::unique_ptr<LineTap>> irq_lines_;
    std::vector<std::unique_ptr<pmu::PmuV3>> pmus_;
    std::vector<std::unique_ptr<debug::DebugRegs>> debugs_;
    std::vector<std::unique_ptr<DebugAdapter>> debug_adapters_;
    std::vector<std::unique_ptr<timer::GenericTimer>> timers_;
    std::vector<std::unique_ptr<SysRegRouter>> routers_;
    std::unique_ptr<os::Kernel> kernel_;
    tlm_utils::simple_initiator_socket<Machine> bus_;
    RunResult result_;
    bool ended_{};
};

} // namespace rkperf::soc

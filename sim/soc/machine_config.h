// SPDX-License-Identifier: Apache-2.0
// What a machine description (machines/*.toml) says. Defaults are the RK3588 as its BSP kernel runs it.
#pragma once

#include "models/cpu/execution_mode.h"
#include "sim/base/types.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rkperf::soc {

enum class CoreKind : std::uint8_t { cortex_a55, cortex_a76 };
enum class PmuShape : std::uint8_t {
    vendor,   ///< one `armv8_pmuv3` over all CPUs (Rockchip BSP)
    mainline, ///< `armv8_cortex_a55` and `armv8_cortex_a76` (mainline device tree)
    a55,      ///< the same without the node of the Cortex-A76
    a76,      ///< ... of the Cortex-A55
    none,     ///< no node at all
};
enum class DramKind : std::uint8_t { lpddr4x_2112, lpddr5_2736 };

struct CpuConfig {
    CoreKind kind{};
    std::uint64_t hertz{};
    unsigned capacity{1024};
    unsigned
        exception_entry{}; ///< cycles from an interrupt's acceptance to the first instruction of the vector; 0: the core's
};

struct MachineConfig {
    std::string name{"rk3588"};
    std::vector<CpuConfig> cpus; ///< up to 8
    std::uint64_t dram_mib{4096};
    DramKind dram{DramKind::lpddr4x_2112};
    std::uint64_t dsu_hertz{1'800'000'000};
    Picoseconds quantum{10'000'000}; ///< 10 us
    bool simple_cores{};             ///< one instruction per cycle, no misses
    bool plain_loop{};               ///< cores do not use their fast execution loops
    cpu::TimingPolicy timing{};      ///< what is timed once the warm-up is over
    std::uint64_t warm_up{};         ///< instructions at EL0 that are executed without timing first
    std::uint64_t gic_ppi_delay_ps{40'000}, gic_sgi_delay_ps{100'000}, gic_spi_delay_ps{80'000};
    bool pseudo_nmi{}; ///< irqchip.gicv3_pseudo_nmi of the kernel's command line

    // What the cores' silicon does beside its manuals (cpu::CoreQuirks).
    bool a55_br_retired_isb{true}, a76_no_pc_write_retired{true}, wfi_stops_cycles{true};

    PmuShape pmu{PmuShape::vendor};
    unsigned pmu_intid{23}; ///< the interrupt that the device tree gives the PMU, right or wrong; 0: it names none
    /// Lists for one node after the other (sim/soc/pmu_nodes.h). Interrupts in place of pmu_intid; whose each is.
    std::string pmu_interrupts, pmu_interrupt_affinity;
    unsigned pmu_spi{}; ///< CPU n's PMU drives SPI pmu_spi + n instead of PPI 7; 0: it does not
    unsigned hz{300};
    int paranoid{2}; ///< initial kernel.perf_event_paranoid; root runs the programs
    int perf_mlock_kb{516};
    int perf_max_sample_rate{100000};
    int perf_cpu_time_max_percent{25};
    std::string hostname{"rk3588"};
    std::uint64_t epoch{1700000000}; ///< seconds since 1970 that the real-time clock shows at boot
    std::uint64_t seed{1};

    /// The RK3588: CPU 0-3 Cortex-A55 at 1.8 GHz, CPU 4-7 Cortex-A76 at 2.4 GHz.
    static MachineConfig rk3588();
};

} // namespace rkperf::soc

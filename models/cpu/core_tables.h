// SPDX-License-Identifier: Apache-2.0
// What distinguishes one kind of core from another, apart from its pipeline: one table of each, in cpu_a55 and cpu_a76.
#pragma once

#include "models/cpu/decoded_op.h"
#include "models/cpu/event_lanes.h"
#include "models/memory/hierarchy.h"
#include "sim/base/sysreg.h"

#include <cstdint>
#include <span>

namespace rkperf::cpu {

struct IdRegister {
    SysReg reg;
    std::uint64_t value;
};

/// Costs that do not come out of the pipeline model, in core cycles.
struct SystemCosts {
    unsigned exception_entry{};             ///< EL0 or EL1 to the first instruction of the vector
    unsigned exception_return{};            ///< ERET to the first instruction at EL0
    unsigned barrier_dmb{}, barrier_dsb{};  ///< beyond the wait for older accesses
    unsigned isb{};                         ///< refill of the front end
    unsigned sysreg_read{}, sysreg_write{}; ///< of the core's own registers and the PMU
    unsigned gic_access{};                  ///< ICC_* registers, which talk to the redistributor
    unsigned timer_access{};                ///< CNT* registers
    unsigned cache_op{};                    ///< DC, IC
    unsigned store_exclusive_fail{};
};

/// How native kernel code, of which only instruction counts are known, is spread over time and events at EL1.
struct KernelRates {
    // Rational numbers: numerator per 1024.
    std::uint64_t cycles{};                                             ///< per instruction
    std::uint64_t mispredicts{};                                        ///< per branch
    std::uint64_t branch_indirect{};                                    ///< per branch, not returns
    std::uint64_t branch_return{};                                      ///< per branch
    std::uint64_t branch_cond{};                                        ///< per branch
    std::uint64_t branch_taken{};                                       ///< per branch
    std::uint64_t stall_frontend{};                                     ///< per cycle
    std::uint64_t stall_backend{};                                      ///< per cycle
    std::uint64_t fetches{};                                            ///< per instruction
    std::uint64_t load_acquire{}, store_release{}, dmb{}, dsb{}, isb{}; ///< per instruction
    std::uint64_t code_wait{}; ///< per cycle that a line of code or its translation was late
    std::uint64_t data_wait{}; ///< per cycle that data were late
    // Whole numbers.
    std::uint64_t wrong_path{};        ///< operations issued in vain per misprediction
    std::uint64_t mispredict_cycles{}; ///< per misprediction beyond those that the rates above have
    /// Lines that one charge touches at most. It touches one of code for each 16 instructions, as straight code does, and
    /// one of data for each eight accesses (estimates: the oracle has instruction counts only, no caches).
    unsigned code_lines{}, data_lines{};
};

struct CoreTables {
    std::uint64_t midr{};
    EventList events;
    SystemCosts costs;
    KernelRates kernel;
    mem::CoreMemoryParams memory;
    TimingOf timing_of{};
};

} // namespace rkperf::cpu

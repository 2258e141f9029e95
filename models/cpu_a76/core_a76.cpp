// SPDX-License-Identifier: Apache-2.0
#include "models/cpu_a76/core_a76.h"

#include "models/cpu/core_impl.h"
#include "models/cpu/simple_pipe.h"
#include "models/cpu_a76/events.h"
#include "models/cpu_a76/id_registers.h"
#include "models/cpu_a76/pipeline.h"
#include "models/cpu_a76/timing.h"
#include "models/memory/core_params.h"

namespace rkperf::cpu_a76 {
namespace {

constexpr cpu::PredictorParams kPredictor{
    .bimodal = 8192, // est. with the tagged tables: "TAGE-like of 8K..16K counters is a workable stand-in"
    .tagged = 2048,
    // Est.: with 60 for the longest, CoreMark has 2.8 times as many wrong, and 9 % fewer iterations than a board.
    .history = {6, 16, 40, 128},
    // AnandTech 12785, and chains of branches on a Neoverse N1, measured at spacings of 4 to 128 bytes (J. Jia, "ARM
    // Neoverse N1 BTB", 2025): 1, 2, 2 or 3, and 5 cycles a branch; 6144 entries, by bits 14:5 of the address.
    .nano_btb = 16,
    .micro_btb = 64,
    .main_btb_sets = 1024,
    .main_btb_ways = 6,
    // Measured on a Neoverse N1 (Chips and Cheese, "Deep Diving Neoverse N1", 2021): at least 4096 targets, more places as
    // these are not associative; 11 return addresses, and 31 in a second level, which is a bit slower, not here.
    .indirect = 8192,
    .return_stack = 42,
    .nano_bubble = 0,
    .micro_bubble = 1,
    .main_bubble = 1,
    .main_choice = 1,
    .decode_bubble = 4,
};

constexpr PipelineParams kPipeline{
    .mispredict_penalty = 11, // N1 guide
    .run_ahead = 8,           // est.: 32 instructions
    .prediction_lead = 24,    // half cycles: 12 windows of 32 bytes, one predicted a cycle (AnandTech 12785)
    .load_queue = 56,         // measured on a Neoverse N1 (Chips and Cheese, 2021); Arm's figures are 68 and 72
    .store_queue = 44,        // the same
    .split_penalty = 7,       // 11 cycles for a load across a line, measured on N1
    .partial_forward = 4,     // 10.5 cycles measured on N1 for a pair of store and wider load
};

constexpr cpu::SystemCosts kCosts{
    .exception_entry = 24,     // est.
    .exception_return = 18,    // est.
    .barrier_dmb = 3,          // est.
    .barrier_dsb = 12,         // est.: 10..40 when stores drain
    .isb = 12,                 // est.: at least a mispredict
    .sysreg_read = 6,          // est.
    .sysreg_write = 8,         // est.
    .gic_access = 40,          // est.
    .timer_access = 12,        // est.
    .cache_op = 8,             // est.
    .store_exclusive_fail = 2, // est.
};

// Est.: kernel paths run at low IPC; shares of 1024.
constexpr cpu::KernelRates kKernel{
    .cycles = 840,
    .mispredicts = 10,
    .branch_indirect = 60,
    .branch_return = 110,
    .branch_cond = 600,
    .branch_taken = 600,
    .stall_frontend = 230,
    .stall_backend = 260,
    .fetches = 340,
    .load_acquire = 6, // locks, reference counts
    .store_release = 4,
    .dmb = 2,
    .dsb = 1,
    .isb = 1,
    .code_wait = 768, // the front end runs ahead
    .data_wait = 512, // misses overlap
    .wrong_path = 24, // est.: a window that fills at 4 a cycle until the branch is resolved
    .mispredict_cycles = 11,
    .code_lines = 96,
    .data_lines = 48,
};

} // namespace

const cpu::CoreTables& tables() {
    static const cpu::CoreTables kTables{
        kMidr, event_list(), kCosts, kKernel, mem::cortex_a76_memory(), timing_of,
    };
    return kTables;
}

std::unique_ptr<cpu::Core> make_core(sc_core::sc_module_name name, const cpu::CoreConfig& config,
                                     mem::PhysicalMemory& memory, const cpu::CoreQuirks& quirks) {
    if (config.simple)
        return std::make_unique<cpu::CoreImpl<cpu::SimplePipe>>(name, config, quirks, tables(), memory, kPredictor);
    return std::make_unique<cpu::CoreImpl<Pipeline>>(name, config, quirks, tables(), memory, kPredictor, kPipeline);
}

} // namespace rkperf::cpu_a76

// SPDX-License-Identifier: Apache-2.0
#include "models/cpu_a55/core_a55.h"

#include "models/cpu/core_impl.h"
#include "models/cpu/simple_pipe.h"
#include "models/cpu_a55/events.h"
#include "models/cpu_a55/id_registers.h"
#include "models/cpu_a55/pipeline.h"
#include "models/cpu_a55/timing.h"
#include "models/memory/core_params.h"

namespace rkperf::cpu_a55 {
namespace {

constexpr cpu::PredictorParams kPredictor{
    .bimodal = 2048, // est.: sizes are not published, "neural-network elements"
    .tagged = 512,
    .history = {5, 11, 22, 44},
    .nano_btb = 16,   // est.: a small zero-bubble predictor in front (recalled from AnandTech 11441)
    .micro_btb = 256, // est.
    .main_btb_sets = 0,
    .main_btb_ways = 0,
    .indirect = 256,   // est.
    .return_stack = 8, // est.
    .nano_bubble = 0,
    .micro_bubble = 1, // measured loop overhead of 1.1..1.6 cycles
    .main_bubble = 1,
    .decode_bubble = 3, // est.
};

constexpr PipelineParams kPipeline{
    .mispredict_penalty = 8, // LLVM AArch64SchedA55.td
    .run_ahead = 6,          // est.: instruction queue, size not published
    .store_buffer = 5,       // est.
    .split_penalty = 2,      // est.
    .chase_bonus = 1,        // ramlat on the RK3588: 3.0 cycles indexed, 2.0 pointer chase
    .replay = 19,            // ramlat at 64 KiB: 18.6 cycles where random reads show that the L2 takes 9
    // M: tinymembench's copies with one for every 32 bytes take 11.2..13.1 ns each, with PLDL2STRM 16.3 ns, whether or not the line
    // is there, and with one for every 64 bytes little more than without: they go one at a time, beside everything else. Est.:
    // each until it has been answered, by the L2 or by the DSU.
    .prefetch = 20,
    .prefetch_beyond = 30,
};

constexpr cpu::SystemCosts kCosts{
    .exception_entry = 14,     // est.
    .exception_return = 12,    // est.
    .barrier_dmb = 2,          // est.
    .barrier_dsb = 8,          // est.
    .isb = 8,                  // est.: the 8-stage pipe is flushed
    .sysreg_read = 3,          // est.
    .sysreg_write = 4,         // est.
    .gic_access = 30,          // est.
    .timer_access = 8,         // est.
    .cache_op = 6,             // est.
    .store_exclusive_fail = 1, // est.
};

// Est.: kernel paths run at low IPC; shares of 1024.
constexpr cpu::KernelRates kKernel{
    .cycles = 1450,
    .mispredicts = 18,
    .branch_indirect = 60,
    .branch_return = 110,
    .branch_cond = 600,
    .branch_taken = 600,
    .stall_frontend = 250,
    .stall_backend = 330,
    .fetches = 340,
    .load_acquire = 6, // locks, reference counts
    .store_release = 4,
    .dmb = 2,
    .dsb = 1,
    .isb = 1,
    .code_wait = 1024,
    .data_wait = 1024,
    .mispredict_cycles = 8,
    .code_lines = 96,
    .data_lines = 48,
};

} // namespace

const cpu::CoreTables& tables() {
    static const cpu::CoreTables kTables{
        kMidr, event_list(), kCosts, kKernel, mem::cortex_a55_memory(), timing_of,
    };
    return kTables;
}

std::unique_ptr<cpu::Core> make_core(sc_core::sc_module_name name, const cpu::CoreConfig& config,
                                     mem::PhysicalMemory& memory, const cpu::CoreQuirks& quirks) {
    if (config.simple)
        return std::make_unique<cpu::CoreImpl<cpu::SimplePipe>>(name, config, quirks, tables(), memory, kPredictor);
    return std::make_unique<cpu::CoreImpl<Pipeline>>(name, config, quirks, tables(), memory, kPredictor, kPipeline);
}

} // namespace rkperf::cpu_a55

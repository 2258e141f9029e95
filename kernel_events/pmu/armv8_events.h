// SPDX-License-Identifier: Apache-2.0
// Which architected event stands for a generic one (PMUV3-004, 005), and the names in sysfs (PMUV3-010).
#pragma once

#include "kernel_events/pmu/arm_pmu.h"
#include "sim/base/pmu_events.h"

namespace rkperf::ke {

/// By PERF_COUNT_HW_*.
inline constexpr std::uint16_t kArmv8PerfMap[PERF_COUNT_HW_MAX] = {
    pmu_event::CPU_CYCLES,       pmu_event::INST_RETIRED, pmu_event::L1D_CACHE,  pmu_event::L1D_CACHE_REFILL,
    pmu_event::PC_WRITE_RETIRED, pmu_event::BR_MIS_PRED,  pmu_event::BUS_CYCLES, pmu_event::STALL_FRONTEND,
    pmu_event::STALL_BACKEND,    HW_OP_UNSUPPORTED,
};

/// By PERF_COUNT_HW_CACHE_* and result (access, miss), for reads; nothing is counted for writes and prefetches.
inline constexpr std::uint16_t kArmv8CacheMap[PERF_COUNT_HW_CACHE_MAX][PERF_COUNT_HW_CACHE_RESULT_MAX] = {
    {pmu_event::L1D_CACHE, pmu_event::L1D_CACHE_REFILL},
    {pmu_event::L1I_CACHE, pmu_event::L1I_CACHE_REFILL},
    {pmu_event::LL_CACHE_RD, pmu_event::LL_CACHE_MISS_RD},
    {pmu_event::L1D_TLB, pmu_event::L1D_TLB_REFILL},
    {pmu_event::L1I_TLB, pmu_event::L1I_TLB_REFILL},
    {pmu_event::BR_PRED, pmu_event::BR_MIS_PRED},
    {HW_OP_UNSUPPORTED, HW_OP_UNSUPPORTED},
};

} // namespace rkperf::ke

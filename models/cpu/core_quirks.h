// SPDX-License-Identifier: Apache-2.0
// What a machine description may say of its cores beside their kind.
#pragma once

namespace rkperf::cpu {

/// What silicon does beside the architecture's text; all are what the RK3588's cores do (facts: Arm's event lists, Linux's
/// reports). Off gives the plain reading.
struct CoreQuirks {
    /// Cortex-A55: BR_RETIRED counts ISB, and those that the core puts in itself: one at each return from an interrupt
    /// (estimate: what is reported is that two runs of one program differ).
    bool br_retired_counts_isb{true};
    bool no_pc_write_retired{true}; ///< Cortex-A76: event 0x0C is not there
    bool cycles_stand_in_wfi{true}; ///< CPU_CYCLES and the cycle counter stand while the clock is gated
    unsigned exception_entry{};     ///< cycles to the first instruction of a vector; 0: as the core's table says
};

} // namespace rkperf::cpu

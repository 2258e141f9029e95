// SPDX-License-Identifier: Apache-2.0
// Call chains: a marker for each kind of addresses, then the addresses, innermost first (kernel/events/callchain.c and
// arm64's perf_callchain.c; spec CC-009 to 042).
#pragma once

#include "kernel_events/internal.h"

namespace rkperf::ke {

/// Registers of an AArch32 program (PSTATE.nRW, EL0).
inline bool compat_user_mode(const PtRegs& regs) { return (regs.pstate & 0x1f) == 0x10; }

struct CallchainRequest {
    bool kernel{}, user{};
    std::uint32_t max_stack{}; ///< frames, kernel and user together, markers not counted
    bool crosstask{};          ///< current is not the task the event belongs to: no user part
    bool add_mark{true};
};

/// The chain at `regs`. False if there is none: no buffers, or this level of interruption is in a chain already.
bool get_perf_callchain(Perf::Impl& perf, PtRegs& regs, const CallchainRequest& request,
                        std::vector<std::uint64_t>& entry);
/// The chain of a sample of `event`, empty if it may have none.
void perf_callchain(Perf::Impl& perf, const PerfEvent& event, PtRegs& regs, std::vector<std::uint64_t>& entry);

} // namespace rkperf::ke

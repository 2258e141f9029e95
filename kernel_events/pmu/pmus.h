// SPDX-License-Identifier: Apache-2.0
// The PMUs of the machine, for perf_event_init.
#pragma once

#include "kernel_events/internal.h"

namespace rkperf::ke {

void register_software_pmus(Perf::Impl& perf);  ///< software (type 1), cpu-clock, task-clock
void register_tracing_pmus(Perf::Impl& perf);   ///< tracepoint (2), kprobe (6), uprobe (7)
void register_breakpoint_pmu(Perf::Impl& perf); ///< breakpoint (5)
void register_core_pmus(Perf::Impl& perf);      ///< one PMU per PmuNode (8, ...)

void register_user_access_sysctl(Perf::Impl& perf); ///< kernel.perf_user_access, of the core PMUs' driver

} // namespace rkperf::ke

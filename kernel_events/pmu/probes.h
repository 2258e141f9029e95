// SPDX-License-Identifier: Apache-2.0
// Registration of the PMUs "kprobe" and "uprobe".
#pragma once

#include "kernel_events/internal.h"

namespace rkperf::ke {

void register_kprobe_pmu(Perf::Impl& perf);
void register_uprobe_pmu(Perf::Impl& perf);

} // namespace rkperf::ke

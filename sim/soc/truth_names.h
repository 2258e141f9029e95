// SPDX-License-Identifier: Apache-2.0
// What a perf event is called, from its attributes (the user's own spelling does not reach the kernel).
#pragma once

#include "kernel_events/perf_event.h"

#include <string>

namespace rkperf::soc {

/// "cycles:u", "L1-dcache-load-misses", "r1b", "armv8_cortex_a76/r11/k".
std::string event_label(const ke::PerfEvent& event);

/// The name of the event number in the cores' manuals, "INST_SPEC"; empty if it has none.
std::string_view pmu_event_name(EventNumber number);

} // namespace rkperf::soc

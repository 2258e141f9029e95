// SPDX-License-Identifier: Apache-2.0
// PMU events of the Cortex-A76 r4p0 (facts/pmu_events_a76.csv: Arm's own list, ARM-software/data pmu/cortex-a76.json).
#pragma once

#include "models/cpu/event_lanes.h"

namespace rkperf::cpu_a76 {

const cpu::EventList& event_list();

} // namespace rkperf::cpu_a76

// SPDX-License-Identifier: Apache-2.0
// PMU events of the Cortex-A55 r2p0 (facts/pmu_events_a55.csv: Arm's own list, ARM-software/data pmu/cortex-a55.json).
#pragma once

#include "models/cpu/event_lanes.h"

namespace rkperf::cpu_a55 {

const cpu::EventList& event_list();

} // namespace rkperf::cpu_a55

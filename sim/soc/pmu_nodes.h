// SPDX-License-Identifier: Apache-2.0
// The device tree's nodes of the core PMUs, from the machine description.
#pragma once

#include "kernel_events/perf_event.h"
#include "sim/soc/machine_config.h"

#include <optional>
#include <string_view>
#include <vector>

namespace rkperf::soc {

/// PPI 7, to which the RK3588's cores have wired their PMUs.
inline constexpr unsigned kPmuIntid = 23;
/// The interrupt that a CPU's PMU really drives.
inline unsigned pmu_intid(const MachineConfig& c, unsigned cpu) { return c.pmu_spi ? c.pmu_spi + cpu : kPmuIntid; }

/// "260,261;264,?": a list of numbers for each node, `?` (a phandle that leads nowhere) is -1. Empty if it is none such.
std::optional<std::vector<std::vector<int>>> parse_node_lists(std::string_view text);

std::vector<ke::PmuNode> pmu_nodes(const MachineConfig& config);

} // namespace rkperf::soc

// SPDX-License-Identifier: Apache-2.0
// The Cortex-A76: an instance of the core model with this core's pipeline and tables.
#pragma once

#include "models/cpu/core.h"
#include "models/cpu/core_quirks.h"
#include "models/cpu/core_tables.h"

#include <memory>

namespace rkperf::cpu_a76 {

/// What distinguishes this core (parameters, costs, event list).
const cpu::CoreTables& tables();

std::unique_ptr<cpu::Core> make_core(sc_core::sc_module_name name, const cpu::CoreConfig& config,
                                     mem::PhysicalMemory& memory, const cpu::CoreQuirks& quirks);
inline std::unique_ptr<cpu::Core> make_core(sc_core::sc_module_name name, const cpu::CoreConfig& config,
                                            mem::PhysicalMemory& memory) {
    return make_core(name, config, memory, {});
}

} // namespace rkperf::cpu_a76

// SPDX-License-Identifier: Apache-2.0
// The private memory sides of the RK3588's two cores. Each figure names its source: DT = rk3588-base.dtsi; TRM = Arm
// 100442 (Cortex-A55), 100798 (Cortex-A76); M = measured on boards (sbc-bench ramlat, tinymembench); est. = estimate.
#pragma once

#include "models/memory/hierarchy.h"

namespace rkperf::mem {

CoreMemoryParams cortex_a55_memory();
CoreMemoryParams cortex_a76_memory();

} // namespace rkperf::mem

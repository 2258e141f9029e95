// SPDX-License-Identifier: Apache-2.0
// The identification registers that Linux lets EL0 read by emulating the trapped MRS (HWCAP_CPUID).
#pragma once

#include "models/a64/state.h"

namespace rkperf::os {

class Kernel;

/// True if the instruction at pc is an MRS of such a register: the sanitised value is written and pc advanced.
bool emulate_id_register_read(Kernel& k, a64::CpuState& u);

} // namespace rkperf::os

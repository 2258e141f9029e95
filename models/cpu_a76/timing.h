// SPDX-License-Identifier: Apache-2.0
// Static timing of the Cortex-A76, by resource class (facts/latency_a76.csv: published figures of its server sibling
// Neoverse N1 and measurements on it).
#pragma once

#include "models/cpu/decoded_op.h"

namespace rkperf::cpu_a76 {

cpu::OpTiming timing_of(const a64::Insn& insn);

} // namespace rkperf::cpu_a76

// SPDX-License-Identifier: Apache-2.0
// Static timing of the Cortex-A55, by resource class (facts/latency_a55.csv: published figures and measurements).
#pragma once

#include "models/cpu/decoded_op.h"

namespace rkperf::cpu_a55 {

cpu::OpTiming timing_of(const a64::Insn& insn);

} // namespace rkperf::cpu_a55

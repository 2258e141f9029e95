// SPDX-License-Identifier: Apache-2.0
// Cortex-A55: counters that are armed while kernel code is charged.
#include "models/cpu_a55/core_a55.h"
#include "tests/models/cpu/charges.h"
#include "tests/models/cpu/rig.inc.h"

namespace {

using namespace rkperf;
using namespace rkperf::test;

const std::vector<ChargeCase> kCases = charge_cases({{ev::LD_RETIRED, 2, 150}, {ev::STALL_BACKEND_LD, 2, 300}});

const bool registered = add_charge_runs(cpu_a55::make_core, kCases);

} // namespace

#include "tests/models/cpu/charge_cases.h"

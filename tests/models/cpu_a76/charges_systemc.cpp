// SPDX-License-Identifier: Apache-2.0
// Cortex-A76: counters that are armed while kernel code is charged.
#include "models/cpu_a76/core_a76.h"
#include "tests/models/cpu/charges.h"
#include "tests/models/cpu/rig.inc.h"

namespace {

using namespace rkperf;
using namespace rkperf::test;

const std::vector<ChargeCase> kCases =
    charge_cases({{ev::LD_SPEC, 2, 150}, {ev::LDST_SPEC, 2, 150}, {ev::PC_WRITE_SPEC, 2, 150}});

const bool registered = add_charge_runs(cpu_a76::make_core, kCases);

} // namespace

#include "tests/models/cpu/charge_cases.h"

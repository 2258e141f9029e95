// SPDX-License-Identifier: Apache-2.0
// Cortex-A55: interrupts, EL1, exclusives, changed code, faults, debug, identities.
#include "models/cpu_a55/core_a55.h"
#include "tests/models/cpu/behaviour_cases.h"
#include "tests/models/cpu/rig.inc.h"

namespace {

const bool registered = (rkperf::test::add_behaviour_runs(rkperf::cpu_a55::make_core), true);

TEST_CASE("the runs of the Cortex-A55 were registered") { CHECK(registered); }

} // namespace

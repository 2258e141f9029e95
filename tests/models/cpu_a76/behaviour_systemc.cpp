// SPDX-License-Identifier: Apache-2.0
// Cortex-A76: interrupts, EL1, exclusives, changed code, faults, debug, identities.
#include "models/cpu_a76/core_a76.h"
#include "tests/models/cpu/behaviour_cases.h"
#include "tests/models/cpu/rig.inc.h"

namespace {

const bool registered = (rkperf::test::add_behaviour_runs(rkperf::cpu_a76::make_core), true);

TEST_CASE("the runs of the Cortex-A76 were registered") { CHECK(registered); }

} // namespace

// SPDX-License-Identifier: Apache-2.0
// Cortex-A55: the cost of a wrong prediction (facts/latency_a55.csv: 8 cycles) and what is predicted.
#include "models/cpu_a55/core_a55.h"
#include "tests/models/cpu/branches.h"
#include "tests/models/cpu/rig.inc.h"

namespace {

const bool registered = (rkperf::test::add_branch_runs(rkperf::cpu_a55::make_core), true);

TEST_CASE("branches on the Cortex-A55") {
    REQUIRE(registered);
    rkperf::test::check_branches(8);
}

} // namespace

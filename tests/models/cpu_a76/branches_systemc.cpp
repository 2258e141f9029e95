// SPDX-License-Identifier: Apache-2.0
// Cortex-A76: the cost of a wrong prediction (facts/latency_a76.csv: 11 cycles) and what is predicted.
#include "models/cpu_a76/core_a76.h"
#include "tests/models/cpu/branches.h"
#include "tests/models/cpu/rig.inc.h"

namespace {

const bool registered = (rkperf::test::add_branch_runs(rkperf::cpu_a76::make_core), true);

TEST_CASE("branches on the Cortex-A76") {
    REQUIRE(registered);
    rkperf::test::check_branches(11);
}

} // namespace

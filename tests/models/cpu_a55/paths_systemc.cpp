// SPDX-License-Identifier: Apache-2.0
// Cortex-A55: the fast execution loop beside the plain one.
#include "models/cpu_a55/core_a55.h"
#include "tests/models/cpu/path_cases.h"
#include "tests/models/cpu/rig.inc.h"

namespace {

const bool registered = (rkperf::test::add_path_runs(rkperf::cpu_a55::make_core), true);

TEST_CASE("the runs of the Cortex-A55 were registered") { CHECK(registered); }

} // namespace

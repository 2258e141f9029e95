// SPDX-License-Identifier: Apache-2.0
// Cortex-A76: the fast execution loop beside the plain one.
#include "models/cpu_a76/core_a76.h"
#include "tests/models/cpu/path_cases.h"
#include "tests/models/cpu/rig.inc.h"

namespace {

const bool registered = (rkperf::test::add_path_runs(rkperf::cpu_a76::make_core), true);

TEST_CASE("the runs of the Cortex-A76 were registered") { CHECK(registered); }

} // namespace

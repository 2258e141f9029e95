// SPDX-License-Identifier: Apache-2.0
// Speed of the Cortex-A55 model.
#include "models/cpu_a55/core_a55.h"
#include "tests/models/cpu/bench_loop.h"
#include "tests/models/cpu/rig.inc.h"

int run_catch(int, char**) { return 0; } // no tests here: the runs print

namespace {

using namespace rkperf;

const bool registered = [] {
    test::bench(cpu_a55::make_core, "Cortex-A55", false, false);
    test::bench(cpu_a55::make_core, "Cortex-A55", true, false);
    test::bench(cpu_a55::make_core, "simple", false, true);
    return true;
}();

} // namespace

// SPDX-License-Identifier: Apache-2.0
// Speed of the Cortex-A76 model.
#include "models/cpu_a76/core_a76.h"
#include "tests/models/cpu/bench_loop.h"
#include "tests/models/cpu/rig.inc.h"

int run_catch(int, char**) { return 0; } // no tests here: the runs print

namespace {

using namespace rkperf;

const bool registered = [] {
    test::bench(cpu_a76::make_core, "Cortex-A76", false, false);
    test::bench(cpu_a76::make_core, "Cortex-A76", true, false);
    test::bench(cpu_a76::make_core, "simple", false, true);
    return true;
}();

} // namespace

// SPDX-License-Identifier: Apache-2.0
// Cortex-A55: load-to-use latency over the sizes of a buffer.
#include "models/cpu_a55/core_a55.h"
#include "tests/models/cpu/chase.h"
#include "tests/models/cpu/rig.inc.h"

namespace {

using namespace rkperf::test;

struct Size {
    unsigned kib;
    double low, high; ///< cycles per step
};
// Boards: 2.0, 18.7, 24.3, 28.9, 30.6, 210. At 64 and 128 KiB the model is faster: its sixteen-entry DTLB holds the
// sixteen pages of 64 KiB, and its L2 is not disturbed by anybody.
const Size kSizes[] = {{16, 1.9, 2.1}, {64, 8, 20}, {128, 14, 26}, {256, 25, 33}, {1024, 27, 34}, {16384, 185, 260}};

const bool registered = [] {
    for (const Size& s : kSizes) add_chase(rkperf::cpu_a55::make_core, s.kib);
    return true;
}();

TEST_CASE("pointer chases on the Cortex-A55") {
    REQUIRE(registered);
    for (const Size& s : kSizes) {
        CAPTURE(s.kib);
        CHECK(chase_cycles(s.kib) >= s.low);
        CHECK(chase_cycles(s.kib) <= s.high);
    }
}

} // namespace

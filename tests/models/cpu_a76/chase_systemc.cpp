// SPDX-License-Identifier: Apache-2.0
// Cortex-A76: load-to-use latency over the sizes of a buffer.
#include "models/cpu_a76/core_a76.h"
#include "tests/models/cpu/chase.h"
#include "tests/models/cpu/rig.inc.h"

namespace {

using namespace rkperf::test;

struct Size {
    unsigned kib;
    double low, high; ///< cycles per step
};
// Boards: 4.0, 4.0, 12.2, 14.2, 41.5, 272.
const Size kSizes[] = {{16, 3.9, 4.1},  {64, 3.9, 4.1}, {128, 11, 13.5},
                       {256, 12.5, 16}, {1024, 35, 47}, {16384, 240, 300}};

const bool registered = [] {
    for (const Size& s : kSizes) add_chase(rkperf::cpu_a76::make_core, s.kib);
    return true;
}();

TEST_CASE("pointer chases on the Cortex-A76") {
    REQUIRE(registered);
    for (const Size& s : kSizes) {
        CAPTURE(s.kib);
        CHECK(chase_cycles(s.kib) >= s.low);
        CHECK(chase_cycles(s.kib) <= s.high);
    }
}

} // namespace

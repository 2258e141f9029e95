// SPDX-License-Identifier: Apache-2.0
// Cortex-A76: interrupts, EL1, exclusives, changed code, faults, debug, identities.
#include "models/cpu_a76/core_a76.h"
#include "tests/models/cpu/behaviour_cases.h"
#include "tests/models/cpu/rig.inc.h"

namespace {

const bool registered = (rkperf::test::add_behaviour_runs(rkperf::cpu_a76::make_core), true);

TEST_CASE("the runs of the Cortex-A76 were registered") { CHECK(registered); }

// Up to r3p1 a step exception may keep interrupts unrecognised, and Linux steps a dummy instruction in each system call.
TEST_CASE("the Cortex-A76 is later than erratum 1463225, so nothing works around it", "[DBG-047]") {
    const std::uint64_t midr = rkperf::cpu_a76::tables().midr;
    const auto variant = midr >> 20 & 15, revision = midr & 15;
    CHECK((midr >> 4 & 0xfff) == 0xd0b);
    CHECK(variant * 16 + revision > 0x31);
}

} // namespace

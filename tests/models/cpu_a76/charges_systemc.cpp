// SPDX-License-Identifier: Apache-2.0
// Cortex-A76: counters that are armed while kernel code is charged.
#include "models/cpu_a76/core_a76.h"
#include "tests/models/cpu/charges.h"
#include "tests/models/cpu/rig.inc.h"

namespace {

using namespace rkperf;
using namespace rkperf::test;
namespace ev = pmu_event;

// At EL1, at both levels, and at EL0 alone, which charges do not come near.
const std::vector<ChargeCase> kCases = {
    {ev::INST_RETIRED, 2, 260},  {ev::INST_RETIRED, 3, 260}, {ev::INST_RETIRED, 1, 260},  {ev::CPU_CYCLES, 2, 400},
    {ev::INST_SPEC, 2, 150},     {ev::BR_RETIRED, 2, 150},   {ev::BR_PRED, 2, 150},       {ev::MEM_ACCESS, 2, 150},
    {ev::L1D_CACHE, 2, 150},     {ev::L1I_CACHE, 2, 150},    {ev::STALL_BACKEND, 2, 300}, {ev::STALL_FRONTEND, 2, 300},
    {ev::BR_MIS_PRED, 2, 6},     {ev::LD_SPEC, 2, 150},      {ev::DP_SPEC, 2, 150},       {ev::LDST_SPEC, 2, 150},
    {ev::PC_WRITE_SPEC, 2, 150},
};

const bool registered = add_charge_runs(cpu_a76::make_core, kCases);

TEST_CASE("a counter wraps in kernel work where it would if no charge passed in one piece", "[PMUV3-062]") {
    REQUIRE(registered);
    check_charges(kCases);
}
TEST_CASE("a counter wraps at the last event of a charge, one before it, and one behind", "[PMUV3-062]") {
    check_charge_edges();
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
// Cortex-A76: exact wraps of each class of event, and results that do not depend on the quantum.
#include "models/cpu_a76/core_a76.h"
#include "tests/models/cpu/exactness.h"
#include "tests/models/cpu/rig.inc.h"

namespace {

using namespace rkperf;
using namespace rkperf::test;
namespace ev = pmu_event;

// What is counted speculatively grows by all that was issued behind a wrong prediction at once: a window's worth at most.
const std::vector<EventCase> kCases = {
    {ev::CPU_CYCLES, 1001, 8000},   {ev::BUS_CYCLES, 777, 8000},     {ev::INST_RETIRED, 100, 1},
    {ev::INST_RETIRED, 1, 1},       {ev::BR_RETIRED, 37, 1},         {ev::LD_SPEC, 50, 129},
    {ev::ST_SPEC, 31, 129},         {ev::DP_SPEC, 211, 129},         {ev::BR_MIS_PRED, 10, 1},
    {ev::L1D_CACHE, 100, 8},        {ev::L1D_CACHE_REFILL, 20, 8},   {ev::MEM_ACCESS, 99, 1},
    {ev::L1D_TLB, 100, 2},          {ev::L1D_TLB_REFILL, 15, 2},     {ev::L1I_CACHE, 50, 1},
    {ev::STALL_BACKEND, 500, 8000}, {ev::STALL_FRONTEND, 300, 8000}, {ev::L2D_CACHE_REFILL, 13, 8},
    {ev::INST_SPEC, 1000, 130},
};

const bool registered = add_exact_runs(cpu_a76::make_core, kCases);

TEST_CASE("counters wrap at the exact instruction for every quantum", "[PMUV3-062]") {
    REQUIRE(registered);
    check_exact(kCases);
}
TEST_CASE("totals and time do not depend on the quantum") { check_quanta(); }

} // namespace

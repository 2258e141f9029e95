// SPDX-License-Identifier: Apache-2.0
// The PMU driven by TLM transactions as the driver's code drives it, and the exact times of its line.
#include "models/pmu_v3/pmu_v3.h"
#include "tests/models/pmu_v3/fakes.h"
#include "tests/support/run_catch.h"

#include <catch2/catch.hpp>

#include <memory>
#include <vector>

using namespace rkperf;
using namespace rkperf::pmu;
using namespace rkperf::sysreg;
using namespace rkperf::pmu_event;
using EL = ExceptionLevel;

namespace {

/// A PMU between a core's totals and a line. SystemC elaborates once, so all are built before the first test.
struct Bench {
    explicit Bench(unsigned n)
        : core(("core" + std::to_string(n)).c_str()),
          pmu(("pmu" + std::to_string(n)).c_str(), {CpuId(n), 0x410b3000, 0x7fff0f3f, 0x00f2ae7f, 0, 0}, totals, line) {
        core.sysreg.bind(pmu.sysreg);
    }
    void at(std::uint64_t ps) { core.time = totals.time = Picoseconds(ps); }
    test::FakeTotals totals;
    test::FakeLine line;
    test::FakeCore core;
    PmuV3 pmu;
};

std::vector<std::unique_ptr<Bench>> spare;

std::unique_ptr<Bench> bench() {
    REQUIRE_FALSE(spare.empty());
    auto b = std::move(spare.back());
    spare.pop_back();
    return b;
}

using Changes = std::vector<test::Change>;

} // namespace

int sc_main(int argc, char** argv) {
    for (unsigned n = 0; n < 8; ++n) spare.push_back(std::make_unique<Bench>(n));
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    return run_catch(argc, argv);
}

TEST_CASE("the line rises at the core's time of the wrapping instruction and falls with PMOVSCLR",
          "[PMUV3-062][PMUV3-063][PMUV3-026][PMUV3-027][PMUV3-030]") {
    auto b = bench();
    b->at(1'000);
    // Reset, then a sampling event with period 100000 in counter 0, as the driver does.
    b->core.msr(PMCNTENCLR_EL0, 0xffffffff);
    b->core.msr(PMINTENCLR_EL1, 0xffffffff);
    b->core.msr(PMOVSCLR_EL0, 0xffffffff);
    b->core.msr(PMCR_EL0, pmcr::P | pmcr::C | pmcr::LC);
    b->core.msr(PMEVTYPER_EL0(0), 0x08000008);
    b->core.msr(PMEVCNTR_EL0(0), 0xfffe7960);
    b->core.msr(PMINTENSET_EL1, 1);
    b->core.msr(PMCNTENSET_EL0, 1);
    const unsigned before = b->totals.rearms;
    b->core.msr(PMCR_EL0, pmcr::E | pmcr::LC);
    CHECK(b->totals.rearms > before);

    const auto armed = b->pmu.armed();
    REQUIRE(armed.size() == 1);
    CHECK(armed[0].event == INST_RETIRED);
    CHECK(armed[0].el_mask == 0b0111);
    CHECK(armed[0].left == 100'000);

    b->totals.add(INST_RETIRED, 99'999);
    b->at(41'665'000);
    b->pmu.sync();
    CHECK(b->line.changes.empty());
    b->totals.add(INST_RETIRED, 1);
    b->at(41'665'417);
    const unsigned before_wrap = b->totals.rearms;
    b->pmu.sync();
    CHECK(b->totals.rearms > before_wrap);
    CHECK(b->line.changes == Changes{{true, Picoseconds(41'665'417)}});

    // The handler.
    b->at(43'000'000);
    const std::uint64_t seen = b->core.mrs(PMOVSCLR_EL0);
    CHECK(seen == 1);
    b->core.msr(PMOVSCLR_EL0, seen);
    CHECK(b->line.changes.size() == 2);
    CHECK(b->line.changes[1] == test::Change{false, Picoseconds(43'000'000)});
    b->totals.add(INST_RETIRED, 250, EL::el1);
    CHECK(b->core.mrs(PMEVCNTR_EL0(0)) == 250);
}

TEST_CASE("the line follows the global enable at the times of the writes", "[PMUV3-063][PMUV3-064]") {
    auto b = bench();
    b->core.msr(PMOVSSET_EL0, kCycleBit);
    b->at(5'000);
    b->core.msr(PMCR_EL0, pmcr::E);
    CHECK(b->line.changes.empty());
    b->at(6'000);
    b->core.msr(PMINTENSET_EL1, kCycleBit);
    b->at(7'000);
    b->core.msr(PMCR_EL0, 0);
    b->at(8'000);
    b->core.msr(PMCR_EL0, pmcr::E);
    b->at(9'000);
    b->core.msr(PMINTENCLR_EL1, kCycleBit);
    CHECK(b->line.changes == Changes{{true, Picoseconds(6'000)},
                                     {false, Picoseconds(7'000)},
                                     {true, Picoseconds(8'000)},
                                     {false, Picoseconds(9'000)}});
    CHECK_FALSE(b->pmu.line());
}

TEST_CASE("response and outcome of refused accesses", "[PMUV3-049][PMUV3-066][PMUV3-068]") {
    auto b = bench();
    const auto refused = [&](tlm::tlm_response_status status, SysRegOutcome outcome) {
        CHECK(b->core.status() == status);
        CHECK(b->core.outcome() == outcome);
    };
    b->core.mrs(PMCCNTR_EL0, EL::el0);
    refused(tlm::TLM_COMMAND_ERROR_RESPONSE, SysRegOutcome::trap_el1);
    CHECK(b->pmu.trap_target() == EL::el1);
    b->core.mrs(PMSWINC_EL0);
    refused(tlm::TLM_COMMAND_ERROR_RESPONSE, SysRegOutcome::undefined);
    b->core.msr(PMCEID0_EL0, 0);
    refused(tlm::TLM_COMMAND_ERROR_RESPONSE, SysRegOutcome::undefined);
    b->core.mrs(PMEVCNTR_EL0(6));
    refused(tlm::TLM_COMMAND_ERROR_RESPONSE, SysRegOutcome::undefined);
    b->core.mrs(SysReg::make(3, 0, 9, 14, 6));
    refused(tlm::TLM_ADDRESS_ERROR_RESPONSE, SysRegOutcome::undefined);
    b->core.mrs(PMCR_EL0);
    refused(tlm::TLM_OK_RESPONSE, SysRegOutcome::ok);
}

TEST_CASE("user access as the driver grants it", "[PMUV3-040][PMUV3-066]") {
    auto b = bench();
    b->core.msr(PMEVTYPER_EL0(2), INST_RETIRED);
    b->core.msr(PMCNTENSET_EL0, 4);
    b->core.msr(PMCR_EL0, pmcr::E);
    b->core.msr(PMUSERENR_EL0, pmuserenr::ER | pmuserenr::CR);
    b->totals.add(INST_RETIRED, 42);
    CHECK(b->core.mrs(PMEVCNTR_EL0(2), EL::el0) == 42);
    b->core.msr(PMSELR_EL0, 2, EL::el0);
    CHECK(b->core.mrs(PMXEVCNTR_EL0, EL::el0) == 42);
    CHECK(b->core.mrs(PMUSERENR_EL0, EL::el0) == 0xc);
    b->core.msr(PMEVCNTR_EL0(2), 0, EL::el0);
    CHECK(b->core.outcome() == SysRegOutcome::trap_el1);
    CHECK(b->core.mrs(PMEVCNTR_EL0(2)) == 42);
}

TEST_CASE("a chained pair as the driver sets it up interrupts once in 2^32 and more", "[PMUV3-024][PMUV3-060]") {
    auto b = bench();
    const std::uint64_t period = 6'000'000'000;
    const std::uint64_t start = -period;
    b->core.msr(PMEVTYPER_EL0(0), 0x08000008);
    b->core.msr(PMEVTYPER_EL0(1), 0x0800001e);
    b->core.msr(PMEVCNTR_EL0(1), start >> 32);
    b->core.msr(PMEVCNTR_EL0(0), start);
    b->core.msr(PMINTENSET_EL1, 2);
    b->core.msr(PMCNTENSET_EL0, 3);
    b->core.msr(PMCR_EL0, pmcr::E | pmcr::LC);
    std::uint64_t done = 0;
    unsigned stops = 0;
    while (b->line.changes.empty()) {
        REQUIRE(b->pmu.armed().size() == 1);
        const std::uint64_t n = b->pmu.armed()[0].left;
        b->totals.add(INST_RETIRED, n);
        done += n;
        ++stops;
        b->at(done);
        b->pmu.sync();
    }
    CHECK(done == period);
    CHECK(stops == 1);
    CHECK(b->line.changes == Changes{{true, Picoseconds(period)}});
    CHECK(b->core.mrs(PMOVSCLR_EL0) == 3);
}

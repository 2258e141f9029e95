// SPDX-License-Identifier: Apache-2.0
// The system-register bus of one core with its real units: decode, constants, and the way from a wrapping counter or an
// elapsed timer through the GIC to the core's line, at exact times.
#include "sim/soc/sysreg_router.h"

#include "models/gic/gic600.h"
#include "models/pmu_v3/pmu_v3.h"
#include "models/timer/generic_timer.h"
#include "tests/models/gic/bench.h"
#include "tests/models/pmu_v3/fakes.h"
#include "tests/support/run_catch.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace rkperf;
using namespace rkperf::sysreg;
using EL = ExceptionLevel;
using soc::SysRegRouter;

namespace {

const soc::SysRegConstants kConstants = {
    {MIDR_EL1, 0x414fd0b0}, {ID_AA64DFR0_EL1, 0x10305408}, {CTR_EL0, 0x8444c004},
    {DCZID_EL0, 4},         {MPIDR_EL1, 0x81000400},
};

/// Core 4 of an RK3588, without the core.
struct Machine {
    Machine()
        : core("core"),
          bare("bare"),
          gic("gic"),
          router("router", kConstants),
          bare_router("bare_router", {}),
          pmu("pmu", {CpuId(4), 0x410b3000, 0x7fff0f3f, 0x00f2ae7f, 0, 0}, totals, gic.ppi(CpuId(4), 23)),
          timer("timer", {}, gic.ppi(CpuId(4), timer::kVirtualIntid), gic.ppi(CpuId(4), timer::kPhysicalIntid)),
          bare_pmu("bare_pmu", {}, totals, unused),
          bare_timer("bare_timer", {}, unused, unused),
          mmio("mmio") {
        core.sysreg.bind(router.core);
        router.pmu.bind(pmu.sysreg);
        router.gic.bind(gic.sysreg(CpuId(4)));
        router.timer.bind(timer.sysreg);
        gic.connect_cpu(CpuId(4), irq);
        mmio.socket.bind(gic.mmio);
        bare.sysreg.bind(bare_router.core);
        bare_router.pmu.bind(bare_pmu.sysreg);
        bare_router.gic.bind(gic.sysreg(CpuId(5)));
        bare_router.timer.bind(bare_timer.sysreg);
        for (unsigned c : {0u, 1u, 2u, 3u, 6u, 7u}) {
            others.push_back(std::make_unique<test::FakeCore>(("other" + std::to_string(c)).c_str()));
            others.back()->sysreg.bind(gic.sysreg(CpuId(c)));
        }
    }
    void at(std::uint64_t ps) { core.time = totals.time = Picoseconds(ps); }

    test::FakeTotals totals;
    test::FakeLine irq, unused;
    test::FakeCore core, bare;
    gic::Gic600 gic;
    SysRegRouter router, bare_router;
    pmu::PmuV3 pmu;
    timer::GenericTimer timer;
    pmu::PmuV3 bare_pmu;
    timer::GenericTimer bare_timer;
    test::FakeBus mmio;
    std::vector<std::unique_ptr<test::FakeCore>> others;
};

std::unique_ptr<Machine> machine;

} // namespace

int sc_main(int argc, char** argv) {
    machine = std::make_unique<Machine>();
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    return run_catch(argc, argv);
}

TEST_CASE("the decode table is ascending and covers each unit's registers", "[sysreg_router]") {
    const auto ranges = SysRegRouter::ranges();
    for (std::size_t n = 0; n < ranges.size(); ++n) {
        CHECK(ranges[n].first <= ranges[n].last);
        if (n) CHECK(ranges[n - 1].last < ranges[n].first);
    }
    for (const auto& row : pmu::Registers::rows())
        for (unsigned n = 0; n < row.count; ++n) {
            INFO(row.name);
            CHECK(SysRegRouter::unit_of(row.encoding(n)) == SysRegRouter::Unit::pmu);
        }
    for (const auto& row : gic::CpuInterface::rows()) CHECK(SysRegRouter::unit_of(row.reg) == SysRegRouter::Unit::gic);
    for (const auto& row : timer::GenericTimer::rows())
        CHECK(SysRegRouter::unit_of(row.reg) == SysRegRouter::Unit::timer);
    CHECK(SysRegRouter::unit_of(MDSCR_EL1) == SysRegRouter::Unit::debug);
    CHECK(SysRegRouter::unit_of(TPIDR_EL0) == SysRegRouter::Unit::none);
}

TEST_CASE("identification registers: constant, read-only, mostly not for EL0", "[sysreg_router]") {
    auto& c = machine->core;
    CHECK(c.mrs(MIDR_EL1) == 0x414fd0b0);
    CHECK(c.mrs(ID_AA64DFR0_EL1) == 0x10305408);
    CHECK(c.mrs(MPIDR_EL1) == 0x81000400);
    CHECK(c.mrs(ID_AA64DFR1_EL1) == 0); // reserved: zero
    CHECK(c.outcome() == SysRegOutcome::ok);
    CHECK(c.mrs(CTR_EL0, EL::el0) == 0x8444c004);
    CHECK(c.mrs(DCZID_EL0, EL::el0) == 4);
    CHECK(c.outcome() == SysRegOutcome::ok);
    for (const SysReg reg : {MIDR_EL1, ID_AA64DFR0_EL1, ID_AA64DFR1_EL1}) {
        c.mrs(reg, EL::el0);
        CHECK(c.outcome() == SysRegOutcome::undefined);
        CHECK(c.status() == tlm::TLM_COMMAND_ERROR_RESPONSE);
    }
    c.msr(MIDR_EL1, 1);
    CHECK(c.outcome() == SysRegOutcome::undefined);
    CHECK(c.mrs(MIDR_EL1) == 0x414fd0b0);
}

TEST_CASE("unknown encodings, and debug registers without a debug unit", "[sysreg_router]") {
    auto& c = machine->core;
    for (const SysReg reg : {SysReg::make(3, 3, 15, 0, 0), SysReg::make(3, 0, 0, 0, 3), TPIDR_EL0, MDSCR_EL1,
                             SysReg::make(3, 0, 9, 14, 6), SysReg::make(3, 3, 14, 1, 0)}) {
        INFO(std::hex << reg.encoding);
        c.mrs(reg);
        CHECK(c.outcome() == SysRegOutcome::undefined);
        CHECK(c.status() == tlm::TLM_ADDRESS_ERROR_RESPONSE);
        c.msr(reg, 0);
        CHECK(c.outcome() == SysRegOutcome::undefined);
        CHECK(c.status() == tlm::TLM_ADDRESS_ERROR_RESPONSE);
    }
    machine->bare.mrs(MIDR_EL1); // not listed there
    CHECK(machine->bare.status() == tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

TEST_CASE("a refusal of a unit reaches the core", "[sysreg_router][PMUV3-068]") {
    auto& c = machine->core;
    c.mrs(PMCCNTR_EL0, EL::el0);
    CHECK(c.outcome() == SysRegOutcome::trap_el1);
    c.mrs(CNTVCT_EL0, EL::el0);
    CHECK(c.outcome() == SysRegOutcome::trap_el1);
    c.mrs(ICC_IAR1_EL1, EL::el0);
    CHECK(c.outcome() == SysRegOutcome::undefined);
}

TEST_CASE("from the wrap to the core's line, through handler and back", "[sysreg_router][PMUV3-062][PMUV3-063]") {
    Machine& m = *machine;
    const auto delay = gic::GicParams{}.ppi_to_cpu;
    using namespace gic;
    m.mmio.write(gicd_address(gicd::CTLR), gicd::kEnableGrp1);
    m.mmio.write(gicr_address(CpuId(4), gicr::WAKER), 0);
    m.mmio.write(gicr_address(CpuId(4), gicr::IGROUPR0), ~0u);
    m.mmio.write(gicr_address(CpuId(4), gicr::ISENABLER0), 1u << 23 | 1u << 27);
    m.core.msr(ICC_PMR_EL1, 0xf0);
    m.core.msr(ICC_CTLR_EL1, kCtlrEoiMode);
    m.core.msr(ICC_IGRPEN1_EL1, 1);

    m.at(1'000'000);
    m.core.msr(PMCR_EL0, pmu::pmcr::P | pmu::pmcr::C | pmu::pmcr::LC);
    m.core.msr(PMCCFILTR_EL0, 0x08000011);
    m.core.msr(PMCCNTR_EL0, ~std::uint64_t{0} - 9999);
    m.core.msr(PMINTENSET_EL1, pmu::kCycleBit);
    m.core.msr(PMCNTENSET_EL0, pmu::kCycleBit);
    m.core.msr(PMCR_EL0, pmu::pmcr::E | pmu::pmcr::LC);
    m.core.msr(CNTV_CVAL_EL0, 500);
    m.core.msr(CNTV_CTL_EL0, 1);
    REQUIRE(m.pmu.armed().size() == 1);
    CHECK(m.pmu.armed()[0].left == 10'000);
    m.totals.add(pmu_event::CPU_CYCLES, 10'000);
    m.at(5'166'667);
    m.pmu.sync();
    CHECK(m.irq.changes == std::vector<test::Change>{{true, Picoseconds(5'166'667) + delay}});

    m.at(5'300'000);
    CHECK(m.core.mrs(ICC_IAR1_EL1) == 23);
    CHECK(m.irq.changes.back() == test::Change{false, Picoseconds(5'300'000)});
    m.core.msr(ICC_EOIR1_EL1, 23);
    m.at(5'600'000);
    m.core.msr(PMOVSCLR_EL0, m.core.mrs(PMOVSCLR_EL0));
    m.core.msr(ICC_DIR_EL1, 23);
    CHECK(m.irq.changes.size() == 2);
    CHECK(m.core.mrs(ICC_IAR1_EL1) == 1023);

    CHECK(m.timer.next_deadline() == Picoseconds(20'833'334));
    m.timer.advance_to(Picoseconds(20'833'334));
    CHECK(m.irq.changes.back() == test::Change{true, Picoseconds(20'833'334) + delay});
    m.at(21'000'000);
    CHECK(m.core.mrs(ICC_IAR1_EL1) == 27);
    m.core.msr(CNTV_CTL_EL0, 0);
    m.core.msr(ICC_EOIR1_EL1, 27);
    m.core.msr(ICC_DIR_EL1, 27);
    CHECK(m.irq.changes.back() == test::Change{false, Picoseconds(21'000'000)});
}

// Host speed; run on request (the tag hides it), for the figure depends on the host.
TEST_CASE("host time of MRS through router and unit", "[.speed]") {
    Machine& m = *machine;
    m.core.msr(PMCNTENSET_EL0, 0x8000003f);
    m.core.msr(PMCR_EL0, 1);
    for (const SysReg reg : {PMCCNTR_EL0, PMEVCNTR_EL0(3), PMOVSCLR_EL0, CNTVCT_EL0, ICC_IAR1_EL1, MIDR_EL1}) {
        constexpr unsigned kRounds = 2'000'000;
        const auto start = std::chrono::steady_clock::now();
        std::uint64_t sum = 0;
        for (unsigned n = 0; n < kRounds; ++n) sum += m.core.mrs(reg);
        const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
        WARN("mrs " << std::hex << reg.encoding << std::dec << ": " << time.count() / kRounds << " ns (" << sum % 2
                    << ")");
        CHECK(time.count() / kRounds < 150);
    }
}

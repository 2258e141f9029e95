// SPDX-License-Identifier: Apache-2.0
// When the cores' lines change, and that a core does not see what lies in its future.
#include "tests/models/gic/bench.h"
#include "tests/support/run_catch.h"

#include <catch2/catch.hpp>

using namespace rkperf;
using namespace rkperf::gic;
using namespace rkperf::sysreg;

namespace {

std::vector<std::unique_ptr<test::GicBench>> spare;

std::unique_ptr<test::GicBench> bench() {
    REQUIRE_FALSE(spare.empty());
    auto b = std::move(spare.back());
    spare.pop_back();
    b->boot();
    return b;
}

constexpr unsigned kPmuIntid = 23, kTimerIntid = 27;
constexpr Picoseconds ns(std::uint64_t n) { return Picoseconds(n * 1'000); }
constexpr std::uint64_t sgi_to(unsigned cpu, unsigned intid) { return std::uint64_t{intid} << 24 | cpu << 16 | 1; }
using Changes = std::vector<test::Change>;

} // namespace

int sc_main(int argc, char** argv) {
    for (unsigned n = 0; n < 12; ++n) spare.push_back(std::make_unique<test::GicBench>(n));
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    return run_catch(argc, argv);
}

// The bench's delays: PPI 50 ns, SPI 80 ns, SGI 100 ns.

TEST_CASE("a PPI reaches the core after its delay and not before", "[gic][PMUV3-063]") {
    auto b = bench();
    b->enable_ppi(4, kPmuIntid);
    b->gic.ppi(CpuId(4), kPmuIntid).set_level(true, Picoseconds(1'000'417));
    CHECK(b->irq[4].changes == Changes{{true, Picoseconds(1'050'417)}});
    b->core(4).time = Picoseconds(1'050'416);
    CHECK(b->iar(4) == kSpurious);
    b->core(4).time = Picoseconds(1'050'417);
    CHECK(b->iar(4) == kPmuIntid);
    CHECK(b->irq[4].changes.back() == test::Change{false, Picoseconds(1'050'417)});
}

TEST_CASE("a level that falls takes the same way", "[gic]") {
    auto b = bench();
    b->enable_ppi(4, kPmuIntid);
    LevelSink& line = b->gic.ppi(CpuId(4), kPmuIntid);
    line.set_level(true, ns(1000));
    line.set_level(false, ns(2000));
    CHECK(b->irq[4].changes == Changes{{true, ns(1050)}, {false, ns(2050)}});
}

TEST_CASE("a pulse shorter than the delay never shows", "[gic]") {
    auto b = bench();
    b->enable_ppi(4, kPmuIntid);
    LevelSink& line = b->gic.ppi(CpuId(4), kPmuIntid);
    line.set_level(true, ns(1000));
    line.set_level(false, ns(1020));
    CHECK_FALSE(b->irq[4].level_at(ns(1050)));
    CHECK_FALSE(b->irq[4].level_at(ns(5000)));
}

TEST_CASE("after the end of an interrupt whose line is still high the signal comes anew", "[gic]") {
    auto b = bench();
    b->enable_ppi(4, kPmuIntid);
    b->gic.ppi(CpuId(4), kPmuIntid).set_level(true, ns(1000));
    b->core(4).time = ns(1100);
    CHECK(b->iar(4) == kPmuIntid);
    b->core(4).time = ns(3000);
    b->eoi(4, kPmuIntid);
    CHECK(b->irq[4].changes == Changes{{true, ns(1050)}, {false, ns(1100)}, {true, ns(3050)}});
}

TEST_CASE("an SGI carries the sender's time", "[gic]") {
    auto b = bench();
    b->core(0).time = ns(7000);
    b->core(0).msr(ICC_SGI1R_EL1, sgi_to(5, 1));
    CHECK(b->irq[5].changes == Changes{{true, ns(7100)}});
    b->core(5).time = ns(5000); // the receiver is behind
    CHECK(b->iar(5) == kSpurious);
    CHECK(b->core(5).mrs(ICC_HPPIR1_EL1) == kSpurious);
    CHECK(b->irq[5].changes.size() == 1);
    b->core(5).time = ns(7100);
    CHECK(b->iar(5) == 1);
}

TEST_CASE("the nearer of two signals wins, and the farther one is not lost", "[gic]") {
    auto b = bench();
    b->enable_ppi(5, kTimerIntid);
    b->core(0).time = ns(7000);
    b->core(0).msr(ICC_SGI1R_EL1, sgi_to(5, 1)); // visible from 7100
    b->gic.ppi(CpuId(5), kTimerIntid).set_level(true, ns(5000));
    CHECK_FALSE(b->irq[5].level_at(ns(5049)));
    CHECK(b->irq[5].level_at(ns(5050)));
    b->core(5).time = ns(5060);
    CHECK(b->iar(5) == kTimerIntid); // although the SGI has the lower number
    b->gic.ppi(CpuId(5), kTimerIntid).set_level(false, ns(5200));
    b->core(5).time = ns(5300);
    b->eoi(5, kTimerIntid);
    CHECK_FALSE(b->irq[5].level_at(ns(7099)));
    CHECK(b->irq[5].level_at(ns(7100)));
}

TEST_CASE("between one level's end and a later signal the line is low", "[gic]") {
    auto b = bench();
    b->enable_ppi(5, kTimerIntid);
    LevelSink& line = b->gic.ppi(CpuId(5), kTimerIntid);
    line.set_level(true, ns(1000));
    b->core(0).time = ns(7000);
    b->core(0).msr(ICC_SGI1R_EL1, sgi_to(5, 1));
    line.set_level(false, ns(2000));
    CHECK(b->irq[5].changes == Changes{{true, ns(1050)}, {false, ns(2050)}, {true, ns(7100)}});
}

TEST_CASE("an interrupt in service holds back one that will be visible, until its end", "[gic]") {
    auto b = bench();
    b->enable_ppi(5, kTimerIntid);
    b->gic.ppi(CpuId(5), kTimerIntid).set_level(true, ns(1000));
    b->core(5).time = ns(1100);
    CHECK(b->iar(5) == kTimerIntid);
    b->core(0).time = ns(1200);
    b->core(0).msr(ICC_SGI1R_EL1, sgi_to(5, 1)); // equal priority
    CHECK_FALSE(b->irq[5].level_at(ns(2000)));
    b->gic.ppi(CpuId(5), kTimerIntid).set_level(false, ns(2000));
    b->core(5).time = ns(2500);
    b->eoi(5, kTimerIntid);
    CHECK(b->irq[5].changes.back() == test::Change{true, ns(2500)});
}

TEST_CASE("a sender whose local time is earlier brings the signal forward", "[gic]") {
    auto b = bench();
    b->core(0).time = ns(7000);
    b->core(0).msr(ICC_SGI1R_EL1, sgi_to(5, 1));
    b->core(1).time = ns(6000);
    b->core(1).msr(ICC_SGI1R_EL1, sgi_to(5, 1));
    CHECK(b->irq[5].level_at(ns(6100)));
    b->core(5).time = ns(6100);
    CHECK(b->iar(5) == 1);
}

TEST_CASE("disabling takes back an announced signal", "[gic]") {
    auto b = bench();
    b->core(0).time = ns(7000);
    b->core(0).msr(ICC_SGI1R_EL1, sgi_to(5, 1));
    b->bus.time = ns(6000);
    b->bus.write(gicr_address(CpuId(5), gicr::ICENABLER0), 2);
    CHECK_FALSE(b->irq[5].level_at(ns(8000)));
}

TEST_CASE("nothing is said twice", "[gic]") {
    auto b = bench();
    b->enable_ppi(4, kPmuIntid);
    b->enable_ppi(4, kTimerIntid);
    LevelSink& pmu = b->gic.ppi(CpuId(4), kPmuIntid);
    pmu.set_level(true, ns(1000));
    pmu.set_level(true, ns(1500));
    b->gic.ppi(CpuId(4), kTimerIntid).set_level(true, ns(1600));
    b->core(4).time = ns(2000);
    b->core(4).msr(ICC_PMR_EL1, 0xf0);
    CHECK(b->irq[4].changes == Changes{{true, ns(1050)}});
    pmu.set_level(false, ns(2100)); // the timer keeps the line up
    CHECK(b->irq[4].changes.size() == 1);
    CHECK(b->irq[4].repeats == 0);
}

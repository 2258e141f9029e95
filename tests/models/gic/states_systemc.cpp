// SPDX-License-Identifier: Apache-2.0
// The GIC's state machine: pending, active, priorities, preemption, end-of-interrupt modes, SGIs, routing.
#include "tests/models/gic/bench.h"
#include "tests/support/run_catch.h"

#include <catch2/catch.hpp>

using namespace rkperf;
using namespace rkperf::gic;
using namespace rkperf::sysreg;
using EL = ExceptionLevel;

namespace {

std::vector<std::unique_ptr<test::GicBench>> spare;

std::unique_ptr<test::GicBench> bench(bool eoi_mode = false) {
    REQUIRE_FALSE(spare.empty());
    auto b = std::move(spare.back());
    spare.pop_back();
    b->boot(eoi_mode);
    return b;
}

constexpr unsigned kPmuIntid = 23, kTimerIntid = 27;
constexpr Picoseconds us(std::uint64_t n) { return Picoseconds(n * 1'000'000); }

/// ICC_SGI1R_EL1 for one core of the RK3588.
constexpr std::uint64_t sgi_to(unsigned cpu, unsigned intid) { return std::uint64_t{intid} << 24 | cpu << 16 | 1; }

} // namespace

int sc_main(int argc, char** argv) {
    for (unsigned n = 0; n < 26; ++n) spare.push_back(std::make_unique<test::GicBench>(n));
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    return run_catch(argc, argv);
}

TEST_CASE("acknowledge makes it active, end makes it inactive", "[gic]") {
    auto b = bench();
    b->enable_ppi(5, kPmuIntid);
    LevelSink& line = b->gic.ppi(CpuId(5), kPmuIntid);
    line.set_level(true, us(1));
    b->core(5).time = us(2);
    CHECK(b->gic.state(CpuId(5), kPmuIntid).pending());
    CHECK(b->iar(5) == kPmuIntid);
    CHECK(b->rpr(5) == 0xa0);
    CHECK(b->gic.state(CpuId(5), kPmuIntid).active);
    CHECK(b->iar(5) == kSpurious); // active and pending: not offered again
    line.set_level(false, us(2));
    b->eoi(5, kPmuIntid);
    CHECK_FALSE(b->gic.state(CpuId(5), kPmuIntid).active);
    CHECK(b->rpr(5) == 0xff);
    CHECK(b->iar(5) == kSpurious);
}

TEST_CASE("a PPI belongs to its core only", "[gic]") {
    auto b = bench();
    for (unsigned c = 0; c < kCpus; ++c) b->enable_ppi(c, kPmuIntid);
    b->gic.ppi(CpuId(5), kPmuIntid).set_level(true, us(1));
    for (unsigned c = 0; c < kCpus; ++c) {
        CHECK(b->irq[c].changes.size() == (c == 5 ? 1 : 0));
        b->core(c).time = us(2);
        CHECK(b->iar(c) == (c == 5 ? kPmuIntid : kSpurious));
    }
}

TEST_CASE("a level-sensitive interrupt pends again while its line stays high", "[gic]") {
    auto b = bench();
    b->enable_ppi(0, kPmuIntid);
    LevelSink& line = b->gic.ppi(CpuId(0), kPmuIntid);
    line.set_level(true, us(1));
    b->core(0).time = us(2);
    CHECK(b->iar(0) == kPmuIntid);
    b->eoi(0, kPmuIntid); // the handler did not clear the cause
    CHECK(b->irq[0].level_at(us(3)));
    b->core(0).time = us(3);
    CHECK(b->iar(0) == kPmuIntid);
    line.set_level(false, us(3)); // now it did
    b->eoi(0, kPmuIntid);
    CHECK_FALSE(b->irq[0].level_at(us(4)));
    b->core(0).time = us(4);
    CHECK(b->iar(0) == kSpurious);
}

TEST_CASE("a level that falls before the acknowledge leaves a spurious interrupt", "[gic]") {
    auto b = bench();
    b->enable_ppi(0, kPmuIntid);
    LevelSink& line = b->gic.ppi(CpuId(0), kPmuIntid);
    line.set_level(true, us(1));
    line.set_level(false, us(2));
    b->core(0).time = us(3);
    CHECK(b->iar(0) == kSpurious);
    CHECK(b->rpr(0) == 0xff);
}

TEST_CASE("an edge stays pending after its line fell, and collects while active", "[gic]") {
    auto b = bench();
    b->enable_ppi(0, 20);
    b->bus.write(gicr_address(CpuId(0), gicr::ICFGR0 + 4), 2u << 2 * (20 - 16));
    CHECK(b->bus.read(gicr_address(CpuId(0), gicr::ICFGR0 + 4)) == 2u << 8);
    b->bus.write(gicr_address(CpuId(0), gicr::ICFGR0), 0); // SGIs are always edges
    CHECK(b->bus.read(gicr_address(CpuId(0), gicr::ICFGR0)) == 0xaaaaaaaa);
    LevelSink& line = b->gic.ppi(CpuId(0), 20);
    const auto pulse = [&](Picoseconds t) {
        line.set_level(true, t);
        line.set_level(false, t);
    };
    pulse(us(1));
    b->core(0).time = us(2);
    CHECK(b->iar(0) == 20);
    pulse(us(3));
    pulse(us(3));
    CHECK(b->gic.state(CpuId(0), 20).pending());
    b->core(0).time = us(4);
    CHECK(b->iar(0) == kSpurious);
    b->eoi(0, 20);
    b->core(0).time = us(5);
    CHECK(b->iar(0) == 20); // once, not twice
    b->eoi(0, 20);
    line.set_level(true, us(5));
    b->core(0).time = us(6);
    CHECK(b->iar(0) == 20);
    line.set_level(true, us(6)); // no edge
    line.set_level(false, us(6));
    b->eoi(0, 20);
    b->core(0).time = us(7);
    CHECK(b->iar(0) == kSpurious);
}

TEST_CASE("highest priority first, then the lowest number", "[gic]") {
    auto b = bench();
    for (const unsigned intid : {20u, 21u, 22u, kPmuIntid}) {
        b->enable_ppi(0, intid);
        b->gic.ppi(CpuId(0), intid).set_level(true, us(1));
    }
    b->set_private_priority(0, 22, 0x80);
    b->core(0).time = us(2);
    for (const unsigned expected : {22u, 20u, 21u, kPmuIntid}) {
        CHECK(b->core(0).mrs(ICC_HPPIR1_EL1) == expected);
        CHECK(b->iar(0) == expected);
        b->gic.ppi(CpuId(0), expected).set_level(false, us(2));
        b->eoi(0, expected);
    }
    CHECK(b->core(0).mrs(ICC_HPPIR1_EL1) == kSpurious);
}

TEST_CASE("priorities have five bits", "[gic]") {
    auto b = bench();
    b->set_private_priority(0, 20, 0xff);
    CHECK(b->bus.read(gicr_address(CpuId(0), gicr::IPRIORITYR0 + 20)) == 0xa0a0a0f8);
    CHECK(b->bus.read(gicr_address(CpuId(0), gicr::IPRIORITYR0 + 20), 1) == 0xf8);
    b->core(0).msr(ICC_PMR_EL1, 0xff);
    CHECK(b->core(0).mrs(ICC_PMR_EL1) == 0xf8);
    CHECK((b->core(0).mrs(ICC_CTLR_EL1) >> 8 & 7) == 4);
}

TEST_CASE("the priority mask holds back equal and lower priorities", "[gic]") {
    auto b = bench();
    b->enable_ppi(0, kPmuIntid);
    b->core(0).msr(ICC_PMR_EL1, 0xa0);
    b->gic.ppi(CpuId(0), kPmuIntid).set_level(true, us(1));
    CHECK(b->irq[0].changes.empty());
    b->core(0).time = us(2);
    CHECK(b->iar(0) == kSpurious);
    CHECK(b->core(0).mrs(ICC_HPPIR1_EL1) == kPmuIntid);
    b->core(0).msr(ICC_PMR_EL1, 0xa8);
    CHECK(b->irq[0].changes == std::vector<test::Change>{{true, us(2)}});
    b->core(0).time = us(3);
    b->core(0).msr(ICC_PMR_EL1, 0);
    CHECK(b->irq[0].changes.back() == test::Change{false, us(3)});
}

TEST_CASE("a higher group priority preempts, an equal one waits", "[gic]") {
    auto b = bench();
    for (const unsigned intid : {20u, 21u, 22u}) b->enable_ppi(0, intid);
    b->set_private_priority(0, 22, 0x40);
    b->gic.ppi(CpuId(0), 20).set_level(true, us(1));
    b->core(0).time = us(2);
    CHECK(b->iar(0) == 20);
    CHECK_FALSE(b->irq[0].level_at(us(2)));
    b->gic.ppi(CpuId(0), 21).set_level(true, us(2));
    CHECK_FALSE(b->irq[0].level_at(us(10)));
    b->gic.ppi(CpuId(0), 22).set_level(true, us(3));
    CHECK(b->irq[0].level_at(us(4)));
    b->core(0).time = us(4);
    CHECK(b->iar(0) == 22);
    CHECK(b->rpr(0) == 0x40);
    CHECK(b->core(0).mrs(ICC_AP1R0_EL1) == (1u << 0xa0 / 8 | 1u << 0x40 / 8));
    b->gic.ppi(CpuId(0), 22).set_level(false, us(4));
    b->eoi(0, 22);
    CHECK(b->rpr(0) == 0xa0);
    CHECK(b->iar(0) == kSpurious);
    b->gic.ppi(CpuId(0), 20).set_level(false, us(4));
    b->eoi(0, 20);
    CHECK(b->rpr(0) == 0xff);
    CHECK(b->iar(0) == 21);
}

TEST_CASE("the binary point takes low priority bits out of preemption", "[gic]") {
    auto b = bench();
    CHECK(b->core(0).mrs(ICC_BPR1_EL1) == 3);
    b->core(0).msr(ICC_BPR1_EL1, 0);
    CHECK(b->core(0).mrs(ICC_BPR1_EL1) == 3); // the least that five bits allow
    b->core(0).msr(ICC_BPR1_EL1, 5);
    for (const unsigned intid : {20u, 21u, 22u}) b->enable_ppi(0, intid);
    b->set_private_priority(0, 20, 0xb8);
    b->set_private_priority(0, 21, 0xa0); // same group as 0xb8 with bits 7:5
    b->set_private_priority(0, 22, 0x98);
    b->gic.ppi(CpuId(0), 20).set_level(true, us(1));
    b->core(0).time = us(2);
    CHECK(b->iar(0) == 20);
    CHECK(b->rpr(0) == 0xa0);
    b->gic.ppi(CpuId(0), 21).set_level(true, us(2));
    b->core(0).time = us(3);
    CHECK(b->iar(0) == kSpurious);
    b->gic.ppi(CpuId(0), 22).set_level(true, us(3));
    b->core(0).time = us(4);
    CHECK(b->iar(0) == 22);
    CHECK(b->rpr(0) == 0x80);
}

TEST_CASE("CBPR gives Group 1 the binary point of Group 0", "[gic]") {
    auto b = bench();
    b->core(0).msr(ICC_BPR0_EL1, 4);
    b->core(0).msr(ICC_CTLR_EL1, kCtlrCbpr);
    CHECK(b->core(0).mrs(ICC_BPR1_EL1) == 5);
    b->core(0).msr(ICC_BPR1_EL1, 7);
    CHECK(b->core(0).mrs(ICC_BPR1_EL1) == 5);
    b->core(0).msr(ICC_CTLR_EL1, 0);
    CHECK(b->core(0).mrs(ICC_BPR1_EL1) == 3);
}

TEST_CASE("EOImode 1 splits priority drop from deactivation", "[gic]") {
    auto b = bench(true);
    b->enable_ppi(0, kPmuIntid);
    b->enable_ppi(0, kTimerIntid);
    b->gic.ppi(CpuId(0), kPmuIntid).set_level(true, us(1));
    b->core(0).time = us(2);
    CHECK(b->iar(0) == kPmuIntid);
    b->eoi(0, kPmuIntid);
    CHECK(b->rpr(0) == 0xff);
    CHECK(b->gic.state(CpuId(0), kPmuIntid).active);
    b->core(0).time = us(3);
    CHECK(b->iar(0) == kSpurious); // still high, but active
    b->gic.ppi(CpuId(0), kTimerIntid).set_level(true, us(3));
    b->core(0).time = us(4);
    CHECK(b->iar(0) == kTimerIntid); // same priority: the drop let it in
    b->eoi(0, kTimerIntid);
    b->core(0).msr(ICC_DIR_EL1, kPmuIntid);
    CHECK_FALSE(b->gic.state(CpuId(0), kPmuIntid).active);
    CHECK(b->gic.state(CpuId(0), kTimerIntid).active);
    b->core(0).time = us(5);
    CHECK(b->iar(0) == kPmuIntid);
}

TEST_CASE("with EOImode 0 DIR does nothing; special numbers end nothing", "[gic]") {
    auto b = bench();
    b->enable_ppi(0, kPmuIntid);
    b->gic.ppi(CpuId(0), kPmuIntid).set_level(true, us(1));
    b->core(0).time = us(2);
    CHECK(b->iar(0) == kPmuIntid);
    b->core(0).msr(ICC_DIR_EL1, kPmuIntid);
    CHECK(b->gic.state(CpuId(0), kPmuIntid).active);
    b->eoi(0, kSpurious);
    CHECK(b->gic.state(CpuId(0), kPmuIntid).active);
    CHECK(b->rpr(0) == 0xa0);
}

TEST_CASE("pending and active by register", "[gic]") {
    auto b = bench();
    b->enable_ppi(0, 20);
    b->bus.write(gicr_address(CpuId(0), gicr::ISPENDR0), 1u << 20);
    CHECK(b->bus.read(gicr_address(CpuId(0), gicr::ICPENDR0)) == 1u << 20);
    b->bus.write(gicr_address(CpuId(0), gicr::ICPENDR0), 1u << 20);
    CHECK(b->bus.read(gicr_address(CpuId(0), gicr::ISPENDR0)) == 0);
    b->gic.ppi(CpuId(0), 20).set_level(true, us(1));
    b->bus.write(gicr_address(CpuId(0), gicr::ICPENDR0), 1u << 20);
    CHECK(b->bus.read(gicr_address(CpuId(0), gicr::ISPENDR0)) == 1u << 20); // the level keeps it
    b->bus.write(gicr_address(CpuId(0), gicr::ISACTIVER0), 1u << 20);
    b->core(0).time = us(2);
    CHECK(b->iar(0) == kSpurious);
    b->bus.write(gicr_address(CpuId(0), gicr::ICACTIVER0), 1u << 20);
    b->core(0).time = us(3);
    CHECK(b->iar(0) == 20);
    CHECK(b->bus.read(gicr_address(CpuId(0), gicr::ISACTIVER0)) == 1u << 20);
}

TEST_CASE("disabled interrupts stay pending and are offered when enabled", "[gic]") {
    auto b = bench();
    b->gic.ppi(CpuId(0), kPmuIntid).set_level(true, us(1));
    CHECK(b->irq[0].changes.empty());
    CHECK(b->bus.read(gicr_address(CpuId(0), gicr::ISPENDR0)) == 1u << kPmuIntid);
    b->bus.time = us(5);
    b->enable_ppi(0, kPmuIntid);
    CHECK(b->irq[0].changes == std::vector<test::Change>{{true, us(5) + Picoseconds(50'000)}});
    b->bus.time = us(6);
    b->bus.write(gicr_address(CpuId(0), gicr::ICENABLER0), 1u << kPmuIntid);
    CHECK_FALSE(b->irq[0].level_at(us(7)));
    CHECK(b->bus.read(gicr_address(CpuId(0), gicr::ISENABLER0)) == 0xffff);
}

TEST_CASE("group enables of the distributor and of the CPU interface", "[gic]") {
    auto b = bench();
    b->enable_ppi(0, kPmuIntid);
    b->gic.ppi(CpuId(0), kPmuIntid).set_level(true, us(1));
    b->core(0).time = us(2);
    b->core(0).msr(ICC_IGRPEN1_EL1, 0);
    CHECK_FALSE(b->irq[0].level_at(us(2)));
    CHECK(b->iar(0) == kSpurious);
    b->core(0).msr(ICC_IGRPEN1_EL1, 1);
    CHECK(b->irq[0].level_at(us(2)));
    b->bus.time = us(3);
    b->bus.write(gicd_address(gicd::CTLR), 0);
    CHECK_FALSE(b->irq[0].level_at(us(4)));
    CHECK(b->bus.read(gicd_address(gicd::CTLR)) == (gicd::kAre | gicd::kDs));
    b->bus.write(gicd_address(gicd::CTLR), gicd::kEnableGrp1);
    CHECK(b->irq[0].level_at(us(4)));
}

TEST_CASE("Group 0 is signalled as FIQ and acknowledged by IAR0", "[gic]") {
    auto b = bench();
    b->bus.write(gicd_address(gicd::CTLR), gicd::kEnableGrp1 | gicd::kEnableGrp0);
    b->bus.write(gicr_address(CpuId(0), gicr::IGROUPR0), ~(1u << 20));
    b->enable_ppi(0, 20);
    b->core(0).msr(ICC_IGRPEN0_EL1, 1);
    b->gic.ppi(CpuId(0), 20).set_level(true, us(1));
    CHECK(b->fiq[0].level_at(us(2)));
    CHECK(b->irq[0].changes.empty());
    b->core(0).time = us(2);
    CHECK(b->iar(0) == kSpurious);
    CHECK(b->core(0).mrs(ICC_HPPIR0_EL1) == 20);
    CHECK(b->core(0).mrs(ICC_HPPIR1_EL1) == kSpurious);
    CHECK(b->core(0).mrs(ICC_IAR0_EL1) == 20);
    CHECK(b->core(0).mrs(ICC_AP0R0_EL1) == 1u << 0xa0 / 8);
    b->gic.ppi(CpuId(0), 20).set_level(false, us(2));
    b->core(0).msr(ICC_EOIR0_EL1, 20);
    CHECK(b->rpr(0) == 0xff);
}

TEST_CASE("SGI to one core, to a list, to all others", "[gic]") {
    auto b = bench();
    b->core(0).msr(ICC_SGI1R_EL1, sgi_to(6, 3));
    for (unsigned c = 0; c < kCpus; ++c) b->core(c).time = us(1);
    CHECK(b->iar(6) == 3);
    CHECK(b->iar(5) == kSpurious);
    b->eoi(6, 3);
    // Each RK3588 core is a cluster of its own: bits beyond Aff0 = 0 name nobody, nor do other affinities.
    b->core(0).msr(ICC_SGI1R_EL1, sgi_to(6, 3) | 0xfffe);
    b->core(0).msr(ICC_SGI1R_EL1, sgi_to(9, 3));
    b->core(0).msr(ICC_SGI1R_EL1, sgi_to(6, 3) | std::uint64_t{1} << 44); // range 16-31
    b->core(0).msr(ICC_SGI1R_EL1, sgi_to(6, 3) | std::uint64_t{1} << 32); // Aff2
    b->core(0).msr(ICC_SGI1R_EL1, sgi_to(6, 3) | std::uint64_t{1} << 48); // Aff3
    for (unsigned c = 0; c < kCpus; ++c) b->core(c).time = us(2);
    CHECK(b->iar(6) == 3);
    b->eoi(6, 3);
    CHECK(b->iar(6) == kSpurious);
    b->core(4).msr(ICC_SGI1R_EL1, std::uint64_t{1} << 40 | 5u << 24);
    for (unsigned c = 0; c < kCpus; ++c) {
        b->core(c).time = us(3);
        CHECK(b->iar(c) == (c == 4 ? kSpurious : 5));
    }
    b->core(4).msr(ICC_SGI1R_EL1, sgi_to(4, 7)); // to itself
    b->core(4).time = us(4);
    CHECK(b->iar(4) == 7);
}

TEST_CASE("an SGI sent twice is taken once; it must be in the group asked for", "[gic]") {
    auto b = bench();
    b->core(0).msr(ICC_SGI1R_EL1, sgi_to(1, 2));
    b->core(0).msr(ICC_SGI1R_EL1, sgi_to(1, 2));
    b->core(1).time = us(1);
    CHECK(b->iar(1) == 2);
    b->eoi(1, 2);
    CHECK(b->iar(1) == kSpurious);
    b->core(0).msr(ICC_SGI0R_EL1, sgi_to(1, 2));
    b->core(1).time = us(2);
    CHECK(b->iar(1) == kSpurious);
}

TEST_CASE("an SPI goes where IROUTER says", "[gic]") {
    auto b = bench();
    b->enable_spi(100, 0x600);
    CHECK(b->bus.read(gicd_address(gicd::IROUTER + 8 * 100), 8) == 0x600);
    LevelSink& line = b->gic.spi(100);
    line.set_level(true, us(1));
    CHECK(b->irq[6].changes == std::vector<test::Change>{{true, us(1) + Picoseconds(80'000)}});
    b->bus.time = us(2);
    b->bus.write(gicd_address(gicd::IROUTER + 8 * 100), 0x200, 8);
    CHECK_FALSE(b->irq[6].level_at(us(3)));
    CHECK(b->irq[2].level_at(us(3)));
    b->core(2).time = us(3);
    CHECK(b->iar(2) == 100);
    line.set_level(false, us(3));
    b->eoi(2, 100);
    b->bus.write(gicd_address(gicd::IROUTER + 8 * 100), ~std::uint64_t{0}, 8);
    CHECK(b->bus.read(gicd_address(gicd::IROUTER + 8 * 100), 8) == 0xff'80ff'ffff);
    b->bus.write(gicd_address(gicd::IROUTER + 8 * 100), 0x12345, 8); // nobody
    line.set_level(true, us(4));
    for (unsigned c = 0; c < kCpus; ++c) CHECK_FALSE(b->irq[c].level_at(us(5)));
}

TEST_CASE("an SPI for any core goes to the first that participates", "[gic]") {
    auto b = bench();
    b->core(0).msr(ICC_IGRPEN1_EL1, 0);
    b->bus.write(gicr_address(CpuId(1), gicr::WAKER), gicr::kProcessorSleep);
    b->bus.write(gicr_address(CpuId(2), gicr::CTLR), 1u << 25);
    b->enable_spi(511, gicd::kIrm);
    b->gic.spi(511).set_level(true, us(1));
    for (unsigned c = 0; c < kCpus; ++c) CHECK(b->irq[c].level_at(us(2)) == (c == 3));
    b->core(3).time = us(3);
    b->core(3).msr(ICC_IGRPEN1_EL1, 0); // it withdraws, the interrupt moves on
    for (unsigned c = 0; c < kCpus; ++c) CHECK(b->irq[c].level_at(us(4)) == (c == 4));
    b->core(3).msr(ICC_IGRPEN1_EL1, 1);
    for (unsigned c = 0; c < kCpus; ++c) CHECK(b->irq[c].level_at(us(4)) == (c == 3));
    b->core(3).time = us(4);
    CHECK(b->iar(3) == 511);
}

TEST_CASE("a message makes an SPI pending", "[gic]") {
    auto b = bench();
    b->enable_spi(430, 0);
    b->bus.write(gicd_address(gicd::ICFGR + 430 / 16 * 4), 2u << 430 % 16 * 2);
    b->bus.write(gicd_address(gicd::SETSPI_NSR), 430);
    b->core(0).time = us(1);
    CHECK(b->iar(0) == 430);
    b->eoi(0, 430);
    b->bus.write(gicd_address(gicd::SETSPI_NSR), 430);
    b->bus.write(gicd_address(gicd::CLRSPI_NSR), 430);
    b->core(0).time = us(2);
    CHECK(b->iar(0) == kSpurious);
}

TEST_CASE("a sleeping redistributor offers nothing", "[gic]") {
    auto b = bench();
    b->enable_ppi(0, kPmuIntid);
    b->bus.write(gicr_address(CpuId(0), gicr::WAKER), gicr::kProcessorSleep);
    CHECK(b->bus.read(gicr_address(CpuId(0), gicr::WAKER)) == (gicr::kProcessorSleep | gicr::kChildrenAsleep));
    b->gic.ppi(CpuId(0), kPmuIntid).set_level(true, us(1));
    CHECK(b->irq[0].changes.empty());
    b->bus.time = us(2);
    b->bus.write(gicr_address(CpuId(0), gicr::WAKER), 0);
    CHECK(b->bus.read(gicr_address(CpuId(0), gicr::WAKER)) == 0);
    CHECK(b->irq[0].level_at(us(3)));
}

TEST_CASE("identification and reserved space", "[gic]") {
    auto b = bench();
    CHECK(b->bus.read(gicd_address(gicd::PIDR2)) >> 4 == 3);
    CHECK((b->bus.read(gicd_address(gicd::TYPER)) & 31) == 15); // 512 INTIDs
    CHECK((b->bus.read(gicd_address(gicd::IIDR)) & 0xfff) == 0x43b);
    for (unsigned c = 0; c < kCpus; ++c) {
        const std::uint64_t typer = b->bus.read(gicr_address(CpuId(c), gicr::TYPER), 8);
        CHECK(typer >> 32 == c * 0x100);
        CHECK((typer >> 8 & 0xffff) == c);
        CHECK((typer >> 4 & 1) == (c == 7));
        CHECK(b->bus.read(gicr_address(CpuId(c), gicr::PIDR2)) >> 4 == 3);
    }
    CHECK(gicr_address(CpuId(4), 0) == PhysAddr(0xFE700000));
    b->bus.write(gicd_address(gicd::ISENABLER), ~0u); // private ones are not the distributor's
    CHECK(b->bus.read(gicd_address(gicd::ISENABLER)) == 0);
    CHECK(b->bus.read(gicd_address(gicd::IGRPMODR)) == 0);
    b->bus.read(PhysAddr(0xFE620000));
    CHECK(b->bus.status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
    b->bus.read(PhysAddr(0xFE780000));
    CHECK(b->bus.status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
    b->bus.read(gicd_address(gicd::CTLR), 1);
    CHECK(b->bus.status == tlm::TLM_BURST_ERROR_RESPONSE);
    b->bus.read(gicd_address(gicd::CTLR + 2));
    CHECK(b->bus.status == tlm::TLM_BURST_ERROR_RESPONSE);
}

TEST_CASE("the CPU interface is not for EL0, and knows its registers", "[gic]") {
    auto b = bench();
    CHECK(b->core(0).mrs(ICC_SRE_EL1) == 7);
    const auto outcome = [&](SysReg reg, bool write, EL el) {
        write ? b->core(0).msr(reg, 0, el) : static_cast<void>(b->core(0).mrs(reg, el));
        return b->core(0).outcome();
    };
    for (const auto& row : CpuInterface::rows()) {
        INFO(row.name);
        CHECK(outcome(row.reg, false, EL::el0) == SysRegOutcome::undefined);
        CHECK(outcome(row.reg, true, EL::el0) == SysRegOutcome::undefined);
        CHECK((outcome(row.reg, false, EL::el1) == SysRegOutcome::ok) == (row.read != nullptr));
        CHECK((outcome(row.reg, true, EL::el1) == SysRegOutcome::ok) == (row.write != nullptr));
    }
    CHECK(outcome(SysReg::make(3, 0, 12, 9, 1), false, EL::el1) == SysRegOutcome::undefined); // ICC_AP1R1_EL1
    CHECK(b->core(0).status() == tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

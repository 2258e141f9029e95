// SPDX-License-Identifier: Apache-2.0
// What counters count, overflow, and the distances the core is told. Spec: PMUV3-052..065.
#include "models/pmu_v3/registers.h"
#include "tests/models/pmu_v3/fakes.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

using namespace rkperf;
using namespace rkperf::pmu;
using namespace rkperf::sysreg;
using namespace rkperf::pmu_event;
using test::FakeTotals;
using EL = ExceptionLevel;

namespace {

constexpr EL kLevels[] = {EL::el0, EL::el1, EL::el2, EL::el3};

struct Bench {
    explicit Bench(std::uint32_t mdcr_el3 = 0, std::uint32_t mdcr_el2 = 0)
        : regs({CpuId(0), 0x410b3000, 0, 0, mdcr_el2, mdcr_el3}, totals) {}
    std::uint64_t mrs(SysReg r, EL el = EL::el1) {
        const auto a = regs.read(r, el);
        CHECK(a.outcome == SysRegOutcome::ok);
        return a.value;
    }
    void msr(SysReg r, std::uint64_t v, EL el = EL::el1) { CHECK(regs.write(r, v, el).outcome == SysRegOutcome::ok); }
    /// Counter n counts `type` from `value` on; global enable on.
    void start(unsigned n, std::uint32_t type, std::uint64_t value = 0) {
        if (n == kCycleCounter) {
            msr(PMCCFILTR_EL0, type);
            msr(PMCCNTR_EL0, value);
        } else {
            msr(PMEVTYPER_EL0(n), type);
            msr(PMEVCNTR_EL0(n), value);
        }
        msr(PMCNTENSET_EL0, 1u << n);
        msr(PMCR_EL0, mrs(PMCR_EL0) | pmcr::E);
    }
    std::uint64_t counter(unsigned n) { return mrs(n == kCycleCounter ? PMCCNTR_EL0 : PMEVCNTR_EL0(n)); }
    std::uint64_t overflowed() { return mrs(PMOVSCLR_EL0); }
    bool line() {
        regs.counters().fold();
        return regs.counters().line();
    }
    std::vector<ArmedCounter> armed() {
        regs.counters().fold();
        const auto a = regs.counters().armed();
        return {a.begin(), a.end()};
    }
    FakeTotals totals;
    Registers regs;
};

constexpr std::uint64_t kMax = 0xffffffff;

} // namespace

TEST_CASE("a counter needs its own and the global enable", "[PMUV3-052]") {
    Bench b;
    b.msr(PMEVTYPER_EL0(1), INST_RETIRED);
    b.totals.add(INST_RETIRED, 10);
    CHECK(b.counter(1) == 0);
    b.msr(PMCNTENSET_EL0, 2);
    b.totals.add(INST_RETIRED, 10);
    CHECK(b.counter(1) == 0);
    b.msr(PMCR_EL0, pmcr::E);
    b.totals.add(INST_RETIRED, 10);
    CHECK(b.counter(1) == 10);
    b.msr(PMCR_EL0, 0);
    b.totals.add(INST_RETIRED, 10);
    CHECK(b.counter(1) == 10);
    b.msr(PMCR_EL0, pmcr::E);
    b.totals.add(INST_RETIRED, 5);
    b.msr(PMCNTENCLR_EL0, 2);
    b.totals.add(INST_RETIRED, 10);
    CHECK(b.counter(1) == 15);
}

TEST_CASE("counters at and above HPMN follow MDCR_EL2.HPME", "[PMUV3-052]") {
    Bench b;
    b.start(1, INST_RETIRED);
    b.start(4, INST_RETIRED);
    b.msr(MDCR_EL2, 3, EL::el2); // HPMN 3, HPME 0
    b.totals.add(INST_RETIRED, 10);
    CHECK(b.mrs(PMEVCNTR_EL0(1), EL::el2) == 10);
    CHECK(b.mrs(PMEVCNTR_EL0(4), EL::el2) == 0);
    b.msr(MDCR_EL2, 3 | mdcr_el2::HPME, EL::el2);
    b.msr(PMCR_EL0, 0);
    b.totals.add(INST_RETIRED, 10);
    CHECK(b.mrs(PMEVCNTR_EL0(1), EL::el2) == 10);
    CHECK(b.mrs(PMEVCNTR_EL0(4), EL::el2) == 10);
}

TEST_CASE("every combination of filter bits", "[PMUV3-053]") {
    for (std::uint32_t f = 0; f < 64; ++f) {
        const std::uint32_t type = f << 26;
        const auto is = [type](unsigned bit) { return (type >> bit & 1) != 0; };
        const bool expected[] = {is(30) == is(28), is(31) == is(29), is(27), is(26) == is(31)};
        Bench b(mdcr_el3::SPME);
        b.start(0, type | L1D_CACHE);
        b.start(kCycleCounter, type);
        for (const EL el : kLevels) {
            INFO("filter " << std::hex << type << " EL" << static_cast<int>(el));
            const auto before = b.counter(0), before_cycles = b.counter(kCycleCounter);
            b.totals.add(L1D_CACHE, 3, el);
            b.totals.add(CPU_CYCLES, 5, el);
            CHECK(b.counter(0) - before == (expected[static_cast<int>(el)] ? 3 : 0));
            CHECK(b.counter(kCycleCounter) - before_cycles == (expected[static_cast<int>(el)] ? 5 : 0));
        }
    }
}

TEST_CASE("what the driver writes for its exclude flags", "[PMUV3-053][PMUV3-012]") {
    struct Row {
        std::uint32_t bits;
        bool el0, el1, el2;
    };
    for (const Row r :
         {Row{0x08000000, true, true, true}, Row{0x88000000, true, false, true}, Row{0x48000000, false, true, true},
          Row{0xc0000000, false, false, false}, Row{0x80000000, true, false, false}}) {
        Bench b;
        b.start(2, r.bits | INST_RETIRED);
        b.totals.add(INST_RETIRED, 1, EL::el0);
        b.totals.add(INST_RETIRED, 10, EL::el1);
        b.totals.add(INST_RETIRED, 100, EL::el2);
        CHECK(b.counter(2) == (r.el0 ? 1u : 0) + (r.el1 ? 10 : 0) + (r.el2 ? 100 : 0));
    }
}

TEST_CASE("prohibited regions", "[PMUV3-054]") {
    SECTION("EL3 without MDCR_EL3.SPME; the cycle counter only with DP") {
        Bench b;
        b.start(0, INST_RETIRED);
        b.start(kCycleCounter, 0);
        b.totals.add(INST_RETIRED, 4, EL::el3);
        b.totals.add(CPU_CYCLES, 4, EL::el3);
        CHECK(b.counter(0) == 0);
        CHECK(b.counter(kCycleCounter) == 4);
        b.msr(PMCR_EL0, pmcr::E | pmcr::DP);
        b.totals.add(CPU_CYCLES, 4, EL::el3);
        CHECK(b.counter(kCycleCounter) == 4);
    }
    SECTION("EL2 with MDCR_EL2.HPMD, counters below HPMN") {
        Bench b;
        b.start(0, evtyper::NSH | INST_RETIRED);
        b.start(5, evtyper::NSH | INST_RETIRED);
        b.start(kCycleCounter, evtyper::NSH);
        b.msr(MDCR_EL2, 5 | mdcr_el2::HPMD | mdcr_el2::HPME, EL::el2);
        b.totals.add(INST_RETIRED, 4, EL::el2);
        b.totals.add(CPU_CYCLES, 4, EL::el2);
        CHECK(b.counter(0) == 0);
        CHECK(b.mrs(PMEVCNTR_EL0(5), EL::el2) == 4);
        CHECK(b.counter(kCycleCounter) == 4);
        b.msr(PMCR_EL0, pmcr::E | pmcr::DP);
        b.totals.add(CPU_CYCLES, 4, EL::el2);
        CHECK(b.counter(kCycleCounter) == 4);
    }
}

TEST_CASE("PMCR.D divides by 64 unless LC", "[PMUV3-055]") {
    Bench b;
    b.msr(PMCR_EL0, pmcr::D);
    b.start(kCycleCounter, 0);
    b.start(0, CPU_CYCLES);
    b.totals.add(CPU_CYCLES, 63);
    CHECK(b.counter(kCycleCounter) == 0);
    b.msr(PMSELR_EL0, 0);
    b.msr(PMEVTYPER_EL0(3), 0); // folds: the remainder survives
    b.totals.add(CPU_CYCLES, 1);
    CHECK(b.counter(kCycleCounter) == 1);
    b.totals.add(CPU_CYCLES, 640);
    CHECK(b.counter(kCycleCounter) == 11);
    CHECK(b.counter(0) == 704); // event counters are not divided
    b.msr(PMCR_EL0, pmcr::E | pmcr::D | pmcr::LC);
    b.totals.add(CPU_CYCLES, 100);
    CHECK(b.counter(kCycleCounter) == 111);
}

TEST_CASE("the divider starts afresh with PMCR.C and when D takes effect", "[PMUV3-055]") {
    Bench b;
    b.msr(PMCR_EL0, pmcr::D);
    b.start(kCycleCounter, 0);
    b.totals.add(CPU_CYCLES, 63);
    b.msr(PMCR_EL0, pmcr::E | pmcr::D | pmcr::C);
    b.totals.add(CPU_CYCLES, 63);
    CHECK(b.counter(kCycleCounter) == 0);
    b.msr(PMCR_EL0, pmcr::E);
    b.msr(PMCR_EL0, pmcr::E | pmcr::D);
    b.totals.add(CPU_CYCLES, 63);
    CHECK(b.counter(kCycleCounter) == 0);
    b.totals.add(CPU_CYCLES, 1);
    CHECK(b.counter(kCycleCounter) == 1);
}

TEST_CASE("the distance of a dividing cycle counter is in cycles", "[PMUV3-055]") {
    Bench b;
    b.msr(PMCR_EL0, pmcr::D);
    b.start(kCycleCounter, 0, kMax - 1);
    b.msr(PMINTENSET_EL1, kCycleBit);
    b.totals.add(CPU_CYCLES, 10);
    REQUIRE(b.armed().size() == 1);
    CHECK(b.armed()[0].left == 2 * 64 - 10);
    b.totals.add(CPU_CYCLES, 117);
    CHECK_FALSE(b.line());
    b.totals.add(CPU_CYCLES, 1);
    CHECK(b.line());
    CHECK(b.counter(kCycleCounter) == kMax + 1); // the counter itself has 64 bits
}

TEST_CASE("without cycles nothing advances", "[PMUV3-056]") {
    Bench b;
    b.start(kCycleCounter, 0);
    b.start(0, CPU_CYCLES);
    b.totals.add(CPU_CYCLES, 5);
    b.totals.time = Picoseconds(1'000'000'000); // a long standby
    CHECK(b.counter(kCycleCounter) == 5);
    CHECK(b.counter(0) == 5);
}

TEST_CASE("counters run on after overflow", "[PMUV3-057]") {
    Bench b;
    b.msr(PMINTENSET_EL1, 1);
    b.start(0, INST_RETIRED, kMax);
    b.start(1, INST_RETIRED, 0);
    b.totals.add(INST_RETIRED, 100);
    CHECK(b.line());
    CHECK(b.counter(0) == 99);
    CHECK(b.counter(1) == 100);
    b.totals.add(INST_RETIRED, 1);
    CHECK(b.counter(0) == 100);
}

TEST_CASE("several events at once all count, and several wraps too", "[PMUV3-058][PMUV3-062]") {
    Bench b;
    b.start(0, STALL_BACKEND, kMax - 3);
    b.totals.add(STALL_BACKEND, 8);
    CHECK(b.counter(0) == 4);
    CHECK(b.overflowed() == 1);
    b.msr(PMOVSCLR_EL0, 1);
    b.totals.add(STALL_BACKEND, (std::uint64_t{3} << 32) + 5);
    CHECK(b.counter(0) == 9);
    CHECK(b.overflowed() == 1);
}

TEST_CASE("PMSWINC counts SW_INCR on the counters that count it", "[PMUV3-059]") {
    Bench b;
    b.start(0, SW_INCR);
    b.start(1, INST_RETIRED);
    b.start(2, SW_INCR | evtyper::P); // not at EL1
    b.start(3, SW_INCR, kMax);
    b.msr(PMEVTYPER_EL0(4), SW_INCR); // not enabled
    b.msr(PMINTENSET_EL1, 8);
    b.totals.add(SW_INCR, 1000); // whatever the core thinks of this event
    b.msr(PMSWINC_EL0, 0x8000003f);
    CHECK(b.counter(0) == 1);
    CHECK(b.counter(1) == 0);
    CHECK(b.counter(2) == 0);
    CHECK(b.counter(3) == 0);
    CHECK(b.counter(4) == 0);
    CHECK(b.counter(kCycleCounter) == 0);
    CHECK(b.overflowed() == 8);
    CHECK(b.line());
    b.msr(PMUSERENR_EL0, 2);
    b.msr(PMSWINC_EL0, 5, EL::el0);
    CHECK(b.counter(0) == 2);
    CHECK(b.counter(2) == 1);
    b.msr(PMCR_EL0, 0);
    b.msr(PMSWINC_EL0, 1);
    CHECK(b.counter(0) == 2);
    CHECK(b.regs.read(PMSWINC_EL0, EL::el1).outcome == SysRegOutcome::undefined);
}

TEST_CASE("a software increment that wraps is chained", "[PMUV3-059][PMUV3-060]") {
    Bench b;
    b.start(0, SW_INCR, kMax);
    b.start(1, CHAIN, 6);
    b.msr(PMSWINC_EL0, 1);
    CHECK(b.counter(0) == 0);
    CHECK(b.counter(1) == 7);
}

TEST_CASE("CHAIN counts the wraps of the even neighbour", "[PMUV3-060]") {
    Bench b;
    b.start(2, L1D_CACHE, kMax);
    b.start(3, CHAIN | evtyper::NSH, 10);
    b.totals.add(L1D_CACHE, 1);
    CHECK(b.counter(3) == 11);
    CHECK(b.counter(2) == 0);
    CHECK(b.overflowed() == 4); // of the even counter, as usual
    b.totals.add(L1D_CACHE, std::uint64_t{5} << 32);
    CHECK(b.counter(3) == 16);
    b.msr(PMCNTENCLR_EL0, 8);
    b.totals.add(L1D_CACHE, std::uint64_t{1} << 32);
    CHECK(b.counter(3) == 16);
}

TEST_CASE("CHAIN on an even counter, or without a neighbour in range, counts nothing", "[PMUV3-060]") {
    Bench b;
    b.start(1, INST_RETIRED, kMax);
    b.start(2, CHAIN, 1);
    b.totals.add(INST_RETIRED, 1);
    b.totals.add(CHAIN, 50);
    CHECK(b.counter(2) == 1);

    b.start(4, INST_RETIRED, kMax);
    b.start(5, CHAIN, 1);
    b.msr(MDCR_EL2, 5 | mdcr_el2::HPME, EL::el2); // 4 below HPMN, 5 not
    b.totals.add(INST_RETIRED, 1);
    CHECK(b.mrs(PMEVCNTR_EL0(4), EL::el2) == 0);
    CHECK(b.mrs(PMEVCNTR_EL0(5), EL::el2) == 1);
}

TEST_CASE("CHAIN belongs to the level at which the low half wraps", "[PMUV3-060]") {
    for (const EL wraps_at : {EL::el0, EL::el1}) {
        Bench b;
        b.start(0, INST_RETIRED, kMax - 9);
        b.start(1, CHAIN | evtyper::U, 0); // EL1 only
        // The PMU asks to be looked at one event before the wrap, so that the last step is of one level.
        REQUIRE(b.armed().size() == 1);
        CHECK(b.armed()[0].left == 9);
        b.totals.add(INST_RETIRED, 4, EL::el0);
        b.totals.add(INST_RETIRED, 5, EL::el1);
        REQUIRE(b.armed().size() == 1);
        CHECK(b.armed()[0].left == 1);
        b.totals.add(INST_RETIRED, 1, wraps_at);
        CHECK(b.counter(1) == (wraps_at == EL::el1 ? 1 : 0));
        CHECK(b.overflowed() == 1);
    }
}

TEST_CASE("a pair counts 64 bits and its high half overflows", "[PMUV3-060][PMUV3-062]") {
    Bench b;
    b.msr(PMINTENSET_EL1, 2);
    b.start(0, INST_RETIRED | evtyper::NSH, kMax - 99);
    b.start(1, CHAIN | evtyper::NSH, kMax - 1);
    REQUIRE(b.armed().size() == 1);
    CHECK(b.armed()[0].event == INST_RETIRED);
    CHECK(b.armed()[0].left == (std::uint64_t{1} << 32) + 100);
    b.totals.add(INST_RETIRED, 100);
    CHECK(b.overflowed() == 1);
    CHECK_FALSE(b.line());
    CHECK(b.armed()[0].left == std::uint64_t{1} << 32);
    b.totals.add(INST_RETIRED, kMax);
    CHECK_FALSE(b.line());
    CHECK(b.armed()[0].left == 1);
    b.totals.add(INST_RETIRED, 1);
    CHECK(b.line());
    CHECK(b.overflowed() == 3);
    CHECK(b.counter(1) == 0);
    CHECK(b.armed().empty());
}

TEST_CASE("an event the core does not know counts nothing", "[PMUV3-061]") {
    Bench b;
    b.totals.unknown.insert(REMOTE_ACCESS);
    b.start(0, REMOTE_ACCESS);
    b.start(1, 0x4004);
    b.start(2, 0xffff);
    b.totals.add(REMOTE_ACCESS, 9);
    b.msr(PMINTENSET_EL1, 7);
    CHECK(b.counter(0) == 0);
    CHECK(b.counter(1) == 0);
    CHECK(b.counter(2) == 0);
    CHECK(b.armed().empty());
}

TEST_CASE("carry out of bit 31, or of bit 63 with LC, sets the flag", "[PMUV3-062]") {
    Bench b;
    b.start(kCycleCounter, 0, kMax);
    b.totals.add(CPU_CYCLES, 1);
    CHECK(b.overflowed() == kCycleBit);
    CHECK(b.counter(kCycleCounter) == kMax + 1);
    b.msr(PMOVSCLR_EL0, kCycleBit);
    b.msr(PMCR_EL0, pmcr::E | pmcr::LC);
    b.msr(PMCCNTR_EL0, kMax);
    b.totals.add(CPU_CYCLES, 1);
    CHECK(b.overflowed() == 0);
    b.msr(PMCCNTR_EL0, ~std::uint64_t{0});
    b.totals.add(CPU_CYCLES, 1);
    CHECK(b.overflowed() == kCycleBit);
    CHECK(b.counter(kCycleCounter) == 0);
}

TEST_CASE("the driver's biased cycle counter overflows like a 32-bit one", "[PMUV3-062][PMUV3-023]") {
    Bench b;
    b.msr(PMCR_EL0, pmcr::LC);
    b.msr(PMINTENSET_EL1, kCycleBit);
    b.start(kCycleCounter, evtyper::NSH | CPU_CYCLES, 0xffffffff00000000 | (kMax + 1 - 100000));
    REQUIRE(b.armed().size() == 1);
    CHECK(b.armed()[0].event == CPU_CYCLES);
    CHECK(b.armed()[0].el_mask == 0xf); // the cycle counter also counts at EL3 while DP is 0
    CHECK(b.armed()[0].left == 100000);
    b.totals.add(CPU_CYCLES, 99999, EL::el0);
    CHECK_FALSE(b.line());
    b.totals.add(CPU_CYCLES, 1, EL::el1);
    CHECK(b.line());
}

TEST_CASE("software writes to counters do not set the flag, PMOVSSET does", "[PMUV3-062]") {
    Bench b;
    b.start(0, INST_RETIRED, kMax);
    b.msr(PMEVCNTR_EL0(0), 0);
    b.msr(PMCR_EL0, pmcr::P | pmcr::E);
    CHECK(b.overflowed() == 0);
    b.msr(PMOVSSET_EL0, 1);
    CHECK(b.overflowed() == 1);
}

TEST_CASE("the line needs flag, interrupt enable and global enable", "[PMUV3-063][PMUV3-064]") {
    for (unsigned bits = 0; bits < 8; ++bits) {
        for (const unsigned n : {0u, 5u, kCycleCounter}) {
            Bench b;
            if (bits & 1) b.msr(PMOVSSET_EL0, 1u << n);
            if (bits & 2) b.msr(PMINTENSET_EL1, 1u << n);
            if (bits & 4) b.msr(PMCR_EL0, pmcr::E);
            CHECK(b.line() == (bits == 7));
        }
    }
    Bench b;
    b.msr(PMOVSSET_EL0, 3);
    b.msr(PMCR_EL0, pmcr::E);
    CHECK_FALSE(b.line());
    b.msr(PMINTENSET_EL1, 3); // at once
    CHECK(b.line());
    b.msr(PMCR_EL0, 0);
    CHECK_FALSE(b.line());
    b.msr(PMCR_EL0, pmcr::E);
    CHECK(b.line());
    b.msr(PMOVSCLR_EL0, 1);
    CHECK(b.line());
    b.msr(PMINTENCLR_EL1, 2);
    CHECK_FALSE(b.line());
    b.msr(PMINTENSET_EL1, 2);
    b.msr(PMOVSCLR_EL0, 2);
    CHECK_FALSE(b.line());
}

TEST_CASE("filter, enable and PMUSERENR do not touch the line", "[PMUV3-065]") {
    Bench b;
    b.msr(PMINTENSET_EL1, 1);
    b.start(0, INST_RETIRED, kMax);
    b.totals.add(INST_RETIRED, 1);
    CHECK(b.line());
    b.msr(PMEVTYPER_EL0(0), 0xc0000000 | INST_RETIRED);
    b.msr(PMCNTENCLR_EL0, 1);
    b.msr(PMUSERENR_EL0, 0xf);
    CHECK(b.line());
}

TEST_CASE("armed: only counters whose wrap would raise the line", "[PMUV3-063]") {
    Bench b;
    b.start(0, INST_RETIRED, kMax - 9);
    b.start(1, L1D_CACHE | evtyper::U, kMax - 4);
    b.start(2, BR_RETIRED, 0);
    CHECK(b.armed().empty()); // no interrupt enabled
    b.msr(PMINTENSET_EL1, 7);
    auto a = b.armed();
    REQUIRE(a.size() == 3);
    CHECK(a[0].event == INST_RETIRED);
    CHECK(a[0].left == 10);
    CHECK(a[0].el_mask == 0b0011);
    CHECK(a[1].left == 5);
    CHECK(a[1].el_mask == 0b0010);
    CHECK(a[2].left == kMax + 1);
    b.totals.add(INST_RETIRED, 3, EL::el1);
    b.totals.add(L1D_CACHE, 3, EL::el0);
    a = b.armed();
    CHECK(a[0].left == 7);
    CHECK(a[1].left == 5);
    b.totals.add(INST_RETIRED, 7);
    CHECK(b.line());
    CHECK(b.armed().empty()); // the line is up already
    b.msr(PMOVSCLR_EL0, 1);
    CHECK(b.armed().size() == 3);
    b.msr(PMCR_EL0, 0);
    CHECK(b.armed().empty());
}

TEST_CASE("exact: any way of stepping to the wrap gives the same counter", "[PMUV3-062]") {
    for (const std::uint64_t step : {1, 2, 3, 7, 64, 1000}) {
        Bench b;
        b.msr(PMINTENSET_EL1, 1);
        b.start(0, INST_RETIRED, kMax + 1 - 1000);
        std::uint64_t done = 0;
        while (!b.line()) {
            const std::uint64_t n = std::min(step, b.armed()[0].left);
            b.totals.add(INST_RETIRED, n, done % 2 ? EL::el0 : EL::el1);
            done += n;
        }
        CHECK(done == 1000);
        CHECK(b.counter(0) == 0);
    }
}

// SPDX-License-Identifier: Apache-2.0
// Registers of the PMU: encodings, fields, access rules. Spec: PMUV3-044..051, 066..069.
#include "models/pmu_v3/registers.h"
#include "tests/models/pmu_v3/fakes.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>

using namespace rkperf;
using namespace rkperf::pmu;
using namespace rkperf::sysreg;
using test::FakeTotals;
using EL = ExceptionLevel;

namespace {

constexpr std::uint32_t kA76 = 0x410b3000;

struct Bench {
    explicit Bench(PmuConfig config = {CpuId(4), kA76, 0x7fff0f3f, 0x00f2ae7f, 0, 0}) : regs(config, totals) {}
    std::uint64_t mrs(SysReg r, EL el = EL::el1) {
        const auto a = regs.read(r, el);
        CHECK(a.outcome == SysRegOutcome::ok);
        return a.value;
    }
    void msr(SysReg r, std::uint64_t v, EL el = EL::el1) { CHECK(regs.write(r, v, el).outcome == SysRegOutcome::ok); }
    SysRegOutcome reading(SysReg r, EL el = EL::el1) { return regs.read(r, el).outcome; }
    SysRegOutcome writing(SysReg r, EL el = EL::el1) { return regs.write(r, 0, el).outcome; }

    FakeTotals totals;
    Registers regs;
};

constexpr auto ok = SysRegOutcome::ok;
constexpr auto undefined = SysRegOutcome::undefined;
constexpr auto trap = SysRegOutcome::trap_el1;

} // namespace

TEST_CASE("the encodings are the architecture's, and each register answers to one", "[PMUV3-044]") {
    struct Known {
        const char* name;
        unsigned op0, op1, crn, crm, op2;
    };
    const Known known[] = {
        {"PMCR_EL0", 3, 3, 9, 12, 0},          {"PMCNTENSET_EL0", 3, 3, 9, 12, 1}, {"PMCNTENCLR_EL0", 3, 3, 9, 12, 2},
        {"PMOVSCLR_EL0", 3, 3, 9, 12, 3},      {"PMSWINC_EL0", 3, 3, 9, 12, 4},    {"PMSELR_EL0", 3, 3, 9, 12, 5},
        {"PMCEID<n>_EL0", 3, 3, 9, 12, 6},     {"PMCCNTR_EL0", 3, 3, 9, 13, 0},    {"PMXEVTYPER_EL0", 3, 3, 9, 13, 1},
        {"PMXEVCNTR_EL0", 3, 3, 9, 13, 2},     {"PMUSERENR_EL0", 3, 3, 9, 14, 0},  {"PMOVSSET_EL0", 3, 3, 9, 14, 3},
        {"PMINTENSET_EL1", 3, 0, 9, 14, 1},    {"PMINTENCLR_EL1", 3, 0, 9, 14, 2}, {"PMEVCNTR<n>_EL0", 3, 3, 14, 8, 0},
        {"PMEVTYPER<n>_EL0", 3, 3, 14, 12, 0}, {"PMCCFILTR_EL0", 3, 3, 14, 15, 7}};
    for (const Known& k : known) {
        INFO(k.name);
        const auto rows = Registers::rows();
        const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.name == k.name; });
        REQUIRE(row != rows.end());
        CHECK(row->encoding(0) == SysReg::make(k.op0, k.op1, k.crn, k.crm, k.op2));
    }
    // PMEVCNTR9 is CRm 9, op2 1; PMEVTYPER30 is CRm 15, op2 6.
    CHECK(PMEVCNTR_EL0(9) == SysReg::make(3, 3, 14, 9, 1));
    CHECK(PMEVTYPER_EL0(30) == SysReg::make(3, 3, 14, 15, 6));
    std::set<std::uint16_t> seen;
    for (const auto& row : Registers::rows())
        for (unsigned n = 0; n < row.count; ++n) CHECK(seen.insert(row.encoding(n).encoding).second);
}

TEST_CASE("PMMIR_EL1 and other neighbours are not decoded", "[PMUV3-044]") {
    Bench b;
    for (const SysReg r : {SysReg::make(3, 0, 9, 14, 6), SysReg::make(3, 3, 9, 14, 1), SysReg::make(3, 3, 9, 13, 3),
                           SysReg::make(3, 0, 9, 14, 0), SysReg::make(3, 3, 14, 11, 7)}) {
        CHECK_FALSE(b.regs.read(r, EL::el1).decoded);
        CHECK(b.reading(r) == undefined);
        CHECK(b.writing(r) == undefined);
    }
}

TEST_CASE("PMCR holds E D X DP LC, reads P and C as zero, and identifies the core", "[PMUV3-045]") {
    Bench b;
    CHECK(b.mrs(PMCR_EL0) == kA76); // E resets to 0
    b.msr(PMCR_EL0, ~std::uint64_t{0});
    CHECK(b.mrs(PMCR_EL0) == (kA76 | 0x79)); // bit 7 is RES0, P and C read 0
    b.msr(PMCR_EL0, 0);
    CHECK(b.mrs(PMCR_EL0) == kA76);
    Bench a55({CpuId(0), 0x41453000, 0, 0, 0, 0});
    CHECK(a55.mrs(PMCR_EL0) == 0x41453000);
}

TEST_CASE("PMCR.P zeroes the event counters, PMCR.C the cycle counter, and nothing else", "[PMUV3-046]") {
    Bench b;
    const auto fill = [&] {
        for (unsigned n = 0; n < 6; ++n) b.msr(PMEVCNTR_EL0(n), 100 + n);
        b.msr(PMCCNTR_EL0, 7);
        b.msr(PMOVSSET_EL0, 0x8000003f);
        b.msr(PMCNTENSET_EL0, 0x80000001);
        b.msr(PMINTENSET_EL1, 3);
    };
    fill();
    b.msr(PMCR_EL0, pmcr::P);
    CHECK(b.mrs(PMEVCNTR_EL0(0)) == 0);
    CHECK(b.mrs(PMEVCNTR_EL0(5)) == 0);
    CHECK(b.mrs(PMCCNTR_EL0) == 7);
    fill();
    b.msr(PMCR_EL0, pmcr::C);
    CHECK(b.mrs(PMEVCNTR_EL0(5)) == 105);
    CHECK(b.mrs(PMCCNTR_EL0) == 0);
    fill();
    b.msr(PMCR_EL0, pmcr::P | pmcr::C | pmcr::E);
    CHECK(b.mrs(PMEVCNTR_EL0(3)) == 0);
    CHECK(b.mrs(PMCCNTR_EL0) == 0);
    CHECK(b.mrs(PMCR_EL0) == (kA76 | pmcr::E));
    CHECK(b.mrs(PMOVSCLR_EL0) == 0x8000003f);
    CHECK(b.mrs(PMCNTENSET_EL0) == 0x80000001);
    CHECK(b.mrs(PMINTENSET_EL1) == 3);
}

TEST_CASE("PMCR.P and C in one write with E start from zero at that moment", "[PMUV3-046][PMUV3-069]") {
    Bench b;
    b.msr(PMCNTENSET_EL0, kCycleBit);
    b.msr(PMCCFILTR_EL0, 0);
    b.msr(PMCR_EL0, pmcr::E | pmcr::LC);
    b.totals.add(pmu_event::CPU_CYCLES, 50);
    b.msr(PMCR_EL0, pmcr::E | pmcr::C | pmcr::LC);
    b.totals.add(pmu_event::CPU_CYCLES, 3);
    CHECK(b.mrs(PMCCNTR_EL0) == 3);
}

TEST_CASE("below EL2 N and the counters are those below HPMN", "[PMUV3-046][PMUV3-047]") {
    Bench b;
    CHECK((b.mrs(PMCR_EL0) >> 11 & 31) == 6);
    for (unsigned n = 0; n < 6; ++n) b.msr(PMEVCNTR_EL0(n), 1);
    b.msr(MDCR_EL2, 4, EL::el2);
    CHECK((b.mrs(PMCR_EL0) >> 11 & 31) == 4);
    CHECK((b.mrs(PMCR_EL0, EL::el2) >> 11 & 31) == 6);
    b.msr(PMCR_EL0, pmcr::P); // at EL1: counters 0-3 only
    CHECK(b.mrs(PMEVCNTR_EL0(3)) == 0);
    CHECK(b.mrs(PMEVCNTR_EL0(4), EL::el2) == 1);
    CHECK(b.reading(PMEVCNTR_EL0(4)) == undefined);
    b.msr(PMCNTENSET_EL0, 0x3f);
    CHECK(b.mrs(PMCNTENSET_EL0, EL::el2) == 0x0f);
    b.msr(PMCR_EL0, pmcr::P, EL::el2);
    CHECK(b.mrs(PMEVCNTR_EL0(5), EL::el2) == 0);
    CHECK(b.reading(MDCR_EL2) == undefined);
}

TEST_CASE("the set and clear registers are two views of one mask", "[PMUV3-048]") {
    struct Pair {
        SysReg set, clear;
    };
    for (const Pair p : {Pair{PMCNTENSET_EL0, PMCNTENCLR_EL0}, Pair{PMINTENSET_EL1, PMINTENCLR_EL1},
                         Pair{PMOVSSET_EL0, PMOVSCLR_EL0}}) {
        Bench b;
        b.msr(p.set, ~std::uint64_t{0});
        CHECK(b.mrs(p.set) == 0x8000003f); // only the implemented ones
        b.msr(p.clear, 0x80000005);
        CHECK(b.mrs(p.clear) == 0x3a);
        b.msr(p.set, 0);
        b.msr(p.clear, 0);
        CHECK(b.mrs(p.set) == 0x3a);
        b.msr(p.set, 1);
        CHECK(b.mrs(p.clear) == 0x3b);
    }
}

TEST_CASE("PMSELR selects for PMXEVTYPER and PMXEVCNTR", "[PMUV3-049]") {
    Bench b;
    b.msr(PMSELR_EL0, 0xffe2);
    CHECK(b.mrs(PMSELR_EL0) == 2);
    b.msr(PMXEVTYPER_EL0, 0x40000008);
    b.msr(PMXEVCNTR_EL0, 77);
    CHECK(b.mrs(PMEVTYPER_EL0(2)) == 0x40000008);
    CHECK(b.mrs(PMEVCNTR_EL0(2)) == 77);
    CHECK(b.mrs(PMXEVCNTR_EL0) == 77);
    b.msr(PMSELR_EL0, 31);
    b.msr(PMXEVTYPER_EL0, 0x88000011);
    CHECK(b.mrs(PMCCFILTR_EL0) == 0x88000000);
    CHECK(b.mrs(PMXEVTYPER_EL0) == 0x88000000);
    CHECK(b.reading(PMXEVCNTR_EL0) == undefined);
    CHECK(b.writing(PMXEVCNTR_EL0) == undefined);
    b.msr(PMSELR_EL0, 6);
    CHECK(b.reading(PMXEVCNTR_EL0) == undefined);
    CHECK(b.writing(PMXEVTYPER_EL0) == undefined);
    for (unsigned n = 6; n < 31; ++n) {
        CHECK(b.reading(PMEVCNTR_EL0(n)) == undefined);
        CHECK(b.writing(PMEVTYPER_EL0(n)) == undefined);
    }
}

TEST_CASE("event counters have 32 bits, the cycle counter 64", "[PMUV3-050]") {
    Bench b;
    b.msr(PMEVCNTR_EL0(0), 0xabcdef0123456789);
    b.msr(PMCCNTR_EL0, 0xabcdef0123456789);
    CHECK(b.mrs(PMEVCNTR_EL0(0)) == 0x23456789);
    CHECK(b.mrs(PMCCNTR_EL0) == 0xabcdef0123456789);
}

TEST_CASE("fields of the type registers and PMCEID", "[PMUV3-051]") {
    Bench b;
    b.msr(PMEVTYPER_EL0(5), ~std::uint64_t{0});
    CHECK(b.mrs(PMEVTYPER_EL0(5)) == 0xfe00ffff);
    b.msr(PMCCFILTR_EL0, ~std::uint64_t{0});
    CHECK(b.mrs(PMCCFILTR_EL0) == 0xfc000000);
    CHECK(b.mrs(PMCEID0_EL0) == 0x7fff0f3f);
    CHECK(b.mrs(PMCEID1_EL0) == 0x00f2ae7f);
    CHECK(b.writing(PMCEID0_EL0) == undefined);
}

TEST_CASE("PMUSERENR decides what EL0 may do", "[PMUV3-066]") {
    struct Rights {
        SysReg reg;
        std::uint64_t read_bits, write_bits; // PMUSERENR bits any of which opens it; 0: never (trap)
    };
    constexpr std::uint64_t EN = 1, SW = 2, CR = 4, ER = 8;
    const Rights table[] = {
        {PMCR_EL0, EN, EN},
        {PMCNTENSET_EL0, EN, EN},
        {PMCNTENCLR_EL0, EN, EN},
        {PMOVSCLR_EL0, EN, EN},
        {PMSELR_EL0, EN | ER, EN | ER},
        {PMCCNTR_EL0, EN | CR, EN},
        {PMXEVTYPER_EL0, EN, EN},
        {PMXEVCNTR_EL0, EN | ER, EN},
        {PMOVSSET_EL0, EN, EN},
        {PMEVCNTR_EL0(3), EN | ER, EN},
        {PMEVTYPER_EL0(3), EN, EN},
        {PMCCFILTR_EL0, EN, EN},
    };
    for (std::uint64_t bits = 0; bits < 16; ++bits) {
        for (const Rights& r : table) {
            Bench b;
            b.msr(PMUSERENR_EL0, bits);
            INFO("PMUSERENR " << bits << " register " << std::hex << r.reg.encoding);
            CHECK(b.reading(r.reg, EL::el0) == (bits & r.read_bits ? ok : trap));
            CHECK(b.writing(r.reg, EL::el0) == (bits & r.write_bits ? ok : trap));
        }
        Bench b;
        b.msr(PMUSERENR_EL0, bits);
        CHECK(b.writing(PMSWINC_EL0, EL::el0) == (bits & (EN | SW) ? ok : trap));
        CHECK(b.reading(PMSWINC_EL0, EL::el0) == undefined);
        CHECK(b.reading(PMCEID0_EL0, EL::el0) == (bits & EN ? ok : trap));
        CHECK(b.writing(PMCEID0_EL0, EL::el0) == undefined);
        CHECK(b.mrs(PMUSERENR_EL0, EL::el0) == bits);
        CHECK(b.writing(PMUSERENR_EL0, EL::el0) == undefined);
        CHECK(b.reading(PMINTENSET_EL1, EL::el0) == undefined);
        CHECK(b.writing(PMINTENCLR_EL1, EL::el0) == undefined);
    }
    Bench b;
    b.msr(PMUSERENR_EL0, 0xffff);
    CHECK(b.mrs(PMUSERENR_EL0) == 0xf);
}

TEST_CASE("a refused write changes nothing", "[PMUV3-066]") {
    Bench b;
    b.msr(PMUSERENR_EL0, 0xe);
    b.msr(PMCCNTR_EL0, 5);
    CHECK(b.regs.write(PMCCNTR_EL0, 9, EL::el0).outcome == trap);
    CHECK(b.mrs(PMCCNTR_EL0) == 5);
}

TEST_CASE("the hypervisor's traps come after PMUSERENR", "[PMUV3-067]") {
    Bench b;
    b.msr(MDCR_EL2, 6 | mdcr_el2::TPM, EL::el2);
    auto a = b.regs.read(PMCCNTR_EL0, EL::el0);
    CHECK(a.outcome == trap);
    CHECK(a.target == EL::el1); // PMUSERENR first
    b.regs.write(PMUSERENR_EL0, 1, EL::el2);
    for (const EL el : {EL::el0, EL::el1}) {
        a = b.regs.read(PMCCNTR_EL0, el);
        CHECK(a.outcome == trap);
        CHECK(a.target == EL::el2);
    }
    CHECK(b.reading(PMCCNTR_EL0, EL::el2) == ok);

    b.msr(MDCR_EL2, 6 | mdcr_el2::TPMCR, EL::el2);
    CHECK(b.reading(PMCCNTR_EL0) == ok);
    CHECK(b.regs.read(PMCR_EL0, EL::el1).target == EL::el2);
    CHECK(b.reading(PMCR_EL0) == trap);
}

TEST_CASE("the firmware's trap reaches every lower level", "[PMUV3-067]") {
    Bench b({CpuId(0), kA76, 0, 0, 0, mdcr_el3::TPM});
    CHECK(b.regs.read(PMCCNTR_EL0, EL::el0).target == EL::el1);
    for (const EL el : {EL::el1, EL::el2}) {
        CHECK(b.reading(PMCCNTR_EL0, el) == trap);
        CHECK(b.regs.read(PMCCNTR_EL0, el).target == EL::el3);
    }
    CHECK(b.reading(PMCCNTR_EL0, EL::el3) == ok);
}

TEST_CASE("at reset EL0 may not read the cycle counter", "[PMUV3-068]") {
    Bench b;
    CHECK(b.mrs(PMUSERENR_EL0) == 0);
    const auto a = b.regs.read(PMCCNTR_EL0, EL::el0);
    CHECK(a.decoded);
    CHECK(a.outcome == trap);
}

TEST_CASE("a running counter never goes backwards", "[PMUV3-069]") {
    Bench b;
    b.msr(PMEVTYPER_EL0(0), pmu_event::INST_RETIRED);
    b.msr(PMCNTENSET_EL0, kCycleBit | 1);
    b.msr(PMCR_EL0, pmcr::E | pmcr::D);
    std::uint64_t cycles = 0, instructions = 0;
    for (unsigned step = 0; step < 2000; ++step) {
        b.totals.add(pmu_event::CPU_CYCLES, step % 7);
        b.totals.add(pmu_event::INST_RETIRED, step % 3);
        if (step % 11 == 0) b.msr(PMSELR_EL0, step % 6);
        if (step % 13 == 0) b.msr(PMEVTYPER_EL0(4), step); // folds
        const std::uint64_t c = b.mrs(PMCCNTR_EL0), i = b.mrs(PMEVCNTR_EL0(0));
        CHECK(c >= cycles);
        CHECK(i >= instructions);
        cycles = c;
        instructions = i;
    }
    CHECK(cycles == b.totals.total(pmu_event::CPU_CYCLES, EL::el0) / 64);
    CHECK(instructions == b.totals.total(pmu_event::INST_RETIRED, EL::el0));
}

TEST_CASE("the documentation is the table", "[PMUV3-044]") {
    const std::string text = register_documentation();
    for (const auto& row : Registers::rows())
        CHECK(text.find("| " + std::string(row.name) + " |") != std::string::npos);
    CHECK(text.find("| PMEVCNTR<n>_EL0 | 3 3 14 8 0 to 3 3 14 11 6 | RW | EN; reads ER | 0 | 32 bits |") !=
          std::string::npos);
}

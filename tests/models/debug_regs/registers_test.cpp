// SPDX-License-Identifier: Apache-2.0
// Encodings, fields, access rules, reset. Spec DBG-001 to 007, 013, 014, 060.
#include "models/debug_regs/registers.h"

#include <catch2/catch.hpp>

using namespace rkperf;
using namespace rkperf::debug;
using EL = ExceptionLevel;

namespace {

struct Bench {
    explicit Bench(DebugConfig c = {}) : regs(c) {}
    std::uint64_t mrs(SysReg r) {
        const auto a = regs.read(r, EL::el1);
        CHECK(a.outcome == SysRegOutcome::ok);
        return a.value;
    }
    void msr(SysReg r, std::uint64_t v) { CHECK(regs.write(r, v, EL::el1).outcome == SysRegOutcome::ok); }
    SysRegOutcome reading(SysReg r, EL el = EL::el1) { return regs.read(r, el).outcome; }
    SysRegOutcome writing(SysReg r, EL el = EL::el1) { return regs.write(r, 0, el).outcome; }
    Registers regs;
};

constexpr auto undefined = SysRegOutcome::undefined;
constexpr auto trap = SysRegOutcome::trap_el1;
constexpr std::uint64_t kAll = ~std::uint64_t{0};

} // namespace

TEST_CASE("encodings and numbers of registers", "[DBG-001]") {
    Bench b;
    for (unsigned n = 0; n < 16; ++n) {
        INFO(n);
        CHECK(b.reading(SysReg::make(2, 0, 0, n, 4)) == (n < 6 ? SysRegOutcome::ok : undefined));
        CHECK(b.reading(SysReg::make(2, 0, 0, n, 5)) == (n < 6 ? SysRegOutcome::ok : undefined));
        CHECK(b.reading(SysReg::make(2, 0, 0, n, 6)) == (n < 4 ? SysRegOutcome::ok : undefined));
        CHECK(b.writing(SysReg::make(2, 0, 0, n, 7)) == (n < 4 ? SysRegOutcome::ok : undefined));
    }
    CHECK(b.reading(SysReg::make(2, 0, 0, 2, 2)) == SysRegOutcome::ok); // MDSCR_EL1
    CHECK(b.reading(SysReg::make(2, 0, 1, 0, 4)) == undefined);         // OSLAR_EL1 is write-only
    CHECK(b.writing(SysReg::make(2, 0, 1, 0, 4)) == SysRegOutcome::ok);
    CHECK(b.writing(SysReg::make(2, 0, 1, 1, 4)) == undefined); // OSLSR_EL1 is read-only
    CHECK(b.reading(SysReg::make(2, 0, 1, 3, 4)) == SysRegOutcome::ok);
    CHECK(b.reading(SysReg::make(2, 0, 1, 4, 4)) == SysRegOutcome::ok);
}

TEST_CASE("fields that hold a value", "[DBG-002][DBG-003][DBG-004]") {
    Bench b;
    b.msr(sysreg::DBGBCR_EL1(5), kAll);
    CHECK(b.mrs(sysreg::DBGBCR_EL1(5)) == 0x00ffe1e7);
    b.msr(sysreg::DBGWCR_EL1(3), kAll);
    CHECK(b.mrs(sysreg::DBGWCR_EL1(3)) == 0x1f1fffff);
    b.msr(sysreg::DBGWVR_EL1(3), kAll);
    CHECK(b.mrs(sysreg::DBGWVR_EL1(3)) == (kAll & ~3ull));
    b.msr(sysreg::OSLAR_EL1, 0);
    b.msr(sysreg::MDSCR_EL1, kAll);
    CHECK((b.mrs(sysreg::MDSCR_EL1) & 0xffff) == 0xf001);
    b.msr(sysreg::MDSCR_EL1, mdscr::TDCC);
    CHECK(b.mrs(sysreg::MDSCR_EL1) == 0x1000);
}

TEST_CASE("what reset leaves unknown is awkward, and a warm reset keeps breakpoints", "[DBG-004][DBG-005][DBG-013]") {
    Bench b;
    CHECK(b.mrs(sysreg::OSLSR_EL1) == 0xa); // locked, OSLM 10
    CHECK((b.mrs(sysreg::MDSCR_EL1) & (mdscr::SS | mdscr::KDE | mdscr::MDE)) != 0);
    for (unsigned n = 0; n < 6; ++n) CHECK((b.mrs(sysreg::DBGBCR_EL1(n)) & 1) == 1);
    for (unsigned n = 0; n < 4; ++n) CHECK((b.mrs(sysreg::DBGWCR_EL1(n)) & 1) == 1);
    b.msr(sysreg::DBGBVR_EL1(2), 0x1234);
    b.msr(sysreg::DBGBCR_EL1(2), 0x1e5);
    b.msr(sysreg::OSLAR_EL1, 0);
    CHECK(b.mrs(sysreg::OSLSR_EL1) == 0x8);
    b.regs.warm_reset();
    CHECK(b.mrs(sysreg::OSLSR_EL1) == 0xa);
    CHECK(b.mrs(sysreg::DBGBVR_EL1(2)) == 0x1234);
    CHECK(b.mrs(sysreg::DBGBCR_EL1(2)) == 0x1e5);
}

TEST_CASE("the locks", "[DBG-013][DBG-014]") {
    Bench b;
    b.msr(sysreg::OSLAR_EL1, kAll - 1); // only bit 0 counts
    CHECK_FALSE(b.regs.state().os_lock);
    b.msr(sysreg::OSLAR_EL1, 1);
    CHECK(b.regs.state().os_lock);
    b.msr(sysreg::DBGBVR_EL1(0), 0x40); // accessible all the same
    CHECK(b.mrs(sysreg::DBGBVR_EL1(0)) == 0x40);
    b.msr(sysreg::OSDLR_EL1, 1);
    CHECK(b.regs.state().double_lock);
    b.msr(sysreg::DBGPRCR_EL1, 1);
    CHECK(b.regs.state().no_powerdown);
}

TEST_CASE("EL0 reaches nothing, and traps to EL2 have their groups", "[DBG-006]") {
    Bench b;
    for (const auto& row : Registers::rows()) {
        INFO(row.name);
        if (row.user) continue;
        CHECK(b.reading(row.encoding(0), EL::el0) == undefined);
        CHECK(b.writing(row.encoding(0), EL::el0) == undefined);
    }
    b.msr(sysreg::OSLAR_EL1, 0);
    b.msr(sysreg::MDSCR_EL1, 0);
    CHECK(b.reading(sysreg::MDCCSR_EL0, EL::el0) == SysRegOutcome::ok);
    b.msr(sysreg::MDSCR_EL1, mdscr::TDCC);
    CHECK(b.reading(sysreg::MDCCSR_EL0, EL::el0) == trap);

    DebugConfig tda;
    tda.mdcr_el2 = mdcr_el2::TDA;
    Bench d(tda);
    const auto a = d.regs.read(sysreg::MDSCR_EL1, EL::el1);
    CHECK(a.outcome == trap);
    CHECK(a.target == EL::el2);
    CHECK(d.reading(sysreg::MDSCR_EL1, EL::el2) == SysRegOutcome::ok);
    CHECK(d.reading(sysreg::OSLSR_EL1) == SysRegOutcome::ok);
    DebugConfig tdosa;
    tdosa.mdcr_el2 = mdcr_el2::TDOSA;
    Bench o(tdosa);
    CHECK(o.reading(sysreg::OSLSR_EL1) == trap);
    CHECK(o.reading(sysreg::MDSCR_EL1) == SysRegOutcome::ok);
}

TEST_CASE("a write says whether it may change what matches, at once", "[DBG-007]") {
    Bench b;
    CHECK(b.regs.write(sysreg::DBGBCR_EL1(0), 0x1e5, EL::el1).changes_matching);
    CHECK(b.regs.state().bp[0].control == 0x1e5);
    CHECK(b.regs.write(sysreg::MDSCR_EL1, mdscr::MDE, EL::el1).changes_matching);
    CHECK(b.regs.write(sysreg::CONTEXTIDR_EL1, 9, EL::el1).changes_matching);
    CHECK(b.regs.state().contextidr_el1 == 9);
    CHECK_FALSE(b.regs.write(sysreg::DBGCLAIMSET_EL1, 3, EL::el1).changes_matching);
    CHECK(b.mrs(sysreg::DBGCLAIMCLR_EL1) == 3);
    b.msr(sysreg::DBGCLAIMCLR_EL1, 1);
    CHECK(b.mrs(sysreg::DBGCLAIMCLR_EL1) == 2);
}

TEST_CASE("the table documents itself", "[DBG-001]") {
    const std::string text = register_documentation();
    for (const auto& row : Registers::rows()) CHECK(text.find(row.name) != std::string::npos);
    CHECK(text.find("| DBGBCR<n>_EL1 | 2 0 0 n 5 | RW | no |") != std::string::npos);
}

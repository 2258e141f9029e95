// SPDX-License-Identifier: Apache-2.0
// MDSCR_EL1, single-stepping, hooks, dispatch. Spec DBG-050, 051, 057 to 072; HWBP-089.
#include "kernel_events/debug_monitors.h"
#include "tests/kernel_events/fixture.h"

#include <csignal>

using namespace rkperf;
using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {

struct Bench {
    FakeKernel k{2};
    DebugMonitors m{k};
    FakeTask& task{k.make_task(100, "first")};
    Bench() {
        task.on_cpu = 0;
        k.here().current = &task;
        m.cpu_starting();
    }
    std::uint32_t mdscr() { return static_cast<std::uint32_t>(k.here().debug[sysreg::MDSCR_EL1.encoding]); }
    bool mde() { return mdscr() & mdscr::MDE; }
    bool kde() { return mdscr() & mdscr::KDE; }
    void exception(std::uint32_t ec, std::uint32_t iss, PtRegs& regs) {
        m.do_debug_exception(regs.pc, esr::make(ec, iss), regs);
    }
    static PtRegs kernel_regs() {
        PtRegs r;
        r.pstate = 5;
        return r;
    }
};

} // namespace

TEST_CASE("a CPU starts with the locks open and MDSCR_EL1 at TDCC", "[DBG-004][DBG-061]") {
    Bench b;
    REQUIRE(b.k.debug_writes.size() == 3);
    CHECK(b.k.debug_writes[0].reg == sysreg::MDSCR_EL1);
    CHECK(b.k.debug_writes[0].value == 0x1000);
    CHECK(b.k.debug_writes[1].reg == sysreg::OSDLR_EL1);
    CHECK(b.k.debug_writes[1].value == 0);
    CHECK(b.k.debug_writes[2].reg == sysreg::OSLAR_EL1);
    CHECK(b.k.debug_writes[2].value == 0);
}

TEST_CASE("monitors are counted per CPU", "[DBG-057][DBG-060]") {
    Bench b;
    b.m.enable_debug_monitors(DbgActiveEl::el0);
    CHECK(b.mde());
    CHECK_FALSE(b.kde());
    b.m.enable_debug_monitors(DbgActiveEl::el1);
    CHECK(b.kde());
    const auto writes = b.k.debug_writes.size();
    b.m.enable_debug_monitors(DbgActiveEl::el1);
    CHECK(b.k.debug_writes.size() == writes);
    b.k.on_cpu(1);
    CHECK_FALSE(b.mde());
    b.m.enable_debug_monitors(DbgActiveEl::el0);
    CHECK(b.mde());
}

TEST_CASE("nodebugmon leaves the register alone, but counts", "[DBG-057]") {
    Bench b;
    b.m.debug_enabled = false;
    b.m.enable_debug_monitors(DbgActiveEl::el1);
    CHECK_FALSE(b.mde());
    b.m.debug_enabled = true;
    b.m.enable_debug_monitors(DbgActiveEl::el1);
    CHECK_FALSE(b.mde()); // the second user does not write
}

TEST_CASE("KDE goes only with MDE", "[DBG-058][DBG-059][HWBP-089]") {
    Bench b;
    b.m.enable_debug_monitors(DbgActiveEl::el0);
    b.m.enable_debug_monitors(DbgActiveEl::el1);
    b.m.disable_debug_monitors(DbgActiveEl::el1);
    CHECK(b.mde());
    CHECK(b.kde()); // stays, and kernel accesses to watched user memory go on being caught
    b.m.disable_debug_monitors(DbgActiveEl::el0);
    CHECK_FALSE(b.mde());
    CHECK(b.kde());
    b.m.enable_debug_monitors(DbgActiveEl::el1);
    b.m.disable_debug_monitors(DbgActiveEl::el1); // both counts reach 0 together
    CHECK_FALSE(b.mde());
    CHECK_FALSE(b.kde());
    // A user watchpoint alone never turns KDE on.
    b.m.enable_debug_monitors(DbgActiveEl::el0);
    CHECK_FALSE(b.kde());
}

TEST_CASE("single-stepping of user code", "[DBG-063][DBG-064]") {
    Bench b;
    PtRegs& regs = b.task.regs;
    b.m.user_rewind_single_step(b.task);
    CHECK((regs.pstate & spsr::SS) == 0); // not being stepped
    b.m.user_enable_single_step(b.task);
    CHECK((regs.pstate & spsr::SS) != 0);
    regs.pstate = 0;
    b.m.user_enable_single_step(b.task); // was on already: SS stays
    CHECK((regs.pstate & spsr::SS) == 0);
    b.m.user_rewind_single_step(b.task);
    CHECK((regs.pstate & spsr::SS) != 0);
    b.m.user_fastforward_single_step(b.task);
    CHECK((regs.pstate & spsr::SS) == 0);
    b.m.user_regs_reset_single_step(regs, b.task);
    CHECK((regs.pstate & spsr::SS) != 0);
    b.m.enable_step_tsk(b.task);
    CHECK((b.mdscr() & mdscr::SS) != 0);
    b.m.disable_step_tsk(b.task);
    CHECK((b.mdscr() & mdscr::SS) == 0);
    b.m.user_disable_single_step(b.task);
    CHECK((regs.pstate & spsr::SS) != 0); // only the flag goes
    b.m.enable_step_tsk(b.task);
    CHECK((b.mdscr() & mdscr::SS) == 0);
    b.m.user_fastforward_single_step(b.task);
    CHECK((regs.pstate & spsr::SS) != 0);
    b.m.user_regs_reset_single_step(regs, b.task);
    CHECK((regs.pstate & spsr::SS) == 0);
}

TEST_CASE("single-stepping of kernel code", "[DBG-065]") {
    Bench b;
    PtRegs regs = Bench::kernel_regs();
    CHECK_FALSE(b.m.kernel_active_single_step());
    b.m.kernel_enable_single_step(regs);
    CHECK((regs.pstate & spsr::SS) != 0);
    CHECK(b.m.kernel_active_single_step());
    CHECK(b.kde());
    b.m.kernel_disable_single_step();
    CHECK_FALSE(b.m.kernel_active_single_step());
    CHECK_FALSE(b.kde());
}

TEST_CASE("exceptions go by ESR bits 29:27", "[DBG-050][DBG-051][DBG-066][DBG-067]") {
    CHECK(esr::make(esr::kBreakpointLower, 0x22) == 0xc2000022);
    CHECK(esr::make(esr::kBrk, 5) == 0xf2000005);
    struct Case {
        std::uint32_t ec;
        DbgEvt evt;
        int signo, code;
    };
    const Case cases[] = {{0x30, DbgEvt::hwbp, SIGTRAP, ke::TRAP_HWBKPT},
                          {0x34, DbgEvt::hwwp, SIGTRAP, ke::TRAP_HWBKPT},
                          {0x38, DbgEvt::bkpt32, SIGTRAP, ke::TRAP_BRKPT},
                          {0x3a, DbgEvt::vector_catch, SIGKILL, 0}};
    for (const Case& c : cases) {
        Bench b;
        CHECK(dbg_esr_evt(esr::make(c.ec, 0)) == static_cast<unsigned>(c.evt));
        b.task.regs.pc = 0x1234;
        b.exception(c.ec, 0x22, b.task.regs);
        REQUIRE(b.k.faults.size() == 1);
        CHECK(b.k.faults[0].signo == c.signo);
        CHECK(b.k.faults[0].code == c.code);
        CHECK(b.k.faults[0].addr == 0x1234);
        CHECK(b.k.faults[0].esr == esr::make(c.ec, 0x22));
        CHECK(b.k.preempt_count == 0);
        // A handler takes it over; from the kernel nobody may decline.
        int disabled = 0;
        b.m.hook_debug_fault_code(
            c.evt, [&](std::uint64_t, std::uint32_t, PtRegs&) { return disabled = b.k.preempt_count, 0; }, SIGTRAP, 0);
        PtRegs kernel = Bench::kernel_regs();
        b.exception(c.ec + 1 - (c.ec == 0x38 || c.ec == 0x3a), 0x22, kernel);
        CHECK(disabled == 1);
        CHECK(b.k.faults.size() == 1);
        b.m.hook_debug_fault_code(
            c.evt, [](std::uint64_t, std::uint32_t, PtRegs&) { return 1; }, SIGTRAP, 0);
        CHECK_THROWS_AS(b.exception(c.ec, 0x22, kernel), std::logic_error);
    }
}

TEST_CASE("the step handler: suspended breakpoints, hooks, signal", "[DBG-066][DBG-069]") {
    Bench b;
    PtRegs& regs = b.task.regs;
    b.m.user_enable_single_step(b.task);
    const auto step = [&](PtRegs& r) {
        r.pstate &= ~spsr::SS;
        b.exception(esr::kStepLower, 0x22, r);
    };
    regs.pc = 0x4000;
    step(regs);
    REQUIRE(b.k.faults.size() == 1);
    CHECK(b.k.faults[0].code == ke::TRAP_TRACE);
    CHECK(b.k.faults[0].addr == 0x4000);
    CHECK(b.k.faults[0].esr == 0);        // thread.fault_code stays
    CHECK((regs.pstate & spsr::SS) != 0); // goes on stepping
    std::vector<int> asked;
    b.m.register_user_step_hook([&](PtRegs&, std::uint32_t) { return asked.push_back(1), true; });
    b.m.register_user_step_hook([&](PtRegs&, std::uint32_t) { return asked.push_back(2), false; });
    step(regs);
    CHECK(asked == std::vector<int>{2, 1});
    CHECK(b.k.faults.size() == 1);
    b.m.set_reinstall_suspended_bps([&](PtRegs&) { return 0; });
    step(regs);
    CHECK(asked.size() == 2);
    b.m.set_reinstall_suspended_bps([&](PtRegs&) { return 1; });
    PtRegs kernel = Bench::kernel_regs();
    step(kernel);
    CHECK(asked.size() == 2);
    CHECK((kernel.pstate & spsr::SS) != 0);
    CHECK(b.k.log.back() == "Unexpected kernel single-step exception at EL1");
}

TEST_CASE("BRK hooks go by immediate; the first registered wins", "[DBG-070][DBG-071]") {
    CHECK(aarch64_brk(UPROBES_BRK_IMM) == 0xd42000a0);
    CHECK(aarch64_brk(KPROBES_BRK_IMM) == 0xd4200080);
    CHECK(KPROBES_BRK_SS_IMM == 6);
    CHECK(BUG_BRK_IMM == 0x800);
    Bench b;
    PtRegs& regs = b.task.regs;
    regs.pc = 0x4000;
    std::vector<int> called;
    const auto hook = [&](int n, bool result) {
        return [&called, n, result](PtRegs&, std::uint32_t) { return called.push_back(n), result; };
    };
    b.m.register_user_break_hook(5, 0, hook(1, true));
    b.m.register_user_break_hook(5, 0, hook(2, true));
    b.m.register_user_break_hook(KASAN_BRK_IMM, KASAN_BRK_MASK, hook(3, true));
    b.m.register_user_break_hook(7, 0, hook(4, false));
    b.m.register_kernel_break_hook(5, 0, hook(5, true));
    for (const std::uint32_t imm : {5u, 0x93fu}) b.exception(esr::kBrk, imm, regs);
    CHECK(called == std::vector<int>{1, 3});
    CHECK(b.k.faults.empty());
    b.exception(esr::kBrk, 7, regs);     // declined
    b.exception(esr::kBrk, 0xa00, regs); // nobody's
    REQUIRE(b.k.faults.size() == 2);
    CHECK(b.k.faults[1].code == ke::TRAP_BRKPT);
    CHECK(b.k.faults[1].addr == 0x4000);
    PtRegs kernel = Bench::kernel_regs();
    b.exception(esr::kBrk, 5, kernel);
    CHECK(called.back() == 5);
    CHECK_THROWS_AS(b.exception(esr::kBrk, 0x800, kernel), std::logic_error);
}

TEST_CASE("breakpoints of AArch32 programs are undefined instructions", "[DBG-072]") {
    CHECK(DebugMonitors::aarch32_break(0xe7f001f0, false));
    CHECK(DebugMonitors::aarch32_break(0x07f001f0, false)); // any condition
    CHECK_FALSE(DebugMonitors::aarch32_break(0xe7f001f1, false));
    CHECK(DebugMonitors::aarch32_break(0x1234de01, true));
    CHECK(DebugMonitors::aarch32_break(0xa000f7f0, true));
    CHECK_FALSE(DebugMonitors::aarch32_break(0xa001f7f0, true));
}

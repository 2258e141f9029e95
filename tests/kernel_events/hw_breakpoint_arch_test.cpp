// SPDX-License-Identifier: Apache-2.0
// arm64: attributes, registers, exceptions, stepping over a hit, switches. Spec HWBP-045 to 083, 089.
#include "kernel_events/hw_breakpoint.h"
#include "tests/kernel_events/fixture.h"

using namespace rkperf;
using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {

constexpr std::uint64_t kCode = 0x400100, kData = 0x500000, kKernel = 0xffff'8000'0800'0000;
constexpr std::uint64_t kTaskSize = 1ull << 48;

perf_event_attr bp_attr(unsigned type, std::uint64_t addr, std::uint64_t len) {
    perf_event_attr a = World::attr(PERF_TYPE_BREAKPOINT, 0);
    a.bp_type = type;
    a.bp_addr = addr;
    a.bp_len = len;
    return a;
}

struct Arch : World {
    HwBreakpoints& hw() { return perf.hw_breakpoints(); }
    DebugMonitors& mon() { return perf.debug_monitors(); }
    std::uint64_t reg(SysReg r) { return k.here().debug[r.encoding]; }
    std::uint64_t bcr(unsigned n) { return reg(sysreg::DBGBCR_EL1(n)); }
    std::uint64_t wcr(unsigned n) { return reg(sysreg::DBGWCR_EL1(n)); }
    int live(const perf_event_attr& a, int pid = 0, int cpu = -1) {
        const int fd = must_open(a, pid, cpu);
        enable(fd);
        return fd;
    }
    /// A breakpoint exception at pc of the current user code.
    void hit(std::uint64_t pc) {
        task_regs().pc = pc;
        mon().do_debug_exception(pc, esr::make(esr::kBreakpointLower, esr::kDebugFault), task_regs());
    }
    void watch(std::uint64_t far, bool write, PtRegs* regs = nullptr) {
        PtRegs& r = regs ? *regs : task_regs();
        mon().do_debug_exception(far, esr::make(esr::kWatchpointLower, esr::kDebugFault | (write ? esr::kWnR : 0)), r);
    }
    void stepped(PtRegs* regs = nullptr) {
        PtRegs& r = regs ? *regs : task_regs();
        r.pc += 4;
        mon().do_debug_exception(r.pc, esr::make(esr::kStepLower, esr::kDebugFault | esr::kISV), r);
    }
    PtRegs& task_regs() { return *k.task_pt_regs(k.current()); }
    static PtRegs kernel_regs() {
        PtRegs r;
        r.pstate = 5;
        r.pc = kKernel;
        return r;
    }
    /// What parsing makes of an attr for a bp of the task.
    int parse(const perf_event_attr& a, ArchBreakpoint& out, TaskBase* target) {
        PerfEvent e;
        e.hw.target = target;
        return hw().hw_breakpoint_parse(e, a, out);
    }
};

} // namespace

TEST_CASE("type and length", "[HWBP-045][HWBP-046][HWBP-047][HWBP-056]") {
    Arch w;
    ArchBreakpoint hw;
    for (unsigned type = 0; type < 16; ++type) {
        INFO(type);
        CHECK((w.parse(bp_attr(type, kData, 4), hw, &w.task) == 0) == (type >= 1 && type <= 4));
    }
    for (std::uint64_t len = 0; len <= 9; ++len)
        for (const unsigned type : {HW_BREAKPOINT_X, HW_BREAKPOINT_W}) {
            const int error = w.parse(bp_attr(type, kData, len), hw, &w.task);
            CHECK(error == (len >= 1 && len <= 8 ? 0 : -EINVAL));
            if (!error) CHECK(hw.ctrl.len == (type == HW_BREAKPOINT_X ? 0xfu : (1u << len) - 1));
        }
    CHECK_FALSE(hw.ctrl.enabled);
    CHECK(w.parse(World::on(bp_attr(HW_BREAKPOINT_W, kData, 8)), hw, &w.task) == 0);
    CHECK(hw.ctrl.enabled);
}

TEST_CASE("alignment of watchpoints and breakpoints", "[HWBP-049][HWBP-050]") {
    Arch w;
    ArchBreakpoint hw;
    for (unsigned len = 1; len <= 8; ++len)
        for (unsigned off = 0; off < 8; ++off) {
            INFO(len << "@" << off);
            // rr#2593: what does not fit into one doubleword is refused, not cut.
            const int error = w.parse(bp_attr(HW_BREAKPOINT_RW, kData + off, len), hw, &w.task);
            CHECK(error == (off + len <= 8 ? 0 : -EINVAL));
            if (error) continue;
            CHECK(hw.address == kData);
            CHECK(hw.ctrl.len == ((1u << len) - 1) << off);
        }
    for (unsigned off = 0; off < 4; ++off) {
        CHECK(w.parse(bp_attr(HW_BREAKPOINT_X, kCode + off, 4), hw, &w.task) == 0);
        CHECK(hw.address == kCode);
        CHECK(hw.ctrl.len == 0xfu << off); // bit 0 is clear unless off is 0: never matches A64
    }
}

TEST_CASE("compat tasks have rules of their own; bps without a task have not", "[HWBP-046][HWBP-051][HWBP-055]") {
    Arch w;
    w.task.compat = true;
    ArchBreakpoint hw;
    for (std::uint64_t len = 1; len <= 8; ++len)
        CHECK((w.parse(bp_attr(HW_BREAKPOINT_X, kCode, len), hw, &w.task) == 0) == (len == 2 || len == 4));
    const auto ok = [&](std::uint64_t off, std::uint64_t len) {
        return w.parse(bp_attr(HW_BREAKPOINT_W, kData + off, len), hw, &w.task) == 0;
    };
    for (std::uint64_t len = 1; len <= 8; ++len)
        for (std::uint64_t off = 0; off < 8; ++off) {
            INFO(len << "@" << off);
            const std::uint64_t o = len == 8 ? off : off & 3;
            const bool expected = o == 0 || ((o == 1 || o == 2) && len <= 2) || (o == 3 && len == 1);
            CHECK(ok(off, len) == expected);
        }
    CHECK(w.parse(bp_attr(HW_BREAKPOINT_X, kCode, 7), hw, nullptr) == 0);
    CHECK(w.parse(bp_attr(HW_BREAKPOINT_W, kData + 3, 5), hw, nullptr) == 0);
}

TEST_CASE("kernel addresses", "[HWBP-048][HWBP-052][HWBP-053][HWBP-054]") {
    Arch w;
    ArchBreakpoint hw;
    perf_event_attr a = bp_attr(HW_BREAKPOINT_W, kKernel, 8);
    a.exclude_kernel = 0;
    CHECK(w.parse(a, hw, nullptr) == 0);
    CHECK(hw.ctrl.privilege == ArchBreakpoint::kEl1);
    CHECK(w.parse(a, hw, &w.task) == -EINVAL);
    a.exclude_kernel = 1;
    CHECK(w.parse(a, hw, nullptr) == -EINVAL);
    a.exclude_kernel = 0;
    w.k.cap_sys_admin = false;
    CHECK(w.parse(a, hw, nullptr) == -EPERM);
    a.exclude_kernel = 1; // EINVAL comes first
    CHECK(w.parse(a, hw, nullptr) == -EINVAL);
    // User addresses need neither.
    CHECK(w.parse(bp_attr(HW_BREAKPOINT_W, kData, 8), hw, nullptr) == 0);
    CHECK(hw.ctrl.privilege == ArchBreakpoint::kEl0);
    // A range that begins below the end of user space is the user's.
    CHECK(w.parse(bp_attr(HW_BREAKPOINT_W, kTaskSize - 8, 8), hw, &w.task) == 0);
    CHECK(hw.ctrl.privilege == ArchBreakpoint::kEl0);
    a.exclude_kernel = 0;
    a.bp_addr = kTaskSize;
    w.k.cap_sys_admin = true;
    CHECK(w.parse(a, hw, nullptr) == 0);
    CHECK(hw.ctrl.privilege == ArchBreakpoint::kEl1);
    // The second test sees the shifted mask, which counts as length 0: at the very start of kernel space it does not see it.
    w.k.cap_sys_admin = false;
    a.bp_addr = kTaskSize + 4;
    a.bp_len = 4;
    CHECK(w.parse(a, hw, nullptr) == 0);
    a.bp_addr = kTaskSize + 12;
    CHECK(w.parse(a, hw, nullptr) == -EPERM);
}

TEST_CASE("control words", "[HWBP-060][HWBP-058]") {
    Arch w;
    const auto word = [&](unsigned type, std::uint64_t addr, std::uint64_t len) {
        perf_event_attr a = bp_attr(type, addr, len);
        a.exclude_kernel = addr < kTaskSize;
        ArchBreakpoint hw;
        REQUIRE(w.parse(a, hw, nullptr) == 0);
        return w.hw().encode_ctrl_reg(hw.ctrl) | 1;
    };
    CHECK(word(HW_BREAKPOINT_X, kCode, 8) == 0x1e5);
    CHECK(word(HW_BREAKPOINT_RW, kData, 4) == 0x1fd);
    CHECK(word(HW_BREAKPOINT_W, kData, 8) == 0x1ff5);
    CHECK(word(HW_BREAKPOINT_RW, kKernel, 8) == 0x1ffb);
    w.p().config.kernel_in_hyp_mode = true;
    CHECK(word(HW_BREAKPOINT_RW, kKernel, 8) == 0x3ffb);
    CHECK(word(HW_BREAKPOINT_X, kCode, 8) == 0x1e5);
}

TEST_CASE("install and uninstall: order of the writes, lowest free slot", "[HWBP-006][HWBP-057][HWBP-058][HWBP-061]") {
    Arch w;
    w.k.debug_writes.clear();
    const int a = w.live(bp_attr(HW_BREAKPOINT_X, kCode, 8));
    REQUIRE(w.k.debug_writes.size() == 3);
    CHECK(w.k.debug_writes[0].reg == sysreg::MDSCR_EL1);
    CHECK((w.k.debug_writes[0].value & mdscr::MDE) != 0);
    CHECK(w.k.debug_writes[1].reg == sysreg::DBGBVR_EL1(0));
    CHECK(w.k.debug_writes[1].value == kCode);
    CHECK(w.k.debug_writes[2].reg == sysreg::DBGBCR_EL1(0));
    CHECK(w.k.debug_writes[2].value == 0x1e5);
    const int b = w.live(bp_attr(HW_BREAKPOINT_X, kCode + 4, 8));
    CHECK(w.bcr(1) == 0x1e5);
    w.k.debug_writes.clear();
    w.disable(a);
    REQUIRE(w.k.debug_writes.size() == 1); // MDE is still needed, the value stays
    CHECK(w.k.debug_writes[0].reg == sysreg::DBGBCR_EL1(0));
    CHECK(w.k.debug_writes[0].value == 0);
    PerfEvent c; // not by the scheduler, which would take b out and in too
    c.hw.breakpoint = std::make_shared<ArchBreakpoint>(*w.event(b).hw.breakpoint);
    c.hw.breakpoint->address = kCode + 8;
    CHECK(w.hw().arch_install_hw_breakpoint(c) == 0);
    CHECK(w.reg(sysreg::DBGBVR_EL1(0)) == kCode + 8);
    w.k.debug_writes.clear();
    w.hw().arch_uninstall_hw_breakpoint(c);
    w.disable(b);
    REQUIRE(w.k.debug_writes.size() == 3);
    CHECK(w.k.debug_writes[1].reg == sysreg::DBGBCR_EL1(1));
    CHECK(w.k.debug_writes[2].reg == sysreg::MDSCR_EL1);
    CHECK((w.k.debug_writes[2].value & mdscr::MDE) == 0);
    // The scheduler cannot ask for more than there is, but a caller could.
    w.k.close(a);
    w.k.close(b);
    std::vector<PerfEvent*> six;
    for (int i = 0; i < 6; ++i) six.push_back(&w.event(w.live(bp_attr(HW_BREAKPOINT_X, kCode, 8))));
    PerfEvent extra;
    extra.hw.breakpoint = std::make_shared<ArchBreakpoint>(*six[0]->hw.breakpoint);
    const auto log = w.k.log.size();
    CHECK(w.hw().arch_install_hw_breakpoint(extra) == -ENOSPC);
    CHECK(w.hw().arch_install_hw_breakpoint(extra) == -ENOSPC);
    CHECK(w.k.log.size() == log + 1); // once
}

TEST_CASE("an event counts hits unless stopped or excluded; read changes nothing", "[HWBP-001][HWBP-007][HWBP-008]") {
    Arch w;
    perf_event_attr a = bp_attr(HW_BREAKPOINT_X, kCode, 8);
    const int fd = w.live(a);
    CHECK(w.count(fd) == 0);
    w.hit(kCode);
    w.stepped();
    CHECK(w.count(fd) == 1);
    w.event(fd).hw.state = PERF_HES_STOPPED; // throttled
    w.hit(kCode);
    CHECK(w.task.debug.bps_disabled); // stepped over all the same
    w.stepped();
    CHECK(w.count(fd) == 1);
    w.k.close(fd);
    a.exclude_user = 1;
    a.exclude_kernel = 0;
    const int excluded = w.live(a);
    w.hit(kCode);
    CHECK(w.task.debug.bps_disabled);
    w.stepped();
    CHECK(w.count(excluded) == 0);
}

TEST_CASE("a hit breakpoint is stepped over", "[HWBP-064][HWBP-065][HWBP-066][HWBP-069][HWBP-078][HWBP-082]") {
    Arch w;
    const int fd = w.live(bp_attr(HW_BREAKPOINT_X, kCode, 8));
    const int off = w.must_open(bp_attr(HW_BREAKPOINT_X, kCode + 4, 8));
    const int wp = w.live(bp_attr(HW_BREAKPOINT_W, kData, 8));
    w.hit(kCode);
    CHECK(w.bcr(0) == 0x1e4);
    CHECK(w.bcr(1) == 0);
    CHECK(w.wcr(0) == 0x1ff5); // only breakpoints
    CHECK(w.task.tif_singlestep);
    CHECK((w.task_regs().pstate & spsr::SS) != 0);
    CHECK(w.event(fd).hw.breakpoint->trigger == kCode);
    w.stepped();
    CHECK(w.bcr(0) == 0x1e5);
    CHECK_FALSE(w.task.tif_singlestep);
    CHECK_FALSE(w.task.debug.bps_disabled);
    CHECK(w.k.faults.empty());
    CHECK(w.count(fd) == 1);
    CHECK(w.count(off) == 0);
    CHECK(w.count(wp) == 0);
}

TEST_CASE("all slots that match are reported, whatever their enable bits", "[HWBP-064]") {
    Arch w;
    const int a = w.live(bp_attr(HW_BREAKPOINT_X, kCode, 8));
    const int b = w.live(bp_attr(HW_BREAKPOINT_X, kCode, 8));
    const int c = w.live(bp_attr(HW_BREAKPOINT_X, kCode + 2, 4));
    w.k.here().debug[sysreg::DBGBCR_EL1(1).encoding] &= ~1ull;
    w.hit(kCode);
    w.stepped();
    CHECK(w.count(a) == 1);
    CHECK(w.count(b) == 1);
    CHECK(w.count(c) == 0);
}

TEST_CASE("an exception that no slot explains is taken for handled", "[HWBP-068][HWBP-072]") {
    Arch w;
    w.live(bp_attr(HW_BREAKPOINT_X, kCode, 8));
    w.hit(kCode + 40);
    w.watch(kData, true); // no watchpoint at all
    CHECK(w.k.faults.empty());
    CHECK_FALSE(w.task.tif_singlestep);
}

TEST_CASE("a debugger's step goes on after the kernel's own", "[HWBP-066][HWBP-078]") {
    // rr#4100: the tracer's step must not be swallowed by a perf breakpoint on the same instruction.
    Arch w;
    const int fd = w.live(bp_attr(HW_BREAKPOINT_X, kCode, 8));
    w.mon().user_enable_single_step(w.task);
    w.hit(kCode);
    CHECK(w.task.debug.suspended_step);
    w.stepped();
    CHECK(w.count(fd) == 1);
    CHECK(w.bcr(0) == 0x1e5);
    CHECK_FALSE(w.task.debug.suspended_step);
    CHECK(w.task.tif_singlestep); // still the debugger's
    REQUIRE(w.k.faults.size() == 1);
    CHECK(w.k.faults[0].code == ke::TRAP_TRACE);
    CHECK(w.k.faults[0].addr == kCode + 4);
}

TEST_CASE("a breakpoint and a watchpoint of one instruction share the step", "[HWBP-080][HWBP-066][HWBP-076]") {
    Arch w;
    const int x = w.live(bp_attr(HW_BREAKPOINT_X, kCode, 8)), d = w.live(bp_attr(HW_BREAKPOINT_W, kData, 8));
    w.hit(kCode);
    CHECK_FALSE(w.task.debug.suspended_step);
    w.watch(kData, true);
    CHECK_FALSE(w.task.debug.suspended_step); // the step of the breakpoint is enough
    CHECK(w.bcr(0) == 0x1e4);
    CHECK(w.wcr(0) == 0x1ff4);
    w.stepped();
    CHECK(w.bcr(0) == 0x1e5);
    CHECK(w.wcr(0) == 0x1ff5);
    CHECK_FALSE(w.task.tif_singlestep);
    CHECK(w.k.faults.empty());
    CHECK(w.count(x) == 1);
    CHECK(w.count(d) == 1);
}

TEST_CASE("bps with a callback of their own are not stepped", "[HWBP-065][HWBP-088]") {
    Arch w;
    perf_event_attr a;
    HwBreakpoints::ptrace_breakpoint_init(a);
    a.bp_addr = kCode;
    a.bp_len = 4;
    a.bp_type = HW_BREAKPOINT_X;
    int error = 0;
    int called = 0;
    PerfEvent* bp = w.hw().register_user_hw_breakpoint(
        a, [&](PerfEvent&, PerfSampleData&, PtRegs&) { ++called; }, w.task, error);
    REQUIRE(bp);
    w.hit(kCode);
    CHECK(called == 1);
    CHECK_FALSE(w.task.tif_singlestep);
    CHECK(w.bcr(0) == 0x1e5);
    const int fd = w.live(bp_attr(HW_BREAKPOINT_X, kCode, 8)); // beside a default one both are stepped over
    w.hit(kCode);
    CHECK(called == 2);
    CHECK(w.bcr(0) == 0x1e4);
    w.stepped();
    CHECK(w.count(fd) == 1);
    w.hw().unregister_hw_breakpoint(bp);
}

TEST_CASE("the kind of access selects watchpoints", "[HWBP-070]") {
    Arch w;
    const int r = w.live(bp_attr(HW_BREAKPOINT_R, kData, 8)), wr = w.live(bp_attr(HW_BREAKPOINT_W, kData, 8)),
              rw = w.live(bp_attr(HW_BREAKPOINT_RW, kData, 8));
    w.watch(kData, false);
    w.stepped();
    w.watch(kData, true);
    w.stepped();
    w.watch(kData, true);
    w.stepped();
    CHECK(w.count(r) == 1);
    CHECK(w.count(wr) == 2);
    CHECK(w.count(rw) == 3);
}

TEST_CASE("the nearest watchpoint gets what none contains", "[HWBP-071][HWBP-072][HWBP-073][HWBP-074]") {
    Arch w;
    const int a = w.live(bp_attr(HW_BREAKPOINT_W, kData + 8, 4)), b = w.live(bp_attr(HW_BREAKPOINT_W, kData + 28, 4));
    const auto counts = [&] { return std::pair(w.count(a), w.count(b)); };
    const auto store = [&](std::uint64_t far) {
        w.watch(far, true);
        CHECK(w.task.debug.wps_disabled);
        w.stepped();
    };
    store(kData + 11);
    CHECK(counts() == std::pair<std::uint64_t, std::uint64_t>(1, 0));
    CHECK(w.event(a).hw.breakpoint->trigger == kData + 11);
    store(kData); // 8 below the first
    CHECK(counts() == std::pair<std::uint64_t, std::uint64_t>(2, 0));
    store(kData + 24); // 13 above the first, 4 below the second
    CHECK(counts() == std::pair<std::uint64_t, std::uint64_t>(2, 1));
    store((0xabull << 56) | (kData + 30)); // the tag does not count
    CHECK(counts() == std::pair<std::uint64_t, std::uint64_t>(2, 2));
    const int same = w.live(bp_attr(HW_BREAKPOINT_W, kData + 8, 4)); // on ties the lower slot
    store(kData + 4);
    CHECK(w.count(a) == 3);
    CHECK(w.count(same) == 0);
    store(kData + 9); // all that contain it
    CHECK(w.count(a) == 4);
    CHECK(w.count(same) == 1);
}

TEST_CASE("of several exact matches the last one decides about the step", "[HWBP-075]") {
    for (const bool own_last : {false, true}) {
        Arch w;
        perf_event_attr a;
        HwBreakpoints::ptrace_breakpoint_init(a);
        a.bp_addr = kData;
        a.bp_len = 8;
        a.bp_type = HW_BREAKPOINT_W;
        int error = 0;
        const auto nothing = [](PerfEvent&, PerfSampleData&, PtRegs&) {};
        PerfEvent* bp = nullptr;
        // The order of installation is that of the slots.
        if (!own_last) bp = w.hw().register_user_hw_breakpoint(a, nothing, w.task, error);
        w.live(bp_attr(HW_BREAKPOINT_W, kData, 8));
        if (own_last) {
            bp = w.hw().register_user_hw_breakpoint(a, nothing, w.task, error);
            // A pinned event is scheduled first; put it into the second slot as an IPI from elsewhere would.
            PerfEvent& other = w.event(w.k.files.begin()->first);
            w.hw().arch_uninstall_hw_breakpoint(*bp);
            w.hw().arch_uninstall_hw_breakpoint(other);
            w.hw().arch_install_hw_breakpoint(other);
            w.hw().arch_install_hw_breakpoint(*bp);
        }
        w.watch(kData, true);
        CHECK(w.task.tif_singlestep == !own_last);
        if (!own_last) w.stepped();
        w.hw().unregister_hw_breakpoint(bp);
    }
}

TEST_CASE("a user watchpoint hit by the kernel's own access is only stepped over", "[HWBP-074][HWBP-076][HWBP-079]") {
    Arch w;
    const int fd = w.live(bp_attr(HW_BREAKPOINT_W, kData, 8));
    PtRegs regs = Arch::kernel_regs();
    w.watch(kData, true, &regs);
    CHECK(w.count(fd) == 0);
    CHECK_FALSE(w.task.debug.wps_disabled);
    CHECK(w.wcr(0) == 0x1ff4);
    CHECK((regs.pstate & spsr::SS) != 0);
    CHECK((w.reg(sysreg::MDSCR_EL1) & mdscr::SS) != 0);
    w.stepped(&regs);
    CHECK(w.wcr(0) == 0x1ff5);
    CHECK((w.reg(sysreg::MDSCR_EL1) & mdscr::SS) == 0);
    CHECK(w.k.faults.empty());
}

TEST_CASE("kernel breakpoints are stepped over in the kernel", "[HWBP-067][HWBP-079]") {
    Arch w;
    perf_event_attr a = bp_attr(HW_BREAKPOINT_X, kKernel, 8);
    a.exclude_kernel = 0;
    const int fd = w.live(a, -1, 0), user = w.live(bp_attr(HW_BREAKPOINT_X, kCode, 8));
    const int wp = w.live(bp_attr(HW_BREAKPOINT_W, kData, 8));
    CHECK(w.hw().kernel_bps(0) == 1);
    CHECK((w.reg(sysreg::MDSCR_EL1) & mdscr::KDE) != 0);
    PtRegs regs = Arch::kernel_regs();
    const auto hit = [&] {
        w.mon().do_debug_exception(regs.pc, esr::make(esr::kBreakpointSame, esr::kDebugFault), regs);
    };
    hit();
    CHECK(w.count(fd) == 1);
    CHECK(w.bcr(0) == 0x1e2);
    CHECK(w.bcr(1) == 0x1e5); // the user's stay
    CHECK((w.reg(sysreg::MDSCR_EL1) & mdscr::SS) != 0);
    regs.pc -= 0;
    w.task.debug.wps_disabled = true; // a user step is under way: its watchpoints stay off
    w.k.here().debug[sysreg::DBGWCR_EL1(0).encoding] = 0x1ff4;
    w.stepped(&regs);
    CHECK(w.bcr(0) == 0x1e3);
    CHECK(w.wcr(0) == 0x1ff4);
    CHECK((w.reg(sysreg::MDSCR_EL1) & mdscr::SS) == 0);
    w.task.debug.wps_disabled = false;
    // A debugger of the kernel was stepping already: its step is passed on.
    int passed = 0;
    w.mon().register_kernel_step_hook([&](PtRegs&, std::uint32_t) { return ++passed, true; });
    PtRegs again = Arch::kernel_regs();
    regs = again;
    w.mon().kernel_enable_single_step(regs);
    hit();
    w.stepped(&regs);
    CHECK(passed == 1);
    CHECK((w.reg(sysreg::MDSCR_EL1) & mdscr::SS) != 0);
    CHECK(w.bcr(0) == 0x1e3);
    w.mon().kernel_disable_single_step();
    (void)user, (void)wp;
}

TEST_CASE("at a switch only flags that differ matter, and only for bps of the CPU", "[HWBP-081][HWBP-059]") {
    Arch w;
    w.live(bp_attr(HW_BREAKPOINT_X, kCode, 8), -1, 0);
    w.live(bp_attr(HW_BREAKPOINT_W, kData, 8), -1, 0);
    FakeTask& other = w.k.make_task(300, "other");
    w.k.debug_writes.clear();
    w.hw().hw_breakpoint_thread_switch(other);
    CHECK(w.k.debug_writes.empty());
    w.task.debug.bps_disabled = true;
    w.k.here().debug[sysreg::DBGBCR_EL1(0).encoding] = 0x1e4;
    w.hw().hw_breakpoint_thread_switch(other);
    CHECK(w.bcr(0) == 0x1e5);
    CHECK(w.wcr(0) == 0x1ff5);
    w.k.switch_to(0, &other);
    w.hw().hw_breakpoint_thread_switch(w.task);
    CHECK(w.bcr(0) == 0x1e4);
    w.task.debug.bps_disabled = false;
    w.task.debug.wps_disabled = true;
    w.hw().hw_breakpoint_thread_switch(w.task);
    CHECK(w.wcr(0) == 0x1ff4);
    // A bp of the task looks at its flag when it is installed.
    w.k.switch_to(0, &w.task);
    w.live(bp_attr(HW_BREAKPOINT_W, kData + 64, 8));
    CHECK(w.wcr(1) == 0x1ff4);
    w.task.debug.wps_disabled = false;
}

TEST_CASE("a CPU that starts or wakes gets what its slots say", "[HWBP-062][HWBP-063][DBG-062]") {
    Arch w;
    w.live(bp_attr(HW_BREAKPOINT_X, kCode, 8));
    auto& regs = w.k.here().debug;
    for (unsigned n = 0; n < 6; ++n) regs[sysreg::DBGBCR_EL1(n).encoding] = regs[sysreg::DBGBVR_EL1(n).encoding] = 1;
    for (unsigned n = 0; n < 4; ++n) regs[sysreg::DBGWCR_EL1(n).encoding] = regs[sysreg::DBGWVR_EL1(n).encoding] = 1;
    w.k.debug_writes.clear();
    w.hw().cpu_starting();
    CHECK(w.bcr(0) == 0x1e5);
    CHECK(w.reg(sysreg::DBGBVR_EL1(0)) == kCode);
    for (unsigned n = 1; n < 6; ++n) {
        CHECK(w.bcr(n) == 0);
        CHECK(w.reg(sysreg::DBGBVR_EL1(n)) == 0);
    }
    for (unsigned n = 0; n < 4; ++n) {
        CHECK(w.wcr(n) == 0);
        CHECK(w.reg(sysreg::DBGWVR_EL1(n)) == 0);
    }
    // Control before value where nothing is to match, value before control where something is.
    const auto when = [&](SysReg r) {
        return std::find_if(w.k.debug_writes.begin(), w.k.debug_writes.end(),
                            [&](const auto& x) { return x.reg == r; });
    };
    CHECK(when(sysreg::DBGBVR_EL1(0)) < when(sysreg::DBGBCR_EL1(0)));
    for (unsigned n = 1; n < 6; ++n) CHECK(when(sysreg::DBGBCR_EL1(n)) < when(sysreg::DBGBVR_EL1(n)));
    for (unsigned n = 0; n < 4; ++n) CHECK(when(sysreg::DBGWCR_EL1(n)) < when(sysreg::DBGWVR_EL1(n)));
    for (const auto& write : w.k.debug_writes) CHECK(write.reg != sysreg::MDSCR_EL1); // no counting
    CHECK(std::find(w.k.log.begin(), w.k.log.end(), "hw-breakpoint: found 6 breakpoint and 4 watchpoint registers.") !=
          w.k.log.end());
}

TEST_CASE("samples are taken before the instruction, with the address of the attr", "[HWBP-008][HWBP-069][HWBP-077]") {
    Arch w;
    perf_event_attr a = bp_attr(HW_BREAKPOINT_W, kData + 2, 2);
    a.sample_period = 1;
    a.sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_IP;
    const int fd = w.live(a);
    std::uint64_t addr = 0, pc = 0;
    w.event(fd).overflow_handler = [&](PerfEvent&, PerfSampleData& d, PtRegs& r) {
        addr = d.addr;
        pc = r.pc;
    };
    w.task_regs().pc = kCode + 8;
    w.watch(kData, true); // FAR is where the access begins
    CHECK(addr == kData + 2);
    CHECK(pc == kCode + 8);
    w.stepped();
    // As with software events the period counts hits.
    w.k.close(fd);
    a.sample_period = 3;
    const int third = w.live(a);
    int samples = 0;
    w.event(third).overflow_handler = [&](PerfEvent&, PerfSampleData&, PtRegs&) { ++samples; };
    for (int i = 0; i < 7; ++i) {
        w.watch(kData + 2, true);
        w.stepped();
    }
    CHECK(samples == 2);
    CHECK(w.count(third) == 7);
}

// SPDX-License-Identifier: Apache-2.0
// The regsets of hardware breakpoints that ptrace shows. Spec HWBP-083 to 088.
#include "kernel_events/hw_breakpoint.h"
#include "tests/kernel_events/fixture.h"

#include <csignal>

using namespace rkperf;
using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {

constexpr unsigned kBreak = HwBreakpoints::NT_ARM_HW_BREAK, kWatch = HwBreakpoints::NT_ARM_HW_WATCH;
constexpr std::uint32_t kExec4 = 0x1e1, kWrite8 = 0x1ff1, kDisabled = 0x1e0;

struct Traced : World {
    FakeTask& child{k.make_task(300, "traced")};
    HwBreakpoints& hw() { return perf.hw_breakpoints(); }
    ~Traced() { hw().flush_ptrace_hw_breakpoint(child); }
    int set(unsigned note, std::uint64_t idx, std::uint64_t addr, std::uint32_t ctrl) {
        if (const int e = hw().ptrace_hbp_set_addr(note, child, idx, addr)) return e;
        return hw().ptrace_hbp_set_ctrl(note, child, idx, ctrl);
    }
    std::pair<std::uint64_t, std::uint32_t> get(unsigned note, std::uint64_t idx) {
        std::uint64_t addr = 1;
        std::uint32_t ctrl = 1;
        CHECK(hw().ptrace_hbp_get_addr(note, child, idx, addr) == 0);
        CHECK(hw().ptrace_hbp_get_ctrl(note, child, idx, ctrl) == 0);
        return {addr, ctrl};
    }
};

} // namespace

TEST_CASE("the regset tells architecture and number of slots", "[HWBP-084]") {
    Traced w;
    CHECK(w.hw().ptrace_hbp_get_resource_info(kBreak) == 0x0806);
    CHECK(w.hw().ptrace_hbp_get_resource_info(kWatch) == 0x0804);
    const auto bytes = w.hw().hw_break_get(kWatch, w.child);
    CHECK(bytes.size() == 8 + 4 * 16);
    CHECK(bytes[0] == 4);
    CHECK(bytes[1] == 8);
    CHECK(w.hw().hw_break_get(kBreak, w.child).size() == 8 + 6 * 16);
}

TEST_CASE("setting an address makes a disabled bp; a hit is a signal before the instruction", "[HWBP-085][HWBP-088]") {
    Traced w;
    CHECK(w.hw().ptrace_hbp_set_addr(kBreak, w.child, 0, 0x401000) == 0);
    PerfEvent* bp = w.child.debug.hbp_break[0];
    REQUIRE(bp);
    CHECK(bp->attr.disabled == 1);
    CHECK(bp->attr.exclude_kernel == 1);
    CHECK(bp->attr.bp_type == HW_BREAKPOINT_X);
    CHECK(bp->attr.bp_len == 4);
    CHECK(bp->attr.bp_addr == 0x401000);
    CHECK(bp->state == PerfEventState::off);
    CHECK(w.hw().ptrace_hbp_set_addr(kWatch, w.child, 1, 0x500000) == 0);
    CHECK(w.child.debug.hbp_watch[1]->attr.bp_type == HW_BREAKPOINT_RW);
    CHECK(w.hw().ptrace_hbp_set_ctrl(kBreak, w.child, 0, kExec4) == 0);
    w.k.switch_to(0, &w.child);
    w.child.regs.pc = 0x401000;
    w.perf.debug_monitors().do_debug_exception(0x401000, esr::make(esr::kBreakpointLower, 0x22), w.child.regs);
    REQUIRE(w.k.faults.size() == 1);
    CHECK(w.k.faults[0].signo == SIGTRAP);
    CHECK(w.k.faults[0].code == ke::TRAP_HWBKPT);
    CHECK(w.k.faults[0].addr == 0x401000);
    CHECK_FALSE(w.child.tif_singlestep);
    w.k.switch_to(0, &w.task);
}

TEST_CASE("a debugger's control words", "[HWBP-086][HWBP-087]") {
    Traced w;
    CHECK(w.set(kWatch, 0, 0x500000, kWrite8) == 0);
    CHECK(w.get(kWatch, 0) == std::pair<std::uint64_t, std::uint32_t>(0x500000, kWrite8 | 4));
    // The mask's lowest bit is an offset; what is read back is the aligned form.
    CHECK(w.set(kWatch, 1, 0x500000, 0x18 | 0x30 << 5 | 1) == 0);
    CHECK(w.child.debug.hbp_watch[1]->attr.bp_addr == 0x500004);
    CHECK(w.child.debug.hbp_watch[1]->attr.bp_len == 2);
    CHECK(w.get(kWatch, 1) == std::pair<std::uint64_t, std::uint32_t>(0x500000, 0x18 | 0x30 << 5 | 5));
    CHECK(w.set(kWatch, 2, 0x500000, 0x10 | 1) == -EINVAL);            // no byte
    CHECK(w.set(kWatch, 2, 0x500000, 0x10 | 0x5 << 5 | 1) == -EINVAL); // with a hole
    CHECK(w.set(kWatch, 2, 0x500000, kExec4) == -EINVAL);              // execute in the wrong set
    CHECK(w.set(kBreak, 2, 0x401000, kWrite8) == -EINVAL);
    CHECK(w.set(kBreak, 0, 0x401000, 0x10 | 0x5 << 5) == 0); // disabled: only that is taken
    CHECK(w.child.debug.hbp_break[0]->attr.disabled == 1);
    CHECK(w.set(kBreak, 0, 0x401000, kExec4) == 0);
    CHECK(w.child.debug.hbp_break[0]->attr.disabled == 0);
    CHECK(w.set(kBreak, 0, 0x401000, kDisabled) == 0);
    CHECK(w.child.debug.hbp_break[0]->attr.disabled == 1);
    // Numbers beyond the room, and slots that were never set.
    std::uint64_t addr = 0;
    std::uint32_t ctrl = 0;
    CHECK(w.hw().ptrace_hbp_get_addr(kBreak, w.child, 16, addr) == -EINVAL);
    CHECK(w.hw().ptrace_hbp_get_ctrl(kBreak, w.child, 16, ctrl) == -EINVAL);
    CHECK(w.hw().ptrace_hbp_set_addr(kBreak, w.child, 16, addr) == -EINVAL);
    CHECK(w.get(kBreak, 5) == std::pair<std::uint64_t, std::uint32_t>(0, 0));
    CHECK(w.get(kBreak, 15) == std::pair<std::uint64_t, std::uint32_t>(0, 0));
}

TEST_CASE("the regset is written from byte 0 on, in part if need be", "[HWBP-084][HWBP-085][HWBP-086]") {
    Traced w;
    std::vector<std::uint8_t> bytes = w.hw().hw_break_get(kWatch, w.child);
    const auto entry = [&](unsigned i, std::uint64_t addr, std::uint32_t ctrl) {
        std::memcpy(&bytes[8 + i * 16], &addr, 8);
        std::memcpy(&bytes[16 + i * 16], &ctrl, 4);
    };
    entry(0, 0x500000, kWrite8);
    entry(1, 0x500010, kWrite8);
    bytes[0] = 99; // info is not written
    std::vector<std::uint8_t> two(bytes.begin(), bytes.begin() + 8 + 32);
    CHECK(w.hw().hw_break_set(kWatch, w.child, two) == 0);
    CHECK(w.get(kWatch, 1).first == 0x500010);
    CHECK(w.hw().hw_break_get(kWatch, w.child)[0] == 4);
    std::vector<std::uint8_t> address_only(bytes.begin(), bytes.begin() + 16);
    address_only[8] = 0x40;
    CHECK(w.hw().hw_break_set(kWatch, w.child, address_only) == 0);
    CHECK(w.get(kWatch, 0).first == 0x500040);
    std::vector<std::uint8_t> cut(bytes.begin(), bytes.begin() + 12);
    CHECK(w.hw().hw_break_set(kWatch, w.child, cut) == -EINVAL);
}

TEST_CASE("slots are limited, and exec, exit and fork leave none", "[HWBP-083][HWBP-014]") {
    Traced w;
    for (unsigned i = 0; i < 4; ++i) CHECK(w.set(kWatch, i, 0x500000 + 8 * i, kWrite8) == 0);
    CHECK(w.set(kWatch, 4, 0x500000, kWrite8) == -ENOSPC);
    w.hw().flush_ptrace_hw_breakpoint(w.child);
    for (const PerfEvent* bp : w.child.debug.hbp_watch) CHECK(bp == nullptr);
    CHECK_FALSE(w.hw().hw_breakpoint_is_used());
    CHECK(w.set(kWatch, 0, 0x500000, kWrite8) == 0);
    FakeTask& copy = w.k.make_task(301, "copy");
    copy.debug = w.child.debug;
    copy.debug.bps_disabled = true;
    HwBreakpoints::clear_ptrace_hw_breakpoint(copy);
    CHECK(copy.debug.hbp_watch[0] == nullptr);
    CHECK_FALSE(copy.debug.bps_disabled);
    CHECK(w.child.debug.hbp_watch[0] != nullptr);
}

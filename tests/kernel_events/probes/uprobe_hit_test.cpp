// SPDX-License-Identifier: Apache-2.0
// Hits: handlers, slots, signals, return probes, and what tasks inherit.
#include "kernel_events/debug_monitors.h"
#include "tests/kernel_events/probes/uprobe_world.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {

constexpr std::uint64_t kText = UprobeWorld::kText, kCaller = 0x50000, kXol = 0xffffffffe000;

struct Hit : UprobeWorld {
    Hit() {
        map_text();
        regs.sp = 0x10000;
        regs.regs[30] = kCaller;
    }
    UprobeTask& utask() { return *task.utask; }
    std::size_t depth() { return task.utask ? task.utask->return_instances.size() : 0; }
    /// A call of the function at `offset`, with the stack pointer and link register it gets.
    void call(std::uint64_t offset, std::uint64_t sp, std::uint64_t lr) {
        regs.sp = sp;
        regs.regs[30] = lr;
        hit(kText + offset);
        if (utask().active_uprobe) step();
    }
    /// The function returns with `sp` popped, to where x30 says.
    void ret(std::uint64_t sp) {
        regs.sp = sp;
        REQUIRE(hit(kXol));
    }
};

} // namespace

TEST_CASE("A page of slots is made at the first hit that needs one", "[UPR-035]") {
    Hit w;
    Counter a, b(true);
    w.file->put(16, kRet);
    REQUIRE(w.add(a, 16) == 0);
    w.hit(kText + 16); // simulated
    CHECK_FALSE(w.mm->xol_area);
    SECTION("a stepped instruction") {
        REQUIRE(w.add(a, 8) == 0);
        w.hit(kText + 8);
        REQUIRE(w.mm->xol_area);
        CHECK(w.mm->xol_area->vaddr == kXol);
    }
    SECTION("a return probe") {
        REQUIRE(w.add(b, 16) == 0);
        w.hit(kText + 16);
        REQUIRE(w.mm->xol_area);
        CHECK(w.regs.pc == kXol); // the ret goes to the trampoline
    }
    SECTION("a task about to die gets none") {
        w.s.fatal = true;
        REQUIRE(w.add(a, 8) == 0);
        w.hit(kText + 8);
        CHECK_FALSE(w.mm->xol_area);
    }
}

TEST_CASE("Slot 0 is the trampoline's; the others are used lowest first, and by one task each", "[UPR-036][UPR-038]") {
    Hit w;
    Counter a;
    REQUIRE(w.add(a, 8) == 0);
    w.file->put(12, kAdd);
    REQUIRE(w.add(a, 12) == 0);
    w.hit(kText + 8);
    CHECK(w.regs.pc == kXol + 4);
    CHECK(w.mm->xol.at(kXol + 4) == kNop);
    FakeTask& second = w.k.make_task(101, "other");
    second.mm = w.mm.get();
    w.k.switch_to(0, &second);
    const PtRegs first_regs = w.regs;
    CHECK(w.hit(kText + 12));
    CHECK(w.regs.pc == kXol + 8);
    CHECK(w.mm->xol.at(kXol + 8) == kAdd);
    const PtRegs second_regs = w.regs;
    w.k.switch_to(0, &w.task);
    w.regs = first_regs;
    w.step();
    CHECK(w.hit(kText + 12));
    CHECK(w.regs.pc == kXol + 4); // free again
    w.k.switch_to(0, &second);
    w.regs = second_regs;
    w.step();
    w.u.uprobe_free_utask(second);
}

TEST_CASE("With all slots taken a task waits for one", "[UPR-037]") {
    Hit w;
    Counter a;
    REQUIRE(w.add(a, 8) == 0);
    w.hit(kText + 8);
    w.step();
    XolArea& area = *w.mm->xol_area;
    for (unsigned i = 1; i < UINSNS_PER_PAGE; ++i) area.bitmap[i] = true;
    area.slot_count = UINSNS_PER_PAGE;
    w.s.while_waiting = [&] {
        area.bitmap[77] = false;
        --area.slot_count;
    };
    w.hit(kText + 8);
    CHECK(w.s.waits == 1);
    CHECK(w.regs.pc == kXol + 4 * 77);
    auto& wq = static_cast<FakeWaitQueue&>(*area.wq);
    CHECK(wq.wakeups == 0);
    w.step(); // the slot is free, and whoever waits hears of it
    CHECK(wq.wakeups == 1);
}

TEST_CASE("Without a page of slots the task comes back to the breakpoint", "[UPR-039]") {
    Hit w;
    Counter a;
    w.mm->xol_error = -ENOMEM;
    REQUIRE(w.add(a, 8) == 0);
    w.hit(kText + 8);
    CHECK(w.regs.pc == kText + 8);
    CHECK_FALSE(w.stepping());
    w.mm->xol_error = 0;
    w.hit(kText + 8);
    CHECK(w.regs.pc == kXol + 4);
    CHECK(a.hits == 2);
}

TEST_CASE("A BRK #5 is a uprobe's only in an address space with probes or a task with return probes", "[UPR-040]") {
    Hit w;
    CHECK_FALSE(w.hit(kText + 8));
    CHECK_FALSE(w.task.tif_uprobe);
    w.mm->mmf_has_uprobes = true;
    w.regs.pc = kText + 8;
    CHECK(w.u.uprobe_pre_sstep_notifier());
    CHECK(w.task.tif_uprobe); // the rest is done on the way back to user mode
    w.mm->mmf_has_uprobes = w.task.tif_uprobe = false;
    w.task.utask = std::make_shared<UprobeTask>();
    CHECK_FALSE(w.u.uprobe_pre_sstep_notifier());
    w.task.utask->return_instances.push_back({});
    CHECK(w.u.uprobe_pre_sstep_notifier());
    w.task.mm = nullptr;
    CHECK_FALSE(w.u.uprobe_pre_sstep_notifier());
}

TEST_CASE("BRK #5 and the step exception reach uprobes by the debug monitors' hooks", "[UPR-040][UPR-051]") {
    Hit w;
    DebugMonitors monitors(w.k);
    w.u.init(monitors);
    Counter a;
    REQUIRE(w.add(a, 8) == 0);
    w.regs.pc = kText + 8;
    monitors.do_debug_exception(w.regs.pc, 0xf2000005, w.regs);
    CHECK(w.task.tif_uprobe);
    w.u.uprobe_notify_resume(w.regs);
    CHECK(a.hits == 1);
    w.regs.pc += 4;
    monitors.do_debug_exception(w.regs.pc, 0xca000022, w.regs);
    CHECK(w.task.tif_uprobe);
    w.u.uprobe_notify_resume(w.regs);
    CHECK(w.regs.pc == kText + 12);
}

TEST_CASE("The pc at the hit is the breakpoint's own address", "[UPR-041][UPR-045]") {
    Hit w;
    Counter a;
    std::uint64_t pc = 0;
    a.on_hit = [&](PtRegs& r) { pc = r.pc; };
    REQUIRE(w.add(a, 8) == 0);
    w.hit(kText + 8);
    CHECK(pc == kText + 8);
}

TEST_CASE("On the way to user mode the flag is cleared and the step or the breakpoint is handled", "[UPR-042]") {
    Hit w;
    Counter a;
    REQUIRE(w.add(a, 8) == 0);
    w.hit(kText + 8);
    CHECK_FALSE(w.task.tif_uprobe);
    CHECK(w.utask().active_uprobe);
    w.step();
    CHECK_FALSE(w.task.tif_uprobe);
    CHECK_FALSE(w.utask().active_uprobe);
    CHECK(a.hits == 1);
}

TEST_CASE("A hit without a probe is SIGTRAP if the breakpoint is there, else the instruction runs", "[UPR-044]") {
    Hit w;
    Counter a;
    REQUIRE(w.add(a, 8) == 0);
    w.file->put(0x1000, UPROBE_SWBP_INSN);
    CHECK(w.hit(kText + 0x1000));
    CHECK(w.s.signals == std::vector{SIGTRAP});
    w.s.signals.clear();
    CHECK(w.hit(kText + 0x100)); // the breakpoint has been removed meanwhile
    CHECK(w.regs.pc == kText + 0x100);
    CHECK(w.hit(0x900000)); // unmapped
    CHECK(w.regs.pc == 0x900000);
    CHECK(w.s.signals.empty());
    CHECK(a.hits == 0);
}

TEST_CASE("A probe that was not analysed yet makes the task try again", "[UPR-045]") {
    Hit w;
    Counter a;
    w.file->put(8, kLdxr);
    w.mm->vmas.clear();
    REQUIRE(w.add(a, 8) == 0);
    w.map_text();
    w.mm->mmf_has_uprobes = true;
    CHECK(w.hit(kText + 8));
    CHECK(w.regs.pc == kText + 8);
    CHECK(a.hits == 0);
}

TEST_CASE("A breakpoint goes from this address space when all handlers say so", "[UPR-046][UPR-047]") {
    Hit w;
    auto other = std::make_shared<FakeMm>();
    other->map(*w.file, 0x700000, 0, 0x1000);
    w.s.mms.push_back(other);
    Counter a, b;
    REQUIRE(w.add(a, 8) == 0);
    REQUIRE(w.add(b, 8) == 0);
    a.result = UPROBE_HANDLER_REMOVE;
    w.hit(kText + 8);
    w.step();
    CHECK(w.mm->insn(kText + 8) == UPROBE_SWBP_INSN);
    b.result = UPROBE_HANDLER_REMOVE;
    w.hit(kText + 8);
    w.step(); // the instruction is executed all the same
    CHECK(w.mm->insn(kText + 8) == kNop);
    CHECK(other->insn(0x700008) == UPROBE_SWBP_INSN);
    CHECK(w.u.count() == 1);
    b.result = 2;
    w.hit(kText + 8);
    CHECK(w.said("bad rc=2"));
}

TEST_CASE("A consumer with a return handler alone keeps the breakpoint", "[UPR-046]") {
    Hit w;
    Counter a, b(true);
    a.result = UPROBE_HANDLER_REMOVE;
    b.uc.handler = nullptr;
    REQUIRE(w.add(a, 8) == 0);
    REQUIRE(w.add(b, 8) == 0);
    w.hit(kText + 8);
    CHECK(w.mm->insn(kText + 8) == UPROBE_SWBP_INSN);
    CHECK(w.depth() == 1);
}

TEST_CASE("No return probe is prepared when the breakpoint is removed", "[UPR-047]") {
    Hit w;
    Counter a(true);
    a.result = UPROBE_HANDLER_REMOVE;
    REQUIRE(w.add(a, 8) == 0);
    w.hit(kText + 8);
    CHECK(w.depth() == 0);
    CHECK(w.regs.regs[30] == kCaller);
}

TEST_CASE("A handler that moves the pc skips the instruction", "[UPR-048]") {
    Hit w;
    Counter a;
    a.on_hit = [](PtRegs& r) { r.pc = 0x77000; };
    REQUIRE(w.add(a, 8) == 0);
    w.file->put(16, kRet);
    REQUIRE(w.add(a, 16) == 0);
    w.hit(kText + 8);
    CHECK(w.regs.pc == 0x77000);
    CHECK_FALSE(w.stepping());
    w.hit(kText + 16);
    CHECK(w.regs.pc == 0x77000);
}

TEST_CASE("A simulated instruction needs neither slot nor step", "[UPR-048][UPR-078]") {
    Hit w;
    Counter a;
    w.file->put(8, 0x14000004); // b +16
    REQUIRE(w.add(a, 8) == 0);
    w.hit(kText + 8);
    CHECK(w.regs.pc == kText + 24);
    CHECK_FALSE(w.stepping());
    CHECK_FALSE(w.mm->xol_area);
}

TEST_CASE("The handlers come before the instruction, which is executed once", "[UPR-049]") {
    Hit w;
    Counter a;
    REQUIRE(w.add(a, 8) == 0);
    for (int i = 1; i <= 3; ++i) {
        w.hit(kText + 8);
        CHECK(a.hits == i);
        CHECK(w.regs.pc == kXol + 4);
        w.step();
        CHECK(w.regs.pc == kText + 12);
    }
}

TEST_CASE("A step is prepared: slot, address, fault marker, single-step", "[UPR-050]") {
    Hit w;
    Counter a;
    w.s.thread_fault_code = 7;
    REQUIRE(w.add(a, 8) == 0);
    w.hit(kText + 8);
    CHECK(w.regs.pc == kXol + 4);
    CHECK(w.utask().vaddr == kText + 8);
    CHECK(w.s.thread_fault_code == 0xffffffff);
    CHECK(w.stepping());
    CHECK(w.utask().active_uprobe);
    CHECK(w.utask().state == UprobeTask::State::SSTEP);
}

TEST_CASE("A step exception belongs to the task's active uprobe or to nobody here", "[UPR-051]") {
    Hit w;
    Counter a;
    CHECK_FALSE(w.u.uprobe_post_sstep_notifier());
    REQUIRE(w.add(a, 8) == 0);
    w.hit(kText + 8);
    w.regs.pc += 4;
    CHECK(w.u.uprobe_post_sstep_notifier());
    CHECK(w.utask().state == UprobeTask::State::SSTEP_ACK);
    CHECK(w.task.tif_uprobe);
}

TEST_CASE("After the step the pc is behind the probed instruction and stepping is off", "[UPR-052][UPR-053]") {
    Hit w;
    Counter a;
    REQUIRE(w.add(a, 8) == 0);
    w.s.stepping[&w.task] = true; // a debugger steps as well
    w.hit(kText + 8);
    w.step();
    CHECK(w.regs.pc == kText + 12);
    CHECK_FALSE(w.stepping());
    CHECK(w.utask().state == UprobeTask::State::RUNNING);
    CHECK_FALSE(w.utask().xol_area);
    CHECK_FALSE(w.mm->xol_area->bitmap[1]);
}

TEST_CASE("An unexpected state ends the step without a new pc", "[UPR-054]") {
    Hit w;
    Counter a;
    REQUIRE(w.add(a, 8) == 0);
    w.hit(kText + 8);
    w.u.uprobe_notify_resume(w.regs);
    CHECK(w.said("not under way"));
    CHECK(w.regs.pc == kXol + 4);
    CHECK_FALSE(w.utask().active_uprobe);
}

TEST_CASE("Signals wait for the step, unless they are fatal or the instruction trapped", "[UPR-055][UPR-056]") {
    Hit w;
    Counter a;
    CHECK_FALSE(w.u.uprobe_deny_signal());
    REQUIRE(w.add(a, 8) == 0);
    w.hit(kText + 8);
    CHECK(w.u.uprobe_deny_signal());
    w.s.sigpending = true;
    CHECK(w.u.uprobe_deny_signal());
    CHECK_FALSE(w.task.tif_uprobe);
    SECTION("an ordinary one") {
        w.step();
        CHECK(w.regs.pc == kText + 12);
        CHECK_FALSE(w.u.uprobe_deny_signal());
    }
    SECTION("the instruction faulted") {
        w.s.thread_fault_code = 0x92000006;
        CHECK(w.u.uprobe_deny_signal());
        CHECK(w.utask().state == UprobeTask::State::SSTEP_TRAPPED);
        REQUIRE(w.task.tif_uprobe);
        w.u.uprobe_notify_resume(w.regs);
        CHECK(w.regs.pc == kText + 8); // what the handler of the signal sees
        CHECK_FALSE(w.stepping());
        CHECK_FALSE(w.u.uprobe_deny_signal());
        CHECK(a.hits == 1);
        w.hit(kText + 8); // the handler returns: the same instruction again
        CHECK(a.hits == 2);
    }
    SECTION("an undefined instruction leaves 0") {
        w.s.thread_fault_code = 0;
        CHECK(w.u.uprobe_deny_signal());
        CHECK(w.task.tif_uprobe);
    }
    SECTION("the task is killed") {
        w.s.fatal = true;
        CHECK(w.u.uprobe_deny_signal());
        CHECK(w.utask().state == UprobeTask::State::SSTEP_TRAPPED);
    }
}

TEST_CASE("While stepping, the trap address is the probed one", "[UPR-057]") {
    Hit w;
    Counter a;
    REQUIRE(w.add(a, 8) == 0);
    w.hit(kText + 8);
    CHECK(w.u.uprobe_get_trap_addr(w.regs) == kText + 8);
    w.step();
    CHECK(w.u.uprobe_get_trap_addr(w.regs) == kText + 12);
}

// --- return probes ---

TEST_CASE("A return probe needs a page and room in the task", "[UPR-058]") {
    Hit w;
    Counter a(true);
    REQUIRE(w.add(a, 8) == 0);
    SECTION("no page") {
        w.mm->xol_error = -ENOMEM;
        w.hit(kText + 8);
        CHECK(w.regs.regs[30] == kCaller);
        CHECK(w.depth() == 0);
    }
    SECTION("at most 64 nested calls") {
        for (unsigned i = 0; i < 70; ++i) w.call(8, 0x10000 - 16 * i, kCaller + 4 * i);
        CHECK(w.depth() == 64);
        CHECK(w.regs.regs[30] == kCaller + 4 * 69); // the call itself goes on as ever
        CHECK(w.said("omit uretprobe due to nestedness limit pid/tgid=100/100"));
        CHECK(a.hits == 70);
    }
}

TEST_CASE("The link register is replaced, and what it was is remembered", "[UPR-059][UPR-062]") {
    Hit w;
    Counter a(true);
    REQUIRE(w.add(a, 8) == 0);
    w.call(8, 0x10000, kCaller);
    CHECK(w.regs.regs[30] == kXol);
    REQUIRE(w.depth() == 1);
    const ReturnInstance& ri = w.utask().return_instances.back();
    CHECK(ri.func == kText + 8);
    CHECK(ri.stack == 0x10000);
    CHECK(ri.orig_ret_vaddr == kCaller);
    CHECK_FALSE(ri.chained);
}

TEST_CASE("A tail call is chained to the call before it", "[UPR-060]") {
    Hit w;
    Counter a(true), b(true);
    REQUIRE(w.add(a, 8) == 0);
    REQUIRE(w.add(b, 0x100) == 0);
    w.call(8, 0x10000, kCaller);
    w.call(0x100, 0x10000, kXol); // b, with the same stack
    REQUIRE(w.depth() == 2);
    CHECK(w.utask().return_instances.back().chained);
    CHECK(w.utask().return_instances.back().orig_ret_vaddr == kCaller);
    SECTION("with nothing to chain to it is refused") {
        w.utask().return_instances.clear();
        w.call(0x100, 0x10000, kXol);
        CHECK(w.depth() == 0);
        CHECK(w.said("handle tail call"));
    }
}

TEST_CASE("Frames that a longjmp has left are dropped at the next entry", "[UPR-061]") {
    Hit w;
    Counter a(true);
    REQUIRE(w.add(a, 8) == 0);
    w.call(8, 0x10000, kCaller);
    w.call(8, 0xff00, kCaller + 4);
    w.call(8, 0xfe00, kCaller + 8);
    REQUIRE(w.depth() == 3);
    w.call(8, 0xff00, kCaller + 12); // sp is not below 0xfe00 and 0xff00
    REQUIRE(w.depth() == 2);
    CHECK(w.utask().return_instances.back().orig_ret_vaddr == kCaller + 12);
}

TEST_CASE("The trampoline reports the call that returns", "[UPR-043][UPR-063][UPR-065]") {
    Hit w;
    Counter a(true);
    REQUIRE(w.add(a, 8) == 0);
    std::uint64_t pc = 0, value = 0;
    a.on_return = [&](PtRegs& r) { pc = r.pc, value = r.regs[0]; };
    w.call(8, 0x10000, kCaller);
    w.regs.regs[0] = 42;
    w.ret(0x10000);
    CHECK(a.returns == 1);
    CHECK(a.funcs == std::vector{kText + 8});
    CHECK(pc == kCaller);
    CHECK(value == 42);
    CHECK(w.regs.pc == kCaller);
    CHECK(w.depth() == 0);
}

TEST_CASE("A trampoline that nobody set up is SIGILL", "[UPR-063]") {
    Hit w;
    Counter a(true);
    REQUIRE(w.add(a, 8) == 0);
    w.call(8, 0x10000, kCaller);
    w.ret(0x10000);
    w.ret(0x10000);
    CHECK(w.s.signals == std::vector{SIGILL});
    CHECK(w.said("handle uretprobe, sending SIGILL."));
    CHECK(a.returns == 1);
}

TEST_CASE("After a longjmp only the chain that really returns is reported", "[UPR-064]") {
    Hit w;
    Counter outer(true), inner(true), tail(true);
    REQUIRE(w.add(outer, 8) == 0);
    REQUIRE(w.add(inner, 0x100) == 0);
    REQUIRE(w.add(tail, 0x200) == 0);
    w.call(8, 0x10000, kCaller);
    w.call(0x100, 0xff00, kText + 0x20);
    w.call(0x200, 0xff00, kXol); // chained to inner
    REQUIRE(w.depth() == 3);
    SECTION("the innermost returns: its chain at once, innermost first") {
        std::string order;
        inner.on_return = [&](PtRegs&) { order += 'i'; };
        tail.on_return = [&](PtRegs&) { order += 't'; };
        w.ret(0xff00);
        CHECK(order == "ti");
        CHECK(outer.returns == 0);
        CHECK(w.regs.pc == kText + 0x20);
        CHECK(w.depth() == 1);
    }
    SECTION("the outer one returns, the others were jumped over") {
        w.ret(0x10000);
        CHECK(inner.returns == 0);
        CHECK(tail.returns == 0);
        CHECK(outer.returns == 1);
        CHECK(w.regs.pc == kCaller);
        CHECK(w.depth() == 0);
    }
}

TEST_CASE("All return handlers of the probe are told, whatever their filters say", "[UPR-066]") {
    Hit w;
    Counter a(true), refuses(true, true);
    refuses.accept = false;
    REQUIRE(w.add(a, 8) == 0);
    REQUIRE(w.add(refuses, 8) == 0);
    w.call(8, 0x10000, kCaller);
    w.ret(0x10000);
    CHECK(a.returns == 1);
    CHECK(refuses.returns == 1);
}

TEST_CASE("Calls under way return through the trampoline after the probes have gone", "[UPR-067]") {
    Hit w;
    Counter a(true);
    REQUIRE(w.add(a, 8) == 0);
    w.call(8, 0x10000, kCaller);
    w.remove(a, 8);
    w.mm->mmf_has_uprobes = false;
    w.ret(0x10000);
    CHECK(w.regs.pc == kCaller);
    CHECK(a.returns == 0); // nobody is left to be told
}

// --- tasks ---

TEST_CASE("A forked child gets its parent's return probes and a page at the same address", "[UPR-031][UPR-068]") {
    Hit w;
    Counter a(true);
    REQUIRE(w.add(a, 8) == 0);
    auto child_mm = std::make_shared<FakeMm>();
    FakeTask& child = w.k.make_task(101, "child");
    child.mm = child_mm.get();
    child.utask = std::make_shared<UprobeTask>();
    w.u.uprobe_copy_process(child, false);
    CHECK_FALSE(child.utask); // nothing under way: starts without
    w.call(8, 0x10000, kCaller);
    w.u.uprobe_copy_process(child, false);
    REQUIRE(child.utask);
    CHECK(child.utask->return_instances.size() == 1);
    REQUIRE(w.s.works.size() == 1);
    CHECK(w.s.works[0].first == &child);
    w.k.switch_to(0, &child);
    w.s.works[0].second();
    REQUIRE(child_mm->xol_area);
    CHECK(child_mm->xol_area->vaddr == kXol);
    w.ret(0x10000);
    CHECK(w.regs.pc == kCaller);
    w.k.switch_to(0, &w.task);
    CHECK(w.depth() == 1); // the parent's are its own
}

TEST_CASE("A thread inherits nothing, a vfork child the instances but no page", "[UPR-032]") {
    Hit w;
    Counter a(true);
    REQUIRE(w.add(a, 8) == 0);
    w.call(8, 0x10000, kCaller);
    FakeTask& child = w.k.make_task(101, "child");
    child.mm = w.mm.get();
    w.u.uprobe_copy_process(child, false);
    CHECK_FALSE(child.utask);
    w.u.uprobe_copy_process(child, true);
    REQUIRE(child.utask);
    CHECK(child.utask->return_instances.size() == 1);
    CHECK(w.s.works.empty());
}

TEST_CASE("A page that cannot be made for the child only warns", "[UPR-033]") {
    Hit w;
    Counter a(true);
    REQUIRE(w.add(a, 8) == 0);
    w.call(8, 0x10000, kCaller);
    auto child_mm = std::make_shared<FakeMm>();
    FakeTask& child = w.k.make_task(101, "child");
    child.mm = child_mm.get();
    w.u.uprobe_copy_process(child, false);
    child_mm->xol_error = -ENOMEM;
    w.k.switch_to(0, &child);
    w.s.works.at(0).second();
    CHECK(w.said("dup xol area"));
    child_mm->mmf_has_uprobes = true;
    CHECK(w.hit(kXol)); // no trampoline known there: nothing is mapped
    child.exiting = true;
    w.k.log.clear();
    w.s.works.at(0).second();
    CHECK(w.k.log.empty());
    w.k.switch_to(0, &w.task);
}

TEST_CASE("exec and exit free what the task had", "[UPR-034]") {
    Hit w;
    Counter a(true);
    REQUIRE(w.add(a, 8) == 0);
    w.hit(kText + 8); // the slot is taken
    REQUIRE(w.mm->xol_area->bitmap[1]);
    w.u.uprobe_free_utask(w.task);
    CHECK_FALSE(w.task.utask);
    CHECK_FALSE(w.mm->xol_area->bitmap[1]);
    w.u.uprobe_clear_state(*w.mm);
    CHECK_FALSE(w.mm->xol_area);
    w.u.uprobe_free_utask(w.task);
}

TEST_CASE("A task's return instances and the uprobe under it go with the task", "[UPR-034]") {
    Hit w;
    const long before = w.file.use_count();
    {
        Counter a(true);
        REQUIRE(w.add(a, 8) == 0);
        w.call(8, 0x9000, kCaller);
        w.call(8, 0x8f00, kCaller + 16);
        REQUIRE(w.depth() == 2);
        w.remove(a, 8);
        CHECK(w.file.use_count() > before); // kept for the returns that are due
    }
    w.u.uprobe_free_utask(w.task);
    CHECK(w.depth() == 0);
    CHECK(w.file.use_count() == before);
}

TEST_CASE("A hundred tasks hit one probe, none is lost", "[UPR-049]") {
    Hit w;
    Counter a;
    REQUIRE(w.add(a, 8) == 0);
    std::vector<FakeTask*> tasks;
    std::vector<PtRegs> regs(100);
    for (int i = 0; i < 100; ++i) {
        tasks.push_back(&w.k.make_task(200 + i, "many"));
        tasks.back()->mm = w.mm.get();
    }
    for (int round = 0; round < 100; ++round) {
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            w.k.switch_to(0, tasks[i]);
            w.hit(kText + 8);
            regs[i] = w.regs;
        }
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            w.k.switch_to(0, tasks[i]);
            w.regs = regs[i];
            w.step();
        }
    }
    CHECK(a.hits == 10000);
    w.k.switch_to(0, &w.task);
}

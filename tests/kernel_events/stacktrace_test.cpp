// SPDX-License-Identifier: Apache-2.0
// Unwinding of kernel stacks: which records are followed, and where the walk ends.
#include "kernel_events/stacktrace.h"

#include "tests/kernel_events/fixture.h"

namespace rkperf::ke::test::stacktrace_test {

using Chain = std::vector<std::uint64_t>;
constexpr std::uint64_t kTask = 0xffff80000b000000, kIrq = 0xffff80000a000000, kOverflow = 0xffff80000a800000;
constexpr std::uint64_t kOutermost = kTask + 0x3fe0, kPc = 0xffff800008010000;

/// A kernel with a task's, an interrupt and an overflow stack.
struct Stacks : World {
    KernelStacks stacks;
    Stacks() {
        stacks.task = {kTask, kTask + 0x4000};
        stacks.irq = {kIrq, kIrq + 0x4000};
        stacks.overflow = {kOverflow, kOverflow + 0x1000};
        stacks.outermost = kOutermost;
    }
    void record(std::uint64_t at, std::uint64_t fp, std::uint64_t lr) { stacks.records.push_back({at, fp, lr}); }
    Chain walk(std::uint64_t fp, std::size_t most = 100) {
        k.stacks = stacks;
        PtRegs regs{};
        regs.pc = kPc;
        regs.regs[29] = fp;
        regs.regs[30] = 0xdead;
        regs.pstate = 5;
        Chain chain;
        arch_stack_walk(k, regs, [&](std::uint64_t pc) {
            if (chain.size() == most) return false;
            chain.push_back(pc);
            return true;
        });
        return chain;
    }
};

TEST_CASE("a chain ends at the registers saved at the entry, whose record is not read",
          "[CC-036][CC-037][CC-038][CC-042]") {
    Stacks s;
    s.record(kTask + 0x100, kTask + 0x200, kPc + 0x10);
    s.record(kTask + 0x200, kOutermost, kPc + 0x20);
    s.record(kOutermost, 0, 0x1234);
    CHECK(s.walk(kTask + 0x100) == Chain{kPc, kPc + 0x10, kPc + 0x20});
    CHECK(s.walk(kTask + 0x100, 2) == Chain{kPc, kPc + 0x10});
    CHECK(s.walk(kOutermost) == Chain{kPc});
}

TEST_CASE("pointer authentication codes of return addresses are removed", "[CC-038]") {
    Stacks s;
    s.record(kTask + 0x100, kOutermost, 0x5a7f800008010010);
    CHECK(s.walk(kTask + 0x100) == Chain{kPc, 0x5a00800008010010});
    s.stacks.records[0].lr = 0x5aff800008010010;
    CHECK(s.walk(kTask + 0x100) == Chain{kPc, 0xffff800008010010});
}

TEST_CASE("a frame pointer is a multiple of 8 and its record is wholly on a stack", "[CC-038][CC-044]") {
    Stacks s;
    s.record(kTask + 0x104, kOutermost, kPc + 0x10);
    CHECK(s.walk(kTask + 0x104) == Chain{kPc});
    s.stacks.records = {{kTask + 0x4000 - 8, kOutermost, kPc + 0x10}}; // its second half is outside
    CHECK(s.walk(kTask + 0x4000 - 8) == Chain{kPc});
    s.stacks.records = {{kTask + 0x4000 - 16, kOutermost, kPc + 0x10}};
    CHECK(s.walk(kTask + 0x4000 - 16) == Chain{kPc, kPc + 0x10});
    s.stacks.records = {{kTask - 8, kOutermost, kPc + 0x10}};
    CHECK(s.walk(kTask - 8) == Chain{kPc});
    CHECK(s.walk(0) == Chain{kPc});
    CHECK(s.walk(~std::uint64_t{7}) == Chain{kPc});
}

TEST_CASE("the CPU's stacks are accessible to what cannot be preempted only", "[CC-039]") {
    Stacks s;
    s.record(kOverflow + 0x10, kIrq + 0x20, kPc + 0x10);
    s.record(kIrq + 0x20, kTask + 0x30, kPc + 0x20);
    s.record(kTask + 0x30, kOutermost, kPc + 0x30);
    CHECK(s.walk(kOverflow + 0x10) == Chain{kPc});
    CHECK(s.walk(kTask + 0x30) == Chain{kPc, kPc + 0x30});
    s.k.preempt_disable();
    CHECK(s.walk(kOverflow + 0x10) == Chain{kPc, kPc + 0x10, kPc + 0x20, kPc + 0x30});
    s.k.preempt_enable();
    const bool was = s.k.local_irq_save();
    CHECK(s.walk(kIrq + 0x20) == Chain{kPc, kPc + 0x20, kPc + 0x30});
    s.k.local_irq_restore(was);
    CHECK(s.walk(kIrq + 0x20) == Chain{kPc});
}

TEST_CASE("on a stack the records lie one above the other", "[CC-040][CC-044]") {
    Stacks s;
    s.record(kTask + 0x100, kTask + 0x100, kPc + 0x10); // itself
    CHECK(s.walk(kTask + 0x100) == Chain{kPc, kPc + 0x10});
    s.stacks.records = {{kTask + 0x100, kTask + 0x108, kPc + 0x10}, {kTask + 0x108, kOutermost, kPc + 0x20}}; // overlap
    CHECK(s.walk(kTask + 0x100) == Chain{kPc, kPc + 0x10});
    s.stacks.records = {{kTask + 0x100, kTask + 0x110, kPc + 0x10}, {kTask + 0x110, kOutermost, kPc + 0x20}};
    CHECK(s.walk(kTask + 0x100) == Chain{kPc, kPc + 0x10, kPc + 0x20});
    s.stacks.records = {{kTask + 0x100, kTask + 0x80, kPc + 0x10}, {kTask + 0x80, kOutermost, kPc + 0x20}}; // downwards
    CHECK(s.walk(kTask + 0x100) == Chain{kPc, kPc + 0x10});
}

TEST_CASE("a stack that was left cannot be entered again", "[CC-040]") {
    Stacks s;
    s.k.preempt_disable();
    s.record(kIrq + 0x100, kTask + 0x100, kPc + 0x10);
    s.record(kTask + 0x100, kIrq + 0x200, kPc + 0x20);
    s.record(kIrq + 0x200, kTask + 0x200, kPc + 0x30);
    s.record(kTask + 0x200, kOutermost, kPc + 0x40);
    CHECK(s.walk(kIrq + 0x100) == Chain{kPc, kPc + 0x10, kPc + 0x20});
    s.k.preempt_enable();
}

} // namespace rkperf::ke::test::stacktrace_test

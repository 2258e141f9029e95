// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel_events/ring.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {
perf_event_attr faults() { return World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS)); }
std::size_t overflows(World& w) { return w.noticed(EventNotice::What::overflow); }
} // namespace

TEST_CASE("software events count their triggers by mode", "[CORE-435][CORE-436][CORE-437][CORE-438][CORE-451]") {
    World w;
    perf_event_attr kernel = faults();
    kernel.exclude_kernel = 0;
    kernel.exclude_user = 1;
    const int u = w.must_open(faults()), k = w.must_open(kernel), other = w.must_open(World::on(World::sw(5)));
    w.k.page_fault(0, 0x1000);
    w.k.user_regs.pstate = 5;
    w.k.page_fault(0, 0x2000);
    w.k.user_regs.pstate = 0;
    CHECK(w.count(u) == 1);
    CHECK(w.count(k) == 1);
    CHECK(w.count(other) == 0);
    w.k.close(u);
    w.k.close(k);
    CHECK(w.p().counts.perf_swevent_enabled[PERF_COUNT_SW_PAGE_FAULTS] == 0);
}

TEST_CASE("a task's and a CPU's software events", "[CORE-435]") {
    World w;
    const int t1 = w.must_open(faults(), 0, 1), cpu0 = w.must_open(faults(), -1, 0);
    w.k.page_fault(0, 0);
    w.k.page_fault(1, 0);
    CHECK(w.count(t1) == 0);
    CHECK(w.count(cpu0) == 1);
    w.k.switch_to(0, nullptr);
    w.k.switch_to(1, &w.task);
    w.k.page_fault(1, 0);
    CHECK(w.count(t1) == 1);
}

TEST_CASE("repairs of unaligned accesses and of deprecated instructions: at their pc", "[CORE-455]") {
    // As do_compat_alignment_fixup and the emulations of deprecated instructions of a 32-bit task call it.
    for (const std::uint32_t id : {PERF_COUNT_SW_ALIGNMENT_FAULTS, PERF_COUNT_SW_EMULATION_FAULTS}) {
        World w;
        perf_event_attr a = World::on(World::sw(id));
        a.sample_period = 1;
        a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
        const int fd = w.must_open(a);
        const int other = w.must_open(World::on(World::sw(
            id == PERF_COUNT_SW_ALIGNMENT_FAULTS ? PERF_COUNT_SW_EMULATION_FAULTS : PERF_COUNT_SW_ALIGNMENT_FAULTS)));
        Ring ring(w, fd, 1);
        PtRegs regs{};
        regs.pc = 0x10468;
        regs.regs[15] = 0x20001; // the address that was not aligned is nowhere in the sample
        w.perf.perf_sw_event(id, 1, &regs, regs.pc);
        const Record r = ring.must_next();
        CHECK(r.word(0) == 0x10468);
        CHECK(r.word(1) == 0x10468);
        CHECK((r.header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER);
        CHECK(w.count(fd) == 1);
        CHECK(w.count(other) == 0);
    }
}

TEST_CASE("context switches and migrations", "[CORE-228][CORE-230][CORE-453][CORE-454]") {
    World w;
    perf_event_attr s = World::on(World::sw(PERF_COUNT_SW_CONTEXT_SWITCHES)), user = s;
    perf_event_attr m = World::on(World::sw(PERF_COUNT_SW_CPU_MIGRATIONS));
    s.exclude_kernel = m.exclude_kernel = 0;
    const int fd = w.must_open(s), none = w.must_open(user), mig = w.must_open(m), mig1 = w.must_open(m, 0, 1);
    for (int i = 0; i < 5; ++i) {
        w.k.switch_to(0, nullptr);
        w.k.switch_to(0, &w.task);
    }
    CHECK(w.count(fd) == 5);
    CHECK(w.count(none) == 0);
    CHECK(w.count(mig) == 0);
    for (int i = 0; i < 6; ++i) {
        w.k.switch_to(i % 2, nullptr);
        w.k.switch_to(1 - i % 2, &w.task);
    }
    CHECK(w.count(mig) == 6);
    CHECK(w.count(mig1) == 3);
}

TEST_CASE("period arithmetic of software events", "[CORE-440][CORE-442][CORE-443][CORE-446]") {
    World w;
    perf_event_attr a = faults();
    a.sample_period = 3;
    const int fd = w.must_open(a);
    w.k.record_notices = true;
    for (int i = 1; i <= 9; ++i) {
        w.k.page_fault(0, 0);
        CHECK(overflows(w) == static_cast<std::size_t>(i / 3));
    }
    CHECK(w.count(fd) == 9);
    w.perf.perf_sw_event(PERF_COUNT_SW_PAGE_FAULTS, 7, &w.k.user_regs, 0);
    CHECK(overflows(w) == 5);
}

TEST_CASE("PERF_SAMPLE_PERIOD makes every trigger overflow", "[CORE-441]") {
    World w;
    perf_event_attr a = faults();
    a.sample_period = 100;
    a.sample_type = PERF_SAMPLE_PERIOD;
    w.must_open(a);
    w.k.record_notices = true;
    for (int i = 0; i < 4; ++i) w.k.page_fault(0, 0);
    CHECK(overflows(w) == 4);
}

TEST_CASE("software events are not throttled one by one", "[CORE-444]") {
    World w;
    perf_event_attr a = faults();
    a.sample_period = 1;
    w.must_open(a);
    w.k.record_notices = true;
    for (int i = 0; i < 1000; ++i) w.k.page_fault(0, 0);
    CHECK(overflows(w) == 1000);
    CHECK(w.noticed(EventNotice::What::throttled) == 0);
}

TEST_CASE("a trigger inside a trigger is dropped", "[CORE-439]") {
    World w;
    const int fd = w.must_open(faults());
    w.p().percpu[0].swevent_recursion[0] = 1;
    w.k.page_fault(0, 0);
    CHECK(w.count(fd) == 0);
    w.k.in_interrupt([&] { w.perf.perf_sw_event(PERF_COUNT_SW_PAGE_FAULTS, 1, &w.k.user_regs, 0); });
    CHECK(w.count(fd) == 1);
    w.p().percpu[0].swevent_recursion[0] = 0;
}

TEST_CASE("clock events count time", "[CORE-460][CORE-461][CORE-472]") {
    World w;
    perf_event_attr cpu = World::on(World::sw(PERF_COUNT_SW_CPU_CLOCK));
    perf_event_attr task = World::on(World::sw(PERF_COUNT_SW_TASK_CLOCK));
    task.exclude_user = 1;
    const int c = w.must_open(cpu), t = w.must_open(task), wide = w.must_open(cpu, -1, 0);
    w.k.advance(5000);
    CHECK(w.count(c) == 5000);
    CHECK(w.count(t) == 5000);
    w.k.switch_to(0, nullptr);
    w.k.advance(7000);
    w.k.switch_to(0, &w.task);
    w.k.advance(10);
    CHECK(w.count(c) == 5010);
    CHECK(w.count(t) == 5010);
    CHECK(w.count(wide) == 12010);
    w.disable(t);
    w.k.advance(100);
    CHECK(w.count(t) == 5010);
}

TEST_CASE("clock events sample by an hrtimer", "[CORE-462][CORE-463][CORE-464][CORE-465][CORE-466][CORE-467]") {
    World w;
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_CPU_CLOCK));
    a.sample_period = 100'000;
    const int fd = w.must_open(a);
    w.k.record_notices = true;
    w.k.advance(99'999);
    CHECK(overflows(w) == 0);
    w.k.advance(1);
    CHECK(overflows(w) == 1);
    w.k.advance(60'000);
    w.k.switch_to(0, nullptr);
    w.k.advance(1'000'000);
    CHECK(overflows(w) == 1);
    w.k.switch_to(0, &w.task);
    w.k.advance(39'999);
    CHECK(overflows(w) == 1);
    w.k.advance(1);
    CHECK(overflows(w) == 2);
    // In the excluded mode the timer runs on without samples.
    w.k.user_regs.pstate = 5;
    w.k.advance(200'000);
    CHECK(overflows(w) == 2);
    w.k.user_regs.pstate = 0;
    w.k.advance(100'000);
    CHECK(overflows(w) == 3);
    CHECK(w.event(fd).hw.last_period == 100'000);
}

TEST_CASE("clock events: short periods and frequencies", "[CORE-272][CORE-462][CORE-468][CORE-317]") {
    World w;
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_TASK_CLOCK));
    a.sample_period = 1;
    const int fd = w.must_open(a);
    w.k.record_notices = true;
    w.k.advance(100'000);
    // The first expiry uses what is left of the period as it is.
    CHECK(overflows(w) == 10);
    w.k.close(fd);
    a.freq = 1;
    a.sample_freq = 4000;
    const int f = w.must_open(a);
    CHECK_FALSE(w.event(f).attr.freq);
    CHECK(w.event(f).hw.sample_period == 250'000);
    CHECK(w.ioctl(f, PERF_EVENT_IOC_PERIOD, w.k.put_user(std::uint64_t{500'000})) == 0);
    CHECK(w.event(f).hw.sample_period == 500'000);
}

TEST_CASE("hooks of the scheduler stay on for a second", "[CORE-092]") {
    World w;
    w.k.close(w.must_open(World::sw(PERF_COUNT_SW_DUMMY)));
    CHECK(w.k.rcu_waits == 1);
    CHECK(w.p().perf_sched_hooks_on());
    w.k.close(w.must_open(World::sw(PERF_COUNT_SW_DUMMY)));
    CHECK(w.k.rcu_waits == 1);
    w.k.advance(1'000'000'000);
    CHECK_FALSE(w.p().perf_sched_hooks_on());
}

TEST_CASE("a software event's longest periods are counted down from", "[CORE-443]") {
    for (const unsigned bit : {40u, 62u}) {
        World w;
        perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
        a.sample_period = std::uint64_t{1} << bit;
        const int fd = w.must_open(a);
        w.k.page_fault(0, 0x1000);
        CHECK(w.count(fd) == 1);
        CHECK(w.event(fd).hw.period_left == 1 - (std::int64_t{1} << bit));
    }
}

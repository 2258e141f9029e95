// SPDX-License-Identifier: Apache-2.0
// Slot accounting, in-kernel users, modification. The cases of the kernel's own suite (hw_breakpoint_test.c) are here in
// our words, on addresses that a task may watch. Spec HWBP-001 to 044.
#include "kernel_events/hw_breakpoint.h"
#include "tests/kernel_events/fixture.h"

#include <optional>

using namespace rkperf;
using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {

constexpr std::uint64_t kUserData = 0x500000, kKernelData = 0xffff'8000'0800'0000;

/// The kernel's suite: bps of type RW and length 1 at distinct addresses, made as kernel counters.
struct Suite : World {
    static constexpr int kAll = -1;

    explicit Suite(int cpus = 4) : World(cpus), other(k.make_task(200, "other")) {}
    ~Suite() {
        while (!bps.empty()) remove(bps.size() - 1);
        CHECK_FALSE(hw().hw_breakpoint_is_used());
    }
    HwBreakpoints& hw() { return perf.hw_breakpoints(); }
    int S() { return static_cast<int>(hw().hw_breakpoint_slots(BpTypeIdx::data)); }
    /// 0 or the error.
    int add(int cpu, TaskBase* t) {
        perf_event_attr a;
        HwBreakpoints::hw_breakpoint_init(a);
        a.bp_type = HW_BREAKPOINT_RW;
        a.bp_len = 1;
        a.bp_addr = base + next++;
        int error = 0;
        PerfEvent* bp = p().perf_event_create_kernel_counter(
            a, cpu, t, [](PerfEvent&, PerfSampleData&, PtRegs&) {}, error);
        if (bp) bps.push_back(bp);
        return error;
    }
    void must(int cpu, TaskBase* t) { CHECK(add(cpu, t) == 0); }
    void fill(int cpu, TaskBase* t, int skip) {
        for (int i = 0; i < S() - skip; ++i) must(cpu, t);
    }
    void full(int cpu, TaskBase* t) { CHECK(add(cpu, t) == -ENOSPC); }
    void remove(std::size_t i) {
        hw().unregister_hw_breakpoint(bps.at(i));
        bps.erase(bps.begin() + static_cast<std::ptrdiff_t>(i));
    }
    FakeTask& other;
    std::vector<PerfEvent*> bps;
    std::uint64_t base{kUserData}, next{};
};

} // namespace

TEST_CASE("suite: nothing is in use before and after", "[HWBP-034][HWBP-033]") {
    Suite s;
    CHECK_FALSE(s.hw().hw_breakpoint_is_used());
    s.must(0, nullptr);
    CHECK(s.hw().hw_breakpoint_is_used());
    s.remove(0);
    CHECK_FALSE(s.hw().hw_breakpoint_is_used());
    s.must(0, &s.task);
    CHECK(s.hw().hw_breakpoint_is_used());
    s.remove(0);
    s.must(Suite::kAll, &s.task);
    CHECK(s.hw().hw_breakpoint_is_used());
}

TEST_CASE("suite: one CPU", "[HWBP-036][HWBP-014]") {
    Suite s;
    s.fill(0, nullptr, 0);
    s.full(Suite::kAll, &s.task);
    s.full(0, nullptr);
}

TEST_CASE("suite: many CPUs", "[HWBP-037][HWBP-018]") {
    Suite s;
    for (int c = 0; c < 4; ++c) {
        s.fill(c, nullptr, 0);
        s.full(c, nullptr);
    }
}

TEST_CASE("suite: one task on all CPUs", "[HWBP-038][HWBP-013]") {
    Suite s;
    s.fill(Suite::kAll, &s.task, 0);
    s.full(Suite::kAll, &s.task);
    s.full(0, &s.task);
    s.full(0, nullptr);
    s.remove(0);
    s.must(0, nullptr);
}

TEST_CASE("suite: two tasks on all CPUs", "[HWBP-039][HWBP-015][HWBP-016]") {
    Suite s;
    s.fill(Suite::kAll, &s.task, 0);
    s.fill(Suite::kAll, &s.other, 0);
    s.full(Suite::kAll, &s.task);
    s.full(Suite::kAll, &s.other);
    s.full(0, &s.task);
    s.full(0, &s.other);
    s.full(0, nullptr);
    s.remove(0);
    s.full(0, nullptr);
}

TEST_CASE("suite: one task on one CPU", "[HWBP-040][HWBP-017]") {
    Suite s;
    s.fill(0, &s.task, 0);
    s.full(Suite::kAll, &s.task);
    s.full(0, &s.task);
    s.full(0, nullptr);
    s.remove(0);
    s.must(0, nullptr);
}

TEST_CASE("suite: one task, mixed", "[HWBP-041][HWBP-017]") {
    Suite s;
    s.must(0, &s.task);
    s.fill(Suite::kAll, &s.task, 1);
    s.full(Suite::kAll, &s.task);
    s.full(0, &s.task);
    s.full(0, nullptr);
    s.remove(0);
    s.remove(0);
    s.must(0, nullptr);
    s.must(0, nullptr);
    s.full(0, nullptr);
}

TEST_CASE("suite: two tasks on one CPU", "[HWBP-042]") {
    Suite s;
    s.fill(0, &s.task, 0);
    s.fill(0, &s.other, 0);
    s.full(Suite::kAll, &s.task);
    s.full(Suite::kAll, &s.other);
    s.full(0, &s.task);
    s.full(0, &s.other);
    s.full(0, nullptr);
    s.fill(1, nullptr, 0);
}

TEST_CASE("suite: two tasks, on one and on all CPUs", "[HWBP-043]") {
    Suite s;
    s.fill(0, &s.task, 0);
    s.fill(Suite::kAll, &s.other, 0);
    s.full(Suite::kAll, &s.task);
    s.full(Suite::kAll, &s.other);
    s.full(0, &s.task);
    s.full(0, &s.other);
    s.full(0, nullptr);
    s.full(1, nullptr);
}

TEST_CASE("suite: a task on all and on one CPU", "[HWBP-044][HWBP-017]") {
    Suite s;
    const auto all_full = [&] {
        s.full(Suite::kAll, &s.task);
        s.full(0, &s.task);
        s.full(0, nullptr);
    };
    s.fill(Suite::kAll, &s.task, 2);
    s.must(0, &s.task);
    s.must(Suite::kAll, &s.task);
    all_full();
    s.must(1, nullptr);
    s.full(1, nullptr);
    s.remove(2); // the one on CPU 0
    s.full(Suite::kAll, &s.task);
    s.remove(s.bps.size() - 1); // CPU 1's own
    s.must(Suite::kAll, &s.task);
    all_full();
    s.full(1, nullptr);
}

TEST_CASE("on arm64 the suite's kernel addresses allow no task: it fails at its first bp of one",
          "[HWBP-035][HWBP-052]") {
    Suite s;
    s.base = kKernelData;
    s.fill(0, nullptr, 0);
    while (!s.bps.empty()) s.remove(0);
    CHECK(s.add(Suite::kAll, &s.task) == -EINVAL);
    CHECK(s.add(0, &s.task) == -EINVAL);
}

TEST_CASE("accounting follows a model that looks at all bps anew",
          "[HWBP-011][HWBP-012][HWBP-013][HWBP-017][HWBP-020][HWBP-023]") {
    Suite s;
    std::vector<TaskBase*> tasks{nullptr, &s.task, &s.other};
    std::uint32_t seed = 12345;
    const auto random = [&](std::uint32_t n) {
        seed = seed * 1664525 + 1013904223;
        return (seed >> 8) % n;
    };
    const auto applicable = [&](TaskBase* t, int c) {
        return std::count_if(s.bps.begin(), s.bps.end(),
                             [&](PerfEvent* e) { return e->hw.target == t && (e->cpu == -1 || e->cpu == c); });
    };
    for (int i = 0; i < 3000; ++i) {
        TaskBase* t = tasks[random(3)];
        int cpu = static_cast<int>(random(5)) - 1;
        if (!t && cpu < 0) cpu = 0;
        if (!s.bps.empty() && random(2)) {
            s.remove(random(static_cast<std::uint32_t>(s.bps.size())));
            continue;
        }
        long need = 0;
        for (int c = 0; c < 4; ++c) {
            if (cpu >= 0 && c != cpu) continue;
            const long own = applicable(nullptr, c);
            long tasks_most = t ? applicable(t, c) : 0;
            if (!t)
                for (TaskBase* x : {tasks[1], tasks[2]}) tasks_most = std::max<long>(tasks_most, applicable(x, c));
            need = std::max(need, own + tasks_most);
        }
        CHECK((s.add(cpu, t) == 0) == (need + 1 <= s.S()));
    }
}

TEST_CASE("a histogram refuses to go below zero or beyond its slots", "[HWBP-011]") {
    BpConstraints::Histogram h(4);
    CHECK(h.move(0, 3));
    CHECK(h.max() == 3);
    CHECK(h.move(3, 4));
    CHECK_FALSE(h.move(3, 2)); // nobody holds 3
    BpConstraints::Histogram full(4);
    CHECK_FALSE(full.move(4, 5));
    CHECK(full.max() == 0);
}

TEST_CASE("the two types have pools of their own", "[HWBP-003][HWBP-019]") {
    CHECK(find_slot_idx(HW_BREAKPOINT_X) == BpTypeIdx::inst);
    for (const unsigned data : {1u, 2u, 3u, 5u, 6u, 7u}) CHECK(find_slot_idx(data) == BpTypeIdx::data);
    for (const unsigned inst : {0u, 4u, 8u, 12u}) CHECK(find_slot_idx(inst) == BpTypeIdx::inst);
    Suite s;
    CHECK(s.hw().hw_breakpoint_slots(BpTypeIdx::inst) == 6);
    CHECK(s.S() == 4);
    s.fill(0, nullptr, 0);
    perf_event_attr a = World::attr(PERF_TYPE_BREAKPOINT, 0);
    a.bp_type = HW_BREAKPOINT_X;
    a.bp_addr = 0x400000;
    a.bp_len = 8;
    std::vector<int> fds;
    for (int i = 0; i < 6; ++i) fds.push_back(s.must_open(a));
    CHECK(s.try_open(a) == ENOSPC);
    for (const int fd : fds) s.k.close(fd);
}

namespace {

perf_event_attr bp_attr(unsigned type, std::uint64_t addr, std::uint64_t len) {
    perf_event_attr a = World::attr(PERF_TYPE_BREAKPOINT, 0);
    a.bp_type = type;
    a.bp_addr = addr;
    a.bp_len = len;
    return a;
}

} // namespace

TEST_CASE("event_init checks in the kernel's order", "[HWBP-001][HWBP-002][HWBP-004][HWBP-005]") {
    World w;
    CHECK(w.attribute("/sys/bus/event_source/devices/breakpoint/type") == "5\n");
    perf_event_attr a = bp_attr(HW_BREAKPOINT_W, kUserData, 8);
    a.sample_type = PERF_SAMPLE_BRANCH_STACK;
    a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
    CHECK(w.try_open(a) == EOPNOTSUPP);
    // Whether there is room comes before whether the attr is sound.
    std::vector<int> fds;
    for (int i = 0; i < 4; ++i) fds.push_back(w.must_open(bp_attr(HW_BREAKPOINT_W, kUserData, 8)));
    CHECK(w.try_open(bp_attr(HW_BREAKPOINT_W, kUserData, 9)) == ENOSPC);
    CHECK(w.try_open(bp_attr(5, kUserData, 8)) == ENOSPC);
    CHECK(w.try_open(bp_attr(HW_BREAKPOINT_INVALID, kUserData, 8)) == EINVAL);
    CHECK(w.try_open(bp_attr(HW_BREAKPOINT_EMPTY, kUserData, 8)) == EINVAL);
    w.k.close(fds.back());
    // A refused attr gives its slot back.
    for (int i = 0; i < 10; ++i) CHECK(w.try_open(bp_attr(HW_BREAKPOINT_W, kUserData, 9)) == EINVAL);
    for (int i = 0; i < 10; ++i) CHECK(w.try_open(bp_attr(6, kUserData, 8)) == EINVAL);
    CHECK(w.try_open(bp_attr(HW_BREAKPOINT_W, kUserData, 8)) == 0);
}

TEST_CASE("disabled bps and bps of tasks that do not run hold their slots", "[HWBP-021]") {
    World w;
    FakeTask& asleep = w.k.make_task(300, "asleep");
    for (int i = 0; i < 4; ++i) w.must_open(bp_attr(HW_BREAKPOINT_W, kUserData, 8), asleep.pid);
    CHECK(w.try_open(bp_attr(HW_BREAKPOINT_W, kUserData, 8), -1, 0) == ENOSPC);
}

TEST_CASE("an inherited bp needs a slot for the child; without one there is no child", "[HWBP-022]") {
    World w;
    perf_event_attr a = bp_attr(HW_BREAKPOINT_W, kUserData, 8);
    a.inherit = 1;
    for (int i = 0; i < 3; ++i) w.must_open(a);
    FakeTask& child = w.fork(400);
    CHECK(w.try_open(bp_attr(HW_BREAKPOINT_W, kUserData, 8), -1, 1) == 0); // 3 of the child and 1
    const int wide = w.must_open(bp_attr(HW_BREAKPOINT_W, kUserData, 8), -1, 1);
    CHECK(w.try_open(bp_attr(HW_BREAKPOINT_W, kUserData, 8), child.pid) == ENOSPC);
    CHECK(w.try_open(bp_attr(HW_BREAKPOINT_W, kUserData, 8)) == ENOSPC);
    w.k.close(wide);
    w.must_open(bp_attr(HW_BREAKPOINT_W, kUserData, 8)); // not inherited: the task's fourth
    w.perf.perf_event_exit_task(child);
    child.dead = true;
    // pwatch#6: threads use slots of their own, which limits nobody else.
    for (int i = 0; i < 20; ++i) {
        FakeTask& thread = w.fork(500 + i, kCloneThread);
        w.perf.perf_event_exit_task(thread);
        thread.dead = true;
    }
}

TEST_CASE("without memory for the accounting nothing can be reserved", "[HWBP-009]") {
    World w;
    w.perf.hw_breakpoints().constraints_failed();
    CHECK(w.try_open(bp_attr(HW_BREAKPOINT_W, kUserData, 8)) == ENOMEM);
    CHECK_FALSE(w.perf.hw_breakpoints().hw_breakpoint_is_used());
}

TEST_CASE("attributes of in-kernel users", "[HWBP-010]") {
    perf_event_attr a;
    HwBreakpoints::hw_breakpoint_init(a);
    CHECK(a.type == PERF_TYPE_BREAKPOINT);
    CHECK(a.size == sizeof a);
    CHECK(a.pinned == 1);
    CHECK(a.sample_period == 1);
    CHECK(a.exclude_kernel == 0);
    HwBreakpoints::ptrace_breakpoint_init(a);
    CHECK(a.exclude_kernel == 1);
}

TEST_CASE("a bp of a CPU is made alone, bps of tasks beside each other; a debugger does not wait",
          "[HWBP-025][HWBP-026]") {
    World w;
    HwBreakpoints& hw = w.perf.hw_breakpoints();
    FakeTask& other = w.k.make_task(300, "other");
    PerfEvent& bp = w.event(w.must_open(bp_attr(HW_BREAKPOINT_W, kUserData, 8)));
    PerfEvent& of_other = w.event(w.must_open(bp_attr(HW_BREAKPOINT_W, kUserData, 8), other.pid));
    PerfEvent& of_cpu = w.event(w.must_open(bp_attr(HW_BREAKPOINT_W, kUserData, 8), -1, 0));
    CHECK(hw.dbg_release_bp_slot(bp) == 0);
    CHECK(hw.dbg_release_bp_slot(bp) == -ENOENT);
    CHECK(hw.dbg_reserve_bp_slot(bp) == 0);
    {
        MutexGuard held(w.p().perf_event_mutex(w.task));
        CHECK(hw.dbg_release_bp_slot(bp) == -1);
        CHECK(hw.dbg_reserve_bp_slot(bp) == -1);
        // Those of another task and of a CPU are not concerned.
        for (PerfEvent* e : {&of_other, &of_cpu}) {
            CHECK(hw.dbg_release_bp_slot(*e) == 0);
            CHECK(hw.dbg_reserve_bp_slot(*e) == 0);
        }
    }
    RwSem& sem = hw.bp_cpuinfo_sem();
    sem.down_read(); // somebody makes one of a task
    CHECK(hw.dbg_release_bp_slot(of_cpu) == -1);
    CHECK(hw.dbg_reserve_bp_slot(of_cpu) == -1);
    CHECK(hw.dbg_release_bp_slot(bp) == 0);
    CHECK(hw.dbg_reserve_bp_slot(bp) == 0);
    CHECK(w.try_open(bp_attr(HW_BREAKPOINT_X, 0x400000, 4), other.pid) == 0); // beside it
    CHECK_THROWS_AS(hw.reserve_bp_slot(of_cpu), std::logic_error);            // the fake lock's way to wait
    sem.up_read();
    sem.down_write(); // somebody makes one of a CPU
    for (PerfEvent* e : {&bp, &of_other, &of_cpu}) {
        CHECK(hw.dbg_release_bp_slot(*e) == -1);
        CHECK(hw.dbg_reserve_bp_slot(*e) == -1);
    }
    CHECK_THROWS_AS(hw.reserve_bp_slot(of_cpu), std::logic_error);
    sem.up_write();
    CHECK(hw.dbg_release_bp_slot(of_cpu) == 0);
    CHECK(hw.dbg_reserve_bp_slot(of_cpu) == 0);
}

TEST_CASE("removing what was not booked is told and changes nothing", "[HWBP-024]") {
    World w;
    HwBreakpoints& hw = w.perf.hw_breakpoints();
    PerfEvent& bp = w.event(w.must_open(bp_attr(HW_BREAKPOINT_W, kUserData, 8)));
    CHECK(hw.dbg_release_bp_slot(bp) == 0);
    const auto before = w.k.log.size();
    hw.release_bp_slot(bp);
    CHECK(w.k.log.size() == before + 1);
    CHECK_FALSE(hw.hw_breakpoint_is_used());
    CHECK(hw.dbg_reserve_bp_slot(bp) == 0);
}

TEST_CASE("modification: order of the checks, and what stays after a failure", "[HWBP-027][HWBP-028][HWBP-029]") {
    World w;
    perf_event_attr a = bp_attr(HW_BREAKPOINT_W, kUserData, 8);
    a.sig_data = 1;
    const int fd = w.must_open(a);
    PerfEvent& bp = w.event(fd);
    const auto modify = [&](const perf_event_attr& b) {
        return -w.ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, w.k.put_user(b));
    };
    w.enable(fd);
    perf_event_attr b = a;
    b.disabled = 0;
    b.bp_addr = kUserData + 16;
    b.sig_data = 7; // copied, not compared
    CHECK(modify(b) == 0);
    CHECK(bp.attr.bp_addr == kUserData + 16);
    CHECK(bp.attr.sig_data == 7);
    CHECK(bp.hw.breakpoint->address == kUserData + 16);
    CHECK(bp.state == PerfEventState::active);
    perf_event_attr bad = b;
    bad.bp_addr = kUserData + 1;
    CHECK(modify(bad) == EINVAL);
    CHECK(bp.attr.bp_addr == kUserData + 16);
    CHECK(bp.state == PerfEventState::active); // enabled again
    bad = b;
    bad.sample_period = 9;
    CHECK(modify(bad) == EINVAL);
    bad.bp_addr = kUserData + 1; // parsing comes first, both fail alike
    CHECK(modify(bad) == EINVAL);
    bad = b;
    bad.type = PERF_TYPE_SOFTWARE;
    CHECK(modify(bad) == EINVAL);
    const int sw = w.must_open(World::sw(PERF_COUNT_SW_DUMMY));
    CHECK(w.ioctl(sw, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, w.k.put_user(World::sw(PERF_COUNT_SW_DUMMY))) == -EOPNOTSUPP);
    // attr.disabled decides whether it runs afterwards, not whether it did.
    b.disabled = 1;
    CHECK(modify(b) == 0);
    CHECK(bp.state == PerfEventState::off);
    w.enable(fd);
    bad = b;
    bad.bp_addr = kUserData + 1;
    CHECK(modify(bad) == EINVAL);
    CHECK(bp.state == PerfEventState::off);
}

TEST_CASE("a change of type moves between the pools", "[HWBP-028][HWBP-030]") {
    World w;
    const perf_event_attr a = bp_attr(HW_BREAKPOINT_R, kUserData, 8);
    const int fd = w.must_open(a);
    const auto modify = [&](unsigned type) {
        perf_event_attr b = a;
        b.bp_type = type;
        return -w.ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, w.k.put_user(b));
    };
    std::vector<int> x, d;
    for (int i = 0; i < 6; ++i) x.push_back(w.must_open(bp_attr(HW_BREAKPOINT_X, 0x400000, 8)));
    for (int i = 0; i < 3; ++i) d.push_back(w.must_open(a));
    CHECK(modify(HW_BREAKPOINT_W) == 0); // the same pool, though it is full
    CHECK(modify(HW_BREAKPOINT_X) == ENOSPC);
    CHECK(w.event(fd).attr.bp_type == HW_BREAKPOINT_W);
    CHECK(w.try_open(a) == ENOSPC); // its old slot is taken again
    w.k.close(x[0]);
    CHECK(modify(HW_BREAKPOINT_X) == 0);
    CHECK(w.try_open(a) == 0);
    CHECK(w.try_open(bp_attr(HW_BREAKPOINT_X, 0x400000, 8)) == ENOSPC);
}

TEST_CASE("modification goes to inherited bps, until the first error", "[HWBP-029]") {
    World w;
    perf_event_attr a = bp_attr(HW_BREAKPOINT_W, kUserData, 8);
    a.inherit = 1;
    const int fd = w.must_open(a);
    FakeTask& child = w.fork(400);
    REQUIRE(w.event(fd).child_list.size() == 1);
    PerfEvent& copy = *w.event(fd).child_list.front();
    perf_event_attr b = a;
    b.bp_addr = kUserData + 64;
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, w.k.put_user(b)) == 0);
    CHECK(copy.attr.bp_addr == kUserData + 64);
    std::vector<int> x;
    for (int i = 0; i < 6; ++i) x.push_back(w.must_open(bp_attr(HW_BREAKPOINT_X, 0x400000, 8), child.pid));
    b.bp_type = HW_BREAKPOINT_X;
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, w.k.put_user(b)) == -ENOSPC);
    CHECK(w.event(fd).attr.bp_type == HW_BREAKPOINT_X);
    CHECK(copy.attr.bp_type == HW_BREAKPOINT_W);
    w.perf.perf_event_exit_task(child);
    child.dead = true;
}

TEST_CASE("in-kernel bps of a task and of all CPUs", "[HWBP-031][HWBP-032]") {
    World w(4);
    w.k.online = 0b1011;
    HwBreakpoints& hw = w.perf.hw_breakpoints();
    perf_event_attr a;
    HwBreakpoints::hw_breakpoint_init(a);
    a.bp_addr = kKernelData;
    a.bp_len = 8;
    a.bp_type = HW_BREAKPOINT_W;
    const auto nothing = [](PerfEvent&, PerfSampleData&, PtRegs&) {};
    int error = 0;
    std::vector<std::unique_ptr<HwBreakpoints::Wide>> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(hw.register_wide_hw_breakpoint(a, nothing, error));
        REQUIRE(all.back());
        for (unsigned c = 0; c < kMaxCpus; ++c) CHECK(((*all.back())[c] != nullptr) == bool(0b1011 >> c & 1));
    }
    CHECK_FALSE(hw.register_wide_hw_breakpoint(a, nothing, error));
    CHECK(error == -ENOSPC);
    for (auto& events : all) hw.unregister_wide_hw_breakpoint(std::move(events));
    CHECK_FALSE(hw.hw_breakpoint_is_used());
    hw.unregister_hw_breakpoint(nullptr);
    a.bp_addr = kUserData;
    PerfEvent* bp = hw.register_user_hw_breakpoint(a, nothing, w.task, error);
    REQUIRE(bp);
    CHECK(bp->cpu == -1);
    CHECK(bp->hw.target == &w.task);
    CHECK_FALSE(is_default_overflow_handler(*bp));
    hw.unregister_hw_breakpoint(bp);
}

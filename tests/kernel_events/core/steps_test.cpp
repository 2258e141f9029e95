// SPDX-License-Identifier: Apache-2.0
// perf_event_open step by step: which check comes before which, permissions, security modules.
#include "tests/kernel_events/ring.h"
#include "tests/kernel_events/test_pmu.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {
perf_event_attr dummy() { return World::sw(PERF_COUNT_SW_DUMMY); }
} // namespace

TEST_CASE("checks of the attr come before those of permission, these before those of the target",
          "[CORE-038][CORE-039][CORE-046][CORE-054]") {
    World w;
    w.k.cap_perfmon = w.k.cap_sys_admin = false;
    perf_event_attr a = dummy();
    a.exclude_kernel = 0;
    CHECK(w.try_open(a) == EACCES);
    a.__reserved_1 = 1;
    CHECK(w.try_open(a) == EINVAL);
    a.__reserved_1 = 0;
    a.sample_period = 1ull << 63;
    CHECK(w.try_open(a) == EACCES);
    a.exclude_kernel = 1;
    CHECK(w.try_open(a, -2) == EINVAL);
    a.sample_period = 0;
    CHECK(w.try_open(a, -2) == ESRCH);
    // A cgroup's descriptor is looked at neither before the CPU nor without one.
    CHECK(w.try_open(a, -1, 0, 77, PERF_FLAG_PID_CGROUP) == EINVAL);
    CHECK(w.try_open(a, 5, -1, 77, PERF_FLAG_PID_CGROUP) == EINVAL);
    CHECK(w.try_open(a, 5, 0, 77, PERF_FLAG_PID_CGROUP) == EBADF);
    // The clock is looked at when the event is there: an unknown type comes first.
    a.use_clockid = 1;
    a.clockid = 99;
    CHECK(w.try_open(a) == EINVAL);
    a.type = 4711;
    CHECK(w.try_open(a) == ENOENT);
}

TEST_CASE("branch stacks: the levels that were not named, and what they need",
          "[CORE-024][CORE-025][CORE-074][CORE-124]") {
    World w;
    TestPmu& pmu = add_pmu(w);
    perf_event_attr a = attr_of(pmu, 1);
    a.sample_type = PERF_SAMPLE_BRANCH_STACK;
    a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
    const auto levels = [&](bool user, bool kernel, bool hv) {
        a.exclude_user = !user;
        a.exclude_kernel = !kernel;
        a.exclude_hv = !hv;
        return w.event(w.must_open(a)).attr.branch_sample_type & 7;
    };
    CHECK(levels(true, true, true) == 7);
    CHECK(levels(true, false, false) == PERF_SAMPLE_BRANCH_USER);
    CHECK(levels(false, true, false) == PERF_SAMPLE_BRANCH_KERNEL);
    CHECK(levels(false, false, true) == PERF_SAMPLE_BRANCH_HV);
    // Named ones stay what they are.
    a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
    CHECK(levels(true, true, true) == PERF_SAMPLE_BRANCH_USER);
    // Without the sample type the field means nothing.
    a.sample_type = 0;
    a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_KERNEL;
    CHECK(w.event(w.must_open(a)).attr.branch_sample_type == 0);

    w.k.cap_perfmon = w.k.cap_sys_admin = false;
    a.sample_type = PERF_SAMPLE_BRANCH_STACK;
    a.exclude_kernel = a.exclude_hv = 1;
    CHECK(w.try_open(a) == EACCES);
    a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HV;
    CHECK(w.try_open(a) == EACCES);
    // Before most other checks.
    a.sigtrap = 1;
    CHECK(w.try_open(a) == EACCES);
    a.sigtrap = 0;
    a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
    CHECK(w.try_open(a) == 0);
}

TEST_CASE("a bad mask of interrupt registers is told at the end", "[CORE-029][CORE-035]") {
    World w;
    perf_event_attr a = dummy();
    a.sample_type = PERF_SAMPLE_REGS_INTR;
    a.sample_regs_intr = 0;
    CHECK(w.try_open(a) == EINVAL);
    // Not before the permission that branch stacks need, which is looked at inside the same step.
    w.k.cap_perfmon = w.k.cap_sys_admin = false;
    a.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_KERNEL;
    CHECK(w.try_open(a) == EACCES);
    // What nobody looks at.
    a = dummy();
    a.precise_ip = 3;
    a.wakeup_events = 0xffffffff;
    a.bp_type = 0xffffffff;
    a.config1 = a.config2 = ~0ull;
    a.clockid = 99;
    CHECK(w.try_open(a) == 0);
}

TEST_CASE("a page fault in the middle of the attr", "[CORE-019]") {
    World w;
    const std::uint64_t end = FakeKernel::kUserBase + w.k.user.size();
    perf_event_attr a = dummy();
    const auto put = [&](std::uint64_t at, std::uint32_t size) {
        a.size = size;
        std::memcpy(w.k.user_ptr(at), &a, std::min<std::uint64_t>(sizeof a, end - at));
        return w.perf.sys_perf_event_open(at, 0, -1, -1, 0);
    };
    CHECK(put(end - 64, 128) == -EFAULT);
    CHECK(w.k.get_user<perf_event_attr>(end - 128).size != 128);
    std::uint32_t size = 0;
    std::memcpy(&size, w.k.user_ptr(end - 64 + 4), 4);
    CHECK(size == 128); // not changed
    CHECK(put(end - 128, 136) == -EFAULT);
    CHECK(put(end - 64, 64) >= 0);
    // Too large by itself, and the answer cannot be stored: the same error.
    CHECK(put(end - 8, 5000) == -E2BIG);
    std::memcpy(&size, w.k.user_ptr(end - 8 + 4), 4);
    CHECK(size == 128);
}

TEST_CASE("errors of allocation and of the choice of a PMU are the caller's",
          "[CORE-052][CORE-053][CORE-058][CORE-106]") {
    World w;
    TestPmu& pmu = add_pmu(w);
    for (const int error : {EINVAL, ENOMEM, ENOENT, EOPNOTSUPP, EBUSY, EACCES, EPERM, ENODEV}) {
        pmu.on_init = [error](PerfEvent&) { return -error; };
        const std::uint64_t events = w.p().nr_live_events;
        CHECK(w.try_open(attr_of(pmu, 1)) == error);
        CHECK(w.p().nr_live_events == events);
    }
    TestPmu& quiet = add_pmu(w, "quiet", Pmu::TaskContext::hardware,
                             Pmu::PERF_PMU_CAP_HETEROGENEOUS_CPUS | Pmu::PERF_PMU_CAP_NO_INTERRUPT);
    perf_event_attr a = attr_of(quiet, 1);
    CHECK(w.try_open(a) == 0);
    a.sample_period = 1;
    CHECK(w.try_open(a) == EOPNOTSUPP);
    // Before the clock is looked at.
    a.use_clockid = 1;
    a.clockid = 99;
    CHECK(w.try_open(a) == EOPNOTSUPP);
}

TEST_CASE("whom one may look at is asked when the event exists already", "[CORE-059][CORE-122]") {
    World w;
    FakeTask& other = w.k.make_task(300, "other");
    other.may_trace = false;
    w.k.cap_perfmon = w.k.cap_sys_admin = false;
    CHECK(w.try_open(dummy(), 300) == EACCES);
    perf_event_attr a = dummy();
    a.type = 4711;
    CHECK(w.try_open(a, 300) == ENOENT);
    other.may_trace = true;
    CHECK(w.try_open(dummy(), 300) == 0);
    // A SIGTRAP needs more than the capability to look.
    other.may_trace = false;
    w.k.cap_perfmon = w.k.cap_sys_admin = true;
    CHECK(w.try_open(dummy(), 300) == 0);
    a = dummy();
    a.sigtrap = a.remove_on_exec = 1;
    CHECK(w.try_open(a, 300) == 0);
    w.k.cap_kill = false;
    CHECK(w.try_open(a, 300) == EACCES);
    CHECK(w.try_open(dummy(), 300) == 0);
}

TEST_CASE("a target that ends while its event is made", "[CORE-061][CORE-069]") {
    World w;
    FakeTask& other = w.k.make_task(300, "other");
    w.k.switch_to(1, &other);
    w.k.cap_perfmon = w.k.cap_sys_admin = false;
    w.k.on_ptrace_check = [&] { w.exit_current(1); };
    const std::uint64_t events = w.p().nr_live_events;
    const std::size_t files = w.k.files.size();
    CHECK(w.open(World::hw(kCycles), 300) == -ESRCH);
    CHECK(w.p().nr_live_events == events);
    CHECK(w.k.files.size() == files);
}

TEST_CASE("exclude bits and extended registers that a PMU cannot do", "[CORE-086][CORE-109][CORE-112]") {
    World w;
    constexpr unsigned hetero = Pmu::PERF_PMU_CAP_HETEROGENEOUS_CPUS;
    TestPmu& all = add_pmu(w, "all", Pmu::TaskContext::hardware, hetero | Pmu::PERF_PMU_CAP_NO_EXCLUDE);
    int destroyed = 0;
    const auto counted = [&destroyed](PerfEvent& e) {
        e.destroy = [&destroyed](PerfEvent&) { ++destroyed; };
        return 0;
    };
    all.on_init = counted;
    const auto with = [&](auto&& set) {
        perf_event_attr a = attr_of(all, 1);
        set(a);
        return w.try_open(a);
    };
    using A = perf_event_attr;
    CHECK(with([](A&) {}) == 0);
    CHECK(destroyed == 1);
    CHECK(with([](A& a) { a.exclude_user = 1; }) == EINVAL);
    CHECK(destroyed == 2);
    CHECK(with([](A& a) { a.exclude_kernel = 1; }) == EINVAL);
    CHECK(with([](A& a) { a.exclude_hv = 1; }) == EINVAL);
    CHECK(with([](A& a) { a.exclude_idle = 1; }) == EINVAL);
    CHECK(with([](A& a) { a.exclude_host = 1; }) == EINVAL);
    CHECK(with([](A& a) { a.exclude_guest = 1; }) == EINVAL);
    CHECK(destroyed == 7);
    // A mask is looked at even if the sample type does not use it.
    CHECK(with([](A& a) { a.sample_regs_user = 1ull << 46; }) == EOPNOTSUPP);
    TestPmu& vectors = add_pmu(w, "vectors", Pmu::TaskContext::hardware, hetero | Pmu::PERF_PMU_CAP_EXTENDED_REGS);
    perf_event_attr a = attr_of(vectors, 1);
    a.sample_regs_user = 1ull << 46;
    CHECK(w.try_open(a) == 0);
}

TEST_CASE("an extended type goes to a PMU that takes it", "[CORE-112][ARMPMU-009][ARMPMU-010]") {
    World w;
    constexpr unsigned hetero = Pmu::PERF_PMU_CAP_HETEROGENEOUS_CPUS;
    TestPmu& plain = add_pmu(w, "plain");
    TestPmu& takes = add_pmu(w, "takes", Pmu::TaskContext::hardware, hetero | Pmu::PERF_PMU_CAP_EXTENDED_HW_TYPE);
    std::uint64_t seen = 0;
    plain.on_init = [](PerfEvent&) { return 0; };
    const auto extended = [&](std::uint32_t type) {
        perf_event_attr a = attr_of(plain, 0);
        a.type = PERF_TYPE_HARDWARE;
        a.config = std::uint64_t{type} << PERF_PMU_TYPE_SHIFT | PERF_COUNT_HW_INSTRUCTIONS;
        return w.try_open(a);
    };
    CHECK(extended(plain.type) == ENOENT);
    CHECK(extended(kPmuType) == ENOENT); // an arm PMU
    const Pmu& arm = *w.p().pmu_idr.at(kPmuType);
    CHECK((arm.capabilities & Pmu::PERF_PMU_CAP_EXTENDED_REGS));
    CHECK_FALSE((arm.capabilities & (Pmu::PERF_PMU_CAP_NO_EXCLUDE | Pmu::PERF_PMU_CAP_NO_INTERRUPT)));
    struct Taking : TestPmu {
        using TestPmu::TestPmu;
        int event_init(PerfEvent& e) override { return e.attr.type == PERF_TYPE_HARDWARE ? 0 : -ENOENT; }
    };
    auto owned = std::make_unique<Taking>(w.k, Pmu::TaskContext::hardware, hetero | Pmu::PERF_PMU_CAP_EXTENDED_HW_TYPE);
    Taking& taking = *owned;
    REQUIRE(w.p().perf_pmu_register(std::move(owned), "taking", -1) == 0);
    perf_event_attr a = attr_of(taking, 0);
    a.type = PERF_TYPE_HARDWARE;
    a.config = std::uint64_t{taking.type} << PERF_PMU_TYPE_SHIFT | PERF_COUNT_HW_INSTRUCTIONS;
    const int fd = w.must_open(a);
    CHECK(w.event(fd).pmu == &taking);
    seen = w.event(fd).attr.config;
    CHECK(seen == PERF_COUNT_HW_INSTRUCTIONS);
    // The hint is a must: no other PMU is tried.
    CHECK(extended(takes.type) == ENOENT);
}

TEST_CASE("cgroups, AUX output and exclusive PMUs, in this order", "[CORE-087][CORE-108][CORE-110][CORE-065]") {
    World w;
    TestPmu& uncore = add_pmu(w, "uncore", Pmu::TaskContext::invalid, 0);
    perf_event_attr a = attr_of(uncore, 1);
    a.aux_output = 1;
    CHECK(w.try_open(a, 99, 0, -1, PERF_FLAG_PID_CGROUP) == EINVAL);
    CHECK(w.try_open(a, -1, 0) == EOPNOTSUPP);
    perf_event_attr b = dummy();
    b.aux_output = 1;
    CHECK(w.try_open(b, 99, 0, -1, PERF_FLAG_PID_CGROUP) == EOPNOTSUPP);

    TestPmu& alone = add_pmu(w, "alone", Pmu::TaskContext::hardware,
                             Pmu::PERF_PMU_CAP_HETEROGENEOUS_CPUS | Pmu::PERF_PMU_CAP_EXCLUSIVE);
    a = attr_of(alone, 1);
    const int task = w.must_open(a, 0, 0);
    CHECK(w.try_open(a, -1, 0) == EBUSY); // a CPU's event beside a task's
    CHECK(w.try_open(a, 0, 0) == EBUSY);  // two that could meet
    CHECK(w.try_open(a, 0, -1) == EBUSY);
    const int elsewhere = w.must_open(a, 0, 1);
    w.k.close(task);
    CHECK(w.try_open(a, -1, 0) == EBUSY);
    w.k.close(elsewhere);
    const int cpu = w.must_open(a, -1, 0);
    CHECK(w.try_open(a, 0, 1) == EBUSY);
    CHECK(w.try_open(a, -1, 0) == EBUSY);
    CHECK(w.try_open(a, -1, 1) == 0);
    int error = 0;
    CHECK(w.p().perf_event_create_kernel_counter(a, 0, nullptr, nullptr, error) == nullptr);
    CHECK(error == -EBUSY);
    w.k.close(cpu);
    CHECK(alone.exclusive_cnt == 0);
}

TEST_CASE("hooks of security modules: when they are asked, and what a refusal does",
          "[CORE-040][CORE-045][CORE-089][CORE-119][CORE-125][CORE-129]") {
    World w;
    using Log = std::vector<std::string>;
    perf_event_attr a = dummy();
    w.k.lsm_log.clear();
    const int fd = w.must_open(a);
    CHECK(w.k.lsm_log == Log{"open 0", "alloc"});
    w.k.lsm_log.clear();
    a.exclude_kernel = 0;
    const int cpu = w.must_open(a, -1, 0);
    CHECK(w.k.lsm_log == Log{"open 0", "open 2", "alloc", "open 1"});
    w.k.lsm_log.clear();
    w.read(fd);
    w.enable(fd);
    { Ring ring(w, fd, 1); }
    w.k.close(cpu);
    CHECK(w.k.lsm_log == Log{"read", "write", "read", "free"});

    for (const int what : {0, 1, 2}) {
        w.k.lsm_refuses = what;
        CHECK(w.try_open(a, -1, 0) == EXDEV);
    }
    w.k.lsm_refuses = 2;
    perf_event_attr b = dummy();
    CHECK(w.try_open(b) == 0);
    b.sample_type = PERF_SAMPLE_PHYS_ADDR;
    CHECK(w.try_open(b) == EXDEV);
    b.sample_type = 0;
    b.text_poke = 1;
    CHECK(w.try_open(b) == EXDEV);
    w.k.lsm_refuses = 3;
    CHECK(w.p().perf_allow_tracepoint() == -EXDEV);
    w.k.cap_perfmon = w.k.cap_sys_admin = false;
    CHECK(w.p().perf_allow_tracepoint() == -EPERM);
    w.p().sysctl.perf_event_paranoid = -1;
    CHECK(w.p().perf_allow_tracepoint() == -EXDEV);
    w.k.cap_perfmon = w.k.cap_sys_admin = true;
    w.k.lsm_refuses = -1;

    w.k.lsm_refuses_alloc = -EROFS;
    const std::uint64_t events = w.p().nr_live_events;
    b = dummy();
    b.sample_type = PERF_SAMPLE_CALLCHAIN;
    CHECK(w.try_open(b) == EROFS);
    CHECK(w.p().nr_live_events == events);
    CHECK(w.p().counts.nr_callchain == 0);
    w.k.lsm_refuses_alloc = 0;

    w.k.lsm_refuses_use = -ENOLINK;
    CHECK(w.read_result(fd, 512) == -ENOLINK);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_DISABLE) == -ENOLINK);
    CHECK(w.ioctl(fd, 4711) == -ENOLINK);
    FakeMmap vma;
    vma.size_ = 8192;
    vma.mm_ = &w.k.mm;
    CHECK(w.k.ops(fd)->mmap(vma) == -ENOLINK);
    w.k.lsm_refuses_use = 0;

    // Kernel lockdown.
    w.k.locked_down = true;
    b = dummy();
    CHECK(w.try_open(b) == 0);
    b.sample_type = PERF_SAMPLE_REGS_INTR;
    b.sample_regs_intr = 1;
    CHECK(w.try_open(b) == EPERM);
    w.k.locked_down = false;
    CHECK(w.try_open(b) == 0);
    b = dummy();
    b.namespaces = 1;
    CHECK(w.try_open(b) == 0);
    w.k.cap_perfmon = w.k.cap_sys_admin = false;
    CHECK(w.try_open(b) == EACCES);
}

TEST_CASE("locked memory is limited only for those who are not trusted", "[CORE-120]") {
    World w;
    const auto map = [&](int fd) {
        FakeMmap vma;
        vma.size_ = (1 + 512) * 4096;
        vma.mm_ = &w.k.mm;
        const std::int64_t result = w.k.ops(fd)->mmap(vma);
        if (!result) w.k.ops(fd)->mmap_close(vma);
        return result;
    };
    const int fd = w.must_open(dummy());
    w.k.cap_ipc_lock = false;
    CHECK(map(fd) == -EPERM);
    w.k.cap_ipc_lock = true;
    CHECK(map(fd) == 0);
    w.k.cap_ipc_lock = false;
    for (const int level : {2, 1, 0}) {
        w.p().sysctl.perf_event_paranoid = level;
        CHECK(map(fd) == -EPERM);
    }
    w.p().sysctl.perf_event_paranoid = -1;
    CHECK(map(fd) == 0);
    CHECK(w.k.mm.pinned_vm == 0);
    CHECK(w.k.mm_user.locked_vm == 0);
}

TEST_CASE("branch stacks are for no software event", "[CORE-447]") {
    World w;
    for (const std::uint64_t id :
         {PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_DUMMY}) {
        perf_event_attr a = World::sw(id);
        a.sample_type = PERF_SAMPLE_BRANCH_STACK;
        a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
        CHECK(w.try_open(a) == EOPNOTSUPP);
        a.sample_type = 0;
        CHECK(w.try_open(a) == 0);
    }
}

TEST_CASE("redirection at opening", "[CORE-057]") {
    World w;
    perf_event_attr a = World::sw(PERF_COUNT_SW_PAGE_FAULTS);
    const int target = w.must_open(a);
    const auto open = [&](const perf_event_attr& b, int cpu = -1) {
        return w.try_open(b, 0, cpu, target, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP);
    };
    CHECK(open(a) == EINVAL); // no buffer
    Ring ring(w, target, 1);
    CHECK(open(a) == 0);
    CHECK(open(a, 0) == EINVAL);
    perf_event_attr b = a;
    b.write_backward = 1;
    CHECK(open(b) == EINVAL);
    b = a;
    b.use_clockid = 1;
    b.clockid = CLOCK_MONOTONIC;
    CHECK(open(b) == EINVAL);
    const int fd = w.must_open(a, 0, -1, target, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP);
    CHECK(w.event(fd).rb == w.event(target).rb);
}

TEST_CASE("a group that somebody else has moved meanwhile", "[CORE-060][CORE-139]") {
    World w;
    const int lead = w.must_open(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
    w.k.cap_perfmon = w.k.cap_sys_admin = false;
    int inner = -1;
    w.k.on_ptrace_check = [&] {
        // Another thread opens a hardware event in the same group first.
        inner = w.must_open(World::hw(kCycles), 0, -1, lead);
    };
    const int outer = w.must_open(World::hw(kInstructions), 0, -1, lead);
    CHECK(inner >= 0);
    CHECK(w.event(outer).group_leader == &w.event(lead));
    CHECK(w.event(lead).nr_siblings == 2);
    CHECK(w.event(lead).ctx == w.task.perf_event_ctxp[0]);
    CHECK(w.event(outer).ctx == w.event(lead).ctx);
}

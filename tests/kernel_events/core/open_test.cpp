// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel_events/fixture.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {
constexpr auto kDummy = PERF_COUNT_SW_DUMMY;
perf_event_attr dummy() { return World::sw(kDummy); }
} // namespace

TEST_CASE("attr sizes", "[CORE-016][CORE-017][CORE-018][CORE-020]") {
    World w;
    struct Row {
        std::uint32_t size;
        int error;
        std::uint32_t size_after;
    };
    const Row rows[] = {{0, 0, 0},     {1, E2BIG, 128}, {63, E2BIG, 128}, {64, 0, 64},        {72, 0, 72},
                        {128, 0, 128}, {136, 0, 136},   {4096, 0, 4096},  {4097, E2BIG, 128}, {0xffffffff, E2BIG, 128}};
    for (const Row& r : rows) {
        const std::uint64_t a = w.k.alloc_user(8192);
        std::memset(w.k.user_ptr(a), 0, 8192);
        perf_event_attr attr = dummy();
        attr.size = r.size;
        std::memcpy(w.k.user_ptr(a), &attr, sizeof attr);
        const auto fd = w.perf.sys_perf_event_open(a, 0, -1, -1, 0);
        INFO("size " << r.size);
        CHECK((fd < 0 ? -fd : 0) == r.error);
        CHECK(w.k.get_user<perf_event_attr>(a).size == r.size_after);
        if (fd >= 0) {
            CHECK(w.event(static_cast<int>(fd)).attr.size == (r.size ? r.size : 64));
            w.k.close(static_cast<int>(fd));
        }
    }
    // Unknown bytes must be zero.
    for (const auto& [at, error] : {std::pair{128u, E2BIG}, {135u, E2BIG}, {136u, 0}}) {
        const std::uint64_t a = w.k.alloc_user(256);
        std::memset(w.k.user_ptr(a), 0, 256);
        perf_event_attr attr = dummy();
        attr.size = 136;
        std::memcpy(w.k.user_ptr(a), &attr, sizeof attr);
        *w.k.user_ptr(a + at) = 1;
        const auto fd = w.perf.sys_perf_event_open(a, 0, -1, -1, 0);
        CHECK((fd < 0 ? -fd : 0) == error);
        CHECK(w.k.get_user<perf_event_attr>(a).size == (error ? 128u : 136u));
    }
    CHECK(w.perf.sys_perf_event_open(0, 0, -1, -1, 0) == -EFAULT);
}

TEST_CASE("attr fields that are refused",
          "[CORE-021][CORE-022][CORE-023][CORE-026][CORE-027][CORE-031][CORE-032]"
          "[CORE-033][CORE-034]") {
    World w;
    const auto refused = [&w](auto&& change, int error = EINVAL) {
        perf_event_attr a = dummy();
        change(a);
        return w.try_open(a) == error;
    };
    using A = perf_event_attr;
    CHECK(refused([](A& a) { a.__reserved_1 = 1; }));
    CHECK(refused([](A& a) { a.__reserved_2 = 1; }));
    CHECK(refused([](A& a) { a.__reserved_3 = 1; }));
    CHECK(refused([](A& a) { a.sample_type = 1u << 25; }));
    CHECK(refused([](A& a) { a.sample_type = 1ull << 63; }));
    CHECK(refused([](A& a) { a.read_format = 1u << 5; }));
    CHECK(refused([](A& a) { a.read_format = 1u << 4; }, 0));
    CHECK(refused([](A& a) { a.sample_type = PERF_SAMPLE_BRANCH_STACK; }));
    CHECK(refused([](A& a) {
        a.sample_type = PERF_SAMPLE_BRANCH_STACK;
        a.branch_sample_type = PERF_SAMPLE_BRANCH_USER;
    }));
    CHECK(refused([](A& a) { a.sample_type = PERF_SAMPLE_REGS_USER; }));
    CHECK(refused([](A& a) { a.sample_type = PERF_SAMPLE_REGS_USER, a.sample_regs_user = 1ull << 33; }));
    CHECK(refused([](A& a) { a.sample_type = PERF_SAMPLE_REGS_USER, a.sample_regs_user = 1ull << 32; }, 0));
    CHECK(refused([](A& a) { a.sample_type = PERF_SAMPLE_REGS_INTR, a.sample_regs_intr = 1ull << 46; }));
    CHECK(refused([](A& a) { a.sample_type = PERF_SAMPLE_STACK_USER, a.sample_stack_user = 12; }));
    CHECK(refused([](A& a) { a.sample_type = PERF_SAMPLE_STACK_USER, a.sample_stack_user = 65535; }));
    CHECK(refused([](A& a) { a.sample_type = PERF_SAMPLE_STACK_USER, a.sample_stack_user = 0xfff8; }, 0));
    CHECK(refused([](A& a) { a.sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT; }));
    CHECK(refused([](A& a) { a.inherit_thread = 1; }));
    CHECK(refused([](A& a) { a.inherit_thread = a.inherit = 1; }, 0));
    CHECK(refused([](A& a) { a.remove_on_exec = a.enable_on_exec = 1; }));
    CHECK(refused([](A& a) { a.sigtrap = 1; }));
    CHECK(refused([](A& a) { a.sigtrap = a.remove_on_exec = 1; }, 0));
    CHECK(refused([](A& a) { a.aux_output = 1; }, EOPNOTSUPP));
    CHECK(refused([](A& a) { a.aux_sample_size = 4096; }));
}

TEST_CASE("inherit excludes PERF_SAMPLE_READ", "[CORE-073]") {
    World w;
    perf_event_attr a = World::sw(PERF_COUNT_SW_PAGE_FAULTS);
    a.inherit = 1;
    a.sample_period = 1;
    a.sample_type = PERF_SAMPLE_READ;
    CHECK(w.try_open(a) == EINVAL);
    a.sample_type = 0;
    a.read_format = PERF_FORMAT_GROUP;
    CHECK(w.try_open(a) == 0);
}

TEST_CASE("periods and frequencies", "[CORE-043][CORE-071][CORE-273]") {
    World w;
    perf_event_attr a = World::sw(PERF_COUNT_SW_PAGE_FAULTS);
    a.sample_period = 1ull << 63;
    CHECK(w.try_open(a) == EINVAL);
    a.sample_period = (1ull << 63) - 1;
    CHECK(w.try_open(a) == 0);
    a.freq = 1;
    a.sample_freq = 100000;
    const int fd = w.must_open(a);
    CHECK(w.event(fd).hw.sample_period == 1);
    a.sample_freq = 100001;
    CHECK(w.try_open(a) == EINVAL);
    a.sample_freq = 0;
    const int counting = w.must_open(a);
    CHECK_FALSE(is_sampling_event(w.event(counting)));
}

TEST_CASE("flags, pid and cpu", "[CORE-037][CORE-050][CORE-066][CORE-067][CORE-070]") {
    World w;
    const perf_event_attr a = dummy();
    CHECK(w.try_open(a, 0, -1, -1, 0x10) == EINVAL);
    CHECK(w.try_open(a, 0, -1, -1, 1ull << 63) == EINVAL);
    CHECK(w.perf.sys_perf_event_open(0, 0, -1, -1, 0x20) == -EINVAL);
    CHECK(w.try_open(a, 0, 0) == 0);
    CHECK(w.try_open(a, 100, -1) == 0);
    CHECK(w.try_open(a, -1, 0) == 0);
    CHECK(w.try_open(a, -1, -1) == EINVAL);
    CHECK(w.try_open(a, 0, -2) == EINVAL);
    CHECK(w.try_open(a, 0, 4096) == EINVAL);
    CHECK(w.try_open(a, 0, 0x7fffffff) == EINVAL);
    CHECK(w.try_open(a, -2, 0) == ESRCH);
    CHECK(w.try_open(a, 4194305, -1) == ESRCH);
    CHECK(w.try_open(a, -1, 0, -1, PERF_FLAG_PID_CGROUP) == EINVAL);
    CHECK(w.try_open(a, 0, -1, -1, PERF_FLAG_PID_CGROUP) == EINVAL);
    CHECK(w.try_open(a, 999, 0, -1, PERF_FLAG_PID_CGROUP) == EBADF);
}

TEST_CASE("a task that is exiting", "[CORE-055]") {
    World w;
    FakeTask& t = w.k.make_task(200);
    t.exiting = true;
    CHECK(w.try_open(dummy(), 200) == ESRCH);
}

TEST_CASE("group_fd", "[CORE-048][CORE-049][CORE-051][CORE-056][CORE-131][CORE-132][CORE-140]") {
    World w;
    const perf_event_attr a = dummy();
    perf_event_attr b = World::sw(PERF_COUNT_SW_PAGE_FAULTS);
    const int lead = w.must_open(a);
    CHECK(w.try_open(a, 0, -1, 40) == EBADF);
    CHECK(w.try_open(a, 0, -1, -2) == EBADF);
    CHECK(w.try_open(a, 0, -1, lead, PERF_FLAG_FD_NO_GROUP) == 0);
    CHECK(w.try_open(a, 0, 0, lead, PERF_FLAG_FD_NO_GROUP) == 0);
    CHECK(w.try_open(a, 0, -1, lead, PERF_FLAG_FD_OUTPUT) == EINVAL);
    CHECK(w.try_open(a, 0, -1, -1, PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT) == 0);
    const int sib = w.must_open(b, 0, -1, lead);
    CHECK(w.try_open(b, 0, -1, sib) == EINVAL);
    CHECK(w.try_open(b, 0, 0, lead) == EINVAL);
    CHECK(w.try_open(b, -1, 0, lead) == EINVAL);
    const int cpulead = w.must_open(a, -1, 0);
    CHECK(w.try_open(b, 0, 0, cpulead) == EINVAL);
    CHECK(w.try_open(b, -1, 0, cpulead) == 0);
    b.pinned = 1;
    CHECK(w.try_open(b, 0, -1, lead) == EINVAL);
    b.pinned = 0;
    b.exclusive = 1;
    CHECK(w.try_open(b, 0, -1, lead) == EINVAL);
    b.exclusive = 0;
    b.use_clockid = 1;
    b.clockid = 1;
    CHECK(w.try_open(b, 0, -1, lead) == EINVAL);
    b.use_clockid = 0;
    b.inherit = 1;
    CHECK(w.try_open(b, 0, -1, lead) == EINVAL);
    FakeTask& other = w.k.make_task(300);
    (void)other;
    b.inherit = 0;
    CHECK(w.try_open(b, 300, -1, lead) == EINVAL);
    // A former sibling leads when its leader is gone.
    w.k.close(lead);
    CHECK(w.try_open(b, 0, -1, sib) == 0);
}

TEST_CASE("descriptors run out before anything else is looked at", "[CORE-047]") {
    World w;
    w.k.max_fds = 5;
    w.must_open(dummy());
    w.must_open(dummy());
    CHECK(w.try_open(dummy(), 0, -1, 40) == EMFILE);
    CHECK(w.try_open(dummy(), -2, 0) == EMFILE);
}

TEST_CASE("every event takes an id, also one that fails later", "[CORE-009][CORE-010]") {
    World w;
    const int a = w.must_open(dummy());
    const std::uint64_t id = w.event(a).id;
    CHECK(w.try_open(World::sw(99)) == ENOENT);
    CHECK(w.try_open(dummy(), 0, 4096) == EINVAL);
    const int b = w.must_open(dummy());
    CHECK(w.event(b).id == id + 2);
    const std::uint64_t at = w.k.alloc_user(8);
    CHECK(w.ioctl(b, PERF_EVENT_IOC_ID, at) == 0);
    CHECK(w.k.get_user<std::uint64_t>(at) == id + 2);
    CHECK(w.ioctl(b, PERF_EVENT_IOC_ID, 8) == -EFAULT);
}

TEST_CASE("types and PMUs", "[CORE-076][CORE-077][CORE-078][CORE-080][CORE-081][CORE-082][CORE-094]") {
    World w;
    CHECK(w.try_open(World::attr(1000, 0)) == ENOENT);
    CHECK(w.try_open(World::attr(0xffffffff, 0)) == ENOENT);
    CHECK(w.try_open(World::sw(12)) == ENOENT);
    CHECK(w.try_open(World::sw(1ull << 32)) == ENOENT);
    CHECK(w.try_open(World::attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES)) == 0);
    CHECK(w.try_open(World::attr(PERF_TYPE_HARDWARE, 10)) == EINVAL);
    CHECK(w.try_open(World::attr(PERF_TYPE_HARDWARE, 0xffffffff)) == EINVAL);
    // An extended type names the PMU, but core PMUs do not take part in that.
    CHECK(w.try_open(World::attr(PERF_TYPE_HARDWARE, std::uint64_t{kPmuType} << 32)) == ENOENT);
    CHECK(w.try_open(World::attr(PERF_TYPE_RAW, 0x10011)) == 0);
    CHECK(w.try_open(World::attr(PERF_TYPE_TRACEPOINT, 1)) == EINVAL);
    CHECK(w.attribute("/sys/bus/event_source/devices/kprobe/type") == "6\n");
    CHECK(w.attribute("/sys/bus/event_source/devices/uprobe/type") == "7\n");
    CHECK(w.attribute("/sys/bus/event_source/devices/armv8_pmuv3/type") == "8\n");
    CHECK(w.attribute("/sys/bus/event_source/devices/software/type") == "1\n");
}

TEST_CASE("paranoid levels",
          "[CORE-039][CORE-041][CORE-042][CORE-044][CORE-115][CORE-116][CORE-117][CORE-118]"
          "[CORE-121][CORE-123]") {
    World w;
    w.k.cap_perfmon = w.k.cap_sys_admin = false;
    FakeTask& foreign = w.k.make_task(300);
    foreign.may_trace = false;
    w.k.make_task(301);
    perf_event_attr user = World::hw(kCycles), kernel = user;
    kernel.exclude_kernel = 0;
    const auto at = [&](int level, const perf_event_attr& a, int pid, int cpu) {
        w.p().sysctl.perf_event_paranoid = level;
        return w.try_open(a, pid, cpu);
    };
    CHECK(at(3, user, 0, -1) == EACCES);
    CHECK(at(2, user, 0, -1) == 0);
    CHECK(at(2, kernel, 0, -1) == EACCES);
    CHECK(at(1, kernel, 0, -1) == 0);
    CHECK(at(1, user, -1, 0) == EACCES);
    CHECK(at(0, user, -1, 0) == 0);
    CHECK(at(0, user, 300, -1) == EACCES);
    CHECK(at(0, user, 301, -1) == 0);
    // Unsupported events are told apart before the target is looked at.
    CHECK(at(0, World::sw(99), 300, -1) == ENOENT);
    perf_event_attr ns = user;
    ns.namespaces = 1;
    CHECK(at(-1, ns, 0, -1) == EACCES);
    perf_event_attr phys = user;
    phys.sample_type = PERF_SAMPLE_PHYS_ADDR;
    CHECK(at(2, phys, 0, -1) == EACCES);
    CHECK(at(1, phys, 0, -1) == 0);
    w.k.cap_perfmon = true;
    CHECK(at(2, kernel, 0, -1) == 0);
    CHECK(at(3, kernel, 0, -1) == EACCES);
    CHECK(at(2, user, 300, -1) == 0);
}

TEST_CASE("group size is limited by what a read can return", "[CORE-062]") {
    World w;
    w.k.max_fds = 2000;
    perf_event_attr a = dummy();
    a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST;
    const int lead = w.must_open(a);
    int n = 1, fd;
    while ((fd = w.open(a, 0, -1, lead)) >= 0) ++n;
    CHECK(fd == -E2BIG);
    CHECK(n == (16384 - 8) / 24);
    CHECK(w.read(lead, 16384).size() == 1u + 3u * static_cast<unsigned>(n));
}

TEST_CASE("clock ids", "[CORE-522][CORE-523]") {
    World w;
    for (int id = -1; id <= 12; ++id) {
        perf_event_attr s = dummy(), h = World::hw(kCycles);
        s.use_clockid = h.use_clockid = 1;
        s.clockid = h.clockid = id;
        const bool safe = id == 1 || id == 4, unsafe = id == 0 || id == 7 || id == 11;
        INFO("clockid " << id);
        CHECK(w.try_open(s) == (safe || unsafe ? 0 : EINVAL));
        CHECK(w.try_open(h) == (safe ? 0 : EINVAL));
    }
}

TEST_CASE("call chains are limited by the sysctl", "[CORE-028][CORE-088][CORE-281]") {
    World w;
    perf_event_attr a = World::sw(PERF_COUNT_SW_PAGE_FAULTS);
    a.sample_period = 1;
    a.sample_type = PERF_SAMPLE_CALLCHAIN;
    a.sample_max_stack = 128;
    CHECK(w.try_open(a) == EOVERFLOW);
    a.sample_max_stack = 0;
    const int fd = w.must_open(a);
    CHECK(w.event(fd).attr.sample_max_stack == 127);
    const auto& store = w.k.attributes.at("/proc/sys/kernel/perf_event_max_stack").store;
    CHECK(store("64\n") == -EBUSY);
    w.k.close(fd);
    CHECK(store("64\n") == 3);
    CHECK(store("655361\n") == -EINVAL);
    CHECK(w.attribute("/proc/sys/kernel/perf_event_max_stack") == "64\n");
}

TEST_CASE("the event counts when its descriptor is returned, and belongs to the caller", "[CORE-068][CORE-072]") {
    World w;
    const int fd = w.must_open(World::on(World::hw(kInstructions)));
    CHECK(w.event(fd).state == PerfEventState::active);
    CHECK(w.event(fd).owner == &w.task);
    REQUIRE(w.task.perf_event_list.size() == 1);
    CHECK(w.task.perf_event_list.back() == &w.event(fd));
    w.k.count(0, kInstructions, 17);
    CHECK(w.count(fd) == 17);
}

TEST_CASE("global counters of side-band users", "[CORE-090][CORE-091][CORE-404]") {
    World w;
    perf_event_attr a = dummy();
    a.mmap = a.comm = a.task = a.context_switch = 1;
    const int fd = w.must_open(a, -1, 0);
    CHECK(w.p().counts.nr_mmap == 1);
    CHECK(w.p().counts.nr_comm == 1);
    CHECK(w.p().counts.nr_switch == 1);
    CHECK(w.p().percpu[0].pmu_sb_events.size() == 1);
    perf_event_attr b = dummy();
    b.mmap2 = 1;
    w.must_open(b);
    CHECK(w.p().counts.nr_mmap == 1);
    CHECK(w.p().percpu[0].pmu_sb_events.size() == 1);
    w.k.close(fd);
    CHECK(w.p().counts.nr_mmap == 0);
    CHECK(w.p().percpu[0].pmu_sb_events.empty());
}

TEST_CASE("CPU event on an offline CPU", "[CORE-063]") {
    World w(4);
    w.k.on_cpu(3);
    w.perf.cpu_dying(3);
    w.k.on_cpu(0);
    w.k.online = 0x7;
    CHECK(w.try_open(dummy(), -1, 3) == ENODEV);
    CHECK(w.try_open(dummy(), 0, 3) == 0);
}

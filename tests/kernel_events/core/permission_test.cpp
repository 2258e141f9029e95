// SPDX-License-Identifier: Apache-2.0
// What may refuse an event while it is made: its driver's module, the rules for probes and tracepoints.
#include "tests/kernel_events/ring.h"
#include "tests/kernel_events/test_pmu.h"

namespace rkperf::ke::test::permission_test {

class UnloadingPmu final : public TestPmu {
  public:
    using TestPmu::TestPmu;
    bool try_module_get() override {
        if (!going) ++references;
        return !going;
    }
    void module_put() override { --references; }
    bool going{};
    int references{};
};

TEST_CASE("each event holds its driver's module; one that is being unloaded gives no events", "[CORE-084]") {
    World w;
    auto owned = std::make_unique<UnloadingPmu>(w.k, Pmu::TaskContext::hardware, Pmu::PERF_PMU_CAP_HETEROGENEOUS_CPUS);
    UnloadingPmu& pmu = *owned;
    REQUIRE(w.p().perf_pmu_register(std::move(owned), "unloading", -1) == 0);
    const int fd = w.must_open(attr_of(pmu, 1));
    CHECK(pmu.references == 1);
    // Refusals give it back: by the driver, and after it.
    pmu.on_init = [](PerfEvent&) { return -EOPNOTSUPP; };
    CHECK(w.try_open(attr_of(pmu, 1)) == EOPNOTSUPP);
    pmu.on_init = nullptr;
    pmu.capabilities |= Pmu::PERF_PMU_CAP_NO_EXCLUDE;
    perf_event_attr excludes = attr_of(pmu, 1);
    excludes.exclude_kernel = 1;
    CHECK(w.try_open(excludes) == EINVAL);
    perf_event_attr deep = attr_of(pmu, 1);
    deep.sample_period = 1;
    deep.sample_type = PERF_SAMPLE_CALLCHAIN;
    deep.sample_max_stack = 1000;
    CHECK(w.try_open(deep) == EOVERFLOW);
    CHECK(w.try_open(attr_of(pmu, 1), 0, -1, fd, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP) == EINVAL);
    CHECK(pmu.references == 1);
    pmu.going = true;
    CHECK(w.try_open(attr_of(pmu, 1)) == ENODEV);
    pmu.going = false;
    w.k.close(fd);
    CHECK(pmu.references == 0);
}

TEST_CASE("kprobes are for those who may perf, uprobes for administrators", "[CORE-126]") {
    World w;
    perf_event_attr kprobe = World::attr(6, 0), uprobe = World::attr(7, 0);
    kprobe.exclude_kernel = uprobe.exclude_kernel = 0;
    w.p().sysctl.perf_event_paranoid = -1;
    // With the right, the arguments count: no address, no path.
    CHECK(w.try_open(kprobe) == EINVAL);
    const int with_right = w.try_open(uprobe);
    CHECK(with_right != EACCES);
    w.k.cap_sys_admin = false;
    CHECK(w.try_open(kprobe) == EINVAL); // CAP_PERFMON is enough
    CHECK(w.try_open(uprobe) == EACCES);
    w.k.cap_perfmon = false;
    CHECK(w.try_open(kprobe) == EACCES);
    CHECK(w.try_open(uprobe) == EACCES);
    CHECK(w.attribute("/sys/bus/event_source/devices/kprobe/format/retprobe") == "config:0\n");
    CHECK(w.attribute("/sys/bus/event_source/devices/uprobe/format/retprobe") == "config:0\n");
    CHECK(w.attribute("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset") == "config:32-63\n");
}

TEST_CASE("a kprobe's place is a name or an address", "[CORE-479]") {
    World w;
    const auto named = [&](std::string_view name) {
        std::array<char, 600> buffer{};
        name.copy(buffer.data(), buffer.size() - 1);
        perf_event_attr a = World::attr(6, 0);
        a.exclude_kernel = 0;
        a.kprobe_func = w.k.put_user(buffer);
        return a;
    };
    CHECK(w.try_open(named("perf_ioctl")) == 0);
    perf_event_attr ret = named("perf_ioctl");
    ret.config = 1;
    CHECK(w.try_open(ret) == 0);
    CHECK(w.try_open(named("no_such_function")) == ENOENT);
    CHECK(w.try_open(named(std::string(511, 'x'))) == ENOENT);
    CHECK(w.try_open(named(std::string(512, 'x'))) == E2BIG);
    perf_event_attr bad = named("perf_ioctl");
    bad.kprobe_func = 8;
    CHECK(w.try_open(bad) == EFAULT);
    // Without a name, and with an empty one, config2 is the address.
    perf_event_attr by_address = named("");
    by_address.kprobe_addr = 0x123; // in no function
    CHECK(w.try_open(by_address) == ENOENT);
    by_address.kprobe_func = 0;
    CHECK(w.try_open(by_address) == ENOENT);
    by_address.kprobe_addr = 0;
    CHECK(w.try_open(by_address) == EINVAL);
}

TEST_CASE("a tracepoint's own rule comes first, raw data need the right, copies are not asked", "[CORE-127]") {
    World w;
    int asked = 0, answer = 0;
    TraceEventCall call;
    call.system = "test";
    call.name = "guarded";
    call.reg = [](TraceReg, PerfEvent*) { return 0; };
    call.perf_perm = [&](PerfEvent&) {
        ++asked;
        return answer;
    };
    REQUIRE(w.perf.trace_events().trace_add_event_call(call) == 0);
    w.p().sysctl.perf_event_paranoid = 1;
    w.k.cap_perfmon = w.k.cap_sys_admin = false;
    perf_event_attr a = World::attr(PERF_TYPE_TRACEPOINT, static_cast<std::uint64_t>(call.type));
    a.sample_period = 1;
    a.sample_type = PERF_SAMPLE_RAW;
    answer = -EXDEV;
    CHECK(w.try_open(a) == EXDEV);
    answer = 0;
    CHECK(w.try_open(a) == EPERM);
    a.sample_type = 0;
    CHECK(w.try_open(a) == 0);
    // For everybody, on tasks of one's own only: any bit beside PERF_ATTACH_TASK spoils it.
    call.flags |= TRACE_EVENT_FL_CAP_ANY;
    a.sample_type = PERF_SAMPLE_RAW;
    CHECK(w.try_open(a) == 0);
    // A copy is asked by the event's own rule alone.
    a.inherit = 1;
    const int fd = w.must_open(a);
    call.flags = 0;
    asked = 0;
    FakeTask& child = w.fork(200);
    CHECK(asked == 1);
    CHECK(w.event(fd).child_list.size() == 1);
    w.k.switch_to(1, &child);
    w.exit_current(1);
    w.k.close(fd);
    REQUIRE(w.perf.trace_events().trace_remove_event_call(call) == 0);
}

TEST_CASE("a hit for another task does not reach that task's events with sigtrap", "[CORE-296]") {
    for (const bool sigtrap : {false, true}) {
        World w;
        FakeTask& other = w.k.make_task(200, "other");
        const TraceEventCall* call = w.perf.trace_events().find("sched", "sched_wakeup");
        REQUIRE(call);
        perf_event_attr a = World::attr(PERF_TYPE_TRACEPOINT, static_cast<std::uint64_t>(call->type));
        a.exclude_kernel = 0;
        a.sample_period = 1;
        a.disabled = 0;
        a.sigtrap = a.remove_on_exec = sigtrap;
        const int fd = w.must_open(a, 200, 0); // of that task, on this CPU
        w.perf.tracepoints().trace_sched_wakeup(other);
        CHECK(w.count(fd) == (sigtrap ? 0 : 1));
        CHECK(w.k.sigtraps.empty());
        w.k.close(fd);
    }
}

TEST_CASE("the core PMU looks at a user's access before it looks at the type") {
    World w;
    perf_event_attr a = World::attr(0x100005, 0);
    CHECK(w.try_open(a) == ENOENT);
    a.config1 = 3; // 64 bits, in one counter
    CHECK(w.try_open(a) == EOPNOTSUPP);
    a.config1 = 2;
    CHECK(w.try_open(a) == ENOENT);
    CHECK(w.try_open(a, -1, 0) == EINVAL);
}

TEST_CASE("a group whose task has gone takes no CPU's event", "[CORE-056]") {
    World w;
    FakeTask& other = w.k.make_task(200, "other");
    const int leader = w.must_open(World::sw(PERF_COUNT_SW_DUMMY), 200, 0);
    w.k.switch_to(1, &other);
    w.exit_current(1);
    CHECK(w.try_open(World::sw(PERF_COUNT_SW_DUMMY), -1, 0, leader) == EINVAL);
}

TEST_CASE("a kernel without cgroups for perf refuses them", "[CORE-030]") {
    World w;
    perf_event_attr a = World::attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    a.sample_type = PERF_SAMPLE_CGROUP;
    CHECK(w.try_open(a) == 0);
    w.p().config.cgroup_perf = false;
    CHECK(w.try_open(a) == EINVAL);
    a.sample_type = 0;
    CHECK(w.try_open(a) == 0);
    CHECK(w.try_open(a, 99, 0, -1, PERF_FLAG_PID_CGROUP) == EINVAL);
}

} // namespace rkperf::ke::test::permission_test

// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel_events/fixture.h"
#include "tests/kernel_events/ring.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {

/// Two cgroups, one within the other, as descriptors 90 and 91.
struct CgroupWorld : World {
    std::shared_ptr<FakeCgroup> outer = FakeKernel::make_cgroup(k.root_cgroup.get(), "/out", 20);
    std::shared_ptr<FakeCgroup> inner = FakeKernel::make_cgroup(outer.get(), "/out/in", 30);
    FakeTask& a = k.make_task(200, "a");
    FakeTask& b = k.make_task(201, "b");
    CgroupWorld() {
        k.cgroup_fds = {{90, outer}, {91, inner}};
        a.cgroup = outer;
        b.cgroup = inner;
    }
    int open_in(int dir, perf_event_attr attr, int group = -1) {
        return open(attr, dir, 0, group, PERF_FLAG_PID_CGROUP);
    }
    void run(FakeTask* t, std::uint64_t n) {
        k.switch_to(0, t);
        k.count(0, kCycles, n);
    }
};

} // namespace

TEST_CASE("which descriptors are cgroups", "[CORE-046][CORE-087][CORE-241][CORE-242]") {
    CgroupWorld w;
    const perf_event_attr a = World::hw(kCycles);
    CHECK(w.open_in(89, a) == -EBADF);
    w.inner->online = false;
    CHECK(w.open_in(91, a) == -ENOENT);
    w.inner->online = true;
    const int leader = w.open_in(90, a);
    REQUIRE(leader >= 0);
    CHECK(w.open_in(91, a, leader) == -EINVAL);
    CHECK(w.open_in(90, a, leader) >= 0);
    w.k.cap_perfmon = w.k.cap_sys_admin = false;
    CHECK(w.open_in(90, a) == -EACCES);
}

TEST_CASE("a plain event of the CPU may join a cgroup's group", "[CORE-132][CORE-243]") {
    CgroupWorld w;
    const int leader = w.open_in(90, World::hw(kCycles));
    REQUIRE(leader >= 0);
    CHECK(w.open(World::hw(kCycles), -1, 0, leader) >= 0);
}

TEST_CASE("counting follows the tasks of a cgroup and those below", "[CORE-192][CORE-244][CORE-245][CORE-247]") {
    CgroupWorld w;
    const int out = w.open_in(90, World::on(World::hw(kCycles))), in = w.open_in(91, World::on(World::hw(kCycles)));
    const int cpu = w.must_open(World::on(World::hw(kCycles)), -1, 0);
    w.run(&w.a, 5);
    w.run(&w.b, 7);
    w.run(&w.task, 11);
    w.run(nullptr, 1);
    CHECK(w.count(out) == 12);
    CHECK(w.count(in) == 7);
    CHECK(w.count(cpu) == 24);
}

TEST_CASE("a running task that moves takes its counting along", "[CORE-245]") {
    CgroupWorld w;
    const int out = w.open_in(90, World::on(World::hw(kCycles))), in = w.open_in(91, World::on(World::hw(kCycles)));
    w.run(&w.task, 3);
    w.task.cgroup = w.inner;
    w.perf.perf_cgroup_attach(w.task);
    w.run(&w.task, 4);
    w.task.cgroup = nullptr;
    w.perf.perf_cgroup_attach(w.task);
    w.run(&w.task, 5);
    CHECK(w.count(out) == 4);
    CHECK(w.count(in) == 4);
}

TEST_CASE("the current cgroup is followed while there are enabled events only", "[CORE-246][CORE-248]") {
    CgroupWorld w;
    const int out = w.open_in(90, World::hw(kCycles));
    auto& list = w.p().percpu[0].cgrp_cpuctx_list;
    CHECK(list.empty());
    w.run(&w.a, 5);
    CHECK(w.count(out) == 0); // off
    w.enable(out);
    CHECK(list.size() == 1);
    w.run(&w.a, 5);
    CHECK(w.count(out) == 5);
    w.run(&w.task, 5);
    const int late = w.open_in(90, World::on(World::hw(kCycles))); // none of its tasks is here
    CHECK(w.event(late).state == PerfEventState::inactive);
    w.disable(out);
    CHECK(list.size() == 1);
    w.k.close(late);
    CHECK(list.empty());
}

TEST_CASE("a pinned event without a counter gives up its place among the cgroup's", "[CORE-161]") {
    CgroupWorld w;
    w.k.switch_to(0, &w.a);
    perf_event_attr pinned = World::on(World::hw(kInstructions));
    pinned.pinned = 1;
    std::vector<int> fds;
    for (int i = 0; i < 8; ++i) fds.push_back(w.open_in(90, pinned));
    int errors = 0, counted = 0;
    for (const int fd : fds) {
        errors += w.event(fd).state == PerfEventState::error;
        counted += w.event(fd).cgrp_counted;
    }
    CHECK(errors > 0);
    CHECK(counted == 8 - errors);
}

TEST_CASE("the time of a cgroup's events is that of its tasks", "[CORE-186]") {
    CgroupWorld w;
    perf_event_attr a = World::on(World::hw(kCycles));
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const int out = w.open_in(90, a);
    w.k.advance(1000);
    CHECK(w.read(out) == std::vector<std::uint64_t>{0, 0, 0});
    w.k.switch_to(0, &w.b);
    w.k.advance(300);
    w.k.switch_to(0, &w.task);
    w.k.advance(5000);
    CHECK(w.read(out) == std::vector<std::uint64_t>{0, 300, 300});
    w.k.switch_to(0, &w.a);
    w.k.advance(50);
    CHECK(w.read(out) == std::vector<std::uint64_t>{0, 350, 350});
}

TEST_CASE("switches between cgroups", "[CORE-228][CORE-458]") {
    CgroupWorld w;
    const int fd = w.must_open(World::on([] {
                                   perf_event_attr a = World::sw(PERF_COUNT_SW_CGROUP_SWITCHES);
                                   a.exclude_kernel = 0;
                                   return a;
                               }()),
                               -1, 0);
    FakeTask& c = w.k.make_task(202, "c");
    c.cgroup = w.outer;
    w.k.switch_to(0, &w.a); // from the root
    w.k.switch_to(0, &c);   // stays
    w.k.switch_to(0, &w.b);
    w.k.switch_to(0, &w.task);
    CHECK(w.count(fd) == 3);
}

TEST_CASE("CGROUP records and samples", "[CORE-250][CORE-378][CORE-431]") {
    CgroupWorld w;
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_DUMMY));
    a.cgroup = 1;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    w.perf.perf_event_cgroup(*w.inner);
    const Record r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_CGROUP);
    CHECK(r.header.size == 24);
    CHECK(r.word(0) == 30);
    CHECK(r.text(16) == "/out/in");

    perf_event_attr s = World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
    s.exclude_kernel = 0;
    s.sample_period = 1;
    s.sample_type = PERF_SAMPLE_CGROUP;
    const int sampling = w.must_open(s);
    Ring samples(w, sampling, 1);
    w.task.cgroup = w.outer;
    w.k.page_fault(0, 0x1000);
    CHECK(samples.must_next().word(0) == 20);
}

TEST_CASE("numbers in records are those of the opener's pid namespace", "[CORE-014]") {
    World w;
    int ns = 0;
    w.k.pid_ns = std::shared_ptr<const void>(&ns, [](const void*) {});
    w.k.pid_maps[&ns] = {{100, 1}, {101, 2}};
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_DUMMY));
    a.task = a.comm = 1;
    const int fd = w.must_open(a);
    w.k.pid_ns = nullptr;
    const int outside = w.must_open(a);
    Ring r(w, fd, 1), o(w, outside, 1);
    FakeTask& child = w.k.make_task(101);
    FakeTask& stranger = w.k.make_task(102);
    w.perf.perf_event_fork(child);
    w.perf.perf_event_fork(stranger);
    Record x = r.must_next();
    CHECK(x.half(0) == 2);
    CHECK(x.half(1) == 1);
    CHECK(r.must_next().half(0) == 0); // cannot be seen from there
    CHECK(o.must_next().half(0) == 101);
    child.dead = true;
    w.perf.perf_event_comm(child, false);
    CHECK(r.must_next().half(0) == ~0u);
}

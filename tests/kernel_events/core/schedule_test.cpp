// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel_events/fixture.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {
constexpr std::uint64_t kTimes = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;

perf_event_attr timed(std::uint64_t event) {
    perf_event_attr a = World::hw(event);
    a.read_format = kTimes;
    return a;
}
bool active(World& w, int fd) { return w.event(fd).state == PerfEventState::active; }
/// Enabled events of different kinds: six of them fill the event counters.
std::vector<int> open_events(World& w, unsigned n, perf_event_attr a = World::on(timed(kInstructions)), int pid = 0,
                             int cpu = -1) {
    std::vector<int> fds;
    for (unsigned i = 0; i < n; ++i) fds.push_back(w.must_open(a, pid, cpu));
    return fds;
}
std::string pattern(World& w, const std::vector<int>& fds) {
    std::string s;
    for (int fd : fds) s += active(w, fd) ? '#' : '.';
    return s;
}
} // namespace

TEST_CASE("enable and disable", "[CORE-167][CORE-169][CORE-170][CORE-312][CORE-313]") {
    World w;
    const int fd = w.must_open(timed(kInstructions));
    w.k.count(0, kInstructions, 5);
    CHECK(w.count(fd) == 0);
    w.enable(fd);
    w.enable(fd);
    w.k.count(0, kInstructions, 5);
    w.k.advance(1000);
    w.disable(fd);
    w.disable(fd);
    w.k.count(0, kInstructions, 7);
    w.k.advance(1000);
    CHECK(w.read(fd) == std::vector<std::uint64_t>{5, 1000, 1000});
    w.enable(fd);
    w.k.count(0, kInstructions, 100);
    CHECK(w.count(fd) == 105);
    w.reset(fd);
    CHECK(w.read(fd) == std::vector<std::uint64_t>{0, 1000, 1000});
}

TEST_CASE("group members on and off", "[CORE-142][CORE-143][CORE-144][CORE-168][CORE-169][CORE-170][CORE-312]") {
    World w;
    const int lead = w.must_open(World::hw(kCycles));
    const int s1 = w.must_open(World::on(World::hw(kInstructions)), 0, -1, lead);
    const int s2 = w.must_open(World::hw(0x03), 0, -1, lead);
    CHECK_FALSE(active(w, s1));
    w.enable(s2);
    CHECK(w.event(s2).state == PerfEventState::inactive);
    w.disable(s2);
    w.enable(lead);
    CHECK(active(w, lead));
    CHECK(active(w, s1));
    CHECK(w.event(s2).state == PerfEventState::off);
    w.enable(s2);
    CHECK(active(w, s2));
    w.disable(s1);
    CHECK(active(w, lead));
    CHECK_FALSE(active(w, s1));
    w.disable(lead);
    CHECK(w.event(lead).state == PerfEventState::off);
    CHECK(w.event(s2).state == PerfEventState::inactive);
    w.enable(s2, PERF_IOC_FLAG_GROUP);
    CHECK(active(w, lead));
    CHECK(active(w, s1));
    CHECK(active(w, s2));
    w.disable(s1, PERF_IOC_FLAG_GROUP);
    for (int fd : {lead, s1, s2}) CHECK(w.event(fd).state == PerfEventState::off);
}

TEST_CASE("counters: six and one for cycles",
          "[CORE-156][CORE-195][CORE-196][ARMPMU-016][PMUV3-017][PMUV3-018]"
          "[PMUV3-020]") {
    World w;
    auto fds = open_events(w, 6);
    const int cycles = w.must_open(World::on(timed(kCycles)));
    CHECK(pattern(w, fds) == "######");
    CHECK(active(w, cycles));
    CHECK(w.event(cycles).hw.idx == 0);
    CHECK(w.event(fds[0]).hw.idx == 1);
    CHECK(w.event(fds[5]).hw.idx == 6);
    const int seventh = w.must_open(World::on(timed(kInstructions)));
    CHECK_FALSE(active(w, seventh));
    w.k.close(fds[2]);
    fds.erase(fds.begin() + 2);
    // Nothing reschedules by itself: the seventh waits for the next turn.
    CHECK_FALSE(active(w, seventh));
    w.k.advance(4'000'000);
    CHECK(active(w, seventh));
}

TEST_CASE("rotation moves the first active group to the end",
          "[CORE-212][CORE-213][CORE-214][CORE-215][CORE-216]"
          "[CORE-217][CORE-225][CORE-098]") {
    World w;
    std::vector<int> fds;
    for (std::uint64_t e : {0x11, 0x08, 0x03, 0x04, 0x10, 0x12, 0x13, 0x14, 0x16, 0x17})
        fds.push_back(w.must_open(World::on(timed(e))));
    // The table of a real run: placed in list order until the first that does not fit.
    CHECK(pattern(w, fds) == "#######...");
    const char* const turns[] = {".######...", "..######..", "...######.", "#...######", "##...#####"};
    // list: c i 03 04 10 12 13 14 16 17
    for (int turn = 0; turn < 3; ++turn) {
        w.k.advance(4'000'000);
        CHECK(pattern(w, fds) == turns[turn]);
    }
    w.k.advance(4'000'000);
    CHECK(pattern(w, fds) == "#...######");
    w.k.advance(4'000'000);
    CHECK(pattern(w, fds) == "##...#####");
}

TEST_CASE("the first turn ends on the grid of the interval", "[CORE-213]") {
    World w;
    w.k.advance(1'234'567); // now 1.001234567 s
    const auto fds = open_events(w, 7);
    CHECK(pattern(w, fds) == "######.");
    w.k.advance(4'000'000 - 1'234'567 - 1);
    CHECK(pattern(w, fds) == "######.");
    w.k.advance(1);
    CHECK(pattern(w, fds) == ".######");
    // When all fit the timer fires once more and stops.
    w.k.close(fds[6]);
    w.k.advance(8'000'000);
    PerfCpuContext& cpuctx = *w.event(fds[0]).pmu->cpu_context[0];
    CHECK_FALSE(cpuctx.hrtimer_active);
    CHECK_FALSE(w.k.timer_queued(cpuctx.hrtimer));
}

TEST_CASE("enabled and running time under multiplexing", "[CORE-179][CORE-225]") {
    World w;
    const auto fds = open_events(w, 12);
    w.k.advance(48'000'000);
    std::uint64_t sum = 0;
    for (int fd : fds) {
        const auto v = w.read(fd);
        CHECK(v[1] == 48'000'000);
        CHECK(v[2] == 24'000'000);
        sum += v[2];
    }
    CHECK(sum == 6u * 48'000'000u);
}

TEST_CASE("pinned events first, and error when they do not fit",
          "[CORE-157][CORE-158][CORE-159][CORE-189][CORE-191]"
          "[CORE-220][CORE-298]") {
    World w;
    perf_event_attr pinned = World::on(timed(kInstructions));
    pinned.pinned = 1;
    const auto flexible = open_events(w, 2);
    const auto fds = open_events(w, 8, pinned);
    CHECK(pattern(w, fds) == "######..");
    CHECK(w.event(fds[6]).state == PerfEventState::error);
    CHECK(w.event(fds[7]).state == PerfEventState::error);
    CHECK(pattern(w, flexible) == "..");
    CHECK(w.read_result(fds[6], 64) == 0);
    CHECK(w.read_result(fds[6], 0) == 0);
    w.k.advance(20'000'000);
    CHECK(pattern(w, fds) == "######..");
    w.k.close(fds[0]);
    CHECK(w.read_result(fds[6], 64) == 0);
    w.enable(fds[6]);
    CHECK(active(w, fds[6]));
    CHECK(w.read_result(fds[6], 64) == 24);
    w.disable(fds[7]);
    CHECK(w.event(fds[7]).state == PerfEventState::error);
    w.reset(fds[7]);
    CHECK(w.read_result(fds[7], 64) == 0);
    w.enable(fds[7]);
    CHECK(w.event(fds[7]).state == PerfEventState::error);
}

TEST_CASE("exclusive events", "[CORE-152][CORE-153][CORE-154][CORE-155]") {
    World w;
    perf_event_attr exclusive = timed(kInstructions), pinned = timed(kInstructions);
    exclusive.exclusive = 1;
    pinned.pinned = 1;
    const int x = w.must_open(exclusive), p = w.must_open(pinned);
    w.enable(x);
    CHECK(active(w, x));
    w.disable(x);
    w.enable(p);
    w.enable(x);
    CHECK(active(w, x)); // beside an event of the other class
    w.disable(x);
    w.disable(p);
    w.enable(x);
    const int q = w.must_open(timed(kInstructions)), s = w.must_open(World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS)));
    CHECK(active(w, s));
    exclusive.pinned = 1;
    const int y = w.must_open(exclusive);
    w.disable(x);
    w.enable(y);
    w.enable(q);
    CHECK(active(w, y));
    CHECK_FALSE(active(w, q));
    w.enable(p);
    CHECK(active(w, p));
    CHECK(w.event(y).state == PerfEventState::error);
}

TEST_CASE("groups of software and hardware events",
          "[CORE-133][CORE-134][CORE-135][CORE-136][CORE-137][CORE-138]"
          "[CORE-148]") {
    World w;
    perf_event_attr s = World::sw(PERF_COUNT_SW_PAGE_FAULTS), h = World::on(World::hw(kInstructions));
    s.read_format = h.read_format = PERF_FORMAT_GROUP | kTimes;
    const int lead = w.must_open(s);
    CHECK(in_software_context(w.event(lead)));
    w.enable(lead);
    const int s1 = w.must_open(h, 0, -1, lead);
    // The group moved, and its leader is as it was opened.
    CHECK_FALSE(in_software_context(w.event(lead)));
    CHECK(w.event(lead).ctx == w.event(s1).ctx);
    CHECK(w.event(lead).state == PerfEventState::off);
    const int s2 = w.must_open(World::on(s), 0, -1, lead);
    CHECK_FALSE(in_software_context(w.event(s2)));
    w.enable(lead);
    for (int i = 0; i < 3; ++i) w.k.page_fault(0, 0x1000);
    w.k.count(0, kInstructions, 40);
    w.k.advance(10);
    CHECK(w.read(s1) == std::vector<std::uint64_t>{3, 10, 10, 3, 40, 3});
    // The leader goes; the others stay what they are.
    w.k.close(lead);
    CHECK(active(w, s1));
    CHECK(active(w, s2));
    w.k.page_fault(0, 0x1000);
    CHECK(w.read(s2) == std::vector<std::uint64_t>{1, 10, 10, 4});
}

TEST_CASE("closing leaders and siblings", "[CORE-141][CORE-145][CORE-147]") {
    World w;
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.read_format = PERF_FORMAT_GROUP;
    const int lead = w.must_open(a), s1 = w.must_open(a, 0, -1, lead), s2 = w.must_open(a, 0, -1, lead);
    CHECK(w.read(lead).size() == 4);
    w.k.close(s1);
    CHECK(w.read(lead).size() == 3);
    CHECK(w.event(lead).nr_siblings == 1);
    w.k.close(lead);
    CHECK(active(w, s2));
    CHECK(w.read(s2).size() == 2);
    CHECK(w.event(s2).group_leader == &w.event(s2));
}

TEST_CASE("CPU events and task events share counters by priority",
          "[CORE-191][CORE-201][CORE-202][CORE-203][CORE-206]"
          "[CORE-218][CORE-219]") {
    World w;
    const auto task = open_events(w, 4);
    const auto cpu = open_events(w, 4, World::on(timed(kInstructions)), -1, 0);
    CHECK(pattern(w, cpu) == "####");
    CHECK(pattern(w, task) == "##..");
    perf_event_attr pinned = World::on(timed(kInstructions));
    pinned.pinned = 1;
    const int p = w.must_open(pinned);
    CHECK(active(w, p));
    CHECK(pattern(w, cpu) == "####");
    CHECK(pattern(w, task) == "#...");
    w.k.advance(4'000'000);
    CHECK(pattern(w, cpu) == "####");
    CHECK(pattern(w, task) == ".#..");
    // Without the task, only the CPU's events are there.
    w.k.switch_to(0, nullptr);
    CHECK(pattern(w, cpu) == "####");
    CHECK_FALSE(active(w, p));
    w.k.switch_to(0, &w.task);
    CHECK(active(w, p));
}

TEST_CASE("task events follow their task",
          "[CORE-163][CORE-166][CORE-177][CORE-178][CORE-182][CORE-183][CORE-184]"
          "[CORE-237][CORE-240]") {
    World w;
    const int any = w.must_open(World::on(timed(kInstructions)));
    const int on1 = w.must_open(World::on(timed(kInstructions)), 0, 1);
    w.k.advance(100);
    w.k.count(0, kInstructions, 10);
    w.k.switch_to(0, nullptr);
    w.k.count(0, kInstructions, 1000);
    w.k.advance(5000);
    CHECK(w.read(any) == std::vector<std::uint64_t>{10, 100, 100});
    CHECK(w.read(on1) == std::vector<std::uint64_t>{0, 100, 0});
    w.k.switch_to(1, &w.task);
    w.k.count(1, kInstructions, 7);
    w.k.advance(50);
    CHECK(w.read(any) == std::vector<std::uint64_t>{17, 150, 150});
    CHECK(w.read(on1) == std::vector<std::uint64_t>{7, 150, 50});
}

TEST_CASE("events of another task: running elsewhere, asleep", "[CORE-163][CORE-165]") {
    World w;
    FakeTask& other = w.k.make_task(200);
    const int asleep = w.must_open(World::on(timed(kInstructions)), 200);
    CHECK(w.event(asleep).state == PerfEventState::inactive);
    w.k.switch_to(1, &other);
    CHECK(active(w, asleep));
    const int running = w.must_open(World::on(timed(kInstructions)), 200);
    CHECK(active(w, running));
    CHECK(w.event(running).oncpu == 1);
    w.k.count(1, kInstructions, 9);
    CHECK(w.count(running) == 9);
    w.disable(running);
    w.k.count(1, kInstructions, 9);
    CHECK(w.count(running) == 9);
    CHECK(w.count(asleep) == 18);
}

TEST_CASE("two core PMUs share the task's context",
          "[CORE-096][CORE-099][CORE-526][CORE-527][CORE-528][CORE-529]"
          "[ARMPMU-002][ARMPMU-008][ARMPMU-012][CORE-149]") {
    World w(4, {{"armv8_cortex_a55", 0x3, {23}, 0, {}}, {"armv8_cortex_a76", 0xc, {23}, 2, {}}});
    CHECK(w.attribute("/sys/bus/event_source/devices/armv8_cortex_a76/type") == "9\n");
    CHECK(w.attribute("/sys/bus/event_source/devices/armv8_cortex_a55/cpus") == "0-1\n");
    CHECK(w.attribute("/sys/bus/event_source/devices/armv8_cortex_a76/cpus") == "2-3\n");
    CHECK(w.attribute("/sys/bus/event_source/devices/armv8_cortex_a55/perf_event_mux_interval_ms") == "4\n");
    CHECK(w.attribute("/sys/bus/event_source/devices/armv8_cortex_a76/perf_event_mux_interval_ms") == "0\n");
    perf_event_attr a55 = World::on(timed(kInstructions)), a76 = a55, generic = a55;
    a76.type = 9;
    generic.type = PERF_TYPE_HARDWARE;
    generic.config = PERF_COUNT_HW_INSTRUCTIONS;
    CHECK(w.try_open(a55, 0, 2) == ENOENT);
    const int little = w.must_open(a55), big = w.must_open(a76), any = w.must_open(generic);
    const int on2 = w.must_open(generic, 0, 2);
    CHECK(w.event(any).pmu->name == "armv8_cortex_a55");
    CHECK(w.event(on2).pmu->name == "armv8_cortex_a76");
    CHECK(w.try_open(a76, 0, -1, little) == EINVAL);
    CHECK(w.event(little).ctx == w.event(big).ctx);
    w.k.count(0, kInstructions, 10);
    w.k.advance(100);
    w.k.switch_to(0, nullptr);
    w.k.switch_to(2, &w.task);
    w.k.count(2, kInstructions, 3);
    w.k.advance(60);
    CHECK(w.read(little) == std::vector<std::uint64_t>{10, 160, 100});
    CHECK(w.read(big) == std::vector<std::uint64_t>{3, 160, 60});
    CHECK(w.read(any) == std::vector<std::uint64_t>{10, 160, 100});
    CHECK(w.read(on2) == std::vector<std::uint64_t>{3, 160, 60});
    CHECK_FALSE(w.event(little).ctx->rotate_necessary);
}

TEST_CASE("the interval can be changed", "[CORE-103][CORE-104][CORE-105]") {
    World w;
    const std::string dir = "/sys/bus/event_source/devices/";
    const auto& store = w.k.attributes.at(dir + "armv8_pmuv3/perf_event_mux_interval_ms").store;
    CHECK(w.attribute(dir + "armv8_pmuv3/perf_event_mux_interval_ms") == "4\n");
    CHECK(store("0\n") == -EINVAL);
    CHECK(store("-3\n") == -EINVAL);
    CHECK(store("x\n") == -EINVAL);
    CHECK(store("99999999999\n") == -ERANGE);
    CHECK(store("0x2\n") == 0);
    CHECK(w.attribute(dir + "armv8_pmuv3/perf_event_mux_interval_ms") == "2\n");
    const auto fds = open_events(w, 7);
    w.k.advance(2'000'000);
    CHECK(pattern(w, fds) == ".######");
    CHECK(w.attribute(dir + "software/perf_event_mux_interval_ms") == "0\n");
}

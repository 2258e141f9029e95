// SPDX-License-Identifier: Apache-2.0
// What the perf core and the PMU driver cost, beside what was measured on a real Linux 6.1 arm64 (instructions at EL1 for
// one operation). What the rest of the kernel adds (entry and exit of the system call or interrupt, descriptors, copies)
// is taken off as given in each row.
#include "tests/kernel_events/ring.h"

using namespace rkperf;
using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {

constexpr double kSyscall = 470, kIoctl = kSyscall + 480, kRead = kSyscall + 200, kClose = kSyscall + 500;
constexpr double kIrq = 391, kHrtimer = kIrq + 800;
constexpr double kTolerance = 0.05;

template <class Fn>
double cost(World& w, Fn&& fn) {
    fn(); // the first time may differ
    const std::uint64_t before = w.k.charged;
    fn();
    return static_cast<double>(w.k.charged - before);
}
/// A measured figure, within 5 % of the whole operation.
void matches(double perf_part, double rest, double measured) {
    CHECK(perf_part + rest == Approx(measured).epsilon(kTolerance));
}

} // namespace

TEST_CASE("costs of system calls on one event", "[cost]") {
    World w;
    const int fd = w.must_open(World::hw(kInstructions));
    const std::uint64_t buf = w.k.alloc_user(64);
    matches(cost(w, [&] { w.disable(fd); }), kIoctl, 1255);
    matches(cost(w, [&] { w.ioctl(fd, PERF_EVENT_IOC_ID, buf); }), kIoctl, 1161);
    matches(cost(w, [&] { w.k.ops(fd)->read(buf, 64, false); }), kRead, 1290);
    matches(cost(w, [&] { w.enable(fd), w.disable(fd); }), 2 * kIoctl, 5512);
    matches(cost(w, [&] { w.perf.perf_event_task_disable(), w.perf.perf_event_task_enable(); }), 2 * kSyscall, 4925);
    w.enable(fd);
    matches(cost(w, [&] { w.enable(fd); }), kIoctl, 1263);
    matches(cost(w, [&] { w.reset(fd); }), kIoctl, 1635);
    matches(cost(w, [&] { w.k.ops(fd)->read(buf, 64, false); }), kRead, 1636);
}

TEST_CASE("costs of opening and closing", "[cost]") {
    World w;
    const int keep = w.must_open(World::hw(kInstructions));
    const auto open_close = [&w](const perf_event_attr& a) { return cost(w, [&] { w.k.close(w.must_open(a)); }); };
    matches(open_close(World::hw(kInstructions)), kSyscall + kClose, 4957 + 3937);
    matches(open_close(World::sw(PERF_COUNT_SW_CONTEXT_SWITCHES)), kSyscall + kClose, 6754 + 4788);
    w.k.close(keep);
    matches(open_close(World::hw(kInstructions)), kSyscall + kClose, 5506 + 3796);
    matches(open_close(World::on(World::hw(kInstructions))), kSyscall + kClose, 6354 + 4292);
}

TEST_CASE("costs of groups", "[cost]") {
    World w;
    perf_event_attr a = World::hw(kInstructions);
    a.read_format = PERF_FORMAT_GROUP;
    const int lead = w.must_open(a);
    for (int i = 0; i < 3; ++i) w.must_open(World::on(a), 0, -1, lead);
    const std::uint64_t buf = w.k.alloc_user(64);
    matches(cost(w, [&] { w.k.ops(lead)->read(buf, 64, false); }), kRead, 1991);
    matches(cost(w, [&] { w.enable(lead, 1), w.disable(lead, 1); }), 2 * kIoctl, 22099);
    w.enable(lead, 1);
    matches(cost(w, [&] { w.k.ops(lead)->read(buf, 64, false); }), kRead, 2801);
}

TEST_CASE("costs of a context switch", "[cost]") {
    for (const auto& [n, measured] : {std::pair{1, 2308.0}, {2, 3587.0}, {4, 6320.0}, {6, 9098.0}}) {
        World w;
        std::vector<int> fds;
        for (int i = 0; i < n; ++i) fds.push_back(w.must_open(World::on(World::hw(kInstructions))));
        matches(cost(w,
                     [&] {
                         w.k.switch_to(0, nullptr);
                         w.k.switch_to(0, &w.task);
                     }),
                0, measured);
        if (n < 6) continue;
        w.disable(fds[5]);
        matches(cost(w, [&] { w.enable(fds[5]), w.disable(fds[5]); }), 2 * kIoctl, 12377);
        CHECK(cost(w, [&] { w.k.tick(0); }) == 13);
    }
    // Equal contexts are swapped.
    World w;
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.inherit = 1;
    w.must_open(a);
    FakeTask& child = w.fork(101);
    matches(cost(w,
                 [&] {
                     w.k.switch_to(0, &child);
                     w.k.switch_to(0, &w.task);
                 }),
            0, 2 * 218);
}

TEST_CASE("costs of software events, samples and rotation", "[cost]") {
    SECTION("page fault") {
        World w;
        w.must_open(World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS)));
        matches(cost(w, [&] { w.k.page_fault(0, 0x1000); }), 0, 230);
    }
    SECTION("overflow, IP only") {
        World w;
        perf_event_attr a = World::hw(kInstructions);
        a.sample_period = 1000;
        a.sample_type = PERF_SAMPLE_IP;
        const int fd = w.must_open(a);
        Ring ring(w, fd, 8);
        w.enable(fd);
        matches(cost(w, [&] { w.k.count(0, EventNumber(kInstructions), 1000); }), kIrq, 1848);
    }
    SECTION("cpu-clock") {
        World w;
        perf_event_attr a = World::sw(PERF_COUNT_SW_CPU_CLOCK);
        a.sample_period = 100'000;
        a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
        const int fd = w.must_open(a);
        Ring ring(w, fd, 8);
        w.enable(fd);
        matches(cost(w, [&] { w.k.advance(100'000); }), kHrtimer, 2424);
    }
    SECTION("rotation of eight events") {
        World w;
        for (int i = 0; i < 8; ++i) w.must_open(World::on(World::hw(i ? kInstructions : kCycles)));
        w.k.advance(4'000'000);
        double sum = 0;
        for (int i = 0; i < 8; ++i) sum += cost(w, [&] { w.k.advance(4'000'000); });
        CHECK(sum / 8 + kHrtimer == Approx(11200).epsilon(0.1));
    }
}

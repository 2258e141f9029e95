// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel_events/fixture.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {
constexpr std::uint64_t kTimes = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
perf_event_attr inherited(std::uint64_t event) {
    perf_event_attr a = World::on(World::hw(event));
    a.inherit = 1;
    a.read_format = kTimes;
    return a;
}
} // namespace

TEST_CASE("children count for the original", "[CORE-187][CORE-302][CORE-493][CORE-495][CORE-496][CORE-503][CORE-504]") {
    World w;
    const int fd = w.must_open(inherited(kInstructions));
    w.k.count(0, kInstructions, 5);
    FakeTask& child = w.fork(101);
    REQUIRE(w.event(fd).child_list.size() == 1);
    PerfEvent& copy = *w.event(fd).child_list.front();
    CHECK(copy.id != w.event(fd).id);
    CHECK(primary_event_id(copy) == w.event(fd).id);
    CHECK(copy.count == 0);
    CHECK(copy.state == PerfEventState::inactive);
    w.k.switch_to(1, &child);
    w.k.count(1, kInstructions, 20);
    w.k.advance(100);
    CHECK(w.read(fd) == std::vector<std::uint64_t>{25, 200, 200});
    // A grandchild hangs on the original too.
    w.k.on_cpu(1);
    FakeTask& grandchild = w.fork(102);
    w.k.on_cpu(0);
    CHECK(w.event(fd).child_list.size() == 2);
    w.exit_current(1);
    CHECK(w.event(fd).child_list.size() == 1);
    CHECK(w.event(fd).child_count == 20);
    w.k.switch_to(1, &grandchild);
    w.k.count(1, kInstructions, 7);
    w.exit_current(1);
    CHECK(w.count(fd) == 32);
    // RESET leaves what exited children gave.
    w.reset(fd);
    CHECK(w.count(fd) == 27);
}

TEST_CASE("who inherits", "[CORE-493][CORE-496][CORE-497]") {
    World w;
    perf_event_attr thread = inherited(0x03), off = inherited(0x04), plain = World::on(World::hw(0x10));
    thread.inherit_thread = 1;
    off.disabled = 1;
    w.must_open(thread);
    const int off_fd = w.must_open(off);
    w.must_open(plain);
    FakeTask& process = w.fork(101, 0);
    CHECK(process.perf_event_ctxp[0]->nr_events == 1);
    CHECK(w.event(off_fd).child_list.front()->state == PerfEventState::off);
    CHECK(process.perf_event_ctxp[0]->parent_ctx == nullptr);
    FakeTask& t = w.fork(102, kCloneThread);
    CHECK(t.perf_event_ctxp[0]->nr_events == 2);
    w.perf.perf_event_free_task(process);
    CHECK(w.event(off_fd).child_list.size() == 1);
}

TEST_CASE("contexts are swapped between equal clones", "[CORE-231][CORE-232][CORE-233][CORE-234][CORE-238]") {
    World w;
    const int fd = w.must_open(inherited(kInstructions));
    FakeTask& child = w.fork(101);
    PerfEventContext *ours = w.task.perf_event_ctxp[0], *theirs = child.perf_event_ctxp[0];
    CHECK(theirs->parent_ctx == ours);
    auto& cnten = w.k.cpu(0).pmu.writes[rkperf::sysreg::PMCNTENSET_EL0.encoding];
    w.k.count(0, kInstructions, 3);
    const unsigned before = cnten;
    w.k.switch_to(0, &child);
    CHECK(cnten == before);
    CHECK(w.task.perf_event_ctxp[0] == theirs);
    CHECK(child.perf_event_ctxp[0] == ours);
    CHECK(ours->task == &child);
    w.k.count(0, kInstructions, 4);
    CHECK(w.count(fd) == 7);
    // A new event makes them differ.
    w.must_open(World::on(World::hw(0x03)), 101);
    w.k.switch_to(0, &w.task);
    CHECK(cnten > before);
    CHECK(child.perf_event_ctxp[0] == ours);
    CHECK(w.count(fd) == 7);
    w.k.switch_to(0, &child);
    w.exit_current(0);
    CHECK(w.count(fd) == 7);
}

TEST_CASE("inherit_stat keeps counts with their tasks", "[CORE-235]") {
    World w;
    perf_event_attr a = inherited(kInstructions);
    a.inherit_stat = 1;
    const int fd = w.must_open(a);
    FakeTask& child = w.fork(101);
    w.k.count(0, kInstructions, 3);
    w.k.switch_to(0, &child);
    w.k.count(0, kInstructions, 40);
    w.k.switch_to(0, &w.task);
    CHECK(w.task.perf_event_ctxp[0]->event_list.front()->count == 3);
    CHECK(child.perf_event_ctxp[0]->event_list.front()->count == 40);
    CHECK(w.count(fd) == 43);
}

TEST_CASE("closing the original frees its copies", "[CORE-175]") {
    World w;
    const int fd = w.must_open(inherited(kInstructions));
    const int sw = w.must_open(World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS)));
    FakeTask& child = w.fork(101);
    w.k.switch_to(1, &child);
    w.k.close(fd);
    CHECK(child.perf_event_ctxp[0]->nr_events == 0);
    CHECK(w.p().nr_live_events == 1);
    w.k.close(sw);
    CHECK(w.p().nr_live_events == 0);
}

TEST_CASE("inherited groups", "[CORE-304][CORE-305][CORE-494]") {
    World w;
    perf_event_attr a = inherited(kInstructions), b = inherited(0x03);
    a.read_format |= PERF_FORMAT_GROUP;
    const int lead = w.must_open(a), sib = w.must_open(b, 0, -1, lead);
    FakeTask& child = w.fork(101);
    w.k.switch_to(1, &child);
    w.k.count(1, kInstructions, 10);
    w.k.count(1, 0x03, 2);
    w.k.count(0, kInstructions, 1);
    CHECK(w.read(lead) == std::vector<std::uint64_t>{2, 0, 0, 11, 2});
    // The shapes differ now.
    const int third = w.must_open(b, 0, -1, lead);
    CHECK(w.read_result(lead, 512) == -ECHILD);
    w.exit_current(1);
    CHECK(w.read(lead) == std::vector<std::uint64_t>{3, 0, 0, 11, 2, 0});
    w.k.close(third);
    (void)sib;
}

TEST_CASE("exit", "[CORE-308][CORE-328][CORE-334][CORE-506][CORE-507][CORE-160]") {
    World w;
    FakeTask& other = w.k.make_task(200);
    const int fd = w.must_open(World::on(World::hw(kInstructions)), 200);
    w.k.switch_to(1, &other);
    // The other opens one on the first task and leaves it behind.
    w.k.on_cpu(1);
    const int left = w.must_open(World::on(World::hw(kInstructions)), 100);
    w.k.count(1, kInstructions, 12);
    w.exit_current(1);
    CHECK(w.event(fd).state == PerfEventState::exit);
    CHECK(w.count(fd) == 12);
    WaitQueue* wq = nullptr;
    CHECK(w.k.ops(fd)->poll(wq) == kPollHup);
    w.enable(fd);
    CHECK(w.event(fd).state == PerfEventState::exit);
    CHECK(w.event(left).owner == nullptr);
    w.k.count(0, kInstructions, 4);
    CHECK(w.count(left) == 4);
    CHECK(other.refs >= 1);
    w.k.close(fd);
    CHECK(other.refs == 1);
}

TEST_CASE("exec", "[CORE-500][CORE-501][CORE-502]") {
    World w;
    perf_event_attr a = World::hw(kInstructions), r = World::on(World::hw(0x03));
    a.enable_on_exec = 1;
    r.remove_on_exec = 1;
    const int fd = w.must_open(a), removed = w.must_open(r);
    const int sw = w.must_open(World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS)));
    w.k.count(0, 0x03, 4);
    w.perf.perf_event_exec();
    CHECK(w.event(fd).state == PerfEventState::active);
    CHECK_FALSE(w.event(fd).attr.enable_on_exec);
    CHECK(w.event(removed).state == PerfEventState::exit);
    CHECK(w.event(removed).owner == nullptr);
    CHECK(w.count(removed) == 4);
    WaitQueue* wq = nullptr;
    CHECK(w.k.ops(removed)->poll(wq) == kPollHup);
    CHECK(w.event(sw).state == PerfEventState::active);
    w.disable(fd);
    w.perf.perf_event_exec();
    CHECK(w.event(fd).state == PerfEventState::off);
}

TEST_CASE("freq children start from the parent's period", "[CORE-271]") {
    World w;
    perf_event_attr a = inherited(kInstructions);
    a.freq = 1;
    a.sample_freq = 1000;
    const int fd = w.must_open(a);
    w.event(fd).hw.sample_period = 4321;
    w.fork(101);
    CHECK(w.event(fd).child_list.front()->hw.sample_period == 4321);
    CHECK(w.event(fd).child_list.front()->hw.period_left == 4321);
}

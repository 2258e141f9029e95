// SPDX-License-Identifier: Apache-2.0
// The data model: contexts, states, flags and their values.
#include "tests/kernel_events/test_pmu.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {
std::vector<std::uint64_t> configs(const std::vector<PerfEvent*>& v) {
    std::vector<std::uint64_t> c;
    for (const PerfEvent* e : v) c.push_back(e->attr.config);
    return c;
}
using Configs = std::vector<std::uint64_t>;
} // namespace

TEST_CASE("a task has one context for hardware and one for software", "[CORE-001][CORE-459]") {
    World w;
    CHECK(static_cast<int>(Pmu::TaskContext::hardware) == 0);
    CHECK(static_cast<int>(Pmu::TaskContext::software) == 1);
    CHECK(static_cast<int>(Pmu::TaskContext::invalid) == -1);
    TestPmu& uncore = add_pmu(w, "uncore", Pmu::TaskContext::invalid, 0);
    CHECK(w.task.perf_event_ctxp[0] == nullptr);
    CHECK(w.task.perf_event_ctxp[1] == nullptr);
    const int cycles = w.must_open(World::hw(kCycles)), raw = w.must_open(World::hw(kInstructions));
    const int faults = w.must_open(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
    const int clock = w.must_open(World::sw(PERF_COUNT_SW_TASK_CLOCK));
    CHECK(w.event(cycles).ctx == w.task.perf_event_ctxp[0]);
    CHECK(w.event(raw).ctx == w.task.perf_event_ctxp[0]);
    CHECK(w.event(faults).ctx == w.task.perf_event_ctxp[1]);
    CHECK(w.event(clock).ctx == w.task.perf_event_ctxp[1]);
    // Clocks have PMUs of their own.
    CHECK(w.event(clock).pmu != w.event(faults).pmu);
    CHECK(w.try_open(attr_of(uncore, 1)) == EINVAL);
    CHECK(w.try_open(attr_of(uncore, 1), -1, 0) == 0);
}

TEST_CASE("PMUs of a kind share their CPUs' contexts, an uncore PMU has its own", "[CORE-002][CORE-111]") {
    World w(2, {{"big", 1, {23}, 0, {}}, {"little", 2, {23}, 1, {}}});
    TestPmu& uncore = add_pmu(w, "uncore", Pmu::TaskContext::invalid, 0);
    const auto context_of = [&](const perf_event_attr& a, int cpu) { return w.event(w.must_open(a, -1, cpu)).ctx; };
    PerfEventContext* software = context_of(World::sw(PERF_COUNT_SW_PAGE_FAULTS), 0);
    CHECK(context_of(World::sw(PERF_COUNT_SW_CPU_CLOCK), 0) == software);
    CHECK(context_of(World::sw(PERF_COUNT_SW_CPU_CLOCK), 1) != software);
    Pmu& big = *w.p().pmu_idr.at(kPmuType);
    Pmu& little = *w.p().pmu_idr.at(kPmuType + 1);
    for (unsigned cpu = 0; cpu < 2; ++cpu) {
        CHECK(big.cpu_context[cpu] == little.cpu_context[cpu]);
        CHECK(big.cpu_context[cpu] != uncore.cpu_context[cpu]);
        CHECK(&big.cpu_context[cpu]->ctx != software);
    }
    CHECK(big.heterogeneous());
    // In one task's context too.
    const int a = w.must_open(World::hw(kCycles));
    const int b = w.must_open(World::attr(kPmuType + 1, kCycles));
    CHECK(w.event(a).ctx == w.event(b).ctx);
}

TEST_CASE("states, flags and their order", "[CORE-003][CORE-006][CORE-007][CORE-008][CORE-012]") {
    const PerfEventState ascending[] = {PerfEventState::dead, PerfEventState::exit,     PerfEventState::error,
                                        PerfEventState::off,  PerfEventState::inactive, PerfEventState::active};
    for (int i = 0; i < 6; ++i) CHECK(static_cast<int>(ascending[i]) == i - 4);
    CHECK((EVENT_FLEXIBLE == 1 && EVENT_PINNED == 2 && EVENT_TIME == 4 && EVENT_CPU == 8 && EVENT_ALL == 3));
    CHECK((PERF_ATTACH_CONTEXT == 1 && PERF_ATTACH_GROUP == 2 && PERF_ATTACH_TASK == 4 && PERF_ATTACH_TASK_DATA == 8));
    CHECK((PERF_ATTACH_ITRACE == 0x10 && PERF_ATTACH_SCHED_CB == 0x20 && PERF_ATTACH_CHILD == 0x40));
    CHECK((PERF_EV_CAP_SOFTWARE == 1 && PERF_EV_CAP_READ_ACTIVE_PKG == 2 && PERF_EV_CAP_SIBLING == 4));
    CHECK((PERF_EF_START == 1 && PERF_EF_RELOAD == 2 && PERF_EF_UPDATE == 4));
    CHECK((PERF_HES_STOPPED == 1 && PERF_HES_UPTODATE == 2 && PERF_HES_ARCH == 4));
    CHECK((PERF_PMU_TXN_ADD == 1 && PERF_PMU_TXN_READ == 2));

    World w;
    // States as events pass through them.
    const int fd = w.must_open(World::hw(kCycles));
    PerfEvent& e = w.event(fd);
    CHECK(e.state == PerfEventState::off);
    CHECK(e.attach_state == (PERF_ATTACH_CONTEXT | PERF_ATTACH_GROUP | PERF_ATTACH_TASK));
    w.enable(fd);
    CHECK(e.state == PerfEventState::active);
    CHECK(e.ctx->is_active == (EVENT_ALL | EVENT_TIME));
    w.k.switch_to(0, nullptr);
    CHECK(e.state == PerfEventState::inactive);
    CHECK(e.ctx->is_active == 0);
    w.k.switch_to(0, &w.task);
    FakeTask& child = w.fork(200);
    w.k.switch_to(1, &child);
    const int of_child = w.must_open(World::on(World::hw(kCycles)), 200);
    w.exit_current(1);
    // The target goes, the mark of a task's event stays.
    CHECK(w.event(of_child).state == PerfEventState::exit);
    CHECK((w.event(of_child).attach_state & PERF_ATTACH_TASK));
    CHECK_FALSE((w.event(of_child).attach_state & PERF_ATTACH_CONTEXT));
    CHECK_FALSE((w.event(w.must_open(World::hw(kCycles), -1, 0)).attach_state & PERF_ATTACH_TASK));
}

TEST_CASE("the capabilities of a group are what all members have", "[CORE-008]") {
    World w;
    const int lead = w.must_open(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
    CHECK(w.event(lead).group_caps == PERF_EV_CAP_SOFTWARE);
    w.must_open(World::sw(PERF_COUNT_SW_TASK_CLOCK), 0, -1, lead);
    CHECK(w.event(lead).group_caps == PERF_EV_CAP_SOFTWARE);
    w.must_open(World::hw(kCycles), 0, -1, lead);
    CHECK(w.event(lead).group_caps == 0);
    CHECK(w.event(lead).event_caps == PERF_EV_CAP_SOFTWARE);
    const int hard = w.must_open(World::hw(kCycles));
    w.must_open(World::sw(PERF_COUNT_SW_PAGE_FAULTS), 0, -1, hard);
    CHECK(w.event(hard).group_caps == 0);
}

TEST_CASE("what a context keeps of its events", "[CORE-004][CORE-005][CORE-197]") {
    World w;
    TestPmu& pmu = add_pmu(w);
    const auto open = [&](std::uint64_t config, bool pinned, bool freq = false) {
        perf_event_attr a = World::on(attr_of(pmu, config));
        a.pinned = pinned;
        a.freq = freq;
        if (freq) a.sample_freq = 100;
        a.inherit_stat = config == 2;
        return w.must_open(a);
    };
    const int one = open(1, false);
    open(2, true);
    open(3, false, true);
    const int four = open(4, false);
    PerfEventContext& ctx = *w.task.perf_event_ctxp[0];
    CHECK(ctx.nr_events == 4);
    CHECK(ctx.nr_active == 4);
    CHECK(ctx.nr_freq == 1);
    CHECK(ctx.nr_stat == 1);
    CHECK(ctx.pinned_groups.tree.size() == 1);
    CHECK(ctx.flexible_groups.tree.size() == 3);
    CHECK(configs(ctx.pinned_active) == Configs{2});
    // In the order in which they got on.
    CHECK(configs(ctx.flexible_active) == Configs{1, 3, 4});
    // Walks meet the newest first.
    CHECK(configs(ctx.event_list) == Configs{4, 3, 2, 1});
    w.disable(one);
    CHECK(configs(ctx.flexible_active) == Configs{3, 4});
    w.enable(one);
    CHECK(configs(ctx.flexible_active) == Configs{1, 3, 4});
    CHECK(ctx.nr_active == 4);
    const std::uint64_t generation = ctx.generation;
    w.k.close(four);
    CHECK(ctx.nr_events == 3);
    CHECK(configs(ctx.event_list) == Configs{3, 2, 1});
    CHECK(ctx.generation == generation + 1);
}

TEST_CASE("a period or a frequency makes a sampling event, whatever the freq bit says", "[CORE-011]") {
    PerfEvent e;
    CHECK_FALSE(is_sampling_event(e));
    e.attr.freq = 1;
    CHECK_FALSE(is_sampling_event(e));
    e.attr.sample_freq = 1;
    CHECK(is_sampling_event(e));
    e.attr.freq = 0;
    CHECK(is_sampling_event(e));
}

TEST_CASE("flags that a driver is called with", "[CORE-012][CORE-210]") {
    World w;
    TestPmu& pmu = add_pmu(w);
    perf_event_attr a = attr_of(pmu, 1);
    a.sample_period = 1000;
    a.read_format = PERF_FORMAT_GROUP;
    const int fd = w.must_open(a);
    const int sibling = w.must_open(World::on(attr_of(pmu, 2)), 0, -1, fd);
    w.enable(fd);
    CHECK(pmu.last("add").flags == PERF_EF_START);
    std::uint64_t period = 500;
    REQUIRE(w.ioctl(fd, PERF_EVENT_IOC_PERIOD, w.k.put_user(period)) == 0);
    CHECK(pmu.last("stop").flags == PERF_EF_UPDATE);
    CHECK(pmu.last("start").flags == PERF_EF_RELOAD);
    // A group is read in one transaction of the leader's driver, whose error is the reader's.
    pmu.calls.clear();
    pmu.txns.clear();
    w.read(fd);
    CHECK(pmu.txns == std::vector<std::string>{"start 2", "commit"});
    CHECK(pmu.order("read") == "1 2");
    pmu.commit_error = -EIO;
    CHECK(w.read_result(fd, 512) == -EIO);
    pmu.commit_error = 0;
    w.disable(sibling);
    pmu.calls.clear();
    w.read(fd);
    CHECK(pmu.order("read") == "1");
}

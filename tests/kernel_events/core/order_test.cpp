// SPDX-License-Identifier: Apache-2.0
// In which order events get on and off the hardware, and what is kept in order meanwhile.
#include "tests/kernel_events/ring.h"
#include "tests/kernel_events/test_pmu.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {

/// A world with a test PMU, a task on CPU 0, and short ways to open events that are on.
struct Order : World {
    TestPmu& pmu = add_pmu(*this);
    explicit Order(int cpus = 2) : World(cpus) {}
    int open(std::uint64_t config, int pid = 0, int cpu = -1, int group = -1, bool pinned = false) {
        perf_event_attr a = World::on(attr_of(pmu, config));
        a.pinned = pinned;
        return must_open(a, pid, cpu, group);
    }
    PerfEventContext& task_ctx() { return *task.perf_event_ctxp[0]; }
    PerfCpuContext& cpuctx(int cpu = 0) { return *pmu.cpu_context[static_cast<unsigned>(cpu)]; }
    /// What the task's next switch-in adds, in order.
    std::string switched_in() {
        k.switch_to(0, nullptr);
        pmu.calls.clear();
        k.switch_to(0, &task);
        return pmu.order("add");
    }
};

} // namespace

TEST_CASE("groups for this CPU and for any are merged in the order in which they came",
          "[CORE-192][CORE-193][CORE-194]") {
    Order w;
    w.open(1);
    w.open(2, 0, 0);
    w.open(3);
    w.open(4, 0, 1);
    const int five = w.open(5, 0, 0);
    CHECK(w.switched_in() == "1 2 3 5");
    // The tree is kept by CPU, any first, then by index.
    std::string keys;
    for (const auto& [key, event] : w.task_ctx().flexible_groups.tree)
        keys += std::to_string(key.first) + ":" + std::to_string(event->attr.config) + " ";
    CHECK(keys == "-1:1 -1:3 0:2 0:5 1:4 ");
    // The index counts insertions of a class, in one context; a gap stays.
    CHECK(w.event(five).group_index == 5);
    w.k.close(five);
    CHECK(w.event(w.open(6)).group_index == 6);
    CHECK(w.event(w.open(7, 0, -1, -1, true)).group_index == 1);
    CHECK(w.event(w.open(8, -1, 0)).group_index == 1);
    // With pinned events of the task the CPU's flexible ones step aside.
    CHECK(w.switched_in() == "7 8 1 2 3 6");
    // On the other CPU, its own.
    w.k.switch_to(0, nullptr);
    w.pmu.calls.clear();
    w.k.switch_to(1, &w.task);
    CHECK(w.pmu.order("add") == "7 1 3 4 6");
}

TEST_CASE("getting on: state and CPU are set, then the driver is asked", "[CORE-198][CORE-199]") {
    Order w;
    const int fd = w.open(1);
    PerfEvent& e = w.event(fd);
    CHECK(w.pmu.last("add").state == PerfEventState::active);
    CHECK(w.pmu.last("add").oncpu == 0);
    CHECK(w.pmu.last("add").flags == PERF_EF_START);
    CHECK(w.pmu.last("add").pmu_off);
    CHECK(w.cpuctx().active_oncpu == 1);
    CHECK(w.task_ctx().nr_active == 1);
    CHECK(w.task_ctx().nr_freq == 0);
    perf_event_attr a = World::on(attr_of(w.pmu, 2));
    a.freq = 1;
    a.sample_freq = 50;
    w.must_open(a);
    CHECK(w.task_ctx().nr_freq == 1);
    CHECK(w.cpuctx().active_oncpu == 2);
    a = World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
    const int sw = w.must_open(a, 0, -1, -1);
    CHECK(w.cpuctx().active_oncpu == 2);
    CHECK(w.event(sw).ctx->nr_active == 1);

    // Refused: as if nothing had happened.
    w.k.switch_to(0, nullptr);
    CHECK(w.cpuctx().active_oncpu == 0);
    CHECK(w.task_ctx().nr_active == 0);
    CHECK(w.task_ctx().nr_freq == 0);
    w.pmu.refused.insert(&e);
    w.k.switch_to(0, &w.task);
    CHECK(e.state == PerfEventState::inactive);
    CHECK(e.oncpu == -1);
    CHECK(w.task_ctx().nr_active == 0);
    CHECK(w.cpuctx().active_oncpu == 0);
    CHECK(w.task_ctx().rotate_necessary);

    Order x;
    a = World::on(attr_of(x.pmu, 1));
    a.exclusive = 1;
    x.must_open(a);
    CHECK(x.cpuctx().exclusive);
    x.k.switch_to(0, nullptr);
    CHECK_FALSE(x.cpuctx().exclusive);
}

TEST_CASE("a throttled event tells that it runs again before the driver starts it", "[CORE-198][CORE-258]") {
    Order w;
    perf_event_attr a = World::on(attr_of(w.pmu, 1));
    a.sample_period = 100;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    w.event(fd).hw.interrupts = MAX_INTERRUPTS;
    std::uint64_t head_at_add = 0;
    w.k.switch_to(0, nullptr);
    CHECK(ring.head() == 0);
    w.k.record_notices = true;
    w.k.switch_to(0, &w.task);
    head_at_add = ring.head();
    CHECK(head_at_add == 32);
    CHECK(ring.must_next().header.type == PERF_RECORD_UNTHROTTLE);
    CHECK(w.event(fd).hw.interrupts == 0);
    const auto at = [&](EventNotice::What what) {
        return std::find(w.k.notices.begin(), w.k.notices.end(), what) - w.k.notices.begin();
    };
    CHECK(at(EventNotice::What::unthrottled) < at(EventNotice::What::scheduled_in));
}

TEST_CASE("getting off: the driver first, with its PMU off, then the state", "[CORE-200]") {
    Order w;
    const int fd = w.open(1);
    PerfEvent& e = w.event(fd);
    w.k.switch_to(0, nullptr);
    CHECK(w.pmu.last("del").state == PerfEventState::active);
    CHECK(w.pmu.last("del").oncpu == 0);
    CHECK(w.pmu.last("del").pmu_off);
    CHECK(e.state == PerfEventState::inactive);
    CHECK(e.oncpu == -1);
    w.k.switch_to(0, &w.task);
    // What waits to switch it off is done on the way.
    e.pending_disable = true;
    w.k.switch_to(0, nullptr);
    CHECK(e.state == PerfEventState::off);
    CHECK_FALSE(e.pending_disable);
    CHECK(w.pmu.pmu_disable_count[0] == 0);
}

TEST_CASE("a pinned event of a CPU sends everything off and on again by priority", "[CORE-204]") {
    Order w;
    w.open(1);
    w.open(2, 0, -1, -1, true);
    w.open(3, -1, 0);
    w.pmu.calls.clear();
    w.open(4, -1, 0, -1, true);
    CHECK(w.pmu.order("del") == "2 1 3");
    CHECK(w.pmu.order("add") == "4 2 3 1");
}

TEST_CASE("a pinned event of a task sends what is flexible off", "[CORE-203]") {
    Order w;
    w.open(1);
    w.open(2, -1, 0, -1, true);
    w.open(3, -1, 0);
    w.pmu.calls.clear();
    w.open(4, 0, -1, -1, true);
    CHECK(w.pmu.order("del") == "1 3");
    CHECK(w.pmu.order("add") == "4 3 1");
    w.pmu.calls.clear();
    w.open(5);
    CHECK(w.pmu.order("del") == "1");
    CHECK(w.pmu.order("add") == "1 5");
}

TEST_CASE("a class that is on is not walked again", "[CORE-205]") {
    Order w;
    w.open(1);
    const int off = w.open(2);
    w.disable(off);
    w.event(off).state = PerfEventState::inactive;
    w.pmu.calls.clear();
    w.p().ctx_sched_in(w.task_ctx(), w.cpuctx(), EVENT_FLEXIBLE);
    CHECK(w.pmu.calls.empty());
    CHECK(w.task_ctx().is_active == (EVENT_ALL | EVENT_TIME));
    w.p().ctx_sched_out(w.task_ctx(), w.cpuctx(), EVENT_FLEXIBLE);
    w.p().ctx_sched_in(w.task_ctx(), w.cpuctx(), EVENT_FLEXIBLE);
    CHECK(w.pmu.order("add") == "1 2");
}

TEST_CASE("each walk begins with room", "[CORE-207]") {
    Order w;
    // The pinned walk fails, the flexible one of the same context goes on.
    const int pinned = w.open(1, 0, -1, -1, true);
    w.open(2);
    w.pmu.refused.insert(&w.event(pinned));
    CHECK(w.switched_in() == "1 2");
    CHECK(w.event(pinned).state == PerfEventState::error);
    // The CPU's flexible walk fails, the task's goes on; within a walk nothing is tried after a failure.
    const int cpu = w.open(3, -1, 0);
    w.open(4, -1, 0);
    w.pmu.refused.insert(&w.event(cpu));
    w.pmu.calls.clear();
    w.p().perf_pmu_resched(w.pmu);
    CHECK(w.pmu.order("add") == "3 2");
    CHECK(w.event(cpu).state == PerfEventState::inactive);
}

TEST_CASE("a driver can have everything scheduled anew", "[CORE-209]") {
    Order w;
    w.open(1);
    w.open(2, -1, 0);
    w.open(3, -1, 0, -1, true);
    w.pmu.calls.clear();
    w.p().perf_pmu_resched(w.pmu);
    CHECK(w.pmu.order("del") == "1 3 2");
    CHECK(w.pmu.order("add") == "3 2 1");
}

TEST_CASE("a group is kept from a CPU by any member's PMU", "[CORE-151]") {
    Order w;
    const int lead = w.open(1);
    const int sibling = w.open(2, 0, -1, lead);
    const int other = w.open(3);
    const int pinned = w.open(4, 0, -1, -1, true);
    w.pmu.filtered = {&w.event(sibling), &w.event(pinned)};
    CHECK(w.switched_in() == "3");
    CHECK(w.event(lead).state == PerfEventState::inactive);
    CHECK(w.event(other).state == PerfEventState::active);
    // Not an error for what is pinned, and no reason to rotate.
    CHECK(w.event(pinned).state == PerfEventState::inactive);
    CHECK_FALSE(w.task_ctx().rotate_necessary);
}

TEST_CASE("software events are never short of counters, but share the fate of a hardware group", "[CORE-208]") {
    World w;
    std::vector<int> faults;
    for (int i = 0; i < 20; ++i) faults.push_back(w.must_open(World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS))));
    for (const int fd : faults) CHECK(w.event(fd).state == PerfEventState::active);
    PerfEventContext& ctx = *w.task.perf_event_ctxp[1];
    const std::vector<PerfEvent*> before = ctx.flexible_active;
    w.k.advance(20'000'000);
    CHECK(ctx.flexible_active.copy() == before);
    CHECK_FALSE(ctx.rotate_necessary);
    for (const int fd : faults) w.k.close(fd);

    std::vector<int> leads, members;
    for (int i = 0; i < 7; ++i) {
        leads.push_back(w.must_open(World::on(World::hw(0x100u + static_cast<unsigned>(i)))));
        members.push_back(w.must_open(World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS)), 0, -1, leads.back()));
    }
    for (std::size_t i = 0; i < leads.size(); ++i) CHECK(w.event(leads[i]).state == w.event(members[i]).state);
    CHECK(w.event(members[6]).state == PerfEventState::inactive);
    w.k.page_fault(0, 0x1000);
    CHECK(w.count(members[0]) == 1);
    CHECK(w.count(members[6]) == 0);
    w.k.advance(4'000'000);
    CHECK(w.event(members[6]).state == PerfEventState::active);
    CHECK(w.event(members[0]).state == PerfEventState::inactive);
}

TEST_CASE("switching off the context's PMU reaches the first registered only", "[CORE-211][ARMPMU-022]") {
    World w(2, {{"first", 1, {23}, 0, {}}, {"second", 2, {23}, 1, {}}});
    Pmu& first = *w.p().pmu_idr.at(kPmuType);
    Pmu& second = *w.p().pmu_idr.at(kPmuType + 1);
    const int fd = w.must_open(World::on(World::attr(kPmuType + 1, kInstructions)));
    const auto pmcr_writes = [&](int cpu) { return w.k.cpu(cpu).pmu.writes[rkperf::sysreg::PMCR_EL0.encoding]; };
    w.k.switch_to(0, nullptr);
    // On the second's CPU: around the add of the event itself, not around the whole of the switch.
    const unsigned before = pmcr_writes(1);
    unsigned off_of_first = 0, off_of_second = 0;
    w.k.time_passes = [&] {
        off_of_first = std::max(off_of_first, static_cast<unsigned>(first.pmu_disable_count[1]));
        off_of_second = std::max(off_of_second, static_cast<unsigned>(second.pmu_disable_count[1]));
    };
    w.k.switch_to(1, &w.task);
    w.k.time_passes = nullptr;
    CHECK(w.event(fd).ctx->pmu == &first);
    CHECK(off_of_first >= 1);
    CHECK(off_of_second == 1);
    CHECK(pmcr_writes(1) > before);
    CHECK(w.event(fd).state == PerfEventState::active);
    w.k.count(1, kInstructions, 5);
    CHECK(w.count(fd) == 5);
}

TEST_CASE("rotation with the order frozen by a fork: out and in, no move", "[CORE-221]") {
    Order w;
    w.pmu.limit = 2;
    for (std::uint64_t i = 1; i <= 3; ++i) w.open(i);
    w.task_ctx().rotate_disable = 1;
    w.pmu.calls.clear();
    w.k.advance(4'000'000);
    CHECK(w.pmu.order("del") == "1 2");
    CHECK(w.pmu.order("add") == "1 2 3");
    w.task_ctx().rotate_disable = 0;
    w.k.advance(4'000'000);
    w.pmu.calls.clear();
    w.k.advance(4'000'000);
    CHECK(w.pmu.order("add") == "3 1 2");
}

TEST_CASE("a fork that fails among the flexible groups leaves the order frozen", "[CORE-222][CORE-498]") {
    Order w;
    std::vector<int> fds;
    for (std::uint64_t i = 1; i <= 3; ++i) {
        perf_event_attr a = World::on(attr_of(w.pmu, i));
        a.inherit = 1;
        fds.push_back(w.must_open(a));
    }
    w.pmu.on_init = [](PerfEvent& e) { return e.attr.config == 3 ? -ENOMEM : 0; };
    FakeTask& child = w.k.make_task(201, "child");
    const std::uint64_t events = w.p().nr_live_events;
    CHECK(w.perf.perf_event_init_task(child, 0) == -ENOMEM);
    // What was copied already is gone again.
    CHECK(w.p().nr_live_events == events);
    CHECK(w.event(fds[0]).child_list.empty());
    CHECK(child.perf_event_ctxp[0] == nullptr);
    CHECK(w.task_ctx().rotate_disable == 1);
    w.pmu.on_init = nullptr;
}

TEST_CASE("scheduling out what is flexible ends the need to rotate, if something was active", "[CORE-223]") {
    Order w;
    w.pmu.limit = 1;
    w.open(1);
    w.open(2);
    CHECK(w.task_ctx().rotate_necessary);
    w.k.switch_to(0, nullptr);
    CHECK_FALSE(w.task_ctx().rotate_necessary);
    // Nothing could get on: the flag survives.
    w.pmu.limit = 0;
    w.k.switch_to(0, &w.task);
    CHECK(w.task_ctx().rotate_necessary);
    w.k.switch_to(0, nullptr);
    CHECK(w.task_ctx().rotate_necessary);
}

TEST_CASE("the timer outlives a switch and looks at whoever runs then", "[CORE-224]") {
    Order w;
    w.pmu.limit = 2;
    for (std::uint64_t i = 1; i <= 3; ++i) w.open(i);
    FakeTask& other = w.k.make_task(300, "other");
    CHECK(w.k.timer_queued(w.cpuctx().hrtimer));
    w.k.switch_to(0, &other);
    CHECK(w.k.timer_queued(w.cpuctx().hrtimer));
    w.pmu.calls.clear();
    // Nothing to do for the one without events: the timer ends.
    w.k.advance(4'000'000);
    CHECK(w.pmu.calls.empty());
    CHECK_FALSE(w.k.timer_queued(w.cpuctx().hrtimer));
    CHECK_FALSE(w.cpuctx().hrtimer_active);
    w.k.switch_to(0, &w.task);
    CHECK(w.k.timer_queued(w.cpuctx().hrtimer));
    w.k.switch_to(0, &other);
    w.k.switch_to(0, &w.task);
    w.pmu.calls.clear();
    w.k.advance(4'000'000);
    CHECK(w.pmu.order("add") == "2 3 1");
}

TEST_CASE("a group that is kept out for whatever reason takes turns", "[CORE-226]") {
    Order w;
    const int odd = w.open(1);
    w.open(2);
    w.pmu.refused.insert(&w.event(odd));
    CHECK(w.switched_in() == "1");
    w.pmu.calls.clear();
    w.k.advance(4'000'000);
    CHECK(w.pmu.order("add") == "2 1");

    Order x;
    perf_event_attr a = World::on(attr_of(x.pmu, 1));
    a.exclusive = 1;
    x.must_open(a);
    const int kept_out = x.open(2);
    CHECK(x.event(kept_out).state == PerfEventState::inactive);
    CHECK(x.task_ctx().rotate_necessary);
    x.k.advance(4'000'000);
    CHECK(x.event(kept_out).state == PerfEventState::active);
}

TEST_CASE("the tick does not rotate", "[CORE-227]") {
    Order w;
    w.pmu.limit = 1;
    w.open(1);
    w.open(2);
    w.pmu.calls.clear();
    for (int i = 0; i < 10; ++i) w.k.tick(0);
    CHECK(w.pmu.calls.empty());
    CHECK(w.task_ctx().flexible_active.front()->attr.config == 1);
}

TEST_CASE("without an active group the first of the tree moves, of whichever CPU", "[CORE-530]") {
    Order w;
    w.open(1, 0, 1);
    w.open(2, 0, 1);
    const int here = w.open(3, 0, 0);
    w.pmu.refused.insert(&w.event(here));
    w.k.switch_to(0, nullptr);
    w.k.switch_to(0, &w.task);
    CHECK(w.task_ctx().flexible_active.empty());
    const auto first_of = [&](int cpu) {
        return w.task_ctx().flexible_groups.tree.lower_bound({cpu, 0})->second->attr.config;
    };
    w.k.advance(4'000'000);
    // Leftmost in the tree is CPU 0's only group; it moves to where it was.
    CHECK(first_of(0) == 3);
    CHECK(first_of(1) == 1);
    w.k.close(here);
    const int any = w.open(4);
    w.pmu.refused.insert(&w.event(any));
    w.k.switch_to(0, nullptr);
    w.k.switch_to(0, &w.task);
    w.k.switch_to(0, nullptr);
    // On CPU 1 both of its groups are kept out by the one that is for any CPU.
    w.pmu.limit = 0;
    w.k.switch_to(1, &w.task);
    w.k.advance(8'000'000);
    CHECK(first_of(1) == 1);
    w.k.close(any);
    w.k.advance(4'000'000);
    CHECK(first_of(1) == 2);
}

TEST_CASE("an event's times are brought up to date lazily, with the old state", "[CORE-180][CORE-181]") {
    Order w;
    const int lead = w.open(1);
    const int sibling = w.open(2, 0, -1, lead);
    PerfEvent& e = w.event(lead);
    PerfEvent& s = w.event(sibling);
    w.k.advance(100);
    CHECK(e.total_time_enabled == 0);
    w.read(lead);
    CHECK(e.total_time_enabled == 100);
    CHECK(e.total_time_running == 100);
    CHECK(s.total_time_enabled == 0);
    // A change of state adds what passed in the old one.
    w.k.advance(50);
    w.disable(lead);
    CHECK(e.total_time_running == 150);
    // The leader goes off: its siblings too are up to date.
    CHECK(s.total_time_enabled == 150);
    CHECK(s.total_time_running == 150);
    w.k.advance(1000);
    w.enable(lead);
    CHECK(e.total_time_enabled == 150);
    w.k.advance(7);
    CHECK(w.read(sibling).size() == 1);
    CHECK(s.total_time_enabled == 157);
    w.k.advance(5);
    Ring ring(w, lead, 1);
    CHECK(ring.control().time_enabled == 162);
    // The event itself goes by the context's time, which nobody has moved.
    CHECK(e.total_time_enabled == 157);
}

TEST_CASE("the time of now, without a lock", "[CORE-185]") {
    Order w;
    const int fd = w.open(1);
    PerfEventContext& ctx = w.task_ctx();
    w.k.advance(500);
    std::uint64_t now = 0, enabled = 0, running = 0;
    w.p().calc_timer_values(w.event(fd), now, enabled, running);
    CHECK(now == w.k.now_ns);
    CHECK(enabled == 500);
    CHECK(ctx.time == 0);
    w.k.switch_to(0, nullptr);
    w.k.advance(900);
    w.p().calc_timer_values(w.event(fd), now, enabled, running);
    CHECK(enabled == 500);
    CHECK(ctx.time == 500);
    CHECK_FALSE((ctx.is_active & EVENT_TIME));
}

TEST_CASE("times are those of the local clock, whatever clock the records have", "[CORE-190]") {
    World w;
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
    a.use_clockid = 1;
    a.clockid = CLOCK_REALTIME;
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const int fd = w.must_open(a);
    w.k.advance(1234);
    CHECK(w.read(fd) == std::vector<std::uint64_t>{0, 1234, 1234});
}

TEST_CASE("READ in a sample: times with and without those of children that ended", "[CORE-188]") {
    World w;
    perf_event_attr a = fault_attr(PERF_SAMPLE_READ);
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const int one = w.must_open(World::on(a));
    a.read_format |= PERF_FORMAT_GROUP;
    const int group = w.must_open(World::on(a));
    for (const int fd : {one, group}) {
        w.event(fd).child_total_time_enabled = 1000;
        w.event(fd).child_total_time_running = 300;
    }
    Ring alone(w, one, 1), grouped(w, group, 1);
    w.k.advance(40);
    w.k.page_fault(0, fault_page(1));
    const Record r = alone.must_next(), g = grouped.must_next();
    CHECK((r.word(1) == 1040 && r.word(2) == 340));
    CHECK((g.word(0) == 1 && g.word(1) == 40 && g.word(2) == 40));
}

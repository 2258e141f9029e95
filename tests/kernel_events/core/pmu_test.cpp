// SPDX-License-Identifier: Apache-2.0
// Registration of PMUs, what their drivers may leave out, their files, and what drivers can ask for.
#include "tests/kernel_events/ring.h"
#include "tests/kernel_events/test_pmu.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

TEST_CASE("types: fixed ones, and the lowest free for others", "[CORE-093][CORE-095][CORE-079]") {
    World w;
    const auto name_of = [&](std::uint32_t type) { return w.p().pmu_idr.at(type)->name; };
    CHECK(name_of(PERF_TYPE_TRACEPOINT) == "tracepoint");
    CHECK(name_of(PERF_TYPE_BREAKPOINT) == "breakpoint");
    CHECK(name_of(6) == "kprobe");
    CHECK(name_of(7) == "uprobe");
    CHECK(name_of(8) == "armv8_pmuv3");
    CHECK(w.attribute("/sys/bus/event_source/devices/software/type") == "1\n");
    TestPmu& nine = add_pmu(w, "nine");
    TestPmu& ten = add_pmu(w, "ten");
    CHECK(nine.type == 9);
    CHECK(ten.type == 10);
    CHECK(w.p().perf_pmu_register(std::make_unique<TestPmu>(w.k, Pmu::TaskContext::invalid, 0), "taken", 9) == -ENOSPC);
    w.p().perf_pmu_unregister(nine);
    CHECK(add_pmu(w, "again").type == 9);
    // Those without a name have neither type nor device.
    unsigned unnamed = 0;
    for (const Pmu* pmu : w.p().pmus) {
        if (!pmu->name.empty()) continue;
        ++unnamed;
        CHECK(pmu->type != 0);
        for (const auto& [type, registered] : w.p().pmu_idr) CHECK(registered != pmu);
    }
    CHECK(unnamed == 2);
    for (const auto& [path, attribute] : w.k.attributes) CHECK(path.find("devices//") == std::string::npos);
    // In which order they are asked.
    std::string order;
    for (const Pmu* pmu : w.p().pmus) order += (pmu->name.empty() ? "clock" : pmu->name) + " ";
    CHECK(order == "clock clock software tracepoint kprobe uprobe breakpoint armv8_pmuv3 ten again ");
    CHECK(w.event(w.must_open(World::sw(PERF_COUNT_SW_TASK_CLOCK))).pmu == w.p().pmus[0]);
    CHECK(w.event(w.must_open(World::sw(PERF_COUNT_SW_CPU_CLOCK))).pmu == w.p().pmus[1]);
}

TEST_CASE("an unregistered PMU is not found any more, what it shared stays", "[CORE-113]") {
    World w;
    TestPmu& pmu = add_pmu(w, "leaving");
    const perf_event_attr a = attr_of(pmu, 1);
    CHECK(w.try_open(a) == 0);
    CHECK(w.k.attributes.count("/sys/bus/event_source/devices/leaving/type") == 1);
    w.p().perf_pmu_unregister(pmu);
    CHECK(w.try_open(a) == ENOENT);
    for (const auto& [path, attribute] : w.k.attributes) CHECK(path.find("/devices/leaving") == std::string::npos);
    CHECK(w.try_open(World::on(World::hw(kCycles))) == 0);
}

TEST_CASE("what a driver may leave out", "[CORE-101]") {
    struct Bare : Pmu {
        explicit Bare(Kernel& k) : Pmu(k) { capabilities = PERF_PMU_CAP_HETEROGENEOUS_CPUS; }
        int event_init(PerfEvent& e) override { return e.attr.type == type ? 0 : -ENOENT; }
        int add(PerfEvent&, int) override { return 0; }
        void del(PerfEvent&, int) override {}
        void start(PerfEvent&, int) override {}
        void stop(PerfEvent&, int) override {}
        void read(PerfEvent&) override {}
    };
    World w;
    auto owned = std::make_unique<Bare>(w.k);
    Bare& bare = *owned;
    REQUIRE(w.p().perf_pmu_register(std::move(owned), "bare", -1) == 0);
    perf_event_attr a = World::on(attr_of(bare, 1));
    a.sample_period = 100;
    a.read_format = PERF_FORMAT_GROUP;
    const int fd = w.must_open(a);
    CHECK(w.event(fd).state == PerfEventState::active);
    std::uint64_t period = ~0ull >> 1;
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_PERIOD, w.k.put_user(period)) == 0);
    CHECK(w.p().perf_event_index(w.event(fd)) == 0);
    CHECK(w.read(fd) == std::vector<std::uint64_t>{1, 0});
}

TEST_CASE("a second PMU for tasks' hardware context must say that it serves other CPUs", "[CORE-097][CORE-111]") {
    World w;
    w.k.log.clear();
    TestPmu& second = add_pmu(w, "second", Pmu::TaskContext::hardware, 0);
    CHECK(second.task_ctx_nr == Pmu::TaskContext::invalid);
    CHECK(w.k.log.size() == 1);
    CHECK(w.try_open(attr_of(second, 1)) == EINVAL);
    CHECK(w.try_open(attr_of(second, 1), -1, 0) == 0);
    CHECK(add_pmu(w, "third").task_ctx_nr == Pmu::TaskContext::hardware);
}

TEST_CASE("a copy asks the PMU of its original first; a driver sees a group at rest", "[CORE-083][CORE-085]") {
    World w;
    TestPmu& pmu = add_pmu(w);
    perf_event_attr a = attr_of(pmu, 1);
    a.inherit = 1;
    const int lead = w.must_open(a);
    bool locked = false;
    pmu.on_init = [&](PerfEvent& e) {
        locked = e.group_leader != &e && e.group_leader->ctx->mutex->is_locked();
        return 0;
    };
    a.config = 2;
    w.must_open(a, 0, -1, lead);
    CHECK(locked);
    int asked = 0;
    TestPmu& other = add_pmu(w, "other");
    other.on_init = [&](PerfEvent&) { return ++asked, -ENOENT; };
    FakeTask& child = w.fork(200);
    CHECK(asked == 0);
    CHECK(child.perf_event_ctxp[0]->nr_events == 2);
    for (const PerfEvent* e : child.perf_event_ctxp[0]->event_list) CHECK(e->pmu == &pmu);
    w.k.switch_to(1, &child);
    w.exit_current(1);
}

TEST_CASE("the order of switching in: hardware, software, SWITCH, the driver, migrations", "[CORE-229][CORE-239]") {
    struct Watching : TestPmu {
        using TestPmu::TestPmu;
        void sched_task(PerfEventContext* ctx, bool in) override {
            seen.push_back(std::string(in ? "in" : "out") + (ctx ? " with" : " without"));
            if (on_switch) on_switch();
        }
        std::vector<std::string> seen;
        std::function<void()> on_switch;
    };
    World w(2, {{"only", 2, {23}, 1, {}}});
    auto owned = std::make_unique<Watching>(w.k, Pmu::TaskContext::invalid, 0);
    Watching& pmu = *owned;
    REQUIRE(w.p().perf_pmu_register(std::move(owned), "watching", -1) == 0);
    FakeTask& other = w.k.make_task(300, "other");
    w.k.switch_to(0, &other);
    CHECK(pmu.seen.empty());

    TestPmu& hw = add_pmu(w);
    const int hard = w.must_open(World::on(attr_of(hw, 1)), 100);
    const int soft = w.must_open(World::on(World::sw(PERF_COUNT_SW_TASK_CLOCK)), 100);
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_CPU_MIGRATIONS));
    a.exclude_kernel = 0;
    a.sample_period = 1;
    a.context_switch = 1;
    const int migrations = w.must_open(a, 100);
    Ring ring(w, migrations, 1);
    w.k.on_cpu(1);
    w.p().perf_sched_cb_inc(pmu);
    w.k.on_cpu(0);
    w.k.record_notices = true;
    std::uint64_t head_in_driver = 0;
    pmu.on_switch = [&] { head_in_driver = ring.head(); };
    w.k.switch_to(1, &w.task);
    CHECK(pmu.seen == std::vector<std::string>{"out without", "in without"});
    std::vector<const PerfEvent*> in;
    for (const EventNotice& n : w.k.notice_log)
        if (n.what == EventNotice::What::scheduled_in) in.push_back(n.event);
    REQUIRE(in.size() == 3);
    CHECK(in[0] == &w.event(hard));
    CHECK((in[1] == &w.event(soft) || in[1] == &w.event(migrations)));
    // SWITCH is written when the driver is called, the migration's sample is not.
    const std::vector<Record> records = ring.drain();
    REQUIRE(records.size() == 2);
    CHECK(records[0].header.type == PERF_RECORD_SWITCH);
    CHECK(records[1].header.type == PERF_RECORD_SAMPLE);
    CHECK(head_in_driver == records[0].header.size);
    w.k.switch_to(1, nullptr);
    CHECK(pmu.seen.size() == 4);
    w.k.on_cpu(1);
    w.p().perf_sched_cb_dec(pmu);
    w.k.on_cpu(0);
    w.k.switch_to(1, &w.task);
    CHECK(pmu.seen.size() == 4);
    w.k.switch_to(1, nullptr);
}

TEST_CASE("the driver of a task's context is called with it, also when equal contexts are exchanged",
          "[CORE-236][CORE-239]") {
    struct Data : TaskContextData {
        int of{};
    };
    struct Watching : TestPmu {
        using TestPmu::TestPmu;
        void sched_task(PerfEventContext* ctx, bool in) override {
            seen.push_back(
                std::string(in ? "in " : "out ") +
                (ctx && ctx->task_ctx_data ? std::to_string(static_cast<Data&>(*ctx->task_ctx_data).of) : "none"));
        }
        std::unique_ptr<TaskContextData> alloc_task_ctx_data() override {
            auto data = std::make_unique<Data>();
            data->of = ++made;
            return data;
        }
        std::vector<std::string> seen;
        int made{};
    };
    FakeKernel* kernel = nullptr;
    World w(1, {{"none", 2, {23}, 1, {}}}); // no core PMU on this CPU: the first hardware PMU is the test's
    kernel = &w.k;
    auto owned = std::make_unique<Watching>(*kernel, Pmu::TaskContext::hardware, Pmu::PERF_PMU_CAP_HETEROGENEOUS_CPUS);
    Watching& pmu = *owned;
    REQUIRE(w.p().perf_pmu_register(std::move(owned), "watching", -1) == 0);
    pmu.on_init = [](PerfEvent& e) {
        e.attach_state |= PERF_ATTACH_TASK_DATA;
        return 0;
    };
    perf_event_attr a = World::on(attr_of(pmu, 1));
    a.inherit = 1;
    w.must_open(a);
    w.p().perf_sched_cb_inc(pmu);
    FakeTask& child = w.fork(200);
    CHECK(pmu.made == 2);
    PerfEventContext* mine = w.task.perf_event_ctxp[0];
    if (w.p().shared_cpu_contexts[0]->at(0).ctx.pmu != &pmu) return; // a core PMU came first after all
    w.k.switch_to(0, &child);
    // The contexts have changed owners, the data have not.
    CHECK(child.perf_event_ctxp[0] == mine);
    CHECK(static_cast<Data&>(*child.perf_event_ctxp[0]->task_ctx_data).of == 2);
    CHECK(static_cast<Data&>(*w.task.perf_event_ctxp[0]->task_ctx_data).of == 1);
    CHECK(pmu.seen == std::vector<std::string>{"out 1", "in 2"});
    w.exit_current(0);
    w.p().perf_sched_cb_dec(pmu);
    w.k.switch_to(0, &w.task);
}

TEST_CASE("a driver that throttles without samples", "[CORE-261]") {
    World w;
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
    a.sample_period = 1000;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    PerfEvent& e = w.event(fd);
    for (int i = 1; i < w.p().max_samples_per_tick; ++i) CHECK_FALSE(w.p().perf_event_account_interrupt(e));
    CHECK(w.p().perf_event_account_interrupt(e));
    CHECK(e.hw.interrupts == MAX_INTERRUPTS);
    const std::vector<Record> records = ring.drain();
    REQUIRE(records.size() == 1);
    CHECK(records[0].header.type == PERF_RECORD_THROTTLE);
}

TEST_CASE("events of an uncore PMU move to another CPU", "[CORE-512][CORE-513][CORE-531]") {
    World w;
    TestPmu& pmu = add_pmu(w, "uncore", Pmu::TaskContext::invalid, Pmu::PERF_PMU_CAP_NO_EXCLUDE);
    perf_event_attr a = attr_of(pmu, 1);
    CHECK(w.try_open(World::on(attr_of(pmu, 1))) == EINVAL); // no tasks' events
    a.exclude_user = 1;
    CHECK(w.try_open(a, -1, 0) == EINVAL);
    const int lead = w.must_open(World::on(attr_of(pmu, 1)), -1, 0);
    const int sibling = w.must_open(World::on(attr_of(pmu, 2)), -1, 0, lead);
    const int off = w.must_open(attr_of(pmu, 3), -1, 0);
    CHECK(w.event(off).state == PerfEventState::off);
    pmu.calls.clear();
    w.k.rcu_waits = 0;
    w.p().perf_pmu_migrate_context(pmu, 0, 1);
    CHECK(w.k.rcu_waits == 1);
    for (const int fd : {lead, sibling, off}) {
        CHECK(w.event(fd).cpu == 1);
        CHECK(w.event(fd).oncpu == 1);
        CHECK(w.event(fd).ctx == &pmu.cpu_context[1]->ctx);
        // Also the one that was off counts now.
        CHECK(w.event(fd).state == PerfEventState::active);
    }
    CHECK(pmu.cpu_context[0]->ctx.nr_events == 0);
    CHECK(w.event(sibling).group_leader == &w.event(lead));
    CHECK(pmu.last("add").oncpu == 1);
    CHECK(pmu.cpu_context[0] != w.p().shared_cpu_contexts[0]->data());
}

TEST_CASE("a PMU's files", "[CORE-100][CORE-114]") {
    World w;
    const std::string dir = "/sys/bus/event_source/devices/armv8_pmuv3/";
    for (const char* file : {"events/cpu_cycles", "format/event", "caps/slots", "cpus", "type"}) {
        INFO(file);
        REQUIRE(w.k.attributes.count(dir + file) == 1);
        const std::string text = w.attribute(dir + file);
        CHECK(text.size() > 1);
        CHECK(text.back() == '\n');
        CHECK(text.find('\n') == text.size() - 1);
        CHECK_FALSE(w.k.attributes.at(dir + file).store);
    }
    CHECK(w.attribute(dir + "events/cpu_cycles") == "event=0x0011\n");
}

TEST_CASE("kernel users: pause, enable, refresh, period", "[CORE-519]") {
    World w;
    int error = 0;
    perf_event_attr a = World::hw(kInstructions);
    a.sample_period = 1000;
    int overflows = 0;
    PerfEvent* e = w.p().perf_event_create_kernel_counter(
        a, 0, nullptr, [&](PerfEvent&, PerfSampleData&, PtRegs&) { ++overflows; }, error);
    REQUIRE(e);
    w.p().perf_event_enable(*e);
    w.k.count(0, kInstructions, 500);
    CHECK(w.p().perf_event_pause(*e, false) == 500);
    CHECK(e->state == PerfEventState::off);
    w.k.count(0, kInstructions, 100);
    CHECK(w.p().perf_event_pause(*e, true) == 500);
    CHECK(e->count == 0);
    w.p().perf_event_enable(*e);
    w.k.count(0, kInstructions, 600);
    CHECK(overflows == 1);
    w.p().perf_event_disable(*e);
    CHECK(w.p()._perf_event_refresh(*e, 1) == 0);
    w.k.count(0, kInstructions, 2000);
    CHECK(overflows == 2);
    CHECK(e->state == PerfEventState::off);
    CHECK(w.p()._perf_event_period(*e, 0) == -EINVAL);
    CHECK(w.p()._perf_event_period(*e, 77) == 0);
    CHECK(e->hw.sample_period == 77);
    w.p().perf_event_release_kernel(*e);
}

// SPDX-License-Identifier: Apache-2.0
// Installing and removing events, fork, exit, signals, CPUs that go.
#include "tests/kernel_events/ring.h"
#include "tests/kernel_events/test_pmu.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {
PerfEventContext& hw_ctx(FakeTask& t) { return *t.perf_event_ctxp[0]; }
} // namespace

TEST_CASE("an event that is off is linked without a call to its CPU, the first one is not", "[CORE-162][CORE-164]") {
    World w;
    const auto calls = [&] {
        return w.k.entered[static_cast<std::size_t>(rkperf::KernelSymbol::__perf_install_in_context)];
    };
    unsigned before = calls();
    const int first = w.must_open(World::hw(kCycles));
    CHECK(calls() == before + 1);
    before = calls();
    const int off = w.must_open(World::hw(kInstructions));
    CHECK(calls() == before);
    CHECK(hw_ctx(w.task).nr_events == 2);
    const int on = w.must_open(World::on(World::hw(0x100)));
    CHECK(calls() == before + 1);
    CHECK(w.event(on).state == PerfEventState::active);
    // What counts is the effective state: a member of a group that is off.
    before = calls();
    w.must_open(World::on(World::hw(0x101)), 0, -1, off);
    CHECK(calls() == before);
    // Installing stops and starts the context's time: the event begins at now.
    w.k.advance(1000);
    const int late = w.must_open(World::on(World::hw(0x102)));
    CHECK(hw_ctx(w.task).time == 1000);
    CHECK(w.event(late).tstamp == 1000);
    CHECK(w.event(late).total_time_enabled == 0);
    (void)first;
    // Of a task that does not run: linked only.
    FakeTask& other = w.k.make_task(300, "other");
    const int asleep = w.must_open(World::on(World::hw(kCycles)), 300);
    CHECK(w.event(asleep).state == PerfEventState::inactive);
    CHECK(hw_ctx(other).is_active == 0);
}

TEST_CASE("removal: off the hardware, then the lower of two states", "[CORE-173][CORE-174]") {
    World w;
    TestPmu& pmu = add_pmu(w);
    const int fd = w.must_open(World::on(attr_of(pmu, 1)));
    PerfEvent& e = w.event(fd);
    PerfEventContext& ctx = hw_ctx(w.task);
    w.k.on_cpu(0);
    w.p().perf_remove_from_context(e, DETACH_GROUP);
    CHECK(pmu.last("del").state == PerfEventState::active);
    CHECK(e.state == PerfEventState::off);
    // The last event: the context is off, and detached from the CPU.
    CHECK(ctx.is_active == 0);
    CHECK_FALSE(ctx.rotate_necessary);
    CHECK(pmu.cpu_context[0]->task_ctx == nullptr);
    const int pinned = w.must_open(attr_of(pmu, 2));
    PerfEvent& p = w.event(pinned);
    p.state = PerfEventState::error;
    w.p().perf_remove_from_context(p, DETACH_GROUP);
    CHECK(p.state == PerfEventState::error);
    w.p().perf_remove_from_context(p, DETACH_EXIT);
    CHECK(p.state == PerfEventState::exit);
    w.p().perf_remove_from_context(p, DETACH_DEAD);
    CHECK(p.state == PerfEventState::dead);
}

TEST_CASE("a fork that finds its original being closed copies nothing and does not fail", "[CORE-176]") {
    World w;
    perf_event_attr a = World::hw(kCycles);
    a.inherit = 1;
    const int lead = w.must_open(a);
    a = World::on(World::hw(kInstructions));
    a.inherit = 1;
    const int sibling = w.must_open(a, 0, -1, lead);
    w.event(lead).state = PerfEventState::dead;
    FakeTask& child = w.fork(200);
    w.event(lead).state = PerfEventState::off; // as it was
    // The sibling's copy is on its own then.
    REQUIRE(hw_ctx(child).nr_events == 1);
    PerfEvent& copy = *hw_ctx(child).event_list.front();
    CHECK(copy.parent == &w.event(sibling));
    CHECK(copy.group_leader == &copy);
    w.k.switch_to(1, &child);
    w.exit_current(1);
}

TEST_CASE("a child owns nothing of what it inherits", "[CORE-499][CORE-508]") {
    World w;
    perf_event_attr a = World::hw(kInstructions);
    const int alone = w.must_open(World::on(a));
    a.inherit = 1;
    const int inherited = w.must_open(World::on(a));
    FakeTask& thread = w.fork(101, kCloneThread);
    CHECK(thread.perf_event_list.empty());
    CHECK(hw_ctx(thread).nr_events == 1);
    w.k.switch_to(1, &thread);
    w.k.count(1, kInstructions, 10);
    w.k.on_cpu(1);
    CHECK(w.perf.perf_event_task_disable() == 0);
    w.k.count(1, kInstructions, 5);
    w.k.on_cpu(0);
    CHECK(w.count(inherited) == 15);
    CHECK(w.count(alone) == 0);
    w.exit_current(1);
    CHECK(w.count(inherited) == 15);
}

TEST_CASE("groups of originals survive an exit, groups of copies do not", "[CORE-505]") {
    World w;
    perf_event_attr a = World::on(World::hw(kCycles));
    a.inherit = 1;
    perf_event_attr b = World::on(World::hw(kInstructions));
    b.inherit = 1;
    const int lead = w.must_open(a);
    const int sibling = w.must_open(b, 0, -1, lead);
    FakeTask& child = w.fork(200);
    w.k.switch_to(1, &child);
    // An event of the child itself, in its own group.
    a.inherit = b.inherit = 0;
    const int own = w.must_open(a, 200), member = w.must_open(b, 200, -1, own);
    w.exit_current(1);
    CHECK(w.event(own).nr_siblings == 1);
    CHECK(w.event(member).group_leader == &w.event(own));
    CHECK(w.event(own).state == PerfEventState::exit);
    CHECK(w.event(lead).nr_siblings == 1);
    CHECK(w.event(sibling).group_leader == &w.event(lead));
    CHECK(w.event(lead).child_list.empty());
}

TEST_CASE("a member that is taken out of its group leads itself", "[CORE-145][CORE-505]") {
    World w;
    const int lead = w.must_open(World::on(World::hw(kCycles)), -1, 0);
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.read_format = PERF_FORMAT_GROUP;
    const int sibling = w.must_open(a, -1, 0, lead);
    CHECK(w.read(sibling)[0] == 2);
    w.p().perf_remove_from_context(w.event(sibling), DETACH_GROUP);
    CHECK(w.event(sibling).group_leader == &w.event(sibling));
    CHECK(w.event(lead).nr_siblings == 0);
    // It outlives its former leader.
    w.k.close(lead);
    CHECK(w.read(sibling)[0] == 1);
}

TEST_CASE("a member that cannot live alone goes to ERROR with its leader", "[CORE-146]") {
    World w;
    TestPmu& pmu = add_pmu(w);
    pmu.on_init = [](PerfEvent& e) {
        if (e.attr.config == 2) e.event_caps |= PERF_EV_CAP_SIBLING;
        return 0;
    };
    const int lead = w.must_open(World::on(attr_of(pmu, 1)));
    const int sibling = w.must_open(World::on(attr_of(pmu, 2)), 0, -1, lead);
    CHECK(w.event(sibling).state == PerfEventState::active);
    w.k.close(lead);
    CHECK(w.event(sibling).state == PerfEventState::error);
    CHECK(w.event(sibling).oncpu == -1);
    w.enable(sibling);
    CHECK(w.event(sibling).state == PerfEventState::error);
}

TEST_CASE("RESET", "[CORE-314][CORE-270]") {
    World w;
    perf_event_attr a = World::hw(kInstructions);
    a.inherit = 1;
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
    const int fd = w.must_open(World::on(a), 0, 0);
    Ring ring(w, fd, 1);
    FakeTask& child = w.fork(200);
    // By way of idle, so that the two do not exchange their contexts.
    w.k.switch_to(0, nullptr);
    w.k.switch_to(0, &child);
    w.k.count(0, kInstructions, 7);
    w.exit_current(0);
    w.k.switch_to(0, &w.task);
    w.k.count(0, kInstructions, 100);
    w.k.advance(500);
    CHECK(w.count(fd) == 107);
    const std::uint32_t lock = ring.control().lock;
    const std::uint64_t enabled = w.read(fd)[1];
    w.reset(fd);
    CHECK(w.read(fd) == std::vector<std::uint64_t>{7, enabled});
    CHECK(ring.control().lock > lock);
    CHECK(ring.control().lock % 2 == 0);

    // By frequency: the tick after a reset sees fewer events than before and only takes note.
    a = World::hw(kCycles);
    a.freq = 1;
    a.sample_freq = 1000;
    const int freq = w.must_open(World::on(a));
    PerfEvent& e = w.event(freq);
    w.k.count(0, kCycles, 5000);
    w.k.tick(0);
    w.reset(freq);
    const std::uint64_t period = e.hw.sample_period;
    w.k.count(0, kCycles, 10);
    w.k.tick(0);
    CHECK(e.hw.sample_period == period);
    CHECK(e.hw.freq_count_stamp == 10);
}

TEST_CASE("ID and SET_OUTPUT", "[CORE-318][CORE-319]") {
    World w;
    const int a = w.must_open(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
    const int b = w.must_open(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
    const std::uint64_t at = w.k.alloc_user(8);
    CHECK(w.ioctl(a, PERF_EVENT_IOC_ID, at) == 0);
    CHECK(w.k.get_user<std::uint64_t>(at) == w.event(a).id);
    CHECK(w.ioctl(a, PERF_EVENT_IOC_ID, 8) == -EFAULT);
    Ring ring(w, a, 1);
    CHECK(w.ioctl(b, PERF_EVENT_IOC_SET_OUTPUT, 4711) == -EBADF);
    CHECK(w.ioctl(b, PERF_EVENT_IOC_SET_OUTPUT, static_cast<std::uint64_t>(a)) == 0);
    CHECK(w.event(b).rb == w.event(a).rb);
    CHECK(w.ioctl(b, PERF_EVENT_IOC_SET_OUTPUT, ~0ull) == 0);
    CHECK_FALSE(w.event(b).rb);
}

TEST_CASE("MODIFY_ATTRIBUTES checks the attr like perf_event_open, and changes breakpoints only",
          "[CORE-036][CORE-322]") {
    World w;
    const int fd = w.must_open(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
    const auto modify = [&](const perf_event_attr& a) {
        return w.ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, w.k.put_user(a));
    };
    perf_event_attr a = World::sw(PERF_COUNT_SW_PAGE_FAULTS);
    CHECK(modify(a) == -EOPNOTSUPP);
    a.sig_data = 5;
    CHECK(modify(a) == -EOPNOTSUPP);
    CHECK(w.event(fd).attr.sig_data == 0);
    a.type = PERF_TYPE_HARDWARE;
    CHECK(modify(a) == -EINVAL);
    a.__reserved_2 = 1;
    a.type = PERF_TYPE_SOFTWARE;
    CHECK(modify(a) == -EINVAL);
    a = World::sw(PERF_COUNT_SW_PAGE_FAULTS);
    a.size = 5000;
    CHECK(modify(a) == -E2BIG);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 8) == -EFAULT);
}

TEST_CASE("SIGTRAP and switches", "[CORE-293][CORE-294][CORE-295]") {
    World w;
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
    a.sample_period = 1;
    a.sigtrap = a.remove_on_exec = 1;
    a.sig_data = 99;
    const int fd = w.must_open(a);
    PerfEvent& e = w.event(fd);
    // Scheduled out before irq_work has run: the task is told on its way back.
    bool was = w.k.local_irq_save();
    w.k.page_fault(0, 0x1234);
    CHECK(e.pending_sigtrap);
    CHECK(e.ctx->nr_pending == 1);
    CHECK(w.k.sigtraps.empty());
    w.k.switch_to(0, nullptr);
    w.k.local_irq_restore(was);
    REQUIRE(w.k.sigtraps.size() == 1);
    CHECK(w.k.sigtraps[0].task == &w.task);
    CHECK(e.ctx->nr_pending == 0);
    w.k.switch_to(0, &w.task);
    // Switched off on the way as well: nothing.
    was = w.k.local_irq_save();
    w.k.page_fault(0, 0x1234);
    e.pending_disable = true;
    w.k.switch_to(0, nullptr);
    w.k.local_irq_restore(was);
    CHECK(w.k.sigtraps.size() == 1);
    CHECK(e.ctx->nr_pending == 0);
    w.k.switch_to(0, &w.task);
    CHECK(e.state == PerfEventState::off);
    w.enable(fd);
    // A task that ends is not told.
    w.task.exiting = true;
    w.k.page_fault(0, 0x1234);
    CHECK(w.k.sigtraps.size() == 1);
    w.task.exiting = false;
    // Of several overflows before it is told, the address is the last one's.
    perf_event_attr b = a;
    b.sample_type = PERF_SAMPLE_ADDR;
    const int addressed = w.must_open(b);
    w.disable(fd);
    was = w.k.local_irq_save();
    w.k.page_fault(0, 0x1000);
    w.k.page_fault(0, 0x2000);
    w.k.local_irq_restore(was);
    CHECK(w.k.sigtraps.back().addr == 0x2000);
    CHECK(w.k.sigtraps.size() == 2);
    (void)addressed;
}

TEST_CASE("equal contexts are not exchanged while a SIGTRAP is under way", "[CORE-294]") {
    World w;
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
    a.sample_period = 1;
    a.sigtrap = a.remove_on_exec = a.inherit = 1;
    w.must_open(a);
    FakeTask& child = w.fork(200);
    PerfEventContext* mine = w.task.perf_event_ctxp[1];
    w.k.switch_to(0, &child);
    CHECK(child.perf_event_ctxp[1] == mine);
    w.k.switch_to(0, &w.task);
    CHECK(w.task.perf_event_ctxp[1] == mine);
    const bool was = w.k.local_irq_save();
    w.k.page_fault(0, 0x1234);
    w.k.switch_to(0, &child);
    CHECK(w.task.perf_event_ctxp[1] == mine);
    w.k.local_irq_restore(was);
    REQUIRE(w.k.sigtraps.size() == 1);
    CHECK(w.k.sigtraps[0].task == &w.task);
    w.exit_current(0);
    w.k.switch_to(0, &w.task);
}

TEST_CASE("software events while throttled: they count, and nothing else", "[CORE-445][CORE-449]") {
    World w;
    const int fd = w.must_open(World::on(fault_attr(PERF_SAMPLE_IP)));
    Ring ring(w, fd, 4);
    PerfEvent& e = w.event(fd);
    e.hw.interrupts = MAX_INTERRUPTS;
    w.p().this_cpu().perf_throttled_count = 1;
    for (std::uint64_t i = 0; i < 5; ++i) w.k.page_fault(0, fault_page(i));
    CHECK(w.count(fd) == 5);
    CHECK(ring.head() == 0);
    w.k.tick(0);
    CHECK(ring.must_next().header.type == PERF_RECORD_UNTHROTTLE);
    w.k.page_fault(0, fault_page(6));
    CHECK(ring.must_next().header.type == PERF_RECORD_SAMPLE);

    // Many overflows of one trigger: the second and later ones can throttle.
    perf_event_attr a = World::sw(PERF_COUNT_SW_PAGE_FAULTS);
    a.sample_period = 2;
    const int many = w.must_open(World::on(a));
    Ring other(w, many, 4);
    w.perf.perf_sw_event(PERF_COUNT_SW_PAGE_FAULTS, 5000, &w.k.user_regs, 0);
    CHECK(w.event(many).hw.interrupts == MAX_INTERRUPTS);
    const auto records = other.drain();
    CHECK(count_type(records, PERF_RECORD_THROTTLE) == 1);
    // The overflow that throttles is still a sample.
    CHECK(count_type(records, PERF_RECORD_SAMPLE) == static_cast<std::size_t>(w.p().max_samples_per_tick));
}

TEST_CASE("a clock's timer rests while throttled", "[CORE-469]") {
    World w;
    perf_event_attr a = World::sw(PERF_COUNT_SW_CPU_CLOCK);
    a.sample_period = 10'000;
    const int fd = w.must_open(World::on(a));
    PerfEvent& e = w.event(fd);
    w.p().max_samples_per_tick = 3;
    CHECK(w.k.timer_queued(e.hw.hrtimer));
    w.k.advance(100'000);
    CHECK(e.hw.interrupts == MAX_INTERRUPTS);
    CHECK_FALSE(w.k.timer_queued(e.hw.hrtimer));
    w.k.tick(0);
    CHECK(e.hw.interrupts == 0);
    CHECK(w.k.timer_queued(e.hw.hrtimer));
}

TEST_CASE("dummy never triggers, bpf-output neither", "[CORE-456][CORE-457]") {
    World w;
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_DUMMY));
    a.sample_period = 1;
    a.comm = a.task = 1;
    const int dummy = w.must_open(a);
    a.comm = a.task = 0;
    a.config = PERF_COUNT_SW_BPF_OUTPUT;
    const int bpf = w.must_open(a);
    Ring ring(w, dummy, 1);
    w.k.page_fault(0, 0x1000);
    w.k.switch_to(0, nullptr);
    w.k.switch_to(1, &w.task);
    w.k.advance(1'000'000);
    w.k.on_cpu(1);
    w.perf.perf_event_comm(w.task, false);
    w.k.on_cpu(0);
    CHECK(w.count(dummy) == 0);
    CHECK(w.count(bpf) == 0);
    const auto records = ring.drain();
    REQUIRE(records.size() == 1);
    CHECK(records[0].header.type == PERF_RECORD_COMM);
}

TEST_CASE("counts wrap at 64 bits", "[CORE-309]") {
    World w;
    const int fd = w.must_open(World::on(World::hw(kInstructions)));
    w.event(fd).count = ~0ull - 4;
    w.k.count(0, kInstructions, 10);
    CHECK(w.count(fd) == 5);
}

TEST_CASE("ERROR is no end for poll", "[CORE-336]") {
    World w;
    TestPmu& pmu = add_pmu(w);
    pmu.limit = 0;
    perf_event_attr a = World::on(attr_of(pmu, 1));
    a.pinned = 1;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    CHECK(w.event(fd).state == PerfEventState::error);
    WaitQueue* wq = nullptr;
    CHECK(w.k.ops(fd)->poll(wq) == 0);
    CHECK(w.read_result(fd, 512) == 0);
}

TEST_CASE("two calls on one event wait for each other", "[CORE-327]") {
    World w;
    const int fd = w.must_open(World::hw(kCycles));
    Mutex& mutex = *w.event(fd).ctx->mutex;
    bool held_by_ioctl = false, held_by_read = false;
    bool* held = &held_by_ioctl;
    w.k.time_passes = [&] { *held = *held || mutex.is_locked(); };
    w.enable(fd);
    held = &held_by_read;
    w.read(fd);
    w.k.time_passes = nullptr;
    CHECK(held_by_ioctl);
    CHECK(held_by_read);
    CHECK_FALSE(mutex.is_locked());
}

TEST_CASE("drivers hear of every mapping", "[CORE-351]") {
    struct Mapped : TestPmu {
        using TestPmu::TestPmu;
        void event_mapped(PerfEvent&, MmInfo* mm) override { log += "+", last = mm; }
        void event_unmapped(PerfEvent&, MmInfo* mm) override { log += "-", last = mm; }
        std::string log;
        MmInfo* last{};
    };
    World w;
    auto owned = std::make_unique<Mapped>(w.k, Pmu::TaskContext::hardware, Pmu::PERF_PMU_CAP_HETEROGENEOUS_CPUS);
    Mapped& pmu = *owned;
    REQUIRE(w.p().perf_pmu_register(std::move(owned), "mapped", -1) == 0);
    const int fd = w.must_open(attr_of(pmu, 1));
    {
        Ring one(w, fd, 1);
        Ring two(w, fd, 1);
        CHECK(pmu.log == "++");
        w.k.ops(fd)->mmap_open(one.vma);
        w.k.ops(fd)->mmap_close(one.vma);
        CHECK(pmu.log == "+++-");
        CHECK(pmu.last == &w.k.mm);
    }
    CHECK(pmu.log == "+++---");
}

TEST_CASE("clocks of groups, of redirected events and of copies", "[CORE-524][CORE-525]") {
    World w;
    perf_event_attr a = World::sw(PERF_COUNT_SW_PAGE_FAULTS);
    a.inherit = 1;
    const int plain = w.must_open(a);
    for (const int clockid : {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_TAI}) {
        perf_event_attr b = a;
        b.use_clockid = 1;
        b.clockid = clockid;
        CHECK(w.try_open(b, 0, -1, plain) == EINVAL);
        const int lead = w.must_open(b);
        CHECK(w.try_open(b, 0, -1, lead) == 0);
        CHECK(w.try_open(a, 0, -1, lead) == EINVAL);
        w.k.close(lead);
    }
    perf_event_attr b = a;
    b.use_clockid = 1;
    b.clockid = CLOCK_REALTIME;
    const int original = w.must_open(b);
    FakeTask& child = w.fork(200);
    int copies = 0;
    for (const PerfEvent* e : child.perf_event_ctxp[1]->event_list)
        if (e->parent == &w.event(original)) {
            ++copies;
            CHECK(e->clock == CLOCK_REALTIME);
        } else {
            CHECK(e->clock == -1);
        }
    CHECK(copies == 1);
    w.k.switch_to(1, &child);
    w.exit_current(1);
}

TEST_CASE("a CPU goes: its events are off for good, tasks' events are not concerned",
          "[CORE-509][CORE-510][CORE-511]") {
    World w;
    const int lead = w.must_open(World::on(World::hw(kInstructions)), -1, 1);
    perf_event_attr a = World::on(World::hw(kCycles));
    a.read_format = PERF_FORMAT_GROUP;
    const int sibling = w.must_open(a, -1, 1, lead);
    const int faults = w.must_open(World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS)), -1, 1);
    const int of_task = w.must_open(World::on(World::hw(kInstructions)), 0, -1);
    w.k.count(1, kInstructions, 20);
    w.k.on_cpu(1);
    w.k.record_notices = true;
    w.perf.cpu_dying(1);
    w.k.record_notices = false;
    w.k.on_cpu(0);
    w.k.online = 1;
    CHECK(w.noticed(EventNotice::What::disabled) == 3); // so that nobody takes them for enabled
    for (const int fd : {lead, sibling, faults}) {
        CHECK(w.event(fd).state == PerfEventState::off);
        CHECK(w.event(fd).group_leader == &w.event(fd));
    }
    CHECK(w.count(lead) == 20);
    CHECK(w.read(sibling)[0] == 1);
    w.enable(lead);
    CHECK(w.event(lead).state == PerfEventState::off);
    CHECK(w.try_open(World::hw(kCycles), -1, 1) == ENODEV);
    CHECK(w.try_open(World::sw(PERF_COUNT_SW_PAGE_FAULTS), -1, 1) == ENODEV);
    CHECK(w.try_open(World::hw(kCycles), 0, 1) == 0);
    w.k.count(0, kInstructions, 3);
    CHECK(w.count(of_task) == 3);

    w.k.online = 0;
    w.k.on_cpu(1);
    w.perf.cpu_starting(1);
    w.k.on_cpu(0);
    w.k.count(1, kInstructions, 50);
    CHECK(w.count(lead) == 20);
    CHECK(w.try_open(World::hw(kCycles), -1, 1) == 0);
    w.k.close(lead);
    CHECK(w.read(sibling)[0] == 1);
}

TEST_CASE("exec removes an event from its group, the others go on", "[CORE-501][CORE-505]") {
    World w;
    perf_event_attr a = World::on(World::hw(kCycles));
    a.remove_on_exec = 1;
    const int lead = w.must_open(a);
    const int sibling = w.must_open(World::on(World::hw(kInstructions)), 0, -1, lead);
    w.perf.perf_event_exec();
    CHECK(w.event(lead).state == PerfEventState::exit);
    CHECK(w.event(lead).nr_siblings == 0);
    CHECK(w.event(sibling).group_leader == &w.event(sibling));
    CHECK(w.event(sibling).state == PerfEventState::active);
    w.k.count(0, kInstructions, 5);
    CHECK(w.count(sibling) == 5);
    w.k.switch_to(0, nullptr);
    CHECK(w.event(sibling).state == PerfEventState::inactive);
    w.k.switch_to(0, &w.task);
    CHECK(w.event(sibling).state == PerfEventState::active);
}

TEST_CASE("members that join a leader whose CPU has gone and returned outlive it", "[CORE-509]") {
    World w;
    const int lead = w.must_open(World::on(World::hw(kCycles)), -1, 1);
    w.k.on_cpu(1);
    w.perf.cpu_dying(1);
    w.perf.cpu_starting(1);
    w.k.on_cpu(0);
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.read_format = PERF_FORMAT_GROUP;
    const int sibling = w.must_open(a, -1, 1, lead);
    w.k.close(lead);
    CHECK(w.event(sibling).group_leader == &w.event(sibling));
    CHECK(w.read(sibling)[0] == 1);
}

TEST_CASE("a software event that was taken out of a hardware group can lead one", "[CORE-139]") {
    World w;
    const int lead = w.must_open(World::on(World::hw(kCycles)));
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
    a.remove_on_exec = 1;
    const int sibling = w.must_open(a, 0, -1, lead);
    w.perf.perf_event_exec();
    CHECK(w.event(sibling).group_caps == PERF_EV_CAP_SOFTWARE);
    CHECK(w.event(sibling).ctx == w.task.perf_event_ctxp[0]);
    // It is in the hardware context already: nothing to move.
    CHECK(w.try_open(World::on(World::hw(kInstructions)), 0, -1, sibling) == 0);
    w.k.close(lead);
}

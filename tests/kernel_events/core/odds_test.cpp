// SPDX-License-Identifier: Apache-2.0
// Smaller statements about samples, clocks, buffers and call chains, each for itself.
#include "kernel_events/callchain.h"
#include "tests/kernel_events/ring.h"
#include "tests/kernel_events/test_pmu.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

TEST_CASE("clocks that an NMI cannot read are for PMUs without NMIs", "[CORE-107]") {
    World w;
    TestPmu& nmi = add_pmu(w, "nmi");
    TestPmu& none =
        add_pmu(w, "none", Pmu::TaskContext::hardware, Pmu::PERF_PMU_CAP_HETEROGENEOUS_CPUS | Pmu::PERF_PMU_CAP_NO_NMI);
    for (const auto& [clockid, safe] : {std::pair{CLOCK_MONOTONIC, true},
                                        {CLOCK_MONOTONIC_RAW, true},
                                        {CLOCK_REALTIME, false},
                                        {CLOCK_BOOTTIME, false},
                                        {CLOCK_TAI, false}}) {
        perf_event_attr a = attr_of(nmi, 1);
        a.use_clockid = 1;
        a.clockid = clockid;
        CHECK(w.try_open(a) == (safe ? 0 : EINVAL));
        a.type = none.type;
        CHECK(w.try_open(a) == 0);
    }
}

TEST_CASE("the file that tells that there are perf events", "[CORE-282]") {
    World w;
    CHECK(w.attribute("/proc/sys/kernel/perf_event_paranoid") == "2\n");
}

TEST_CASE("what a package counts may be read on any of its CPUs", "[CORE-307]") {
    World w;
    TestPmu& pmu = add_pmu(w, "package", Pmu::TaskContext::invalid, 0);
    int read_on = -1;
    struct Where : TestPmu {
        using TestPmu::TestPmu;
        void read(PerfEvent&) override { *where = kernel.smp_processor_id(); }
        int* where{};
    };
    auto owned = std::make_unique<Where>(w.k, Pmu::TaskContext::invalid, 0);
    Where& where = *owned;
    where.where = &read_on;
    REQUIRE(w.p().perf_pmu_register(std::move(owned), "where", -1) == 0);
    const int plain = w.must_open(World::on(attr_of(where, 1)), -1, 1);
    w.read(plain);
    CHECK(read_on == 1);
    where.on_init = [](PerfEvent& e) {
        e.event_caps |= PERF_EV_CAP_READ_ACTIVE_PKG;
        return 0;
    };
    const int any = w.must_open(World::on(attr_of(where, 2)), -1, 1);
    w.read(any);
    CHECK(read_on == 0);
    (void)pmu;
}

TEST_CASE("a branch stack of a PMU that has none", "[CORE-383]") {
    World w;
    TestPmu& pmu = add_pmu(w);
    perf_event_attr a = World::on(attr_of(pmu, 1));
    a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_ADDR;
    a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_HW_INDEX;
    a.sample_period = 1;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    PerfSampleData data;
    perf_sample_data_init(data, 0x55, 1);
    w.k.user_regs.pc = 0x400123;
    w.p().perf_event_overflow(w.event(fd), data, w.k.user_regs);
    const Record r = ring.must_next();
    CHECK(r.header.size == 8 + 3 * 8);
    CHECK((r.word(0) == 0x400123 && r.word(1) == 0x55 && r.word(2) == 0));
}

TEST_CASE("software events on a CPU that comes later", "[CORE-448]") {
    World w;
    w.k.on_cpu(1);
    w.perf.cpu_dying(1);
    w.k.on_cpu(0);
    w.k.online = 1;
    const int fd = w.must_open(World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS)));
    w.k.online = 0;
    w.k.on_cpu(1);
    w.perf.cpu_starting(1);
    w.k.on_cpu(0);
    w.k.switch_to(0, nullptr);
    w.k.switch_to(1, &w.task);
    w.k.page_fault(1, 0x1000);
    CHECK(w.count(fd) == 1);
}

TEST_CASE("a new period of a running software event", "[CORE-450]") {
    World w;
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_PAGE_FAULTS));
    a.sample_period = 10;
    const int fd = w.must_open(a);
    w.k.record_notices = true;
    const auto overflow_after = [&] {
        const std::size_t before = w.noticed(EventNotice::What::overflow);
        for (int n = 1; n < 100; ++n) {
            w.k.page_fault(0, 0x1000);
            if (w.noticed(EventNotice::What::overflow) > before) return n;
        }
        return 0;
    };
    CHECK(overflow_after() == 10);
    w.k.page_fault(0, 0x1000);
    const std::uint64_t period = 3;
    REQUIRE(w.ioctl(fd, PERF_EVENT_IOC_PERIOD, w.k.put_user(period)) == 0);
    CHECK(overflow_after() == 1);
    CHECK(overflow_after() == 10 - 1); // once more the old one, of which a trigger has passed
    CHECK(overflow_after() == 3);
}

TEST_CASE("clocks: time lost to an unthrottle, and a period that stays", "[CORE-470][CORE-471]") {
    World w;
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_CPU_CLOCK));
    a.sample_period = 10'000;
    a.sample_type = PERF_SAMPLE_PERIOD;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 4);
    w.p().max_samples_per_tick = 3;
    w.k.advance(100'000);
    REQUIRE(w.event(fd).hw.interrupts == MAX_INTERRUPTS);
    const std::uint64_t counted = w.event(fd).count;
    CHECK(counted == 30'000);
    w.k.tick(0); // nobody has read since
    CHECK(w.count(fd) == counted);
    w.k.advance(500);
    CHECK(w.count(fd) == counted + 500);
    const std::uint64_t period = 40'000;
    REQUIRE(w.ioctl(fd, PERF_EVENT_IOC_PERIOD, w.k.put_user(period)) == 0);
    ring.drain();
    w.k.advance(100'000);
    std::vector<Record> samples;
    for (Record& r : ring.drain())
        if (r.header.type == PERF_RECORD_SAMPLE) samples.push_back(r);
    REQUIRE(samples.size() == 2);
    CHECK(samples[0].word(0) == 10'000);
    CHECK(samples[1].word(0) == 10'000);
}

TEST_CASE("LOST takes the time anew for the record that follows", "[RB-055]") {
    World w;
    perf_event_attr a = World::on(fault_attr(PERF_SAMPLE_TIME));
    a.sample_id_all = 1;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    ring.rb().lost = 3;
    w.k.time_passes = [&] { ++w.k.now_ns; };
    const std::uint64_t start = w.k.now_ns;
    w.k.page_fault(0, 0x1000);
    w.k.time_passes = nullptr;
    const Record lost = ring.must_next(), sample = ring.must_next();
    CHECK(lost.header.type == PERF_RECORD_LOST);
    CHECK(lost.word(1) == 3);
    CHECK(sample.word(0) == lost.word(2));
    CHECK(sample.word(0) > start);
}

TEST_CASE("an overwrite buffer is still while it is paused", "[RB-069]") {
    World w;
    const int fd = w.must_open(World::on(fault_attr(PERF_SAMPLE_ADDR)));
    Ring ring(w, fd, 1, false);
    for (std::uint64_t i = 0; i < 1000; ++i) w.k.page_fault(0, fault_page(i));
    REQUIRE(w.ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1) == 0);
    const std::uint64_t head = ring.head();
    const Record before = ring.at(head - 16);
    for (std::uint64_t i = 0; i < 1000; ++i) w.k.page_fault(0, fault_page(5000 + i));
    CHECK(ring.head() == head);
    CHECK(ring.at(head - 16).bytes == before.bytes);
    CHECK(before.word(0) == fault_page(999));
    REQUIRE(w.ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0) == 0);
    w.k.page_fault(0, 0x7000);
    CHECK(ring.head() > head);
}

TEST_CASE("a group too large to be read", "[RB-071]") {
    World w;
    perf_event_attr a = World::sw(PERF_COUNT_SW_DUMMY);
    a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST;
    w.k.max_fds = 2000;
    const int lead = w.must_open(a);
    const perf_event_attr plain = World::sw(PERF_COUNT_SW_DUMMY);
    int opened = 1;
    while (w.open(plain, 0, -1, lead) >= 0) ++opened;
    // 8 bytes and 24 for each within 16 KiB.
    CHECK(opened == (16384 - 8) / 24);
    CHECK(w.try_open(plain, 0, -1, lead) == E2BIG);
}

TEST_CASE("levels of interruption: an overflow's sample nests in a task's", "[RB-078]") {
    World w;
    CHECK(w.p().interrupt_context_level() == 0);
    ++w.k.here().softirq;
    CHECK(w.p().interrupt_context_level() == 1);
    unsigned level = 0;
    w.k.in_interrupt([&] { level = w.p().interrupt_context_level(); });
    CHECK(level == 2);
    --w.k.here().softirq;
    auto& recursion = w.p().this_cpu().callchain_recursion;
    CHECK(w.p().get_recursion_context(recursion) == 0);
    CHECK(w.p().get_recursion_context(recursion) == -1);
    w.k.in_interrupt([&] {
        CHECK(w.p().get_recursion_context(recursion) == 2);
        w.p().put_recursion_context(recursion, 2);
    });
    w.p().put_recursion_context(recursion, 0);
    CHECK(w.p().get_recursion_context(recursion) == 0);
    w.p().put_recursion_context(recursion, 0);
}

TEST_CASE("room for frames and for markers is counted apart", "[CC-004][CC-011][CC-044]") {
    World w;
    w.p().sysctl.perf_event_max_stack = 4;
    w.p().sysctl.perf_event_max_contexts_per_stack = 2;
    perf_event_attr a = World::on(fault_attr(PERF_SAMPLE_CALLCHAIN));
    a.exclude_kernel = 0;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    PtRegs kernel{};
    kernel.pc = 0xffff800008000000;
    kernel.regs[29] = FakeKernel::kKernelStack;
    kernel.pstate = 5;
    w.k.kernel_frames = {0xffff800008000010, 0xffff800008000020, 0xffff800008000030, 0xffff800008000040};
    w.perf.perf_sw_event(PERF_COUNT_SW_PAGE_FAULTS, 1, &kernel, 0);
    Record r = ring.must_next();
    CHECK(r.word(0) == 6); // four frames and two markers
    CHECK(r.word(1) == static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL));
    CHECK(r.word(6) == static_cast<std::uint64_t>(PERF_CONTEXT_USER));
    // A short chain afterwards has nothing of the long one; a bad frame ends it and keeps what there is.
    PtRegs user{};
    user.pc = 0x400100;
    user.regs[29] = 0x12345678; // not mapped
    w.perf.perf_sw_event(PERF_COUNT_SW_PAGE_FAULTS, 1, &user, 0);
    r = ring.must_next();
    CHECK(r.word(0) == 2);
    CHECK(r.word(2) == 0x400100);
    CHECK(r.header.size == 8 + 8 + 2 * 8);
}

TEST_CASE("chains without markers", "[CC-025]") {
    World w;
    perf_event_attr a = fault_attr(PERF_SAMPLE_CALLCHAIN);
    const int fd = w.must_open(a);
    (void)fd;
    PtRegs user{};
    user.pc = 0x400100;
    CallchainRequest request;
    request.kernel = request.user = true;
    request.max_stack = 10;
    request.add_mark = false;
    std::vector<std::uint64_t> entry;
    REQUIRE(get_perf_callchain(w.p(), user, request, entry));
    CHECK(entry == std::vector<std::uint64_t>{0x400100});
}

TEST_CASE("buffers of chains are there while somebody asks for chains; the slot is free before the chain is used",
          "[CC-008][CC-010]") {
    World w;
    perf_event_attr a = fault_attr(PERF_SAMPLE_CALLCHAIN);
    const int one = w.must_open(a), two = w.must_open(a);
    CHECK(w.p().counts.nr_callchain == 2);
    PtRegs user{};
    user.pc = 0x400100;
    CallchainRequest request;
    request.user = true;
    request.max_stack = 10;
    std::vector<std::uint64_t> entry, nested;
    w.k.close(one);
    REQUIRE(get_perf_callchain(w.p(), user, request, entry));
    REQUIRE(get_perf_callchain(w.p(), user, request, nested));
    w.k.close(two);
    CHECK(w.p().counts.nr_callchain == 0);
    CHECK_FALSE(get_perf_callchain(w.p(), user, request, nested));
    CHECK(entry.size() == 2);
}

TEST_CASE("registers of kernel code that calls", "[CC-051]") {
    World w;
    PtRegs regs;
    w.k.fetch_caller_regs(regs);
    CHECK_FALSE(regs.user_mode());
    perf_event_attr a = World::on(World::sw(PERF_COUNT_SW_CONTEXT_SWITCHES));
    a.exclude_kernel = 0;
    a.sample_period = 1;
    a.sample_type = PERF_SAMPLE_IP;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    w.k.switch_to(0, nullptr);
    const Record r = ring.must_next();
    CHECK(r.word(0) == regs.pc);
    CHECK((r.header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL);
}

TEST_CASE("PMUs that cannot be found or registered leave nothing behind", "[ARMPMU-039]") {
    PerfConfig config = World::config(1, {});
    config.pmus.push_back({"nowhere", 0xf0, {23}, 4, {}});
    FakeKernel k(1);
    Perf perf(k, config);
    k.perf = &perf;
    perf.perf_event_init();
    CHECK(k.log.back() == "hw perfevents: nowhere: failed to probe PMU!");
    CHECK(k.attributes.count("/sys/bus/event_source/devices/nowhere/type") == 0);
    CHECK(k.attributes.count("/sys/bus/event_source/devices/armv8_pmuv3/type") == 1);
}

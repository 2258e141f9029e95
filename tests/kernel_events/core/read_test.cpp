// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel_events/fixture.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

TEST_CASE("all read formats of one event", "[CORE-299][CORE-300][CORE-303]") {
    for (std::uint64_t f = 0; f < 32; ++f) {
        if (f & PERF_FORMAT_GROUP) continue;
        World w;
        perf_event_attr a = World::on(World::hw(kInstructions));
        a.read_format = f;
        const int fd = w.must_open(a);
        w.k.count(0, kInstructions, 11);
        w.k.advance(500);
        std::vector<std::uint64_t> want{11};
        if (f & PERF_FORMAT_TOTAL_TIME_ENABLED) want.push_back(500);
        if (f & PERF_FORMAT_TOTAL_TIME_RUNNING) want.push_back(500);
        if (f & PERF_FORMAT_ID) want.push_back(w.event(fd).id);
        if (f & PERF_FORMAT_LOST) want.push_back(0);
        CHECK(w.read(fd) == want);
        CHECK(w.read_result(fd, want.size() * 8 - 1) == -ENOSPC);
        CHECK(w.k.ops(fd)->read(16, 64, false) == -EFAULT);
    }
}

TEST_CASE("all read formats of a group", "[CORE-299][CORE-301][CORE-306]") {
    for (std::uint64_t f = 0; f < 32; ++f) {
        if (!(f & PERF_FORMAT_GROUP)) continue;
        World w;
        perf_event_attr a = World::hw(kInstructions), b = World::on(World::hw(0x03));
        a.read_format = f;
        const int lead = w.must_open(a), sib = w.must_open(b, 0, -1, lead);
        w.enable(lead);
        w.k.count(0, kInstructions, 11);
        w.k.count(0, 0x03, 5);
        w.k.advance(500);
        std::vector<std::uint64_t> want{2};
        if (f & PERF_FORMAT_TOTAL_TIME_ENABLED) want.push_back(500);
        if (f & PERF_FORMAT_TOTAL_TIME_RUNNING) want.push_back(500);
        for (const auto& [fd, count] : {std::pair{lead, 11u}, {sib, 5u}}) {
            want.push_back(count);
            if (f & PERF_FORMAT_ID) want.push_back(w.event(fd).id);
            if (f & PERF_FORMAT_LOST) want.push_back(0);
        }
        CHECK(w.read(lead) == want);
        // The sibling was opened without PERF_FORMAT_GROUP.
        CHECK(w.read(sib) == std::vector<std::uint64_t>{5});
    }
}

TEST_CASE("poll without a buffer and at the end", "[CORE-328][CORE-330]") {
    World w;
    const int fd = w.must_open(World::hw(kCycles));
    WaitQueue* wq = nullptr;
    CHECK(w.k.ops(fd)->poll(wq) == kPollHup);
    CHECK(wq == w.event(fd).waitq.get());
}

TEST_CASE("ioctl numbers", "[CORE-310][CORE-311][CORE-315][CORE-320][CORE-321][CORE-324][CORE-128]") {
    World w;
    const int fd = w.must_open(World::hw(kCycles));
    CHECK(w.ioctl(fd, 0x2499) == -ENOTTY);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) == -EINVAL);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_PERIOD, 8) == -EFAULT);
    const std::uint64_t value = w.k.put_user(std::uint64_t{1000});
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_PERIOD, value) == -EINVAL);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ~std::uint64_t{0}) == 0);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 0xffffffff) == -EBADF);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, static_cast<std::uint64_t>(fd)) == -EINVAL);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1) == -EINVAL);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_SET_FILTER, 8) == -EFAULT);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_SET_FILTER, w.k.put_user("x")) == -EINVAL);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_SET_BPF, 60) == -EBADF);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_SET_BPF, static_cast<std::uint64_t>(fd)) == -EINVAL);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, value) == -EINVAL);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 8) == -EFAULT);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, w.k.put_user(World::hw(kCycles))) == -EOPNOTSUPP);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, w.k.put_user(World::sw(0))) == -EINVAL);
    w.k.cap_perfmon = w.k.cap_sys_admin = false;
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, value) == -EPERM);
}

TEST_CASE("changing the period", "[CORE-315][CORE-316]") {
    World w;
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.sample_period = 1000;
    const int fd = w.must_open(a);
    w.k.record_notices = true;
    w.k.count(0, kInstructions, 900);
    const auto period = [&](std::uint64_t v) { return w.ioctl(fd, PERF_EVENT_IOC_PERIOD, w.k.put_user(v)); };
    CHECK(period(0) == -EINVAL);
    CHECK(period(1ull << 63) == -EINVAL);
    CHECK(period(400) == 0);
    w.k.count(0, kInstructions, 399);
    CHECK(w.noticed(EventNotice::What::overflow) == 0);
    w.k.count(0, kInstructions, 1);
    CHECK(w.noticed(EventNotice::What::overflow) == 1);
    CHECK(w.count(fd) == 1300);
    a.freq = 1;
    const int freq = w.must_open(a);
    CHECK(w.ioctl(freq, PERF_EVENT_IOC_PERIOD, w.k.put_user(std::uint64_t{100001})) == -EINVAL);
    CHECK(w.ioctl(freq, PERF_EVENT_IOC_PERIOD, w.k.put_user(std::uint64_t{4000})) == 0);
    CHECK(w.event(freq).attr.sample_freq == 4000);
}

TEST_CASE("prctl switches all events of the calling thread", "[CORE-325]") {
    World w;
    FakeTask& other = w.k.make_task(200);
    const int a = w.must_open(World::hw(kCycles)), b = w.must_open(World::sw(0), 200);
    CHECK(w.perf.perf_event_task_enable() == 0);
    CHECK(w.event(a).state == PerfEventState::active);
    CHECK(w.event(b).state == PerfEventState::inactive);
    CHECK(w.perf.perf_event_task_disable() == 0);
    CHECK(w.event(a).state == PerfEventState::off);
    w.k.switch_to(1, &other);
    w.k.on_cpu(1);
    CHECK(w.perf.perf_event_task_enable() == 0);
    w.k.on_cpu(0);
    CHECK(w.event(b).state == PerfEventState::off);
}

TEST_CASE("kernel counters", "[CORE-515][CORE-516][CORE-517][CORE-518][CORE-520]") {
    World w;
    int error = 0;
    unsigned overflows = 0;
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.sample_period = 10;
    PerfEvent* e = w.p().perf_event_create_kernel_counter(
        a, -1, &w.task, [&](PerfEvent&, PerfSampleData&, PtRegs&) { ++overflows; }, error);
    REQUIRE(e);
    CHECK(w.task.perf_event_list.empty());
    w.k.count(0, kInstructions, 10);
    w.k.count(0, kInstructions, 12);
    CHECK(overflows == 2);
    std::uint64_t value = 0, enabled = 0, running = 0;
    CHECK(w.p().perf_event_read_local(*e, value, &enabled, &running) == 0);
    CHECK(value == 22);
    CHECK(w.p().perf_event_read_value(*e, enabled, running) == 22);
    w.k.on_cpu(1);
    CHECK(w.p().perf_event_read_local(*e, value, nullptr, nullptr) == -EINVAL);
    w.k.on_cpu(0);
    w.p().perf_event_release_kernel(*e);
    a.type = 1000;
    CHECK_FALSE(w.p().perf_event_create_kernel_counter(a, -1, &w.task, nullptr, error));
    CHECK(error == -ENOENT);
}

// SPDX-License-Identifier: Apache-2.0
// Records an event writes about itself, and wakeups with signals.
#include "tests/kernel_events/ring.h"

namespace rkperf::ke::test::output_test {

TEST_CASE("THROTTLE and UNTHROTTLE", "[CORE-254][CORE-257][CORE-398][CORE-426]") {
    World w;
    perf_event_attr a = fault_attr(PERF_SAMPLE_TIME | PERF_SAMPLE_CPU);
    a.sample_id_all = 1;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    w.p().perf_log_throttle(w.event(fd), false);
    w.k.advance(10);
    w.p().perf_log_throttle(w.event(fd), true);
    const auto v = ring.drain();
    REQUIRE(v.size() == 2);
    CHECK(v[0].header.type == PERF_RECORD_THROTTLE);
    CHECK(v[1].header.type == PERF_RECORD_UNTHROTTLE);
    for (const Record& r : v) {
        CHECK(r.header.misc == 0);
        CHECK(r.header.size == 32 + 16);
        CHECK(r.word(1) == w.event(fd).id);
        CHECK(r.word(2) == w.event(fd).own_id);
        CHECK(r.word(0) == r.word(3));
        CHECK(r.word(4) == 0);
    }
    CHECK(v[1].word(0) == v[0].word(0) + 10);
}

TEST_CASE("a copy's THROTTLE names the original and itself", "[CORE-010][CORE-426]") {
    World w;
    perf_event_attr a = fault_attr(0);
    a.inherit = 1;
    const int fd = w.must_open(a, 0, 0);
    Ring ring(w, fd, 1);
    w.fork(101);
    PerfEvent& child = *w.event(fd).child_list.front();
    w.p().perf_log_throttle(child, false);
    const Record r = ring.must_next();
    CHECK(r.word(1) == w.event(fd).id);
    CHECK(r.word(2) == child.id);
}

TEST_CASE("LOST_SAMPLES of a driver", "[CORE-427]") {
    World w;
    const int fd = w.must_open(fault_attr(0));
    Ring ring(w, fd, 1);
    w.p().perf_log_lost_samples(w.event(fd), 17);
    const Record r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_LOST_SAMPLES);
    CHECK(r.header.size == 16);
    CHECK(r.word(0) == 17);
}

TEST_CASE("ITRACE_START only for PMUs that trace instructions, once", "[CORE-434]") {
    World w;
    const int fd = w.must_open(fault_attr(0));
    Ring ring(w, fd, 1);
    PerfEvent& e = w.event(fd);
    w.p().perf_log_itrace_start(e);
    CHECK(ring.drain().empty());
    e.pmu->capabilities |= Pmu::PERF_PMU_CAP_ITRACE;
    w.p().perf_log_itrace_start(e);
    const Record r = ring.must_next();
    CHECK(r.header.type == PERF_RECORD_ITRACE_START);
    CHECK(r.header.size == 16);
    CHECK(r.half(0) == 100);
    CHECK(r.half(1) == 100);
    e.attach_state |= PERF_ATTACH_ITRACE;
    w.p().perf_log_itrace_start(e);
    CHECK(ring.drain().empty());
    e.attach_state &= ~PERF_ATTACH_ITRACE;
    e.pmu->capabilities &= ~static_cast<unsigned>(Pmu::PERF_PMU_CAP_ITRACE);
}

TEST_CASE("records that are not samples do not count for wakeup_events but for watermarks",
          "[CORE-393][CORE-395][RB-043]") {
    World w;
    perf_event_attr a = fault_attr(0);
    a.wakeup_events = 1;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    WaitQueue* wq = nullptr;
    for (int i = 0; i < 3; ++i) w.p().perf_log_throttle(w.event(fd), false);
    CHECK(w.k.ops(fd)->poll(wq) == 0);
    for (int i = 0; i < 62; ++i) w.p().perf_log_throttle(w.event(fd), false); // 2080 bytes, half is 2048
    CHECK(w.k.ops(fd)->poll(wq) == 0x41);
}

TEST_CASE("a wakeup sends the signal asked for, once", "[CORE-285][CORE-286][CORE-287][CORE-289][RB-046]") {
    World w;
    perf_event_attr a = fault_attr(0);
    a.wakeup_events = 3;
    const int fd = w.must_open(a);
    Ring ring(w, fd, 1);
    faults(w, fd, 0, 6);
    CHECK(w.k.fasync_bands.empty()); // O_ASYNC is off
    w.k.ops(fd)->fasync(true);
    faults(w, fd, 0, 3);
    CHECK(w.k.fasync_bands == std::vector<int>{1, 1, 1}); // every overflow, whatever wakeup_events says
    w.k.fasync_bands.clear();
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_REFRESH, 2) == 0);
    for (int i = 0; i < 4; ++i) w.k.page_fault(0, fault_page(0));
    CHECK(w.k.fasync_bands == std::vector<int>{1, 6});
    w.k.fasync_bands.clear();
    w.p().perf_event_wakeup(w.event(fd)); // nothing pending
    CHECK(w.k.fasync_bands.empty());
}

TEST_CASE("without a buffer there are signals too", "[CORE-287][CORE-330]") {
    World w;
    const int fd = w.must_open(fault_attr(0));
    w.k.ops(fd)->fasync(true);
    faults(w, fd, 0, 4);
    CHECK(w.k.fasync_bands.size() == 4);
    WaitQueue* wq = nullptr;
    CHECK(w.k.ops(fd)->poll(wq) == kPollHup);
}

} // namespace rkperf::ke::test::output_test

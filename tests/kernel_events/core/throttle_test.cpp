// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel_events/fixture.h"

using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {
perf_event_attr sampling(std::uint64_t period) {
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.sample_period = period;
    return a;
}
std::size_t overflows(World& w) { return w.noticed(EventNotice::What::overflow); }
std::string limit(World& w) { return w.attribute("/proc/sys/kernel/perf_event_max_sample_rate"); }
} // namespace

TEST_CASE("throttling until the next tick", "[CORE-253][CORE-254][CORE-255][CORE-256][CORE-257][CORE-260][PMUV3-033]") {
    World w;
    const int fd = w.must_open(sampling(100));
    w.k.record_notices = true;
    for (int i = 0; i < 1000; ++i) w.k.count(0, kInstructions, 100);
    CHECK(overflows(w) == 400);
    CHECK(w.noticed(EventNotice::What::throttled) == 1);
    CHECK(w.event(fd).state == PerfEventState::active);
    CHECK(w.count(fd) == 40000);
    w.k.tick(0);
    CHECK(w.noticed(EventNotice::What::unthrottled) == 1);
    w.k.count(0, kInstructions, 100);
    CHECK(overflows(w) == 401);
}

TEST_CASE("the tick goes on while an event is throttled, and while one adjusts its frequency", "[CORE-262]") {
    World w;
    const int fd = w.must_open(sampling(100));
    CHECK(w.k.ticks_kept.empty());
    for (int i = 0; i < 1000; ++i) w.k.count(0, kInstructions, 100);
    CHECK(w.k.ticks_kept == std::set<int>{0});
    w.k.tick(0);
    CHECK(w.k.ticks_kept.empty());
    CHECK_FALSE(w.k.all_ticks_kept);
    perf_event_attr a = sampling(1000);
    a.freq = 1;
    const int one = w.must_open(a), two = w.must_open(a);
    CHECK(w.k.all_ticks_kept);
    w.k.close(one);
    CHECK(w.k.all_ticks_kept);
    w.k.close(two);
    CHECK_FALSE(w.k.all_ticks_kept);
    w.k.close(fd);
}

TEST_CASE("a new start on the hardware ends throttling", "[CORE-258][CORE-259]") {
    World w;
    const int fd = w.must_open(sampling(100));
    for (int i = 0; i < 500; ++i) w.k.count(0, kInstructions, 100);
    CHECK(w.event(fd).hw.interrupts == MAX_INTERRUPTS);
    w.k.switch_to(0, nullptr);
    w.k.switch_to(0, &w.task);
    CHECK(w.event(fd).hw.interrupts == 0);
    for (int i = 0; i < 500; ++i) w.k.count(0, kInstructions, 100);
    CHECK(w.event(fd).hw.interrupts == MAX_INTERRUPTS);
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_PERIOD, w.k.put_user(std::uint64_t{50})) == 0);
    CHECK(w.event(fd).hw.interrupts == 0);
}

TEST_CASE("event_limit", "[CORE-283][CORE-284][CORE-285][CORE-286][CORE-171][CORE-172]") {
    World w;
    perf_event_attr a = sampling(100);
    a.disabled = 1;
    const int fd = w.must_open(a);
    w.k.ops(fd)->fasync(true);
    w.k.record_notices = true;
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_REFRESH, 3) == 0);
    for (int i = 0; i < 5; ++i) w.k.count(0, kInstructions, 100);
    CHECK(overflows(w) == 3);
    CHECK(w.event(fd).state == PerfEventState::off);
    CHECK(w.k.fasync_bands == std::vector<int>{POLL_BAND_IN, POLL_BAND_IN, POLL_BAND_HUP});
    CHECK(w.ioctl(fd, PERF_EVENT_IOC_REFRESH, 0) == 0);
    for (int i = 0; i < 5; ++i) w.k.count(0, kInstructions, 100);
    CHECK(overflows(w) == 8);
    perf_event_attr inh = sampling(100);
    inh.inherit = 1;
    CHECK(w.ioctl(w.must_open(inh), PERF_EVENT_IOC_REFRESH, 1) == -EINVAL);
}

TEST_CASE("SIGTRAP", "[CORE-290][CORE-291][CORE-292]") {
    World w;
    perf_event_attr a = sampling(100);
    a.sigtrap = a.remove_on_exec = 1;
    a.sig_data = 0xabcd;
    const int fd = w.must_open(a);
    w.k.count(0, kInstructions, 100);
    REQUIRE(w.k.sigtraps.size() == 1);
    CHECK(w.k.sigtraps[0].task == &w.task);
    CHECK(w.k.sigtraps[0].sig_data == 0xabcd);
    CHECK(w.k.sigtraps[0].type == kPmuType);
    CHECK(w.k.sigtraps[0].addr == 0);
    CHECK(w.event(fd).ctx->nr_pending == 0);
    CHECK(w.try_open(a, -1, 0) == EINVAL);
}

TEST_CASE("period estimate", "[CORE-265]") {
    World w;
    perf_event_attr a = sampling(1);
    a.freq = 1;
    a.sample_freq = 1000;
    PerfEvent& e = w.event(w.must_open(a));
    CHECK(w.p().perf_calculate_period(e, 4'000'000, 8'000'000) == 2'000'000);
    CHECK(w.p().perf_calculate_period(e, 1'000'000'000, 5'000'000) == 5'000);
    // Products beyond 64 bits lose low bits only.
    const std::uint64_t big = w.p().perf_calculate_period(e, 4'000'000, 1ull << 50);
    CHECK(big > (1ull << 50) / 4 - (1ull << 40));
    CHECK(big < (1ull << 50) / 4 + (1ull << 40));
}

TEST_CASE("frequency steers the period", "[CORE-264][CORE-266][CORE-268][CORE-269]") {
    World w;
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.freq = 1;
    a.sample_freq = 1000;
    const int fd = w.must_open(a);
    HwPerfEvent& hw = w.event(fd).hw;
    w.k.record_notices = true;
    // 2 instructions a ns: 1000 samples a second are a period of 2,000,000.
    const auto run = [&](unsigned ticks) {
        for (unsigned t = 0; t < ticks; ++t) {
            for (int i = 0; i < 400; ++i) {
                w.k.advance(10'000);
                w.k.count(0, kInstructions, 20'000);
            }
            w.k.tick(0);
        }
    };
    run(100);
    CHECK(hw.sample_period > 1'900'000);
    CHECK(hw.sample_period < 2'100'000);
    w.k.notices.clear();
    run(250);
    CHECK(overflows(w) > 900);
    CHECK(overflows(w) < 1100);
}

TEST_CASE("the low pass of the period", "[CORE-266][CORE-267]") {
    World w;
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.freq = 1;
    a.sample_freq = 1000;
    PerfEvent& e = w.event(w.must_open(a));
    e.hw.sample_period = 1000;
    w.p().perf_adjust_period(e, 1'000'000, 1080, false); // estimate 1080
    CHECK(e.hw.sample_period == 1000 + (80 + 7) / 8);
    e.hw.sample_period = 1000;
    w.p().perf_adjust_period(e, 1'000'000, 920, false);
    CHECK(e.hw.sample_period == 1000 - (80 + 7) / 8);
    e.hw.sample_period = 1;
    w.p().perf_adjust_period(e, 1'000'000'000, 1, false); // estimate 0
    CHECK(e.hw.sample_period == 1);
    e.hw.period_left = 9000;
    e.hw.sample_period = 1000;
    w.p().perf_adjust_period(e, 1'000'000, 1000, false);
    CHECK(e.hw.period_left == 0);
}

TEST_CASE("sysctls of the sampling rate", "[CORE-274][CORE-275][CORE-276][CORE-280]") {
    World w;
    const auto store = [&w](const char* name, const char* text) {
        return w.k.attributes.at(std::string("/proc/sys/kernel/") + name).store(text);
    };
    CHECK(limit(w) == "100000\n");
    CHECK(w.p().max_samples_per_tick == 400);
    CHECK(w.p().perf_sample_allowed_ns == 2500);
    CHECK(w.attribute("/proc/sys/kernel/perf_event_mlock_kb") == "516\n");
    CHECK(store("perf_event_max_sample_rate", "0\n") == -EINVAL);
    CHECK(store("perf_event_max_sample_rate", "1001\n") == 5);
    CHECK(w.p().max_samples_per_tick == 5);
    CHECK(store("perf_cpu_time_max_percent", "101\n") == -EINVAL);
    CHECK(store("perf_cpu_time_max_percent", "0\n") == 2);
    CHECK(w.p().perf_sample_allowed_ns == 0);
    CHECK(store("perf_event_max_sample_rate", "2000\n") == -EINVAL);
    CHECK(limit(w) == "1001\n");
    CHECK(store("perf_event_paranoid", "-1\n") == 3);
    CHECK(w.attribute("/proc/sys/kernel/perf_event_paranoid") == "-1\n");
    CHECK(store("perf_event_paranoid", "x\n") == -EINVAL);
}

TEST_CASE("handlers that take too long lower the rate", "[CORE-277][CORE-278]") {
    World w;
    for (int i = 0; i < 2000; ++i) w.perf.perf_sample_event_took(2000);
    CHECK(limit(w) == "100000\n");
    unsigned n = 0;
    while (limit(w) == "100000\n" && ++n < 2000) w.perf.perf_sample_event_took(20'000);
    CHECK(n < 200);
    // 25 % of a tick of 4 ms at a quarter more than the average.
    const std::uint64_t allowed = w.p().perf_sample_allowed_ns;
    CHECK(allowed > 2500);
    CHECK(w.p().max_samples_per_tick == static_cast<int>(1'000'000 / allowed));
    CHECK(limit(w) == std::to_string(w.p().max_samples_per_tick * 250) + "\n");
    REQUIRE(w.k.log.size() >= 2);
    CHECK(w.k.log.back().find("perf: interrupt took too long (") == 0);
}

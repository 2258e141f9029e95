// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/trace/trace_events.h"
#include "sim/soc/truth_names.h"
#include "sim/soc/truth_observer.h"

#include <linux/hw_breakpoint.h>
#include <catch2/catch.hpp>

using namespace rkperf;
using namespace rkperf::soc;

namespace {

TruthRow row(std::string label, std::uint64_t count, std::uint64_t truth, std::uint64_t enabled = 1000,
             std::uint64_t running = 1000) {
    TruthRow r;
    r.label = std::move(label);
    r.hardware = true;
    r.count = count;
    r.truth = truth;
    r.enabled = enabled;
    r.running = running;
    return r;
}

std::string label(std::uint32_t type, std::uint64_t config, bool no_user = false, bool no_kernel = false) {
    ke::PerfEvent e;
    e.orig_type = e.attr.type = type;
    e.attr.config = config;
    e.attr.exclude_user = no_user;
    e.attr.exclude_kernel = no_kernel;
    return event_label(e);
}

} // namespace

TEST_CASE("the table shows errors relative to the truth, and says when there is none") {
    const std::string t = print_truth({row("exactly", 1'234'567, 1'234'567), row("low", 99'000, 100'000),
                                       row("high", 1'000'001, 1'000'000), row("half", 50, 50, 1000, 500)});
    CHECK_THAT(t, Catch::Contains("1,234,567") && Catch::Contains("exact\n"));
    CHECK_THAT(t, Catch::Contains("-1.000%"));
    CHECK_THAT(t, Catch::Contains("+1\n")); // too small for a percentage: the difference itself
    CHECK_THAT(t, Catch::Contains("50.0%") && Catch::Contains("+100.000%"));
}

TEST_CASE("events that were never enabled, and dummies, are left out") {
    CHECK(print_truth({}).empty());
    CHECK(print_truth({row("never", 0, 0, 0, 0), row("dummy:u", 0, 0)}).empty());
}

TEST_CASE("a recording is compared by the sum of its periods") {
    TruthRow r = row("cycles", 1'000'000, 1'000'500);
    r.samples = true;
    r.written = 90;
    r.lost = 10;
    r.period_sum = 900'000;
    r.throttled = 2;
    const std::string t = print_truth({r});
    CHECK_THAT(t, Catch::Contains("sum of periods") && Catch::Contains("900,000") && Catch::Contains("-10.045%"));
    CHECK_THAT(t, Catch::Contains("throttled 2 times"));
}

TEST_CASE("software events have no truth but their count") {
    TruthRow r = row("page-faults", 17, 0);
    r.hardware = false;
    CHECK_THAT(print_truth({r}),
               Catch::Contains("page-faults") && !Catch::Contains("%") && !Catch::Contains("exact\n"));
}

TEST_CASE("counts are scaled as perf does it") {
    CHECK(row("a", 100, 0, 1000, 500).scaled() == 200);
    CHECK(row("a", 100, 0, 1000, 1000).scaled() == 100);
    CHECK(row("a", 0, 0, 1000, 0).scaled() == 0);
    CHECK(row("a", 1, 0, 3, 2).scaled() == 2); // 1.5 rounds up
}

TEST_CASE("events are called what perf calls them") {
    CHECK(label(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) == "cycles");
    CHECK(label(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false, true) == "instructions:u");
    CHECK(label(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, true) == "branch-misses:k");
    CHECK(label(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK) == "task-clock");
    CHECK(label(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_RESULT_MISS << 16) ==
          "L1-dcache-load-misses");
    CHECK(label(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_DTLB) == "dTLB-loads");
    CHECK(label(PERF_TYPE_RAW, 0x1b) == "r1b INST_SPEC");
    CHECK(label(PERF_TYPE_RAW, 0xfff0) == "rfff0");
    CHECK(pmu_event_name(0x11) == "CPU_CYCLES");
    CHECK(pmu_event_name(0xfff).empty());
}

TEST_CASE("breakpoints and tracepoints have the names that perf gives them") {
    ke::PerfEvent e;
    e.orig_type = e.attr.type = PERF_TYPE_BREAKPOINT;
    e.attr.bp_addr = 0x4008e0;
    e.attr.bp_type = HW_BREAKPOINT_X;
    e.attr.bp_len = sizeof(long);
    CHECK(event_label(e) == "mem:0x4008e0:x");
    e.attr.bp_type = HW_BREAKPOINT_RW;
    e.attr.bp_len = HW_BREAKPOINT_LEN_4;
    CHECK(event_label(e) == "mem:0x4008e0:rw");
    e.attr.bp_len = HW_BREAKPOINT_LEN_1;
    e.attr.exclude_kernel = true;
    CHECK(event_label(e) == "mem:0x4008e0/1:rw:u");

    ke::TraceEventCall call;
    call.system = "sched";
    call.name = "sched_switch";
    ke::PerfEvent t;
    t.orig_type = t.attr.type = PERF_TYPE_TRACEPOINT;
    t.tp_event = &call;
    CHECK(event_label(t) == "sched:sched_switch");
}

TEST_CASE("an event that was reset says so") {
    TruthRow r = row("cycles", 1000, 1000);
    CHECK_THAT(print_truth({r}), !Catch::Contains("reset"));
    r.resets = 3;
    CHECK_THAT(print_truth({r}), Catch::Contains("cycles was reset 3 times"));
}

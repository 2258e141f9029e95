// SPDX-License-Identifier: Apache-2.0
// Figures of CFS: those that Linux 6.1 shows in /sys/kernel/debug/sched and sched(7).
#include "sim/os/sched/run_queue.h"

#include <catch2/catch.hpp>

using namespace rkperf::os;

TEST_CASE("the fair class's periods grow with the logarithm of the CPUs, at most fourfold") {
    const struct { unsigned cpus, factor; } cases[] = {{1, 1}, {2, 2}, {3, 2}, {4, 3}, {7, 3}, {8, 4}, {64, 4}};
    for (const auto& c : cases) {
        CAPTURE(c.cpus);
        const auto t = fair::tunables(c.cpus);
        CHECK(t.latency_ns == c.factor * 6'000'000);
        CHECK(t.min_granularity_ns == c.factor * 750'000);
        CHECK(t.wakeup_granularity_ns == c.factor * 1'000'000);
    }
}

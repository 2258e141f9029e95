// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/execution_mode.h"

#include <catch2/catch.hpp>

using namespace rkperf::cpu;

TEST_CASE("everything is timed unless said otherwise") {
    ExecutionMode m;
    CHECK(m.timed());
    CHECK(m.warm_up_left() == ExecutionMode::kNoEnd);
    m.marker(kRegionEnd);
    CHECK(m.timed());
}

TEST_CASE("a warm-up ends after its instructions, whoever executes them") {
    ExecutionMode m(TimingPolicy::full, 100);
    CHECK_FALSE(m.timed());
    m.executed(60);
    CHECK(m.warm_up_left() == 40);
    m.executed(39);
    CHECK_FALSE(m.timed());
    m.executed(5);
    CHECK(m.timed());
    CHECK(m.warm_up_left() == ExecutionMode::kNoEnd);
}

TEST_CASE("regions are timed between their marks, after the warm-up") {
    ExecutionMode m(TimingPolicy::regions, 10);
    m.marker(kRegionBegin);
    CHECK_FALSE(m.timed());
    m.executed(10);
    CHECK(m.timed());
    m.marker(7); // another hint
    CHECK(m.timed());
    m.marker(kRegionEnd);
    CHECK_FALSE(m.timed());
}

TEST_CASE("without timing marks mean nothing") {
    ExecutionMode m(TimingPolicy::none);
    m.marker(kRegionBegin);
    CHECK_FALSE(m.timed());
}

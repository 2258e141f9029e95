// SPDX-License-Identifier: Apache-2.0
// Misses of the L1D under way: how many, what they share, and the port of the L2.
#include "tests/models/memory/fake_dsu.h"

#include <catch2/catch.hpp>

using namespace rkperf;
using namespace rkperf::mem;
using namespace rkperf::mem::test;
namespace ev = rkperf::pmu_event;
using State = CacheLine::State;

namespace {

TEST_CASE("misses in flight are bounded, and requests to the same line share one", "[memory][mshr]") {
    CachesFixture f(plain_a55());
    const std::uint64_t lone = f.params.to_dsu + f.dsu.latency;
    std::vector<std::uint64_t> ready;
    for (unsigned i = 0; i < 4; ++i)
        ready.push_back(f.caches.access(PhysAddr(i * 64), Access::load, 1000, nullptr, 8).ready);
    CHECK(ready[0] == 1000 + lone);
    CHECK(ready[2] < 1000 + lone + 3 * f.params.l2_line_interval);
    CHECK(ready[3] >= ready[0] + lone); // the fourth waits for a slot
    const Timing merged = f.caches.access(PhysAddr(8), Access::load, 1010, nullptr, 8);
    CHECK(merged.ready == ready[0]);
    CHECK(merged.level == Level::dram);
    CHECK(f.total(ev::L1D_CACHE_REFILL) == 4);
    CHECK(f.total(ev::L1D_CACHE) == 5);
}

TEST_CASE("a line that comes into the L2 takes its port as one that leaves it does", "[memory][mshr]") {
    for (const bool inclusive : {true, false}) {
        CachesFixture f(inclusive ? plain_a76() : plain_a55());
        // Given two lines in the L2 that have left the L1D
        const std::uint64_t way = l1d_way(f.params), at = 7'000'000; // both cores' ports begin an interval then
        for (unsigned i = 0; i < f.params.l1d.ways + 3; ++i) f.go(i * way);
        REQUIRE(f.l2(0) != State::invalid);
        REQUIRE(f.l2(way) != State::invalid);
        const auto port = [&](unsigned slots) { return (slots * f.params.l2_line_interval + 3) / 4; };
        // When one is loaded together with the other, it waits for that one; behind a line that the L2 has to fetch and
        // keep, for two.
        f.caches.access(PhysAddr(0), Access::load, at, nullptr, 8);
        const Timing behind_hit = f.caches.access(PhysAddr(way), Access::load, at, nullptr, 8);
        CHECK(behind_hit.ready == at + port(1) + f.params.l2_hit);
        for (unsigned i = 0; i < f.params.l1d.ways + 3; ++i) f.go(i * way);
        f.caches.access(PhysAddr(64 * way), Access::load, 2 * at, nullptr, 8);
        const Timing behind_miss = f.caches.access(PhysAddr(way), Access::load, 2 * at, nullptr, 8);
        CHECK(behind_miss.ready == 2 * at + port(inclusive ? 2 : 1) + f.params.l2_hit);
    }
}

TEST_CASE("misses that leave their places in order hold those behind a slow one", "[memory][mshr]") {
    for (const bool in_order : {false, true}) {
        CoreMemoryParams p = plain_a55();
        p.mshrs_in_order = in_order;
        CachesFixture f(p);
        const auto load = [&](std::uint64_t pa, Level from, std::uint64_t latency) {
            f.dsu.level = from;
            f.dsu.latency = latency;
            return f.caches.access(PhysAddr(pa), Access::load, 1000, nullptr, 8).ready;
        };
        const std::uint64_t slow = load(0, Level::dram, 500);
        const std::uint64_t fast = load(64, Level::l3, 30);
        CHECK(fast < 1100); // the data do not wait
        load(128, Level::l3, 30);
        const std::uint64_t fourth = load(192, Level::l3, 30);
        CHECK((fourth > slow) == in_order);
    }
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
// What holds of one core's caches at any time.
#pragma once

#include "tests/models/memory/fake_dsu.h"

#include <catch2/catch.hpp>

namespace rkperf::mem::test {

namespace ev = pmu_event;
using State = CacheLine::State;

/// What must hold between the levels and the directory at any time.
inline void check_invariants(CachesFixture& f) {
    std::set<std::uint64_t> held;
    for (const CacheLine& l : f.caches.l1d().lines()) {
        if (l.state == State::invalid) continue;
        held.insert(l.pline);
        const CacheLine* l2 = f.caches.l2().find(l.pline);
        REQUIRE((l2 != nullptr) == f.params.l2_inclusive_of_l1d);
        // One level cannot own what the other one shares.
        if (l2) REQUIRE((l.state == State::shared) == (l2->state == State::shared));
    }
    for (const CacheLine& l : f.caches.l2().lines()) {
        if (l.state != State::invalid) held.insert(l.pline);
    }
    REQUIRE(held == f.dsu.held);
}

/// Identities between the events, whatever was executed.
inline void check_identities(const CachesFixture& f) {
    const auto n = [&](EventNumber e) { return f.total(e); };
    CHECK(n(ev::L1D_CACHE) == n(ev::L1D_CACHE_RD) + n(ev::L1D_CACHE_WR));
    CHECK(n(ev::L1D_CACHE_REFILL) == n(ev::L1D_CACHE_REFILL_RD) + n(ev::L1D_CACHE_REFILL_WR));
    CHECK(n(ev::L1D_CACHE_REFILL) == n(ev::L1D_CACHE_REFILL_INNER) + n(ev::L1D_CACHE_REFILL_OUTER));
    CHECK(n(ev::L1D_CACHE_REFILL) <= n(ev::L1D_CACHE));
    CHECK(n(ev::L1D_CACHE_REFILL_RD) <= n(ev::L1D_CACHE_RD));
    CHECK(n(ev::L1D_CACHE_REFILL_WR) <= n(ev::L1D_CACHE_WR));
    CHECK(n(ev::L1D_CACHE_WB) == n(ev::L1D_CACHE_WB_VICTIM) + n(ev::L1D_CACHE_WB_CLEAN));
    CHECK(n(ev::L1I_CACHE_REFILL) <= n(ev::L1I_CACHE));
    CHECK(n(ev::L2D_CACHE) == n(ev::L2D_CACHE_RD) + n(ev::L2D_CACHE_WR));
    CHECK(n(ev::L2D_CACHE_REFILL) == n(ev::L2D_CACHE_REFILL_RD) + n(ev::L2D_CACHE_REFILL_WR));
    CHECK(n(ev::L2D_CACHE_REFILL) <= n(ev::L2D_CACHE));
    CHECK(n(ev::L2D_CACHE_WB) == n(ev::L2D_CACHE_WB_VICTIM) + n(ev::L2D_CACHE_WB_CLEAN));
    CHECK(n(ev::L3D_CACHE_RD) == n(ev::LL_CACHE_RD));
    CHECK(n(ev::L3D_CACHE_REFILL) == n(ev::LL_CACHE_MISS_RD));
    CHECK(n(ev::L3D_CACHE_REFILL) == n(ev::L3D_CACHE_REFILL_RD));
    CHECK(n(ev::L3D_CACHE_REFILL) <= n(ev::L3D_CACHE_RD));
    CHECK(n(ev::BUS_ACCESS) == n(ev::BUS_ACCESS_RD) + n(ev::BUS_ACCESS_WR));
    CHECK(n(ev::BUS_ACCESS_RD) == n(ev::L3D_CACHE_RD) * (64 / f.params.bus_read_beat));
    for (EventNumber zero : {ev::L1D_CACHE_ALLOCATE, ev::REMOTE_ACCESS, ev::REMOTE_ACCESS_RD,
                             ev::L2D_CACHE_REFILL_PREFETCH, ev::L2D_CACHE_REFILL_WR}) {
        CHECK(n(zero) == 0);
    }
}

} // namespace rkperf::mem::test

// SPDX-License-Identifier: Apache-2.0
// Stores of whole lines, which go past the caches of one core.
#include "tests/models/memory/caches_checks.h"

using namespace rkperf;
using namespace rkperf::mem;
using namespace rkperf::mem::test;

TEST_CASE("whole-line stores stop allocating level by level", "[memory][stream]") {
    CoreMemoryParams p = without_prefetch(cortex_a55_memory());
    p.write_stream = {.l1_lines = 4, .l2_lines = 8, .l3_lines = 12, .buffers = 4};
    CachesFixture f(p);
    for (unsigned i = 0; i < 20; ++i) {
        for (unsigned o = 0; o < 64; o += 16) f.go(0x10'0000 + i * 64 + o, Access::store, 16);
    }
    CHECK(f.dsu.count(DsuKind::read_unique) == 4);         // allocated before the stream was recognised
    CHECK(f.dsu.count(DsuKind::make_unique) == 4);         // to the L2
    CHECK(f.dsu.count(DsuKind::write_stream) == 4);        // to the L3
    CHECK(f.dsu.count(DsuKind::write_stream_memory) == 8); // past it
    CHECK(f.total(ev::L1D_CACHE_WR) == 80);
    CHECK(f.total(ev::L1D_CACHE_REFILL_WR) == 4);
    CHECK(f.total(ev::L1D_WS_MODE_ENTRY) == 1);
    CHECK(f.total(ev::L2D_CACHE_ALLOCATE) == 4);
    CHECK(f.total(ev::L3D_CACHE_ALLOCATE) == 4);
    CHECK(f.total(ev::L1D_WS_MODE) >= f.total(ev::L2D_WS_MODE));
    CHECK(f.total(ev::L2D_WS_MODE) >= f.total(ev::L3D_WS_MODE));
    CHECK(f.total(ev::L3D_WS_MODE) > 0);
    CHECK(f.l1d(0x10'0000 + 3 * 64) == State::modified);
    CHECK(f.l1d(0x10'0000 + 4 * 64) == State::invalid);
    CHECK(f.l2(0x10'0000 + 4 * 64) == State::modified);
    CHECK(f.l2(0x10'0000 + 8 * 64) == State::invalid);
    check_identities(f);

    // A line left incomplete ends it: that line and the next are allocated.
    f.go(0x20'0000, Access::store, 16);
    f.go(0x30'0000, Access::store, 16);
    CHECK(f.l1d(0x20'0000) == State::modified);
    CHECK(f.l1d(0x30'0000) == State::modified);
    CHECK(f.total(ev::L1D_CACHE_REFILL_WR) == 6);
    f.go(0x40'0000, Access::store, 16);
    CHECK(f.l1d(0x40'0000) == State::modified);
}

TEST_CASE("hits in the L1D between two lines end the A76's write streaming", "[memory][stream]") {
    for (const unsigned hits : {200u, 300u}) {
        CachesFixture f(without_prefetch(cortex_a76_memory()));
        const auto line = [&](std::uint64_t n) {
            for (unsigned o = 0; o < 64; o += 16) f.go(0x10'0000 + n * 64 + o, Access::store, 16);
        };
        for (unsigned i = 0; i < 8; ++i) line(i);
        CHECK(f.l1d(0x10'0000 + 7 * 64) == State::invalid);
        f.clock += hits; // as a64::MemPort counts them
        line(8);
        CHECK((f.l1d(0x10'0000 + 8 * 64) == State::modified) == (hits == 300));
        check_invariants(f);
    }
}

TEST_CASE("storing a line again that was whole ends write streaming, and it is allocated", "[memory][stream]") {
    CachesFixture f(without_prefetch(cortex_a76_memory()));
    const std::uint64_t last = 0x10'0000 + 7 * 64;
    for (unsigned i = 0; i < 8; ++i)
        for (unsigned o = 0; o < 64; o += 16) f.go(0x10'0000 + i * 64 + o, Access::store, 16);
    REQUIRE(f.l1d(last) == State::invalid);
    const auto written = f.total(ev::L2D_CACHE_WR);
    for (unsigned n = 0; n < 5; ++n)
        for (unsigned o = 0; o < 64; o += 16) f.go(last + o, Access::store, 16);
    CHECK(f.l1d(last) == State::modified);
    CHECK(f.total(ev::L2D_CACHE_WR) == written);
    check_identities(f);
    check_invariants(f);
}

TEST_CASE("stores that do not fill their lines never stream", "[memory][stream]") {
    CachesFixture f(without_prefetch(cortex_a76_memory()));
    for (unsigned i = 0; i < 200; ++i) {
        for (unsigned o = 0; o < 56; o += 8) f.go(0x10'0000 + i * 64 + o, Access::store, 8);
    }
    CHECK(f.total(ev::L1D_WS_MODE_ENTRY) == 0);
    CHECK(f.total(ev::L1D_CACHE_REFILL_WR) == 200);
}

TEST_CASE("a load of a line being gathered gets it, and ends the stream", "[memory][stream]") {
    CoreMemoryParams p = without_prefetch(cortex_a55_memory());
    p.write_stream.l1_lines = 2;
    CachesFixture f(p);
    for (unsigned i = 0; i < 4; ++i) {
        for (unsigned o = 0; o < 64; o += 32) f.go(i * 64 + o, Access::store, 32);
    }
    f.go(4 * 64, Access::store, 32);
    CHECK(f.l1d(4 * 64) == State::invalid);
    CacheLine* line = nullptr;
    f.go(4 * 64, Access::load, 8, &line);
    REQUIRE(line);
    CHECK(line->state == State::modified);
    f.go(5 * 64, Access::store, 32);
    CHECK(f.l1d(5 * 64) == State::modified);
}

TEST_CASE("a line that is written again and again becomes an ordinary one", "[memory][stream]") {
    CoreMemoryParams p = without_prefetch(cortex_a55_memory());
    p.write_stream.l1_lines = 2;
    CachesFixture f(p);
    CacheLine* line = nullptr;
    f.go(0, Access::store, 8, &line);
    CHECK(line == nullptr);
    f.go(0, Access::store, 8, &line);
    CHECK(line != nullptr); // may go to the core's fast path now
    for (unsigned i = 1; i < 4; ++i) {
        for (unsigned o = 0; o < 64; o += 32) f.go(i * 64 + o, Access::store, 32);
    }
    f.go(4 * 64, Access::store, 8, &line);
    CHECK(line == nullptr);
    CHECK(f.l1d(4 * 64) == State::invalid);
    f.go(4 * 64, Access::store, 8, &line);
    REQUIRE(line);
    CHECK(line->state == State::modified);
}

TEST_CASE("a barrier lets gathered stores out", "[memory][stream]") {
    CoreMemoryParams p = without_prefetch(cortex_a55_memory());
    p.write_stream.l1_lines = 1;
    CachesFixture f(p);
    for (unsigned o = 0; o < 64; o += 32) f.go(o, Access::store, 32);
    for (unsigned o = 0; o < 64; o += 32) f.go(64 + o, Access::store, 32);
    f.go(128, Access::store, 32);
    CHECK(f.caches.drain(f.cycle) > f.cycle); // the line before is still on its way
    CHECK(f.l1d(128) == State::modified);
}

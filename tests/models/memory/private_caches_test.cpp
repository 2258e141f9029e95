// SPDX-License-Identifier: Apache-2.0
// L1I, L1D and L2 of one core. Event meanings: Arm's PMU event lists of the Cortex-A55 and Cortex-A76.
#include "tests/models/memory/caches_checks.h"

#include <random>

using namespace rkperf;
using namespace rkperf::mem;
using namespace rkperf::mem::test;

TEST_CASE("a load brings a line in once and then hits", "[memory][l1d]") {
    for (const auto& p : {plain_a55(), plain_a76()}) {
        CachesFixture f(p);
        CacheLine* line = nullptr;
        const Timing miss = f.go(0x10'0040, Access::load, 8, &line);
        CHECK(miss.level == Level::dram);
        CHECK(miss.ready == 1000 + p.to_dsu + f.dsu.latency);
        REQUIRE(line);
        CHECK(line->state == State::exclusive);
        const Timing hit = f.go(0x10'0078);
        CHECK(hit.level == Level::l1);
        CHECK(hit.ready == f.cycle);
        CHECK(f.total(ev::L1D_CACHE) == 2);
        CHECK(f.total(ev::L1D_CACHE_RD) == 2);
        CHECK(f.total(ev::L1D_CACHE_REFILL_RD) == 1);
        CHECK(f.total(ev::L1D_CACHE_REFILL_OUTER) == 1);
        CHECK(f.total(ev::L2D_CACHE_REFILL_RD) == 1);
        CHECK(f.total(ev::L3D_CACHE_REFILL) == 1);
        CHECK(f.total(ev::BUS_ACCESS_RD) == 64 / p.bus_read_beat);
        check_identities(f);
        check_invariants(f);
    }
}

TEST_CASE("the L1D replaces the least recently used way, fast-path uses included", "[memory][l1d][lru]") {
    CachesFixture f(plain_a76());
    const std::uint64_t way = l1d_way(f.params);
    CacheLine* first = nullptr;
    f.go(0, Access::load, 8, &first);
    for (unsigned i = 1; i < f.params.l1d.ways; ++i) f.go(i * way);
    REQUIRE(first);
    first->stamp = ++f.clock; // what a64::MemPort does on a hit
    f.go(f.params.l1d.ways * way);
    CHECK(f.l1d(0) != State::invalid);
    CHECK(f.l1d(way) == State::invalid);
    REQUIRE(f.listener.l1d.size() == 1);
    CHECK(f.listener.l1d[0] == std::pair<std::uint64_t, bool>(way >> kLineShift, false));
    // The victim is still in the L2.
    const Timing t = f.go(way);
    CHECK(t.level == Level::l2);
    CHECK(t.ready >= 1000 + f.params.l2_hit);
}

TEST_CASE("a dirty victim is written to the L2, then out of it", "[memory][l1d][l2]") {
    for (const auto& p : {plain_a55(), plain_a76()}) {
        CachesFixture f(p);
        f.go(0, Access::store);
        CHECK(f.l1d(0) == State::modified);
        CHECK(f.dsu.count(DsuKind::read_unique) == 1);
        CHECK(f.total(ev::L1D_CACHE_REFILL_WR) == 1);
        // ReadUnique counts as a read at the L2 (Arm's event list).
        CHECK(f.total(ev::L2D_CACHE_REFILL_RD) == 1);
        for (unsigned i = 1; i <= p.l1d.ways; ++i) f.go(i * l1d_way(p));
        CHECK(f.l1d(0) == State::invalid);
        CHECK(f.l2(0) == State::modified);
        CHECK(f.total(ev::L1D_CACHE_WB) == 1);
        CHECK(f.total(ev::L1D_CACHE_WB_VICTIM) == 1);
        CHECK(f.total(ev::L2D_CACHE_WR) == 1);
        CHECK(f.total(ev::L2D_CACHE_ALLOCATE) == 1); // a whole line, whether the L2 had it already or not
        CHECK(f.dsu.count(DsuKind::write_back) == 0);
        const std::uint64_t l2_way = p.l2.bytes / p.l2.ways;
        for (unsigned i = 1; i <= p.l2.ways + p.l1d.ways + 1; ++i) f.go(i * l2_way);
        CHECK(f.l2(0) == State::invalid);
        CHECK(f.dsu.count(DsuKind::write_back) == 1);
        CHECK(f.total(ev::L2D_CACHE_WB_VICTIM) >= 1);
        CHECK(f.total(ev::BUS_ACCESS_WR) == f.total(ev::L2D_CACHE_WB) * (64 / p.bus_write_beat));
        check_identities(f);
        check_invariants(f);
    }
}

TEST_CASE("the A76's L2 takes lines out of the L1D, the A55's does not", "[memory][inclusion]") {
    for (const bool inclusive : {true, false}) {
        const CoreMemoryParams p = inclusive ? plain_a76() : plain_a55();
        CachesFixture f(p);
        const std::uint64_t l2_way = p.l2.bytes / p.l2.ways;
        CacheLine* line = nullptr;
        f.go(0, Access::load, 8, &line);
        for (unsigned i = 1; i <= p.l2.ways; ++i) {
            line->stamp = ++f.clock; // always in use in the L1D, which the L2 does not see
            f.go(i * l2_way);
        }
        CHECK(f.l2(0) == State::invalid);
        CHECK((f.l1d(0) == State::invalid) == inclusive);
        CHECK(f.total(ev::L1D_CACHE_INVAL) == 0); // of maintenance and other cores only (guide of the N1)
        check_invariants(f);
    }
}

TEST_CASE("an exclusive L2 takes clean L1D victims", "[memory][inclusion]") {
    CachesFixture f(plain_a55());
    const CoreMemoryParams& p = f.params;
    const std::uint64_t l2_way = p.l2.bytes / p.l2.ways;
    CacheLine* line = nullptr;
    f.go(0, Access::load, 8, &line);
    for (unsigned i = 1; i <= p.l2.ways; ++i) {
        line->stamp = ++f.clock;
        f.go(i * l2_way);
    }
    REQUIRE(f.l2(0) == State::invalid);
    const std::uint64_t writes = f.total(ev::L2D_CACHE_WR);
    for (unsigned i = 1; i <= p.l1d.ways; ++i) f.go(i * l1d_way(p) + 0x40'0000);
    CHECK(f.l1d(0) == State::invalid);
    CHECK(f.l2(0) == State::exclusive);
    CHECK(f.total(ev::L2D_CACHE_ALLOCATE) >= 1);
    CHECK(f.total(ev::L2D_CACHE_WR) > writes);
    CHECK(f.total(ev::L1D_CACHE_WB) == 0);
    check_invariants(f);
}

TEST_CASE("a line goes back and forth between the L1D and an exclusive L2, dirty or not", "[memory][inclusion]") {
    CachesFixture f(plain_a55());
    const CoreMemoryParams& p = f.params;
    f.go(0, Access::store);
    CHECK(f.l2(0) == State::invalid); // not when it was fetched
    for (unsigned i = 1; i <= p.l1d.ways; ++i) f.go(i * l1d_way(p));
    CHECK(f.l2(0) == State::modified);
    CHECK(f.go(0).level == Level::l2);
    CHECK(f.l1d(0) == State::modified);
    CHECK(f.l2(0) == State::invalid);
    CHECK(f.l2(l1d_way(p)) == State::exclusive); // gave way to it
    CHECK(f.dsu.count(DsuKind::write_back) == 0);
    // 160 KiB are held at once.
    for (unsigned turn = 0; turn < 2; ++turn)
        for (std::uint64_t at = 0; at < p.l1d.bytes + p.l2.bytes; at += 64) f.go(0x10'0000 + at);
    const std::uint64_t fetched = f.total(ev::L3D_CACHE_RD);
    for (std::uint64_t at = 0; at < p.l1d.bytes + p.l2.bytes; at += 64) f.go(0x10'0000 + at);
    CHECK(f.total(ev::L3D_CACHE_RD) == fetched);
    check_invariants(f);
}

TEST_CASE("the L1D is indexed by virtual addresses", "[memory][l1d][index]") {
    for (const auto& p : {plain_a55(), plain_a76()}) {
        CachesFixture f(p);
        const std::uint64_t pages = l1d_way(p) / kPageSize, way = p.l1d.ways;
        // Pages whose physical addresses would all meet in one set lie in all of them.
        const auto page = [&](std::uint64_t i) { return 0x200 + i * pages; };
        for (std::uint64_t i = 0; i < way * pages; ++i) {
            f.caches.set_page(i, page(i), f.cycle);
            f.go(page(i) << kPageShift);
        }
        for (std::uint64_t i = 0; i < way * pages; ++i) CHECK(f.l1d(page(i) << kPageShift) != State::invalid);
        // By another virtual address the page's lines are found where that leads.
        f.go(page(0) << kPageShift, Access::store);
        f.listener.l1d.clear();
        f.caches.set_page(1, page(0), f.cycle);
        CHECK(f.listener.l1d[0] == std::pair<std::uint64_t, bool>(page(0) << (kPageShift - kLineShift), false));
        CHECK(f.l1d(page(0) << kPageShift) == State::modified);
        CHECK(f.go(page(0) << kPageShift).level == Level::l1);
        check_invariants(f);
    }
}

TEST_CASE("stores make a line modified: from exclusive silently, from shared by an upgrade", "[memory][mesi]") {
    CachesFixture f(plain_a76());
    f.go(0);
    CHECK(f.l1d(0) == State::exclusive);
    f.go(0, Access::store);
    CHECK(f.l1d(0) == State::modified);
    CHECK(f.dsu.asked.size() == 1);

    f.dsu.grant = State::shared;
    f.dsu.level = Level::l3;
    f.go(64);
    CHECK(f.l1d(64) == State::shared);
    CHECK(f.l2(64) == State::shared);
    const std::uint64_t refills = f.total(ev::L1D_CACHE_REFILL);
    const Timing t = f.go(64, Access::store);
    CHECK(t.level == Level::l3);
    CHECK(f.l1d(64) == State::modified);
    CHECK(f.dsu.asked.back().kind == DsuKind::upgrade);
    CHECK(f.total(ev::L1D_CACHE_REFILL) == refills); // no data was needed
    check_identities(f);
    check_invariants(f);
}

TEST_CASE("a store to a shared line that is still on its way waits for what comes later, and counts as that",
          "[memory][mesi]") {
    CachesFixture f(plain_a76());
    f.dsu.grant = State::shared;
    f.dsu.latency = 1000;
    f.go(0, Access::prefetch_l2);
    REQUIRE(f.l2(0) == State::shared);
    f.dsu.level = Level::l3;
    SECTION("the line") {
        f.dsu.latency = 50;
        CHECK(f.go(0, Access::store).level == Level::dram);
        CHECK(f.total(ev::L1D_CACHE_REFILL_OUTER) == 1);
    }
    SECTION("or the right to write it") {
        f.dsu.latency = 2000;
        CHECK(f.go(0, Access::store).level == Level::l3);
        CHECK(f.total(ev::L1D_CACHE_REFILL_INNER) == 1);
    }
}

TEST_CASE("fetches use the L1I and the L2", "[memory][l1i]") {
    CachesFixture f(plain_a55());
    CHECK(f.go(0x1000, Access::fetch).level == Level::dram);
    CHECK(f.go(0x1000, Access::fetch).level == Level::l1);
    CHECK(f.total(ev::L1I_CACHE) == 2);
    CHECK(f.total(ev::L1I_CACHE_REFILL) == 1);
    CHECK(f.total(ev::L1D_CACHE) == 0);
    CHECK(f.total(ev::L2D_CACHE_RD) == 1);
    CHECK(f.go(0x1000, Access::load).level == Level::l2);
    f.caches.invalidate_icache_line(0x1000 >> 6);
    CHECK(f.listener.l1i == std::vector<std::uint64_t>{0x1000 >> 6});
    CHECK(f.go(0x1000, Access::fetch).level == Level::l2);
    f.caches.invalidate_icache();
    CHECK(f.listener.l1i.back() == ~0ull);
    CHECK(f.go(0x1000, Access::fetch).level == Level::l2);
    check_identities(f);
}

TEST_CASE("the L1I is indexed by virtual addresses", "[memory][l1i][index]") {
    for (const auto& p : {plain_a55(), plain_a76()}) {
        CachesFixture f(p);
        const std::uint64_t pages = p.l1i.bytes / p.l1i.ways / kPageSize, ways = p.l1i.ways;
        // Pages whose physical addresses would all meet in one set lie in all of them.
        const auto page = [&](std::uint64_t i) { return 0x200 + i * pages; };
        for (std::uint64_t i = 0; i < ways * pages; ++i) {
            f.caches.set_code_page(i, page(i));
            f.go(page(i) << kPageShift, Access::fetch);
        }
        for (std::uint64_t i = 0; i < ways * pages; ++i)
            CHECK(f.go(page(i) << kPageShift, Access::fetch).level == Level::l1);
        // By another virtual address the page's lines are fetched anew, once.
        f.listener.l1i.clear();
        f.caches.set_code_page(1, page(0));
        CHECK(f.listener.l1i == std::vector<std::uint64_t>{page(0) << (kPageShift - kLineShift)});
        CHECK(f.go(page(0) << kPageShift, Access::fetch).level != Level::l1);
        CHECK(f.go(page(0) << kPageShift, Access::fetch).level == Level::l1);
    }
}

TEST_CASE("a fetch that finds its line still on its way is a refill where a load is", "[memory][l1i][prefetch]") {
    for (const bool late : {false, true}) {
        CoreMemoryParams p = plain_a76();
        p.l1i_next_lines = 1;
        p.late_prefetch_is_refill = late;
        CachesFixture f(p);
        f.go(0x1000, Access::fetch);
        f.go(0x1040, Access::fetch);
        CHECK(f.total(ev::L1I_CACHE_REFILL) == 1u + late);
        f.go(0x1040, Access::fetch);
        CHECK(f.total(ev::L1I_CACHE_REFILL) == 1u + late);
    }
}

TEST_CASE("next lines are prefetched into the L1I within a page", "[memory][l1i][prefetch]") {
    CoreMemoryParams p = plain_a76();
    p.l1i_next_lines = 2;
    CachesFixture f(p);
    f.go(0x1000, Access::fetch);
    f.cycle += 1000;
    CHECK(f.go(0x1040, Access::fetch).level == Level::l1);
    CHECK(f.go(0x1080, Access::fetch).level == Level::l1);
    CHECK(f.total(ev::L1I_CACHE_REFILL) == 1);
    CHECK(f.total(ev::L2D_CACHE_RD) == 5);                             // two lines ahead of the third
    CHECK(f.total(ev::L2D_CACHE_REFILL) == f.total(ev::L3D_CACHE_RD)); // the L1I asks, for itself
    f.cycle += 1000;
    f.go(0x2fc0, Access::fetch);
    CHECK(f.caches.l1i().find(0x3000 >> 6) == nullptr);
}

TEST_CASE("a walk's read looks up the L1D but does not allocate there", "[memory][walk]") {
    CoreMemoryParams p = plain_a76();
    p.walks_skip_l1d = false;
    CachesFixture f(p);
    CHECK(f.go(0x5000, Access::walk).level == Level::dram);
    CHECK(f.l1d(0x5000) == State::invalid);
    CHECK(f.l2(0x5000) == State::exclusive);
    CHECK(f.go(0x5008, Access::walk).level == Level::l2);
    CHECK(f.total(ev::L1D_CACHE_RD) == 2);
    CHECK(f.total(ev::L1D_CACHE_REFILL_RD) == 2);
    f.go(0x5000);
    CHECK(f.go(0x5008, Access::walk).level == Level::l1);
    check_identities(f);
}

TEST_CASE("the A76's walks read tables from the L2, not from the L1D", "[memory][walk]") {
    CachesFixture f(plain_a76());
    CHECK(f.go(0x5000, Access::walk).level == Level::dram);
    CHECK(f.l2(0x5000) == State::exclusive);
    f.go(0x5000);
    CHECK(f.go(0x5008, Access::walk).level == Level::l2);
    CHECK(f.total(ev::L1D_CACHE) == 1);
    CHECK(f.total(ev::L1D_CACHE_REFILL) == 1);
    CHECK(f.total(ev::L2D_CACHE_RD) == 3);
    CHECK(f.total(ev::L2D_CACHE_REFILL) == 1);
    check_identities(f);
}

TEST_CASE("a load that waits for a line prefetched for it counts as a refill on the A76", "[memory][prefetch]") {
    for (const auto& params : {cortex_a55_memory(), cortex_a76_memory()}) {
        CachesFixture f(without_streaming(params));
        const auto line = [](unsigned i) { return PhysAddr(0x10'0000 + std::uint64_t{i} * 64); };
        unsigned i = 0;
        while (f.total(ev::L1D_CACHE_REFILL_PREFETCH) == 0) {
            f.cycle += 1000;
            f.go(line(i++).v);
        }
        const std::uint64_t refills = f.total(ev::L1D_CACHE_REFILL_RD), lookups = f.total(ev::L2D_CACHE_RD);
        REQUIRE(f.l1d(line(i).v) != State::invalid); // on its way
        const std::uint64_t late = params.late_prefetch_is_refill;
        CHECK(f.caches.access(line(i), Access::load, f.cycle, nullptr, 8).ready > f.cycle);
        CHECK(f.total(ev::L1D_CACHE_REFILL_RD) == refills + late);
        CHECK(f.total(ev::L1D_CACHE_REFILL_OUTER) == refills + late);
        f.caches.access(line(i), Access::load, f.cycle, nullptr, 8); // once a line
        CHECK(f.total(ev::L1D_CACHE_REFILL_RD) == refills + late);
        f.cycle += 10'000;
        f.go(line(i + 1).v); // in time
        CHECK(f.total(ev::L1D_CACHE_REFILL_RD) == refills + late);
        CHECK(f.total(ev::L2D_CACHE_RD) > lookups); // by prefetches
        check_identities(f);
    }
}

TEST_CASE("DC ZVA of a line on its way needs no data and is no refill", "[memory][prefetch][zva]") {
    CachesFixture f(without_streaming(cortex_a76_memory()));
    std::uint64_t at = 0x10'0000;
    for (; f.total(ev::L1D_CACHE_REFILL_PREFETCH) == 0; at += 64) {
        f.cycle += 1000;
        f.go(at);
    }
    REQUIRE(f.l1d(at) != State::invalid);
    f.caches.access(PhysAddr(at), Access::zero_line, f.cycle, nullptr, 64);
    CHECK(f.total(ev::L1D_CACHE_WR) == 1);
    CHECK(f.total(ev::L1D_CACHE_REFILL_WR) == 0);
    CHECK(f.l1d(at) == State::modified);
}

TEST_CASE("lines that the A76 prefetches for stores are looked up once by them", "[memory][prefetch]") {
    CachesFixture f(without_streaming(cortex_a76_memory()));
    constexpr unsigned kSteps = 60; // within a page
    for (unsigned i = 0; i < kSteps; ++i) {
        f.cycle += 1000;
        f.go(0x10'0000 + std::uint64_t{i} * 64, Access::store);
    }
    CHECK(f.total(ev::L2D_CACHE_RD) > kSteps); // by the stores, and ahead of them
    CHECK(f.total(ev::L2D_CACHE_RD) <= 2 * kSteps + 8);
}

TEST_CASE("lines that the A76 prefetches into its L2 look it up, for more than neighbours as well",
          "[memory][prefetch]") {
    CachesFixture f(without_streaming(cortex_a76_memory()));
    struct Same : PageLookup {
        std::uint64_t page_behind(std::uint64_t vpn) override { return vpn; }
    } same;
    f.caches.set_page_lookup(&same);
    const unsigned stride = GENERATE(1u, 7u);
    constexpr unsigned kSteps = 1000;
    for (unsigned i = 0; i < kSteps; ++i) {
        f.cycle += 100;
        const std::uint64_t at = 0x10'0000 + std::uint64_t{i} * stride * 64;
        f.caches.set_page(at >> kPageShift, at >> kPageShift);
        f.go(at);
    }
    // One for the L2's prefetch, one for the L1D's: a board counts 2.1 a step with strides of seven, 0.1 of them for walks.
    // By strides of seven the L1D's are first, and bring the line from outside, with two lines of each page.
    const std::uint64_t first = stride == 1 ? 0 : kSteps * 2 * 7 / 64;
    CHECK(f.total(ev::L2D_CACHE_RD) > 2 * kSteps - first - 20);
    CHECK(f.total(ev::L2D_CACHE_RD) < 2 * kSteps - first + 100);
    CHECK(f.total(ev::L2D_CACHE_REFILL) >= first);
    CHECK(f.total(ev::L2D_CACHE_REFILL) < first + 20);
    CHECK(f.total(ev::L3D_CACHE_RD) < kSteps + 60);
    check_identities(f);
    check_invariants(f);
}

TEST_CASE("software prefetches fill without counting as accesses", "[memory][prefetch]") {
    CachesFixture f(plain_a55());
    CacheLine* line = nullptr;
    const Timing t = f.caches.access(PhysAddr(0x40), Access::prefetch, 1000, &line, 8);
    CHECK(line);
    CHECK(f.total(ev::L1D_CACHE) == 0);
    CHECK(f.total(ev::L1D_CACHE_REFILL) == 0);
    CHECK(f.total(ev::L2D_CACHE_REFILL) == 1); // by a request of the L1D
    CHECK(f.total(ev::L3D_CACHE_RD) == 1);
    // A load meanwhile waits for the same fill.
    CHECK(t.ready == 1000); // nobody else does
    const std::uint64_t arrives = 1000 + f.params.to_dsu + f.dsu.latency;
    CHECK(f.caches.access(PhysAddr(0x48), Access::load, 1010, nullptr, 8).ready == arrives);
    check_identities(f);
}

TEST_CASE("a prefetch instruction waits for a place among the misses", "[memory][prefetch]") {
    for (const auto& params : {cortex_a55_memory(), cortex_a76_memory()}) {
        for (const Access kind : {Access::prefetch, Access::prefetch_l2}) {
            CachesFixture f(without_streaming(without_prefetch(params)));
            const unsigned places =
                kind == Access::prefetch ? f.params.mshrs : std::max(f.params.prefetch.asked_for, 1u);
            const std::uint64_t way = f.params.to_dsu + f.dsu.latency;
            std::uint64_t now = 1000, line = 0;
            const auto next = [&] { return f.caches.access(PhysAddr(64 * ++line), kind, now, nullptr, 8).ready; };
            for (unsigned n = 0; n < places; ++n) CHECK(next() == now);
            CHECK(next() >= now + way);
            // When each waits for its place, what is behind them has no more before it than they have places.
            for (unsigned n = 0; n < 500; ++n) now = next();
            const std::uint64_t ready = f.caches.access(PhysAddr(64 * 1000), Access::load, now, nullptr, 8).ready;
            CHECK(ready - now < 3 * way);
        }
    }
}

TEST_CASE("prefetch instructions for the L2 leave the L1D alone, and nothing learns from them", "[memory][prefetch]") {
    for (const auto& params : {cortex_a55_memory(), cortex_a76_memory()}) {
        CachesFixture f(without_streaming(params));
        CacheLine* line = nullptr;
        const Timing t = f.caches.access(PhysAddr(0x40), Access::prefetch_l2, 1000, &line, 8);
        CHECK(t.ready == 1000); // nobody waits for it
        CHECK(line == nullptr);
        CHECK(f.l1d(0x40) == State::invalid);
        CHECK(f.l2(0x40) == State::exclusive);
        CHECK(f.total(ev::L1D_CACHE) == 0);
        CHECK(f.total(ev::L3D_CACHE_RD) == 1);
        const std::uint64_t arrives = 1000 + f.params.to_dsu + f.dsu.latency;
        CHECK(f.caches.access(PhysAddr(0x48), Access::load, 1010, nullptr, 8).ready == arrives);
        CHECK(f.total(ev::L3D_CACHE_RD) == 1);
        for (unsigned i = 2; i < 20; ++i) f.go(i * 64, Access::prefetch_l2);
        CHECK(f.total(ev::L3D_CACHE_RD) == 19); // no more than those
        check_identities(f);
        check_invariants(f);
    }
}

TEST_CASE("a stream of loads goes on over pages by virtual addresses, one of stores ends with its page",
          "[memory][prefetch]") {
    struct Pages : PageLookup {
        std::uint64_t page_behind(std::uint64_t vpn) override { return 0x300 - 7 * vpn; }
    } pages;
    for (const bool stores : {false, true}) {
        CachesFixture f(without_streaming(cortex_a55_memory()));
        f.caches.set_page_lookup(&pages);
        const auto next = [&](std::uint64_t vpn) { return PhysAddr(pages.page_behind(vpn) << kPageShift).v; };
        f.caches.set_page(4, pages.page_behind(4), f.cycle);
        for (unsigned i = 0; i < 64; ++i) {
            f.cycle += 200;
            f.go(next(4) + i * 64, stores ? Access::store : Access::load);
        }
        CHECK((f.l1d(next(5)) != State::invalid) == !stores);
        CHECK(f.l1d(next(4) + kPageSize) == State::invalid); // the page behind it in memory is another one's
    }
}

TEST_CASE("a stride is prefetched ahead of the loads", "[memory][prefetch]") {
    for (const bool big : {false, true}) {
        const CoreMemoryParams p = without_streaming(big ? cortex_a76_memory() : cortex_a55_memory());
        CachesFixture f(p);
        struct Same : PageLookup {
            std::uint64_t page_behind(std::uint64_t vpn) override { return vpn; }
        } same;
        f.caches.set_page_lookup(&same);
        unsigned slow = 0;
        for (unsigned i = 0; i < 400; ++i) {
            f.cycle += 60; // time enough for the prefetches
            const std::uint64_t page = (0x10'0000 + i * 128) >> kPageShift;
            f.caches.set_page(page, page);
            slow += f.go(0x10'0000 + i * 128).level != Level::l1;
        }
        CHECK(slow < 20);
        CHECK(f.total(ev::L1D_CACHE_REFILL) < 20);
        CHECK(f.total(ev::L1D_CACHE_REFILL_PREFETCH) > 380);
        const std::uint64_t by_l1d = f.total(ev::L1D_CACHE_REFILL) + f.total(ev::L1D_CACHE_REFILL_PREFETCH);
        if (big) CHECK(f.total(ev::L2D_CACHE_REFILL) < 40); // most lines the L2 has fetched by itself
        if (!big) CHECK(f.total(ev::L2D_CACHE_REFILL) == by_l1d);
        CHECK(f.dsu.count(DsuKind::prefetch_l3) ==
              (big ? 0 : f.total(ev::L3D_CACHE_REFILL_PREFETCH) - f.total(ev::L1D_CACHE_REFILL_PREFETCH)));
        check_identities(f);
        check_invariants(f);
    }
}

TEST_CASE("DC ZVA takes a line without reading it", "[memory][zva]") {
    CachesFixture f(plain_a76());
    CacheLine* line = nullptr;
    f.go(0x8000, Access::zero_line, 64, &line);
    REQUIRE(line);
    CHECK(line->state == State::modified);
    CHECK(f.dsu.count(DsuKind::make_unique) == 1);
    CHECK(f.total(ev::L1D_CACHE_WR) == 1);
    CHECK(f.total(ev::L1D_CACHE_REFILL) == 0);
    CHECK(f.total(ev::BUS_ACCESS) == 0);
    check_invariants(f);
    CachesFixture g(without_prefetch(cortex_a76_memory()));
    for (unsigned i = 0; i < 400; ++i) g.go(0x10'0000 + i * 64, Access::zero_line, 64);
    CHECK(g.total(ev::L1D_WS_MODE_ENTRY) == 1);
    CHECK(g.dsu.count(DsuKind::write_stream_memory) > 200);
    check_identities(g);
}

TEST_CASE("snoops take lines away or make them shared, and say what was dirty", "[memory][mesi]") {
    CachesFixture f(plain_a76());
    f.go(0, Access::store);
    f.go(64, Access::load);
    f.listener.l1d.clear();
    SnoopResult r = f.caches.snoop(0, SnoopKind::downgrade, true);
    CHECK((r.held && r.dirty));
    CHECK(f.l1d(0) == State::shared);
    CHECK(f.l2(0) == State::shared);
    CHECK(f.listener.l1d == std::vector<std::pair<std::uint64_t, bool>>{{0, true}});
    CHECK(f.total(ev::L1D_CACHE_WB_CLEAN) == 1);
    CHECK(f.total(ev::L2D_CACHE_WB) == 0); // the data came from the L1
    CHECK(f.total(ev::BUS_ACCESS_WR) == 64 / f.params.bus_write_beat);
    r = f.caches.snoop(1, SnoopKind::invalidate, true);
    CHECK((r.held && !r.dirty));
    CHECK(f.l1d(64) == State::invalid);
    CHECK(f.l2(64) == State::invalid);
    CHECK(f.listener.l1d.back() == std::pair<std::uint64_t, bool>(1, false));
    CHECK(f.total(ev::L1D_CACHE_INVAL) == 1);
    CHECK(f.total(ev::L2D_CACHE_INVAL) == 1);
    CHECK(f.total(ev::L2D_CACHE_WB_CLEAN) == 1); // handed over from the L2
    r = f.caches.snoop(2, SnoopKind::invalidate, true);
    CHECK_FALSE(r.held);
    check_identities(f);
}

TEST_CASE("cache maintenance by address cleans, and drops if asked", "[memory][maintenance]") {
    CachesFixture f(plain_a55());
    f.go(0, Access::store);
    f.listener.l1d.clear();
    f.caches.clean_line(0, false, f.cycle);
    CHECK(f.l1d(0) == State::exclusive);
    CHECK(f.dsu.asked.back().kind == DsuKind::clean);
    CHECK(f.dsu.asked.back().dirty);
    // Written again it must be seen again.
    CHECK(f.listener.l1d == std::vector<std::pair<std::uint64_t, bool>>{{0, true}});
    CHECK(f.total(ev::L1D_CACHE_WB_CLEAN) == 1);
    f.caches.clean_line(0, true, f.cycle);
    CHECK_FALSE(f.dsu.asked.back().dirty);
    CHECK(f.l1d(0) == State::invalid);
    CHECK(f.l2(0) == State::invalid);
    CHECK(f.total(ev::L1D_CACHE_INVAL) == 1);
    check_invariants(f);
    check_identities(f);
}

TEST_CASE("random traffic keeps levels, directory and events consistent", "[memory][invariant]") {
    for (unsigned variant = 0; variant < 4; ++variant) {
        CoreMemoryParams p = variant & 1 ? cortex_a76_memory() : cortex_a55_memory();
        if (variant & 2) p = without_streaming(without_prefetch(p));
        // Small caches, so that everything gets evicted all the time.
        p.l1i = {1024, 2, 64};
        p.l1d = {2048, 2, 64};
        p.l2 = {8192, 4, 64};
        CachesFixture f(p);
        std::mt19937 random(variant);
        std::uint64_t loads = 0, stores = 0, fetches = 0, upgrades = 0;
        for (int i = 0; i < 40'000; ++i) {
            f.dsu.grant = random() % 4 == 0 ? State::shared : random() % 4 == 0 ? State::modified : State::exclusive;
            f.dsu.level = random() % 2 ? Level::l3 : Level::dram;
            const std::uint64_t pa = (random() % 512) * 64 + random() % 8 * 8;
            switch (random() % 12) {
                case 0:
                    f.go(pa, Access::fetch);
                    ++fetches;
                    break;
                case 1:
                    f.go(pa & ~63ull, Access::zero_line, 64);
                    ++stores;
                    break;
                case 2: f.go(pa, random() % 2 ? Access::prefetch : Access::prefetch_l2); break;
                case 3:
                    f.go(pa, Access::walk);
                    loads += !p.walks_skip_l1d;
                    break;
                case 4:
                    f.go(pa, Access::atomic);
                    ++stores;
                    break;
                case 5: {
                    const bool gone = random() % 2;
                    const SnoopKind k = gone ? SnoopKind::invalidate : SnoopKind::downgrade;
                    f.caches.snoop(pa >> 6, k, random() % 2);
                    if (gone) f.dsu.held.erase(pa >> 6);
                    break;
                }
                case 6: f.caches.clean_line(pa >> 6, random() % 2, f.cycle); break;
                case 7:
                case 8:
                    f.go(pa, Access::store);
                    ++stores;
                    break;
                default:
                    f.go(pa);
                    ++loads;
                    break;
            }
            if (i % 64 == 0) check_invariants(f);
        }
        upgrades = f.dsu.count(DsuKind::upgrade);
        CHECK(upgrades > 0);
        CHECK(f.total(ev::L1D_CACHE_RD) == loads);
        CHECK(f.total(ev::L1D_CACHE_WR) == stores);
        CHECK(f.total(ev::L1I_CACHE) == fetches);
        check_identities(f);
    }
}

TEST_CASE("L2 accesses are L1 refills, prefetches, walks, victims, upgrades and nothing else", "[memory][identity]") {
    for (const bool big : {true, false}) {
        CoreMemoryParams p = big ? plain_a76() : plain_a55();
        p.prefetch = cortex_a55_memory().prefetch; // into the L1D and the L3
        p.late_prefetch_is_refill = false;         // they have been looked up for when they were asked for
        CachesFixture f(p);
        std::mt19937 random(11);
        std::uint64_t walks = 0;
        for (int i = 0; i < 100'000; ++i) {
            const std::uint64_t pa = random() % (2 << 20);
            const unsigned what = random() % 16;
            walks += big && what == 15;
            f.go(pa, what < 5 ? Access::store : what == 5 ? Access::fetch : what == 15 ? Access::walk : Access::load);
            if (i % 100 == 0)
                for (unsigned k = 0; k < 8; ++k) f.go(pa + k * 64);
        }
        const auto n = [&](EventNumber e) { return f.total(e); };
        CHECK(n(ev::L1D_CACHE_REFILL_PREFETCH) > 1000);
        CHECK(n(ev::L2D_CACHE_RD) ==
              n(ev::L1D_CACHE_REFILL) + n(ev::L1I_CACHE_REFILL) + n(ev::L1D_CACHE_REFILL_PREFETCH) + walks);
        // An exclusive L2 gets clean victims, too; what it gets is allocated.
        if (big) CHECK(n(ev::L2D_CACHE_WR) == n(ev::L1D_CACHE_WB) + f.dsu.count(DsuKind::upgrade));
        if (!big) CHECK(n(ev::L2D_CACHE_WR) > n(ev::L1D_CACHE_WB));
        if (!big) CHECK(n(ev::L2D_CACHE_WR) == n(ev::L2D_CACHE_ALLOCATE));
        if (big) CHECK(n(ev::L2D_CACHE_ALLOCATE) == n(ev::L1D_CACHE_WB));
        CHECK(n(ev::L2D_CACHE_REFILL) <= n(ev::L3D_CACHE_RD));
        CHECK(n(ev::L3D_CACHE) == n(ev::L3D_CACHE_RD) + n(ev::L2D_CACHE_WB));
        check_identities(f);
        check_invariants(f);
    }
}

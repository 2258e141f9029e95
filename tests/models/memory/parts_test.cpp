// SPDX-License-Identifier: Apache-2.0
// The small parts the caches are made of.
#include "models/memory/directory.h"
#include "models/memory/fills.h"
#include "models/memory/prefetcher.h"
#include "models/memory/slot_calendar.h"
#include "models/memory/tag_array.h"
#include "models/memory/write_stream.h"

#include <catch2/catch.hpp>

#include <map>
#include <random>
#include <set>
#include <vector>

using namespace rkperf;
using namespace rkperf::mem;

TEST_CASE("a set gives up its least recently used line, also when the recency clock wraps", "[memory][lru]") {
    TagArray a({4 * 64 * 4, 4, 64});
    CHECK(a.sets() == 4);
    std::uint32_t clock = 0xffff'fffd;
    const auto use = [&](std::uint64_t pline) {
        CacheLine* l = a.find(pline);
        std::uint64_t gone = ~0ull;
        if (!l) {
            l = &a.victim(pline, clock);
            gone = l->pline;
            a.replace(*l, {.pline = pline, .state = CacheLine::State::shared});
        }
        l->stamp = ++clock;
        return gone;
    };
    for (std::uint64_t p : {0, 4, 8, 12}) CHECK(use(p) == ~0ull);
    use(0); // the clock has wrapped by now
    CHECK(use(16) == 4);
    CHECK(use(20) == 8);
    CHECK(use(1) == ~0ull); // another set
    CHECK(use(24) == 12);
    CHECK(use(28) == 0);
}

TEST_CASE("random replacement takes invalid lines first and then any, in the same order each time", "[memory]") {
    const auto victims = [] {
        TagArray a({4 * 64 * 4, 4, 64, Replacement::random});
        std::vector<std::uint64_t> gone;
        for (std::uint64_t p = 0; p < 4 * 200; p += 4) { // all of one set
            CacheLine& l = a.victim(p, 0);
            gone.push_back(l.pline);
            a.replace(l, {.pline = p, .state = CacheLine::State::shared});
        }
        return gone;
    };
    const auto gone = victims();
    for (unsigned i = 0; i < 4; ++i) CHECK(gone[i] == CacheLine{}.pline);
    unsigned young = 0; // the newest line goes as often as another: 1 in 4
    for (unsigned i = 5; i < gone.size(); ++i) young += gone[i] == 4 * (i - 1);
    CHECK(young > 25);
    CHECK(young < 75);
    CHECK(std::set<std::uint64_t>(gone.begin() + 4, gone.end()).size() == gone.size() - 4);
    CHECK(victims() == gone);
}

TEST_CASE("odd cache geometries are refused", "[memory]") {
    CHECK_THROWS(TagArray({3 * 64 * 4, 4, 64}));
    CHECK_THROWS(TagArray({4096, 4, 32}));
    CHECK_NOTHROW(TagArray({3 << 20, 12, 64}));
}

TEST_CASE("a calendar serves one request per interval, in any order of arrival", "[memory][timing]") {
    SlotCalendar c(10);
    CHECK(c.reserve(105) == 105); // its slot began earlier, service begins at once
    CHECK(c.reserve(105) == 110);
    CHECK(c.reserve(100) == 120);
    CHECK(c.reserve(30) == 30); // from the past: the slots of then were free
    CHECK(c.reserve(31) == 40);
    const std::uint64_t later = 64 * 4096 * 10 + 100;
    CHECK(c.reserve(later) == later);
    CHECK(c.reserve(109) == 109); // forgotten long since
    SlotCalendar unlimited(0);
    CHECK(unlimited.reserve(7) == 7);
    CHECK(unlimited.reserve(7) == 7);
}

TEST_CASE("a calendar hands out each slot once", "[memory][timing]") {
    SlotCalendar c(8);
    std::mt19937 random(3);
    std::map<std::uint64_t, int> slots;
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t arrival = random() % 100'000;
        const std::uint64_t start = c.reserve(arrival);
        CHECK(start >= arrival);
        ++slots[start / 8];
    }
    for (const auto& [slot, n] : slots) CHECK(n == 1);
}

TEST_CASE("fills bound the misses in flight and find the one for a line", "[memory][mshr]") {
    Fills f(2);
    f.occupy(*f.pick(0), 100, 50, Level::l3);
    f.occupy(*f.pick(0), 200, 80, Level::dram);
    CHECK(f.pick(10)->ready == 50); // both taken: the one that is free first
    CHECK(f.pick(60)->ready == 50); // free by then
    REQUIRE(f.find(200, 60));
    CHECK(f.find(200, 60)->level == Level::dram);
    CHECK_FALSE(f.find(100, 60));
    CHECK_FALSE(f.find(200, 80));
    f.occupy(*f.pick(70), 300, 120, Level::dram);
    CHECK(f.find(200, 70)); // its slot is promised on, it is still in flight
    CHECK(Fills(0).pick(0) == nullptr);
}

TEST_CASE("the directory keeps what it is told", "[memory][coherence]") {
    Directory d;
    std::map<std::uint64_t, std::uint32_t> model;
    std::mt19937 random(5);
    for (int i = 0; i < 200'000; ++i) {
        const std::uint64_t pline = random() % 30'000;
        if (random() % 5 < 3) {
            const std::uint32_t holders = 1 + random() % 255;
            d.insert(pline).holders = holders;
            model[pline] = holders;
        } else if (Directory::Entry* e = d.find(pline)) {
            CHECK(model.erase(pline) == 1);
            d.erase(*e);
        } else {
            CHECK(model.count(pline) == 0);
        }
    }
    CHECK(d.size() == model.size());
    for (std::uint64_t p = 0; p < 30'000; ++p) {
        const Directory::Entry* e = d.find(p);
        const auto m = model.find(p);
        REQUIRE((e != nullptr) == (m != model.end()));
        if (e) CHECK(e->holders == m->second);
    }
}

TEST_CASE("the prefetcher follows strides of either sign and several streams", "[memory][prefetch]") {
    const PrefetchParams p{
        .streams = 2, .confirm = 2, .l1_ahead = 2, .l2_ahead = 5, .per_trigger = 2, .in_flight = 8, .l1_ahead_down = 1};
    Prefetcher f(p);
    Prefetcher::Plan plan;
    CHECK_FALSE(f.train(1000, false, plan));
    CHECK_FALSE(f.train(1003, false, plan));
    REQUIRE(f.train(1006, false, plan));
    CHECK(plan.l1.first == 1009);
    CHECK(plan.l1.stride == 3);
    CHECK(plan.l1.count == 2);
    CHECK(plan.l2.first == 1015);
    CHECK(plan.l2.count == 2);
    plan = {};
    // A second stream, downwards, in between.
    CHECK_FALSE(f.train(5000, false, plan));
    CHECK_FALSE(f.train(4999, false, plan));
    REQUIRE(f.train(4998, false, plan));
    CHECK(plan.l1.first == 4997);
    CHECK(plan.l1.stride == -1);
    CHECK(plan.l1.count == 1);
    plan = {};
    REQUIRE(f.train(1009, false, plan));
    CHECK(plan.l1.first == 1015); // one more, to stay two ahead
    CHECK(plan.l1.count == 1);
    CHECK(plan.l2.first == 1021); // catching up
    CHECK(plan.l2.count == 2);
}

TEST_CASE("a walk by several lines may be led less far ahead than neighbouring lines", "[memory][prefetch]") {
    PrefetchParams p{.streams = 2, .confirm = 2, .l1_ahead = 2, .l2_ahead = 9, .l3_ahead = 19, .in_flight = 8};
    p.l1_ahead_apart = 1;
    p.l2_ahead_apart = 3;
    p.apart_differs = GENERATE(false, true);
    Prefetcher f(p);
    Prefetcher::Plan plan;
    const auto furthest = [&](std::uint64_t line, std::int64_t stride) { // of what was asked for, in strides
        std::array<std::int64_t, 3> ahead{};
        for (unsigned i = 0; i < 30; ++i, line += static_cast<std::uint64_t>(stride)) {
            plan = {};
            if (!f.train(line, false, plan)) continue;
            const Prefetcher::Batch* const batches[] = {&plan.l1, &plan.l2, &plan.l3};
            for (unsigned k = 0; k < 3; ++k)
                if (batches[k]->count)
                    ahead[k] = static_cast<std::int64_t>(batches[k]->first - line) / stride + batches[k]->count - 1;
        }
        return ahead;
    };
    using Ahead = std::array<std::int64_t, 3>;
    CHECK(furthest(1000, 7) == (p.apart_differs ? Ahead{1, 4, 0} : Ahead{2, 9, 19}));
    CHECK(furthest(5000, 1) == Ahead{2, 9, 19});
}

TEST_CASE("of a walk by several lines the L2 fetches on from the second line in a page to its end",
          "[memory][prefetch]") {
    PrefetchParams p{.streams = 2, .confirm = 2, .per_trigger = 2, .in_flight = 8, .apart_differs = true};
    p.l1_ahead_apart = 3;
    p.l2_ahead_apart = 2;
    Prefetcher f(p);
    // Given a walk by ten lines from the beginning of a page of 64, which the L1's part leads by three steps
    for (std::uint64_t line = 640; line <= 670; line += 10) {
        Prefetcher::Plan plan;
        f.train(line, false, plan);
    }
    const auto train = [&f](std::uint64_t line) {
        Prefetcher::Plan plan;
        REQUIRE(f.train(line, false, plan));
        REQUIRE(plan.l1.count == 1);
        CHECK(plan.l1.first == line + 30);
        return plan.l2;
    };
    // When that comes to the next page, at 704, then the L2 waits for its second line
    CHECK(train(680).count == 0);                // 710
    const Prefetcher::Batch second = train(690); // 720
    CHECK(second.first == 730);
    CHECK(second.count == 2);
    CHECK(train(700).first == 750); // 730
    // and asks for nothing behind the page's last, 760.
    CHECK(train(710).first == 760); // 740
    CHECK(train(720).count == 0);   // 750
}

TEST_CASE("prefetch instructions lead a stream of neighbours on, not a walk by several lines", "[memory][prefetch]") {
    Prefetcher f({.streams = 2, .confirm = 2, .l1_ahead = 2, .in_flight = 8});
    Prefetcher::Plan plan;
    for (const std::uint64_t line : {1000u, 1007u, 1014u, 1021u}) CHECK_FALSE(f.train(line, true, plan));
    f.train(2000, true, plan);
    f.train(2001, true, plan);
    CHECK(f.train(2002, true, plan));
    CHECK(plan.l1.first == 2003);
}

TEST_CASE("random lines train nothing", "[memory][prefetch]") {
    Prefetcher f({.streams = 4, .confirm = 2, .l1_ahead = 4, .in_flight = 8});
    std::mt19937 random(9);
    Prefetcher::Plan plan;
    int acted = 0;
    for (int i = 0; i < 10'000; ++i) acted += f.train(random() % 1'000'000, false, plan);
    CHECK(acted < 10);
}

TEST_CASE("write streaming begins after enough whole lines and moves outwards", "[memory][stream]") {
    using Added = WriteStream::Added;
    WriteStream s({.l1_lines = 2, .l2_lines = 4, .l3_lines = 6});
    const auto store_line = [&](std::uint64_t pline) {
        s.begin(pline);
        for (unsigned o = 0; o < 48; o += 16) CHECK(s.add(o, 16) == Added::part);
        CHECK(s.add(48, 16) == Added::whole);
        const bool entered = s.whole_line(0);
        s.end();
        return entered;
    };
    CHECK_FALSE(store_line(1));
    CHECK(s.target() == WriteStream::Target::l1);
    CHECK(store_line(2));
    CHECK(s.target() == WriteStream::Target::l2);
    store_line(3);
    store_line(4);
    CHECK(s.target() == WriteStream::Target::l3);
    store_line(5);
    store_line(6);
    CHECK(s.target() == WriteStream::Target::memory);
    CHECK_FALSE(s.paused(1'000'000)); // no such limit was set
    s.broken();
    CHECK_FALSE(s.streaming());
    CHECK(s.target() == WriteStream::Target::l1);
    s.begin(9);
    CHECK(s.add(0, 63) == Added::part);
    CHECK(s.add(8, 8) == Added::rewritten);
    CHECK(s.add(60, 4) == Added::whole);
}

// SPDX-License-Identifier: Apache-2.0
// Several cores, the DSU's L3 and its directory.
#include "tests/models/memory/machine.h"
#include "tests/support/run_catch.h"

#include <catch2/catch.hpp>

#include <map>
#include <random>

using namespace rkperf;
using namespace rkperf::mem;
using namespace rkperf::mem::test;
namespace ev = rkperf::pmu_event;
using State = CacheLine::State;

namespace {

Stock stock;

State state_of(const CacheLine* l) { return l ? l->state : State::invalid; }
State l1d(Machine& m, unsigned core, PhysAddr a) { return state_of(m[core].mem.find_l1d(a)); }
State l2(Machine& m, unsigned core, PhysAddr a) { return state_of(m[core].mem.find_l2(a)); }
bool owns(State s) { return s == State::exclusive || s == State::modified; }

/// Brings a line to the core's L2 only, then out of the core.
void push_out(TestCore& c, const CoreMemoryParams& p, PhysAddr a) {
    const std::uint64_t way = p.l2.bytes / p.l2.ways;
    for (unsigned i = 1; i <= p.l2.ways + p.l1d.ways + 1; ++i) c.go(PhysAddr(a.v + 0x400'0000 + i * way));
}

/// Single owner or sharers only, and the directory knows exactly who has the line.
void check_line(Machine& m, PhysAddr a) {
    std::uint32_t holders = 0, owners = 0;
    for (unsigned i = 0; i < m.cores.size(); ++i) {
        const State s1 = l1d(m, i, a), s2 = l2(m, i, a);
        if (s1 != State::invalid || s2 != State::invalid) holders |= 1u << i;
        if (owns(s1) || owns(s2)) owners |= 1u << i;
        if (s1 != State::invalid && s2 != State::invalid) REQUIRE(owns(s1) == owns(s2));
    }
    REQUIRE(m.dsu.holders(a) == holders);
    if (owners != 0) {
        REQUIRE(owners == holders);
        REQUIRE((owners & (owners - 1)) == 0);
        REQUIRE(1u << m.dsu.owner(a) == owners);
        REQUIRE_FALSE(m.dsu.l3_holds(a)); // exclusive lines are not in the L3
    } else {
        REQUIRE(m.dsu.owner(a) == Directory::kNone);
    }
}

} // namespace

TEST_CASE("a line that one core uses is in that core, and in the L3 after it left", "[memory][dsu][l3]") {
    Machine& m = stock.take("pair");
    TestCore& c = m[0];
    const PhysAddr a(0x20'0000);
    c.go(a);
    CHECK(c.last.level == Level::dram);
    CHECK_FALSE(m.dsu.l3_holds(a));
    CHECK(m.dsu.holders(a) == 1);
    push_out(c, a76().params, a);
    CHECK(l2(m, 0, a) == State::invalid);
    CHECK(m.dsu.l3_holds(a));
    CHECK(m.dsu.holders(a) == 0);
    CHECK(c.total(ev::L3D_CACHE_ALLOCATE) > 0);
    const std::uint64_t misses = c.total(ev::LL_CACHE_MISS_RD);
    c.go(a);
    CHECK(c.last.level == Level::l3);
    CHECK_FALSE(m.dsu.l3_holds(a));
    CHECK(c.total(ev::LL_CACHE_MISS_RD) == misses);
    CHECK(c.total(ev::L1D_CACHE_REFILL_INNER) == 1);
}

TEST_CASE("dirty data stays dirty on its way through the L3", "[memory][dsu][l3]") {
    Machine& m = stock.take("pair");
    TestCore& c = m[0];
    const PhysAddr a(0x20'0000);
    c.go(a, Access::store);
    push_out(c, a76().params, a);
    REQUIRE(m.dsu.l3_holds(a));
    c.go(a);
    CHECK(l1d(m, 0, a) == State::exclusive);
    CHECK(l2(m, 0, a) == State::modified); // still to be written to memory one day
    const std::uint64_t before = m.dram.stats().writes;
    c.mem.clean_line(a, true, c.cycle);
    CHECK(m.dram.stats().writes == before + 1);
    CHECK_FALSE(m.dsu.l3_holds(a));
    CHECK(m.dsu.holders(a) == 0);
}

TEST_CASE("readers share, a writer takes the line from all", "[memory][dsu][mesi]") {
    Machine& m = stock.take("quad");
    const PhysAddr a(0x20'0000);
    m[0].go(a, Access::store);
    CHECK(l1d(m, 0, a) == State::modified);
    m[1].go(a);
    CHECK(m[1].last.level == Level::peer);
    for (unsigned i : {0u, 1u}) CHECK(l1d(m, i, a) == State::shared);
    CHECK(m.dsu.l3_holds(a)); // shared lines are
    CHECK(m[0].total(ev::L1D_CACHE_WB_CLEAN) == 1);
    REQUIRE(m[0].listener.l1d.size() == 1);
    CHECK(m[0].listener.l1d[0] == std::pair<std::uint64_t, bool>(a.v >> 6, true));
    m[2].go(a);
    CHECK(m[2].last.level == Level::l3);
    CHECK(m.dsu.holders(a) == 0b111);
    check_line(m, a);

    m[1].go(a, Access::store);
    CHECK(l1d(m, 1, a) == State::modified);
    for (unsigned i : {0u, 2u}) {
        CHECK(l1d(m, i, a) == State::invalid);
        CHECK(l2(m, i, a) == State::invalid);
        CHECK(m[i].total(ev::L1D_CACHE_INVAL) == 1);
        CHECK(m[i].listener.l1d.back() == std::pair<std::uint64_t, bool>(a.v >> 6, false));
    }
    CHECK(m[1].total(ev::L1D_CACHE_REFILL_WR) == 0);
    CHECK(m.dsu.holders(a) == 0b010);
    check_line(m, a);

    m[3].go(a, Access::atomic);
    CHECK(m[3].last.level == Level::peer);
    CHECK(m[3].total(ev::L1D_CACHE_REFILL_WR) == 1);
    CHECK(m[3].total(ev::L1D_CACHE_REFILL_INNER) == 1);
    CHECK(m.dsu.holders(a) == 0b1000);
    CHECK(m.dram.stats().reads == 1);
    check_line(m, a);
}

TEST_CASE("false sharing moves a line to and fro, separate lines stay", "[memory][dsu][mesi]") {
    Machine& m = stock.take("pair");
    const PhysAddr line(0x20'0000), left(0x30'0000), right(0x30'0040);
    unsigned long shared = 0, apart = 0;
    for (int i = 0; i < 100; ++i) {
        shared += m[0].go(line, Access::store);
        shared += m[1].go(PhysAddr(line.v + 32), Access::store);
        if (i == 0) shared = 0;
    }
    for (int i = 0; i < 100; ++i) {
        apart += m[0].go(left, Access::store);
        apart += m[1].go(right, Access::store);
        if (i == 0) apart = 0;
    }
    CHECK(apart == 0);
    CHECK(shared / 198 > 40); // each store fetches the line from the other core
    CHECK(m[0].total(ev::L1D_CACHE_INVAL) == 100);
    CHECK(m[1].total(ev::L1D_CACHE_INVAL) == 99);
    CHECK(m[0].total(ev::L1D_CACHE_REFILL_WR) == 101);
    CHECK(m[0].total(ev::L1D_CACHE_WB_CLEAN) == 100);
    CHECK(m[0].total(ev::L3D_CACHE_REFILL) == 2); // only the first touches came from memory
}

TEST_CASE("a second reader has a line no earlier than its writer and the first", "[memory][dsu][mesi]") {
    Machine& m = stock.take("trio");
    // Given a line that three cores share, and all at the same time
    const PhysAddr line(0x28'0000);
    for (unsigned n = 0; n < 3; ++n) m[n].go(line);
    m[2].cycle = m[1].cycle = m[0].cycle = std::max({m[0].cycle, m[1].cycle, m[2].cycle}) + 1000;
    // When one writes it and the others read it
    const std::uint64_t own = m[0].go(line, Access::store);
    const std::uint64_t first = m[1].go(line);
    const std::uint64_t second = m[2].go(line);
    // Then the second, too, waits until it has come to the first, although the L3 has it from then on.
    CHECK(first > own + 40);
    CHECK(second + 20 > first);
    check_line(m, line);
}

TEST_CASE("a line goes from core to core one after the other", "[memory][dsu][mesi]") {
    Machine& m = stock.take("trio");
    // Given a line that two cores share, and all at the same time
    const PhysAddr line(0x20'0000);
    m[0].go(line);
    m[1].go(line);
    const std::uint64_t cycle = m[2].cycle = m[1].cycle = m[0].cycle = std::max(m[0].cycle, m[1].cycle) + 1000;
    // When one writes it, and then another reads and a third writes it, none of which the first's time has passed for
    const std::uint64_t own = m[0].go(line, Access::store);
    CHECK(m[0].last.level == Level::peer); // another core gave up its right to it
    const std::uint64_t read = m[1].go(line);
    const std::uint64_t taken = m[2].go(line, Access::store);
    // Then each has to wait for those before it.
    CHECK(own > 40);
    CHECK(read > own + 40);
    CHECK(taken > read + 40);
    CHECK(taken < 4 * own);
    // A core that lags far behind finds it at once.
    m[1].cycle = cycle - 1000;
    CHECK(m[1].go(line) <= own + 20);
    check_line(m, line);
}

TEST_CASE("cache maintenance reaches the other cores' copies", "[memory][dsu][maintenance]") {
    Machine& m = stock.take("pair");
    const PhysAddr a(0x20'0000);
    m[0].go(a, Access::store);
    m[1].mem.clean_line(a, false, m[1].cycle);
    CHECK(l1d(m, 0, a) == State::exclusive);
    CHECK(m.dram.stats().writes == 1);
    m[0].go(a, Access::store);
    m[1].mem.clean_line(a, true, m[1].cycle);
    CHECK(l1d(m, 0, a) == State::invalid);
    CHECK(m.dsu.holders(a) == 0);
    CHECK(m.dram.stats().writes == 2);
}

TEST_CASE("streams of whole lines take lines from others and end in the L3 or in memory", "[memory][dsu][stream]") {
    Machine& m = stock.take("pair");
    const PhysAddr a(0x20'0000);
    const unsigned lines = 400;
    for (unsigned i = 0; i < lines; ++i) m[1].go(PhysAddr(a.v + i * 64));
    for (unsigned i = 0; i < lines; ++i) {
        for (unsigned o = 0; o < 64; o += 16) m[0].go(PhysAddr(a.v + i * 64 + o), Access::store, 16);
    }
    const WriteStreamParams w = a76().params.write_stream;
    const auto at = [&](unsigned i) { return PhysAddr(a.v + i * 64); };
    for (unsigned i = 0; i < lines; ++i) {
        REQUIRE(l1d(m, 1, at(i)) == State::invalid);
        REQUIRE(l2(m, 1, at(i)) == State::invalid);
        check_line(m, at(i));
    }
    CHECK(l1d(m, 0, at(0)) == State::modified);
    CHECK(l2(m, 0, at(w.l1_lines + 1)) == State::modified);
    CHECK(m.dsu.l3_holds(at(w.l2_lines + 1)));
    CHECK(m.dsu.holders(at(w.l2_lines + 1)) == 0);
    CHECK_FALSE(m.dsu.l3_holds(at(lines - 1)));
    CHECK(m.dram.stats().writes >= lines - w.l3_lines);
    CHECK(m[0].total(ev::L1D_CACHE_REFILL) == w.l1_lines);
    // What went to memory is read from there again.
    m[0].go(at(lines - 1));
    CHECK(m[0].last.level == Level::dram);
}

TEST_CASE("prefetches into the L3 are timed", "[memory][dsu][prefetch]") {
    Machine& m = stock.take("prefetch");
    TestCore& c = m[0];
    for (unsigned i = 0; i < 300; ++i) {
        c.go(PhysAddr(0x20'0000 + i * 64));
    }
    CHECK(c.total(ev::L3D_CACHE_REFILL_PREFETCH) > 250);
    CHECK(c.total(ev::L1D_CACHE_REFILL_PREFETCH) > 200);
    // A core that does nothing but wait cannot go faster than the memory.
    CHECK(c.ns(c.cycle) > 300 * 64 / 33.8);
    CHECK(c.ns(c.cycle) < 300 * 40);
}

TEST_CASE("random traffic of all cores keeps caches, L3 and directory consistent", "[memory][dsu][invariant]") {
    for (const char* kind : {"small", "small_prefetching"}) {
        Machine& m = stock.take(kind);
        std::mt19937 random(17);
        for (int i = 0; i < 60'000; ++i) {
            TestCore& c = m[random() % m.cores.size()];
            const PhysAddr a(0x20'0000 + (random() % 256) * 64);
            switch (random() % 10) {
                case 0: c.go(a, Access::fetch); break;
                case 1: c.go(a, Access::zero_line, 64); break;
                case 2: c.go(a, Access::atomic); break;
                case 3: c.mem.clean_line(a, random() % 2, c.cycle); break;
                case 4:
                    for (unsigned l = 0; l < 8; ++l) c.go(PhysAddr(a.v + l * 64), Access::store, 64);
                    break;
                case 5:
                case 6: c.go(a, Access::store); break;
                default: c.go(a); break;
            }
            if (i % 16 == 0) {
                for (unsigned l = 0; l < 300; ++l) check_line(m, PhysAddr(0x20'0000 + l * 64));
            }
        }
        std::uint64_t invalidated = 0;
        for (TestCore& c : m.cores) {
            invalidated += c.total(ev::L1D_CACHE_INVAL);
            CHECK(c.total(ev::L1D_CACHE_REFILL) <= c.total(ev::L1D_CACHE));
            CHECK(c.total(ev::L2D_CACHE_REFILL) <= c.total(ev::L3D_CACHE_RD));
            CHECK(c.total(ev::BUS_ACCESS) == c.total(ev::BUS_ACCESS_RD) + c.total(ev::BUS_ACCESS_WR));
        }
        CHECK(invalidated > 1000);
    }
}

TEST_CASE("the same traffic gives the same counts and times", "[memory][determinism]") {
    std::map<std::string, std::vector<std::uint64_t>> seen;
    for (int run = 0; run < 2; ++run) {
        Machine& m = stock.take("small_prefetching");
        std::mt19937 random(23);
        std::vector<std::uint64_t> out;
        for (int i = 0; i < 30'000; ++i) {
            TestCore& c = m[random() % m.cores.size()];
            const PhysAddr a(0x20'0000 + (random() % 4096) * 64);
            out.push_back(c.go(a, random() % 3 ? Access::load : Access::store));
        }
        for (TestCore& c : m.cores) {
            const EventTotals::Row& row = c.totals.row(ExceptionLevel::el1);
            out.insert(out.end(), row.begin(), row.end());
        }
        seen[run ? "second" : "first"] = out;
    }
    CHECK(seen["first"] == seen["second"]);
}

TEST_CASE("a core is slowed by others' use of the memory, not by how far ahead they are", "[memory][skew]") {
    // Core 1 has run its traffic 50 us ahead; core 0, in the past, must not notice.
    Machine& alone = stock.take("pair");
    Machine& skewed = stock.take("pair");
    std::uint64_t took[2]{};
    for (int which = 0; which < 2; ++which) {
        Machine& m = which ? skewed : alone;
        m[1].cycle += 115'000;
        for (int i = 0; which && i < 2000; ++i) m[1].go(PhysAddr(0x100'0000 + i * 64 * 37));
        for (int i = 0; i < 200; ++i) took[which] += m[0].go(PhysAddr(0x800'0000 + i * 64 * 41));
    }
    // Rows that the other core opened may differ, queues may not.
    CHECK(static_cast<double>(took[1]) == Approx(static_cast<double>(took[0])).epsilon(0.1));
}

TEST_CASE("an access outside of the memory is a bug, and says so", "[memory][dsu]") {
    Machine& m = stock.take("pair");
    CHECK_THROWS_WITH(m[0].go(PhysAddr(kDramBytes)), Catch::Contains("pair"));
}

int sc_main(int argc, char** argv) {
    sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    const auto make = [](std::vector<CoreSpec> specs, const DsuParams& d = {}) {
        return [=](const std::string& n) { return std::make_unique<Machine>(n, specs, d); };
    };
    const auto shrink = [](CoreSpec s) {
        s.params.l1i = {1024, 2, 64};
        s.params.l1d = {1024, 2, 64};
        s.params.l2 = {4096, 4, 64};
        return s;
    };
    const CoreSpec a55_full{cortex_a55_memory(), kA55Hertz}, a76_full{cortex_a76_memory(), kA76Hertz};
    DsuParams small_l3;
    small_l3.l3 = {8 * 1024, 2, 64};
    stock.add("pair", 8, make({a76(), a76()}));
    stock.add("trio", 2, make({a76(), a76(), a76()}));
    stock.add("quad", 1, make({a55(), a55(), a76(), a76()}));
    stock.add("prefetch", 1, make({a55_full}));
    stock.add("small", 1, make({shrink(a55()), shrink(a76()), shrink(a55()), shrink(a76())}, small_l3));
    stock.add("small_prefetching", 3,
              make({shrink(a55_full), shrink(a76_full), shrink(a55_full), shrink(a76_full)}, small_l3));
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    return run_catch(argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
// What stays in the DSU's L3: one of 64 sets of eight ways, behind a core whose own caches hold next to nothing.
#include "tests/models/memory/machine.h"
#include "tests/support/run_catch.h"

#include <catch2/catch.hpp>

using namespace rkperf;
using namespace rkperf::mem;
using namespace rkperf::mem::test;

namespace {

constexpr unsigned kL3Lines = 512;
const PhysAddr kBuffer(0x20'0000), kOther(0x400'0000);

Stock stock;

/// Loads each of so many lines once; the part of them that the L3 had.
double walk(Machine& m, PhysAddr first, unsigned lines) {
    unsigned hits = 0;
    for (unsigned i = 0; i < lines; ++i) {
        m[0].go(PhysAddr(first.v + i * kLineSize));
        hits += m[0].last.level == Level::l3;
    }
    return static_cast<double>(hits) / lines;
}

double walk(Machine& m, PhysAddr first, unsigned lines, unsigned rounds) {
    double part = 0;
    while (rounds-- != 0) part = walk(m, first, lines);
    return part;
}

unsigned held(Machine& m, PhysAddr first, unsigned lines) {
    unsigned n = 0;
    for (unsigned i = 0; i < lines; ++i) n += m.dsu.l3_holds(PhysAddr(first.v + i * kLineSize));
    return n;
}

/// Prefetch instructions for so many lines, each with the time it takes.
unsigned prefetch(Machine& m, PhysAddr first, unsigned lines) {
    unsigned hits = 0;
    for (unsigned i = 0; i < lines; ++i) {
        m[0].go(PhysAddr(first.v + i * kLineSize), Access::prefetch);
        hits += m[0].last.level == Level::l3;
    }
    return hits;
}

} // namespace

TEST_CASE("a buffer that the L3 can hold comes to stay in it", "[memory][dsu][l3]") {
    Machine& m = stock.take("core");
    // Given an L3 full of another buffer that was used again and again
    walk(m, kOther, kL3Lines, 10);
    REQUIRE(held(m, kOther, kL3Lines) > kL3Lines * 9 / 10);
    // When a new one of three quarters of its size is, then little by little it takes the other's place.
    CHECK(walk(m, kBuffer, kL3Lines * 3 / 4, 10) < 0.9);
    CHECK(walk(m, kBuffer, kL3Lines * 3 / 4, 400) > 0.95);
}

TEST_CASE("of a cyclic walk through more than the L3 holds nearly as much hits as can", "[memory][dsu][l3]") {
    Machine& m = stock.take("core");
    for (const unsigned times : {2u, 4u}) {
        INFO(times << " times the L3");
        const double best = 1.0 / times;
        const double part = walk(m, kBuffer, times * kL3Lines, 100);
        CHECK(part > 0.75 * best);
        CHECK(part < 1.1 * best); // the core's own caches let some lines pass them by
    }
}

TEST_CASE("the walk learns what to keep line by line", "[memory][dsu][l3]") {
    Machine& m = stock.take("core");
    const double early = walk(m, kBuffer, 3 * kL3Lines, 3), late = walk(m, kBuffer, 3 * kL3Lines, 100);
    CHECK(early < 0.6 * late);
}

TEST_CASE("what is prefetched and used once does not stay in the place of what is used again", "[memory][dsu][l3]") {
    Machine& m = stock.take("core");
    walk(m, kBuffer, kL3Lines * 3 / 4, 100);
    const unsigned before = held(m, kBuffer, kL3Lines);
    // When a stream passes that is eight times the size of the L3
    prefetch(m, kOther, 8 * kL3Lines);
    // Then little of the buffer is lost, far less than a walk of loads would push out.
    CHECK(held(m, kBuffer, kL3Lines) > before * 3 / 4);
}

TEST_CASE("a stream of prefetches that comes again finds as much of itself as a walk of loads does",
          "[memory][dsu][l3]") {
    Machine& walked = stock.take("core");
    Machine& streamed = stock.take("core");
    const unsigned lines = 3 * kL3Lines;
    const double part = walk(walked, kBuffer, lines, 60);
    unsigned hits = 0;
    for (unsigned i = 0; i < 60; ++i) hits = prefetch(streamed, kBuffer, lines);
    CHECK(hits > 0.9 * part * lines);
    CHECK(hits < 1.1 * part * lines);
}

TEST_CASE("the first use of a line that a stream of stores left in the L3 is no use again", "[memory][dsu][l3]") {
    Machine& m = stock.take("streaming");
    // Given lines that were stored whole, past the core's caches, and read once
    const unsigned lines = 400;
    for (unsigned i = 0; i < lines * kLineSize; i += 16) m[0].go(PhysAddr(kOther.v + i), Access::store, 16);
    REQUIRE(held(m, kOther, lines) > lines * 3 / 4);
    walk(m, kOther, lines);
    // When a buffer as big as the L3 is walked through twice, then nothing is left of them: they had not been kept for good.
    walk(m, kBuffer, kL3Lines, 2);
    CHECK(held(m, kOther, lines) < lines / 3);
}

TEST_CASE("what is kept stays so when another core has read or written it", "[memory][dsu][l3]") {
    for (const Access kind : {Access::load, Access::store}) {
        Machine& m = stock.take("pair");
        // Given lines that one core used again and again
        const unsigned lines = kL3Lines / 2;
        walk(m, kBuffer, lines, 20);
        REQUIRE(held(m, kBuffer, lines) > lines * 9 / 10);
        // When another core takes each from it, and gives it back
        walk(m, kOther, 16);
        for (unsigned i = 0; i < lines; ++i) {
            const PhysAddr line(kBuffer.v + i * kLineSize);
            m[0].go(line);
            m[1].go(line, kind);
        }
        for (unsigned i = 0; i < 16; ++i) m[1].go(PhysAddr(kOther.v + (64 + i) * kLineSize));
        REQUIRE(held(m, kBuffer, lines) > lines * 9 / 10);
        // Then lines that are used once do not push them out.
        walk(m, PhysAddr(kOther.v + (1 << 20)), 2 * kL3Lines);
        CHECK(held(m, kBuffer, lines) > lines * 3 / 4);
    }
}

TEST_CASE("to write what a core has already is no use of the L3", "[memory][dsu][l3]") {
    Machine& m = stock.take("pair");
    // Given lines that two cores read once, and one of them then wrote
    const unsigned lines = kL3Lines / 4;
    for (unsigned i = 0; i < lines; ++i) {
        const PhysAddr line(kBuffer.v + i * kLineSize);
        m[0].go(line);
        m[1].go(line);
        m[1].go(line, Access::store);
    }
    for (unsigned i = 0; i < 16; ++i) m[1].go(PhysAddr(kOther.v + (64 + i) * kLineSize));
    REQUIRE(held(m, kBuffer, lines) > lines / 2);
    // Then lines that are used once push them out.
    walk(m, PhysAddr(kOther.v + (1 << 20)), 4 * kL3Lines);
    CHECK(held(m, kBuffer, lines) < lines / 3);
}

int sc_main(int argc, char** argv) {
    sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    const auto make = [](const WriteStreamParams& stream, unsigned cores = 1) {
        return [=](const std::string& n) {
            CoreSpec s = a76();
            s.params.l1d = {128, 2, 64};
            s.params.l2 = {256, 4, 64};
            s.params.write_stream = stream;
            DsuParams d;
            d.l3 = {kL3Lines * kLineSize, 8, 64};
            return std::make_unique<Machine>(n, std::vector<CoreSpec>(cores, s), d);
        };
    };
    stock.add("core", 6, make({}));
    stock.add("pair", 3, make({}, 2));
    stock.add("streaming", 1, make({.l1_lines = 2, .l2_lines = 2, .l3_lines = 0}));
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    return run_catch(argc, argv);
}

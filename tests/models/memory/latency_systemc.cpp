// SPDX-License-Identifier: Apache-2.0
// Latencies of whole ways through the hierarchy, against the measurements in the facts (sbc-bench ramlat on RK3588:
// L2, L3, 64 MiB) and the figures of the cores' manuals.
#include "tests/models/memory/machine.h"
#include "tests/support/run_catch.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <random>

using namespace rkperf;
using namespace rkperf::mem;
using namespace rkperf::mem::test;

namespace {

Stock stock;

/// Dependent loads in a random cycle through `bytes`, one per line, with translation; nanoseconds per load beyond the
/// pipeline's own load-to-use.
double chase_ns(Machine& m, std::uint64_t bytes, unsigned rounds_of_4096) {
    TestCore& c = m[0];
    const VirtAddr va(0x10'0000'0000);
    m.tables.map(va, PhysAddr(0x100'0000), bytes);
    const std::uint64_t lines = bytes / kLineSize;
    std::vector<std::uint32_t> order(lines);
    std::iota(order.begin(), order.end(), 0u);
    std::mt19937 random(1);
    for (std::uint64_t i = lines - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
    const auto step = [&](std::uint64_t i) {
        const VirtAddr a(va.v + order[i % lines] * kLineSize);
        const Translation t = c.mem.translate_data(a, false, false, c.cycle);
        REQUIRE(t.entry);
        c.cycle += t.cycles;
        c.go(PhysAddr(t.entry->ppn << kPageShift | (a.v & (kPageSize - 1))));
    };
    const std::uint64_t warm = std::min<std::uint64_t>(lines * 2, 3u << 16);
    for (std::uint64_t i = 0; i < warm; ++i) step(i);
    const std::uint64_t from = c.cycle;
    const std::uint64_t n = rounds_of_4096 * 4096ull;
    for (std::uint64_t i = 0; i < n; ++i) step(warm + i);
    return c.ns(c.cycle - from) / static_cast<double>(n);
}

} // namespace

TEST_CASE("ways through the hierarchy take the cycles the cores' tables say", "[memory][latency]") {
    for (const char* kind : {"a55", "a76"}) {
        Machine& m = stock.take(kind);
        TestCore& c = m[0];
        const CoreMemoryParams p = std::string(kind) == "a55" ? cortex_a55_memory() : cortex_a76_memory();
        const PhysAddr a(0x20'0000);
        c.go(a);
        CHECK(c.last.level == Level::dram);
        CHECK(c.go(a) == 0);
        CHECK(c.last.level == Level::l1);
        // Push it out of the L1D, not out of the L2.
        for (unsigned i = 1; i <= p.l1d.ways; ++i) c.go(PhysAddr(a.v + i * p.l1d.bytes / p.l1d.ways));
        CHECK(c.mem.find_l1d(a) == nullptr);
        c.cycle += 1000;
        CHECK(c.go(a) <= p.l2_hit + p.l2_line_interval);
        CHECK(c.last.level == Level::l2);
    }
}

TEST_CASE("pointer chases cost what the boards show", "[memory][latency]") {
    struct Row {
        const char* kind;
        double load_to_use_cycles;
        std::uint64_t kib;
        double low, high; ///< ns per load
    };
    const auto [kind, pipeline, kib, low, high] = GENERATE(values<Row>({
        {"a55", 3, 16, 1.6, 1.7},
        {"a55", 3, 512, 15.5, 18.5},
        {"a55", 3, 65536, 123, 140},
        {"a76", 4, 32, 1.7, 1.8},
        {"a76", 4, 256, 5.0, 7.5},
        {"a76", 4, 1536, 15.0, 20.0},
        {"a76", 4, 65536, 122, 138},
    }));
    Machine& m = stock.take(kind);
    const double ns = chase_ns(m, kib * 1024, 16) + pipeline * 1e9 / static_cast<double>(m[0].clock.hertz());
    UNSCOPED_INFO(kind << " " << kib << " KiB: " << ns << " ns");
    CHECK(ns >= low);
    CHECK(ns <= high);
}

int sc_main(int argc, char** argv) {
    sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    stock.add("a55", 6, [](const std::string& n) { return std::make_unique<Machine>(n, std::vector{a55()}); });
    stock.add("a76", 6, [](const std::string& n) { return std::make_unique<Machine>(n, std::vector{a76()}); });
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    return run_catch(argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
// Host cost of the core's calls into its memory side, by where they hit. Wanted: L1 hit below 15 ns, L2 hit below 60 ns,
// L3 hit below 300 ns.
#include "tests/models/memory/machine.h"

#include <benchmark/benchmark.h>

using namespace rkperf;
using namespace rkperf::mem;
using namespace rkperf::mem::test;

namespace {

Machine& machine() {
    static std::unique_ptr<Machine> m = [] {
        auto made =
            std::make_unique<Machine>("m", std::vector<CoreSpec>{a76(), a55(), {cortex_a76_memory(), kA76Hertz}});
        made->tables.map(VirtAddr(0x10'0000'0000), PhysAddr(0x100'0000), 8 << 20);
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
        return made;
    }();
    return *m;
}

void walk_over(benchmark::State& state, unsigned core, std::uint64_t bytes, std::uint64_t step, Access kind) {
    TestCore& c = machine()[core];
    const PhysAddr base(0x1000'0000 + core * 0x400'0000ull);
    std::uint64_t at = 0;
    const auto one = [&] {
        CacheLine* line;
        const Timing t = c.mem.access(PhysAddr(base.v + at), kind, c.cycle, &line, step < 64 ? 16 : 8);
        c.cycle = t.ready;
        at = (at + step) % bytes;
        benchmark::DoNotOptimize(line);
    };
    for (std::uint64_t i = 0; i < 2 * bytes / step; ++i) one();
    for (auto _ : state) one();
}

void l1_hit(benchmark::State& s) { walk_over(s, 0, 16 << 10, 64, Access::load); }
void l1_store_hit(benchmark::State& s) { walk_over(s, 0, 16 << 10, 64, Access::atomic); }
void l2_hit(benchmark::State& s) { walk_over(s, 0, 256 << 10, 64, Access::load); }
void l3_hit(benchmark::State& s) { walk_over(s, 0, 2 << 20, 64, Access::load); }
void dram(benchmark::State& s) { walk_over(s, 0, 32 << 20, 64, Access::load); }
void dram_prefetched(benchmark::State& s) { walk_over(s, 2, 32 << 20, 64, Access::load); }
void fetch_hit(benchmark::State& s) { walk_over(s, 0, 16 << 10, 64, Access::fetch); }
void stream_store(benchmark::State& s) { walk_over(s, 2, 32 << 20, 16, Access::store); }

void translate(benchmark::State& state, std::uint64_t pages) {
    TestCore& c = machine()[0];
    std::uint64_t i = 0;
    for (auto _ : state) {
        const Translation t =
            c.mem.translate_data(VirtAddr(0x10'0000'0000 + (i++ % pages) * kPageSize), false, false, c.cycle);
        benchmark::DoNotOptimize(t.entry);
        c.cycle += t.cycles;
    }
}
void dtlb_hit(benchmark::State& s) { translate(s, 32); }
void l2tlb_hit(benchmark::State& s) { translate(s, 512); }
void table_walk(benchmark::State& s) { translate(s, 2048); }

BENCHMARK(l1_hit);
BENCHMARK(l1_store_hit);
BENCHMARK(l2_hit);
BENCHMARK(l3_hit);
BENCHMARK(dram);
BENCHMARK(dram_prefetched);
BENCHMARK(fetch_hit);
BENCHMARK(stream_store);
BENCHMARK(dtlb_hit);
BENCHMARK(l2tlb_hit);
BENCHMARK(table_walk);

} // namespace

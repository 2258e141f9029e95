// SPDX-License-Identifier: Apache-2.0
// Speed of the instruction bodies alone (a bare dispatch loop, all data in the line cache), and of decode().
#include "models/a64/insn.h"
#include "tests/models/a64/flat_memory.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace rkperf::a64 {
namespace {

constexpr std::uint64_t kPc = 0x400000, kData = 0x10000;
constexpr std::uint32_t kLoop[] = {
    0xb8627823, // 1: ldr w3, [x1, x2, lsl #2]
    0x91000442, // add x2, x2, #1
    0x92402442, // and x2, x2, #1023
    0x4a030000, // eor w0, w0, w3
    0x0b001400, // add w0, w0, w0, lsl #5
    0x53073c04, // ubfx w4, w0, #7, #9
    0xa9411be5, // ldp x5, x6, [sp, #16]
    0x9b0414c5, // madd x5, x6, x4, x5
    0xf9000be5, // str x5, [sp, #16]
    0x7103fc9f, // cmp w4, #255
    0x1a838087, // csel w7, w4, w3, hi
    0x36180047, // tbz w7, #3, 2f
    0x290413e7, // stp w7, w4, [sp, #32]
    0xf1000508, // 2: subs x8, x8, #1
    0x54fffe41, // b.ne 1b
    0xd4000001, // svc #0
};

void run_loop(benchmark::State& bench) {
    std::vector<Insn> code;
    for (const std::uint32_t raw : kLoop) code.push_back(decode(raw));
    CpuState s;
    test::FlatMemory memory(s);
    std::vector<std::uint8_t> bytes(2 * kPageSize);
    memory.map(kData, bytes.data(), bytes.size(), true);
    memory.fill_lines = true;
    std::uint64_t instructions = 0;
    for (auto _ : bench) {
        s.x[1] = kData;
        s.x[kSp] = kData + kPageSize;
        s.x[8] = 100000;
        s.pc = kPc;
        s.stop = Stop::none;
        while (s.stop == Stop::none) {
            const Insn& i = code[(s.pc - kPc) / 4];
            i.fn(s, i);
            ++instructions;
            if (!s.branch_taken) s.pc += 4;
            s.branch_taken = false;
        }
    }
    bench.SetItemsProcessed(static_cast<std::int64_t>(instructions));
}
BENCHMARK(run_loop);

void decode_words(benchmark::State& bench) {
    for (auto _ : bench) {
        for (const std::uint32_t raw : kLoop) benchmark::DoNotOptimize(decode(raw));
    }
    bench.SetItemsProcessed(static_cast<std::int64_t>(bench.iterations() * std::size(kLoop)));
}
BENCHMARK(decode_words);

} // namespace
} // namespace rkperf::a64

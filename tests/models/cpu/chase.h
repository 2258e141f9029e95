// SPDX-License-Identifier: Apache-2.0
// Pointer chases as sbc-bench's ramlat does them: through a buffer in steps of half, a quarter and so on of it, one
// 64-byte line each, against what boards measured (facts/rk3588.md section 5).
#pragma once

#include "tests/models/cpu/loops.h"

#include <bit>
#include <catch2/catch.hpp>

namespace rkperf::test {

inline constexpr std::uint64_t kChase = 0x80000000;

/// Links 2^bits lines in bit-reversed order into one ring.
inline void link_chase(Machine& m, unsigned bits) {
    const std::uint64_t lines = 1ull << bits;
    const auto place = [&](std::uint64_t i) {
        std::uint64_t reversed = 0;
        for (unsigned b = 0; b < bits; ++b) reversed |= (i >> b & 1) << (bits - 1 - b);
        return kChase + reversed * kLineSize;
    };
    for (std::uint64_t i = 0; i < lines; ++i) m.word(place(i)) = place((i + 1) % lines);
}

inline void add_chase(MakeCore make, unsigned kib) {
    Setup setup;
    setup.make = make;
    add_run("chase " + std::to_string(kib), setup, [kib](Machine& m, unsigned) {
        const unsigned bits = static_cast<unsigned>(std::bit_width(kib * 1024 / kLineSize)) - 1;
        m.map(kChase, std::uint64_t{kib} * 1024);
        link_chase(m, bits);
        m.use(0);
        m.load(kCode, looped({a::ldr(1, 1)}, 16));
        const std::uint64_t round = std::max<std::uint64_t>((1ull << bits) / 16, 64);
        for (unsigned warm = 0; warm < 2; ++warm) {
            a64::CpuState s;
            s.pc = kCode;
            s.x[0] = round;
            s.x[1] = kChase;
            const std::uint64_t before = m.el0(pmu_event::CPU_CYCLES);
            m.run(0, s);
            m.values["cycles"] = (m.el0(pmu_event::CPU_CYCLES) - before) * 1000 / (round * 16);
        }
    });
}
inline double chase_cycles(unsigned kib) {
    return static_cast<double>(machine("chase " + std::to_string(kib)).values.at("cycles")) / 1000;
}

} // namespace rkperf::test

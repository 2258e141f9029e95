// SPDX-License-Identifier: Apache-2.0
// Host time per simulated instruction. Body of the benchmark programs of the two cores: plain mains, as the work is done
// on a core's own thread. Prints one line per program: MIPS, host ns per instruction, simulated IPC.
#pragma once

#include "tests/models/cpu/mixed_program.h"
#include "tests/models/cpu/rig.h"

#include <cstdio>
#include <ctime>

namespace rkperf::test {

/// The mixed program's arithmetic without its unpredictable branches.
inline std::vector<a::W> straight_program() {
    using namespace a;
    return {
        eor(9, 9, 9, 0, 13),
        eor(9, 9, 9, 1, 7),
        eor(9, 9, 9, 0, 17),
        0x92402422u | 9u << 5 | 2u, // AND X2, X9, #0x3ff
        0xb8627823,
        add(3, 3, 5),
        0xb8227823,
        add_imm(5, 5, 1),
        mul(12, 9, 3),
        add(8, 8, 12),
        subs_imm(0, 0, 1),
        b_ne(-11),
        svc(),
    };
}

inline double processor_seconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

inline void bench(MakeCore make, const char* name, bool armed, bool simple, std::uint64_t iterations = 3'000'000) {
    const std::pair<const char*, std::vector<a::W>> programs[] = {
        {"straight", straight_program()}, {"mixed, 16 KiB", mixed_program(12)}, {"mixed, 256 KiB", mixed_program(16)}};
    for (const auto& [program, words] : programs) {
        Setup setup;
        setup.make = make;
        setup.simple = simple;
        setup.quantum_ps = 1'000'000'000'000; // the runs come one after the other, not in turns
        const std::string label = std::string(name) + (armed ? ", counter armed, " : ", ") + program;
        add_run(label, setup, [label, words, armed, iterations](Machine& m, unsigned) {
            m.use(0);
            m.load(kCode, words);
            if (armed) m.pmus[0]->arm(pmu_event::INST_RETIRED, 100'000, 1);
            for (std::uint64_t n : {iterations / 30, iterations}) {
                a64::CpuState s;
                s.pc = kCode;
                s.x[0] = n;
                s.x[1] = kData;
                s.x[9] = 88172645463325252ull;
                s.x[5] = 3;
                const std::uint64_t before = m.el0(pmu_event::INST_RETIRED), cycles = m.el0(pmu_event::CPU_CYCLES);
                const double start = processor_seconds();
                m.run(0, s);
                const double seconds = processor_seconds() - start;
                const auto done = static_cast<double>(m.el0(pmu_event::INST_RETIRED) - before);
                if (n < iterations) continue;
                std::printf("%-40s %7.1f MIPS %6.2f ns/instruction  IPC %.2f  mispredicts %.3f  L1D refills %.3f\n",
                            label.c_str(), done / seconds / 1e6, seconds / done * 1e9,
                            done / static_cast<double>(m.el0(pmu_event::CPU_CYCLES) - cycles),
                            static_cast<double>(m.el0(pmu_event::BR_MIS_PRED)) / done,
                            static_cast<double>(m.el0(pmu_event::L1D_CACHE_REFILL)) / done);
            }
        });
    }
}

} // namespace rkperf::test

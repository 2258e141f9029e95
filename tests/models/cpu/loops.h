// SPDX-License-Identifier: Apache-2.0
// Loops whose cost per iteration is measured in the core's own cycles.
#pragma once

#include "tests/models/cpu/asm.h"
#include "tests/models/cpu/rig.h"

#include <catch2/catch.hpp>

namespace rkperf::test {

inline constexpr std::uint64_t kIterations = 2000;

/// A body, repeated, closed by SUBS X0 and B.NE, and SVC.
inline std::vector<std::uint32_t> looped(const std::vector<std::uint32_t>& body, unsigned copies) {
    std::vector<std::uint32_t> p;
    for (unsigned i = 0; i < copies; ++i) p.insert(p.end(), body.begin(), body.end());
    p.push_back(a::subs_imm(0, 0, 1));
    p.push_back(a::b_ne(-static_cast<int>(p.size())));
    p.push_back(a::svc());
    return p;
}

/// Runs the loop once to warm up and once for the measurement; cycles of the latter, per copy of the body.
inline double cycles_per_copy(Machine& m, const std::vector<std::uint32_t>& body, unsigned copies,
                              const std::function<void(a64::CpuState&)>& prepare = {}) {
    m.use(0);
    m.load(kCode, looped(body, copies));
    double result = 0;
    for (std::uint64_t n : {kIterations / 10, kIterations}) {
        a64::CpuState s;
        s.x[1] = kData;
        if (prepare) prepare(s);
        s.x[0] = n;
        s.pc = kCode;
        const std::uint64_t before = m.el0(pmu_event::CPU_CYCLES);
        if (m.run(0, s) != cpu::UserExit::sync || s.stop != a64::Stop::svc)
            throw std::logic_error("loop ended with stop " + std::to_string(static_cast<int>(s.stop)) + " at " +
                                   std::to_string(s.pc));
        result = static_cast<double>(m.el0(pmu_event::CPU_CYCLES) - before) / static_cast<double>(n) / copies;
    }
    return result;
}

/// Registers a run that measures one loop into values["cycles"], in thousandths.
inline Run& measure(const std::string& name, MakeCore make, const std::vector<std::uint32_t>& body, unsigned copies,
                    const std::function<void(a64::CpuState&)>& prepare = {},
                    const std::function<void(Machine&)>& data = {}) {
    Setup setup;
    setup.make = make;
    return add_run(name, setup, [=](Machine& m, unsigned) {
        if (data) data(m);
        m.values["cycles"] = static_cast<std::uint64_t>(cycles_per_copy(m, body, copies, prepare) * 1000 + 0.5);
    });
}
/// Registers a run of prefetch instructions for lines in memory, far from each other, with a load of another one behind:
/// cycles of each, and of the load.
inline Run& measure_prefetches(const std::string& name, MakeCore make) {
    using namespace a;
    static constexpr std::uint64_t kFar = 0x80000000;
    static constexpr unsigned kBits = 23;
    Setup setup;
    setup.make = make;
    return add_run(name, setup, [=](Machine& m, unsigned) {
        m.map(kFar, 1ull << kBits);
        const auto prepare = [](a64::CpuState& s) { s.x[12] = kFar; };
        m.values["prefetch"] = static_cast<std::uint64_t>(cycles_per_copy(
            m, {add_imm(11, 11, 63 * kLineSize), and_low(kBits, 11, 11), add(13, 12, 11), prfm(13)}, 12, prepare));
        m.load(kCode + kPageSize, {ldr(2, 1), add(3, 2, 2), svc()});
        a64::CpuState s;
        s.x[1] = kFar + (1ull << kBits) - 8;
        s.pc = kCode + kPageSize;
        const std::uint64_t before = m.el0(pmu_event::CPU_CYCLES);
        m.run(0, s);
        m.values["load"] = m.el0(pmu_event::CPU_CYCLES) - before;
    });
}
inline void check_prefetches(const std::string& name) {
    auto& values = machine(name).values;
    // A line of the DRAM's takes a channel for some 5 ns; and a few rounds of misses may be in front of the load.
    CHECK(values.at("prefetch") >= 6);
    CHECK(values.at("load") < 2000);
}

inline double measured(const std::string& name) {
    Machine& m = machine(name);
    return static_cast<double>(m.values.at("cycles")) / 1000;
}

} // namespace rkperf::test

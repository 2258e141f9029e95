// SPDX-License-Identifier: Apache-2.0
// Branches: what a wrong prediction costs, and what the predictors learn.
#pragma once

#include "tests/models/cpu/loops.h"

#include <catch2/catch.hpp>

namespace rkperf::test {

struct BranchResult {
    double cycles, wrong; ///< per iteration
};

/// A loop of one copy; X9 random, X8 a counter.
inline void measure_branch(const std::string& name, MakeCore make, const std::vector<a::W>& body,
                           const std::function<void(a64::CpuState&)>& prepare = {}) {
    Setup setup;
    setup.make = make;
    add_run(name, setup, [=](Machine& m, unsigned) {
        const auto start = [&](a64::CpuState& s) {
            // Another sequence each time: the tables would learn one by heart.
            s.x[9] = 88172645463325252ull + m.cores[0]->cycle().v * 0x9e3779b97f4a7c15ull;
            if (prepare) prepare(s);
        };
        cycles_per_copy(m, body, 1, start);
        const std::uint64_t wrong = m.el0(pmu_event::BR_MIS_PRED);
        m.values["cycles"] = static_cast<std::uint64_t>(cycles_per_copy(m, body, 1, start) * 1000);
        m.values["wrong"] = (m.el0(pmu_event::BR_MIS_PRED) - wrong) * 10000 / 11 / kIterations;
    });
}
inline BranchResult branch_result(const std::string& name) {
    Machine& m = machine(name);
    return {static_cast<double>(m.values.at("cycles")) / 1000, static_cast<double>(m.values.at("wrong")) / 1000};
}

inline void add_branch_runs(MakeCore make) {
    using namespace a;
    const W x13 = eor(9, 9, 9, 0, 13), x7 = eor(9, 9, 9, 1, 7), x17 = eor(9, 9, 9, 0, 17);
    // Bit 8 of the generator, or of a register that stays 0: the same work, predictable.
    measure_branch("random", make, {x13, x7, x17, tbz(9, 8, 2), add_imm(3, 3, 1)});
    measure_branch("predictable", make, {x13, x7, x17, tbz(7, 8, 2), add_imm(3, 3, 1)});
    measure_branch("alternating", make, {add_imm(8, 8, 1), tbz(8, 0, 2), add_imm(3, 3, 1)});
    measure_branch("period 16", make, {add_imm(8, 8, 1), and_low(4, 4, 8), cbz(4, 2), add_imm(3, 3, 1)});
    measure_branch("call and return", make, {bl(2), b(3), add_imm(3, 3, 1), ret()});
    // Two targets in turn: by history only.
    measure_branch("indirect in turn", make,
                   {add_imm(8, 8, 1), and_low(1, 4, 8), add(5, 6, 4, 3), br(5), nop(), b(1), nop(), nop()},
                   [](a64::CpuState& s) { s.x[6] = kCode + 4 * 4; });
    measure_branch("indirect at random", make,
                   {x13, x7, x17, and_low(1, 4, 9), add(5, 6, 4, 3), br(5), nop(), b(1), nop(), nop()},
                   [](a64::CpuState& s) { s.x[6] = kCode + 6 * 4; });
}

/// `penalty`: cycles of a wrong prediction.
inline void check_branches(double penalty) {
    const BranchResult random = branch_result("random"), predictable = branch_result("predictable");
    CHECK(random.wrong == Approx(0.5).margin(0.06));
    CHECK(predictable.wrong < 0.01);
    CHECK((random.cycles - predictable.cycles) / random.wrong == Approx(penalty).margin(3));
    CHECK(branch_result("alternating").wrong < 0.02);
    CHECK(branch_result("period 16").wrong < 0.02);
    CHECK(branch_result("call and return").wrong < 0.01);
    CHECK(branch_result("indirect in turn").wrong < 0.05);
    CHECK(branch_result("indirect at random").wrong > 0.3);
}

} // namespace rkperf::test

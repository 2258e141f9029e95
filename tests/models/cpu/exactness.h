// SPDX-License-Identifier: Apache-2.0
// What must hold on every core: a counter wraps at the very instruction, whatever the quantum; interrupts come at the
// boundary; totals agree with one another. Instantiated by the tests of each core.
#pragma once

#include "tests/models/cpu/mixed_program.h"
#include "tests/models/cpu/rig.h"

#include <catch2/catch.hpp>

namespace rkperf::test {

inline constexpr std::uint64_t kMixedIterations = 3000;

inline a64::CpuState mixed_state(std::uint64_t iterations) {
    a64::CpuState s;
    s.pc = kCode;
    s.x[0] = iterations;
    s.x[1] = kData;
    s.x[9] = 88172645463325252ull;
    s.x[10] = 1;
    s.x[5] = 3;
    return s;
}

/// One run of the mixed program with a counter armed (period 0: none).
inline void run_mixed(Machine& m, EventNumber event, std::uint64_t period, std::uint8_t el_mask) {
    m.use(0);
    m.load(kCode, mixed_program());
    if (period) m.pmus[0]->arm(event, period, el_mask);
    a64::CpuState s = mixed_state(kMixedIterations);
    m.cores[0]->set_irq_mask(true);
    m.run(0, s);
    m.pmus[0]->disarm();
    m.cores[0]->charge({100, 20, 10, 15, 0, 0xffff800008012340});
    m.values["stop"] = static_cast<std::uint64_t>(s.stop);
    m.values["cycle"] = m.cores[0]->cycle().v;
    m.values["x8"] = s.x[8];
    for (unsigned el = 0; el < 2; ++el)
        for (unsigned e = 0; e < pmu_event::kCount; ++e)
            m.list.push_back(m.cores[0]->total(static_cast<EventNumber>(e), static_cast<ExceptionLevel>(el)));
}

struct EventCase {
    EventNumber event;
    std::uint64_t period;
    std::uint64_t most; ///< events one instruction may add at most
};

struct ExactRuns {
    std::vector<std::string> names;
    std::vector<EventCase> cases;
};

inline const std::uint64_t kQuanta[] = {1'000, 7'300, 1'000'000, 100'000'000, 1'000'000'000};

inline std::string exact_name(const EventCase& c, std::uint64_t quantum) {
    return "exact " + std::to_string(c.event) + " " + std::to_string(c.period) + " " + std::to_string(quantum);
}

/// Registers, for each event, runs with a counter armed under different quanta.
inline bool add_exact_runs(MakeCore make, const std::vector<EventCase>& cases) {
    for (const EventCase& c : cases)
        for (std::uint64_t q : kQuanta) {
            Setup setup;
            setup.make = make;
            setup.quantum_ps = q;
            add_run(exact_name(c, q), setup, [c](Machine& m, unsigned) { run_mixed(m, c.event, c.period, 1); });
        }
    for (std::uint64_t q : kQuanta) {
        Setup setup;
        setup.make = make;
        setup.quantum_ps = q;
        add_run("plain " + std::to_string(q), setup, [](Machine& m, unsigned) { run_mixed(m, 0, 0, 1); });
    }
    return true;
}

inline void check_exact(const std::vector<EventCase>& cases) {
    const Machine& plain = machine("plain " + std::to_string(kQuanta[0]));
    REQUIRE(plain.values.at("stop") == static_cast<std::uint64_t>(a64::Stop::svc));
    for (const EventCase& c : cases) {
        CAPTURE(c.event, c.period);
        const auto& reference = machine(exact_name(c, kQuanta[0])).pmus[0]->wraps;
        const std::uint64_t total = plain.list[c.event];
        REQUIRE(total > 2 * c.period);
        // Every wrap was seen, at the first instruction by which the total had reached it, and no later.
        const std::uint64_t expected = total / c.period;
        CHECK(reference.size() + (c.most - 1) / c.period >= expected);
        CHECK(reference.size() <= expected);
        std::uint64_t target = c.period;
        for (const FakePmu::Wrap& w : reference) {
            if (w.total < target || w.total >= target + c.most)
                FAIL("wrap at total " << w.total << ", due at " << target);
            target += c.period;
            while (target <= w.total) target += c.period;
        }
        for (std::uint64_t q : kQuanta) {
            CAPTURE(q);
            const Machine& other = machine(exact_name(c, q));
            const auto& wraps = other.pmus[0]->wraps;
            REQUIRE(wraps.size() == reference.size());
            for (std::size_t i = 0; i < wraps.size(); ++i) {
                if (wraps[i].total != reference[i].total || wraps[i].instructions != reference[i].instructions ||
                    wraps[i].cycle != reference[i].cycle || wraps[i].pc != reference[i].pc)
                    FAIL("wrap " << i << " at cycle " << wraps[i].cycle << " instead of " << reference[i].cycle);
            }
            // Counting, and where it stops, changes nothing.
            CHECK(other.list == plain.list);
            CHECK(other.values == plain.values);
        }
    }
}

inline void check_quanta() {
    const Machine& plain = machine("plain " + std::to_string(kQuanta[0]));
    for (std::uint64_t q : kQuanta) {
        CAPTURE(q);
        const Machine& other = machine("plain " + std::to_string(q));
        CHECK(other.values == plain.values);
        for (unsigned e = 0; e < 2 * pmu_event::kCount; ++e)
            if (other.list[e] != plain.list[e])
                FAIL("event " << e << ": " << other.list[e] << " instead of " << plain.list[e]);
    }
}

} // namespace rkperf::test

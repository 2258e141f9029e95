// SPDX-License-Identifier: Apache-2.0
// The fast execution loop beside the plain one: where a deadline stops them, what they count of wrong predictions, and code
// that changes under them. Instantiated by the tests of each core.
#pragma once

#include "tests/models/cpu/mixed_program.h"
#include "tests/models/cpu/rig.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <map>

namespace rkperf::test {

/// Deadlines some cycles apart, and where the core stopped for each. They do nothing else.
struct Marks : DeadlineSource {
    struct Mark {
        std::uint64_t due, cycle, pc, instructions;
    };
    Marks(cpu::Core& c, std::uint64_t apart) : core(c), step(apart), due(apart) {}
    Picoseconds next_deadline() const override { return core.clock().time_of(Cycles(due)); }
    void advance_to(Picoseconds) override {
        const std::uint64_t cycle = core.cycle().v;
        marks.push_back({due, cycle, core.present_pc(), core.total(pmu_event::INST_RETIRED, EL0)});
        while (due <= cycle) due += step;
    }
    cpu::Core& core;
    std::uint64_t step, due;
    std::vector<Mark> marks;
};
/// Of the run with this name.
inline std::map<std::string, std::deque<Marks>>& marks_of_runs() {
    static std::map<std::string, std::deque<Marks>> all;
    return all;
}

/// All that the core has counted at EL0, and its time.
inline void list_totals(Machine& m) {
    for (unsigned e = 0; e < pmu_event::kCount; ++e) m.list.push_back(m.el0(static_cast<EventNumber>(e)));
    m.list.push_back(m.cores[0]->cycle().v);
}

inline std::string path_name(const std::string& what, bool plain) { return what + (plain ? ", plain" : ", fast"); }

/// Runs `body` in a core of each kind of loop.
inline void add_both_paths(MakeCore make, const std::string& what, const std::function<void(Machine&, bool)>& body) {
    for (const bool plain : {false, true}) {
        Setup setup;
        setup.make = make;
        setup.plain = plain;
        add_run(path_name(what, plain), setup, [body, plain](Machine& m, unsigned) { body(m, plain); });
    }
}

/// A loop without accesses, whose blocks are remembered by nothing but the pipeline's state; one branch is unpredictable.
inline std::vector<a::W> loop_without_accesses() {
    using namespace a;
    return {
        /* 0 */ eor(9, 9, 9, 0, 13),
        /* 1 */ eor(9, 9, 9, 1, 7),
        /* 2 */ eor(9, 9, 9, 0, 17),
        /* 3 */ tbz(9, 8, 3),
        /* 4 */ mul(3, 3, 9),
        /* 5 */ add(3, 3, 5),
        /* 6 */ add_imm(5, 5, 1),
        /* 7 */ subs_imm(0, 0, 1),
        /* 8 */ b_ne(-8),
        /* 9 */ svc(),
    };
}
/// Where its blocks begin, if only by the end of another one.
inline bool begins_block(std::uint64_t pc) { return pc == kCode || pc == kCode + 4 * 4; }
inline const std::uint64_t kApart[] = {61, 97, 151, 227};
inline std::string marks_name(std::uint64_t apart) { return "deadlines " + std::to_string(apart); }

/// Two unpredictable branches. Loads, stores and others stand behind one way of each, and other ones behind the other.
inline std::vector<a::W> unpredictable_program() {
    using namespace a;
    return {
        /* 0 */ eor(9, 9, 9, 0, 13),
        /* 1 */ eor(9, 9, 9, 1, 7),
        /* 2 */ eor(9, 9, 9, 0, 17),
        /* 3 */ tbz(9, 8, 5),
        /* 4 */ ldr(3, 1, 0),
        /* 5 */ ldr(4, 1, 8),
        /* 6 */ ldr(6, 1, 16),
        /* 7 */ add(5, 5, 3),
        /* 8 */ str(9, 1, 24),
        /* 9 */ and_low(2, 6, 9),
        /* 10 */ cbz(6, 4),
        /* 11 */ mul(12, 9, 3),
        /* 12 */ fadd_d(1, 1, 2),
        /* 13 */ b(3),
        /* 14 */ str(9, 1, 32),
        /* 15 */ str(9, 1, 40),
        /* 16 */ subs_imm(0, 0, 1),
        /* 17 */ b_ne(-17),
        /* 18 */ svc(),
    };
}

/// A loop with an unpredictable branch, which its last pass overwrites: behind it then lies the way with loads or the one
/// with none. X4 passes; X11 is the number of one that goes another way, where code is decoded; X1 the branch's address, X13
/// data, X2 the new branch.
inline constexpr unsigned kOwnBranch = 3;
inline std::vector<a::W> program_that_changes_its_branch() {
    using namespace a;
    const W csel = 0x9a8d002c; // CSEL X12, X1, X13, EQ
    return {
        /* 0 */ eor(9, 9, 9, 0, 13),
        /* 1 */ eor(9, 9, 9, 1, 7),
        /* 2 */ eor(9, 9, 9, 0, 17),
        /* 3 */ tbz(9, 8, 4),
        /* 4 */ add_imm(5, 5, 1),
        /* 5 */ add_imm(6, 6, 1),
        /* 6 */ b(6),
        /* 7 */ add_imm(7, 7, 1),
        /* 8 */ b(4),
        /* 9 */ ldr(14, 13, 8),
        /* 10 */ ldr(15, 13, 16),
        /* 11 */ ldr(16, 13, 24),
        /* 12 */ eor(17, 4, 11),
        /* 13 */ cbz(17, 7),
        /* 14 */ subs_imm(4, 4, 1),
        /* 15 */ csel,
        /* 16 */ str_w(2, 12),
        /* 17 */ b_ne(-17),
        /* 18 */ b(3),
        /* 19 */ nop(),
        /* 20 */ b(-6), // to 14, when a pass has gone this way
        /* 21 */ svc(),
    };
}
inline a::W own_branch(bool to_loads) { return a::tbz(9, 8, to_loads ? 6 : 4); }

using a64::CpuState;

inline void add_path_runs(MakeCore make) {
    constexpr std::uint64_t kSeed = 88172645463325252ull;
    for (std::uint64_t apart : {std::uint64_t{1}, kApart[0], kApart[1], kApart[2], kApart[3]})
        add_both_paths(make, marks_name(apart), [apart](Machine& m, bool plain) {
            Marks& marks = marks_of_runs()[path_name(marks_name(apart), plain)].emplace_back(*m.cores[0], apart);
            m.cores[0]->add_deadline_source(marks);
            m.use(0);
            m.load(kCode, loop_without_accesses());
            CpuState s;
            s.pc = kCode;
            s.x[0] = 4000;
            s.x[9] = kSeed;
            m.run(0, s);
            m.values["stop"] = static_cast<std::uint64_t>(s.stop);
            list_totals(m);
        });

    add_both_paths(make, "mispredicts", [](Machine& m, bool) {
        m.use(0);
        m.load(kCode, unpredictable_program());
        CpuState s;
        s.x[1] = kData;
        s.x[9] = kSeed;
        for (std::uint64_t n : {2000, 1, 2, 3, 30, 300, 1000, 1000, 3000}) {
            s.pc = kCode;
            s.x[0] = n;
            m.run(0, s);
            list_totals(m);
        }
        m.values["stop"] = static_cast<std::uint64_t>(s.stop);
    });
    add_both_paths(make, "mixed", [](Machine& m, bool plain) {
        Marks& marks = marks_of_runs()[path_name("mixed", plain)].emplace_back(*m.cores[0], 61);
        m.cores[0]->add_deadline_source(marks);
        m.use(0);
        m.load(kCode, mixed_program());
        CpuState s;
        s.x[1] = kData;
        s.x[5] = 3;
        s.x[9] = kSeed;
        for (std::uint64_t n : {3000, 500}) {
            s.pc = kCode;
            s.x[0] = n;
            m.run(0, s);
            list_totals(m);
        }
        m.values["stop"] = static_cast<std::uint64_t>(s.stop);
    });
    add_both_paths(make, "own branch", [](Machine& m, bool) {
        m.use(0);
        m.load(kCode, program_that_changes_its_branch());
        CpuState s;
        s.x[9] = kSeed;
        s.x[1] = kCode + 4 * kOwnBranch;
        s.x[13] = kData;
        for (unsigned n = 0; n < 40; ++n) {
            s.pc = kCode;
            s.x[4] = 600 + n;
            s.x[11] = 20 + n % 7;
            s.x[2] = own_branch(n % 2 == 0);
            m.run(0, s);
            list_totals(m);
            m.values["branch " + std::to_string(n)] = *reinterpret_cast<std::uint32_t*>(m.host(s.x[1]));
        }
        m.values["stop"] = static_cast<std::uint64_t>(s.stop);
    });
}

/// The runs of both loops have the same results.
inline void check_both_paths(const std::string& what) {
    CAPTURE(what);
    const Machine &fast = machine(path_name(what, false)), &plain = machine(path_name(what, true));
    REQUIRE(fast.values.at("stop") == static_cast<std::uint64_t>(a64::Stop::svc));
    CHECK(fast.values == plain.values);
    REQUIRE(fast.list.size() == plain.list.size());
    constexpr std::size_t kEach = pmu_event::kCount + 1;
    for (std::size_t i = 0; i < fast.list.size(); ++i)
        if (fast.list[i] != plain.list[i])
            FAIL("look " << i / kEach << ", event " << i % kEach << ": " << fast.list[i] << " instead of "
                         << plain.list[i]);
}

} // namespace rkperf::test

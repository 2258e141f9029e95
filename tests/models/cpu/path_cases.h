// SPDX-License-Identifier: Apache-2.0
// The test cases of paths.h, included by the tests of each core.
#pragma once

#include "tests/models/cpu/paths.h"

namespace rkperf::test {

TEST_CASE(
    "a deadline stops the fast loop at the instruction that it stops the plain one at, whatever block it falls in",
    "[PMUV3-062]") {
    // With a deadline in each cycle the plain loop tells all there is to know of where the instructions end.
    std::map<std::uint64_t, const Marks::Mark*> ends;
    for (const Marks::Mark& e : marks_of_runs().at(path_name(marks_name(1), true)).front().marks) ends[e.cycle] = &e;
    REQUIRE(ends.size() > 10000);
    const auto ends_block = [&](std::uint64_t cycle) {
        const auto e = ends.find(cycle);
        return e != ends.end() && begins_block(e->second->pc);
    };
    check_both_paths(marks_name(1));
    unsigned at = 0, before = 0, after = 0; // the end of a block
    for (std::uint64_t apart : kApart) {
        CAPTURE(apart);
        check_both_paths(marks_name(apart));
        for (const bool plain : {true, false}) {
            CAPTURE(plain);
            const auto& marks = marks_of_runs().at(path_name(marks_name(apart), plain)).front().marks;
            REQUIRE(marks.size() > 100);
            for (const Marks::Mark& m : marks) {
                const auto e = ends.lower_bound(m.due);
                if (e == ends.end()) continue; // behind the program
                if (m.cycle != e->first || m.pc != e->second->pc || m.instructions != e->second->instructions)
                    FAIL("stopped for cycle " << m.due << " at " << m.cycle << ", pc " << std::hex << m.pc << std::dec
                                              << " instead of " << e->first);
                at += ends_block(m.due);
                before += ends_block(m.due + 1);
                after += ends_block(m.due - 1);
            }
        }
    }
    CHECK(at > 100);
    CHECK(before > 100);
    CHECK(after > 100);
}

TEST_CASE("a deadline stops both loops at the same instruction where accesses miss now and then", "[PMUV3-062]") {
    check_both_paths("mixed");
    const auto &fast = marks_of_runs().at(path_name("mixed", false)).front().marks,
               &plain = marks_of_runs().at(path_name("mixed", true)).front().marks;
    REQUIRE(plain.size() > 1000);
    REQUIRE(fast.size() == plain.size());
    for (std::size_t i = 0; i < fast.size(); ++i)
        if (fast[i].cycle != plain[i].cycle || fast[i].pc != plain[i].pc ||
            fast[i].instructions != plain[i].instructions)
            FAIL("mark " << i << " at cycle " << fast[i].cycle << " instead of " << plain[i].cycle);
}

TEST_CASE("wrong predictions that are noted late are those that are noted at once", "[PMUV3-062]") {
    check_both_paths("mispredicts");
    const Machine& m = machine(path_name("mispredicts", false));
    CHECK(m.list.at(m.list.size() - pmu_event::kCount - 1 + pmu_event::BR_MIS_PRED) > 2000);
}

TEST_CASE("what was issued behind a branch does not change with a later store to the branch") {
    check_both_paths("own branch");
    for (unsigned n = 0; n < 40; ++n)
        CHECK(machine(path_name("own branch", false)).values.at("branch " + std::to_string(n)) ==
              own_branch(n % 2 == 0));
}

} // namespace rkperf::test

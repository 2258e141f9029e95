// SPDX-License-Identifier: Apache-2.0
// Remembered blocks: when two states are one, what a table holds, and that the predictor's short cut is none.
#include "models/cpu/replay.h"
#include "models/cpu/branch_predictor.h"

#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace {

using namespace rkperf;
using namespace rkperf::cpu;

PipeImage image(std::initializer_list<std::uint64_t> words) {
    PipeImage i;
    for (std::uint64_t w : words) i.put(w);
    return i;
}

TEST_CASE("states with the same image are one") {
    ReplayTable table;
    PipeState* const a = table.state(image({1, 2, 3, 4, 5}), [] { return 300u; });
    REQUIRE(a);
    CHECK(a->ceiling == 300);
    CHECK(table.state(image({1, 2, 3, 4, 5}), [] { return 300u; }) == a);
    CHECK(table.state(image({1, 2, 3, 4, 6}), [] { return 300u; }) != a);
    CHECK(table.state(image({1, 2, 3, 4}), [] { return 300u; }) != a);
    table.clear();
    CHECK(table.state(image({1, 2, 3, 4, 5}), [] { return 7u; })->ceiling == 7);
}

TEST_CASE("an image holds no number of more than 16 bits") {
    CHECK(image({0xffff}).fits());
    CHECK_FALSE(image({0x10000}).fits());
    CHECK_FALSE(image({~std::uint64_t{0}, 1}).fits());
}

TEST_CASE("a table has an end and says so") {
    ReplayTable table;
    std::uint64_t n = 0;
    while (n < 1000000 && table.state(image({n >> 16, n & 0xffff}), [] { return 0u; })) ++n;
    CHECK(n < 1000000);
    CHECK(table.full());
    CHECK(table.state(image({0, 0}), [] { return 0u; })); // what is there is found
    table.clear();
    CHECK_FALSE(table.full());
    CHECK(table.state(image({1, 1}), [] { return 0u; }));
}

TEST_CASE("a block is remembered in a state with a few kinds of inputs, each known or about to be") {
    ReplayTable table;
    Block block, other;
    PipeState& state = *table.state(image({1}), [] { return 0u; });
    ReplayNode* const first = table.add(state, block);
    REQUIRE(first);
    CHECK(table.add(state, block) == first); // not known yet
    CHECK(table.add(state, other) != first);
    unsigned variants = 0;
    while (ReplayNode* n = table.add(state, block)) {
        n->known = true;
        REQUIRE(++variants < 100);
    }
    CHECK(variants > 1);
}

TEST_CASE("a node keeps its inputs when others get theirs") {
    ReplayTable table;
    Block block;
    std::vector<ReplayNode*> nodes;
    for (std::uint64_t n = 0; n < 2000; ++n) {
        ReplayNode* const node = table.add(*table.state(image({n}), [] { return 0u; }), block);
        REQUIRE(node);
        std::vector<ReplayInput> inputs(n % 5);
        for (ReplayInput& i : inputs) i.done = static_cast<std::uint16_t>(n);
        REQUIRE(table.set_inputs(*node, inputs));
        nodes.push_back(node);
    }
    for (std::uint64_t n = 0; n < nodes.size(); ++n) {
        REQUIRE(static_cast<std::uint64_t>(nodes[n]->last_input - nodes[n]->first_input) == n % 5);
        for (const ReplayInput* i = nodes[n]->first_input; i != nodes[n]->last_input; ++i) REQUIRE(i->done == n);
    }
}

TEST_CASE("an access that was no plain hit is remembered with what it took, and a few kinds of inputs in front of it") {
    ReplayTable table;
    Block block;
    PipeState& state = *table.state(image({1}), [] { return 0u; });
    ReplayNode& whole = *table.add(state, block);
    whole.known = true;
    ReplayInput input;
    input.done = 7;
    ReplayCut* const cut = table.add_cut(whole, 3, {&input, 1});
    REQUIRE(cut);
    CHECK(cut->op == 3);
    CHECK(cut->block == &block);
    REQUIRE(cut->last_input - cut->first_input == 1);
    CHECK(cut->first_input->done == 7);
    CHECK_FALSE(cut->find(20, 4));
    cut->variants[cut->count++] = {
        .access = {}, .took = 20, .slow = 4, .cycles = 1, .state = &state, .next = nullptr, .stalls = {}};
    CHECK(cut->find(20, 4) == &cut->variants[0]);
    CHECK_FALSE(cut->find(21, 4));
    CHECK_FALSE(cut->find(20, 2));
    unsigned cuts = 1;
    while (table.add_cut(whole, 3, {})) REQUIRE(++cuts < 100);
    CHECK(cuts > 1);
    CHECK(table.add_cut(whole, 5, {})); // another access
    // The rest of a block is none of its beginnings.
    CHECK(table.add(state, block, 4) != table.add(state, block));
    CHECK(table.add(state, block, 4) == table.add(state, block, 4));
}

TEST_CASE("what the predictor is sure of it would have said, and learned nothing from") {
    const PredictorParams params{.bimodal = 256,
                                 .tagged = 128,
                                 .history = {4, 9, 20, 40},
                                 .nano_btb = 16,
                                 .micro_btb = 32,
                                 .main_btb_sets = 16,
                                 .main_btb_ways = 2,
                                 .indirect = 64,
                                 .return_stack = 8,
                                 .nano_bubble = 0,
                                 .micro_bubble = 1,
                                 .main_bubble = 2,
                                 .decode_bubble = 5};
    using a64::InsnKind;
    BranchPredictor quick(params), plain(params);
    std::mt19937 random(1);
    unsigned sure = 0;
    std::vector<std::uint64_t> calls;
    for (unsigned n = 0; n < 200000; ++n) {
        // A loop of twelve branches, a few of them unpredictable, with calls and returns between.
        const std::uint64_t pc = 0x1000 + n % 12 * 20, target = pc + 0x40;
        InsnKind kind = InsnKind::branch_cond;
        bool taken = true;
        std::uint64_t to = target;
        switch (n % 12) {
            case 2: taken = random() & 1; break;
            case 4: taken = n / 12 % 5 != 0; break;
            case 5: kind = InsnKind::branch_immed; break;
            case 6:
                kind = InsnKind::branch_call;
                calls.push_back(pc + 4);
                break;
            case 7:
                kind = InsnKind::branch_return;
                to = random() % 50 ? calls.back() : 0x77770;
                calls.pop_back();
                break;
            case 8: kind = InsnKind::branch_indirect; break;
            case 9: taken = false; break;
            default: break;
        }
        const bool conditional = kind == InsnKind::branch_cond;
        const Resolution right = plain.resolve(kind, pc, taken, to);
        if (conditional ? quick.always(pc, taken) : quick.always(kind, pc, to)) {
            ++sure;
            REQUIRE(right.mispredict == Mispredict::none);
            if (taken) REQUIRE(right.bubble == quick.least_bubble());
            if (conditional) {
                quick.as_always(taken, to);
            } else {
                quick.as_always(kind, pc, to);
            }
        } else {
            const Resolution r = quick.resolve(kind, pc, taken, to);
            REQUIRE(r.mispredict == right.mispredict);
            REQUIRE(r.bubble == right.bubble);
        }
    }
    CHECK(sure > 50000);
}

} // namespace

TEST_CASE("of the registers those with a later time are looked at") {
    std::array<std::uint64_t, 16> a{}, b{};
    const auto seen = [&](std::uint64_t at) {
        std::vector<unsigned> later;
        rkperf::cpu::each_later(at, a, b, [&](unsigned r) {
            if (a[r] > at || b[r] > at) later.push_back(r);
        });
        return later;
    };
    CHECK(seen(0).empty());
    a[3] = 10;
    b[15] = 11;
    CHECK(seen(9) == std::vector<unsigned>{3, 15});
    CHECK(seen(10) == std::vector<unsigned>{15});
    CHECK(seen(11).empty());
    unsigned calls = 0;
    rkperf::cpu::each_later(10, a, b, [&](unsigned) { ++calls; });
    CHECK(calls == 8); // half of them are not looked at
}

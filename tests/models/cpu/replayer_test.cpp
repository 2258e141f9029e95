// SPDX-License-Identifier: Apache-2.0
// The replayer of remembered blocks in front of a pipeline of a few lines: what it says of a block's end before the block is
// entered, and what it keeps of wrong predictions for later.
#include "models/cpu/replayer.h"

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <tuple>
#include <vector>

namespace {

using namespace rkperf;
using namespace rkperf::cpu;

/// A block takes as many cycles as it has operations, and as many more as its number in a turn of three says, which is the
/// pipeline's state; it has retired a while after.
struct TurningPipe {
    static constexpr bool kReplays = true, kReadsAddresses = false;
    static constexpr unsigned kYield = 0, kTurn = 3, kRetires = 5;
    std::uint64_t present() const { return cycle; }
    void save(PipeImage& image, bool = false) const { image.put(turn); }
    void restore(std::span<const std::uint16_t> words, std::uint64_t at) {
        turn = PipeImageReader(words).get();
        cycle = at;
        ++restored;
    }
    void enter_block(unsigned, BlockPlace) { ++entered; }
    void place(const Block& b) {
        cycle += b.size + turn;
        turn = (turn + 1) % kTurn;
    }
    void leads_to(unsigned outcome) {
        if (outcome >= ReplayNode::kMispredicted) cycle += 20;
    }
    std::uint64_t retired() const { return cycle + kRetires; }
    std::uint64_t ceiling() const { return cycle + 100; }
    std::uint64_t least_ceiling(std::uint64_t) const { return cycle + 50; }
    std::uint64_t cycle{1000};
    unsigned turn{}, entered{}, restored{};
};

/// Goes about blocks as a core does.
class Bench {
  public:
    Bench() : replayer(pipe_, stalls_, counted_) {}
    static Block block(unsigned size, bool has_inputs = false) {
        Block b;
        b.size = static_cast<std::uint16_t>(size);
        b.has_inputs = has_inputs;
        b.ops.resize(size + 1);
        return b;
    }
    /// Executes the block. True if it did not have to be placed.
    bool run(Block& b, unsigned outcome = ReplayNode::kNotTaken) {
        const bool known = replayer.enter(b);
        if (!known) pipe_.enter_block(b.fetches, b.place);
        twin_.place(b);
        twin_.leads_to(outcome);
        if (known && replayer.finish(outcome, notes_)) return true;
        place(b, outcome);
        return false;
    }
    /// The same of a block that ends in a conditional branch at `pc`. Notes at once what is not left for later.
    bool run_conditional(Block& b, unsigned outcome, std::uint64_t pc) {
        const bool known = replayer.enter(b);
        if (!known) pipe_.enter_block(b.fetches, b.place);
        twin_.place(b);
        twin_.leads_to(outcome);
        if (known && replayer.finish_conditional(outcome, notes_, pc)) return true;
        if (!known || !replayer.finish(outcome, notes_)) place(b, outcome);
        return false;
    }
    /// Until all there is to know of the block is known, and the next one comes in the first turn.
    void learn(Block& b) {
        for (unsigned n = 0; n < 4 * TurningPipe::kTurn; ++n) run(b);
        while (twin_.turn != 0) run(b);
    }
    /// When the block would have retired if it was entered next.
    std::uint64_t retires(const Block& b) const {
        TurningPipe pipe = twin_;
        pipe.place(b);
        return pipe.retired();
    }
    const TurningPipe& twin() const { return twin_; } ///< in which every block is placed
    const TurningPipe& pipe() const { return pipe_; }

  private:
    void place(Block& b, unsigned outcome) {
        pipe_.place(b);
        if (replayer.recording()) replayer.recorded_block(b.size);
        pipe_.leads_to(outcome);
        if (replayer.recording()) replayer.recorded_exit(outcome);
    }
    TurningPipe pipe_, twin_;
    StallCounts stalls_;
    ReplayNode* counted_{};
    std::uint64_t notes_[kNoteSlots]{};

  public:
    Replayer<TurningPipe> replayer;
};

TEST_CASE("a known block is let in if it has retired in front of the deadline, and not at it", "[PMUV3-062]") {
    Bench bench;
    Block b = Bench::block(7);
    bench.learn(b);
    for (unsigned n = 0; n < 40; ++n) {
        const std::uint64_t end = bench.retires(b);
        CAPTURE(n, end);
        CHECK(end == bench.twin().present() + 7 + bench.twin().turn + TurningPipe::kRetires);
        CHECK_FALSE(bench.replayer.ends_before(b, end - 1));
        CHECK_FALSE(bench.replayer.ends_before(b, end));
        CHECK(bench.replayer.ends_before(b, end + 1));
        CHECK_FALSE(bench.replayer.ends_before(b, 0));
        // Asking has changed nothing, and the answer holds whatever becomes of the branch.
        REQUIRE(bench.run(b));
        if (n % 4 == 0) {
            bench.replayer.sync();
            CHECK(bench.pipe().cycle == bench.twin().cycle);
            CHECK(bench.pipe().turn == bench.twin().turn);
            // Not at once again, as it is dear to find out where the pipeline stands.
            unsigned asked = 1;
            while (!bench.replayer.ends_before(b, bench.retires(b) + 1)) REQUIRE(++asked < 10);
            CHECK_FALSE(bench.replayer.ends_before(b, bench.retires(b)));
        }
    }
}

TEST_CASE("nothing is said of a block that is not known in the present state, or has inputs") {
    constexpr std::uint64_t kFar = 1u << 30;
    Bench bench;
    Block b = Bench::block(7), other = Bench::block(3), with_inputs = Bench::block(4, true);
    for (unsigned n = 0; n < 10; ++n) CHECK_FALSE(bench.replayer.ends_before(b, kFar));
    bench.learn(b);
    CHECK(bench.replayer.ends_before(b, kFar));
    CHECK_FALSE(bench.replayer.ends_before(other, kFar));
    bench.learn(with_inputs);
    CHECK_FALSE(bench.replayer.ends_before(with_inputs, kFar));
    // Two that are known in the same state: each has its own end, whichever came last.
    bench.learn(other);
    for (unsigned n = 0; n < 6; ++n) {
        CAPTURE(n);
        CHECK(bench.retires(b) != bench.retires(other));
        for (const Block* of : {&b, &other, &b}) {
            CHECK_FALSE(bench.replayer.ends_before(*of, bench.retires(*of)));
            CHECK(bench.replayer.ends_before(*of, bench.retires(*of) + 1));
        }
        REQUIRE(bench.run(n % 2 ? b : other));
    }
    bench.replayer.forget();
    for (unsigned n = 0; n < 10; ++n) CHECK_FALSE(bench.replayer.ends_before(b, kFar));
}

TEST_CASE("a block of which only a branch that went wrong was seen ends when it ends") {
    Bench bench;
    Block b = Bench::block(6);
    for (unsigned n = 0; n < 12; ++n) bench.run(b, ReplayNode::kMispredicted);
    for (unsigned n = 0; n < 6; ++n) {
        const std::uint64_t end = bench.retires(b); // without what the branch takes
        CHECK(bench.replayer.ends_before(b, end + 1));
        CHECK_FALSE(bench.replayer.ends_before(b, end));
        REQUIRE(bench.run(b, ReplayNode::kMispredicted));
    }
}

TEST_CASE("each wrong prediction that is left for later is told of once, with its block, direction and wrong path") {
    Bench bench;
    using Key = std::tuple<const DecodedOp*, std::uint64_t, bool, std::uint64_t>; // branch, pc, taken, wrong path
    std::map<Key, std::uint64_t> left, told;
    const auto tell = [&] {
        unsigned calls = 0;
        bench.replayer.each_mispredict(
            [&](const DecodedOp& branch, std::uint64_t pc, bool taken, std::uint64_t wrong_path, std::uint32_t times) {
                CHECK(times > 0);
                told[{&branch, pc, taken, wrong_path}] += times;
                ++calls;
            });
        return calls;
    };
    std::array<Block, 3> blocks{Bench::block(7), Bench::block(3), Bench::block(5)};
    std::uint32_t random = 1;
    std::uint64_t all = 0;
    for (unsigned n = 0; n < 20000; ++n) {
        random = random * 1664525 + 1013904223;
        Block& b = blocks[random >> 20 & 1 ? 0 : 1 + (random >> 21 & 1)];
        const std::uint64_t pc = 0x1000 + 0x100 * static_cast<std::uint64_t>(&b - blocks.data());
        const bool taken = random >> 24 & 1, wrong = (random >> 25 & 3) == 0;
        const unsigned outcome = wrong   ? ReplayNode::kMispredicted + taken
                                 : taken ? ReplayNode::kTaken + (random >> 27 & 1)
                                         : ReplayNode::kNotTaken;
        if (bench.run_conditional(b, outcome, pc) && wrong) {
            ++left[{&b.ops[b.size - 1u], pc, taken, b.size}];
            ++all;
        }
        if (n % 257 == 0) {
            tell();
            REQUIRE(told == left);
            CHECK(tell() == 0);
        }
        if (n % 1000 == 0) bench.replayer.sync();
    }
    tell();
    CHECK(told == left);
    CHECK(left.size() == 6); // three blocks, two directions
    CHECK(all > 4000);
    CHECK(bench.replayer.ceiling() > bench.twin().cycle);
    bench.replayer.sync();
    CHECK(bench.pipe().cycle == bench.twin().cycle);
}

} // namespace

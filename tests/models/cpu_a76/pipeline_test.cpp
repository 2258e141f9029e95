// SPDX-License-Identifier: Apache-2.0
// Cortex-A76: rules of fetch and of the queues that no single latency shows.
#include "models/cpu_a76/pipeline.h"
#include "models/cpu_a76/timing.h"

#include <catch2/catch.hpp>

namespace {

using namespace rkperf;

constexpr std::uint32_t kNop = 0xd503201f, kBranch = 0x14000002, kLoadX2FromX1 = 0xf9400022, kStoreX2 = 0xf9000022;

struct Rig {
    cpu::StallCounts stalls;
    cpu_a76::Pipeline pipe{stalls,
                           {.mispredict_penalty = 11,
                            .run_ahead = 8,
                            .prediction_lead = 24,
                            .load_queue = 56,
                            .store_queue = 44,
                            .split_penalty = 7,
                            .partial_forward = 4}};
    Rig() { pipe.restart(1000); }

    /// A block of operations that wait for nothing, and a branch, which is taken and costs the predictor nothing.
    void block(unsigned start, unsigned size) {
        pipe.enter_block(0, {start, size});
        for (unsigned n = 1; n < size; ++n) pipe.general(cpu::make_op(kNop, cpu_a76::timing_of));
        (void)pipe.branch(cpu::make_op(kBranch, cpu_a76::timing_of));
        pipe.taken(0);
    }
    double cycles_of_blocks(unsigned start, unsigned size) {
        constexpr unsigned kTimes = 1000;
        for (unsigned n = 0; n < kTimes; ++n) block(start, size);
        const std::uint64_t before = pipe.present();
        for (unsigned n = 0; n < kTimes; ++n) block(start, size);
        return static_cast<double>(pipe.present() - before) / kTimes;
    }
};

} // namespace

TEST_CASE("four instructions a cycle are fetched from a window of 32 bytes, from wherever it is entered", "[a76]") {
    Rig r;
    SECTION("four from its beginning") { CHECK(r.cycles_of_blocks(0, 4) == Approx(1).margin(0.01)); }
    SECTION("four from its midst, which are in two aligned parts of 16 bytes") {
        CHECK(r.cycles_of_blocks(2, 4) == Approx(1).margin(0.01));
    }
    SECTION("four from the end of one and the beginning of the next") {
        CHECK(r.cycles_of_blocks(6, 4) == Approx(2).margin(0.01));
    }
    SECTION("nine, three of them before the next") { CHECK(r.cycles_of_blocks(5, 9) == Approx(3).margin(0.01)); }
    SECTION("two from its beginning, and two behind that branch if it is not taken, at once") {
        constexpr unsigned kTimes = 1000;
        std::uint64_t before = 0;
        for (unsigned n = 0; n < 2 * kTimes; ++n) {
            if (n == kTimes) before = r.pipe.present();
            r.pipe.enter_block(0, {0, 2});
            r.pipe.general(cpu::make_op(kNop, cpu_a76::timing_of));
            (void)r.pipe.branch(cpu::make_op(0x54000041, cpu_a76::timing_of));
            r.pipe.enter_block(0, {2, 2});
            r.pipe.general(cpu::make_op(kNop, cpu_a76::timing_of));
            r.pipe.general(cpu::make_op(kNop, cpu_a76::timing_of));
            r.pipe.taken(0);
        }
        CHECK(static_cast<double>(r.pipe.present() - before) / kTimes == Approx(1).margin(0.01));
    }
}

TEST_CASE("no more loads and stores are dispatched than their queues hold", "[a76]") {
    const bool stores = GENERATE(false, true);
    const std::uint32_t raw = stores ? kStoreX2 : kLoadX2FromX1;
    const unsigned places = stores ? 44 : 56;
    CAPTURE(places);
    Rig r;
    // given one whose data come late
    constexpr unsigned kLate = 200;
    const auto access = [&](std::uint64_t wait) {
        const cpu::DecodedOp op = cpu::make_op(raw, cpu_a76::timing_of);
        const std::uint64_t at = r.pipe.begin(op);
        if (op.is_store) {
            r.pipe.store(op, at, at + wait, wait ? cpu::slow::cache_miss : 0, 0x1000);
        } else {
            r.pipe.load(op, at, at + wait, wait ? cpu::slow::cache_miss : 0, 0x1000);
        }
        return at;
    };
    const std::uint64_t first = access(kLate);
    // when as many follow as there is room for
    for (unsigned n = 1; n < places; ++n) CHECK(access(0) < first + kLate);
    // then the next one waits for it
    CHECK(access(0) >= first + kLate);
}

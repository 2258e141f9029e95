// SPDX-License-Identifier: Apache-2.0
// Cortex-A55: rules of issue that no single latency shows.
#include "models/cpu_a55/pipeline.h"
#include "models/cpu_a55/timing.h"

#include <catch2/catch.hpp>

namespace {

using namespace rkperf;

constexpr std::uint32_t kLoadX2FromX1 = 0xf9400022, kLoadX3FromX2 = 0xf9400043, kLoadX4FromX0 = 0xf9400004;
constexpr std::uint32_t kAddX5X2 = 0x91000445, kLoadQ = 0x3dc00002, kFaddD = 0x1e632820, kAddX6 = 0x910004c6;

struct Rig {
    cpu::StallCounts stalls;
    cpu_a55::Pipeline pipe{stalls,
                           {.mispredict_penalty = 8,
                            .run_ahead = 6,
                            .store_buffer = 5,
                            .chase_bonus = 1,
                            .replay = 18,
                            .prefetch = 20,
                            .prefetch_beyond = 30}};
    Rig() { pipe.restart(1000); }
    /// Issues a load whose data come `wait` cycles late; returns when it issued.
    std::uint64_t load(std::uint32_t raw, unsigned wait = 0, std::uint32_t slow = 0) {
        const cpu::DecodedOp op = cpu::make_op(raw, cpu_a55::timing_of);
        const std::uint64_t at = pipe.begin(op);
        pipe.load(op, at, at + wait, slow, 0);
        return at;
    }
    std::uint64_t general(std::uint32_t raw) {
        pipe.general(cpu::make_op(raw, cpu_a55::timing_of));
        return pipe.present();
    }
};

} // namespace

TEST_CASE("an address that comes from a load that missed is used 18 cycles after it at the earliest", "[a55]") {
    Rig r;
    const std::uint64_t first = r.load(kLoadX2FromX1, 6, cpu::slow::cache_miss);
    SECTION("by a load") { CHECK(r.load(kLoadX3FromX2) == first + 18); }
    SECTION("not by other instructions, which need the data only") { CHECK(r.general(kAddX5X2) == first + 6 + 3); }
    SECTION("nor by loads from elsewhere") { CHECK(r.load(kLoadX4FromX0) == first + 1); }
}

TEST_CASE("prefetch instructions go one at a time, whatever they find", "[a55]") {
    constexpr std::uint32_t kPldL1 = 0xf9800000, kPldL2Strm = 0xf9800003;
    Rig r;
    SECTION("for the L1") {
        const std::uint64_t first = r.load(kPldL1);
        CHECK(r.load(kPldL2Strm) == first + 20);
    }
    SECTION("for the L2, which take longer") {
        const std::uint64_t first = r.load(kPldL2Strm);
        CHECK(r.load(kPldL1) == first + 30);
    }
    SECTION("loads pass them by") {
        const std::uint64_t first = r.load(kPldL1);
        CHECK(r.load(kLoadX4FromX0) == first + 1);
        CHECK(r.load(kPldL1) == first + 20);
    }
    SECTION("later ones do not wait") {
        const std::uint64_t first = r.load(kPldL1);
        r.pipe.restart(first + 100);
        CHECK(r.load(kPldL1) == first + 100);
    }
}

TEST_CASE("an address that comes from a load that waited longer is used when it is there", "[a55]") {
    Rig r;
    const std::uint64_t first = r.load(kLoadX2FromX1, 40, cpu::slow::cache_miss);
    CHECK(r.load(kLoadX3FromX2) == first + 40 + 2);
}

TEST_CASE("an address that comes from a load that hit is used two cycles after it", "[a55]") {
    Rig r;
    const std::uint64_t first = r.load(kLoadX2FromX1);
    CHECK(r.load(kLoadX3FromX2) == first + 2);
}

TEST_CASE("a load of 128 bits keeps the load unit for a second cycle, and nothing else", "[a55]") {
    Rig r;
    const std::uint64_t first = r.load(kLoadQ);
    SECTION("a load waits") { CHECK(r.load(kLoadX4FromX0) == first + 2); }
    SECTION("an FP operation goes in the second cycle") { CHECK(r.general(kFaddD) == first + 1); }
    SECTION("one on integers does, too") { CHECK(r.general(kAddX6) == first + 1); }
}

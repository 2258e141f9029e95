// SPDX-License-Identifier: Apache-2.0
// Cortex-A55: rules of issue that no single latency shows.
#include "models/cpu_a55/pipeline.h"
#include "models/cpu_a55/timing.h"

#include <catch2/catch.hpp>

namespace {

using namespace rkperf;

constexpr std::uint32_t kLoadX2FromX1 = 0xf9400022, kLoadX3FromX2 = 0xf9400043, kLoadX4FromX0 = 0xf9400004;
constexpr std::uint32_t kAddX5X2 = 0x91000445, kLoadQ = 0x3dc00002, kFaddD = 0x1e632820, kAddX6 = 0x910004c6,
                        kStoreX2 = 0xf9000022;

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
    std::uint64_t store(std::uint32_t raw, unsigned wait = 0, std::uint32_t slow = 0) {
        const cpu::DecodedOp op = cpu::make_op(raw, cpu_a55::timing_of);
        const std::uint64_t at = pipe.begin(op);
        pipe.store(op, at, at + wait, slow, 0);
        return at;
    }
    std::uint64_t general(std::uint32_t raw) {
        pipe.general(cpu::make_op(raw, cpu_a55::timing_of));
        return pipe.present();
    }
    /// Another operation without memory access; returns when it issued.
    std::uint64_t place(std::uint32_t raw, unsigned quotient_bits = 0) {
        const cpu::DecodedOp op = cpu::make_op(raw, cpu_a55::timing_of);
        const std::uint64_t before = pipe.retired(); // it issues in the cycle before that at the earliest
        switch (op.group) {
            case cpu::OpGroup::simple: pipe.simple(op); break;
            case cpu::OpGroup::flags: pipe.flags(op); break;
            case cpu::OpGroup::divide: pipe.divide(op, quotient_bits); break;
            case cpu::OpGroup::branch: return pipe.branch(op);
            case cpu::OpGroup::store: return store(raw);
            default: pipe.general(op); break;
        }
        return std::max(before, pipe.retired()) - 1;
    }
};

} // namespace

TEST_CASE("an address that comes from a load that missed is used 18 cycles after it at the earliest", "[a55]") {
    Rig r;
    const std::uint64_t first = r.load(kLoadX2FromX1, 6, cpu::slow::cache_miss);
    SECTION("by a load") { CHECK(r.load(kLoadX3FromX2) == first + 18); }
    SECTION("not by other instructions, which need the data only") { CHECK(r.place(kAddX5X2) == first + 6 + 2); }
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
    SECTION("and each has its place among the misses before the next") {
        const std::uint64_t first = r.load(kPldL1, 50, cpu::slow::cache_miss);
        CHECK(r.load(kLoadX4FromX0) == first + 1);
        CHECK(r.place(kAddX6) == first + 1);
        CHECK(r.load(kPldL1) == first + 50);
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

TEST_CASE("what gives back a result of a line that is not there holds what has not issued when it comes to wr",
          "[a55]") {
    constexpr std::uint32_t kLdaddX4 = 0xf8250004, kStadd = 0xf825001f, kStxrW7 = 0xc8077c05, kStrX5 = 0xf9000005;
    constexpr unsigned kWait = 100, kTranslation = 30;
    Rig r;
    const auto store = [&](std::uint32_t raw, unsigned wait, std::uint32_t slow) {
        const cpu::DecodedOp op = cpu::make_op(raw, cpu_a55::timing_of);
        const std::uint64_t at = r.pipe.begin(op);
        r.pipe.store(op, at, at + wait, slow, 0);
        return at;
    };
    const auto twenty = [&] {
        std::uint64_t last = 0;
        for (unsigned n = 0; n < 20; ++n) last = r.place(kAddX6);
        return last;
    };
    const auto stalls = [&](cpu::Lane l) { return r.stalls.count[cpu::stall_index(l)]; };
    SECTION("atomics and exclusive stores") {
        for (const std::uint32_t raw : {kLdaddX4, kStxrW7}) {
            const std::uint64_t at = store(raw, kWait, cpu::slow::cache_miss);
            CHECK(twenty() >= at + kWait);
        }
    }
    SECTION("not what gives back none") {
        for (const std::uint32_t raw : {kStadd, kStrX5}) {
            const std::uint64_t at = store(raw, kWait, cpu::slow::cache_miss);
            CHECK(twenty() < at + kWait);
        }
    }
    SECTION("nor an exclusive store that fails") {
        const std::uint64_t at = store(kStxrW7, 1, cpu::slow::exclusive);
        CHECK(twenty() < at + kWait);
        CHECK(stalls(cpu::Lane::stall_load) == 0);
    }
    SECTION("an atomic that only the TLB does not know waits for its translation, once") {
        const std::uint32_t slow = cpu::slow::with_translation(cpu::slow::tlb_miss, kTranslation);
        const std::uint64_t at = store(kLdaddX4, kTranslation, slow);
        CHECK(r.place(kAddX6) == at + kTranslation);
        CHECK(stalls(cpu::Lane::stall_load) == 0);
    }
    SECTION("the wait for the result is one for the cache") {
        store(kLdaddX4, kWait, cpu::slow::cache_miss);
        r.place(0x91000486);
        CHECK(stalls(cpu::Lane::stall_load_cache) > kWait);
        CHECK(stalls(cpu::Lane::stall_interlock) == 0);
    }
}

TEST_CASE("which accesses take a beat more than their size", "[a55]") {
    constexpr bool kLoad = false, kStore = true;
    const auto more = cpu_a55::Pipeline::more_beats;
    SECTION("loads that cross 64 bits, for which aligned ones have no need to") {
        for (const unsigned bytes : {2u, 4u, 8u})
            for (std::uint64_t va = 0; va < 16; ++va) CHECK(more(kLoad, bytes, va) == (va % 8 + bytes > 8));
        for (const unsigned bytes : {16u, 32u})
            for (std::uint64_t va = 0; va < 16; ++va) CHECK(more(kLoad, bytes, va) == (va % 8 != 0));
    }
    SECTION("stores of 128 bits that cross 128 bits, no smaller ones") {
        for (std::uint64_t va = 0; va < 32; ++va) {
            CHECK(more(kStore, 16, va) == (va % 16 != 0));
            CHECK_FALSE(more(kStore, 8, va));
        }
    }
}

TEST_CASE("a load that takes a beat more has its data a cycle later and keeps the load unit", "[a55]") {
    Rig r;
    const std::uint64_t first = r.load(kLoadX2FromX1, 0, cpu::slow::beats);
    SECTION("an addition waits") { CHECK(r.place(kAddX5X2) == first + 3); }
    SECTION("so does a load") { CHECK(r.load(kLoadX4FromX0) == first + 2); }
    SECTION("another operation does not") { CHECK(r.place(kAddX6) == first); }
}

TEST_CASE("a store holds the pipeline until it is translated, and its line is the store buffer's affair", "[a55]") {
    constexpr unsigned kTranslation = 6;
    Rig r;
    const std::uint64_t first = r.store(kStoreX2, 100, cpu::slow::with_translation(cpu::slow::tlb_miss, kTranslation));
    CHECK(r.place(kAddX6) == first + kTranslation);
    CHECK(r.stalls.count[cpu::stall_index(cpu::Lane::stall_store_tlb)] == kTranslation - 1);
}

TEST_CASE("of two translations of an access the longer one counts") {
    using cpu::slow::split, cpu::slow::tlb_miss, cpu::slow::translation, cpu::slow::with_translation;
    CHECK(translation(with_translation(with_translation(split | tlb_miss, 9), 6)) == 9);
    CHECK((with_translation(split | tlb_miss, 9) & 0xff) == (split | tlb_miss));
    CHECK(translation(with_translation(split, ~0u)) > 0xffff);
}

TEST_CASE("a store across a line takes a beat more", "[a55]") {
    Rig r;
    const std::uint64_t first = r.store(kStoreX2, 0, cpu::slow::split);
    SECTION("for which the next waits") { CHECK(r.store(kStoreX2) == first + 2); }
    SECTION("and nothing else") { CHECK(r.place(kAddX6) == first); }
}

// Arm's Cortex-A55 Software Optimization Guide, 3.1.1 and 3.3.
TEST_CASE("operands are taken in the stage that needs them", "[a55]") {
    constexpr std::uint32_t kAddX2X1 = 0x91000422, kAddX3X2 = 0x91000443, kAddX4X3 = 0x91000464,
                            kAddX2X6X2Lsl3 = 0x8b020cc2, kLslX3X2 = 0xd37df043, kStrX2 = 0xf90000c2,
                            kCbnzX2 = 0xb5000042, kMulW3X2X2 = 0x1b027c43, kMaddW3X6X6X2 = 0x1b0608c3,
                            kUxtbW3W2 = 0x53001c43, kUbfxX2X1 = 0xd3432c22;
    Rig r;
    SECTION("a load's by an addition two cycles after it") {
        const std::uint64_t first = r.load(kLoadX2FromX1);
        CHECK(r.place(kAddX3X2) == first + 2);
        SECTION("whose own is used in an address two cycles on") {
            constexpr std::uint32_t kLoadX4FromX3 = 0xf9400064;
            CHECK(r.load(kLoadX4FromX3) == first + 4);
        }
        SECTION("by another addition in the next") { CHECK(r.place(kAddX4X3) == first + 3); }
    }
    SECTION("a load's by a shift three cycles after it") {
        const std::uint64_t first = r.load(kLoadX2FromX1);
        SECTION("of its own") { CHECK(r.place(kLslX3X2) == first + 3); }
        SECTION("before an addition") { CHECK(r.place(kAddX2X6X2Lsl3) == first + 3); }
        SECTION("or an extension") { CHECK(r.place(kUxtbW3W2) == first + 3); }
        SECTION("and by the multiplier") { CHECK(r.place(kMulW3X2X2) == first + 3); }
        SECTION("by its adder a cycle earlier") { CHECK(r.place(kMaddW3X6X6X2) == first + 2); }
    }
    SECTION("a load's by a store of it in the next cycle") {
        const std::uint64_t first = r.load(kLoadX2FromX1);
        CHECK(r.place(kStrX2) == first + 1);
    }
    SECTION("a load's by a branch on it two cycles after it") {
        const std::uint64_t first = r.load(kLoadX2FromX1);
        CHECK(r.place(kCbnzX2) == first + 2);
    }
    SECTION("the flags of a compare that took its operand late by a branch in the same cycle") {
        constexpr std::uint32_t kCmpX2 = 0xf100045f, kBne = 0x54000041;
        const std::uint64_t first = r.load(kLoadX2FromX1);
        CHECK(r.place(kCmpX2) == first + 2);
        CHECK(r.place(kBne) == first + 2);
    }
    SECTION("an addition's by another one in the same cycle") {
        const std::uint64_t first = r.place(kAddX2X1);
        CHECK(r.place(kAddX3X2) == first);
        SECTION("by a third one in the next") { CHECK(r.place(kAddX4X3) == first + 1); }
    }
    SECTION("a shift's by an addition in the next cycle") {
        const std::uint64_t first = r.place(kUbfxX2X1);
        CHECK(r.place(kAddX3X2) == first + 1);
    }
    SECTION("an addition's by the base of a load in the next cycle") {
        const std::uint64_t first = r.place(kAddX2X1);
        CHECK(r.load(kLoadX3FromX2) == first + 1);
    }
}

// The same, 3.2 and 4.8.
TEST_CASE("pairs of registers are loaded in two cycles, the second of which goes with another operation", "[a55]") {
    constexpr std::uint32_t kLdpX = 0xa9400c22, kLdpXPost = 0xa8c10c22, kLdpW = 0x29400c22;
    Rig r;
    SECTION("64 bits each") {
        const std::uint64_t first = r.load(kLdpX);
        CHECK(r.place(kAddX6) == first + 1);
        CHECK(r.place(kAddX6) == first + 2);
    }
    SECTION("not with write-back") {
        const std::uint64_t first = r.load(kLdpXPost);
        CHECK(r.place(kAddX6) == first + 2);
    }
    SECTION("32 bits each: one cycle, with nothing else") {
        const std::uint64_t first = r.load(kLdpW);
        CHECK(r.place(kAddX6) == first + 1);
    }
    SECTION("never as the second of two") {
        const std::uint64_t first = r.place(kAddX6);
        CHECK(r.load(kLdpX) == first + 1);
    }
}

// The same, 3.4 and 4.5.
TEST_CASE("a division ends when its result is known, and nothing younger does before", "[a55]") {
    constexpr std::uint32_t kUdivX3 = 0x9ac20823, kSdivX3 = 0x9ac20c23, kAddX4X3 = 0x91000464, kStrX3 = 0xf90000c3;
    struct Case {
        std::uint32_t raw;
        unsigned bits, cycles;
    };
    const Case c = GENERATE_COPY(Case{kUdivX3, 0, 3}, Case{kUdivX3, 4, 4}, Case{kUdivX3, 16, 7}, Case{kUdivX3, 64, 19},
                                 Case{kSdivX3, 0, 3}, Case{kSdivX3, 64, 20});
    CAPTURE(c.raw, c.bits);
    Rig r;
    const std::uint64_t first = r.place(kAddX6);
    const unsigned wait = c.cycles - 3;
    (void)r.place(c.raw, c.bits); // a cycle later: it is no second one
    SECTION("what does not need it goes with it or follows") {
        CHECK(r.place(kAddX6) == first + 1 + wait);
        CHECK(r.place(kAddX6) == first + 2 + wait);
    }
    SECTION("what needs it") { CHECK(r.place(kAddX4X3) == first + 1 + c.cycles - 1); }
    SECTION("stores it") { CHECK(r.place(kStrX3) == first + 1 + c.cycles - 2); }
}

TEST_CASE("operations of 128 bits go first or alone", "[a55]") {
    constexpr std::uint32_t kFaddQ = 0x4e21d420, kAddV2D = 0x0ea18420;
    Rig r;
    const std::uint64_t first = r.place(kAddX6);
    SECTION("not behind another") { CHECK(r.place(kFaddQ) == first + 1); }
    SECTION("those of 64 bits may") { CHECK(r.place(kAddV2D) == first); }
}

// The same, 5.1, and what the events STALL_BACKEND_LD and so on count.
TEST_CASE("a load that misses holds what has not issued when it comes to wr", "[a55]") {
    constexpr unsigned kWait = 50;
    constexpr std::uint32_t kLoadX5FromX0 = 0xf9400005, kLoadX7FromX0 = 0xf9400007;
    Rig r;
    const std::uint64_t first = r.load(kLoadX2FromX1, kWait, cpu::slow::cache_miss);
    SECTION("additions that do not need it") {
        for (const unsigned at : {0u, 1u, 1u, 2u}) CHECK(r.place(kAddX6) == first + at);
        CHECK(r.place(kAddX6) == first + 3 + kWait);
        CHECK(r.stalls.count[cpu::stall_index(cpu::Lane::stall_load_cache)] == kWait);
        CHECK(r.stalls.count[cpu::stall_index(cpu::Lane::stall_interlock)] == 0);
    }
    SECTION("the second and third load still look up the cache, the fourth does not") {
        CHECK(r.load(kLoadX4FromX0, kWait, cpu::slow::cache_miss) == first + 1);
        CHECK(r.load(kLoadX5FromX0, kWait, cpu::slow::cache_miss) == first + 2);
        CHECK(r.load(kLoadX7FromX0) == first + 3 + kWait);
        SECTION("the others' data came meanwhile, or come with it") {
            CHECK(r.load(kLoadX4FromX0) == first + 4 + kWait);
        }
    }
    SECTION("one behind it whose data come later holds on") {
        CHECK(r.load(kLoadX4FromX0, 2 * kWait, cpu::slow::cache_miss) == first + 1);
        for (const unsigned at : {1u, 2u, 2u}) CHECK(r.place(kAddX6) == first + at);
        for (int n = 0; n < 2; ++n) CHECK(r.place(kAddX6) == first + 3 + kWait);
        CHECK(r.place(kAddX6) == first + 1 + 3 + 2 * kWait);
    }
    SECTION(
        "of three the last holds on for as long as its data come later, and one behind them from when it comes there "
        "itself") {
        constexpr unsigned kLater = 10, kLong = 500;
        CHECK(r.load(kLoadX4FromX0, kWait, cpu::slow::cache_miss) == first + 1);
        CHECK(r.load(kLoadX5FromX0, kWait + kLater, cpu::slow::cache_miss) == first + 2);
        const std::uint64_t fourth = r.load(kLoadX7FromX0, kLong, cpu::slow::cache_miss);
        CHECK(fourth == first + 3 + kWait);
        CHECK(r.place(kAddX6) == first + 3 + kWait);
        for (int n = 0; n < 2; ++n) CHECK(r.place(kAddX6) == first + 4 + kWait);
        for (int n = 0; n < 2; ++n) CHECK(r.place(kAddX6) == first + 2 + 3 + kWait + kLater);
        CHECK(r.place(kAddX6) == fourth + 3 + kLong);
    }
}

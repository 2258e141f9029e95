// SPDX-License-Identifier: Apache-2.0
// For a core's pipeline: one that is restored from an image does what the one does that the image was taken of; no block whose
// accesses hit takes it beyond what its ceilings and the block's cycles promise.
#pragma once

#include "models/cpu/code_cache.h"
#include "models/cpu/decoded_op.h"
#include "models/cpu/replay.h"
#include "models/cpu/stall_counts.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace rkperf::test {

template <class Pipe, class Params>
class PipeImages {
  public:
    PipeImages(cpu::TimingOf timing_of, const Params& params) : params_(params) {
        // MUL, ADD, SUBS, CSEL, MADD, UDIV, FADD, FMUL, FMADD, FDIV, LDR, LDP, LDR post-index, LDR of 128 bits, STR, STP, AESE,
        // AESMC, MOV, PRFM for the L1 and for the L2, ADD with a shift, UBFX, LDP of words, LDP post-index, LDAXR, LDAR,
        // STLR, STXR, LDADDAL
        for (std::uint32_t raw :
             {0x9b037c41u, 0x8b030021u, 0xf1000442u, 0x9a820020u, 0x9b031041u, 0x9ac20820u, 0x1e622820u, 0x1e620820u,
              0x1f420c20u, 0x1e621820u, 0xf9400023u, 0xa9400c22u, 0xf8408424u, 0x3dc00023u, 0xf9000022u, 0xa9000c22u,
              0x4e284820u, 0x4e286800u, 0xd2800021u, 0xf9800020u, 0xf9800022u, 0x8b020c21u, 0xd3432c22u, 0x29400c22u,
              0xa8c10c22u, 0xc85ffc23u, 0xc8dffc23u, 0xc89ffc22u, 0xc8047c22u, 0xf8e20023u})
            ops_.push_back(cpu::make_op(raw, timing_of));
        branch_ = cpu::make_op(0x54ffffa1u, timing_of); // B.NE
    }

    /// Blocks in one pipeline, each of them also in a second one that was restored to what the first was, between two blocks
    /// or in the middle of one.
    void check(unsigned seed) {
        std::mt19937 random(seed);
        cpu::StallCounts stalls;
        Pipe first(stalls, params_);
        first.restart(10000);
        unsigned images = 0;
        for (unsigned n = 0; n < 3000; ++n) {
            const bool inside = random() & 1;
            if (inside) {
                begin(first, random);
                place_some(first, random);
            }
            cpu::PipeImage image;
            first.save(image, inside);
            const std::uint32_t block = random();
            const std::uint64_t present = first.present();
            cpu::StallCounts other_stalls;
            // The second was somewhere else before, at a later or an earlier time.
            Pipe second(other_stalls, params_);
            const std::uint64_t base = 500000 + random() % 1000;
            second.restart(base - 500 + random() % 900);
            run(second, random() | 1, false);
            const std::uint64_t at = std::max(base, second.retired() + 300);
            if (image.fits()) {
                ++images;
                second.restore(image.words(), at);
                other_stalls.count.fill(0);
            }
            const auto before = stalls.count;
            run(first, block, inside);
            if (!image.fits()) continue;
            run(second, block, inside);
            REQUIRE(first.present() - present == second.present() - at);
            REQUIRE(first.retired() - present == second.retired() - at);
            REQUIRE(first.fetch_at() - present == second.fetch_at() - at);
            for (unsigned s = 0; s < cpu::kStalls; ++s) REQUIRE(stalls.count[s] - before[s] == other_stalls.count[s]);
            cpu::PipeImage after, other_after;
            first.save(after);
            second.save(other_after);
            REQUIRE(after.fits() == other_after.fits());
            if (!after.fits()) continue;
            REQUIRE(std::vector<std::uint16_t>(after.words().begin(), after.words().end()) ==
                    std::vector<std::uint16_t>(other_after.words().begin(), other_after.words().end()));
        }
        CHECK(images > 2000);
    }

    /// Blocks without a miss, each behind some with misses.
    void check_ceilings(unsigned seed) {
        std::mt19937 random(seed);
        cpu::StallCounts stalls;
        Pipe pipe(stalls, params_);
        pipe.restart(10000);
        for (unsigned n = 0; n < 20000; ++n) {
            run(pipe, random(), false);
            const std::uint64_t generous = pipe.ceiling(), least = pipe.least_ceiling(~std::uint64_t{0});
            // What is enough already need not be told any nearer.
            const std::uint64_t enough = pipe.present() + random() % 300;
            const std::uint64_t told = pipe.least_ceiling(enough);
            REQUIRE(told <= least);
            REQUIRE((told == least || told >= enough));
            std::uint64_t cycles = cpu::most_cycles(branch_);
            const unsigned size = 1 + random() % 4, start = random() % 12;
            pipe.enter_block(1 + random() % 3, {start, size});
            for (unsigned left = size - 1; left; --left) {
                const cpu::DecodedOp& op = ops_[random() % ops_.size()];
                place(pipe, op, random() | 1);
                cycles += cpu::most_cycles(op);
            }
            pipe.branch(branch_);
            REQUIRE(pipe.retired() <= least + cycles);
            REQUIRE(pipe.retired() <= generous + cycles);
        }
    }

  private:
    void begin(Pipe& pipe, std::mt19937& random) {
        if (random() % 8 == 0) pipe.fetch_stall(pipe.fetch_at() + random() % 20, cpu::Lane::stall_frontend_cache);
        const unsigned start = random() % 16, size = 1 + random() % (16 - start);
        pipe.enter_block(1 + random() % 3, {start, size});
    }
    void place_some(Pipe& pipe, std::mt19937& random) {
        for (unsigned n = random() % 12; n; --n) place(pipe, ops_[random() % ops_.size()], random());
    }
    /// Some blocks that follow from `seed`, the first of which has begun if `inside`. No two of their accesses have to do with
    /// each other.
    void run(Pipe& pipe, std::uint32_t seed, bool inside) {
        std::mt19937 random(seed);
        for (unsigned blocks = 1 + random() % 3; blocks; --blocks) {
            if (!inside) begin(pipe, random);
            inside = false;
            place_some(pipe, random);
            const std::uint64_t resolved = pipe.branch(branch_);
            switch (random() % 4) {
                case 0: pipe.mispredict(resolved); break;
                case 1: pipe.taken(random() % 3); break;
                default: break;
            }
        }
    }
    static std::uint32_t slow_of(std::uint32_t r) {
        return r % 16 == 0   ? cpu::slow::cache_miss
               : r % 16 == 2 ? cpu::slow::beats
               : r % 16 == 4 ? cpu::slow::split
                             : 0;
    }
    void place(Pipe& pipe, const cpu::DecodedOp& op, std::uint32_t r) {
        switch (op.group) {
            case cpu::OpGroup::simple: return pipe.simple(op);
            case cpu::OpGroup::flags: return pipe.flags(op);
            case cpu::OpGroup::divide: return pipe.divide(op, r % 64);
            case cpu::OpGroup::load: {
                const std::uint64_t issue = pipe.begin(op);
                const bool missed = r % 16 == 0;
                return pipe.load(op, issue, issue + (missed ? r % 200 : 0), slow_of(r), kLoaded);
            }
            case cpu::OpGroup::store: {
                const std::uint64_t issue = pipe.begin(op);
                const bool missed = r % 16 == 0;
                return pipe.store(op, issue, issue + (missed ? r % 200 : 0), slow_of(r), kStored);
            }
            default: return pipe.general(op);
        }
    }

    const Params params_;
    std::vector<cpu::DecodedOp> ops_;
    cpu::DecodedOp branch_;
    /// One line is loaded from, another stored to: no bank is taken, nothing is forwarded.
    static constexpr std::uint64_t kLoaded = 0x10000, kStored = 0x20040;
};

} // namespace rkperf::test

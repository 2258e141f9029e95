// SPDX-License-Identifier: Apache-2.0
// Timing of the Cortex-A55: in order, two instructions a cycle. An operation issues when its operands will be there at the
// stage that needs them; a load that misses stands in wr and holds all that has not issued until then. Stages from issue on (Arm's
// Cortex-A55 Software Optimization Guide, 3.1): iss, ex1, ex2, wr. A register is ready for what issues in a cycle if
// that may take it in iss, as addresses, shifters, multipliers and dividers do. Additions, logic and selections without a
// shift take operands in ex2 at the latest: then their results, else those of ex1, are handed on a cycle later. So two of
// them that depend on each other issue together (measured: two a cycle), and one issues two cycles after the load it uses.
#pragma once

#include "models/cpu/code_cache.h"
#include "models/cpu/core_base.h"
#include "models/cpu/decoded_op.h"
#include "models/cpu/latest.h"
#include "models/cpu/replay.h"
#include "models/cpu/stall_counts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace rkperf::cpu_a55 {

/// Units, as bits of OpTiming::pipes (Cortex-A55 TRM; latency_a55.csv). An operation takes all units of its mask, except
/// that ALU and FP stand for either of two.
namespace unit {
inline constexpr std::uint8_t ALU = 1, B = 2, LD = 4, ST = 8, MAC = 16, DIV = 32, FP = 64,
                              FPQ = 128; ///< FPQ: both FP halves
} // namespace unit

/// OpTiming::detail: AESMC and AESIMC, one operation with the AESE or AESD right before it; what a wait for this operation's
/// result counts as; what goes with another only as the first of the two, and what goes with none.
namespace detail {
inline constexpr std::uint8_t fused = 1, fp = 2, first = 64, alone = 128;
/// Of integer operations: operands, apart from the second, and the second, are taken in ex2 if they come late.
inline constexpr std::uint8_t late = 4, late_second = 8;
/// Of loads: with an index register; a prefetch instruction, and one for a level beyond the L1.
inline constexpr std::uint8_t indexed = 8, prefetch = 16, beyond = 32;
/// Of stores: one with a result; one of a vector register.
inline constexpr std::uint8_t result_store = 4, vector = 8;
} // namespace detail

struct PipelineParams {
    unsigned mispredict_penalty{};
    unsigned run_ahead{};     ///< cycles by which the front end may be ahead of issue
    unsigned store_buffer{};  ///< entries
    unsigned split_penalty{}; ///< access across a line
    unsigned chase_bonus{};   ///< cycles by which a load's result is there earlier as the base of the very next load
    /// An access whose address comes from a load that missed issues so long after that at the earliest.
    unsigned replay{};
    /// A prefetch instruction for the L1, or beyond, holds the next one up so long.
    unsigned prefetch{}, prefetch_beyond{};
};

class Pipeline {
  public:
    static constexpr bool kSimple = false;

    Pipeline(cpu::StallCounts& stalls, const PipelineParams& params) : stalls_(stalls), params_(params) {}

    void restart(std::uint64_t cycle);

    void enter_block(unsigned fetches, cpu::BlockPlace place) {
        fetches -= place.inside() && !redirected_; // the rest of what was fetched for the block before
        redirected_ = false;
        if (fetch_ > issue_) {
            front_end_stall();
        } else {
            fetch_ = fetch_at();
        }
        fetch_ += fetches;
    }
    std::uint64_t fetch_at() const {
        return std::max(fetch_, issue_ - std::min<std::uint64_t>(issue_, params_.run_ahead));
    }
    std::uint64_t horizon() const { return std::min(fetch_at(), issue_); }
    void fetch_stall(std::uint64_t ready, cpu::Lane why) {
        if (ready <= fetch_at()) return; // nobody waits for it
        fetch_ = ready;
        fetch_why_ = why;
    }

    void simple(const cpu::DecodedOp& op) {
        const auto& src = op.insn.src;
        finish(op.timing.dst[0], integer(op, ready_[src[0]], ready_[src[1]]), op);
    }
    void flags(const cpu::DecodedOp& op) {
        const auto& src = op.insn.src;
        const std::uint64_t done = integer(op, std::max(ready_[src[0]], ready_[src[2]]), ready_[src[1]]);
        finish(op.timing.dst[0], done, op);
        finish(op.timing.dst[1], done + op.timing.second, op);
    }
    void general(const cpu::DecodedOp& op) { execute(op, op.timing.latency, op.timing.occupancy); }
    void divide(const cpu::DecodedOp& op, unsigned quotient_bits);

    std::uint64_t begin(const cpu::DecodedOp& op) {
        const auto& src = op.insn.src;
        std::uint64_t base = ready_[src[0]];
        if (src[0] == chased_ && base == chased_ready_ && !(op.timing.detail & detail::indexed))
            base -= params_.chase_bonus;
        std::uint64_t need =
            cpu::latest(cpu::latest(base, ready_[src[1]], memory_order_), replay_[src[0]], replay_[src[1]]);
        // Store data are needed in wr, vector registers in f2.
        if (op.is_store) {
            const std::uint64_t data = std::max(ready_[src[2]], ready_[src[3]]);
            need = std::max(need, earlier(data, op.timing.detail & detail::vector ? 1 : kWrite));
            need = std::max(need, store_free_);
            if (store_buffer_[stores_ % kMaxStoreBuffer] > std::max(need, issue_)) store_buffer_stall(op, need);
        } else {
            // A register that an older load has still to write is not written by a younger one before.
            const std::uint64_t older = ready_[op.timing.dst[0]];
            need = cpu::latest(need, ready_[src[2]], ready_[src[3]], earlier(older, op.timing.latency));
            need = std::max(need, load_free_);
            if (__builtin_expect(op.timing.detail & detail::prefetch, 0)) need = std::max(need, prefetch_free_);
        }
        return issue(op, need);
    }
    void load(const cpu::DecodedOp& op, std::uint64_t at, std::uint64_t ready, std::uint32_t slow, std::uint64_t) {
        if (__builtin_expect(op.timing.detail & detail::prefetch, 0)) return prefetch(op, at, ready);
        std::uint64_t done = ready + op.timing.latency;
        const auto& dst = op.timing.dst;
        if (slow & (cpu::slow::split | cpu::slow::beats)) done += slow & cpu::slow::split ? params_.split_penalty : 1;
        finish(dst[0], done, op);
        chased_ = dst[0];
        chased_ready_ = done;
        if (!op.plain) {
            finish(dst[1], done + op.timing.second, op);
            finish(dst[2], at + 1, op);
            if (op.timing.detail & detail::alone) next_cycle();
        }
        if (__builtin_expect(slow != 0, 0)) {
            const std::uint8_t why = why_of(slow);
            if (why) why_[dst[0]] = why_[dst[1]] = why;
            late_ = std::max(late_, ready);
            if (slow & cpu::slow::cache_miss) {
                replay_[dst[0]] = at + params_.replay;
            }
            if (ready > at) hold_in_write(at, ready, why);
        }
        hold(op, at);
        if (__builtin_expect(slow & cpu::slow::beats, 0))
            load_free_ = std::max(load_free_, at + op.timing.occupancy + 1);
    }
    void store(const cpu::DecodedOp& op, std::uint64_t at, std::uint64_t ready, std::uint32_t slow, std::uint64_t) {
        const auto& dst = op.timing.dst;
        drained_ = cpu::latest(drained_ + 1, at + 1, ready);
        store_buffer_[(stores_++ + params_.store_buffer) % kMaxStoreBuffer] = drained_;
        std::uint64_t done = at + 1;
        if (op.timing.detail & detail::result_store) done = ready + op.timing.latency;
        if (__builtin_expect(slow != 0, 0)) {
            late_ = std::max(late_, ready);
            // The result of an atomic or of an exclusive store comes with the line, as a load's does.
            const bool loads = dst[0] != cpu::kReadySink && op.timing.detail & detail::result_store;
            if (loads && slow & cpu::slow::cache_miss) {
                hold_in_write(at, ready, why_of(slow));
            } else {
                slow_store(at, slow);
            }
        }
        if (!op.plain) {
            finish(dst[0], done, op);
            finish(dst[1], done, op);
            finish(dst[2], at + 1, op);
            if (__builtin_expect(slow & cpu::slow::cache_miss, 0)) why_[dst[0]] = why_[dst[1]] = why_of(slow);
        }
        // Further beats keep the way to the store buffer, not the pipeline.
        const unsigned beats = op.timing.occupancy + (slow & (cpu::slow::beats | cpu::slow::split) ? 1 : 0);
        if (beats > 1) store_free_ = at + beats;
    }
    void fault(std::uint64_t at) { issue_ = std::max(issue_, at); }

    std::uint64_t begin_system(const cpu::DecodedOp& op);
    void system(const cpu::DecodedOp& op, std::uint64_t ready);

    std::uint64_t branch(const cpu::DecodedOp& op) {
        const auto& src = op.insn.src;
        // Resolved in wr: a compare and its branch pair. A register is looked at before (M: scans for what is not zero).
        const std::uint64_t t = issue(op, earlier(ready_[src[0]], src[0] == a64::reg::flags ? kWrite : 1));
        finish(op.timing.dst[0], t + op.timing.latency, op);
        return t;
    }
    void mispredict(std::uint64_t resolved) {
        redirected_ = true;
        fetch_ = std::max(fetch_, resolved + params_.mispredict_penalty);
        fetch_why_ = cpu::Lane::stall_frontend;
        next_cycle();
    }
    void taken(unsigned bubble) {
        redirected_ = true;
        next_cycle();
        fetch_ += bubble;
    }
    std::uint64_t wrong_path(std::uint64_t) const { return 0; } // nothing issues past an unresolved branch for long
    /// The cycle after the present issue cycle: an instruction that issued with others leaves with them.
    std::uint64_t retired() const { return issue_ + (count_ != 0); }
    std::uint64_t ceiling() const {
        return cpu::latest(cpu::latest(issue_, fetch_, late_, drained_), prefetch_free_) + kLongestWait;
    }
    std::uint64_t least_ceiling(std::uint64_t enough) const;
    unsigned mispredict_penalty() const { return params_.mispredict_penalty; }

    // For replaying (replayer.h).

    static constexpr bool kReplays = true, kReadsAddresses = false;
    /// Whether a load of `bytes` at `va`, or a store, takes a beat more for where it begins (guide 3.3): loads take 64 bits at
    /// once, stores 128, each between their boundaries; smaller stores go in one beat wherever they are.
    static constexpr bool more_beats(bool store, unsigned bytes, std::uint64_t va) {
        const unsigned beat = store ? 16 : 8;
        if (store && bytes < beat) return false;
        return (va & (beat - 1)) + std::min(bytes, beat) > beat;
    }
    static constexpr unsigned kYield = 12;
    static constexpr unsigned kLongestWait = 512; ///< latency plus occupancy (OpTiming)
    /// What an operation can take beyond the cycles of its row in the tables, which Block::cycles counts.
    static constexpr unsigned kCeilingMargin = 32;
    std::uint64_t present() const { return issue_; }
    void save(cpu::PipeImage& image, bool inside = false) const;
    void restore(std::span<const std::uint16_t> image, std::uint64_t at);

  private:
    static constexpr unsigned kMaxStoreBuffer = 16;
    static constexpr unsigned kWrite = 2; ///< cycles by which wr takes an operand later than iss hands it on

    static std::uint64_t earlier(std::uint64_t time, unsigned cycles) {
        return time - std::min<std::uint64_t>(time, cycles);
    }
    /// Issues an integer operation whose first operand and flags, and whose second are there then; returns when its result is.
    std::uint64_t integer(const cpu::DecodedOp& op, std::uint64_t first, std::uint64_t second) {
        const unsigned late = op.timing.detail / detail::late & 1, both = op.timing.detail / detail::late_second & 1;
        const std::uint64_t t = issue(op, std::max(earlier(first, late), earlier(second, both)));
        return t + op.timing.latency + (both & (std::max(first, second) > t));
    }
    bool fits(const cpu::DecodedOp& op) const {
        using namespace unit;
        const std::uint8_t units = op.timing.pipes;
        if (op.timing.detail & (detail::first | detail::alone)) return false;
        // Two of ALU and of FP, one of everything else; a 128-bit FP operation takes both halves.
        const unsigned both = used_ & units & static_cast<std::uint8_t>(~(ALU | FP));
        const bool fp_clash = ((used_ & FPQ) && (units & (FP | FPQ))) || ((units & FPQ) && (used_ & (FP | FPQ)));
        return !both && !fp_clash;
    }
    void next_cycle() {
        if (!count_) return;
        ++issue_;
        count_ = 0;
        used_ = 0;
    }
    /// Issues at the first cycle from `need` on that has room; counts what was lost on the way.
    std::uint64_t issue(const cpu::DecodedOp& op, std::uint64_t need) {
        if (__builtin_expect(issue_ >= holds_[0].from, 0)) held(need);
        if (need <= issue_ && (count_ == 0 || (count_ == 1 && fits(op)))) {
            ++count_;
        } else {
            issue_late(op, need);
        }
        used_ |= op.timing.pipes;
        if (count_ == 2) { // full
            const std::uint64_t t = issue_;
            next_cycle();
            return t;
        }
        return issue_;
    }
    /// Where the next instruction issues if nothing makes it wait.
    std::uint64_t slot() const { return 2 * issue_ + count_; }
    void finish(std::uint8_t reg, std::uint64_t at, const cpu::DecodedOp& op) {
        ready_[reg] = at;
        why_[reg] = op.timing.detail & detail::fp;
    }
    /// Loads of more than one beat keep their unit for further cycles; those of 128-bit registers nothing else (M: a 128-bit load
    /// between the rounds of AES-CBC takes a cycle, and none where its result is not waited for).
    void hold(const cpu::DecodedOp& op, std::uint64_t at) {
        if (op.timing.occupancy <= 1) return;
        if (op.timing.pipes & unit::FPQ) {
            load_free_ = at + op.timing.occupancy;
        } else {
            issues_until(op, at + op.timing.occupancy - 1);
        }
    }

    /// A load, atomic or exclusive store whose data are not there when it comes to wr: nothing issues from then on until they
    /// are (guide 5.1).
    struct Hold {
        std::uint64_t from{~0ull}, until{};
        std::uint8_t why{};
        bool told{}; ///< those behind it come to wr later already
        /// Cycles by which those behind it come there later. It has waited for its data behind others, too.
        std::uint64_t stands() const { return until > from && !told ? until - from : 0; }
    };
    static constexpr unsigned kToWrite = 3;  ///< stages from iss to wr
    static constexpr unsigned kMaxHolds = 4; ///< one more makes the last one longer
    void hold_in_write(std::uint64_t at, std::uint64_t ready, std::uint8_t why);
    void held(std::uint64_t need);
    void load_stall(std::uint8_t why, std::uint64_t cycles);

    void front_end_stall();
    void issue_late(const cpu::DecodedOp& op, std::uint64_t need);
    void back_end_stall(const cpu::DecodedOp& op, std::uint64_t cycles);
    void execute(const cpu::DecodedOp& op, unsigned latency, unsigned occupancy);
    /// The operation that has just issued goes on issuing until then.
    void issues_until(const cpu::DecodedOp& op, std::uint64_t last);
    /// A prefetch instruction, which has its place among the misses at `ready`: nothing but the next one waits for it.
    void prefetch(const cpu::DecodedOp& op, std::uint64_t at, std::uint64_t ready) {
        const unsigned least = op.timing.detail & detail::beyond ? params_.prefetch_beyond : params_.prefetch;
        prefetch_free_ = std::max(ready, at + least);
        chased_ = op.timing.dst[0];
    }
    static std::uint8_t why_of(std::uint32_t slow);
    void slow_store(std::uint64_t at, std::uint32_t slow);
    void store_buffer_stall(const cpu::DecodedOp& op, std::uint64_t& need);

    /// Why a register is late, beyond detail::fp.
    static constexpr std::uint8_t kCacheMiss = 8, kTlbMiss = 16;

    std::uint64_t issue_{}; ///< present issue cycle
    std::uint8_t count_{};  ///< instructions issued in it
    std::uint8_t used_{};   ///< units taken in it
    std::uint64_t fetch_{}; ///< cycle at which the next block can issue
    cpu::Lane fetch_why_{cpu::Lane::stall_frontend};
    bool redirected_{true};        ///< the next block comes from elsewhere
    std::uint64_t memory_order_{}; ///< no younger access before (barriers)
    std::uint64_t drained_{};      ///< all stores so far have reached the cache
    std::uint64_t late_{};         ///< the data of all slow accesses so far are there
    std::uint64_t mac_free_{}, div_free_{}, fp_div_free_{}, load_free_{}, store_free_{}, prefetch_free_{};
    unsigned stores_{};
    cpu::StallCounts& stalls_;
    const PipelineParams params_;
    std::array<std::uint64_t, cpu::kReadySlots> ready_{};
    std::uint64_t chased_ready_{~0ull}; ///< of the last load's result
    std::uint8_t chased_{};             ///< its register
    std::uint8_t fusable_{};            ///< the register that the last AESE or AESD wrote
    bool fusable_inverse_{};            ///< it was an AESD
    std::uint64_t fusable_slot_{~0ull}; ///< the slot right behind it
    std::array<std::uint64_t, cpu::kReadySlots>
        replay_{}; ///< no access whose address comes from the register issues before
    std::array<std::uint64_t, cpu::kReadySlots> accumulated_{};
    std::array<std::uint8_t, cpu::kReadySlots> why_{};
    std::array<std::uint64_t, kMaxStoreBuffer> store_buffer_{};
    std::array<Hold, kMaxHolds> holds_{}; ///< in the order of the loads; unused ones at the end
};

} // namespace rkperf::cpu_a55

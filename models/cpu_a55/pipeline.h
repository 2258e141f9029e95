// SPDX-License-Identifier: Apache-2.0
// Timing of the Cortex-A55: in order, two instructions a cycle, stall on use. An operation issues when its operands will
// be there at the stage that needs them; a load that misses does not hold what does not use it. One of the two ALUs sits
// a stage later, so that a simple operation may issue together with the one it depends on.
#pragma once

#include "models/cpu/core_base.h"
#include "models/cpu/decoded_op.h"
#include "models/cpu/latest.h"
#include "models/cpu/stall_counts.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace rkperf::cpu_a55 {

/// Units, as bits of OpTiming::pipes (Cortex-A55 TRM; latency_a55.csv). An operation takes all units of its mask, except
/// that ALU and FP stand for either of two.
namespace unit {
inline constexpr std::uint8_t ALU = 1, B = 2, LD = 4, ST = 8, MAC = 16, DIV = 32, FP = 64,
                              FPQ = 128; ///< FPQ: both FP halves
} // namespace unit

/// OpTiming::detail: what a wait for this operation's result counts as, and whether it can use the later ALU.
namespace detail {
inline constexpr std::uint8_t late_alu = 1, fp = 2, result_store = 4;
}

struct PipelineParams {
    unsigned mispredict_penalty{};
    unsigned run_ahead{};     ///< cycles by which the front end may be ahead of issue
    unsigned store_buffer{};  ///< entries
    unsigned split_penalty{}; ///< access across a line
    unsigned chase_bonus{};   ///< cycles by which a load's result is there earlier for an address than for an ALU
};

class Pipeline {
  public:
    static constexpr bool kSimple = false;

    Pipeline(cpu::StallCounts& stalls, const PipelineParams& params) : stalls_(stalls), params_(params) {}

    void restart(std::uint64_t cycle);

    void enter_block(unsigned fetches) {
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
        if (ready <= fetch_) return;
        fetch_ = ready;
        fetch_why_ = why;
    }

    void simple(const cpu::DecodedOp& op) {
        const auto& src = op.insn.src;
        const std::uint64_t need = std::max(ready_[src[0]], ready_[src[1]]);
        std::uint64_t late = 0;
        // The second of a pair may take an operand one cycle later than the first.
        if ((op.timing.detail & detail::late_alu) && need == issue_ + 1 && count_ == 1 && fits(op.timing.pipes))
            late = 1;
        const std::uint64_t t = issue(op, need - late);
        finish(op.timing.dst[0], t + op.timing.latency + late, op);
    }
    void flags(const cpu::DecodedOp& op) {
        const auto& src = op.insn.src;
        const std::uint64_t t = issue(op, cpu::latest(ready_[src[0]], ready_[src[1]], ready_[src[2]]));
        finish(op.timing.dst[0], t + op.timing.latency, op);
        finish(op.timing.dst[1], t + op.timing.latency + op.timing.second, op);
    }
    void general(const cpu::DecodedOp& op) { execute(op, op.timing.latency, op.timing.occupancy); }
    void divide(const cpu::DecodedOp& op, unsigned quotient_bits);

    std::uint64_t begin(const cpu::DecodedOp& op) {
        const auto& src = op.insn.src;
        std::uint64_t need = cpu::latest(address_[src[0]], address_[src[1]], memory_order_);
        // Store data are needed a stage after the address.
        if (op.is_store) {
            const std::uint64_t data = std::max(ready_[src[2]], ready_[src[3]]);
            need = std::max(need, data - std::min<std::uint64_t>(data, 1));
            if (store_buffer_[stores_ % kMaxStoreBuffer] > std::max(need, issue_)) store_buffer_stall(op, need);
        } else {
            need = cpu::latest(need, ready_[src[2]], ready_[src[3]]);
        }
        return issue(op, need);
    }
    void load(const cpu::DecodedOp& op, std::uint64_t at, std::uint64_t ready, std::uint32_t slow, std::uint64_t) {
        std::uint64_t done = ready + op.timing.latency;
        const auto& dst = op.timing.dst;
        if (slow & cpu::slow::split) done += params_.split_penalty;
        finish(dst[0], done, op);
        address_[dst[0]] = done - params_.chase_bonus;
        if (!op.plain) {
            finish(dst[1], done + op.timing.second, op);
            finish(dst[2], at + 1, op);
        }
        if (__builtin_expect(slow != 0, 0)) {
            why_[dst[0]] = why_[dst[1]] = why_of(slow);
            late_ = std::max(late_, ready);
        }
        hold(op, at);
    }
    void store(const cpu::DecodedOp& op, std::uint64_t at, std::uint64_t ready, std::uint32_t slow, std::uint64_t) {
        const auto& dst = op.timing.dst;
        drained_ = cpu::latest(drained_ + 1, at + 1, ready);
        store_buffer_[(stores_++ + params_.store_buffer) % kMaxStoreBuffer] = drained_;
        std::uint64_t done = at + 1;
        if (op.timing.detail & detail::result_store) done = ready + op.timing.latency;
        if (__builtin_expect(slow != 0, 0)) {
            late_ = std::max(late_, ready);
            slow_store(at, ready, slow);
        }
        if (!op.plain) {
            finish(dst[0], done, op);
            finish(dst[1], done, op);
            finish(dst[2], at + 1, op);
        }
        hold(op, at);
    }
    void fault(std::uint64_t at) { issue_ = std::max(issue_, at); }

    std::uint64_t begin_system(const cpu::DecodedOp& op);
    void system(const cpu::DecodedOp& op, std::uint64_t ready);

    std::uint64_t branch(const cpu::DecodedOp& op) {
        const auto& src = op.insn.src;
        std::uint64_t need = std::max(ready_[src[0]], ready_[src[1]]);
        // Resolved a stage late: a compare and its branch pair.
        need -= std::min<std::uint64_t>(need, 1);
        const std::uint64_t t = issue(op, need);
        finish(op.timing.dst[0], t + op.timing.latency, op);
        return t;
    }
    void mispredict(std::uint64_t resolved) {
        fetch_ = std::max(fetch_, resolved + params_.mispredict_penalty);
        fetch_why_ = cpu::Lane::stall_frontend;
        next_cycle();
    }
    void taken(unsigned bubble) {
        next_cycle();
        fetch_ += bubble;
    }
    std::uint64_t wrong_path(std::uint64_t) const { return 0; } // nothing issues past an unresolved branch for long
    /// The cycle after the present issue cycle: an instruction that issued with others leaves with them.
    std::uint64_t retired() const { return issue_ + (count_ != 0); }
    std::uint64_t ceiling() const { return cpu::latest(issue_, fetch_, late_, drained_) + kLongestWait; }

  private:
    static constexpr unsigned kMaxStoreBuffer = 16;
    static constexpr unsigned kLongestWait = 512; ///< latency plus occupancy (OpTiming)

    bool fits(std::uint8_t units) const {
        using namespace unit;
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
        if (need <= issue_ && (count_ == 0 || (count_ == 1 && fits(op.timing.pipes)))) {
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
    void finish(std::uint8_t reg, std::uint64_t at, const cpu::DecodedOp& op) {
        ready_[reg] = address_[reg] = at;
        why_[reg] = op.timing.detail & detail::fp;
    }
    /// Accesses of more than one beat keep their unit for further cycles.
    void hold(const cpu::DecodedOp& op, std::uint64_t at) {
        if (op.timing.occupancy > 1) unit_busy(at, op.timing.occupancy);
    }

    void front_end_stall();
    void issue_late(const cpu::DecodedOp& op, std::uint64_t need);
    void back_end_stall(const cpu::DecodedOp& op, std::uint64_t cycles);
    void execute(const cpu::DecodedOp& op, unsigned latency, unsigned occupancy);
    void unit_busy(std::uint64_t at, unsigned cycles);
    static std::uint8_t why_of(std::uint32_t slow);
    void slow_store(std::uint64_t at, std::uint64_t ready, std::uint32_t slow);
    void store_buffer_stall(const cpu::DecodedOp& op, std::uint64_t& need);

    /// Why a register is late, beyond detail::fp.
    static constexpr std::uint8_t kCacheMiss = 8, kTlbMiss = 16;

    std::uint64_t issue_{}; ///< present issue cycle
    std::uint8_t count_{};  ///< instructions issued in it
    std::uint8_t used_{};   ///< units taken in it
    std::uint64_t fetch_{}; ///< cycle at which the next block can issue
    cpu::Lane fetch_why_{cpu::Lane::stall_frontend};
    std::uint64_t memory_order_{}; ///< no younger access before (barriers)
    std::uint64_t drained_{};      ///< all stores so far have reached the cache
    std::uint64_t late_{};         ///< the data of all slow accesses so far are there
    std::uint64_t mac_free_{}, div_free_{}, fp_div_free_{};
    unsigned stores_{};
    cpu::StallCounts& stalls_;
    const PipelineParams params_;
    std::array<std::uint64_t, cpu::kReadySlots> ready_{};   ///< for an ALU
    std::array<std::uint64_t, cpu::kReadySlots> address_{}; ///< for an address
    std::array<std::uint64_t, cpu::kReadySlots> accumulated_{};
    std::array<std::uint8_t, cpu::kReadySlots> why_{};
    std::array<std::uint64_t, kMaxStoreBuffer> store_buffer_{};
};

} // namespace rkperf::cpu_a55

// SPDX-License-Identifier: Apache-2.0
// Branch prediction: direction (a bias filter, bimodal base and four tables tagged with growing history, TAGE-like),
// targets of taken branches (three levels of BTB), indirect targets by history, and a return stack. One call per branch predicts, compares
// with what happened and learns.
#pragma once

#include "models/a64/insn.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace rkperf::cpu {

/// Sizes are powers of two unless said otherwise; 0 leaves a part out.
struct PredictorParams {
    unsigned bimodal{};                ///< two-bit counters
    unsigned tagged{};                 ///< entries of each tagged table
    std::array<unsigned, 4> history{}; ///< branches of history each tagged table sees: at most 63, the last 128
    unsigned nano_btb{}, micro_btb{};  ///< fully associative: what the first gives up goes to the second
    unsigned main_btb_sets{};          ///< by 32-byte windows of text
    unsigned main_btb_ways{};
    unsigned indirect{}; ///< entries of the table indexed with history
    unsigned return_stack{};
    // Cycles lost by a correctly predicted taken branch, by the level of the BTB that knew it; main_choice: more, if the
    // main BTB knows another one further on in the window.
    std::uint8_t nano_bubble{}, micro_bubble{}, main_bubble{}, main_choice{}, decode_bubble{};
};

enum class Mispredict : std::uint8_t { none, direction, indirect, return_address };

struct Resolution {
    Mispredict mispredict{Mispredict::none};
    std::uint8_t bubble{}; ///< cycles of fetch lost although predicted
};

class BranchPredictor {
  public:
    explicit BranchPredictor(const PredictorParams& params);

    Resolution resolve(a64::InsnKind kind, std::uint64_t pc, bool taken, std::uint64_t target) {
        using a64::InsnKind;
        Resolution r;
        if (kind == InsnKind::branch_cond) {
            if (conditional(pc, taken) != taken) r.mispredict = Mispredict::direction;
        } else if (kind == InsnKind::branch_return) {
            if (pop() != target) r.mispredict = Mispredict::return_address;
        } else if (kind == InsnKind::branch_indirect || kind == InsnKind::branch_call_indirect) {
            if (!indirect(pc, target)) r.mispredict = Mispredict::indirect;
        }
        if (kind == InsnKind::branch_call || kind == InsnKind::branch_call_indirect) push(pc + 4);
        r.bubble = taken_to(pc, taken, target);
        return r;
    }
    /// Predicted direction of a conditional branch; learns the right one. kAtOnce: always() has said no, so that the tables
    /// are asked at once; where the answer is known after all, they say the same.
    template <bool kAtOnce = false>
    bool conditional(std::uint64_t pc, bool taken) {
        Bias& bias = bias_[pc >> 2 & (params_.bimodal - 1)];
        bool says = bias == Bias::always;
        const Bias now = taken ? Bias::always : Bias::never;
        if (__builtin_expect(bias == Bias::both, 0)) {
            says = !kAtOnce && known(pc, taken) ? taken : tagged(pc, taken);
        } else if (bias != now) {
            bias = bias == Bias::unseen ? now : Bias::both;
        }
        remember(taken);
        return says;
    }
    /// Whether that is what is predicted, nothing is learned from it, and its target costs nothing. If so, as_always() may
    /// stand for conditional() and taken_to(). False may mean that it is not known.
    bool always(std::uint64_t pc, bool taken) const {
        const Bias now = taken ? Bias::always : Bias::never, bias = bias_[pc >> 2 & bias_mask_];
        if (taken && !at_hand(pc)) return false;
        return bias == now || (bias == Bias::both && known(pc, taken));
    }
    void as_always(bool taken, std::uint64_t target) {
        remember(taken);
        follow(taken, target);
    }
    /// The same of direct branches, calls and returns.
    bool always(a64::InsnKind kind, std::uint64_t pc, std::uint64_t target) const {
        using a64::InsnKind;
        if (kind == InsnKind::branch_return) return at_hand(pc) && depth_ != 0 && stack_[top_] == target;
        return (kind == InsnKind::branch_immed || kind == InsnKind::branch_call) && at_hand(pc);
    }
    void as_always(a64::InsnKind kind, std::uint64_t pc, std::uint64_t target) {
        using a64::InsnKind;
        if (kind == InsnKind::branch_return) pop();
        if (kind == InsnKind::branch_call) push(pc + 4);
        follow(true, target);
    }
    std::uint8_t least_bubble() const { return params_.nano_bubble; }
    std::uint8_t most_bubble() const { return params_.decode_bubble; }
    /// The branch goes to `target`, if taken. Returns the cycles of fetch lost although that was predicted.
    std::uint8_t taken_to(std::uint64_t pc, bool taken, std::uint64_t target) {
        follow(taken, target);
        if (__builtin_expect(taken && !at_hand(pc), 0)) return target_known_slow(pc);
        return params_.nano_bubble;
    }
    /// Code that is not executed one by one passes through lines of text: one branch in every second line, always the same
    /// ones. Most are taken, some change their minds.
    struct Passage {
        static constexpr unsigned kMostLines = 96; ///< what follows is left out
        void clear() {
            first = end = history = path = 0;
            count = taken_count = deciders = 0;
            seen = false;
        }
        void begin(std::uint64_t pc, unsigned lines);

        std::uint64_t first{}, end{};    ///< lines with branches
        std::uint64_t history{}, path{}; ///< what all add to them
        unsigned count{}, taken_count{}, deciders{};
        bool seen{}; ///< all were passed through before: their directions are known, and nothing makes them unknown
        std::array<std::uint64_t, kMostLines / 2>
            targets{}; ///< pc of those that are taken; bit 0: the large BTB is asked
    };
    /// Returns how many were mispredicted.
    unsigned pass_through(Passage& p);
    /// Forgets the return stack (it is not kept over exceptions).
    void exception() { depth_ = 0; }

  private:
    static constexpr unsigned kTables = 4;
    struct Btb {
        std::uint64_t pc{~0ull};
        std::uint32_t used{};
    };
    /// Branches in the order they came. Which they are is looked up in a table by address, so large that two of them
    /// hardly ever meet in a place.
    class Queue {
      public:
        explicit Queue(unsigned entries)
            : mask_(std::max(2048u, 32 * entries) - 1),
              order_(entries, kNone),
              pcs_(mask_ + 1, kNone),
              at_(mask_ + 1) {}
        bool has(std::uint64_t pc) const { return pcs_[place(pc)] == pc; }
        /// Returns the one that leaves, or kNone.
        std::uint64_t enter(std::uint64_t pc) {
            std::uint64_t left = order_[next_];
            const std::uint64_t its = place(left);
            if (pcs_[its] == left && at_[its] == next_) {
                pcs_[its] = kNone;
            } else {
                left = kNone; // had left before
            }
            order_[next_] = pc;
            pcs_[place(pc)] = pc;
            at_[place(pc)] = next_;
            if (++next_ == order_.size()) next_ = 0;
            return left;
        }
        void leave(std::uint64_t pc) { pcs_[place(pc)] = kNone; }
        static constexpr std::uint64_t kNone = ~0ull;

      private:
        std::uint64_t place(std::uint64_t pc) const { return (pc >> 2 ^ pc >> 8) & mask_; }

        std::uint64_t mask_;
        std::uint16_t next_{};
        std::vector<std::uint64_t> order_, pcs_;
        std::vector<std::uint16_t> at_;
    };
    struct Indirect {
        std::uint64_t pc{~0ull}, target{};
    };

    /// What a branch has done so far. One that never changed its mind needs no history and would only crowd the tables.
    enum class Bias : std::uint8_t { unseen, never, always, both };

    /// A branch that all tables agreed on and had nothing to learn about.
    struct Known {
        std::uint64_t pc{~0ull}, history{}, older{};
        std::uint64_t lessons{}; ///< lessons_ then
        bool taken{};
    };
    static constexpr unsigned kKnown = 128;

    /// The same question again as one that was answered rightly, and nothing was learned since.
    bool known(std::uint64_t pc, bool taken) const {
        const Known& k = known_[pc >> 2 & (kKnown - 1)];
        return (k.pc == pc) & (k.history == (history_ & history_mask_.back())) & (k.older == (older_ & older_mask_)) &
               (k.lessons == lessons_) & (k.taken == taken);
    }
    void remember(bool taken) {
        older_ = older_ << 1 | history_ >> 63;
        history_ = history_ << 1 | taken;
    }
    /// The first BTB has it.
    bool at_hand(std::uint64_t pc) const { return nano_.has(pc); }
    void comes_to_hand(std::uint64_t pc) {
        if (const std::uint64_t left = nano_.enter(pc); left != Queue::kNone) micro_.enter(left);
    }
    void follow(bool taken, std::uint64_t target) {
        const std::uint64_t path = (path_ << 3 ^ target >> 2) & 0xffff;
        path_ = taken ? path : path_;
    }
    void pass(std::uint64_t pc, bool ask);
    bool tagged(std::uint64_t pc, bool taken);
    bool indirect(std::uint64_t pc, std::uint64_t target);
    std::uint8_t target_known_slow(std::uint64_t pc);
    void push(std::uint64_t address) {
        stack_[top_ = (top_ + 1) % params_.return_stack] = address;
        if (depth_ < params_.return_stack) ++depth_;
    }
    std::uint64_t pop() {
        if (depth_ == 0) return ~0ull;
        --depth_;
        const std::uint64_t a = stack_[top_];
        top_ = (top_ + params_.return_stack - 1) % params_.return_stack;
        return a;
    }

    PredictorParams params_;
    std::uint64_t history_{}, path_{};
    std::uint64_t older_{}; ///< the 64 branches before history_
    std::array<std::uint64_t, 4> history_mask_{};
    std::uint64_t older_mask_{}; ///< what of them the last table sees
    std::uint64_t bias_mask_{};
    std::vector<Bias> bias_;
    std::uint64_t lessons_{}; ///< changes of the counters and the tagged tables
    std::array<Known, kKnown> known_{};
    std::vector<std::int8_t> bimodal_; ///< -2..1, taken if >= 0
    std::vector<std::uint16_t> tags_;  ///< of all tables, one after the other; 0 marks an entry never used
    /// The rest of each entry, in one byte: a counter (0..7, taken from 4 on) and how useful it was (0..3). Behind all
    /// entries one that stands for none, and one that nobody reads.
    std::vector<std::uint8_t> counters_;
    Queue nano_, micro_;
    std::vector<Btb> main_;
    std::vector<Indirect> indirect_base_, indirect_history_;
    std::vector<std::uint64_t> stack_;
    unsigned top_{}, depth_{};
    std::uint32_t clock_{};
    std::uint32_t passes_{};     ///< of branches in pass_through() that change their minds
    std::uint32_t allocation_{}; ///< rotates the table that gets a new entry
};

} // namespace rkperf::cpu

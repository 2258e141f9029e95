// SPDX-License-Identifier: Apache-2.0
// Replays remembered blocks (replay.h) for a core's threaded loop. While it does, the pipeline stays behind: sync() brings
// it up to date. Where states do not come again, it leaves the pipeline alone for a while, longer each time.
//
// Pipe: present(), save(image, inside) (of a block, the rest of which is to come), restore(image, cycle), kYield (replays that
// are worth a save()); kReplays: has all these. kReadsAddresses: what an access takes depends on addresses, which are inputs of
// its block then; note_access(), repeat() and take_back() are for these, note_slow_access() and repeat_access() for what was
// no plain hit.
#pragma once

#include "models/cpu/replay.h"

#include <algorithm>
#include <utility>

namespace rkperf::cpu {

template <class Pipe, bool = Pipe::kReplays>
class Replayer {
  public:
    /// `counted`: the chain of nodes with executions, which the core empties.
    Replayer(Pipe& pipe, StallCounts& stalls, ReplayNode*& counted) : pipe_(pipe), stalls_(stalls), counted_(counted) {}

    /// Blocks are gone. No node has executions.
    void forget() {
        sync();
        table_.clear();
    }
    bool full() const { return table_.full(); }

    /// Goes on with the block `b` if it is the one that came last time.
    [[gnu::always_inline]] bool enter_same(Block& b) {
        ReplayNode* const n = *hint_;
        const bool same = n && n->block == &b;
        node_ = same ? n : nullptr;
        return same;
    }
    /// Goes on with the block `b`; false: it is to be placed in the pipeline, which is up to date.
    bool enter(Block& b) {
        if (at_) return enter_same(b) || enter_another(b, 0);
        return --patience_ < 0 && join() && enter_another(b, 0);
    }
    /// It is known that the block `b`, entered next, will have retired before `deadline`, whatever becomes of its branch and if
    /// its accesses hit. What its inputs may make of it is not known.
    bool ends_before(const Block& b, std::uint64_t deadline) {
        if (b.has_inputs) return false;
        if (!at_) {
            if (patience_ > kShortest || --near_patience_ >= 0 || !join()) return false;
            near_patience_ = kShortest;
        }
        const ReplayNode* n = *hint_;
        if (!n || !n->known || n->block != &b || n->first != 0) n = known_node(b);
        return n && base_ + n->retired < deadline;
    }
    bool replaying() const { return node_; }
    bool recording() const { return recording_; }
    /// The block that is being replayed, if any, has ended. False: not as last time, finish() is to be asked.
    /// `notes`: of its operations (threads.h). kInputs: it may have inputs.
    template <bool kInputs>
    [[gnu::always_inline]] bool finish_same(unsigned outcome, const std::uint64_t* notes) {
        ReplayNode* const n = node_;
        if (__builtin_expect(!n, 0)) return false;
        ReplayNode::Exit& e = n->exits[outcome];
        if (__builtin_expect(!e.state, 0)) return false;
        if constexpr (kInputs) {
            if (__builtin_expect(!repeat(*n, notes), 0)) return false;
            wrong_path_ = n->wrong_path;
        } else {
            if (n->first_input != n->last_input) return false;
        }
        go_on(*n, e);
        return true;
    }
    /// The same of a conditional branch, with inputs. Whether it was predicted is nothing that the host has to guess: what
    /// is counted of it is noted later, by each_mispredict().
    [[gnu::always_inline]] bool finish_conditional(unsigned outcome, const std::uint64_t* notes, std::uint64_t pc) {
        ReplayNode* const n = node_;
        if (!finish_same<true>(outcome, notes)) return false;
        ++n->exits[outcome].passes;
        if (__builtin_expect(!n->listed & (outcome >= ReplayNode::kMispredicted), 0)) {
            n->listed = true;
            n->listed_before = listed_;
            n->branch = pc;
            listed_ = n;
        }
        return true;
    }
    /// Calls note(branch, pc, taken, wrong_path, times) for the mispredicted branches that finish_conditional() has left out.
    template <class F>
    void each_mispredict(F note) {
        for (; listed_; listed_ = listed_->listed_before) {
            listed_->listed = false;
            const Block& b = *listed_->block;
            for (const bool taken : {false, true})
                if (ReplayNode::Exit& e = listed_->exits[ReplayNode::kMispredicted + taken]; e.passes != 0)
                    note(b.ops[b.size - 1u], listed_->branch, taken, listed_->wrong_path, std::exchange(e.passes, 0u));
        }
    }
    /// The same with anything. False: something is new, and the block is to be placed from its beginning; the pipeline is
    /// where it was then.
    [[gnu::noinline]] bool finish(unsigned outcome, const std::uint64_t* notes) {
        ReplayNode* n = node_;
        if (!n->known) { // only a part of it was placed, up to an access
            record_again(*n);
            return false;
        }
        if (!repeat(*n, notes) && !(n = repeat_variant(notes))) return false;
        ReplayNode::Exit& e = n->exits[outcome];
        if (!e.state) {
            take_back(*n, notes);
            record_exit(*n);
            return false;
        }
        wrong_path_ = n->wrong_path;
        go_on(*n, e);
        return true;
    }
    /// Operations issued in vain behind the branch of the block that was replayed last.
    std::uint64_t wrong_path() const { return wrong_path_; }

    /// The operation was placed; what it was given is an input of the block that is being recorded.
    void record(const DecodedOp& op, std::uint64_t issue, std::uint64_t note) {
        if (!takes_inputs_) return;
        ReplayInput& i = inputs_[recorded_inputs_++];
        describe(i, *recording_, op);
        if (op.group == OpGroup::divide) {
            i.done = static_cast<std::uint16_t>(note);
        } else if constexpr (Pipe::kReadsAddresses) {
            recordable_ &= pipe_.note_access(op, base_, issue, note, i);
        }
    }
    /// The block that is being recorded has been placed; but what its branch leads to has not.
    void recorded_block(std::uint64_t wrong_path) {
        ReplayNode& n = *recording_;
        if (n.known) return;
        n.wrong_path = static_cast<std::uint16_t>(wrong_path);
        recordable_ &= wrong_path <= 0xffff;
        const std::uint64_t retired = pipe_.retired() - base_;
        n.retired = static_cast<std::uint32_t>(retired);
        recordable_ &= retired <= 0xffffffff;
        for (unsigned s = 0; s < kStalls; ++s) {
            const std::uint64_t cycles = stalls_.count[s] - stalls_before_[s];
            n.stalls[s] = static_cast<std::uint16_t>(cycles);
            recordable_ &= cycles <= 0xffff;
        }
        n.known = recordable_ && table_.set_inputs(n, {inputs_.data(), recorded_inputs_});
    }
    void recorded_exit(unsigned outcome) {
        ReplayNode& n = *recording_;
        recording_ = nullptr;
        const std::uint64_t now = pipe_.present();
        PipeState* const state = n.known ? present_state() : nullptr;
        if (!state || now - base_ > 0xffffffff) return lose_track();
        n.exits[outcome] = {state, nullptr, static_cast<std::uint32_t>(now - base_)};
        at_ = state;
        base_ = now;
        hint_ = &n.exits[outcome].next;
        stale_ = false;
        note_effort();
        if (patience_ > 0) lose_track();
    }

    // An access that is no plain hit, in the middle of the present block.

    static constexpr bool kCuts = true;
    /// The cut at the operation in the block that is being replayed, if the inputs in front of it act alike; else null.
    ReplayCut* cut(unsigned op, const std::uint64_t* notes) {
        if (!node_) return nullptr;
        for (ReplayCut* c = node_->cuts; c; c = c->other)
            if (c->op == op && repeat(*c, notes)) return c;
        return nullptr;
    }
    std::uint64_t issue(const ReplayCut& c) const { return base_ + c.issue; }
    /// The access at `va` took what it once did: the state behind it is known, in which the rest of the block is to be entered.
    /// False: it is not, and nothing has happened since the block has begun.
    bool go_on(ReplayCut& c, std::uint64_t took, std::uint32_t slow, const std::uint64_t* notes, std::uint64_t va) {
        ReplayCut::Variant* const v = c.find(took, slow);
        if constexpr (Pipe::kReadsAddresses) {
            if (!v || !pipe_.repeat_access(v->access, base_, va)) {
                take_back(c, notes);
                return false;
            }
        } else if (!v) {
            return false;
        }
        at_ = v->state;
        base_ += v->cycles;
        hint_ = &v->next;
        stale_ = true;
        node_ = nullptr;
        ++replayed_;
        for (unsigned s = 0; s < kStalls; ++s) stalls_.count[s] += v->stalls[s];
        return true;
    }
    /// The access has stopped.
    void take_back_cut(const ReplayCut& c, const std::uint64_t* notes) { take_back(c, notes); }
    /// Whether the present block is to be placed up to the access at `op`, and recorded. Its pipeline is brought up to where
    /// the block, or the rest of it, begins.
    bool begin_cut(const ReplayCut* c) {
        if (!at_ || (c && c->count == ReplayCut::kMostVariants)) return false;
        if (node_) record_again(*node_);
        return recording_;
    }
    /// The access at `va` was placed after begin_cut(), with the cut that it had, if any. False: what follows is not recorded.
    bool end_cut(ReplayCut* c, const DecodedOp& op, std::uint64_t issue, std::uint64_t took, std::uint32_t slow,
                 std::uint64_t va) {
        ReplayNode& n = *recording_;
        recording_ = nullptr;
        const std::uint64_t now = pipe_.present();
        const auto index = static_cast<unsigned>(&op - n.block->ops.data());
        bool fits = recordable_ && issue - base_ <= 0xffff && took <= 0xffff && now - base_ <= 0xffffffff;
        ReplayCut::Variant v;
        v.took = static_cast<std::uint32_t>(took);
        v.slow = slow;
        v.cycles = static_cast<std::uint32_t>(now - base_);
        if constexpr (Pipe::kReadsAddresses) {
            describe(v.access, n, op);
            fits = fits && pipe_.note_slow_access(op, base_, issue, took, slow, va, v.access);
        }
        for (unsigned s = 0; s < kStalls; ++s) {
            const std::uint64_t cycles = stalls_.count[s] - stalls_before_[s];
            v.stalls[s] = static_cast<std::uint16_t>(cycles);
            fits &= cycles <= 0xffff;
        }
        v.state = fits ? present_state(true) : nullptr;
        if (v.state && !c && (c = table_.add_cut(n, index, {inputs_.data(), recorded_inputs_})))
            c->issue = static_cast<std::uint16_t>(issue - base_);
        if (!v.state || !c) {
            lose_track();
            return false;
        }
        ReplayCut::Variant* to = c->find(took, slow);
        if (!to) to = &c->variants[c->count++];
        *to = v;
        at_ = v.state;
        base_ = now;
        hint_ = &to->next;
        stale_ = false;
        note_effort();
        if (patience_ > 0) lose_track();
        return at_ != nullptr;
    }
    /// Goes on with the rest of the block from operation `first` on, behind a cut.
    void enter_rest(Block& b, unsigned first) {
        ReplayNode* const n = *hint_;
        if (n && n->block == &b && n->first == first) {
            node_ = n;
        } else {
            enter_another(b, first);
        }
    }
    /// Behind a cut: the pipeline is brought up to date.
    void catch_up() { bring_up(); }
    /// What follows is placed in the pipeline: it is brought up to where the present block has begun.
    void leave_block() {
        if (at_) leave_known();
    }
    /// The pipeline is brought up to date, between two blocks.
    void sync() {
        bring_up();
        lose_track();
    }
    std::uint64_t ceiling() const { return stale_ ? base_ + at_->ceiling : pipe_.ceiling(); }
    std::uint64_t least_ceiling(std::uint64_t enough) const {
        return stale_ ? base_ + at_->ceiling : pipe_.least_ceiling(enough);
    }

  private:
    static void describe(ReplayInput& i, const ReplayNode& of, const DecodedOp& op) {
        i = {};
        i.op = static_cast<std::uint8_t>(&op - of.block->ops.data());
        i.slot = static_cast<std::uint8_t>(note_slot(&op));
        i.group = op.group;
        i.latency = op.timing.latency;
        i.bytes = op.insn.mem_bytes;
    }
    static constexpr std::uint64_t kNever = ~std::uint64_t{0};
    static constexpr int kShortest = 2, kLongest = 16384; ///< blocks for which nothing is tried
    static constexpr unsigned kTrial = 64;                ///< efforts after which the yield is looked at

    /// Finds out the state that the pipeline is in.
    [[gnu::noinline]] bool join() {
        note_effort();
        if (patience_ > kShortest) return false;
        at_ = present_state();
        if (!at_) {
            patience_ = kLongest;
            return false;
        }
        base_ = pipe_.present();
        stale_ = false;
        patience_ = 0;
        return true;
    }
    ReplayNode* known_node(const Block& b) const {
        ReplayNode* n = at_->nodes;
        while (n && !(n->known && n->block == &b && n->first == 0)) n = n->other;
        return n;
    }
    [[gnu::noinline]] bool enter_another(Block& b, unsigned first) {
        ReplayNode* n = at_->nodes;
        while (n && !((n->known || n->cuts) && n->block == &b && n->first == first)) n = n->other;
        if (n) {
            if (hint_ != &nowhere_) *hint_ = n;
            node_ = n;
            return true;
        }
        bring_up();
        if (b.replays) record_another(b, first);
        if (!recording_) lose_track();
        return false;
    }
    [[gnu::always_inline]] void go_on(ReplayNode& n, ReplayNode::Exit& e) {
        if (n.executions++ == 0) {
            n.counted_before = counted_;
            counted_ = &n;
        }
        at_ = e.state;
        base_ += e.cycles;
        hint_ = &e.next;
        stale_ = true;
        node_ = nullptr;
        ++replayed_;
    }
    /// Begins to record the present block with inputs that have not been seen.
    void record_another(Block& b, unsigned first) {
        recording_ = table_.add(*at_, b, first);
        recorded_inputs_ = 0;
        recordable_ = takes_inputs_ = true;
        stalls_before_ = stalls_.count;
    }
    [[gnu::noinline]] void record_exit(ReplayNode& n) {
        takes_inputs_ = false;
        bring_up();
        node_ = nullptr;
        recording_ = &n;
        begin_block(n);
    }
    void begin_block(const ReplayNode& n) {
        if (n.first == 0) pipe_.enter_block(n.block->fetches, n.block->place);
    }
    /// Places the present block, of which only accesses are known, from its beginning.
    [[gnu::noinline]] void record_again(ReplayNode& n) {
        bring_up();
        node_ = nullptr;
        recording_ = &n;
        recorded_inputs_ = 0;
        recordable_ = takes_inputs_ = true;
        stalls_before_ = stalls_.count;
        begin_block(n);
    }
    /// Whether the inputs act alike; if not, nothing has happened.
    [[gnu::always_inline]] bool repeat(const ReplayInputs& n, const std::uint64_t* notes) {
        if constexpr (Pipe::kReadsAddresses) {
            return n.first_input == n.last_input || pipe_.repeat(n, base_, notes);
        } else {
            for (const ReplayInput* i = n.first_input; i != n.last_input; ++i)
                if (__builtin_expect(notes[i->slot] != i->done, 0)) return false;
            return true;
        }
    }
    void take_back(const ReplayInputs& n, const std::uint64_t* notes) {
        if constexpr (Pipe::kReadsAddresses) pipe_.take_back(n, base_, notes);
    }
    /// The node for the same block with inputs as they are now; null: none, one is being recorded if there is room.
    [[gnu::noinline]] ReplayNode* repeat_variant(const std::uint64_t* notes) {
        const ReplayNode& present = *node_;
        Block& b = *present.block;
        for (ReplayNode* n = at_->nodes; n; n = n->other) {
            if (n == node_ || n->block != &b || n->first != present.first || !n->known) continue;
            if (repeat(*n, notes)) {
                if (hint_ != &nowhere_) *hint_ = n;
                return n;
            }
        }
        node_ = nullptr;
        bring_up();
        record_another(b, present.first);
        if (!recording_) lose_track();
        begin_block(present);
        return nullptr;
    }
    /// `inside`: of a block, the rest of which is to come.
    PipeState* present_state(bool inside = false) {
        image_.clear();
        pipe_.save(image_, inside);
        if (!image_.fits()) return nullptr;
        const std::uint64_t now = pipe_.present();
        return table_.state(image_, [&] { return pipe_.least_ceiling(kNever) - now; });
    }
    void bring_up() {
        if (!stale_) return;
        pipe_.restore(at_->words, base_);
        stale_ = false;
    }
    [[gnu::noinline]] void leave_known() {
        const ReplayNode* const n = node_;
        bring_up();
        lose_track();
        if (n) begin_block(*n);
        note_effort();
    }
    void lose_track() {
        at_ = nullptr;
        hint_ = &nowhere_;
        node_ = recording_ = nullptr;
        stale_ = false;
        patience_ = std::max(patience_, kShortest);
    }
    /// Something dear was done.
    void note_effort() {
        if (++efforts_ < kTrial) return;
        if (replayed_ >= Pipe::kYield * kTrial) {
            pause_ = kShortest;
        } else {
            pause_ = std::min(2 * pause_, kLongest);
            patience_ = pause_;
        }
        efforts_ = 0;
        replayed_ = 0;
    }

    // In the order of use.
    PipeState* at_{};      ///< state in which the present block was entered or the next one will be; null: unknown
    std::uint64_t base_{}; ///< the cycle then
    ReplayNode** hint_{&nowhere_}; ///< where the next block's node may be found
    ReplayNode* node_{};           ///< of the present block, if it is being replayed
    ReplayNode* recording_{};      ///< of the present block, if it is being placed and remembered
    bool stale_{};                 ///< the pipeline is behind base_
    bool recordable_{};
    bool takes_inputs_{}; ///< those of the block that is being placed
    int patience_{};      ///< blocks to pass before the next trial
    int near_patience_{}; ///< the same of ends_before()
    std::uint64_t wrong_path_{};
    unsigned replayed_{}, efforts_{}; ///< since the yield was looked at
    int pause_{kShortest};
    Pipe& pipe_;
    StallCounts& stalls_;
    ReplayNode*& counted_;
    ReplayNode* listed_{}; ///< those with passes, the last one first
    ReplayNode* nowhere_{};
    std::array<std::uint64_t, kStalls> stalls_before_{};
    std::array<ReplayInput, Block::kMaxOps> inputs_{}; ///< of the block that is being recorded
    unsigned recorded_inputs_{};
    PipeImage image_;
    ReplayTable table_;
};

/// For a pipeline that has nothing to remember.
template <class Pipe>
class Replayer<Pipe, false> {
  public:
    Replayer(Pipe& pipe, StallCounts&, ReplayNode*&) : pipe_(pipe) {}
    void forget() {}
    bool full() const { return false; }
    bool enter_same(Block&) { return false; }
    bool enter(Block&) { return false; }
    bool ends_before(const Block&, std::uint64_t) { return false; }
    bool replaying() const { return false; }
    bool recording() const { return false; }
    template <bool>
    bool finish_same(unsigned, const std::uint64_t*) {
        return false;
    }
    bool finish(unsigned, const std::uint64_t*) { return false; }
    bool finish_conditional(unsigned, const std::uint64_t*, std::uint64_t) { return false; }
    template <class F>
    void each_mispredict(F) {}
    std::uint64_t wrong_path() const { return 0; }
    void record(const DecodedOp&, std::uint64_t, std::uint64_t) {}
    void recorded_block(std::uint64_t) {}
    void recorded_exit(unsigned) {}
    static constexpr bool kCuts = false;
    void enter_rest(Block&, unsigned) {}
    void catch_up() {}
    void leave_block() {}
    void sync() {}
    std::uint64_t ceiling() const { return pipe_.ceiling(); }
    std::uint64_t least_ceiling(std::uint64_t enough) const { return pipe_.least_ceiling(enough); }

  private:
    Pipe& pipe_;
};

} // namespace rkperf::cpu

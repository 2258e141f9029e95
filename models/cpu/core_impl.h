// SPDX-License-Identifier: Apache-2.0
// A core with its pipeline: the execution loop. Pipe models time only, in absolute core cycles; it sees each operation
// once, in program order, and its state depends on nothing else, so that leaving the loop and coming back changes nothing:
//
//   restart(cycle)                     begins anew after an exception; nothing is in flight
//   fetch_at()                         cycle at which the front end asks for the next line
//   fetch_stall(ready, why)            the line, or its translation, is there at `ready`
//   enter_block(fetches, place)        the front end delivers a block; inside(): its first fetch may be the last one's
//   simple(op), flags(op), general(op) an operation without memory access, by its group
//   divide(op, bits)                   a division whose quotient has so many bits
//   begin(op)                          issues a load or store; returns the cycle
//   load(op, issue, ready, slow, va)   completes it; `ready`: issue, or when a slow access (slow != 0) has its data, a prefetch
//                                      instruction its translation and its place among the misses
//   store(op, issue, ready, slow, va)  the same; `ready`: when the line is owned
//   fault(cycle)                       the access faulted, which was known at `cycle`
//   begin_system(op), system(op, ready)  barriers, system registers, exceptions
//   branch(op)                         issues a branch; returns the cycle at which it is resolved
//   taken(bubble), mispredict(resolved)  what came of it
//   wrong_path(resolved)               operations issued in vain behind it
//   retired()                          cycle at which everything seen so far has retired
//   ceiling()                          what is in flight has retired by then, and nothing waits for anything later
//   least_ceiling(enough)              the same as near as can be told, which takes longer; what is not before `enough`
//                                      may be too early
//   horizon()                          no later request for a line or an access is for an earlier cycle
//   kSimple                            all branches are predicted right
//   mispredict_penalty()               a mispredicted branch moves ceiling() on by no more
#pragma once

#include "models/cpu/core_base.h"
#include "models/cpu/replayer.h"
#include "models/cpu/simple_pipe.h"
#include "models/cpu/threads.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace rkperf::cpu {

template <class Pipe>
class CoreImpl final : public CoreBase {
  public:
    template <class... PipeArgs>
    CoreImpl(sc_core::sc_module_name name, const CoreConfig& config, const CoreQuirks& quirks, const CoreTables& tables,
             mem::PhysicalMemory& memory, const PredictorParams& predictor, const PipeArgs&... args)
        : CoreBase(name, config, quirks, tables, memory),
          predictor_(predictor),
          pipe_(stalls_, args...),
          replayer_(pipe_, stalls_, counted_nodes_),
          counter_(stalls_) {
        if (predictor.decode_bubble > ReplayNode::kMostBubble)
            throw std::logic_error("a branch can cost more cycles than replaying tells apart");
        choose_handlers();
    }

    UserExit run_user(a64::CpuState& state) override;

  private:
    using Timed = Threads<CoreImpl, true>;
    using Functional = Threads<CoreImpl, false>;
    friend Timed;
    friend Functional;

    static constexpr bool kReadsAddresses = Pipe::kReadsAddresses;
    static constexpr bool more_beats(bool store, unsigned bytes, std::uint64_t va) {
        return Pipe::more_beats(store, bytes, va);
    }

    enum class Why : std::uint8_t {
        attention, ///< something needs the core's attention at a boundary
        stopped,   ///< an operation has stopped
        look,      ///< the block has ended, or is one for the plain loop
    };

    void choose_handlers() {
        if (functional_) {
            set_handlers(Functional::handler_of, Functional::end);
        } else {
            set_handlers(Timed::handler_of, Timed::end);
        }
    }
    void change_mode();
    template <class P>
    Why execute(P& pipe, a64::CpuState& s);
    /// The plain loop: executes from `block_`, operation `index_`, until it has a reason to return, one block at most if
    /// so asked. `boundary`: nothing was executed since the last one.
    template <class P>
    Why run(P& pipe, a64::CpuState& s, bool one_block, bool boundary);
    template <class P>
    bool system_op(P& pipe, a64::CpuState& s, const DecodedOp& op, std::uint64_t pc);
    /// Executes a memory operation issued at `issue`; false if it has stopped.
    template <class P>
    bool access_op(P& pipe, a64::CpuState& s, const DecodedOp& op, std::uint64_t issue);
    /// What a memory operation took.
    struct Accessed {
        std::uint64_t ready{}; ///< as the pipelines are told; its issue, if it was a plain hit
        std::uint32_t slow{};
    };
    /// The same in two steps: executes it; and places it.
    bool perform(a64::CpuState& s, const DecodedOp& op, std::uint64_t issue, Accessed& a);
    /// The same of the operation at `op`, number `index` of the present block, of which nothing behind it has been executed.
    /// `known`: the block goes on in a state that is remembered.
    bool access_in_block(a64::CpuState& s, const DecodedOp* op, unsigned index, bool& known);
    /// A store that fails leaves MemPort::last_va as it was; one that passes is aligned.
    static bool may_not_access(const DecodedOp& op) { return op.insn.kind == a64::InsnKind::exclusive_store; }
    template <class P>
    void count_access(a64::CpuState& s, const DecodedOp& op) {
        if constexpr (!std::is_same_v<P, InstructionCounter>) {
            fast_.hits[op.is_store] += s.mem.accesses;
            if (__builtin_expect(s.mem.last_va & op.align_mask, 0) && !may_not_access(op))
                ++fast_.unaligned[op.is_store];
        }
        s.mem.accesses = 0;
    }
    template <class P>
    static void place_access(P& pipe, const a64::CpuState& s, const DecodedOp& op, std::uint64_t issue,
                             const Accessed& a) {
        if (op.is_store) {
            pipe.store(op, issue, a.ready, a.slow, s.mem.last_va);
        } else {
            pipe.load(op, issue, a.ready, a.slow, s.mem.last_va);
        }
    }
    /// What an access that was not a plain hit took.
    Accessed slow_access(a64::CpuState& s, const DecodedOp& op, std::uint64_t issue);
    template <class P>
    static void enter(P& pipe, const Block& b) {
        pipe.enter_block(b.fetches, b.place);
    }
    void begin_replay() {
        if (__builtin_expect(known_drops_ == dropped_blocks() && !replayer_.full(), 1)) return;
        flush();
        replayer_.forget();
        known_drops_ = dropped_blocks();
    }
    template <bool kRecord>
    void place(const DecodedOp* first, const DecodedOp* last);
    /// Places the rest of the present block in front of `last`, all of which was executed.
    void place_rest(const DecodedOp* last) {
        if (replayer_.recording()) {
            place<true>(untimed_, last);
        } else {
            place<false>(untimed_, last);
        }
    }
    /// The present block, which has no inputs, has ended without a branch, and as last time; false: it is not known.
    bool end_block_same() { return replayer_.template finish_same<false>(ReplayNode::kNotTaken, notes_); }
    /// The predictor has nothing to learn from the conditional branch at `pc`, and what it leads to costs nothing.
    bool foreseen(std::uint64_t pc, bool taken) const { return Pipe::kReplays && predictor_.always(pc, taken); }
    /// The same as end_block_same() in a conditional branch that was foreseen. kInputs: the block may have inputs.
    template <bool kInputs>
    bool end_block_foreseen(bool taken, std::uint64_t target) {
        const unsigned outcome = taken ? ReplayNode::kTaken + predictor_.least_bubble() : ReplayNode::kNotTaken;
        if (!replayer_.template finish_same<kInputs>(outcome, notes_)) return false;
        predictor_.as_always(taken, target);
        return true;
    }
    /// What the predictor says of a branch that was foreseen, in a block that has to be placed.
    Resolution resolve_foreseen(bool taken, std::uint64_t target) {
        predictor_.as_always(taken, target);
        return {Mispredict::none, predictor_.least_bubble()};
    }
    /// The same as end_block_same() in another branch, which is taken.
    bool end_block_same(a64::InsnKind kind, std::uint64_t pc, std::uint64_t target) {
        if constexpr (!Pipe::kReplays) return false;
        if (!predictor_.always(kind, pc, target) ||
            !replayer_.template finish_same<false>(ReplayNode::kTaken + predictor_.least_bubble(), notes_))
            return false;
        predictor_.as_always(kind, pc, target);
        return true;
    }
    /// What became of a branch, as exits of a ReplayNode are told apart.
    static unsigned outcome(bool taken, Resolution r) {
        return outcome(taken, r.bubble, r.mispredict != Mispredict::none);
    }
    static unsigned outcome(bool taken, unsigned bubble, bool wrong) {
        const unsigned right = taken ? ReplayNode::kTaken + bubble : ReplayNode::kNotTaken;
        // By a mask, as nobody guesses whether it was wrong.
        return right ^ ((right ^ (ReplayNode::kMispredicted + taken)) & (0u - wrong));
    }
    /// The present block has ended, and as it did before, inputs compared; false: it is to be placed.
    bool end_block_known(unsigned outcome) {
        if (!replayer_.template finish_same<true>(outcome, notes_)) return false;
        wrong_path_ = replayer_.wrong_path();
        return true;
    }
    /// The same in the conditional branch at `pc`. It is noted later whether it was mispredicted.
    bool end_block_conditional(std::uint64_t pc, bool taken, Resolution r) {
        if (!replayer_.finish_conditional(outcome(taken, r), notes_, pc)) return false;
        credit_ -= pipe_.mispredict_penalty() & (0u - unsigned{r.mispredict != Mispredict::none});
        return true;
    }
    /// Notes the mispredicted branches that were left out, before new code is decoded or somebody looks at the counts.
    void note_mispredicts() {
        replayer_.each_mispredict([this](const DecodedOp& branch, std::uint64_t pc, bool taken,
                                         std::uint64_t wrong_path, std::uint32_t times) {
            note_mispredict(Mispredict::direction, wrong_path, branch, pc, taken, times);
        });
    }
    /// The present block has ended without a branch, and not as was known.
    void end_block(const DecodedOp* end);
    /// The same in the branch `op`, with which the predictor did so. True if it was wrong.
    bool end_block(const DecodedOp* op, bool taken, Resolution r);
    /// What follows in the pipeline from a branch resolved at `resolved`. True if it was predicted wrongly.
    template <class P>
    bool resolve(P& pipe, Resolution r, bool taken, std::uint64_t resolved) {
        if (__builtin_expect(r.mispredict != Mispredict::none, 0)) {
            wrong_path_ = pipe.wrong_path(resolved);
            pipe.mispredict(resolved);
            return true;
        }
        if (taken) pipe.taken(r.bubble);
        return false;
    }
    Resolution predict(a64::InsnKind kind, std::uint64_t pc, bool taken, std::uint64_t target) {
        if constexpr (Pipe::kSimple) return {};
        return predictor_.resolve(kind, pc, taken, target);
    }
    /// The same of a conditional branch that was not foreseen.
    Resolution predict_conditional(std::uint64_t pc, bool taken, std::uint64_t target) {
        if constexpr (Pipe::kSimple) return {};
        static_assert(static_cast<unsigned>(Mispredict::direction) == 1 &&
                      static_cast<unsigned>(Mispredict::none) == 0);
        const unsigned wrong = predictor_.template conditional<true>(pc, taken) ^ taken;
        return {static_cast<Mispredict>(wrong), predictor_.taken_to(pc, taken, target)};
    }
    /// Whatever its accesses hit on, the block does not reach the deadline.
    bool far_from_deadline(const Block& b) {
        const auto take = [&](std::uint64_t ceiling) {
            credit_ = ceiling < deadline_ ? static_cast<std::int64_t>(std::min(deadline_ - ceiling, kMaxCredit)) : 0;
            return credit_ > b.cycles;
        };
        return take(replayer_.ceiling()) ||
               (deadline_ > b.cycles && take(replayer_.least_ceiling(deadline_ - b.cycles)));
    }
    /// The block, which comes next, does not reach the deadline. Near it only a remembered one is known not to.
    bool ends_in_time(const Block& b) {
        if (far_from_deadline(b)) return true;
        if (!replayer_.ends_before(b, deadline_)) return false;
        credit_ = b.cycles;
        return true;
    }
    static unsigned quotient_bits(const a64::CpuState& s, const a64::Insn& i);
    unsigned kernel_branches(BranchPredictor::Passage& p) override;

    BranchPredictor predictor_;
    Pipe pipe_;
    Replayer<Pipe> replayer_;
    unsigned known_drops_{};     ///< dropped_blocks() when replayer_ last forgot
    InstructionCounter counter_; ///< in fast-forward
    Block* block_{};
    unsigned index_{};
    const DecodedOp* last_{}; ///< what the last boundary came after
    bool entered_{};          ///< block_ was entered: its fetch is done, although nothing of it was executed
    // Of the threads.
    Why why_{};
    const DecodedOp* next_op_{};
    Resolution resolution_;      ///< of the branch that ends the block
    std::uint64_t wrong_path_{}; ///< operations issued in vain behind it, if it was mispredicted
    const DecodedOp* untimed_{}; ///< first operation of the block that is not placed yet
    std::uint64_t notes_[kNoteSlots]{};
    static constexpr std::uint64_t kMaxCredit = 1 << 30;
    std::int64_t
        credit_{}; ///< cycles from the pipeline's ceiling to the deadline, at least; or what lets the next block in
};

template <class Pipe>
void CoreImpl<Pipe>::change_mode() {
    switch_mode(!functional_);
    choose_handlers();
    pipe_.restart(cycle_);
    counter_.restart(cycle_);
    block_ = nullptr;
    entered_ = false;
}

/// Places operations that were executed and whose accesses have hit.
template <class Pipe>
template <bool kRecord>
[[gnu::flatten]] void CoreImpl<Pipe>::place(const DecodedOp* first, const DecodedOp* last) {
    const auto record = [&](const DecodedOp* op, std::uint64_t issue) {
        if constexpr (kRecord && Pipe::kReadsAddresses) replayer_.record(*op, issue, notes_[note_slot(op)]);
    };
    for (const DecodedOp* op = first; op != last; ++op) {
        switch (op->group) {
            case OpGroup::simple: pipe_.simple(*op); break;
            case OpGroup::flags: pipe_.flags(*op); break;
            case OpGroup::load: {
                const std::uint64_t issue = pipe_.begin(*op);
                pipe_.load(*op, issue, issue, 0, notes_[note_slot(op)]);
                record(op, issue);
                break;
            }
            case OpGroup::store: {
                const std::uint64_t issue = pipe_.begin(*op);
                pipe_.store(*op, issue, issue, 0, notes_[note_slot(op)]);
                record(op, issue);
                break;
            }
            case OpGroup::divide:
                pipe_.divide(*op, static_cast<unsigned>(notes_[note_slot(op)]));
                if constexpr (kRecord) replayer_.record(*op, 0, notes_[note_slot(op)]);
                break;
            default: pipe_.general(*op); break;
        }
    }
}

template <class Pipe>
void CoreImpl<Pipe>::end_block(const DecodedOp* end) {
    if (replayer_.replaying() && replayer_.finish(ReplayNode::kNotTaken, notes_)) return;
    place_rest(end);
    if (replayer_.recording()) {
        replayer_.recorded_block(0);
        replayer_.recorded_exit(ReplayNode::kNotTaken);
    }
    count_block(*block_);
}

template <class Pipe>
bool CoreImpl<Pipe>::end_block(const DecodedOp* op, bool taken, Resolution r) {
    const unsigned how = outcome(taken, r);
    if (replayer_.replaying() && replayer_.finish(how, notes_)) {
        wrong_path_ = replayer_.wrong_path();
        return how >= ReplayNode::kMispredicted;
    }
    place_rest(op);
    const std::uint64_t resolved = pipe_.branch(*op);
    if (replayer_.recording()) replayer_.recorded_block(pipe_.wrong_path(resolved));
    const bool wrong = resolve(pipe_, r, taken, resolved);
    if (replayer_.recording()) replayer_.recorded_exit(how);
    count_block(*block_);
    return wrong;
}

template <class Pipe>
template <class P>
typename CoreImpl<Pipe>::Why CoreImpl<Pipe>::execute(P& pipe, a64::CpuState& s) {
    if (config_.plain || stalls_.armed) return run(pipe, s, false, true);
    bool boundary = true;
    for (;;) {
        if (!block_) {
            const std::int64_t before = budget_;
            Threads<CoreImpl, !std::is_same_v<P, InstructionCounter>>::run(*this, s);
            if (why_ != Why::look) return why_;
            if (budget_ != before) boundary = false;
        }
        const Why why = run(pipe, s, true, boundary);
        if (why != Why::look) return why;
        boundary = false;
    }
}

template <class Pipe>
UserExit CoreImpl<Pipe>::run_user(a64::CpuState& s) {
    enter_user(s);
    predictor_.exception();
    pipe_.restart(cycle_);
    counter_.restart(cycle_);
    block_ = nullptr;
    last_ = nullptr;
    entered_ = false;
    for (;;) {
        const Next next = user_boundary(last_);
        if (__builtin_expect(std::exchange(stood_still_, false), 0)) {
            pipe_.restart(cycle_);
            counter_.restart(cycle_);
            block_ = nullptr;
            entered_ = false;
        }
        if (next == Next::relookup) block_ = nullptr;
        if (next > Next::relookup) return leave_user(next);
        if (__builtin_expect(mode_changed(), 0)) change_mode();
        Why why;
        if (functional_) {
            why = execute(counter_, s);
            cycle_ = counter_.retired();
            horizon_ = counter_.horizon();
            account();
        } else {
            why = execute(pipe_, s);
            cycle_ = pipe_.retired();
            horizon_ = pipe_.horizon();
        }
        if (why == Why::attention) continue;
        if (s.stop == a64::Stop::isb) {
            s.stop = a64::Stop::none;
            note(Lane::isb);
            block_ = nullptr;
            stop_soon();
            continue;
        }
        if (s.stop == a64::Stop::wait) {
            // WFE and WFI may end at once; EL0 hints do no more than that here.
            s.stop = a64::Stop::none;
            if (config_.mode) config_.mode->marker(s.stop_info);
            block_ = nullptr;
            continue;
        }
        return leave_user_stopped();
    }
}

template <class Pipe>
unsigned CoreImpl<Pipe>::quotient_bits(const a64::CpuState& s, const a64::Insn& i) {
    const bool wide = i.timing == a64::TimingClass::div64;
    const bool is_signed = i.raw >> 10 & 1;
    const auto magnitude = [&](std::uint64_t v) {
        if (!wide)
            v = is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(v)))
                          : static_cast<std::uint32_t>(v);
        return is_signed && static_cast<std::int64_t>(v) < 0 ? 0 - v : v;
    };
    const int n = std::bit_width(magnitude(s.x[i.rn])), d = std::bit_width(magnitude(s.x[i.rm]));
    return d == 0 || n < d ? 0u : static_cast<unsigned>(n - d + 1);
}

template <class Pipe>
unsigned CoreImpl<Pipe>::kernel_branches(BranchPredictor::Passage& p) {
    if constexpr (Pipe::kSimple) {
        (void)p;
        return 0;
    } else {
        return predictor_.pass_through(p);
    }
}

template <class Pipe>
bool CoreImpl<Pipe>::perform(a64::CpuState& s, const DecodedOp& op, std::uint64_t issue, Accessed& a) {
    mem_issue_ = mem_ready_ = issue;
    op.insn.fn(s, op.insn);
    if (__builtin_expect(s.stop != a64::Stop::none, 0)) {
        s.mem.slow = s.mem.accesses = 0;
        return false;
    }
    a = __builtin_expect(s.mem.slow != 0, 0) ? slow_access(s, op, issue) : Accessed{issue, 0};
    if (op.align_mask && !op.heavy && Pipe::more_beats(op.is_store, op.insn.mem_bytes, s.mem.last_va) &&
        !may_not_access(op))
        a.slow |= slow::beats;
    return true;
}

template <class Pipe>
template <class P>
bool CoreImpl<Pipe>::access_op(P& pipe, a64::CpuState& s, const DecodedOp& op, std::uint64_t issue) {
    Accessed a;
    if (!perform(s, op, issue, a)) {
        pipe.fault(std::max(issue, mem_ready_));
        return false;
    }
    place_access(pipe, s, op, issue, a);
    count_access<P>(s, op);
    return true;
}

template <class Pipe>
bool CoreImpl<Pipe>::access_in_block(a64::CpuState& s, const DecodedOp* op, unsigned index, bool& known) {
    if constexpr (Replayer<Pipe>::kCuts) {
        Accessed a;
        ReplayCut* const cut = replayer_.cut(index, notes_);
        std::uint64_t issue = 0;
        if (cut) {
            issue = replayer_.issue(*cut);
            if (__builtin_expect(!perform(s, *op, issue, a), 0)) {
                replayer_.take_back_cut(*cut, notes_);
                replayer_.leave_block();
                place<false>(untimed_, op);
                pipe_.begin(*op);
                pipe_.fault(std::max(issue, mem_ready_));
                return false;
            }
            if (replayer_.go_on(*cut, a.ready - issue, a.slow, notes_, s.mem.last_va)) {
                count_access<Pipe>(s, *op);
                return known = true;
            }
        }
        const bool records = replayer_.begin_cut(cut);
        if (cut || records) {
            if (records) {
                place<true>(untimed_, op);
            } else {
                replayer_.leave_block();
                place<false>(untimed_, op);
            }
            const std::uint64_t issued = pipe_.begin(*op);
            if (!cut) {
                issue = issued;
                if (__builtin_expect(!perform(s, *op, issue, a), 0)) {
                    pipe_.fault(std::max(issue, mem_ready_));
                    return false;
                }
            }
            place_access(pipe_, s, *op, issue, a);
            count_access<Pipe>(s, *op);
            if (records) known = replayer_.end_cut(cut, *op, issue, a.ready - issue, a.slow, s.mem.last_va);
            return true;
        }
    }
    replayer_.leave_block();
    place<false>(untimed_, op);
    return access_op(pipe_, s, *op, pipe_.begin(*op));
}

template <class Pipe>
typename CoreImpl<Pipe>::Accessed CoreImpl<Pipe>::slow_access(a64::CpuState& s, const DecodedOp& op,
                                                              std::uint64_t issue) {
    const std::uint32_t what = s.mem.slow;
    s.mem.slow = 0;
    std::uint64_t ready = std::max(issue, mem_ready_);
    if ((what & slow::exclusive) && op.insn.kind == a64::InsnKind::exclusive_store) {
        const bool failed = s.x[op.insn.rm] != 0 && op.insn.rm < a64::kZr;
        // The status may go to XZR; then what the access did tells.
        const bool passed = op.insn.rm < a64::kZr ? !failed : (what & slow::access) || s.mem.accesses;
        note(passed ? Lane::store_exclusive_pass : Lane::store_exclusive_fail);
        if (passed && functional_) note(Lane::write_slow);
        if (!passed) ready += tables_.costs.store_exclusive_fail;
    }
    return {ready, what};
}

template <class Pipe>
template <class P>
bool CoreImpl<Pipe>::system_op(P& pipe, a64::CpuState& s, const DecodedOp& op, std::uint64_t pc) {
    s.pc = pc;
    cycle_ = pipe.retired();
    const std::uint64_t issue = pipe.begin_system(op);
    mem_issue_ = mem_ready_ = issue;
    op.insn.fn(s, op.insn);
    s.mem.slow = 0;
    std::uint64_t ready = std::max(issue, mem_ready_);
    if (s.stop == a64::Stop::isb) ready += tables_.costs.isb;
    const bool retires =
        s.stop == a64::Stop::none || s.stop == a64::Stop::isb || s.stop == a64::Stop::wait || s.stop == a64::Stop::svc;
    if (retires) pipe.system(op, ready);
    return retires;
}

template <class Pipe>
template <class P>
typename CoreImpl<Pipe>::Why CoreImpl<Pipe>::run(P& pipe, a64::CpuState& s, bool one_block, bool boundary) {
    Block* b = block_;
    unsigned first = b ? index_ : 0; // operations from here on are not counted yet
    bool entered = std::exchange(entered_, false);
    for (;;) {
        if (!b) {
            const std::uint64_t at = s.pc;
            b = (at ^ vpn_ << kPageShift) < kPageSize ? page_->at[(at & (kPageSize - 1)) / 4] : nullptr;
            if (__builtin_expect(!b || at % 4, 0)) {
                cycle_ = pipe.retired();
                b = find_block(pipe.fetch_at());
                if (!b) return Why::stopped;
                pipe.fetch_stall(fetch_ready_, Lane::stall_frontend_tlb);
            }
        }
        budget_ -= b->cost;
        if (__builtin_expect(budget_ < 0, 0)) {
            cycle_ = pipe.retired();
            if (budget_exhausted(*b, first, boundary)) {
                last_ = nullptr;
                block_ = b;
                index_ = first;
                return Why::attention;
            }
        }
        boundary = false;
        if (first == 0 && !std::exchange(entered, false)) {
            if (__builtin_expect(!page_->l1i[b->line], 0)) {
                const std::uint64_t ready = fetch_line(*b, pipe.fetch_at());
                pipe.fetch_stall(ready, Lane::stall_frontend_cache);
            }
            enter(pipe, *b);
        }
        const DecodedOp* const ops = b->ops.data();
        const DecodedOp* op = ops + first;
        const DecodedOp* const end = ops + b->size;
        std::uint64_t pc = s.pc;
        for (;;) {
            switch (op->group) {
                case OpGroup::simple:
                    s.pc = pc;
                    op->insn.fn(s, op->insn);
                    pipe.simple(*op);
                    break;
                case OpGroup::flags:
                    s.pc = pc;
                    op->insn.fn(s, op->insn);
                    pipe.flags(*op);
                    break;
                case OpGroup::general:
                    s.pc = pc;
                    op->insn.fn(s, op->insn);
                    pipe.general(*op);
                    break;
                case OpGroup::divide: {
                    const unsigned bits = quotient_bits(s, op->insn);
                    s.pc = pc;
                    op->insn.fn(s, op->insn);
                    pipe.divide(*op, bits);
                    break;
                }
                case OpGroup::load:
                case OpGroup::store: {
                    const std::uint64_t issue = pipe.begin(*op);
                    s.pc = pc;
                    if (__builtin_expect(!access_op(pipe, s, *op, issue), 0)) goto stopped;
                    break;
                }
                case OpGroup::branch: {
                    const std::uint64_t resolved = pipe.branch(*op);
                    s.pc = pc;
                    op->insn.fn(s, op->insn);
                    const bool taken = s.branch_taken;
                    s.branch_taken = false;
                    if (!taken) s.pc = pc + 4;
                    if (__builtin_expect(s.stop != a64::Stop::none, 0)) {
                        goto stopped;
                    }
                    fast_.taken += taken;
                    Resolution r;
                    if constexpr (!P::kSimple) r = predict(op->insn.kind, pc, taken, s.pc);
                    if (resolve(pipe, r, taken, resolved)) note_mispredict(r.mispredict, wrong_path_, *op, pc, taken);
                    pc = s.pc - 4;
                    break;
                }
                case OpGroup::system:
                    if (first < static_cast<unsigned>(op - ops)) {
                        count_ops(*b, first, static_cast<unsigned>(op - ops));
                        first = static_cast<unsigned>(op - ops);
                    }
                    if (!system_op(pipe, s, *op, pc)) {
                        goto stopped;
                    }
                    if (s.stop != a64::Stop::none) {
                        count_ops(*b, first, static_cast<unsigned>(op - ops) + 1);
                        last_ = op;
                        return Why::stopped;
                    }
                    break;
                default: __builtin_unreachable();
            }
            pc += 4;
            ++op;
            if (__builtin_expect(pipe.retired() >= deadline_, 0)) {
                s.pc = pc;
                last_ = op - 1;
                const auto done = static_cast<unsigned>(op - ops);
                if (first == 0 && op == end) {
                    count_block(*b);
                } else {
                    count_ops(*b, first, done);
                }
                index_ = done;
                block_ = op == end ? nullptr : b;
                return Why::attention;
            }
            if (op == end) break;
        }
        s.pc = pc;
        if (first == 0) {
            count_block(*b);
        } else {
            count_ops(*b, first, b->size);
            first = 0;
        }
        b = nullptr;
        if (one_block) {
            block_ = nullptr;
            return Why::look;
        }
        continue;
    stopped:
        count_ops(*b, first, static_cast<unsigned>(op - ops));
        count_stopped(*b, static_cast<unsigned>(op - ops));
        return Why::stopped;
    }
}

} // namespace rkperf::cpu

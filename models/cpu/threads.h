// SPDX-License-Identifier: Apache-2.0
// The fast execution loops, as threaded code: every operation of a block has a handler that executes it and ends in a
// call of the next operation's handler, which the compiler makes a jump. A block's last handler places all of its
// operations in the pipeline at once, counts the block and finds the next one. That a block executes before its time is
// known is safe because it is entered only if it cannot reach the core's deadline, whatever it meets, or if it is known not
// to as long as its accesses hit; and because an access that is no plain hit has what precedes it placed, or replayed, first, and the
// deadline looked at anew. What is rare leaves the threads, and the plain loop of
// core_impl.h, which goes operation by operation, takes the block from there. Both give the same results.
//
// Core is a CoreImpl. kTimed: with its pipeline and caches; else nothing but the instructions, one a cycle.
#pragma once

#include "models/cpu/code_cache.h"
#include "models/cpu/hot_bodies.h"
#include "models/cpu/processing.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace rkperf::cpu {

/// Without optimisation calls do not become jumps, and the host's stack would not last: then every block returns.
#if defined(__OPTIMIZE__) && !defined(RK_ASAN)
inline constexpr bool kTailCalls = true;
#else
inline constexpr bool kTailCalls = false;
#endif

template <class Core, bool kTimed>
class Threads {
  public:
    /// Executes from s.pc, which begins a block, until Core::why_ says what the core has to do.
    static void run(Core& c, a64::CpuState& s) {
        c.credit_ = 0;
        if constexpr (kTimed) c.begin_replay();
        enter(c, s, s.pc);
        while (const DecodedOp* op = std::exchange(c.next_op_, nullptr)) op->handler(c, s, op, s.pc);
        if constexpr (kTimed) c.note_mispredicts();
        if constexpr (kTimed) c.replayer_.sync();
    }
    static Handler handler_of(const DecodedOp& op, Block& block);
    /// Handler of the operation behind a block's last one.
    static void end(CoreBase& base, a64::CpuState& s, const DecodedOp* op, std::uint64_t pc) {
        Core& c = core(base);
        if constexpr (!kTimed) {
            finish_block(c);
        } else if (!c.end_block_same()) {
            return end_with_inputs(base, s, op, pc);
        }
        return enter(base, s, &c.block_->next[0], pc - 4, pc);
    }

  private:
    using State = a64::CpuState;
    using Op = DecodedOp;
    using Why = typename Core::Why;
    using u64 = std::uint64_t;

    static Core& core(CoreBase& base) { return static_cast<Core&>(base); }

    // --- from one operation to the next ---

    /// Begins the block at `pc`.
    [[gnu::always_inline]] static void enter(CoreBase& base, State& s, u64 pc) {
        return enter(base, s, nullptr, pc, pc);
    }
    /// The same behind the operation at `from`, which always leads there. `link`: where its block remembers what follows.
    [[gnu::always_inline]] static void enter(CoreBase& base, State& s, Block** link, u64 from, u64 pc) {
        Core& c = core(base);
        Block* b = link ? *link : nullptr;
        if (__builtin_expect(!b, 0)) {
            const u64 word = std::rotr(pc ^ c.vpn_ << kPageShift, 2); // too big if the page or the alignment is wrong
            if (__builtin_expect(word >= kPageSize / 4, 0)) return enter_page(base, s, nullptr, pc);
            b = c.page_->at[word];
            if (!b) return look(base, s, nullptr, pc);
            // Only in the same page, as blocks of a page go together.
            if (link && (from ^ pc) < kPageSize) *link = b;
        }
        if constexpr (kTimed) {
            if (__builtin_expect(c.budget_ < b->cost, 0) || __builtin_expect(!c.page_->l1i[b->line], 0) ||
                __builtin_expect(c.credit_ <= b->cycles, 0) || __builtin_expect(!c.replayer_.enter_same(*b), 0))
                return enter_anew(base, s, b, pc);
            c.credit_ -= b->cycles;
        } else if (__builtin_expect(c.budget_ < b->cost, 0)) {
            return look(base, s, nullptr, pc);
        }
        return begin(base, s, b, pc);
    }
    /// The same for a block of another page, or none.
    [[gnu::noinline]] static void enter_page(CoreBase& base, State& s, const Op*, u64 pc) {
        Block* b = nullptr;
        if constexpr (!kTimed) b = core(base).block_on_other_page(pc);
        if (!b || core(base).budget_ < b->cost) return look(base, s, nullptr, pc);
        return begin(base, s, b, pc);
    }
    /// The same for a block that is not being replayed, or may not be executed.
    [[gnu::noinline, gnu::flatten]] static void enter_anew(CoreBase& base, State& s, Block* b, u64 pc) {
        Core& c = core(base);
        if (c.budget_ < b->cost || !c.page_->l1i[b->line] || (c.credit_ <= b->cycles && !c.ends_in_time(*b)))
            return look(base, s, nullptr, pc);
        c.credit_ -= b->cycles;
        if (!c.replayer_.enter(*b)) c.enter(c.pipe_, *b);
        return begin(base, s, b, pc);
    }
    [[gnu::always_inline]] static void begin(CoreBase& base, State& s, Block* b, u64 pc) {
        Core& c = core(base);
        if constexpr (kTimed) c.untimed_ = b->ops.data();
        c.budget_ -= b->cost;
        c.block_ = b;
        const Op* const op = b->ops.data();
        if constexpr (!kTailCalls) {
            s.pc = pc;
            c.next_op_ = op;
            return;
        }
        return op->handler(base, s, op, pc);
    }
    /// The present block was executed and placed from its beginning to its end.
    [[gnu::always_inline]] static void finish_block(Core& c) {
        c.count_block(*c.block_);
        if constexpr (!kTimed) c.counter_.advance(c.block_->size);
    }
    // The end of a block comes in four: as last time and with nothing to look at; with inputs to compare; with a prediction
    // to learn from; to be placed. Each is a function of its own, so that none pays for what the next one needs.

    [[gnu::noinline, gnu::flatten]] static void end_with_inputs(CoreBase& base, State& s, const Op* op, u64 pc) {
        Core& c = core(base);
        if (!c.end_block_known(ReplayNode::kNotTaken)) return end_anew(base, s, op, pc);
        return enter(base, s, &c.block_->next[0], pc - 4, pc);
    }
    [[gnu::noinline, gnu::flatten]] static void end_anew(CoreBase& base, State& s, const Op* op, u64 pc) {
        Core& c = core(base);
        c.end_block(op);
        return enter(base, s, &c.block_->next[0], pc - 4, pc);
    }
    /// On to the operation behind `op`, which is not the last one.
    [[gnu::always_inline]] static void next(CoreBase& base, State& s, const Op* op, u64 pc) {
        return op[1].handler(base, s, op + 1, pc + 4);
    }
    /// Places what was executed of the block in front of `op`.
    [[gnu::always_inline]] static void place(Core& c, const Op* op) {
        if constexpr (kTimed) {
            c.replayer_.leave_block();
            c.template place<false>(c.untimed_, op);
        }
    }
    /// What placing `op` will have to know beside the operation: an address, or the bits of a quotient.
    [[gnu::always_inline]] static void note(Core& c, const Op* op, u64 what) { c.notes_[note_slot(op)] = what; }

    // --- ways out ---

    /// The plain loop is to execute the block at `pc`.
    [[gnu::noinline, gnu::cold]] static void look(CoreBase& base, State& s, const Op*, u64 pc) {
        Core& c = core(base);
        s.pc = pc;
        c.block_ = nullptr;
        c.why_ = Why::look;
    }
    /// Counts the operations of the block in front of `op`, which then is the first that was not executed.
    static void leave_at(Core& c, const Op* op) {
        const auto done = static_cast<unsigned>(op - c.block_->ops.data());
        if (done == c.block_->size) {
            finish_block(c);
            c.block_ = nullptr;
        } else {
            c.count_ops(*c.block_, 0, done);
            if constexpr (!kTimed) c.counter_.advance(done);
            c.index_ = done;
        }
    }
    /// The core is to look around after `op` at `pc`.
    [[gnu::noinline, gnu::cold]] static void attention(CoreBase& base, State& s, const Op* op, u64 pc) {
        Core& c = core(base);
        s.pc = pc + 4;
        c.last_ = op;
        leave_at(c, op + 1);
        c.why_ = Why::attention;
    }
    /// The same after the branch that has ended the block.
    [[gnu::noinline, gnu::cold]] static void attention_after_branch(CoreBase& base, State& s, const Op* op,
                                                                    u64 target) {
        Core& c = core(base);
        s.pc = target;
        c.last_ = op;
        c.block_ = nullptr;
        c.why_ = Why::attention;
    }
    /// `op` has stopped.
    [[gnu::noinline, gnu::cold]] static void stopped(CoreBase& base, State&, const Op* op, u64) {
        Core& c = core(base);
        leave_at(c, op);
        c.count_stopped(*c.block_, static_cast<unsigned>(op - c.block_->ops.data()));
        c.why_ = Why::stopped;
    }
    /// The plain loop takes the rest of the block, which begins with `op`.
    static void rest(CoreBase& base, State& s, const Op* op, u64 pc) {
        Core& c = core(base);
        s.pc = pc;
        c.budget_ += c.block_->cost; // it is taken again
        place(c, op);
        leave_at(c, op);
        c.entered_ = true;
        c.why_ = Why::look;
    }

    static void divide(CoreBase& base, State& s, const Op* op, u64 pc) {
        if constexpr (kTimed) note(core(base), op, Core::quotient_bits(s, op->insn));
        return process_called(base, s, op, pc);
    }

    // --- memory ---

    /// Any access.
    [[gnu::noinline]] static void access(CoreBase& base, State& s, const Op* op, u64 pc) {
        Core& c = core(base);
        s.pc = pc;
        if constexpr (kTimed) {
            const auto index = static_cast<unsigned>(op - c.block_->ops.data());
            bool known = false; // what is behind it is a state that is remembered
            const bool done = c.access_in_block(s, op, index, known);
            if (__builtin_expect(!done, 0)) return stopped(base, s, op, pc);
            c.untimed_ = op + 1;
            if (!known || __builtin_expect(!c.far_from_deadline(*c.block_), 0)) {
                c.replayer_.catch_up();
                if (__builtin_expect(c.pipe_.retired() >= c.deadline_, 0)) return attention(base, s, op, pc);
                // Behind the last operation there is no rest: the next block looks at the deadline itself.
                if (__builtin_expect(!c.far_from_deadline(*c.block_), 0) && index + 1 != c.block_->size)
                    return rest(base, s, op + 1, pc + 4);
            }
            c.credit_ -= c.block_->cycles;
            if (known) c.replayer_.enter_rest(*c.block_, index + 1);
        } else {
            const bool done = c.access_op(c.counter_, s, *op, 0);
            if (__builtin_expect(!done, 0)) return stopped(base, s, op, pc);
            c.counter_.take_back(); // it is counted with its block
            if (__builtin_expect(c.deadline_ == 0, 0)) return attention(base, s, op, pc);
        }
        return next(base, s, op, pc);
    }
    /// An access of the type Move (body_ldst.h) that hits.
    template <class Move, a64::Address kAddress, bool kSp>
    [[gnu::flatten]] static void move(CoreBase& base, State& s, const Op* op, u64 pc) {
        Core& c = core(base);
        const a64::Insn& i = op->insn;
        const u64 va = a64::address_of<kAddress>(s, i);
        const bool aligned = !kSp || (s.x[a64::kSp] & 15) == 0;
        if constexpr (kTimed) {
            a64::MemPort::Line& l = s.mem.lines[a64::MemPort::slot(va)];
            const u64 tag = Move::kStore ? l.wtag : l.rtag;
            // By the last byte: an entry never holds the line behind the one it is found by.
            if (__builtin_expect(tag != ((va + (Move::kBytes - 1)) & ~u64{kLineSize - 1}) || !aligned, 0))
                return access(base, s, op, pc);
            if (Move::kBytes > 1 && __builtin_expect(Core::more_beats(Move::kStore, Move::kBytes, va), 0))
                return access(base, s, op, pc);
            *l.tlb_stamp = *l.line_stamp = ++s.mem.clock;
            s.mem.last_va = va;
            Move::move(s, i, l.host + (va & (kLineSize - 1)));
            a64::write_back<kAddress>(s, i, va);
            if constexpr (Core::kReadsAddresses) note(c, op, va);
            ++c.fast_.hits[Move::kStore];
            if (__builtin_expect((va & (Move::kElement - 1)) != 0, 0)) ++c.fast_.unaligned[Move::kStore];
        } else {
            const auto& page = c.functional_pages_[va >> kPageShift & (Core::kFunctionalPages - 1)];
            const u64 tag = Move::kStore ? page.wtag : page.rtag;
            if (__builtin_expect(tag != ((va + (Move::kBytes - 1)) & kPageMask) || !aligned, 0))
                return access(base, s, op, pc);
            Move::move(s, i, reinterpret_cast<std::uint8_t*>(va + page.to_host));
            a64::write_back<kAddress>(s, i, va);
        }
        return next(base, s, op, pc);
    }

    // --- branches ---

    template <class Condition>
    [[gnu::flatten]] static void conditional(CoreBase& base, State& s, const Op* op, u64 pc) {
        return decided(base, s, op, pc, Condition::holds(s, op->insn));
    }
    /// A comparison with the branch on its flags behind it: the host knows the direction without a way through memory.
    template <class Compare, class Relation>
    [[gnu::flatten]] static void compare_and_branch(CoreBase& base, State& s, const Op* op, u64 pc) {
        using T = typename Compare::Operand;
        const a64::Insn& i = op->insn;
        const T a = static_cast<T>(s.x[i.rn]), b = Compare::second(s, i), difference = static_cast<T>(a - b);
        s.nzcv = a64::flags_sub(a, b, difference);
        if constexpr (Compare::has_result) s.x[i.rd] = difference;
        return decided(base, s, op + 1, pc + 4, Relation::template holds<T>(a, b));
    }
    /// The direction of a conditional branch is known. It is a branch of the host's, too, so that where that was guessed
    /// wrongly is known before the next block is at hand.
    [[gnu::always_inline]] static void decided(CoreBase& base, State& s, const Op* op, u64 pc, bool taken) {
        if (taken) return direction<true>(base, s, op, pc, pc + static_cast<u64>(op->insn.imm));
        return direction<false>(base, s, op, pc, pc + 4);
    }
    template <bool kTaken>
    [[gnu::always_inline]] static void direction(CoreBase& base, State& s, const Op* op, u64 pc, u64 target) {
        Core& c = core(base);
        if constexpr (!kTimed) {
            finish_block(c);
        } else if (!c.foreseen(pc, kTaken)) {
            return direction_learning<kTaken>(base, s, op, pc, target);
        } else if (!c.template end_block_foreseen<false>(kTaken, target)) {
            return direction_with_inputs<kTaken>(base, s, op, pc, target);
        }
        c.fast_.taken += kTaken;
        return enter(base, s, &c.block_->next[kTaken], pc, target);
    }
    /// The same where there are inputs, and the predictor has nothing to learn.
    template <bool kTaken>
    [[gnu::noinline, gnu::flatten]] static void direction_with_inputs(CoreBase& base, State& s, const Op* op, u64 pc,
                                                                      u64 target) {
        Core& c = core(base);
        c.fast_.taken += kTaken;
        if (__builtin_expect(!c.template end_block_foreseen<true>(kTaken, target), 0)) {
            c.resolution_ = c.resolve_foreseen(kTaken, target);
            return branch_anew(base, s, op, pc, kTaken, target);
        }
        return enter(base, s, &c.block_->next[kTaken], pc, target);
    }
    /// The same where the predictor may learn, or something is new.
    template <bool kTaken>
    [[gnu::noinline, gnu::flatten]] static void direction_learning(CoreBase& base, State& s, const Op* op, u64 pc,
                                                                   u64 target) {
        Core& c = core(base);
        c.resolution_ = c.predict_conditional(pc, kTaken, target);
        c.fast_.taken += kTaken;
        if (__builtin_expect(c.watches_mispredicts(), 0)) {
            if (!c.end_block_known(Core::outcome(kTaken, c.resolution_)))
                return branch_anew(base, s, op, pc, kTaken, target);
            if (c.resolution_.mispredict != Mispredict::none) return mispredicted(base, s, op, pc, kTaken, target);
        } else if (__builtin_expect(!c.end_block_conditional(pc, kTaken, c.resolution_), 0)) {
            return branch_anew(base, s, op, pc, kTaken, target);
        }
        return enter(base, s, &c.block_->next[kTaken], pc, target);
    }

    // Of any kind, where one may go elsewhere each time: the next block is looked up.

    /// The predictor has said what there is to say of the branch (resolution_), but its block has to be placed.
    [[gnu::noinline, gnu::flatten]] static void branch_anew(CoreBase& base, State& s, const Op* op, u64 pc, bool taken,
                                                            u64 target) {
        Core& c = core(base);
        if (c.end_block(op, taken, c.resolution_)) return mispredicted(base, s, op, pc, taken, target);
        return enter(base, s, target);
    }
    [[gnu::noinline]] static void mispredicted(CoreBase& base, State& s, const Op* op, u64 pc, bool taken, u64 target) {
        Core& c = core(base);
        c.note_mispredict(c.resolution_.mispredict, c.wrong_path_, *op, pc, taken);
        c.credit_ -= c.pipe_.mispredict_penalty();
        if (c.deadline_ == 0) return attention_after_branch(base, s, op, target); // its events are watched
        return enter(base, s, target);
    }
    template <a64::InsnKind kKind>
    static constexpr bool kDirect = kKind == a64::InsnKind::branch_immed || kKind == a64::InsnKind::branch_call;
    template <a64::Exec kFn, a64::InsnKind kKind>
    static a64::InsnKind kind_of(const Op& op) {
        if constexpr (kSameBody<kFn, nullptr>) return op.insn.kind;
        return kKind;
    }
    /// None of the branches stops.
    template <a64::Exec kFn, a64::InsnKind kKind>
    [[gnu::flatten]] static void branch(CoreBase& base, State& s, const Op* op, u64 pc) {
        namespace br = a64::branches;
        Core& c = core(base);
        bool taken = true;
        u64 target = 0;
        if constexpr (kSameBody<kFn, br::b> || kSameBody<kFn, br::bl>) {
            target = pc + static_cast<u64>(op->insn.imm);
            if constexpr (kSameBody<kFn, br::bl>) s.x[br::kLinkRegister] = pc + 4;
        } else if constexpr (kSameBody<kFn, br::br>) {
            target = s.x[op->insn.rn];
        } else {
            s.pc = pc;
            if constexpr (kSameBody<kFn, nullptr>) {
                op->insn.fn(s, op->insn);
            } else {
                kFn(s, op->insn);
            }
            taken = s.branch_taken;
            s.branch_taken = false;
            target = taken ? s.pc : pc + 4;
        }
        if constexpr (!kTimed) {
            finish_block(c);
        } else if (!taken || !c.end_block_same(kind_of<kFn, kKind>(*op), pc, target)) {
            return branch_learning<kFn, kKind>(base, s, op, pc, taken, target);
        }
        c.fast_.taken += taken;
        if constexpr (kDirect<kKind>) return enter(base, s, &c.block_->next[taken], pc, target);
        return enter(base, s, target);
    }
    template <a64::Exec kFn, a64::InsnKind kKind>
    [[gnu::noinline, gnu::flatten]] static void branch_learning(CoreBase& base, State& s, const Op* op, u64 pc,
                                                                bool taken, u64 target) {
        Core& c = core(base);
        const a64::InsnKind kind = kind_of<kFn, kKind>(*op);
        c.resolution_ = c.predict(kind, pc, taken, target);
        c.fast_.taken += taken;
        if (!c.end_block_known(Core::outcome(taken, c.resolution_))) return branch_anew(base, s, op, pc, taken, target);
        if (__builtin_expect(c.resolution_.mispredict != Mispredict::none, 0))
            return mispredicted(base, s, op, pc, taken, target);
        return enter(base, s, kDirect<kKind> ? &c.block_->next[taken] : nullptr, pc, target);
    }

    // --- which handler ---

    struct Row {
        a64::Exec fn;
        a64::InsnKind kind; ///< branches: two of them share a body
        Handler handler;
    };
    using Rows = std::vector<Row>;

    template <class... Conditions>
    static void add_conditional(Rows& rows, hot::Types<Conditions...>) {
        constexpr a64::InsnKind kKind = a64::InsnKind::branch_cond;
        (rows.push_back({a64::branches::branch_if<Conditions>, kKind, conditional<Conditions>}), ...);
    }
    template <a64::Exec... kFns, a64::InsnKind... kKinds>
    static void add_branches(Rows& rows, hot::Types<hot::Branch<kFns, kKinds>...>) {
        (rows.push_back({kFns, kKinds, branch<kFns, kKinds>}), ...);
    }
    template <class Move, a64::Address... kForms>
    static void add_move(Rows& rows) {
        (rows.push_back({a64::ldst::body<Move, kForms, false>, {}, move<Move, kForms, false>}), ...);
        (rows.push_back({a64::ldst::body<Move, kForms, true>, {}, move<Move, kForms, true>}), ...);
    }
    template <class... Moves>
    static void add_single(Rows& rows, hot::Types<Moves...>) {
        using enum a64::Address;
        (add_move<Moves, offset, post, pre, reg_uxtw, reg_lsl, reg_sxtw>(rows), ...);
    }
    template <class... Moves>
    static void add_pairs(Rows& rows, hot::Types<Moves...>) {
        using enum a64::Address;
        (add_move<Moves, offset, post, pre>(rows), ...);
    }
    struct Pair {
        a64::Exec first, second;
        Handler handler;
    };
    template <class Compare, class... Relations>
    static void add_pairs_of(std::vector<Pair>& pairs, hot::Types<Relations...>) {
        (pairs.push_back({Compare::fn, Relations::branch, compare_and_branch<Compare, Relations>}), ...);
    }
    template <class... Compares>
    static void add_compares(std::vector<Pair>& pairs, hot::Types<Compares...>) {
        (add_pairs_of<Compares>(pairs, hot::Relations{}), ...);
    }
    /// The handler of `second`, which ends a block, with `first` before it; null: they have none together.
    static Handler find_pair(const a64::Insn& first, const a64::Insn& second) {
        static const std::vector<Pair> kPairs = [] {
            std::vector<Pair> pairs;
            add_compares(pairs, hot::ComparesOf<std::uint32_t>{});
            add_compares(pairs, hot::ComparesOf<std::uint64_t>{});
            return pairs;
        }();
        const auto at = std::find_if(kPairs.begin(), kPairs.end(),
                                     [&](const Pair& p) { return p.first == first.fn && p.second == second.fn; });
        return at == kPairs.end() ? nullptr : at->handler;
    }
    static const Rows& rows() {
        static const Rows kRows = [] {
            Rows rows;
            add_conditional(rows, hot::OnFlags{});
            add_conditional(rows, hot::OnRegister{});
            add_branches(rows, hot::Unconditional{});
            add_single(rows, hot::Single{});
            add_pairs(rows, hot::Pair{});
            // By address, for searching only.
            std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return key(a.fn) < key(b.fn); });
            return rows;
        }();
        return kRows;
    }
    static std::uintptr_t key(a64::Exec fn) { return reinterpret_cast<std::uintptr_t>(fn); }
    static const Row* find(const a64::Insn& i, bool by_kind) {
        const Rows& all = rows();
        auto at = std::lower_bound(all.begin(), all.end(), key(i.fn),
                                   [](const Row& r, std::uintptr_t k) { return key(r.fn) < k; });
        for (; at != all.end() && at->fn == i.fn; ++at)
            if (!by_kind || at->kind == i.kind) return &*at;
        return nullptr;
    }
};

template <class Core, bool kTimed>
Handler Threads<Core, kTimed>::handler_of(const DecodedOp& op, Block& block) {
    const bool is_access = op.group == OpGroup::load || op.group == OpGroup::store;
    const Row* const row = is_access || op.group == OpGroup::branch ? find(op.insn, !is_access) : nullptr;
    const bool access_called = is_access && !row;
    if (access_called || op.group == OpGroup::system) block.replays = false;
    if (op.group == OpGroup::divide || (is_access && Core::kReadsAddresses)) block.has_inputs = true;
    switch (op.group) {
        case OpGroup::simple:
        case OpGroup::flags:
        case OpGroup::general: return processing_handler(op.insn);
        case OpGroup::divide: return divide;
        case OpGroup::load:
        case OpGroup::store: return row ? row->handler : access;
        case OpGroup::branch:
            if (block.ops.size() > 1)
                if (DecodedOp& before = block.ops[block.ops.size() - 2]; Handler h = find_pair(before.insn, op.insn))
                    before.handler = h;
            return row ? row->handler : branch<nullptr, a64::InsnKind{}>;
        case OpGroup::system: break;
    }
    return rest;
}

} // namespace rkperf::cpu

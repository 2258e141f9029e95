// SPDX-License-Identifier: Apache-2.0
// A core with its pipeline: the execution loop. Pipe models time only, in absolute core cycles; it sees each operation
// once, in program order, and its state depends on nothing else, so that leaving the loop and coming back changes nothing:
//
//   restart(cycle)                     begins anew after an exception; nothing is in flight
//   fetch_at()                         cycle at which the front end asks for the next line
//   fetch_stall(ready, why)            the line, or its translation, is there at `ready`
//   enter_block(fetches)               the front end delivers a block
//   simple(op), flags(op), general(op) an operation without memory access, by its group
//   divide(op, bits)                   a division whose quotient has so many bits
//   begin(op)                          issues a load or store; returns the cycle
//   load(op, issue, ready, slow, va)   completes it; `ready`: issue, or when a slow access (slow != 0) has its data
//   store(op, issue, ready, slow, va)  the same; `ready`: when the line is owned
//   fault(cycle)                       the access faulted, which was known at `cycle`
//   begin_system(op), system(op, ready)  barriers, system registers, exceptions
//   branch(op)                         issues a branch; returns the cycle at which it is resolved
//   taken(bubble), mispredict(resolved)  what came of it
//   wrong_path(resolved)               operations issued in vain behind it
//   retired()                          cycle at which everything seen so far has retired
//   horizon()                          no later request for a line or an access is for an earlier cycle
//   kSimple                            all branches are predicted right
#pragma once

#include "models/cpu/core_base.h"

#include <algorithm>
#include <bit>

namespace rkperf::cpu {

template <class Pipe>
class CoreImpl final : public CoreBase {
  public:
    template <class... PipeArgs>
    CoreImpl(sc_core::sc_module_name name, const CoreConfig& config, const CoreTables& tables,
             mem::PhysicalMemory& memory, const PredictorParams& predictor, const PipeArgs&... args)
        : CoreBase(name, config, tables, memory), predictor_(predictor), pipe_(stalls_, args...) {}

    UserExit run_user(a64::CpuState& state) override;

  private:
    enum class Why : std::uint8_t { attention, stopped };

    /// Executes from `block_`, operation `index_`, until something needs the core's attention at a boundary, or an
    /// operation stops.
    Why run(a64::CpuState& s);
    bool system_op(a64::CpuState& s, const DecodedOp& op, std::uint64_t pc);
    /// Completes a memory operation whose access was not a plain hit.
    void slow_access(a64::CpuState& s, const DecodedOp& op, std::uint64_t issue);
    static unsigned quotient_bits(const a64::CpuState& s, const a64::Insn& i);

    BranchPredictor predictor_;
    Pipe pipe_;
    Block* block_{};
    unsigned index_{};
    const DecodedOp* last_{}; ///< what the last boundary came after
};

template <class Pipe>
UserExit CoreImpl<Pipe>::run_user(a64::CpuState& s) {
    enter_user(s);
    predictor_.exception();
    pipe_.restart(cycle_);
    block_ = nullptr;
    last_ = nullptr;
    for (;;) {
        const Next next = user_boundary(last_);
        if (next == Next::relookup) block_ = nullptr;
        if (next > Next::relookup) return leave_user(next);
        const Why why = run(s);
        cycle_ = pipe_.retired();
        horizon_ = pipe_.horizon();
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
void CoreImpl<Pipe>::slow_access(a64::CpuState& s, const DecodedOp& op, std::uint64_t issue) {
    const std::uint32_t what = s.mem.slow;
    s.mem.slow = 0;
    std::uint64_t ready = std::max(issue, mem_ready_);
    if ((what & slow::exclusive) && op.insn.kind == a64::InsnKind::exclusive_store) {
        const bool failed = s.x[op.insn.rm] != 0 && op.insn.rm < a64::kZr;
        // The status may go to XZR; then what the access did tells.
        const bool passed = op.insn.rm < a64::kZr ? !failed : (what & slow::access) || s.mem.accesses;
        note(passed ? Lane::store_exclusive_pass : Lane::store_exclusive_fail);
        if (!passed) ready += tables_.costs.store_exclusive_fail;
    }
    if (op.insn.timing == a64::TimingClass::prefetch) ready = issue; // nobody waits for it
    if (op.is_store) {
        pipe_.store(op, issue, ready, what, s.mem.last_va);
    } else {
        pipe_.load(op, issue, ready, what, s.mem.last_va);
    }
}

template <class Pipe>
bool CoreImpl<Pipe>::system_op(a64::CpuState& s, const DecodedOp& op, std::uint64_t pc) {
    s.pc = pc;
    cycle_ = pipe_.retired();
    const std::uint64_t issue = pipe_.begin_system(op);
    mem_issue_ = mem_ready_ = issue;
    op.insn.fn(s, op.insn);
    s.mem.slow = 0;
    std::uint64_t ready = std::max(issue, mem_ready_);
    if (s.stop == a64::Stop::isb) ready += tables_.costs.isb;
    const bool retires =
        s.stop == a64::Stop::none || s.stop == a64::Stop::isb || s.stop == a64::Stop::wait || s.stop == a64::Stop::svc;
    if (retires) pipe_.system(op, ready);
    return retires;
}

template <class Pipe>
typename CoreImpl<Pipe>::Why CoreImpl<Pipe>::run(a64::CpuState& s) {
    Block* b = block_;
    unsigned first = b ? index_ : 0; // operations from here on are not counted yet
    bool boundary = true;            // nothing was executed since the last one
    for (;;) {
        if (!b) {
            const std::uint64_t at = s.pc;
            b = (at ^ vpn_ << kPageShift) < kPageSize ? page_->at[(at & (kPageSize - 1)) / 4] : nullptr;
            if (__builtin_expect(!b || at % 4, 0)) {
                cycle_ = pipe_.retired();
                b = find_block(pipe_.fetch_at());
                if (!b) return Why::stopped;
                pipe_.fetch_stall(fetch_ready_, Lane::stall_frontend_tlb);
            }
        }
        budget_ -= b->cost;
        if (__builtin_expect(budget_ < 0, 0)) {
            cycle_ = pipe_.retired();
            if (budget_exhausted(*b, first, boundary)) {
                last_ = nullptr;
                block_ = b;
                index_ = first;
                return Why::attention;
            }
        }
        boundary = false;
        if (first == 0) {
            if (__builtin_expect(!page_->l1i[b->line], 0)) {
                const std::uint64_t ready = fetch_line(*b, pipe_.fetch_at());
                pipe_.fetch_stall(ready, Lane::stall_frontend_cache);
            }
            pipe_.enter_block(b->fetches);
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
                    pipe_.simple(*op);
                    break;
                case OpGroup::flags:
                    s.pc = pc;
                    op->insn.fn(s, op->insn);
                    pipe_.flags(*op);
                    break;
                case OpGroup::general:
                    s.pc = pc;
                    op->insn.fn(s, op->insn);
                    pipe_.general(*op);
                    break;
                case OpGroup::divide: {
                    const unsigned bits = quotient_bits(s, op->insn);
                    s.pc = pc;
                    op->insn.fn(s, op->insn);
                    pipe_.divide(*op, bits);
                    break;
                }
                case OpGroup::load:
                case OpGroup::store: {
                    const std::uint64_t issue = pipe_.begin(*op);
                    mem_issue_ = issue;
                    s.pc = pc;
                    op->insn.fn(s, op->insn);
                    if (__builtin_expect(s.stop != a64::Stop::none, 0)) {
                        s.mem.slow = s.mem.accesses = 0;
                        pipe_.fault(std::max(issue, mem_ready_));
                        goto stopped;
                    }
                    if (__builtin_expect(s.mem.slow != 0, 0)) {
                        slow_access(s, *op, issue);
                    } else if (op->is_store) {
                        pipe_.store(*op, issue, issue, 0, s.mem.last_va);
                    } else {
                        pipe_.load(*op, issue, issue, 0, s.mem.last_va);
                    }
                    fast_.hits[op->is_store] += s.mem.accesses;
                    s.mem.accesses = 0;
                    if (__builtin_expect(s.mem.last_va & op->align_mask, 0)) ++fast_.unaligned[op->is_store];
                    break;
                }
                case OpGroup::branch: {
                    const std::uint64_t resolved = pipe_.branch(*op);
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
                    if constexpr (!Pipe::kSimple) r = predictor_.resolve(op->insn.kind, pc, taken, s.pc);
                    if (__builtin_expect(r.mispredict != Mispredict::none, 0)) {
                        note_mispredict(r.mispredict, pipe_.wrong_path(resolved));
                        pipe_.mispredict(resolved);
                    } else if (taken) {
                        pipe_.taken(r.bubble);
                    }
                    pc = s.pc - 4;
                    break;
                }
                case OpGroup::system:
                    if (first < static_cast<unsigned>(op - ops)) {
                        count_ops(*b, first, static_cast<unsigned>(op - ops));
                        first = static_cast<unsigned>(op - ops);
                    }
                    if (!system_op(s, *op, pc)) {
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
            if (__builtin_expect(pipe_.retired() >= deadline_, 0)) {
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
        continue;
    stopped:
        count_ops(*b, first, static_cast<unsigned>(op - ops));
        return Why::stopped;
    }
}

} // namespace rkperf::cpu

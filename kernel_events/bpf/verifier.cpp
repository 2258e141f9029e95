// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/bpf/verifier.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <set>

namespace rkperf::ke {

namespace {

constexpr std::uint32_t kMaxSteps = 1'000'000; // BPF_COMPLEXITY_LIMIT_INSNS
constexpr std::size_t kMaxPending = 8192;      // BPF_COMPLEXITY_LIMIT_JMP_SEQ
constexpr std::size_t kStatesPerInsn = 64;
constexpr std::size_t kMaxMaps = 64;

unsigned op_class(const bpf_insn& i) { return BPF_CLASS(i.code); }
bool is_pseudo_call(const bpf_insn& i) { return i.code == (BPF_JMP | BPF_CALL) && i.src_reg == BPF_PSEUDO_CALL; }
bool is_jump(const bpf_insn& i) { return op_class(i) == BPF_JMP || op_class(i) == BPF_JMP32; }
bool is_ld_imm64(const bpf_insn& i) { return i.code == (BPF_LD | BPF_IMM | BPF_DW); }

} // namespace

int BpfVerifier::fail(int error, const char* format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (level_) log_.append(text).append("\n");
    return error;
}

int BpfVerifier::check() {
    uninit_stack_allowed_ = bpf_.perf().perfmon_capable();
    int error = resolve_maps();
    if (!error) error = check_cfg();
    if (!error) error = walk();
    if (level_)
        log_.append("processed ").append(std::to_string(prog_.verified_insns)).append(" insns (limit 1000000)\n");
    return error;
}

int BpfVerifier::resolve_maps() {
    auto& insns = prog_.insns;
    const int n = static_cast<int>(insns.size());
    is_second_half_.assign(insns.size(), false);
    for (int at = 0; at < n; ++at) {
        bpf_insn& i = insns[static_cast<unsigned>(at)];
        if (op_class(i) == BPF_LDX && (BPF_MODE(i.code) != BPF_MEM || i.imm))
            return fail(-EINVAL, "BPF_LDX uses reserved fields");
        if (!is_ld_imm64(i)) {
            if (const int e = check_insn(at, i)) return e;
            continue;
        }
        if (at == n - 1) return fail(-EINVAL, "invalid bpf_ld_imm64 insn");
        bpf_insn& high = insns[static_cast<unsigned>(at) + 1];
        if (high.code || high.dst_reg || high.src_reg || high.off) return fail(-EINVAL, "invalid bpf_ld_imm64 insn");
        if (i.off) return fail(-EINVAL, "BPF_LD_IMM64 uses reserved fields");
        is_second_half_[static_cast<unsigned>(at) + 1] = true;
        if (i.src_reg == BPF_PSEUDO_MAP_FD || i.src_reg == BPF_PSEUDO_MAP_VALUE) {
            if (i.src_reg == BPF_PSEUDO_MAP_FD && high.imm) return fail(-EINVAL, "unrecognized bpf_ld_imm64 insn");
            int error = 0;
            const BpfMapPtr map = bpf_.map_of_fd(i.imm, error);
            if (!map) return fail(error, "fd %d is not pointing to valid bpf_map", i.imm);
            if (i.src_reg == BPF_PSEUDO_MAP_VALUE) {
                if (map->type() != BPF_MAP_TYPE_ARRAY || map->max_entries() != 1)
                    return fail(-524 /* ENOTSUPP */, "direct value access is not supported for this map type");
                if (static_cast<std::uint32_t>(high.imm) >= map->value_size())
                    return fail(-EINVAL, "invalid access to map value pointer");
            }
            auto it = std::find(prog_.maps.begin(), prog_.maps.end(), map);
            if (it == prog_.maps.end()) {
                if (prog_.maps.size() >= kMaxMaps) return -E2BIG;
                prog_.maps.push_back(map);
                it = prog_.maps.end() - 1;
            }
            i.imm = static_cast<std::int32_t>(it - prog_.maps.begin());
        } else if (i.src_reg) {
            return fail(-EINVAL, "unrecognized bpf_ld_imm64 insn");
        }
        if (i.dst_reg > BPF_REG_10) return fail(-EINVAL, "R%d is invalid", i.dst_reg);
        ++at;
    }
    return 0;
}

/// Instructions that there are, with nothing in the fields they do not use.
int BpfVerifier::check_insn(int at, const bpf_insn& i) {
    if (is_second_half_[static_cast<unsigned>(at)]) return 0;
    const unsigned size = BPF_SIZE(i.code), op = BPF_OP(i.code);
    const bool reg = BPF_SRC(i.code) == BPF_X;
    if (i.dst_reg > BPF_REG_10 || (i.src_reg > BPF_REG_10 && !is_pseudo_call(i)))
        return fail(-EINVAL, "R%d is invalid", std::max<int>(i.dst_reg, i.src_reg));
    const auto unknown = [&] { return fail(-EINVAL, "unknown opcode %02x", i.code); };
    switch (op_class(i)) {
        case BPF_LDX: return size <= BPF_DW ? 0 : unknown();
        case BPF_ST:
            if (BPF_MODE(i.code) != BPF_MEM) return unknown();
            return i.src_reg ? fail(-EINVAL, "BPF_ST uses reserved fields") : 0;
        case BPF_STX:
            if (BPF_MODE(i.code) == BPF_ATOMIC) {
                if (size != BPF_W && size != BPF_DW) return fail(-EINVAL, "invalid atomic operand size");
                switch (i.imm) {
                    case BPF_ADD:
                    case BPF_ADD | BPF_FETCH:
                    case BPF_AND:
                    case BPF_AND | BPF_FETCH:
                    case BPF_OR:
                    case BPF_OR | BPF_FETCH:
                    case BPF_XOR:
                    case BPF_XOR | BPF_FETCH:
                    case BPF_XCHG:
                    case BPF_CMPXCHG: return 0;
                    default: return fail(-EINVAL, "BPF_ATOMIC uses invalid atomic opcode %02x", i.imm);
                }
            }
            if (BPF_MODE(i.code) != BPF_MEM) return unknown();
            return i.imm ? fail(-EINVAL, "BPF_STX uses reserved fields") : 0;
        case BPF_ALU:
        case BPF_ALU64:
            if (op == BPF_END || op == BPF_NEG) {
                const bool bad = op == BPF_NEG ? reg || i.src_reg || i.off || i.imm
                                               : op_class(i) == BPF_ALU64 || i.src_reg || i.off ||
                                                     (i.imm != 16 && i.imm != 32 && i.imm != 64);
                return bad ? fail(-EINVAL,
                                  op == BPF_NEG ? "BPF_NEG uses reserved fields" : "BPF_END uses reserved fields")
                           : 0;
            }
            if (op > BPF_END) return fail(-EINVAL, "invalid BPF_ALU opcode %x", op);
            if (reg ? i.imm || i.off : i.src_reg || i.off)
                return fail(-EINVAL, op == BPF_MOV ? "BPF_MOV uses reserved fields" : "BPF_ALU uses reserved fields");
            if ((op == BPF_MOD || op == BPF_DIV) && !reg && !i.imm) return fail(-EINVAL, "div by zero");
            if ((op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) && !reg) {
                const int width = op_class(i) == BPF_ALU64 ? 64 : 32;
                if (i.imm < 0 || i.imm >= width) return fail(-EINVAL, "invalid shift %d", i.imm);
            }
            return 0;
        case BPF_JMP:
        case BPF_JMP32:
            if (op == BPF_CALL) {
                if (op_class(i) == BPF_JMP32 || reg || i.dst_reg || (i.src_reg && !is_pseudo_call(i)) ||
                    (i.off && !is_pseudo_call(i)))
                    return fail(-EINVAL, "BPF_CALL uses reserved fields");
                return 0;
            }
            if (op == BPF_JA || op == BPF_EXIT) {
                const bool bad =
                    op_class(i) == BPF_JMP32 || reg || i.imm || i.src_reg || i.dst_reg || (op == BPF_EXIT && i.off);
                return bad ? fail(-EINVAL,
                                  op == BPF_JA ? "BPF_JA uses reserved fields" : "BPF_EXIT uses reserved fields")
                           : 0;
            }
            if (op > BPF_JSLE) return fail(-EINVAL, "invalid BPF_JMP opcode %x", op);
            return (reg ? i.imm : i.src_reg) ? fail(-EINVAL, "BPF_JMP uses reserved fields") : 0;
        case BPF_LD:
            // Only programs on packets have these.
            if (BPF_MODE(i.code) == BPF_ABS || BPF_MODE(i.code) == BPF_IND)
                return fail(-EINVAL, "BPF_LD_[ABS|IND] instructions not allowed for this program type");
            return fail(-EINVAL, "invalid BPF_LD mode");
        default: return unknown();
    }
}

/// Jumps stay in their function and off the middle of instructions, nothing is out of reach, and no function runs into the next.
int BpfVerifier::check_cfg() {
    const auto& insns = prog_.insns;
    const int n = static_cast<int>(insns.size());
    std::set<int> starts{0};
    for (int at = 0; at < n; ++at) {
        const bpf_insn& i = insns[static_cast<unsigned>(at)];
        if (!is_pseudo_call(i)) continue;
        const int to = at + 1 + i.imm;
        if (to < 0 || to >= n) return fail(-EINVAL, "call to invalid destination");
        starts.insert(to);
    }
    if (starts.size() > 256) return fail(-E2BIG, "too many subprograms");
    prune_point_.assign(insns.size(), false);
    for (auto s = starts.begin(); s != starts.end(); ++s) {
        const int from = *s, end = std::next(s) == starts.end() ? n : *std::next(s);
        subprog_depth_[from] = 0;
        for (int at = from; at < end; ++at) {
            const bpf_insn& i = insns[static_cast<unsigned>(at)];
            if (is_second_half_[static_cast<unsigned>(at)]) continue;
            const bool jumps = is_jump(i) && BPF_OP(i.code) != BPF_CALL && BPF_OP(i.code) != BPF_EXIT;
            if (jumps) {
                const int to = at + 1 + i.off;
                if (to < from || to >= end) return fail(-EINVAL, "jump out of range from insn %d to %d", at, to);
            }
            if (at == end - 1 && i.code != (BPF_JMP | BPF_EXIT) && i.code != (BPF_JMP | BPF_JA))
                return fail(-EINVAL, "last insn is not an exit or jmp");
        }
    }
    std::vector<bool> reached(insns.size(), false);
    std::vector<int> todo{0};
    while (!todo.empty()) {
        const int at = todo.back();
        todo.pop_back();
        if (at >= n) return fail(-EINVAL, "jump out of range");
        const auto u = static_cast<unsigned>(at);
        if (is_second_half_[u]) return fail(-EINVAL, "jump into the middle of ldimm64 insn %d", at);
        if (reached[u]) continue;
        reached[u] = true;
        const bpf_insn& i = insns[u];
        if (is_ld_imm64(i)) {
            reached[u + 1] = true;
            todo.push_back(at + 2);
            continue;
        }
        if (!is_jump(i)) {
            todo.push_back(at + 1);
            continue;
        }
        switch (BPF_OP(i.code)) {
            case BPF_EXIT: break;
            case BPF_CALL:
                if (is_pseudo_call(i)) {
                    todo.push_back(at + 1 + i.imm);
                    prune_point_[static_cast<unsigned>(at + 1 + i.imm)] = true;
                }
                todo.push_back(at + 1);
                if (at + 1 < n) prune_point_[u + 1] = true;
                break;
            case BPF_JA:
                todo.push_back(at + 1 + i.off);
                prune_point_[static_cast<unsigned>(at + 1 + i.off)] = true;
                break;
            default:
                todo.push_back(at + 1);
                todo.push_back(at + 1 + i.off);
                prune_point_[u] = true;
                prune_point_[static_cast<unsigned>(at + 1 + i.off)] = true;
        }
    }
    for (int at = 0; at < n; ++at)
        if (!reached[static_cast<unsigned>(at)]) return fail(-EINVAL, "unreachable insn %d", at);
    return 0;
}

void BpfVerifier::fork(int at, BpfState state) {
    if (parent_) ++parent_->branches;
    pending_.push_back({at, std::move(state), parent_});
}

BpfVerifier::Seen BpfVerifier::seen_before(int at) {
    auto& here = explored_[static_cast<unsigned>(at)];
    for (const auto& e : here) {
        if (e->branches) {
            // On the way here, or another way's start: the same state again would go on for ever.
            bool ancestor = false;
            for (const Explored* p = parent_; p && !ancestor; p = p->parent) ancestor = p == e.get();
            if (ancestor && e->state == state_) return Seen::loop;
        } else if (bpf_states_equal(e->state, state_)) {
            return Seen::pruned;
        }
    }
    if (here.size() >= kStatesPerInsn) {
        // The oldest that nobody needs any more makes room.
        const auto old = std::find_if(here.begin(), here.end(), [](const auto& e) { return !e->branches; });
        if (old == here.end()) return Seen::fresh;
        here.erase(old);
    }
    auto e = std::make_unique<Explored>();
    e->state = state_;
    e->parent = parent_;
    parent_ = e.get();
    here.push_back(std::move(e));
    return Seen::fresh;
}

int BpfVerifier::walk() {
    explored_.resize(prog_.insns.size());
    BpfFrame first;
    first.regs[BPF_REG_1].mark_pointer(BpfType::ctx);
    first.regs[BPF_REG_10].mark_pointer(BpfType::stack);
    state_.frames.assign(1, first);
    int at = 0;
    for (;;) {
        bool ended = false;
        while (!ended) {
            if (prune_point_[static_cast<unsigned>(at)]) {
                const Seen seen = seen_before(at);
                if (seen == Seen::loop) return fail(-EINVAL, "infinite loop detected at insn %d", at);
                if (seen == Seen::pruned) break;
            }
            if (++prog_.verified_insns > kMaxSteps)
                return fail(-E2BIG, "BPF program is too large. Processed %u insn", prog_.verified_insns);
            if (const int e = step(at, ended)) return e;
            if (pending_.size() > kMaxPending)
                return fail(-E2BIG, "The sequence of %zu jumps is too complex.", pending_.size());
        }
        for (Explored* p = parent_; p && --p->branches == 0; p = p->parent) {
        }
        if (pending_.empty()) break;
        at = pending_.back().at;
        state_ = std::move(pending_.back().state);
        parent_ = pending_.back().parent;
        pending_.pop_back();
    }
    for (const auto& [_, depth] : subprog_depth_)
        prog_.stack_depth = std::max(prog_.stack_depth, static_cast<std::uint32_t>(depth));
    return 0;
}

int BpfVerifier::step(int& at, bool& ended) {
    const bpf_insn& i = prog_.insns[static_cast<unsigned>(at)];
    auto& regs = state_.cur().regs;
    int next = at + 1;
    switch (op_class(i)) {
        case BPF_ALU:
        case BPF_ALU64:
            if (const int e = do_alu(i)) return e;
            break;
        case BPF_LDX: {
            if (const int e = check_reg(i.src_reg)) return e;
            if (const int e = check_writable(i.dst_reg)) return e;
            static constexpr unsigned kSizes[] = {4, 2, 1, 8};
            BpfReg result;
            if (const int e = check_mem(i.src_reg, i.off, kSizes[BPF_SIZE(i.code) >> 3], false, -1, &result)) return e;
            regs[i.dst_reg] = result;
            break;
        }
        case BPF_ST:
        case BPF_STX: {
            static constexpr unsigned kSizes[] = {4, 2, 1, 8};
            const unsigned size = kSizes[BPF_SIZE(i.code) >> 3];
            const bool from_reg = op_class(i) == BPF_STX;
            if (from_reg)
                if (const int e = check_reg(i.src_reg)) return e;
            if (const int e = check_reg(i.dst_reg)) return e;
            if (from_reg && BPF_MODE(i.code) == BPF_ATOMIC) {
                if (i.imm == BPF_CMPXCHG) {
                    if (const int e = check_reg(BPF_REG_0)) return e;
                    if (regs[BPF_REG_0].is_pointer()) return fail(-EACCES, "R0 leaks addr into mem");
                }
                if (regs[i.src_reg].is_pointer()) return fail(-EACCES, "R%d leaks addr into mem", i.src_reg);
                if (regs[i.dst_reg].type == BpfType::ctx)
                    return fail(-EACCES, "BPF_ATOMIC stores into R%d ctx is not allowed", i.dst_reg);
                BpfReg old;
                if (const int e = check_mem(i.dst_reg, i.off, size, false, -1, &old)) return e;
                if (const int e = check_mem(i.dst_reg, i.off, size, true, -1, nullptr)) return e;
                old.mark_unknown();
                if (i.imm == BPF_CMPXCHG) {
                    regs[BPF_REG_0] = old;
                } else if (i.imm & BPF_FETCH) {
                    if (const int e = check_writable(i.src_reg)) return e;
                    regs[i.src_reg] = old;
                }
                break;
            }
            if (regs[i.dst_reg].type == BpfType::ctx)
                return fail(-EACCES, "%s stores into R%d ctx is not allowed", from_reg ? "BPF_STX" : "BPF_ST",
                            i.dst_reg);
            if (const int e = check_mem(i.dst_reg, i.off, size, true, from_reg ? i.src_reg : -2 - !i.imm, nullptr))
                return e;
            break;
        }
        case BPF_LD: {
            if (const int e = check_writable(i.dst_reg)) return e;
            BpfReg& to = regs[i.dst_reg];
            const bpf_insn& high = prog_.insns[static_cast<unsigned>(at) + 1];
            if (i.src_reg == BPF_PSEUDO_MAP_FD) {
                to.mark_pointer(BpfType::map_ptr);
                to.map = static_cast<std::uint32_t>(i.imm);
            } else if (i.src_reg == BPF_PSEUDO_MAP_VALUE) {
                to.mark_pointer(BpfType::map_value);
                to.map = static_cast<std::uint32_t>(i.imm);
                to.off = high.imm;
            } else {
                to.mark_const(static_cast<std::uint64_t>(static_cast<std::uint32_t>(high.imm)) << 32 |
                              static_cast<std::uint32_t>(i.imm));
            }
            next = at + 2;
            break;
        }
        default: // BPF_JMP, BPF_JMP32
            switch (BPF_OP(i.code)) {
                case BPF_CALL:
                    if (const int e = do_call(i, next)) return e;
                    break;
                case BPF_EXIT:
                    if (const int e = do_exit(next, ended)) return e;
                    break;
                case BPF_JA: next = at + 1 + i.off; break;
                default:
                    if (const int e = do_branch(i, at, next)) return e;
            }
    }
    at = next;
    return 0;
}

int BpfVerifier::do_call(const bpf_insn& i, int& next) {
    auto& regs = state_.cur().regs;
    if (!is_pseudo_call(i)) {
        const BpfHelper* h = bpf_helper(i.imm);
        const unsigned type = prog_.type == BPF_PROG_TYPE_PERF_EVENT   ? kBpfPerfEvent
                              : prog_.type == BPF_PROG_TYPE_TRACEPOINT ? kBpfTracepoint
                              : prog_.type == BPF_PROG_TYPE_KPROBE     ? kBpfKprobe
                                                                       : kBpfSocket;
        if (i.imm <= 0 || i.imm >= __BPF_FUNC_MAX_ID) return fail(-EINVAL, "invalid func unknown#%d", i.imm);
        if (!h || !(h->progs & type)) return fail(-EINVAL, "unknown func#%d", i.imm);
        if (h->gpl_only && !prog_.gpl)
            return fail(-EINVAL, "cannot call GPL-restricted function from non-GPL compatible program");
        return check_helper(*h);
    }
    if (state_.frames.size() >= kBpfFrames)
        return fail(-E2BIG, "the call stack of %zu frames is too deep", state_.frames.size() + 1);
    BpfFrame callee;
    for (unsigned r = BPF_REG_1; r <= BPF_REG_5; ++r) callee.regs[r] = regs[r];
    callee.regs[BPF_REG_10].mark_pointer(BpfType::stack);
    callee.regs[BPF_REG_10].frame = static_cast<std::uint32_t>(state_.frames.size());
    callee.return_to = next;
    callee.subprog_start = next + i.imm;
    for (unsigned r = BPF_REG_0; r <= BPF_REG_5; ++r) regs[r] = BpfReg{};
    // A call from within itself has no end that could be seen.
    for (const BpfFrame& f : state_.frames)
        if (f.subprog_start == callee.subprog_start && state_.frames.size() > 1) return fail(-EINVAL, "recursive call");
    next = callee.subprog_start;
    state_.frames.push_back(std::move(callee));
    int depth = 0;
    for (const BpfFrame& f : state_.frames) depth += (std::max(subprog_depth_[f.subprog_start], 1) + 31) & ~31;
    if (depth > static_cast<int>(kBpfStack))
        return fail(-EACCES, "combined stack size of %zu calls is %d. Too large", state_.frames.size(), depth);
    return 0;
}

int BpfVerifier::do_exit(int& next, bool& ended) {
    if (state_.frames.size() > 1) {
        const BpfReg result = state_.cur().regs[BPF_REG_0];
        if (result.type == BpfType::stack) return fail(-EINVAL, "cannot return stack pointer to the caller");
        next = state_.cur().return_to;
        state_.frames.pop_back();
        state_.cur().regs[BPF_REG_0] = result;
        return 0;
    }
    ended = true;
    return check_reg(BPF_REG_0);
}

int BpfVerifier::do_branch(const bpf_insn& i, int at, int& next) {
    auto& regs = state_.cur().regs;
    const unsigned op = BPF_OP(i.code);
    const bool by_reg = BPF_SRC(i.code) == BPF_X, is32 = op_class(i) == BPF_JMP32;
    if (by_reg)
        if (const int e = check_reg(i.src_reg)) return e;
    if (const int e = check_reg(i.dst_reg)) return e;
    BpfReg a = regs[i.dst_reg], b;
    if (by_reg)
        b = regs[i.src_reg];
    else
        b.mark_const(static_cast<std::uint64_t>(static_cast<std::int64_t>(i.imm)));
    const int target = at + 1 + i.off;
    if (a.is_pointer() || b.is_pointer()) {
        const bool null_check = !by_reg && !i.imm && (op == BPF_JEQ || op == BPF_JNE) && !is32;
        if (null_check && a.type == BpfType::map_value_or_null) {
            BpfState other = state_;
            mark_map_value(op == BPF_JEQ ? other : state_, a.id, true);
            mark_map_value(op == BPF_JEQ ? state_ : other, a.id, false);
            fork(target, std::move(other));
            return 0;
        }
        if (null_check) { // a pointer is not null
            next = op == BPF_JNE ? target : next;
            return 0;
        }
        fork(target, state_);
        return 0;
    }
    static constexpr struct {
        unsigned op, opposite;
    } kOpposite[] = {{BPF_JEQ, BPF_JNE},   {BPF_JNE, BPF_JEQ},   {BPF_JGT, BPF_JLE},   {BPF_JLE, BPF_JGT},
                     {BPF_JGE, BPF_JLT},   {BPF_JLT, BPF_JGE},   {BPF_JSGT, BPF_JSLE}, {BPF_JSLE, BPF_JSGT},
                     {BPF_JSGE, BPF_JSLT}, {BPF_JSLT, BPF_JSGE}, {BPF_JSET, 0}};
    unsigned opposite = 0;
    for (const auto& o : kOpposite)
        if (o.op == op) opposite = o.opposite;
    const auto way = [&](unsigned how, BpfState& s) {
        BpfReg x = a, y = b;
        if (how == 0) { // not JSET: none of the bits is set
            if (y.is_const()) {
                x.bits = tnum_and(x.bits, tnum_const(~(is32 ? y.bits.value & 0xffffffff : y.bits.value)));
                if (a.bits.value & y.bits.value & (is32 ? 0xffffffffull : ~0ull)) return false;
                if (!x.sync()) return false;
            }
        } else if (how == BPF_JSET) {
            if (y.is_const() && !((x.bits.value | x.bits.mask) & y.bits.value & (is32 ? 0xffffffffull : ~0ull)))
                return false;
        } else if (is32 ? !narrow32(x, y, how) : !narrow(x, y, how)) {
            return false;
        }
        if (a.id)
            set_all_with_id(s, a.id, x);
        else
            s.cur().regs[i.dst_reg] = x;
        if (by_reg && i.src_reg != i.dst_reg) {
            if (b.id)
                set_all_with_id(s, b.id, y);
            else
                s.cur().regs[i.src_reg] = y;
        }
        return true;
    };
    BpfState taken = state_;
    const bool can_take = way(op, taken), can_fall = way(opposite, state_);
    if (!can_take && !can_fall) { // does not happen to a value that exists; go both ways as it was
        fork(target, taken);
        return 0;
    }
    if (can_take && can_fall) {
        fork(target, std::move(taken));
    } else if (can_take) {
        state_ = std::move(taken);
        next = target;
    }
    return 0;
}

int Bpf::bpf_check(BpfProg& prog, std::string& log, unsigned log_level) {
    KernelFrame frame(kernel_, KernelSymbol::bpf_check);
    const int error = BpfVerifier(*this, prog, log, log_level).check();
    kernel_.charge(100 *
                   std::min<std::uint32_t>(prog.verified_insns, 100'000)); // an estimate, per instruction followed
    return error;
}

} // namespace rkperf::ke

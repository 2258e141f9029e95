// SPDX-License-Identifier: Apache-2.0
// The verifier: arithmetic, and what comparisons say.
#include "kernel_events/bpf/verifier.h"

#include <algorithm>
#include <limits>

namespace rkperf::ke {

namespace {

constexpr std::int64_t kMinS = std::numeric_limits<std::int64_t>::min(),
                       kMaxS = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMax32 = 0xffffffff;
constexpr std::int64_t kMaxOffset = 1 << 29; // BPF_MAX_VAR_OFF

std::int64_t as_signed(std::uint64_t v) { return static_cast<std::int64_t>(v); }

void unbound_signed(BpfReg& r) { r.smin = kMinS, r.smax = kMaxS; }
void unbound(BpfReg& r) {
    unbound_signed(r);
    r.umin = 0, r.umax = ~std::uint64_t{0};
}

void add_bounds(BpfReg& r, const BpfReg& by) {
    if (__builtin_add_overflow(r.smin, by.smin, &r.smin) || __builtin_add_overflow(r.smax, by.smax, &r.smax))
        unbound_signed(r);
    if (r.umax + by.umax < r.umax)
        r.umin = 0, r.umax = ~std::uint64_t{0};
    else
        r.umin += by.umin, r.umax += by.umax;
}

void sub_bounds(BpfReg& r, const BpfReg& by) {
    if (__builtin_sub_overflow(r.smin, by.smax, &r.smin) || __builtin_sub_overflow(r.smax, by.smin, &r.smax))
        unbound_signed(r);
    if (r.umin < by.umax) {
        r.umin = 0, r.umax = ~std::uint64_t{0};
    } else {
        const std::uint64_t most = by.umax;
        r.umin -= most;
        r.umax -= by.umin;
    }
}

/// The 32 low bits, zero extended.
void truncate(BpfReg& r) {
    r.bits = tnum_and(r.bits, tnum_const(kMax32));
    if (r.umax > kMax32) r.umin = 0, r.umax = kMax32;
    unbound_signed(r);
    r.smin = 0;
    r.smax = static_cast<std::int64_t>(kMax32);
    if (!r.sync()) r.mark_range(0, kMax32);
}

std::uint64_t constant_alu(unsigned op, std::uint64_t a, std::uint64_t b, bool is64) {
    const std::uint64_t width = is64 ? 63 : 31;
    if (!is64) a &= kMax32, b &= kMax32;
    switch (op) {
        case BPF_ADD: return a + b;
        case BPF_SUB: return a - b;
        case BPF_MUL: return a * b;
        case BPF_DIV: return b ? a / b : 0;
        case BPF_MOD: return b ? a % b : a;
        case BPF_OR: return a | b;
        case BPF_AND: return a & b;
        case BPF_XOR: return a ^ b;
        case BPF_LSH: return a << (b & width);
        case BPF_RSH: return a >> (b & width);
        case BPF_ARSH:
            return is64 ? static_cast<std::uint64_t>(as_signed(a) >> (b & width))
                        : static_cast<std::uint32_t>(static_cast<std::int32_t>(a) >> (b & width));
        default: return 0;
    }
}

} // namespace

int BpfVerifier::check_reg(unsigned n) {
    return state_.cur().regs[n].type == BpfType::not_init ? fail(-EACCES, "R%u !read_ok", n) : 0;
}

int BpfVerifier::check_writable(unsigned n) {
    return n == BPF_REG_10 ? fail(-EACCES, "frame pointer is read only") : 0;
}

void BpfVerifier::set_all_with_id(BpfState& s, std::uint32_t id, const BpfReg& value) {
    for (BpfFrame& f : s.frames) {
        for (BpfReg& r : f.regs)
            if (r.id == id) r = value;
        for (BpfSlot& slot : f.stack)
            if (slot.is_spill() && slot.spilled.id == id) slot.spilled = value;
    }
}

void BpfVerifier::mark_map_value(BpfState& s, std::uint32_t id, bool is_null) {
    const auto change = [&](BpfReg& r) {
        if (r.type != BpfType::map_value_or_null || r.id != id) return;
        if (is_null) {
            r.mark_const(0);
        } else {
            r.type = BpfType::map_value;
            r.id = 0;
        }
    };
    for (BpfFrame& f : s.frames) {
        for (BpfReg& r : f.regs) change(r);
        for (BpfSlot& slot : f.stack)
            if (slot.is_spill()) change(slot.spilled);
    }
}

int BpfVerifier::adjust_pointer(const bpf_insn& i, BpfReg& to, const BpfReg& pointer, const BpfReg& offset,
                                bool subtract) {
    const unsigned n = i.dst_reg;
    if (BPF_CLASS(i.code) != BPF_ALU64) return fail(-EACCES, "R%u 32-bit pointer arithmetic prohibited", n);
    if (pointer.type == BpfType::map_value_or_null)
        return fail(-EACCES, "R%u pointer arithmetic on map_value_or_null prohibited, null-check it first", n);
    if (pointer.type == BpfType::map_ptr && !(offset.is_const() && !offset.bits.value))
        return fail(-EACCES, "R%u pointer arithmetic on map_ptr prohibited", n);
    if (offset.is_const()) {
        const std::int64_t v = as_signed(offset.bits.value);
        if (v >= kMaxOffset || v <= -kMaxOffset)
            return fail(-EINVAL, "math between pointer and %lld is not allowed", static_cast<long long>(v));
    }
    if (offset.smin <= -kMaxOffset || offset.smin >= kMaxOffset)
        return fail(-EINVAL, "math between pointer and register with unbounded min value is not allowed (R%u)", n);
    BpfReg r = pointer;
    if (offset.is_const()) {
        const std::int64_t v = as_signed(offset.bits.value);
        const std::int64_t sum = r.off + (subtract ? -v : v);
        if (sum >= kMaxOffset || sum <= -kMaxOffset)
            return fail(-EINVAL, "pointer offset %lld is not allowed", static_cast<long long>(sum));
        r.off = static_cast<std::int32_t>(sum);
        to = r;
        return 0;
    }
    if (pointer.type == BpfType::stack && subtract)
        return fail(-EACCES, "R%u subtraction from stack pointer prohibited", n);
    if (subtract) {
        sub_bounds(r, offset);
        r.bits = tnum_sub(r.bits, offset.bits);
    } else {
        add_bounds(r, offset);
        r.bits = tnum_add(r.bits, offset.bits);
    }
    if (!r.sync()) unbound(r);
    if (r.smin <= -kMaxOffset || r.smin >= kMaxOffset)
        return fail(-EINVAL, "value makes the pointer in R%u be out of bounds", n);
    to = r;
    return 0;
}

void BpfVerifier::adjust_scalar(BpfReg& to, const BpfReg& by, unsigned op, bool is64) {
    BpfReg a = to, b = by;
    a.id = b.id = 0;
    if (!is64) truncate(a), truncate(b);
    if (a.is_const() && b.is_const()) {
        const std::uint64_t v = constant_alu(op, a.bits.value, b.bits.value, is64);
        to.mark_const(is64 ? v : v & kMax32);
        return;
    }
    const unsigned width = is64 ? 63 : 31;
    switch (op) {
        case BPF_ADD:
            add_bounds(a, b);
            a.bits = tnum_add(a.bits, b.bits);
            break;
        case BPF_SUB:
            sub_bounds(a, b);
            a.bits = tnum_sub(a.bits, b.bits);
            break;
        case BPF_AND:
            a.bits = tnum_and(a.bits, b.bits);
            a.umin = a.bits.value;
            a.umax = std::min(a.umax, b.umax);
            if (a.smin < 0 || b.smin < 0)
                unbound_signed(a);
            else
                a.smin = as_signed(a.umin), a.smax = as_signed(a.umax);
            break;
        case BPF_OR:
            a.bits = tnum_or(a.bits, b.bits);
            a.umin = std::max(a.umin, b.umin);
            a.umax = a.bits.value | a.bits.mask;
            unbound_signed(a);
            break;
        case BPF_XOR:
            a.bits = tnum_xor(a.bits, b.bits);
            a.umin = a.bits.value;
            a.umax = a.bits.value | a.bits.mask;
            unbound_signed(a);
            break;
        case BPF_MUL:
            if (a.umax <= kMax32 && b.umax <= kMax32) {
                const std::uint64_t min = a.umin * b.umin, max = a.umax * b.umax;
                a.mark_range(min, max);
            } else {
                a.mark_unknown();
            }
            break;
        case BPF_DIV: a.mark_range(0, b.is_const() && b.bits.value ? a.umax / b.bits.value : a.umax); break;
        case BPF_MOD:
            a.mark_range(0, b.is_const() && b.bits.value ? std::min(a.umax, b.bits.value - 1) : a.umax);
            break;
        case BPF_LSH:
            if (!b.is_const()) {
                a.mark_unknown();
            } else {
                const auto n = static_cast<unsigned>(b.bits.value & width);
                const bool fits = a.umax <= (~std::uint64_t{0} >> n);
                a.bits = tnum_lshift(a.bits, n);
                const std::uint64_t min = a.umin << n, max = a.umax << n;
                unbound(a);
                if (fits) a.umin = min, a.umax = max;
            }
            break;
        case BPF_RSH:
            if (!b.is_const()) {
                a.mark_range(0, a.umax);
            } else {
                const auto n = static_cast<unsigned>(b.bits.value & width);
                a.bits = tnum_rshift(a.bits, n);
                const std::uint64_t min = a.umin >> n, max = a.umax >> n;
                unbound(a);
                a.umin = min, a.umax = max;
            }
            break;
        case BPF_ARSH:
            if (b.is_const() && is64) {
                const auto n = static_cast<unsigned>(b.bits.value & width);
                const std::int64_t min = a.smin >> n, max = a.smax >> n;
                a.mark_unknown();
                a.smin = min, a.smax = max;
            } else {
                a.mark_unknown();
            }
            break;
        default: a.mark_unknown();
    }
    a.type = BpfType::scalar;
    if (!a.sync()) a.mark_unknown();
    if (!is64) truncate(a);
    a.id = 0;
    to = a;
}

int BpfVerifier::do_alu(const bpf_insn& i) {
    auto& regs = state_.cur().regs;
    const unsigned op = BPF_OP(i.code);
    const bool is64 = BPF_CLASS(i.code) == BPF_ALU64, by_reg = BPF_SRC(i.code) == BPF_X;
    BpfReg& to = regs[i.dst_reg];
    if (op == BPF_NEG || op == BPF_END) {
        if (const int e = check_reg(i.dst_reg)) return e;
        if (const int e = check_writable(i.dst_reg)) return e;
        if (to.is_pointer()) return fail(-EACCES, "R%d pointer arithmetic prohibited", i.dst_reg);
        if (op == BPF_NEG) {
            BpfReg zero;
            zero.mark_const(0);
            adjust_scalar(zero, to, BPF_SUB, is64);
            to = zero;
        } else if (i.imm == 16) {
            to.mark_range(0, 0xffff);
        } else if (i.imm == 32) {
            to.mark_range(0, kMax32);
        } else {
            to.mark_unknown();
        }
        return 0;
    }
    BpfReg by;
    if (by_reg) {
        if (const int e = check_reg(i.src_reg)) return e;
        by = regs[i.src_reg];
    } else {
        by.mark_const(is64 ? static_cast<std::uint64_t>(std::int64_t{i.imm}) : static_cast<std::uint32_t>(i.imm));
    }
    if (op == BPF_MOV) {
        if (const int e = check_writable(i.dst_reg)) return e;
        if (is64) {
            // Copies of an unknown number know of each other's comparisons.
            if (by_reg && by.type == BpfType::scalar && !by.id && !by.is_const())
                regs[i.src_reg].id = by.id = ++next_id_;
            to = by;
        } else {
            if (by.is_pointer()) return fail(-EACCES, "R%d partial copy of pointer", i.src_reg);
            by.id = 0;
            truncate(by);
            to = by;
        }
        return 0;
    }
    if (const int e = check_reg(i.dst_reg)) return e;
    if (const int e = check_writable(i.dst_reg)) return e;
    const BpfReg before = to;
    if (before.is_pointer() && by.is_pointer()) {
        if (op == BPF_SUB && is64) {
            to.mark_unknown();
            return 0;
        }
        return fail(-EACCES, "R%d pointer %s pointer prohibited", i.dst_reg, op == BPF_ADD ? "+=" : "operation with");
    }
    if (before.is_pointer() || by.is_pointer()) {
        if (op == BPF_ADD)
            return adjust_pointer(i, to, before.is_pointer() ? before : by, before.is_pointer() ? by : before, false);
        if (op == BPF_SUB && before.is_pointer()) return adjust_pointer(i, to, before, by, true);
        if (op == BPF_SUB) return fail(-EACCES, "R%d tried to subtract pointer from scalar", i.dst_reg);
        return fail(-EACCES, "R%d pointer arithmetic with this operator prohibited", i.dst_reg);
    }
    adjust_scalar(to, by, op, is64);
    return 0;
}

bool BpfVerifier::narrow(BpfReg& a, BpfReg& b, unsigned op) {
    const auto below = [](BpfReg& less, BpfReg& more, bool strictly, bool is_signed) {
        const std::uint64_t one = strictly;
        if (is_signed) {
            if (strictly && (more.smax == kMinS || less.smin == kMaxS)) return false;
            less.smax = std::min(less.smax, more.smax - static_cast<std::int64_t>(one));
            more.smin = std::max(more.smin, less.smin + static_cast<std::int64_t>(one));
        } else {
            if (strictly && (more.umax == 0 || less.umin == ~std::uint64_t{0})) return false;
            less.umax = std::min(less.umax, more.umax - one);
            more.umin = std::max(more.umin, less.umin + one);
        }
        return less.umin <= less.umax && less.smin <= less.smax && more.umin <= more.umax && more.smin <= more.smax &&
               less.sync() && more.sync();
    };
    switch (op) {
        case BPF_JEQ: {
            BpfReg both = a;
            both.umin = std::max(a.umin, b.umin), both.umax = std::min(a.umax, b.umax);
            both.smin = std::max(a.smin, b.smin), both.smax = std::min(a.smax, b.smax);
            if ((a.bits.value ^ b.bits.value) & ~a.bits.mask & ~b.bits.mask) return false;
            both.bits = tnum_intersect(a.bits, b.bits);
            if (!both.sync()) return false;
            const std::uint32_t ida = a.id, idb = b.id;
            a = b = both;
            a.id = ida, b.id = idb;
            return true;
        }
        case BPF_JNE: {
            if (a.is_const() && b.is_const()) return a.bits.value != b.bits.value;
            BpfReg& var = a.is_const() ? b : a;
            const BpfReg& fixed = a.is_const() ? a : b;
            if (!fixed.is_const()) return true;
            if (var.umin == fixed.bits.value && var.umin != ~std::uint64_t{0}) ++var.umin;
            if (var.umax == fixed.bits.value && var.umax) --var.umax;
            return var.umin <= var.umax && var.sync();
        }
        case BPF_JGT: return below(b, a, true, false);
        case BPF_JGE: return below(b, a, false, false);
        case BPF_JLT: return below(a, b, true, false);
        case BPF_JLE: return below(a, b, false, false);
        case BPF_JSGT: return below(b, a, true, true);
        case BPF_JSGE: return below(b, a, false, true);
        case BPF_JSLT: return below(a, b, true, true);
        case BPF_JSLE: return below(a, b, false, true);
        default: return true;
    }
}

bool BpfVerifier::narrow32(BpfReg& a, const BpfReg& b, unsigned op) {
    BpfReg x = a, y = b;
    truncate(x);
    truncate(y);
    const bool is_signed = op == BPF_JSGT || op == BPF_JSGE || op == BPF_JSLT || op == BPF_JSLE;
    if (is_signed) {
        // As numbers of 64 bits they compare alike only if none is negative.
        if (x.umax > 0x7fffffff || y.umax > 0x7fffffff) {
            if (!x.is_const() || !y.is_const()) return true;
            const auto p = static_cast<std::int32_t>(x.bits.value), q = static_cast<std::int32_t>(y.bits.value);
            return op == BPF_JSGT ? p > q : op == BPF_JSGE ? p >= q : op == BPF_JSLT ? p < q : p <= q;
        }
    }
    if (!narrow(x, y, op)) return false;
    // What was learnt holds for the whole register only if its upper half is zero.
    if (a.umax <= kMax32) {
        const std::uint32_t id = a.id;
        a = x;
        a.id = id;
    }
    return true;
}

} // namespace rkperf::ke

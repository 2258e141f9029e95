// SPDX-License-Identifier: Apache-2.0
// The verifier: memory.
#include "kernel_events/bpf/verifier.h"

#include <linux/bpf_common.h>
#include <algorithm>

namespace rkperf::ke {

namespace {

/// What a program type may read of its context: bytes, and how much of it at once.
struct ContextRule {
    std::uint32_t type;
    int first, end;   ///< bytes
    int words_before; ///< below this offset only whole words of 8 bytes
};
/// struct bpf_perf_event_data of arm64: user_pt_regs, sample_period, addr; struct pt_regs; a record of a trace event, whose
/// first word is the kernel's.
constexpr int kUserRegs = 34 * 8, kPerfEventData = kUserRegs + 16, kPtRegs = 336;
constexpr ContextRule kContexts[] = {{BPF_PROG_TYPE_PERF_EVENT, 0, kPerfEventData, kUserRegs},
                                     {BPF_PROG_TYPE_KPROBE, 0, kPtRegs, 0},
                                     {BPF_PROG_TYPE_TRACEPOINT, 8, static_cast<int>(PERF_MAX_TRACE_SIZE), 0},
                                     {BPF_PROG_TYPE_SOCKET_FILTER, 0, 0, 0}};

} // namespace

int BpfVerifier::check_ctx_access(int off, unsigned size, bool write) {
    const auto* rule = std::find_if(std::begin(kContexts), std::end(kContexts),
                                    [&](const ContextRule& r) { return r.type == prog_.type; });
    const int end = off + static_cast<int>(size);
    const bool bad = write || rule == std::end(kContexts) || off < rule->first || off >= rule->end || end > rule->end ||
                     off % static_cast<int>(size) || (off < rule->words_before && size != 8);
    if (bad) return fail(-EACCES, "invalid bpf_context access off=%d size=%u", off, size);
    prog_.max_ctx_offset = std::max(prog_.max_ctx_offset, static_cast<std::uint32_t>(end));
    return 0;
}

int BpfVerifier::check_map_access(const BpfReg& base, int off, unsigned size, bool write) {
    const BpfMap& map = *prog_.maps[base.map];
    if (map.flags() & (write ? BPF_F_RDONLY_PROG : BPF_F_WRONLY_PROG))
        return fail(-EACCES, "%s into map forbidden", write ? "write" : "read");
    const std::int64_t fixed = std::int64_t{base.off} + off, value_size = map.value_size();
    if (base.smin < 0 && (base.smin == std::numeric_limits<std::int64_t>::min() || fixed + base.smin < 0))
        return fail(-EACCES, "R min value is negative, either use unsigned index or do a if (index >=0) check.");
    if (fixed + base.smin < 0 || fixed + base.smin + size > value_size)
        return fail(-EACCES, "invalid access to map value, value_size=%lld off=%lld size=%u",
                    static_cast<long long>(value_size), static_cast<long long>(fixed + base.smin), size);
    if (base.umax >= (1u << 29))
        return fail(-EACCES, "R unbounded memory access, make sure to bounds check any such access");
    if (fixed + static_cast<std::int64_t>(base.umax) + size > value_size)
        return fail(-EACCES, "invalid access to map value, value_size=%lld off=%lld size=%u",
                    static_cast<long long>(value_size),
                    static_cast<long long>(fixed + static_cast<std::int64_t>(base.umax)), size);
    return 0;
}

/// Bounds of an access to the stack; `first` is the byte below the frame pointer, counted from the bottom of the stack.
int BpfVerifier::touch_stack(const BpfReg& base, int off, unsigned size, int& first) {
    if (!base.is_const()) return fail(-EACCES, "variable stack access prohibited");
    const std::int64_t at = std::int64_t{base.off} + off + static_cast<std::int64_t>(base.bits.value);
    if (at < -static_cast<std::int64_t>(kBpfStack) || at + size > 0)
        return fail(at < 0 && at >= -static_cast<std::int64_t>(kBpfStack) ? -EINVAL : -EACCES,
                    "invalid stack access off=%lld size=%u", static_cast<long long>(at), size);
    first = static_cast<int>(at);
    int& depth = subprog_depth_[frame_of(base).subprog_start];
    depth = std::max(depth, -first);
    return 0;
}

int BpfVerifier::check_stack_access(const BpfReg& base, int off, unsigned size, bool write, int value_reg,
                                    BpfReg* result) {
    using Byte = BpfSlot::Byte;
    int first = 0;
    if (const int e = touch_stack(base, off, size, first)) return e;
    BpfFrame& frame = frame_of(base);
    const auto slot_at = [&](int at) -> BpfSlot& { return frame.stack[static_cast<unsigned>(-at - 1) / 8]; };
    const auto byte_at = [&](int at) -> Byte& { return slot_at(at).bytes[static_cast<unsigned>(at & 7)]; };
    if (write) {
        const BpfReg* value = value_reg >= 0 ? &state_.cur().regs[static_cast<unsigned>(value_reg)] : nullptr;
        const bool whole = size == 8 && !(first & 7);
        if (value && value->is_pointer() && !whole) return fail(-EACCES, "invalid size of register spill");
        if (value && value->type == BpfType::stack && value->frame > base.frame)
            return fail(-EINVAL, "cannot spill pointers to stack into stack frame of the caller");
        if (whole && value) {
            BpfSlot& slot = slot_at(first);
            slot.bytes.fill(Byte::spill);
            slot.spilled = *value;
            return 0;
        }
        const bool zero = value_reg == -3 || (value && value->is_const() && !value->bits.value); // -3: BPF_ST of 0
        for (int at = first; at < first + static_cast<int>(size); ++at) {
            BpfSlot& slot = slot_at(at);
            if (slot.is_spill()) {
                slot.bytes.fill(Byte::misc);
                slot.spilled = BpfReg{};
            }
            byte_at(at) = zero ? Byte::zero : Byte::misc;
        }
        return 0;
    }
    BpfReg read;
    BpfSlot& slot = slot_at(first);
    if (slot.is_spill()) {
        if (size == 8 && !(first & 7)) {
            read = slot.spilled;
            if (result) *result = read;
            return 0;
        }
        if (slot.spilled.is_pointer()) return fail(-EACCES, "invalid size of register fill");
        read.mark_unknown();
    } else {
        bool zero = true;
        for (int at = first; at < first + static_cast<int>(size); ++at) {
            const Byte b = byte_at(at);
            if (b == Byte::invalid && !uninit_stack_allowed_)
                return fail(-EACCES, "invalid read from stack off %d+%d size %u", first, at - first, size);
            zero &= b == Byte::zero;
        }
        if (zero)
            read.mark_const(0);
        else
            read.mark_unknown();
    }
    if (size < 8 && !read.is_const()) read.mark_range(0, (std::uint64_t{1} << (8 * size)) - 1);
    if (result) *result = read;
    return 0;
}

int BpfVerifier::check_mem(unsigned n, int off, unsigned size, bool write, int value_reg, BpfReg* result) {
    const BpfReg base = state_.cur().regs[n];
    const auto unknown_value = [&] {
        if (!result) return;
        if (size < 8)
            result->mark_range(0, (std::uint64_t{1} << (8 * size)) - 1);
        else
            result->mark_unknown();
    };
    const auto leaks = [&] {
        return write && value_reg >= 0 && state_.cur().regs[static_cast<unsigned>(value_reg)].is_pointer();
    };
    switch (base.type) {
        case BpfType::map_value: {
            if (leaks() && size != 8) return fail(-EACCES, "partial store of a pointer");
            if (const int e = check_map_access(base, off, size, write)) return e;
            unknown_value();
            return 0;
        }
        case BpfType::ctx: {
            if (!base.is_const() || base.bits.value) return fail(-EACCES, "variable ctx access var_off is not allowed");
            if (base.off) return fail(-EACCES, "dereference of modified ctx ptr R%u off=%d disallowed", n, base.off);
            if (const int e = check_ctx_access(off, size, write)) return e;
            unknown_value();
            return 0;
        }
        case BpfType::stack: return check_stack_access(base, off, size, write, value_reg, result);
        case BpfType::map_value_or_null: return fail(-EACCES, "R%u invalid mem access 'map_value_or_null'", n);
        case BpfType::map_ptr: {
            // The kernel's own struct may be looked at; here its words are 0.
            constexpr int kMapStruct = 256;
            if (write || base.off || off < 0 || off % 8 || size != 8 || off + 8 > kMapStruct || !uninit_stack_allowed_)
                return fail(-EACCES, "R%u invalid mem access 'map_ptr'", n);
            unknown_value();
            return 0;
        }
        default: return fail(-EACCES, "R%u invalid mem access 'scalar'", n);
    }
}

int BpfVerifier::check_mem_arg(unsigned n, std::uint64_t size, bool write, bool zero_allowed) {
    using Byte = BpfSlot::Byte;
    const BpfReg r = state_.cur().regs[n];
    if (r.type == BpfType::map_value) return size ? check_map_access(r, 0, static_cast<unsigned>(size), write) : 0;
    if (r.type != BpfType::stack) {
        if (zero_allowed && !size && r.type == BpfType::scalar && r.is_const() && !r.bits.value) return 0;
        return fail(-EACCES, "R%u type is not expected here: memory", n);
    }
    if (!size) return 0;
    int first = 0;
    if (const int e = touch_stack(r, 0, static_cast<unsigned>(size), first)) return e;
    BpfFrame& frame = frame_of(r);
    for (int at = first; at < first + static_cast<int>(size); ++at) {
        BpfSlot& slot = frame.stack[static_cast<unsigned>(-at - 1) / 8];
        Byte& b = slot.bytes[static_cast<unsigned>(at & 7)];
        if (write) {
            if (slot.is_spill()) {
                slot.bytes.fill(Byte::misc);
                slot.spilled = BpfReg{};
            }
            b = Byte::misc;
        } else if (b == Byte::invalid && !uninit_stack_allowed_) {
            return fail(-EACCES, "invalid indirect read from stack R%u off %d+%d size %llu", n, first, at - first,
                        static_cast<unsigned long long>(size));
        }
    }
    return 0;
}

int BpfVerifier::check_helper(const BpfHelper& h) {
    auto& regs = state_.cur().regs;
    constexpr std::uint64_t kMaxSize = 1u << 29;
    const BpfMap* map = nullptr;
    std::uint32_t map_index = 0;
    for (unsigned k = 0; k < h.args.size() && h.args[k] != BpfArg::none; ++k) {
        const unsigned n = BPF_REG_1 + k;
        if (const int e = check_reg(n)) return e;
        const BpfReg& r = regs[n];
        switch (h.args[k]) {
            case BpfArg::anything: break;
            case BpfArg::const_map_ptr:
                if (r.type != BpfType::map_ptr) return fail(-EACCES, "R%u type is not expected here: map_ptr", n);
                map_index = r.map;
                map = prog_.maps[r.map].get();
                break;
            case BpfArg::ctx:
                if (r.type != BpfType::ctx) return fail(-EACCES, "R%u type is not expected here: ctx", n);
                if (r.off || !r.is_const() || r.bits.value)
                    return fail(-EACCES, "dereference of modified ctx ptr R%u", n);
                break;
            case BpfArg::map_key:
            case BpfArg::map_value: {
                const bool key = h.args[k] == BpfArg::map_key;
                if (const int e = check_mem_arg(n, key ? map->key_size() : map->value_size(), false, false)) return e;
                break;
            }
            case BpfArg::mem:
            case BpfArg::uninit_mem: {
                const bool zero = h.args[k + 1] == BpfArg::const_size_or_zero;
                if (const int e = check_reg(n + 1)) return e;
                const BpfReg size = regs[n + 1];
                if (size.is_pointer()) return fail(-EACCES, "R%u type is not expected here: scalar", n + 1);
                if (size.smin < 0)
                    return fail(-EACCES, "R%u min value is negative, either use unsigned or 'var &= const'", n + 1);
                if (!size.umin && !zero) return fail(-EACCES, "R%u invalid zero-sized read", n + 1);
                if (size.umax >= kMaxSize)
                    return fail(-EACCES, "R%u unbounded memory access, use 'var &= const' or 'if (var < const)'",
                                n + 1);
                if (const int e = check_mem_arg(n, size.umax, h.args[k] == BpfArg::uninit_mem, zero)) return e;
                break;
            }
            default: break; // sizes have been looked at with their memory
        }
    }
    if (map) {
        // Which maps a helper works on, and the other way round (check_map_func_compatibility).
        static constexpr struct {
            bpf_func_id id;
            bpf_map_type type;
        } kOnly[] = {{BPF_FUNC_tail_call, BPF_MAP_TYPE_PROG_ARRAY},
                     {BPF_FUNC_perf_event_read, BPF_MAP_TYPE_PERF_EVENT_ARRAY},
                     {BPF_FUNC_perf_event_output, BPF_MAP_TYPE_PERF_EVENT_ARRAY},
                     {BPF_FUNC_perf_event_read_value, BPF_MAP_TYPE_PERF_EVENT_ARRAY}};
        const auto* own = std::find_if(std::begin(kOnly), std::end(kOnly), [&](const auto& x) { return x.id == h.id; });
        const bool special = map->type() == BPF_MAP_TYPE_PROG_ARRAY || map->type() == BPF_MAP_TYPE_PERF_EVENT_ARRAY;
        if (own != std::end(kOnly) ? map->type() != own->type : special)
            return fail(-EINVAL, "cannot pass map_type %u into func#%d", map->type(), h.id);
        if ((h.id == BPF_FUNC_map_update_elem || h.id == BPF_FUNC_map_delete_elem) && map->flags() & BPF_F_RDONLY_PROG)
            return fail(-EACCES, "write into map forbidden");
        if (h.id == BPF_FUNC_map_lookup_elem && map->flags() & BPF_F_WRONLY_PROG)
            return fail(-EACCES, "read from map forbidden");
    }
    if (h.id == BPF_FUNC_get_stack) prog_.uses_stack_helper = true;
    for (unsigned n = BPF_REG_0; n <= BPF_REG_5; ++n) regs[n] = BpfReg{};
    switch (h.ret) {
        case BpfRet::integer:
        case BpfRet::void_: // bpf_tail_call leaves a number when it fails
            regs[BPF_REG_0].mark_unknown();
            break;
        case BpfRet::map_value_or_null:
            regs[BPF_REG_0].mark_pointer(BpfType::map_value_or_null);
            regs[BPF_REG_0].map = map_index;
            regs[BPF_REG_0].id = ++next_id_;
            break;
    }
    if (h.id == BPF_FUNC_get_smp_processor_id)
        regs[BPF_REG_0].mark_range(0, static_cast<std::uint64_t>(bpf_.num_cpus()) - 1);
    return 0;
}

} // namespace rkperf::ke

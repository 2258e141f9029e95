// SPDX-License-Identifier: Apache-2.0
// Runs programs. Addresses that a program sees are made up, the same in every run: each kind of memory has a place of its own.
#include "kernel_events/bpf/runtime.h"

#include <algorithm>
#include <cstring>

namespace rkperf::ke {

namespace {

/// Instructions of the compiled program for one of BPF, charged every so often.
constexpr std::uint32_t kChargeEvery = 64;
constexpr int kMaxTailCalls = 33;

std::uint64_t byte_swap(std::uint64_t v, int bits) {
    switch (bits) {
        case 16: return __builtin_bswap16(static_cast<std::uint16_t>(v));
        case 32: return __builtin_bswap32(static_cast<std::uint32_t>(v));
        default: return __builtin_bswap64(v);
    }
}

std::uint64_t alu(unsigned op, std::uint64_t a, std::uint64_t b, bool is64) {
    if (!is64) a = static_cast<std::uint32_t>(a), b = static_cast<std::uint32_t>(b);
    const std::uint64_t width = is64 ? 63 : 31;
    std::uint64_t r = 0;
    switch (op) {
        case BPF_ADD: r = a + b; break;
        case BPF_SUB: r = a - b; break;
        case BPF_MUL: r = a * b; break;
        case BPF_DIV: r = b ? a / b : 0; break;
        case BPF_MOD: r = b ? a % b : a; break;
        case BPF_OR: r = a | b; break;
        case BPF_AND: r = a & b; break;
        case BPF_XOR: r = a ^ b; break;
        case BPF_LSH: r = a << (b & width); break;
        case BPF_RSH: r = a >> (b & width); break;
        case BPF_ARSH:
            r = is64 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(a) >> (b & width))
                     : static_cast<std::uint64_t>(static_cast<std::int32_t>(a) >> (b & width));
            break;
        case BPF_MOV: r = b; break;
        case BPF_NEG: r = -a; break;
        default: break;
    }
    return is64 ? r : static_cast<std::uint32_t>(r);
}

bool holds(unsigned op, std::uint64_t a, std::uint64_t b, bool is64) {
    if (!is64) {
        a = static_cast<std::uint32_t>(a), b = static_cast<std::uint32_t>(b);
    }
    const auto s = [&](std::uint64_t v) {
        return is64 ? static_cast<std::int64_t>(v) : std::int64_t{static_cast<std::int32_t>(v)};
    };
    switch (op) {
        case BPF_JEQ: return a == b;
        case BPF_JNE: return a != b;
        case BPF_JGT: return a > b;
        case BPF_JGE: return a >= b;
        case BPF_JLT: return a < b;
        case BPF_JLE: return a <= b;
        case BPF_JSET: return a & b;
        case BPF_JSGT: return s(a) > s(b);
        case BPF_JSGE: return s(a) >= s(b);
        case BPF_JSLT: return s(a) < s(b);
        case BPF_JSLE: return s(a) <= s(b);
        default: return false;
    }
}

} // namespace

BpfRun::BpfRun(Bpf& bpf, BpfProg& prog, const BpfContext& context)
    : bpf(bpf), prog(&prog), context(context), cpu(bpf.kernel().smp_processor_id()) {
    fill_context();
}

void BpfRun::fill_context() {
    if (!context.record.empty()) {
        ctx.assign(context.record.begin(), context.record.end());
        return;
    }
    if (!context.regs) return;
    // struct user_pt_regs; what follows it in struct pt_regs reads as 0.
    constexpr std::size_t kUserRegs = 34 * 8, kPtRegs = 336;
    ctx.assign(context.event ? kUserRegs + 16 : kPtRegs, 0);
    const PtRegs& r = *context.regs;
    std::memcpy(ctx.data(), r.regs, sizeof r.regs);
    const std::uint64_t rest[] = {r.sp, r.pc, r.pstate};
    std::memcpy(ctx.data() + sizeof r.regs, rest, sizeof rest);
    if (!context.event) return;
    const std::uint64_t words[] = {context.data->period, context.data->addr};
    std::memcpy(ctx.data() + kUserRegs, words, sizeof words);
}

std::uint8_t* BpfRun::memory(std::uint64_t address, std::uint64_t size) {
    using namespace bpf_address;
    const std::uint64_t offset = address & ((std::uint64_t{1} << kRegionBits) - 1);
    const std::uint64_t region = address >> kRegionBits;
    if (region == kStack) return offset + size <= sizeof stack ? stack + offset : nullptr;
    if (region == kContext) return offset + size <= ctx.size() ? ctx.data() + offset : nullptr;
    if (region < kMapValues || region - kMapValues >= prog->maps.size()) return nullptr;
    BpfMap& map = *prog->maps[region - kMapValues];
    const std::uint64_t stride = (map.value_size() + 7u) & ~7u, index = offset / stride, within = offset % stride;
    std::uint8_t* value = map.slot(index, cpu);
    return value && within + size <= map.value_size() ? value + within : nullptr;
}

std::uint64_t BpfRun::load(std::uint64_t address, unsigned size) {
    std::uint64_t v = 0;
    if (const std::uint8_t* p = memory(address, size)) std::memcpy(&v, p, size);
    return v;
}

void BpfRun::store(std::uint64_t address, std::uint64_t v, unsigned size) {
    if (std::uint8_t* p = memory(address, size)) std::memcpy(p, &v, size);
}

void BpfRun::atomic(const bpf_insn& i, unsigned size) {
    const std::uint64_t at = r[i.dst_reg] + static_cast<std::uint64_t>(std::int64_t{i.off});
    const std::uint64_t old = load(at, size);
    std::uint64_t by = r[i.src_reg];
    if (size == 4) by = static_cast<std::uint32_t>(by);
    if (i.imm == BPF_CMPXCHG) {
        const std::uint64_t expected = size == 4 ? static_cast<std::uint32_t>(r[BPF_REG_0]) : r[BPF_REG_0];
        if (old == expected) store(at, by, size);
        r[BPF_REG_0] = old;
        return;
    }
    if (i.imm == BPF_XCHG)
        store(at, by, size);
    else
        store(at, alu(static_cast<unsigned>(i.imm) & 0xf0, old, by, size == 8), size);
    if (i.imm & BPF_FETCH) r[i.src_reg] = old;
}

std::uint64_t BpfRun::run() {
    using namespace bpf_address;
    static constexpr unsigned kSizes[] = {4, 2, 1, 8};
    struct Return {
        int at;
        std::uint64_t saved[5];
    };
    std::vector<Return> calls;
    const BpfProg* first = prog;
    std::uint32_t steps = 0;
    int tail_calls = 0, pc = 0;
    std::uint64_t frame = sizeof stack;
    r[BPF_REG_1] = kContext << kRegionBits;
    r[BPF_REG_10] = (kStack << kRegionBits) + frame;
    for (;;) {
        const bpf_insn& i = prog->insns[static_cast<unsigned>(pc)];
        ++pc;
        if (++steps % kChargeEvery == 0) bpf.kernel().charge(kChargeEvery);
        const unsigned cls = BPF_CLASS(i.code), op = BPF_OP(i.code), size = kSizes[BPF_SIZE(i.code) >> 3];
        const std::uint64_t imm = static_cast<std::uint64_t>(std::int64_t{i.imm});
        const std::uint64_t offset = static_cast<std::uint64_t>(std::int64_t{i.off});
        switch (cls) {
            case BPF_ALU:
            case BPF_ALU64: {
                std::uint64_t& to = r[i.dst_reg];
                if (op == BPF_END) {
                    // A little-endian machine: to little endian only cuts.
                    const std::uint64_t cut = i.imm == 64 ? to : to & ((std::uint64_t{1} << i.imm) - 1);
                    to = BPF_SRC(i.code) == BPF_TO_BE ? byte_swap(cut, i.imm) : cut;
                } else {
                    to = alu(op, to, BPF_SRC(i.code) == BPF_X ? r[i.src_reg] : imm, cls == BPF_ALU64);
                }
                break;
            }
            case BPF_LDX: r[i.dst_reg] = load(r[i.src_reg] + offset, size); break;
            case BPF_ST: store(r[i.dst_reg] + offset, imm, size); break;
            case BPF_STX:
                if (BPF_MODE(i.code) == BPF_ATOMIC)
                    atomic(i, size);
                else
                    store(r[i.dst_reg] + offset, r[i.src_reg], size);
                break;
            case BPF_LD: {
                const bpf_insn& high = prog->insns[static_cast<unsigned>(pc)];
                ++pc;
                if (i.src_reg == BPF_PSEUDO_MAP_FD)
                    r[i.dst_reg] = (kMaps << kRegionBits) + static_cast<std::uint32_t>(i.imm);
                else if (i.src_reg == BPF_PSEUDO_MAP_VALUE)
                    r[i.dst_reg] = ((kMapValues + static_cast<std::uint32_t>(i.imm)) << kRegionBits) +
                                   static_cast<std::uint32_t>(high.imm);
                else
                    r[i.dst_reg] = static_cast<std::uint64_t>(static_cast<std::uint32_t>(high.imm)) << 32 |
                                   static_cast<std::uint32_t>(i.imm);
                break;
            }
            default:
                if (op == BPF_EXIT) {
                    if (calls.empty()) {
                        bpf.kernel().charge(steps % kChargeEvery);
                        ++const_cast<BpfProg*>(first)->run_cnt;
                        return r[BPF_REG_0];
                    }
                    pc = calls.back().at;
                    std::copy_n(calls.back().saved, 4, r + BPF_REG_6);
                    r[BPF_REG_10] = calls.back().saved[4];
                    calls.pop_back();
                } else if (op == BPF_CALL) {
                    if (i.src_reg == BPF_PSEUDO_CALL) {
                        Return back{pc, {}};
                        std::copy_n(r + BPF_REG_6, 4, back.saved);
                        back.saved[4] = r[BPF_REG_10];
                        calls.push_back(back);
                        r[BPF_REG_10] -= kFrameStack;
                        pc += i.imm;
                    } else if (i.imm == BPF_FUNC_tail_call) {
                        BpfProg* next = tail_call();
                        if (next && tail_calls++ < kMaxTailCalls) {
                            prog = next;
                            pc = 0;
                            calls.clear();
                            r[BPF_REG_1] = kContext << kRegionBits;
                            r[BPF_REG_10] = (kStack << kRegionBits) + frame;
                        } else {
                            r[BPF_REG_0] = 0;
                        }
                    } else {
                        r[BPF_REG_0] = call(i.imm);
                    }
                } else if (op == BPF_JA ||
                           holds(op, r[i.dst_reg], BPF_SRC(i.code) == BPF_X ? r[i.src_reg] : imm, cls == BPF_JMP)) {
                    pc += i.off;
                }
        }
    }
}

std::uint64_t Bpf::run(BpfProg& prog, const BpfContext& ctx) { return BpfRun(*this, prog, ctx).run(); }

} // namespace rkperf::ke

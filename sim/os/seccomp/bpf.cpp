// SPDX-License-Identifier: Apache-2.0
#include "sim/os/seccomp/bpf.h"

#include <array>
#include <cstring>
#include <vector>

namespace rkperf::os::bpf {

namespace {

// Fields of a code (linux/bpf_common.h).
using Code = std::uint16_t;
constexpr Code LD = 0, LDX = 1, ST = 2, STX = 3, ALU = 4, JMP = 5, RET = 6, MISC = 7; // class
constexpr Code IMM = 0x00, ABS = 0x20, MEM = 0x60, LEN = 0x80;                        // mode of a load
constexpr Code K = 0, X = 8, A = 0x10;                                                // operand
constexpr Code ADD = 0x00, SUB = 0x10, MUL = 0x20, DIV = 0x30, OR = 0x40, AND = 0x50, LSH = 0x60, RSH = 0x70,
               NEG = 0x80, XOR = 0xa0;
constexpr Code JA = 0x00, JEQ = 0x10, JGT = 0x20, JGE = 0x30, JSET = 0x40;
constexpr Code TAX = 0x00, TXA = 0x80;

constexpr Code kAllowed[] = {
    LD | ABS,
    LD | LEN,
    LDX | LEN,
    LD | IMM,
    LDX | IMM,
    LD | MEM,
    LDX | MEM,
    ST,
    STX,
    RET | K,
    RET | A,
    ALU | ADD | K,
    ALU | ADD | X,
    ALU | SUB | K,
    ALU | SUB | X,
    ALU | MUL | K,
    ALU | MUL | X,
    ALU | DIV | K,
    ALU | DIV | X,
    ALU | AND | K,
    ALU | AND | X,
    ALU | OR | K,
    ALU | OR | X,
    ALU | XOR | K,
    ALU | XOR | X,
    ALU | LSH | K,
    ALU | LSH | X,
    ALU | RSH | K,
    ALU | RSH | X,
    ALU | NEG,
    MISC | TAX,
    MISC | TXA,
    JMP | JA,
    JMP | JEQ | K,
    JMP | JEQ | X,
    JMP | JGE | K,
    JMP | JGE | X,
    JMP | JGT | K,
    JMP | JGT | X,
    JMP | JSET | K,
    JMP | JSET | X,
};

constexpr auto kIsAllowed = [] {
    std::array<bool, 256> table{};
    for (const Code code : kAllowed) table[code] = true;
    return table;
}();

constexpr unsigned class_of(const Insn& i) { return i.code & 7u; }
constexpr bool is_memory(const Insn& i) {
    return i.code == (LD | MEM) || i.code == (LDX | MEM) || i.code == ST || i.code == STX;
}

bool valid_operand(const Insn& i, std::size_t at, std::size_t size) {
    switch (i.code) {
        case LD | ABS: return i.k % 4 == 0 && i.k < sizeof(SeccompData);
        case ALU | DIV | K: return i.k != 0;
        case ALU | LSH | K:
        case ALU | RSH | K: return i.k < 32;
        case JMP | JA: return i.k < size - at - 1;
        default: break;
    }
    if (is_memory(i)) return i.k < kMemWords;
    return class_of(i) != JMP || (at + i.jt + 1 < size && at + i.jf + 1 < size);
}

/// Words that hold a value on every way to an instruction; jumps go forward only.
bool loads_follow_stores(std::span<const Insn> program) {
    std::vector<std::uint16_t> on_entry(program.size(), 0xffff);
    std::uint16_t stored = 0;
    const auto reach = [&](std::size_t at) { on_entry[at] &= stored; };
    for (std::size_t at = 0; at < program.size(); ++at) {
        const Insn& i = program[at];
        stored &= on_entry[at];
        if (i.code == ST || i.code == STX) {
            stored |= static_cast<std::uint16_t>(1u << i.k);
        } else if (is_memory(i)) {
            if (!(stored >> i.k & 1)) return false;
        } else if (i.code == (JMP | JA)) {
            reach(at + i.k + 1);
            stored = 0xffff; // nobody falls through
        } else if (class_of(i) == JMP) {
            reach(at + i.jt + 1);
            reach(at + i.jf + 1);
            stored = 0xffff;
        }
    }
    return true;
}

} // namespace

bool valid(std::span<const Insn> program) {
    if (program.empty() || program.size() > kMaxInsns) return false;
    for (std::size_t at = 0; at < program.size(); ++at) {
        const Insn& i = program[at];
        if (i.code >= kIsAllowed.size() || !kIsAllowed[i.code] || !valid_operand(i, at, program.size())) return false;
    }
    return class_of(program.back()) == RET && loads_follow_stores(program);
}

std::uint32_t run(std::span<const Insn> program, const SeccompData& data, unsigned& executed) {
    std::uint32_t a = 0, x = 0;
    std::array<std::uint32_t, kMemWords> mem{};
    for (std::size_t at = 0;; ++at, ++executed) {
        const Insn& i = program[at];
        const std::uint32_t operand = i.code & X ? x : i.k;
        const auto jump = [&](bool condition) { at += condition ? i.jt : i.jf; };
        switch (i.code) {
            case LD | ABS: std::memcpy(&a, reinterpret_cast<const char*>(&data) + i.k, sizeof a); break;
            case LD | LEN: a = sizeof(SeccompData); break;
            case LDX | LEN: x = sizeof(SeccompData); break;
            case LD | IMM: a = i.k; break;
            case LDX | IMM: x = i.k; break;
            case LD | MEM: a = mem[i.k]; break;
            case LDX | MEM: x = mem[i.k]; break;
            case ST: mem[i.k] = a; break;
            case STX: mem[i.k] = x; break;
            case RET | K: return i.k;
            case RET | A: return a;
            case ALU | ADD | K:
            case ALU | ADD | X: a += operand; break;
            case ALU | SUB | K:
            case ALU | SUB | X: a -= operand; break;
            case ALU | MUL | K:
            case ALU | MUL | X: a *= operand; break;
            case ALU | DIV | K:
            case ALU | DIV | X:
                if (operand == 0) return 0;
                a /= operand;
                break;
            case ALU | AND | K:
            case ALU | AND | X: a &= operand; break;
            case ALU | OR | K:
            case ALU | OR | X: a |= operand; break;
            case ALU | XOR | K:
            case ALU | XOR | X: a ^= operand; break;
            case ALU | LSH | K:
            case ALU | LSH | X: a <<= operand & 31; break;
            case ALU | RSH | K:
            case ALU | RSH | X: a >>= operand & 31; break;
            case ALU | NEG: a = 0 - a; break;
            case MISC | TAX: x = a; break;
            case MISC | TXA: a = x; break;
            case JMP | JA: at += i.k; break;
            case JMP | JEQ | K:
            case JMP | JEQ | X: jump(a == operand); break;
            case JMP | JGE | K:
            case JMP | JGE | X: jump(a >= operand); break;
            case JMP | JGT | K:
            case JMP | JGT | X: jump(a > operand); break;
            default: jump((a & operand) != 0); break; // JSET, the last that is allowed
        }
    }
}

} // namespace rkperf::os::bpf

// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/probes/decode_insn.h"

#include <algorithm>
#include <array>
#include <span>

namespace rkperf::ke {

namespace {

struct Pattern {
    std::uint32_t mask, value;
    constexpr bool matches(std::uint32_t insn) const { return (insn & mask) == value; }
};

bool any(std::span<const Pattern> patterns, std::uint32_t insn) {
    return std::any_of(patterns.begin(), patterns.end(), [insn](const Pattern& p) { return p.matches(insn); });
}

// The kernel's masks, not the architecture's: what they let through or miss is part of the behaviour.
constexpr Pattern kBCond{0xff000010, 0x54000000}, kCbz{0x7e000000, 0x34000000}, kTbz{0x7e000000, 0x36000000},
    kAdr{0x1f000000, 0x10000000}, kB{0x7c000000, 0x14000000}, kBr{0xfffffc1f, 0xd61f0000}, kBlr{0xfffffc1f, 0xd63f0000},
    kRet{0xfffffc1f, 0xd65f0000};
/// Branches with pointer authentication: neither stepped nor simulated (UPR-072).
constexpr Pattern kBrAuth{0xfefff800, 0xd61f0800}, kBlrAuth{0xfefff800, 0xd63f0800}, kRetAuth{0xfffffbff, 0xd65f0bff};
constexpr Pattern kMrs{0xfff00000, 0xd5300000}, kHint{0xfffff01f, 0xd503201f};

/// Of the branch, exception and system class: what changes the pc, takes an exception or writes a system register.
constexpr std::array kNotSteppableSystem{
    kBCond,
    kCbz,
    kTbz,
    kB,
    kBr,
    kBlr,
    kRet,
    kBrAuth,
    kBlrAuth,
    kRetAuth,
    Pattern{0xff000000, 0xd4000000}, // SVC, HVC, SMC, BRK, HLT, DCPSn
    Pattern{0xfff8f01f, 0xd500401f}, // MSR (immediate)
    Pattern{0xfff00000, 0xd5100000}, // MSR (register)
    Pattern{0xffffffff, 0xd69f03e0}, // ERET
    Pattern{0xfffffbff, 0xd69f0bff}, // ERETAA, ERETAB
};

/// LDR, LDRSW and PRFM of a literal. The SIMD and floating-point forms of LDR are missed (UPR-073, 074).
constexpr std::array kLiteral{
    Pattern{0xbf000000, 0x18000000},
    Pattern{0xff000000, 0x98000000},
    Pattern{0xff000000, 0xd8000000},
    kAdr,
};
/// Exclusives; CASP shares their space (UPR-075).
constexpr Pattern kExclusive{0x3f800000, 0x08000000};

/// Everything arm64 can simulate for a uprobe.
constexpr std::array kSimulated{kBCond, kCbz, kTbz, kAdr, kB, kBr, kBlr, kRet};

constexpr unsigned kSystemRegisterDaif = 0xda11;

/// Numbers of hints that may be stepped (UPR-071): NOP, XPACLRI, PACIA1716, PACIB1716, PACIAZ, PACIASP, PACIBZ, PACIBSP,
/// BTI in its four forms.
constexpr std::array kSteppableHints{0u, 7u, 8u, 10u, 24u, 25u, 26u, 27u, 32u, 34u, 36u, 38u};

bool is_branch_or_system(std::uint32_t insn) { return (insn >> 26 & 7) == 5; }

bool is_steppable(std::uint32_t insn) {
    if (is_branch_or_system(insn)) {
        if (any(kNotSteppableSystem, insn)) return false;
        if (kMrs.matches(insn)) return (insn >> 5 & 0xffff) != kSystemRegisterDaif;
        if (kHint.matches(insn))
            return std::find(kSteppableHints.begin(), kSteppableHints.end(), insn >> 5 & 0x7f) != kSteppableHints.end();
        return true;
    }
    return !any(kLiteral, insn) && !kExclusive.matches(insn);
}

std::int64_t sign_extend(std::uint64_t v, unsigned bits) {
    return static_cast<std::int64_t>(v << (64 - bits)) >> (64 - bits);
}
/// Displacement in words, in `bits` bits from bit `low` up.
std::uint64_t displacement(std::uint32_t insn, unsigned low, unsigned bits) {
    return static_cast<std::uint64_t>(sign_extend(insn >> low & ((1u << bits) - 1), bits)) * 4;
}

std::uint64_t read_reg(const PtRegs& regs, unsigned n) { return n == 31 ? 0 : regs.regs[n]; }

/// The condition of B.cond on PSTATE.NZCV; 14 and 15 are always true.
bool condition_holds(unsigned condition, std::uint64_t pstate) {
    const bool n = pstate >> 31 & 1, z = pstate >> 30 & 1, c = pstate >> 29 & 1, v = pstate >> 28 & 1;
    const std::array<bool, 8> base{z, c, n, v, c && !z, n == v, n == v && !z, true};
    const bool holds = base[condition >> 1];
    return condition >= 14 || holds != static_cast<bool>(condition & 1);
}

} // namespace

ProbeInsn arm_probe_decode_insn(std::uint32_t insn) {
    if (is_steppable(insn)) return ProbeInsn::INSN_GOOD;
    return any(kSimulated, insn) ? ProbeInsn::INSN_GOOD_NO_SLOT : ProbeInsn::INSN_REJECTED;
}

void simulate_insn(std::uint32_t insn, std::uint64_t addr, PtRegs& regs) {
    const unsigned rt = insn & 31;
    const bool top = insn >> 31;
    if (kAdr.matches(insn)) {
        const auto imm = static_cast<std::uint64_t>(sign_extend((insn >> 3 & 0x1ffffc) | (insn >> 29 & 3), 21));
        if (rt != 31) regs.regs[rt] = top ? (addr & ~std::uint64_t{0xfff}) + (imm << 12) : addr + imm;
        regs.pc += 4;
    } else if (kB.matches(insn)) {
        if (top) regs.regs[30] = addr + 4;
        regs.pc = addr + displacement(insn, 0, 26);
    } else if (kBr.matches(insn) || kBlr.matches(insn) || kRet.matches(insn)) {
        const std::uint64_t target = read_reg(regs, insn >> 5 & 31); // before BLR X30 changes it
        if (kBlr.matches(insn)) regs.regs[30] = addr + 4;
        regs.pc = target;
    } else if (kBCond.matches(insn)) {
        regs.pc = addr + (condition_holds(insn & 15, regs.pstate) ? displacement(insn, 5, 19) : 4);
    } else if (kCbz.matches(insn)) {
        const std::uint64_t value = top ? read_reg(regs, rt) : static_cast<std::uint32_t>(read_reg(regs, rt));
        const bool nonzero = insn >> 24 & 1;
        regs.pc = addr + ((value != 0) == nonzero ? displacement(insn, 5, 19) : 4);
    } else if (kTbz.matches(insn)) {
        const unsigned bit = (top ? 32u : 0u) | (insn >> 19 & 31);
        const bool nonzero = insn >> 24 & 1;
        regs.pc = addr + ((read_reg(regs, rt) >> bit & 1) == nonzero ? displacement(insn, 5, 14) : 4);
    }
}

} // namespace rkperf::ke

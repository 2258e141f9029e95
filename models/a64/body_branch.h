// SPDX-License-Identifier: Apache-2.0
// Bodies of branches (DDI 0487 C4.1.87), for the decode table and for loops that inline them.
#pragma once

#include "models/a64/decode_util.h"
#include "models/a64/exec_util.h"

namespace rkperf::a64::branches {

inline void jump(CpuState& s, u64 target) {
    s.pc = target;
    s.branch_taken = true;
}
inline void jump_by(CpuState& s, const Insn& i) { jump(s, s.pc + static_cast<u64>(i.imm)); }

inline constexpr unsigned kLinkRegister = 30;

inline void b(CpuState& s, const Insn& i) { jump_by(s, i); }
inline void bl(CpuState& s, const Insn& i) {
    s.x[kLinkRegister] = s.pc + 4;
    jump_by(s, i);
}

// When a conditional branch is taken.
template <unsigned kCond>
struct OnFlags {
    static bool holds(const CpuState& s, const Insn&) { return condition_holds(condition_mask(kCond), s.nzcv); }
};
template <class T, bool kNonzero>
struct OnRegister {
    static bool holds(const CpuState& s, const Insn& i) { return (static_cast<T>(s.x[i.rn]) != 0) == kNonzero; }
};
template <bool kNonzero>
struct OnBit {
    static bool holds(const CpuState& s, const Insn& i) { return (s.x[i.rn] >> i.a & 1) == kNonzero; }
};
template <class Condition>
void branch_if(CpuState& s, const Insn& i) {
    if (Condition::holds(s, i)) jump_by(s, i);
}

inline void br(CpuState& s, const Insn& i) { jump(s, s.x[i.rn]); }
inline void blr(CpuState& s, const Insn& i) {
    const u64 target = s.x[i.rn]; // may be the link register
    s.x[kLinkRegister] = s.pc + 4;
    jump(s, target);
}

} // namespace rkperf::a64::branches

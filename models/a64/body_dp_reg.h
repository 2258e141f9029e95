// SPDX-License-Identifier: Apache-2.0
// Bodies of data processing with a shifted or extended register (DDI 0487 C4.1.89), for the decode table and for loops
// that inline them.
#pragma once

#include "models/a64/exec_util.h"

namespace rkperf::a64::dp_reg {

enum class Shift : u8 { lsl, lsr, asr, ror, none };

template <class T, Shift kShift>
inline T shifted(u64 v, unsigned amount) {
    const T x = static_cast<T>(v);
    if constexpr (kShift == Shift::lsl) return static_cast<T>(x << amount);
    if constexpr (kShift == Shift::lsr) return static_cast<T>(x >> amount);
    if constexpr (kShift == Shift::asr) return static_cast<T>(static_cast<std::make_signed_t<T>>(x) >> amount);
    if constexpr (kShift == Shift::ror) return std::rotr(x, static_cast<int>(amount));
    return x;
}

// Logical

enum class Logic : u8 { band, bic, orr, orn, eor, eon, ands, bics };
constexpr bool sets_flags(Logic op) { return op == Logic::ands || op == Logic::bics; }
constexpr bool inverts(Logic op) {
    return op == Logic::bic || op == Logic::orn || op == Logic::eon || op == Logic::bics;
}

template <class T, Logic kOp, Shift kShift>
void logic(CpuState& s, const Insn& i) {
    const T a = static_cast<T>(s.x[i.rn]);
    T b = shifted<T, kShift>(s.x[i.rm], i.b);
    if constexpr (inverts(kOp)) b = static_cast<T>(~b);
    T r;
    if constexpr (kOp == Logic::orr || kOp == Logic::orn)
        r = a | b;
    else if constexpr (kOp == Logic::eor || kOp == Logic::eon)
        r = a ^ b;
    else
        r = a & b;
    if constexpr (sets_flags(kOp)) s.nzcv = flags_nz(r);
    s.x[i.rd] = r;
}
template <class T>
void mov_reg(CpuState& s, const Insn& i) {
    s.x[i.rd] = static_cast<T>(s.x[i.rm]);
}

template <class T, bool kSub, bool kFlags>
inline void add_to(CpuState& s, u8 rd, T a, T b) {
    const T r = kSub ? a - b : a + b;
    if constexpr (kFlags) s.nzcv = kSub ? flags_sub(a, b, r) : flags_add(a, b, r);
    s.x[rd] = r;
}
template <class T, bool kSub, bool kFlags, Shift kShift>
void add_shifted(CpuState& s, const Insn& i) {
    add_to<T, kSub, kFlags>(s, i.rd, static_cast<T>(s.x[i.rn]), shifted<T, kShift>(s.x[i.rm], i.b));
}
template <class T>
void cmp_reg(CpuState& s, const Insn& i) {
    const T a = static_cast<T>(s.x[i.rn]), b = static_cast<T>(s.x[i.rm]);
    s.nzcv = flags_sub(a, b, static_cast<T>(a - b));
}

template <class T, bool kSub, bool kFlags, Extend kExtend>
void add_extended(CpuState& s, const Insn& i) {
    add_to<T, kSub, kFlags>(s, i.rd, static_cast<T>(s.x[i.rn]), static_cast<T>(extend<kExtend>(s.x[i.rm]) << i.b));
}

} // namespace rkperf::a64::dp_reg

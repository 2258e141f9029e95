// SPDX-License-Identifier: Apache-2.0
// Bodies of data processing with an immediate (DDI 0487 C4.1.86), for the decode table and for loops that inline them.
#pragma once

#include "models/a64/exec_util.h"

namespace rkperf::a64::dp_imm {

inline void adr(CpuState& s, const Insn& i) { s.x[i.rd] = s.pc + static_cast<u64>(i.imm); }
inline void adrp(CpuState& s, const Insn& i) { s.x[i.rd] = (s.pc & kPageMask) + static_cast<u64>(i.imm); }

template <class T>
void add_imm(CpuState& s, const Insn& i) {
    s.x[i.rd] = static_cast<T>(s.x[i.rn] + static_cast<u64>(i.imm));
}
template <class T>
void adds_imm(CpuState& s, const Insn& i) {
    const T a = static_cast<T>(s.x[i.rn]), b = static_cast<T>(i.imm), r = a + b;
    s.nzcv = flags_add(a, b, r);
    s.x[i.rd] = r;
}
template <class T>
void subs_imm(CpuState& s, const Insn& i) {
    const T a = static_cast<T>(s.x[i.rn]), b = static_cast<T>(i.imm), r = a - b;
    s.nzcv = flags_sub(a, b, r);
    s.x[i.rd] = r;
}
template <class T>
void cmp_imm(CpuState& s, const Insn& i) {
    const T a = static_cast<T>(s.x[i.rn]), b = static_cast<T>(i.imm);
    s.nzcv = flags_sub(a, b, static_cast<T>(a - b));
}

enum class Logic : u8 { band, orr, eor, ands };

template <class T, Logic kOp>
void logic_imm(CpuState& s, const Insn& i) {
    const T a = static_cast<T>(s.x[i.rn]), b = static_cast<T>(i.imm);
    T r;
    if constexpr (kOp == Logic::orr)
        r = a | b;
    else if constexpr (kOp == Logic::eor)
        r = a ^ b;
    else
        r = a & b;
    if constexpr (kOp == Logic::ands) s.nzcv = flags_nz(r);
    s.x[i.rd] = r;
}
inline void mov_imm(CpuState& s, const Insn& i) { s.x[i.rd] = static_cast<u64>(i.imm); }

inline void movk(CpuState& s, const Insn& i) {
    s.x[i.rd] = (s.x[i.rd] & ~(u64{0xffff} << i.a)) | static_cast<u64>(i.imm);
}
inline void movk_w(CpuState& s, const Insn& i) {
    s.x[i.rd] = static_cast<u32>((s.x[i.rd] & ~(u64{0xffff} << i.a)) | static_cast<u64>(i.imm));
}

// Bitfield. UBFM and SBFM are a shift left by a and then right by b; BFM inserts the rotated source under a mask.

template <class T>
void bitfield(CpuState& s, const Insn& i) {
    using U = std::make_unsigned_t<T>;
    const T left = static_cast<T>(static_cast<U>(s.x[i.rn]) << i.a);
    s.x[i.rd] = static_cast<U>(left >> i.b);
}
template <class T>
void shift_right_imm(CpuState& s, const Insn& i) {
    using U = std::make_unsigned_t<T>;
    s.x[i.rd] = static_cast<U>(static_cast<T>(s.x[i.rn]) >> i.b);
}
template <class T>
void lsl_imm(CpuState& s, const Insn& i) {
    s.x[i.rd] = static_cast<T>(static_cast<T>(s.x[i.rn]) << i.a);
}
template <class T>
void extend_reg(CpuState& s, const Insn& i) {
    s.x[i.rd] = static_cast<u64>(static_cast<T>(s.x[i.rn]));
}
template <class T>
void extend_reg_w(CpuState& s, const Insn& i) {
    s.x[i.rd] = static_cast<u32>(static_cast<T>(s.x[i.rn]));
}
template <class T>
void bfm(CpuState& s, const Insn& i) {
    const T mask = static_cast<T>(i.imm);
    s.x[i.rd] = (static_cast<T>(s.x[i.rd]) & ~mask) | (std::rotr(static_cast<T>(s.x[i.rn]), i.a) & mask);
}

template <class T>
void extr(CpuState& s, const Insn& i) {
    const T hi = static_cast<T>(s.x[i.rn]), lo = static_cast<T>(s.x[i.rm]);
    s.x[i.rd] = static_cast<T>(hi << 1 << (kWidth<T> - 1 - i.a)) | static_cast<T>(lo >> i.a);
}
template <class T>
void ror_imm(CpuState& s, const Insn& i) {
    s.x[i.rd] = std::rotr(static_cast<T>(s.x[i.rn]), i.a);
}

} // namespace rkperf::a64::dp_imm

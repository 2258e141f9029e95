// SPDX-License-Identifier: Apache-2.0
// Bodies of the other data processing with registers (DDI 0487 C4.1.89), for the decode table and for loops that inline
// them.
#pragma once

#include "models/a64/crc32.h"
#include "models/a64/decode_util.h"
#include "models/a64/exec_util.h"

namespace rkperf::a64::dp_misc {

using i32 = std::int32_t;
using i64 = std::int64_t;

template <class T, bool kSub, bool kFlags>
void adc(CpuState& s, const Insn& i) {
    const T a = static_cast<T>(s.x[i.rn]), m = static_cast<T>(s.x[i.rm]), b = kSub ? static_cast<T>(~m) : m;
    const T carry = s.nzcv >> 29 & 1;
    const T partial = a + b, r = partial + carry;
    if constexpr (kFlags) {
        const u32 c = (partial < a) | (r < partial);
        s.nzcv = flags_nz(r) | c << 29 | static_cast<u32>((~(a ^ b) & (a ^ r)) >> (kWidth<T> - 1)) << 28;
    }
    s.x[i.rd] = r;
}

template <class T, bool kSub, bool kImm>
void ccmp(CpuState& s, const Insn& i) {
    if (condition_holds(static_cast<u16>(i.imm), s.nzcv)) {
        const T a = static_cast<T>(s.x[i.rn]), b = kImm ? static_cast<T>(i.c) : static_cast<T>(s.x[i.rm]);
        s.nzcv = kSub ? flags_sub(a, b, static_cast<T>(a - b)) : flags_add(a, b, static_cast<T>(a + b));
    } else {
        s.nzcv = u32{i.d} << 28;
    }
}

enum class Select : u8 { sel, inc, inv, neg };
template <class T, Select kOp>
void csel(CpuState& s, const Insn& i) {
    const T a = static_cast<T>(s.x[i.rn]);
    T b = static_cast<T>(s.x[i.rm]);
    if constexpr (kOp == Select::inc) b = b + 1;
    if constexpr (kOp == Select::inv) b = ~b;
    if constexpr (kOp == Select::neg) b = T{0} - b;
    s.x[i.rd] = condition_holds(static_cast<u16>(i.imm), s.nzcv) ? a : b;
}

// Two sources

template <class T>
void udiv(CpuState& s, const Insn& i) {
    const T a = static_cast<T>(s.x[i.rn]), b = static_cast<T>(s.x[i.rm]);
    s.x[i.rd] = b == 0 ? 0 : a / b;
}
template <class T>
void sdiv(CpuState& s, const Insn& i) {
    using S = std::make_signed_t<T>;
    const T a = static_cast<T>(s.x[i.rn]), b = static_cast<T>(s.x[i.rm]);
    if (b == 0)
        s.x[i.rd] = 0;
    else if (b == static_cast<T>(-1))
        s.x[i.rd] = static_cast<T>(T{0} - a); // also the overflow of the most negative
    else
        s.x[i.rd] = static_cast<T>(static_cast<S>(a) / static_cast<S>(b));
}
template <class T>
void lslv(CpuState& s, const Insn& i) {
    s.x[i.rd] = static_cast<T>(static_cast<T>(s.x[i.rn]) << (s.x[i.rm] & (kWidth<T> - 1)));
}
template <class T>
void lsrv(CpuState& s, const Insn& i) {
    s.x[i.rd] = static_cast<T>(s.x[i.rn]) >> (s.x[i.rm] & (kWidth<T> - 1));
}
template <class T>
void asrv(CpuState& s, const Insn& i) {
    s.x[i.rd] = static_cast<T>(static_cast<std::make_signed_t<T>>(s.x[i.rn]) >> (s.x[i.rm] & (kWidth<T> - 1)));
}
template <class T>
void rorv(CpuState& s, const Insn& i) {
    s.x[i.rd] = std::rotr(static_cast<T>(s.x[i.rn]), static_cast<int>(s.x[i.rm] & (kWidth<T> - 1)));
}
template <class M, u32 kPolynomial>
void crc(CpuState& s, const Insn& i) {
    s.x[i.rd] = crc32_update<kPolynomial>(static_cast<u32>(s.x[i.rn]), s.x[i.rm], sizeof(M));
}

// One source

template <class T>
void rbit(CpuState& s, const Insn& i) {
    u64 v = __builtin_bswap64(s.x[i.rn]);
    v = (v >> 4 & 0x0f0f0f0f0f0f0f0full) | (v & 0x0f0f0f0f0f0f0f0full) << 4;
    v = (v >> 2 & 0x3333333333333333ull) | (v & 0x3333333333333333ull) << 2;
    v = (v >> 1 & 0x5555555555555555ull) | (v & 0x5555555555555555ull) << 1;
    s.x[i.rd] = v >> (64 - kWidth<T>);
}
template <class T>
void rev16(CpuState& s, const Insn& i) {
    const T v = static_cast<T>(s.x[i.rn]), mask = static_cast<T>(0x00ff00ff00ff00ffull);
    s.x[i.rd] = static_cast<T>((v >> 8 & mask) | (v & mask) << 8);
}
inline void rev_w(CpuState& s, const Insn& i) { s.x[i.rd] = __builtin_bswap32(static_cast<u32>(s.x[i.rn])); }
inline void rev32(CpuState& s, const Insn& i) { s.x[i.rd] = std::rotl(__builtin_bswap64(s.x[i.rn]), 32); }
inline void rev_x(CpuState& s, const Insn& i) { s.x[i.rd] = __builtin_bswap64(s.x[i.rn]); }
template <class T>
void clz(CpuState& s, const Insn& i) {
    s.x[i.rd] = static_cast<u64>(std::countl_zero(static_cast<T>(s.x[i.rn])));
}
template <class T>
void cls(CpuState& s, const Insn& i) {
    const T v = static_cast<T>(s.x[i.rn]);
    const T sign = static_cast<T>(static_cast<std::make_signed_t<T>>(v) >> (kWidth<T> - 1));
    s.x[i.rd] = static_cast<u64>(std::countl_zero(static_cast<T>(v ^ sign))) - 1;
}

// Three sources

template <class T, bool kSub>
void madd(CpuState& s, const Insn& i) {
    const T p = static_cast<T>(s.x[i.rn]) * static_cast<T>(s.x[i.rm]), a = static_cast<T>(s.x[i.ra]);
    s.x[i.rd] = static_cast<T>(kSub ? a - p : a + p);
}
template <class T>
void mul(CpuState& s, const Insn& i) {
    s.x[i.rd] = static_cast<T>(static_cast<T>(s.x[i.rn]) * static_cast<T>(s.x[i.rm]));
}
template <class T, bool kSub>
void madd_long(CpuState& s, const Insn& i) {
    const u64 p = static_cast<u64>(static_cast<T>(s.x[i.rn])) * static_cast<u64>(static_cast<T>(s.x[i.rm]));
    s.x[i.rd] = kSub ? s.x[i.ra] - p : s.x[i.ra] + p;
}
inline void umulh(CpuState& s, const Insn& i) { s.x[i.rd] = static_cast<u64>(u128{s.x[i.rn]} * s.x[i.rm] >> 64); }
inline void smulh(CpuState& s, const Insn& i) {
    const auto p = static_cast<__int128>(static_cast<i64>(s.x[i.rn])) * static_cast<i64>(s.x[i.rm]);
    s.x[i.rd] = static_cast<u64>(p >> 64);
}

} // namespace rkperf::a64::dp_misc

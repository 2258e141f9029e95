// SPDX-License-Identifier: Apache-2.0
// Pieces the instruction bodies share: flags, extends, stops.
#pragma once

#include "models/a64/insn.h"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace rkperf::a64 {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using u128 = unsigned __int128;

template <class T>
inline constexpr unsigned kWidth = sizeof(T) * 8;

template <class T>
inline u32 flags_nz(T r) {
    return static_cast<u32>(r >> (kWidth<T> - 1)) << 31 | static_cast<u32>(r == 0) << 30;
}
/// NZCV of r = a + b.
template <class T>
inline u32 defined_flags_add(T a, T b, T r) {
    return flags_nz(r) | static_cast<u32>(r < a) << 29 |
           static_cast<u32>((~(a ^ b) & (a ^ r)) >> (kWidth<T> - 1)) << 28;
}
/// NZCV of r = a - b.
template <class T>
inline u32 defined_flags_sub(T a, T b, T r) {
    return flags_nz(r) | static_cast<u32>(a >= b) << 29 |
           static_cast<u32>(((a ^ b) & (a ^ r)) >> (kWidth<T> - 1)) << 28;
}

#if defined(__x86_64__)
// The host's flags are the same but for the carry of a subtraction, and cost half of working them out.
inline u32 from_host_flags(bool n, bool z, bool c, bool v) {
    return static_cast<u32>((n * 2 + z) * 4 + (c * 2 + v)) << 28;
}
template <class T>
inline u32 flags_add(T a, T b, T) {
    bool n, z, c, v;
    asm("add %5, %4" : "=@ccs"(n), "=@ccz"(z), "=@ccc"(c), "=@cco"(v), "+r"(a) : "r"(b));
    return from_host_flags(n, z, c, v);
}
template <class T>
inline u32 flags_sub(T a, T b, T) {
    bool n, z, c, v;
    asm("cmp %5, %4" : "=@ccs"(n), "=@ccz"(z), "=@ccae"(c), "=@cco"(v) : "r"(a), "r"(b));
    return from_host_flags(n, z, c, v);
}
#else
template <class T>
inline u32 flags_add(T a, T b, T r) {
    return defined_flags_add(a, b, r);
}
template <class T>
inline u32 flags_sub(T a, T b, T r) {
    return defined_flags_sub(a, b, r);
}
#endif

/// Extend of the extended-register and register-offset forms: option field of the encoding.
enum class Extend : u8 { uxtb, uxth, uxtw, uxtx, sxtb, sxth, sxtw, sxtx };
template <Extend E>
inline u64 extend(u64 v) {
    if constexpr (E == Extend::uxtb) return static_cast<u8>(v);
    if constexpr (E == Extend::uxth) return static_cast<u16>(v);
    if constexpr (E == Extend::uxtw) return static_cast<u32>(v);
    if constexpr (E == Extend::sxtb) return static_cast<u64>(static_cast<std::int8_t>(v));
    if constexpr (E == Extend::sxth) return static_cast<u64>(static_cast<std::int16_t>(v));
    if constexpr (E == Extend::sxtw) return static_cast<u64>(static_cast<std::int32_t>(v));
    return v;
}

/// Stops at the instruction itself.
inline void stop_here(CpuState& s, Stop why) { s.stop = why; }
/// Stops after the instruction.
inline void stop_next(CpuState& s, Stop why, u32 info = 0) {
    s.pc += 4;
    s.stop_info = info;
    s.stop = why;
}
/// Alignment fault of an access that needs alignment whatever SCTLR.A says.
void alignment_fault(CpuState& s, u64 va, bool write);

/// SCTLR_EL1.SA0 is set: a base register SP must be a multiple of 16. False after the fault.
template <bool kSpBase>
inline bool sp_ok(CpuState& s) {
    if constexpr (kSpBase) {
        if (__builtin_expect(s.x[kSp] & 15, 0)) {
            stop_here(s, Stop::sp_alignment);
            return false;
        }
    }
    return true;
}

/// Body of encodings that no row allocates, and of those that are undefined at EL0.
void exec_undefined(CpuState& s, const Insn& i);
/// Body of instructions that do nothing.
void exec_nop(CpuState& s, const Insn& i);

} // namespace rkperf::a64

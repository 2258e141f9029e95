// SPDX-License-Identifier: Apache-2.0
// Bodies of loads and stores of one register or a pair, general or SIMD&FP (DDI 0487 C4.1.88), for the decode tables and
// for loops that inline them. An operation says how many bytes it moves and how they come out of or into the registers;
// body<> adds the address. A pair is one access of twice the size. Where both targets of a load are the same register
// (constrained unpredictable) the first wins, as in QEMU. A load clears the rest of a SIMD&FP register.
#pragma once

#include "models/a64/ldst_util.h"

namespace rkperf::a64::ldst {

using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;

/// PRFM of the line at `va`; bits 2:1 of its operation are the level less one.
inline void run_prefetch(CpuState& s, u64 va, const Insn& i) {
    s.mem.last_va = va;
    s.hooks->access(va, 1, (i.raw >> 1 & 3) == 0 ? AccessKind::prefetch : AccessKind::prefetch_beyond);
}

template <class M>
inline M from_bytes(const u8* p) {
    M v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

/// Load of memory type M (signed: extends the sign) into a register of type R.
template <class M, class R>
struct Load {
    static constexpr bool kStore = false;
    static constexpr unsigned kBytes = sizeof(M), kElement = sizeof(M);
    static void move(CpuState& s, const Insn& i, const u8* p) { s.x[i.rd] = static_cast<R>(from_bytes<M>(p)); }
};
template <class M>
struct Store {
    static constexpr bool kStore = true;
    static constexpr unsigned kBytes = sizeof(M), kElement = sizeof(M);
    static void move(const CpuState& s, const Insn& i, u8* p) {
        const M v = static_cast<M>(s.x[i.rd]);
        std::memcpy(p, &v, sizeof v);
    }
};
template <class M, class R>
struct LoadPair {
    static constexpr bool kStore = false;
    static constexpr unsigned kBytes = 2 * sizeof(M), kElement = sizeof(M);
    static void move(CpuState& s, const Insn& i, const u8* p) {
        s.x[i.ra] = static_cast<R>(from_bytes<M>(p + sizeof(M)));
        s.x[i.rd] = static_cast<R>(from_bytes<M>(p));
    }
};
template <class M>
struct StorePair {
    static constexpr bool kStore = true;
    static constexpr unsigned kBytes = 2 * sizeof(M), kElement = sizeof(M);
    static void move(const CpuState& s, const Insn& i, u8* p) {
        const M v[2] = {static_cast<M>(s.x[i.rd]), static_cast<M>(s.x[i.ra])};
        std::memcpy(p, v, sizeof v);
    }
};

template <unsigned kSize>
inline void set_vector(Vec& v, const u8* from) {
    Vec r{};
    std::memcpy(r.b, from, kSize);
    v = r;
}
template <unsigned kSize>
struct LoadV {
    static constexpr bool kStore = false;
    static constexpr unsigned kBytes = kSize, kElement = kSize;
    static void move(CpuState& s, const Insn& i, const u8* p) { set_vector<kSize>(s.v[i.rd], p); }
};
template <unsigned kSize>
struct StoreV {
    static constexpr bool kStore = true;
    static constexpr unsigned kBytes = kSize, kElement = kSize;
    static void move(const CpuState& s, const Insn& i, u8* p) { std::memcpy(p, s.v[i.rd].b, kSize); }
};
template <unsigned kSize>
struct LoadVPair {
    static constexpr bool kStore = false;
    static constexpr unsigned kBytes = 2 * kSize, kElement = kSize;
    static void move(CpuState& s, const Insn& i, const u8* p) {
        set_vector<kSize>(s.v[i.rd], p);
        set_vector<kSize>(s.v[i.ra], p + kSize);
    }
};
template <unsigned kSize>
struct StoreVPair {
    static constexpr bool kStore = true;
    static constexpr unsigned kBytes = 2 * kSize, kElement = kSize;
    static void move(const CpuState& s, const Insn& i, u8* p) {
        std::memcpy(p, s.v[i.rd].b, kSize);
        std::memcpy(p + kSize, s.v[i.ra].b, kSize);
    }
};

template <class Op, Address kAddress, bool kSp>
void body(CpuState& s, const Insn& i) {
    if (!sp_ok<kSp>(s)) return;
    u8 v[Op::kBytes];
    const u64 va = address_of<kAddress>(s, i);
    if constexpr (Op::kStore) {
        Op::move(s, i, v);
        if (!s.store(va, v, Op::kBytes)) return;
    } else {
        if (!s.load(va, v, Op::kBytes)) return;
        Op::move(s, i, v);
    }
    write_back<kAddress>(s, i, va);
}
template <class Op>
void literal(CpuState& s, const Insn& i) {
    u8 v[Op::kBytes];
    if (s.load(s.pc + static_cast<u64>(i.imm), v, Op::kBytes)) Op::move(s, i, v);
}

} // namespace rkperf::a64::ldst

// SPDX-License-Identifier: Apache-2.0
// LD1-LD4, ST1-ST4 of multiple and single structures, LD1R-LD4R, with and without post-index (DDI 0487 C4.1.88). Each
// is one access over all of its bytes; registers count modulo 32.
#include "models/a64/ldst_util.h"
#include "models/a64/tables.h"

namespace rkperf::a64 {
namespace {

// Operands: rd first register; a bytes per register (8 or 16); b lane; rm offset register of a post-index form, imm its
// step, one of them zero (kZr, 0).

template <bool kPost>
inline void step_base(CpuState& s, const Insn& i) {
    if constexpr (kPost) s.x[i.rn] += s.x[i.rm] + static_cast<u64>(i.imm);
}

/// Multiple structures: kRegs registers, elements of type E interleaved over kInterleave of them (1: not at all).
template <class E, unsigned kRegs, unsigned kInterleave, bool kPost, bool kSp>
void load_multiple(CpuState& s, const Insn& i) {
    if (!sp_ok<kSp>(s)) return;
    u8 bytes[16 * kRegs];
    if (!s.load(s.x[i.rn], bytes, i.a * kRegs)) return;
    for (unsigned r = 0; r < kRegs; ++r) {
        Vec& v = s.v[(i.rd + r) & 31];
        v.d[1] = 0;
        if constexpr (kInterleave == 1) {
            std::memcpy(v.b, bytes + r * i.a, i.a);
        } else {
            for (unsigned e = 0; e < i.a / sizeof(E); ++e)
                std::memcpy(v.b + e * sizeof(E), bytes + (e * kRegs + r) * sizeof(E), sizeof(E));
        }
    }
    step_base<kPost>(s, i);
}
template <class E, unsigned kRegs, unsigned kInterleave, bool kPost, bool kSp>
void store_multiple(CpuState& s, const Insn& i) {
    if (!sp_ok<kSp>(s)) return;
    u8 bytes[16 * kRegs];
    for (unsigned r = 0; r < kRegs; ++r) {
        const Vec& v = s.v[(i.rd + r) & 31];
        if constexpr (kInterleave == 1) {
            std::memcpy(bytes + r * i.a, v.b, i.a);
        } else {
            for (unsigned e = 0; e < i.a / sizeof(E); ++e)
                std::memcpy(bytes + (e * kRegs + r) * sizeof(E), v.b + e * sizeof(E), sizeof(E));
        }
    }
    if (!s.store(s.x[i.rn], bytes, i.a * kRegs)) return;
    step_base<kPost>(s, i);
}

/// Single structure: lane b of kRegs registers.
template <class E, unsigned kRegs, bool kPost, bool kSp>
void load_lane(CpuState& s, const Insn& i) {
    if (!sp_ok<kSp>(s)) return;
    E e[kRegs];
    if (!s.load(s.x[i.rn], e, sizeof e)) return;
    for (unsigned r = 0; r < kRegs; ++r) std::memcpy(s.v[(i.rd + r) & 31].b + i.b * sizeof(E), &e[r], sizeof(E));
    step_base<kPost>(s, i);
}
template <class E, unsigned kRegs, bool kPost, bool kSp>
void store_lane(CpuState& s, const Insn& i) {
    if (!sp_ok<kSp>(s)) return;
    E e[kRegs];
    for (unsigned r = 0; r < kRegs; ++r) std::memcpy(&e[r], s.v[(i.rd + r) & 31].b + i.b * sizeof(E), sizeof(E));
    if (!s.store(s.x[i.rn], e, sizeof e)) return;
    step_base<kPost>(s, i);
}
/// Load and replicate to all lanes.
template <class E, unsigned kRegs, bool kPost, bool kSp>
void load_replicate(CpuState& s, const Insn& i) {
    if (!sp_ok<kSp>(s)) return;
    E e[kRegs];
    if (!s.load(s.x[i.rn], e, sizeof e)) return;
    for (unsigned r = 0; r < kRegs; ++r) {
        Vec& v = s.v[(i.rd + r) & 31];
        v.d[1] = 0;
        for (unsigned at = 0; at < i.a; at += sizeof(E)) std::memcpy(v.b + at, &e[r], sizeof(E));
    }
    step_base<kPost>(s, i);
}

/// Base, step and registers. Only as many registers as Insn has room for are in src and dst: the first data registers
/// of a store (src[3], src[2], src[1] when free) and the first two of a load.
void decode_structure(u32 raw, Insn& out, bool load, unsigned regs, unsigned bytes, bool post) {
    const unsigned rt = rd_of(raw), rm = rm_of(raw);
    decode_base(raw, out, post);
    out.rd = static_cast<u8>(rt);
    out.mem_bytes = static_cast<u8>(bytes);
    out.rm = kZr;
    if (post) {
        if (rm == 31) {
            out.imm = bytes;
        } else {
            out.rm = src_slot(rm);
            out.src[1] = zr_dep(rm);
        }
    }
    const auto dep = [&](unsigned n) { return v_dep((rt + n) & 31); };
    if (load) {
        out.dst[0] = dep(0);
        if (regs > 1) out.dst[1] = dep(1);
        if (regs > 2 && !post) out.dst[2] = dep(2);
    } else {
        out.src[3] = dep(0);
        if (regs > 1) out.src[2] = dep(1);
        if (regs > 2 && out.src[1] == reg::none) out.src[1] = dep(2);
    }
}

template <bool kLoad, class E, unsigned kRegs, unsigned kInterleave, bool kPost>
constexpr Exec multiple_body(bool sp) {
    if constexpr (kLoad)
        return sp ? load_multiple<E, kRegs, kInterleave, kPost, true>
                  : load_multiple<E, kRegs, kInterleave, kPost, false>;
    else
        return sp ? store_multiple<E, kRegs, kInterleave, kPost, true>
                  : store_multiple<E, kRegs, kInterleave, kPost, false>;
}
template <bool kLoad, unsigned kRegs, unsigned kInterleave, bool kPost>
bool decode_multiple(u32 raw, Insn& out) {
    const bool q = field(raw, 30, 1);
    const unsigned size = field(raw, 10, 2);
    if (kInterleave > 1 && size == 3 && !q) return false;
    out.a = q ? 16 : 8;
    decode_structure(raw, out, kLoad, kRegs, out.a * kRegs, kPost);
    const bool sp = rn_of(raw) == 31;
    if constexpr (kInterleave == 1) {
        out.fn = multiple_body<kLoad, u8, kRegs, 1, kPost>(sp);
    } else {
        switch (size) {
            case 0: out.fn = multiple_body<kLoad, u8, kRegs, kInterleave, kPost>(sp); break;
            case 1: out.fn = multiple_body<kLoad, u16, kRegs, kInterleave, kPost>(sp); break;
            case 2: out.fn = multiple_body<kLoad, u32, kRegs, kInterleave, kPost>(sp); break;
            default: out.fn = multiple_body<kLoad, u64, kRegs, kInterleave, kPost>(sp); break;
        }
    }
    return true;
}

/// Lane number: Q:S:size, less the low bits that give the element size.
template <bool kLoad, class E, unsigned kRegs, bool kPost>
bool decode_lane(u32 raw, Insn& out) {
    const unsigned index = field(raw, 30, 1) << 3 | field(raw, 12, 1) << 2 | field(raw, 10, 2);
    out.b = static_cast<u8>(index >> log2_of(sizeof(E)));
    decode_structure(raw, out, kLoad, kRegs, sizeof(E) * kRegs, kPost);
    if (kLoad) out.src[3] = v_dep(rd_of(raw)); // the other lanes stay
    const bool sp = rn_of(raw) == 31;
    if constexpr (kLoad)
        out.fn = sp ? load_lane<E, kRegs, kPost, true> : load_lane<E, kRegs, kPost, false>;
    else
        out.fn = sp ? store_lane<E, kRegs, kPost, true> : store_lane<E, kRegs, kPost, false>;
    return true;
}
template <unsigned kRegs, bool kPost>
bool decode_replicate(u32 raw, Insn& out) {
    const unsigned size = field(raw, 10, 2);
    out.a = field(raw, 30, 1) ? 16 : 8;
    decode_structure(raw, out, true, kRegs, kRegs << size, kPost);
    const bool sp = rn_of(raw) == 31;
    switch (size) {
        case 0: out.fn = sp ? load_replicate<u8, kRegs, kPost, true> : load_replicate<u8, kRegs, kPost, false>; break;
        case 1: out.fn = sp ? load_replicate<u16, kRegs, kPost, true> : load_replicate<u16, kRegs, kPost, false>; break;
        case 2: out.fn = sp ? load_replicate<u32, kRegs, kPost, true> : load_replicate<u32, kRegs, kPost, false>; break;
        default:
            out.fn = sp ? load_replicate<u64, kRegs, kPost, true> : load_replicate<u64, kRegs, kPost, false>;
            break;
    }
    return true;
}

using Tc = TimingClass;
using Kind = InsnKind;

constexpr u32 kMultiple = 0x0c000000, kMultiplePost = 0x0c800000, kSingle = 0x0d000000, kSinglePost = 0x0d800000;
constexpr u32 kLoadBit = 1u << 22;
constexpr u32 kMaskMultiple = 0xbffff000, kMaskMultiplePost = 0xbfe0f000;
// The element size fixes bits 15:13, and some of S and size (12:10).
constexpr u32 kMaskSingle = 0xbfffe000, kMaskSinglePost = 0xbfe0e000;
constexpr u32 kByte = 0, kHalf = 2u << 13, kWord = 4u << 13, kDouble = 4u << 13 | 1u << 10, kReplicate = 6u << 13;
constexpr u32 kFixByte = 0, kFixHalf = 1u << 10, kFixWord = 3u << 10, kFixDouble = 7u << 10, kFixReplicate = 1u << 12;
constexpr u32 regs(unsigned n) { return ((n - 1) & 1) << 21 | (n - 1) >> 1 << 13; }

// clang-format off
#define RK_MULTIPLE(NAME, MNEMONIC, TAG, OPCODE, LOAD, BIT, REGS, INTERLEAVE, TIMING, KIND)                                                        \
    {kMaskMultiple,     kMultiple     | BIT | (OPCODE) << 12, NAME TAG,         MNEMONIC, decode_multiple<LOAD, REGS, INTERLEAVE, false>,          \
        multiple_body<LOAD, u8, REGS, INTERLEAVE, false>(false), Tc::TIMING, Kind::KIND},                                                          \
    {kMaskMultiplePost, kMultiplePost | BIT | (OPCODE) << 12, NAME TAG "_post", MNEMONIC, decode_multiple<LOAD, REGS, INTERLEAVE, true>,           \
        multiple_body<LOAD, u8, REGS, INTERLEAVE, true>(false), Tc::TIMING, Kind::KIND}
#define RK_LANE(NAME, MNEMONIC, TAG, E, LOAD, BIT, REGS, WIDTH, FIX, BODY, TIMING, KIND)                                                           \
    {kMaskSingle | FIX,     kSingle     | BIT | WIDTH | regs(REGS), NAME TAG,         MNEMONIC, decode_lane<LOAD, E, REGS, false>, BODY<E, REGS, false, false>, Tc::TIMING, Kind::KIND}, \
    {kMaskSinglePost | FIX, kSinglePost | BIT | WIDTH | regs(REGS), NAME TAG "_post", MNEMONIC, decode_lane<LOAD, E, REGS, true>,  BODY<E, REGS, true, false>,  Tc::TIMING, Kind::KIND}
#define RK_LANES(NAME, MNEMONIC, LOAD, BIT, REGS, BODY, TIMING, KIND)                                                 \
    RK_LANE(NAME, MNEMONIC, "_lane_B", u8,  LOAD, BIT, REGS, kByte,   kFixByte,   BODY, TIMING, KIND),                \
    RK_LANE(NAME, MNEMONIC, "_lane_H", u16, LOAD, BIT, REGS, kHalf,   kFixHalf,   BODY, TIMING, KIND),                \
    RK_LANE(NAME, MNEMONIC, "_lane_S", u32, LOAD, BIT, REGS, kWord,   kFixWord,   BODY, TIMING, KIND),                \
    RK_LANE(NAME, MNEMONIC, "_lane_D", u64, LOAD, BIT, REGS, kDouble, kFixDouble, BODY, TIMING, KIND)
#define RK_REPLICATE(NAME, MNEMONIC, REGS, TIMING)                                                                    \
    {kMaskSingle | kFixReplicate,     kSingle     | kLoadBit | kReplicate | regs(REGS), NAME,         MNEMONIC, decode_replicate<REGS, false>, load_replicate<u8, REGS, false, false>, Tc::TIMING, Kind::load}, \
    {kMaskSinglePost | kFixReplicate, kSinglePost | kLoadBit | kReplicate | regs(REGS), NAME "_post", MNEMONIC, decode_replicate<REGS, true>,  load_replicate<u8, REGS, true, false>,  Tc::TIMING, Kind::load}

constexpr OpRow kRows[] = {
    RK_MULTIPLE("ST4", "st4", "_multiple", 0u,  false, 0u, 4, 4, st4, store),
    RK_MULTIPLE("ST1", "st1", "_4regs",    2u,  false, 0u, 4, 1, st1, store),
    RK_MULTIPLE("ST3", "st3", "_multiple", 4u,  false, 0u, 3, 3, st3, store),
    RK_MULTIPLE("ST1", "st1", "_3regs",    6u,  false, 0u, 3, 1, st1, store),
    RK_MULTIPLE("ST1", "st1", "_1reg",     7u,  false, 0u, 1, 1, st1, store),
    RK_MULTIPLE("ST2", "st2", "_multiple", 8u,  false, 0u, 2, 2, st2, store),
    RK_MULTIPLE("ST1", "st1", "_2regs",    10u, false, 0u, 2, 1, st1, store),
    RK_MULTIPLE("LD4", "ld4", "_multiple", 0u,  true, kLoadBit, 4, 4, ld4, load),
    RK_MULTIPLE("LD1", "ld1", "_4regs",    2u,  true, kLoadBit, 4, 1, ld1, load),
    RK_MULTIPLE("LD3", "ld3", "_multiple", 4u,  true, kLoadBit, 3, 3, ld3, load),
    RK_MULTIPLE("LD1", "ld1", "_3regs",    6u,  true, kLoadBit, 3, 1, ld1, load),
    RK_MULTIPLE("LD1", "ld1", "_1reg",     7u,  true, kLoadBit, 1, 1, ld1, load),
    RK_MULTIPLE("LD2", "ld2", "_multiple", 8u,  true, kLoadBit, 2, 2, ld2, load),
    RK_MULTIPLE("LD1", "ld1", "_2regs",    10u, true, kLoadBit, 2, 1, ld1, load),
    RK_LANES("ST1", "st1", false, 0u, 1, store_lane, st1, store),
    RK_LANES("ST2", "st2", false, 0u, 2, store_lane, st2, store),
    RK_LANES("ST3", "st3", false, 0u, 3, store_lane, st3, store),
    RK_LANES("ST4", "st4", false, 0u, 4, store_lane, st4, store),
    RK_LANES("LD1", "ld1", true, kLoadBit, 1, load_lane, ld1r, load),
    RK_LANES("LD2", "ld2", true, kLoadBit, 2, load_lane, ld2, load),
    RK_LANES("LD3", "ld3", true, kLoadBit, 3, load_lane, ld3, load),
    RK_LANES("LD4", "ld4", true, kLoadBit, 4, load_lane, ld4, load),
    RK_REPLICATE("LD1R", "ld1r", 1, ld1r),
    RK_REPLICATE("LD2R", "ld2r", 2, ld2),
    RK_REPLICATE("LD3R", "ld3r", 3, ld3),
    RK_REPLICATE("LD4R", "ld4r", 4, ld4),
};
#undef RK_MULTIPLE
#undef RK_LANE
#undef RK_LANES
#undef RK_REPLICATE
// clang-format on
static_assert(table_sound(kRows, region::load_store));

} // namespace

std::span<const OpRow> ldst_simd_rows() { return kRows; }

} // namespace rkperf::a64

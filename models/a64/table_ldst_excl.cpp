// SPDX-License-Identifier: Apache-2.0
// Exclusives, load-acquire and store-release, LDAPR (DDI 0487 C4.1.88). All need natural alignment on Armv8.2. Ordering
// has no effect on values here: cores are interleaved instruction by instruction over coherent memory.
#include "models/a64/ldst_util.h"
#include "models/a64/tables.h"

namespace rkperf::a64 {
namespace {

template <unsigned kBytes, bool kWrite>
bool aligned(CpuState& s, u64 va) {
    if (__builtin_expect(va & (kBytes - 1), 0)) {
        alignment_fault(s, va, kWrite);
        return false;
    }
    return true;
}

template <class M, bool kSp>
void load_acquire(CpuState& s, const Insn& i) {
    if (!sp_ok<kSp>(s)) return;
    const u64 va = s.x[i.rn];
    if (!aligned<sizeof(M), false>(s, va)) return;
    M v;
    if (s.load(va, &v, sizeof v)) s.x[i.rd] = v;
}
template <class M, bool kSp>
void store_release(CpuState& s, const Insn& i) {
    if (!sp_ok<kSp>(s)) return;
    const u64 va = s.x[i.rn];
    if (!aligned<sizeof(M), true>(s, va)) return;
    const M v = static_cast<M>(s.x[i.rd]);
    s.store(va, &v, sizeof v);
}

/// kCount registers of type M.
template <class M, unsigned kCount, bool kSp>
void load_exclusive(CpuState& s, const Insn& i) {
    if (!sp_ok<kSp>(s)) return;
    const u64 va = s.x[i.rn];
    if (!aligned<sizeof(M) * kCount, false>(s, va)) return;
    M v[kCount];
    if (!s.load(va, v, sizeof v)) return;
    s.hooks->set_exclusive(va, sizeof v);
    s.x[i.rd] = v[0];
    if constexpr (kCount == 2) s.x[i.ra] = v[1];
}
/// Status 1 without touching memory (and without its faults, alignment excepted) if the monitor does not hold.
template <class M, unsigned kCount, bool kSp>
void store_exclusive(CpuState& s, const Insn& i) {
    if (!sp_ok<kSp>(s)) return;
    const u64 va = s.x[i.rn];
    if (!aligned<sizeof(M) * kCount, true>(s, va)) return;
    bool failed = true;
    if (s.hooks->check_exclusive(va, sizeof(M) * kCount)) {
        M v[kCount] = {static_cast<M>(s.x[i.rd])};
        if constexpr (kCount == 2) v[1] = static_cast<M>(s.x[i.ra]);
        if (!s.store(va, v, sizeof v)) return;
        failed = false;
    }
    s.hooks->clear_exclusive();
    s.x[i.rm] = failed;
}

template <class M, unsigned kCount = 1>
struct Excl {
    static constexpr unsigned kBytes = sizeof(M) * kCount;
    static constexpr Exec kLoad[2] = {load_exclusive<M, kCount, false>, load_exclusive<M, kCount, true>};
    static constexpr Exec kStore[2] = {store_exclusive<M, kCount, false>, store_exclusive<M, kCount, true>};
    static constexpr Exec kAcquire[2] = {load_acquire<M, false>, load_acquire<M, true>};
    static constexpr Exec kRelease[2] = {store_release<M, false>, store_release<M, true>};
};

void decode_load_regs(u32 raw, Insn& out, bool pair) {
    decode_base(raw, out, false);
    out.rd = dst_slot(rd_of(raw));
    out.dst[0] = zr_dep(rd_of(raw));
    if (pair) {
        out.ra = dst_slot(ra_of(raw));
        out.dst[1] = zr_dep(ra_of(raw));
    }
}
void decode_store_regs(u32 raw, Insn& out, bool pair) {
    decode_base(raw, out, false);
    out.rd = src_slot(rd_of(raw));
    out.src[3] = zr_dep(rd_of(raw));
    if (pair) {
        out.ra = src_slot(ra_of(raw));
        out.src[2] = zr_dep(ra_of(raw));
    }
}
template <class E, bool kPair>
bool decode_ldx(u32 raw, Insn& out) {
    decode_load_regs(raw, out, kPair);
    out.mem_bytes = E::kBytes;
    out.fn = E::kLoad[rn_of(raw) == 31];
    return true;
}
template <class E, bool kPair>
bool decode_stx(u32 raw, Insn& out) {
    decode_store_regs(raw, out, kPair);
    out.rm = dst_slot(rm_of(raw)); // status
    out.dst[0] = zr_dep(rm_of(raw));
    out.mem_bytes = E::kBytes;
    out.fn = E::kStore[rn_of(raw) == 31];
    return true;
}
template <class E>
bool decode_acquire(u32 raw, Insn& out) {
    decode_load_regs(raw, out, false);
    out.mem_bytes = E::kBytes;
    out.fn = E::kAcquire[rn_of(raw) == 31];
    return true;
}
template <class E>
bool decode_release(u32 raw, Insn& out) {
    decode_store_regs(raw, out, false);
    out.mem_bytes = E::kBytes;
    out.fn = E::kRelease[rn_of(raw) == 31];
    return true;
}

using Tc = TimingClass;
using Kind = InsnKind;
using B = Excl<u8>;
using H = Excl<u16>;
using W = Excl<u32>;
using X = Excl<u64>;
using PairW = Excl<u32, 2>;
using PairX = Excl<u64, 2>;

// Bits that "should be one" (the unused register fields) are not looked at.
constexpr u32 kMask = 0xffe08000, kMaskRcpc = 0xfffffc00;
constexpr u32 size(unsigned log2) { return log2 << 30; }

// clang-format off
#define RK_EXCL(SUFFIX, suffix, TAG, SIZE, E)                                                                                               \
    {kMask, 0x08000000 | size(SIZE), "STXR"  SUFFIX TAG, "stxr"  suffix, decode_stx<E, false>, E::kStore[0],   Tc::store_excl, Kind::exclusive_store}, \
    {kMask, 0x08008000 | size(SIZE), "STLXR" SUFFIX TAG, "stlxr" suffix, decode_stx<E, false>, E::kStore[0],   Tc::store_excl, Kind::exclusive_store}, \
    {kMask, 0x08400000 | size(SIZE), "LDXR"  SUFFIX TAG, "ldxr"  suffix, decode_ldx<E, false>, E::kLoad[0],    Tc::load_excl,  Kind::exclusive_load},  \
    {kMask, 0x08408000 | size(SIZE), "LDAXR" SUFFIX TAG, "ldaxr" suffix, decode_ldx<E, false>, E::kLoad[0],    Tc::load_excl,  Kind::exclusive_load},  \
    {kMask, 0x08800000 | size(SIZE), "STLLR" SUFFIX TAG, "stllr" suffix, decode_release<E>,    E::kRelease[0], Tc::store_rel,  Kind::store},           \
    {kMask, 0x08808000 | size(SIZE), "STLR"  SUFFIX TAG, "stlr"  suffix, decode_release<E>,    E::kRelease[0], Tc::store_rel,  Kind::store},           \
    {kMask, 0x08c00000 | size(SIZE), "LDLAR" SUFFIX TAG, "ldlar" suffix, decode_acquire<E>,    E::kAcquire[0], Tc::load_acq,   Kind::load},            \
    {kMask, 0x08c08000 | size(SIZE), "LDAR"  SUFFIX TAG, "ldar"  suffix, decode_acquire<E>,    E::kAcquire[0], Tc::load_acq,   Kind::load},            \
    {kMaskRcpc, 0x38bfc000 | size(SIZE), "LDAPR" SUFFIX TAG, "ldapr" suffix, decode_acquire<E>, E::kAcquire[0], Tc::load_acq,  Kind::load}
#define RK_PAIR(TAG, SIZE, E)                                                                                                               \
    {kMask, 0x08200000 | size(SIZE), "STXP"  TAG, "stxp",  decode_stx<E, true>, E::kStore[0], Tc::store_excl, Kind::exclusive_store},       \
    {kMask, 0x08208000 | size(SIZE), "STLXP" TAG, "stlxp", decode_stx<E, true>, E::kStore[0], Tc::store_excl, Kind::exclusive_store},       \
    {kMask, 0x08600000 | size(SIZE), "LDXP"  TAG, "ldxp",  decode_ldx<E, true>, E::kLoad[0],  Tc::load_excl,  Kind::exclusive_load},        \
    {kMask, 0x08608000 | size(SIZE), "LDAXP" TAG, "ldaxp", decode_ldx<E, true>, E::kLoad[0],  Tc::load_excl,  Kind::exclusive_load}

constexpr OpRow kRows[] = {
    RK_EXCL("B", "b", "", 0, B),
    RK_EXCL("H", "h", "", 1, H),
    RK_EXCL("", "", "_32", 2, W),
    RK_EXCL("", "", "_64", 3, X),
    RK_PAIR("_32", 2, PairW),
    RK_PAIR("_64", 3, PairX),
};
#undef RK_EXCL
#undef RK_PAIR
// clang-format on
static_assert(table_sound(kRows, region::load_store));

} // namespace

std::span<const OpRow> ldst_excl_rows() { return kRows; }

} // namespace rkperf::a64

// SPDX-License-Identifier: Apache-2.0
// Large System Extensions: atomic read-modify-write, swap, compare and swap, in all sizes and orders (DDI 0487
// C4.1.88). One access of kind atomic; natural alignment required.
#include "models/a64/ldst_util.h"
#include "models/a64/tables.h"

namespace rkperf::a64 {
namespace {

enum class Op : u8 { add, clr, eor, set, smax, smin, umax, umin, swp };

template <class M, Op kOp>
inline M combine(M old, M v) {
    using S = std::make_signed_t<M>;
    if constexpr (kOp == Op::add) return static_cast<M>(old + v);
    if constexpr (kOp == Op::clr) return static_cast<M>(old & ~v);
    if constexpr (kOp == Op::eor) return static_cast<M>(old ^ v);
    if constexpr (kOp == Op::set) return static_cast<M>(old | v);
    if constexpr (kOp == Op::smax) return static_cast<S>(old) > static_cast<S>(v) ? old : v;
    if constexpr (kOp == Op::smin) return static_cast<S>(old) < static_cast<S>(v) ? old : v;
    if constexpr (kOp == Op::umax) return old > v ? old : v;
    if constexpr (kOp == Op::umin) return old < v ? old : v;
    return v;
}

/// Host address of an aligned operand of `kBytes` bytes, or null after a fault.
template <unsigned kBytes, bool kSp>
inline u8* operand(CpuState& s, const Insn& i) {
    if (!sp_ok<kSp>(s)) return nullptr;
    const u64 va = s.x[i.rn];
    if (__builtin_expect(va & (kBytes - 1), 0)) {
        alignment_fault(s, va, false);
        return nullptr;
    }
    return s.atomic_ptr(va, kBytes);
}

template <class M, Op kOp, bool kSp>
void atomic(CpuState& s, const Insn& i) {
    u8* p = operand<sizeof(M), kSp>(s, i);
    if (!p) return;
    M old;
    std::memcpy(&old, p, sizeof old);
    const M now = combine<M, kOp>(old, static_cast<M>(s.x[i.rm]));
    std::memcpy(p, &now, sizeof now);
    s.x[i.rd] = old;
}
template <class M, Op kOp>
constexpr Exec kAtomic[2] = {atomic<M, kOp, false>, atomic<M, kOp, true>};

/// kCount registers from Rs (slots rm, and ra as destination) compared, from Rt (slot rd) stored. A pair's second
/// registers are the next ones; Insn::b and c hold their slots of Rs as source and destination, d that of Rt.
template <class M, unsigned kCount, bool kSp>
void cas(CpuState& s, const Insn& i) {
    u8* p = operand<sizeof(M) * kCount, kSp>(s, i);
    if (!p) return;
    M old[kCount];
    std::memcpy(old, p, sizeof old);
    bool equal = old[0] == static_cast<M>(s.x[i.rm]);
    if constexpr (kCount == 2) equal = equal && old[1] == static_cast<M>(s.x[i.b]);
    if (equal) {
        M now[kCount] = {static_cast<M>(s.x[i.rd])};
        if constexpr (kCount == 2) now[1] = static_cast<M>(s.x[i.d]);
        std::memcpy(p, now, sizeof now);
    }
    s.x[i.ra] = old[0];
    if constexpr (kCount == 2) s.x[i.c] = old[1];
}
template <class M, unsigned kCount>
constexpr Exec kCas[2] = {cas<M, kCount, false>, cas<M, kCount, true>};

template <class M, Op kOp>
bool decode_atomic(u32 raw, Insn& out) {
    decode_base(raw, out, false);
    out.rm = src_slot(rm_of(raw));
    out.rd = dst_slot(rd_of(raw));
    out.src[3] = zr_dep(rm_of(raw));
    out.dst[0] = zr_dep(rd_of(raw));
    out.mem_bytes = sizeof(M);
    out.fn = kAtomic<M, kOp>[rn_of(raw) == 31];
    return true;
}
template <class M, unsigned kCount>
bool decode_cas(u32 raw, Insn& out) {
    const unsigned rs = rm_of(raw), rt = rd_of(raw);
    if (kCount == 2 && ((rs | rt) & 1)) return false;
    decode_base(raw, out, false);
    out.rm = src_slot(rs);
    out.ra = dst_slot(rs);
    out.rd = src_slot(rt);
    out.src[1] = zr_dep(rs);
    out.src[3] = zr_dep(rt);
    out.dst[0] = zr_dep(rs);
    if (kCount == 2) {
        out.b = src_slot(rs + 1);
        out.c = dst_slot(rs + 1);
        out.d = src_slot(rt + 1);
        out.src[2] = zr_dep(rs + 1);
        out.dst[1] = zr_dep(rs + 1);
    }
    out.mem_bytes = sizeof(M) * kCount;
    out.fn = kCas<M, kCount>[rn_of(raw) == 31];
    return true;
}

using Tc = TimingClass;
using Kind = InsnKind;

constexpr u32 kMask = 0xffe0fc00;
constexpr u32 kAcquire = 1u << 23, kRelease = 1u << 22;       // LD<op>, SWP
constexpr u32 kCasAcquire = 1u << 22, kCasRelease = 1u << 15; // CAS, CASP
constexpr u32 rmw(unsigned size, Op op) {
    return 0x38200000 | size << 30 | (op == Op::swp ? 8u : static_cast<unsigned>(op)) << 12;
}
constexpr u32 cas_op(unsigned size) { return 0x08a07c00 | size << 30; }
constexpr u32 casp_op(unsigned size) { return 0x08207c00 | size << 30; }

// clang-format off
#define RK_ROW(VALUE, NAME, MNEMONIC, TAG, M, OP) {kMask, VALUE, NAME TAG, MNEMONIC, decode_atomic<M, OP>, kAtomic<M, OP>[0], Tc::atomic, Kind::load_store}
#define RK_ORDERS(NAME, name, SUFFIX, suffix, TAG, SIZE, M, OP)                                              \
    RK_ROW(rmw(SIZE, OP),                       NAME SUFFIX,      name suffix,      TAG, M, OP),             \
    RK_ROW(rmw(SIZE, OP) | kRelease,            NAME "L" SUFFIX,  name "l" suffix,  TAG, M, OP),             \
    RK_ROW(rmw(SIZE, OP) | kAcquire,            NAME "A" SUFFIX,  name "a" suffix,  TAG, M, OP),             \
    RK_ROW(rmw(SIZE, OP) | kAcquire | kRelease, NAME "AL" SUFFIX, name "al" suffix, TAG, M, OP)
#define RK_ATOMIC(NAME, name, OP)                              \
    RK_ORDERS(NAME, name, "B", "b", "",    0, u8,  Op::OP),    \
    RK_ORDERS(NAME, name, "H", "h", "",    1, u16, Op::OP),    \
    RK_ORDERS(NAME, name, "",  "",  "_32", 2, u32, Op::OP),    \
    RK_ORDERS(NAME, name, "",  "",  "_64", 3, u64, Op::OP)

#define RK_CAS_ROW(VALUE, NAME, MNEMONIC, TAG, M, COUNT) {kMask, VALUE, NAME TAG, MNEMONIC, decode_cas<M, COUNT>, kCas<M, COUNT>[0], Tc::cas, Kind::load_store}
#define RK_CAS(NAME, name, SUFFIX, suffix, TAG, VALUE, M, COUNT)                                             \
    RK_CAS_ROW(VALUE,                             NAME SUFFIX,      name suffix,      TAG, M, COUNT),        \
    RK_CAS_ROW(VALUE | kCasRelease,               NAME "L" SUFFIX,  name "l" suffix,  TAG, M, COUNT),        \
    RK_CAS_ROW(VALUE | kCasAcquire,               NAME "A" SUFFIX,  name "a" suffix,  TAG, M, COUNT),        \
    RK_CAS_ROW(VALUE | kCasAcquire | kCasRelease, NAME "AL" SUFFIX, name "al" suffix, TAG, M, COUNT)

constexpr OpRow kRows[] = {
    RK_ATOMIC("LDADD",  "ldadd",  add),
    RK_ATOMIC("LDCLR",  "ldclr",  clr),
    RK_ATOMIC("LDEOR",  "ldeor",  eor),
    RK_ATOMIC("LDSET",  "ldset",  set),
    RK_ATOMIC("LDSMAX", "ldsmax", smax),
    RK_ATOMIC("LDSMIN", "ldsmin", smin),
    RK_ATOMIC("LDUMAX", "ldumax", umax),
    RK_ATOMIC("LDUMIN", "ldumin", umin),
    RK_ATOMIC("SWP",    "swp",    swp),
    RK_CAS("CAS",  "cas",  "B", "b", "",    cas_op(0),  u8,  1),
    RK_CAS("CAS",  "cas",  "H", "h", "",    cas_op(1),  u16, 1),
    RK_CAS("CAS",  "cas",  "",  "",  "_32", cas_op(2),  u32, 1),
    RK_CAS("CAS",  "cas",  "",  "",  "_64", cas_op(3),  u64, 1),
    RK_CAS("CASP", "casp", "",  "",  "_32", casp_op(0), u32, 2),
    RK_CAS("CASP", "casp", "",  "",  "_64", casp_op(1), u64, 2),
};
#undef RK_ROW
#undef RK_ORDERS
#undef RK_ATOMIC
#undef RK_CAS_ROW
#undef RK_CAS
// clang-format on
static_assert(table_sound(kRows, region::load_store));

} // namespace

std::span<const OpRow> ldst_atomic_rows() { return kRows; }

} // namespace rkperf::a64

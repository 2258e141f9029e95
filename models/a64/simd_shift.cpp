// SPDX-License-Identifier: Apache-2.0
// Advanced SIMD shift by immediate, integer; vector and scalar. Arm ARM C4.1.96. Each element size has a row of its own,
// for the position of the highest bit set in immh tells the size. Insn::imm is the shift.
#include "models/a64/simd_exec.h"
#include "models/a64/simd_ops.h"

namespace rkperf::a64 {
namespace {

using namespace lane_op;
using T = TimingClass;

// ---- lane operations: run(d, a, n, saturated)

template <class E>
E shift_right(E a, unsigned n) {
    constexpr unsigned width = sizeof(E) * 8;
    if (std::is_signed_v<E>) return static_cast<E>(a >> (n < width ? n : width - 1));
    return n < width ? static_cast<E>(a >> n) : E{0};
}
template <class E>
E rounding_shift_right(E a, unsigned n) {
    return static_cast<E>(to_unsigned(shift_right(a, n)) + (to_unsigned(a) >> (n - 1) & 1));
}

template <bool sign, bool rounds, bool acc>
struct Shr : Int<sign, kAll> {
    static constexpr bool right = true, accumulates = acc;
    template <class E>
    static E run(E d, E a, unsigned n, auto&) {
        const E v = rounds ? rounding_shift_right(a, n) : shift_right(a, n);
        return acc ? static_cast<E>(to_unsigned(d) + to_unsigned(v)) : v;
    }
};
struct Sri : Int<false, kAll> {
    static constexpr bool right = true, merges = true;
    template <class E>
    static E run(E d, E a, unsigned n, auto&) {
        const E mask = shift_right(static_cast<E>(~E{0}), n);
        return static_cast<E>((d & ~mask) | shift_right(a, n));
    }
};
struct ShlImm : Int<false, kAll> {
    static constexpr bool right = false;
    template <class E>
    static E run(E, E a, unsigned n, auto&) {
        return static_cast<E>(a << n);
    }
};
struct Sli : Int<false, kAll> {
    static constexpr bool right = false, merges = true;
    template <class E>
    static E run(E d, E a, unsigned n, auto&) {
        const E mask = static_cast<E>(static_cast<E>(~E{0}) << n);
        return static_cast<E>((d & ~mask) | static_cast<E>(a << n));
    }
};
template <bool sign>
struct QShlImm : Int<sign, kAll> {
    static constexpr bool right = false;
    template <class E>
    static E run(E, E a, unsigned n, auto& saturated) {
        return saturating_shift_left<E>(a, static_cast<int>(n), saturated);
    }
};
/// SQSHLU: signed in, unsigned out.
struct QShlU : Int<true, kAll> {
    static constexpr bool right = false;
    template <class E>
    static E run(E, E a, unsigned n, auto& saturated) {
        if (a >= 0) return static_cast<E>(saturating_shift_left(to_unsigned(a), static_cast<int>(n), saturated));
        saturated = true;
        return 0;
    }
};

template <class E, unsigned N, class Op>
void exec_shift(CpuState& s, const Insn& i) {
    const auto a = Lanes<E, N>::load(s.v[i.rn]);
    auto d = Lanes<E, N>::load(s.v[i.rd]);
    const auto n = static_cast<unsigned>(i.imm);
    std::make_unsigned_t<E> saturated = 0;
    for (unsigned l = 0; l < N; ++l) d.v[l] = Op::template run<E>(d.v[l], a.v[l], n, saturated);
    d.store(s.v[i.rd]);
    set_qc(s, saturated);
}

// ---- narrowing and widening

template <bool rounds, bool saturating, bool from_signed, bool to_signed>
struct ShrNarrow : Int<from_signed, kNoD> {
    static constexpr bool right = true;
    template <class E, class W>
    static E run(W v, unsigned n, auto& saturated) {
        using To = std::conditional_t<to_signed, std::make_signed_t<E>, std::make_unsigned_t<E>>;
        const W shifted = rounds ? rounding_shift_right(v, n) : shift_right(v, n);
        if constexpr (saturating)
            return static_cast<E>(saturate<To>(shifted, saturated));
        else
            return static_cast<E>(shifted);
    }
};
template <class E, unsigned N, class Op, bool upper>
void exec_shift_narrow(CpuState& s, const Insn& i) {
    const auto a = Lanes<Twice<E>, N>::load(s.v[i.rn]);
    Lanes<E, N> d;
    const auto n = static_cast<unsigned>(i.imm);
    std::make_unsigned_t<E> saturated = 0;
    for (unsigned l = 0; l < N; ++l) d.v[l] = Op::template run<E>(a.v[l], n, saturated);
    store_half(s.v[i.rd], d, upper);
    set_qc(s, saturated);
}
template <class E, unsigned N, bool upper>
void exec_shift_long(CpuState& s, const Insn& i) {
    const auto a = Lanes<E, N>::load(s.v[i.rn], upper ? N : 0);
    Lanes<Twice<E>, N> d;
    const auto n = static_cast<unsigned>(i.imm);
    for (unsigned l = 0; l < N; ++l) d.v[l] = static_cast<Twice<E>>(static_cast<Twice<E>>(a.v[l]) << n);
    d.store(s.v[i.rd]);
}

// ---- decoding

template <unsigned size, bool right>
void set_shift(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    const unsigned v = field(raw, 16, 7), width = 8u << size;
    out.imm = right ? 2 * width - v : v - width;
}

template <class Op, unsigned size>
bool dec_shift(std::uint32_t raw, Insn& out) {
    set_shift<size, Op::right>(raw, out);
    set_rd_use<Op>(out);
    const bool q = raw >> 30 & 1;
    set_shape(out, size, q);
    using E = Element<Op::is_signed, size>;
    if (q)
        out.fn = exec_shift<E, lane_count(size, Shape::q), Op>;
    else if constexpr (size == 3)
        return false;
    else
        out.fn = exec_shift<E, lane_count(size, Shape::d), Op>;
    return true;
}
template <class Op, unsigned size>
bool dec_shift_scalar(std::uint32_t raw, Insn& out) {
    set_shift<size, Op::right>(raw, out);
    set_rd_use<Op>(out);
    set_shape(out, size, false);
    return true;
}
template <unsigned size, bool right, bool upper>
bool dec_resize(std::uint32_t raw, Insn& out) {
    set_shift<size, right>(raw, out);
    if (right && upper) set_v_merges(out);
    set_shape(out, size, upper);
    return true;
}

// ---- rows

constexpr std::uint32_t kImmhMask[4] = {0x00780000, 0x00700000, 0x00600000, 0x00400000};
constexpr std::uint32_t kImmhValue[4] = {0x00080000, 0x00100000, 0x00200000, 0x00400000};
constexpr std::uint32_t value(unsigned u, unsigned opcode) { return 0x0f000400u | u << 29 | opcode << 11; }
constexpr std::uint32_t kScalarBits = 0x50000000;

template <class Op, unsigned size>
constexpr OpRow vec_row(unsigned u, unsigned opcode, const char* name, const char* mnemonic, T timing) {
    return {0xbf80fc00 | kImmhMask[size],
            value(u, opcode) | kImmhValue[size],
            name,
            mnemonic,
            dec_shift<Op, size>,
            exec_shift<Element<Op::is_signed, size>, lane_count(size, Shape::q), Op>,
            timing,
            kSimd};
}
template <Name name, class Op>
constexpr std::array<OpRow, 4> vec(unsigned u, unsigned opcode, const char* mnemonic, T timing) {
    return {vec_row<Op, 0>(u, opcode, JoinedName<name, "_imm_b">::text, mnemonic, timing),
            vec_row<Op, 1>(u, opcode, JoinedName<name, "_imm_h">::text, mnemonic, timing),
            vec_row<Op, 2>(u, opcode, JoinedName<name, "_imm_s">::text, mnemonic, timing),
            vec_row<Op, 3>(u, opcode, JoinedName<name, "_imm_d">::text, mnemonic, timing)};
}
template <class Op, unsigned size>
constexpr OpRow scl_row(unsigned u, unsigned opcode, const char* name, const char* mnemonic, T timing) {
    return {0xff80fc00 | kImmhMask[size], value(u, opcode) | kImmhValue[size] | kScalarBits, name,   mnemonic,
            dec_shift_scalar<Op, size>,   exec_shift<Element<Op::is_signed, size>, 1, Op>,   timing, kSimd};
}
/// Scalar forms of doublewords only.
template <Name name, class Op>
constexpr std::array<OpRow, 1> scl_d(unsigned u, unsigned opcode, const char* mnemonic, T timing) {
    return {scl_row<Op, 3>(u, opcode, JoinedName<name, "_imm_scalar">::text, mnemonic, timing)};
}
template <Name name, class Op>
constexpr std::array<OpRow, 4> scl_all(unsigned u, unsigned opcode, const char* mnemonic, T timing) {
    return {scl_row<Op, 0>(u, opcode, JoinedName<name, "_imm_scalar_b">::text, mnemonic, timing),
            scl_row<Op, 1>(u, opcode, JoinedName<name, "_imm_scalar_h">::text, mnemonic, timing),
            scl_row<Op, 2>(u, opcode, JoinedName<name, "_imm_scalar_s">::text, mnemonic, timing),
            scl_row<Op, 3>(u, opcode, JoinedName<name, "_imm_scalar_d">::text, mnemonic, timing)};
}

template <class Op, unsigned size, bool upper>
constexpr OpRow narrow_row(unsigned u, unsigned opcode, const char* name, const char* mnemonic, T timing) {
    return {0xff80fc00 | kImmhMask[size],
            value(u, opcode) | kImmhValue[size] | upper << 30,
            name,
            mnemonic,
            dec_resize<size, true, upper>,
            exec_shift_narrow<Element<Op::is_signed, size>, lane_count(size, Shape::d), Op, upper>,
            timing,
            kSimd};
}
template <Name name, Name mnemonic, class Op>
constexpr std::array<OpRow, 6> narrow(unsigned u, unsigned opcode, T timing) {
    constexpr const char *one = JoinedName<mnemonic, "">::text, *two = JoinedName<mnemonic, "2">::text;
    return {narrow_row<Op, 0, false>(u, opcode, JoinedName<name, "_b">::text, one, timing),
            narrow_row<Op, 1, false>(u, opcode, JoinedName<name, "_h">::text, one, timing),
            narrow_row<Op, 2, false>(u, opcode, JoinedName<name, "_s">::text, one, timing),
            narrow_row<Op, 0, true>(u, opcode, JoinedName<name, "2_b">::text, two, timing),
            narrow_row<Op, 1, true>(u, opcode, JoinedName<name, "2_h">::text, two, timing),
            narrow_row<Op, 2, true>(u, opcode, JoinedName<name, "2_s">::text, two, timing)};
}
template <class Op, unsigned size>
constexpr OpRow narrow_scalar_row(unsigned u, unsigned opcode, const char* name, const char* mnemonic) {
    return {0xff80fc00 | kImmhMask[size],
            value(u, opcode) | kImmhValue[size] | kScalarBits,
            name,
            mnemonic,
            dec_resize<size, true, false>,
            exec_shift_narrow<Element<Op::is_signed, size>, 1, Op, false>,
            T::simd_shift_acc,
            kSimd};
}
template <Name name, class Op>
constexpr std::array<OpRow, 3> narrow_scalar(unsigned u, unsigned opcode, const char* mnemonic) {
    return {narrow_scalar_row<Op, 0>(u, opcode, JoinedName<name, "_scalar_b">::text, mnemonic),
            narrow_scalar_row<Op, 1>(u, opcode, JoinedName<name, "_scalar_h">::text, mnemonic),
            narrow_scalar_row<Op, 2>(u, opcode, JoinedName<name, "_scalar_s">::text, mnemonic)};
}
template <bool sign, unsigned size, bool upper>
constexpr OpRow long_row(const char* name, const char* mnemonic) {
    return {0xff80fc00 | kImmhMask[size],
            value(!sign, 0x14) | kImmhValue[size] | upper << 30,
            name,
            mnemonic,
            dec_resize<size, false, upper>,
            exec_shift_long<Element<sign, size>, lane_count(size, Shape::d), upper>,
            T::simd_shift,
            kSimd};
}
template <Name name, Name mnemonic, bool sign>
constexpr std::array<OpRow, 6> lng() {
    constexpr const char *one = JoinedName<mnemonic, "">::text, *two = JoinedName<mnemonic, "2">::text;
    return {long_row<sign, 0, false>(JoinedName<name, "_b">::text, one),
            long_row<sign, 1, false>(JoinedName<name, "_h">::text, one),
            long_row<sign, 2, false>(JoinedName<name, "_s">::text, one),
            long_row<sign, 0, true>(JoinedName<name, "2_b">::text, two),
            long_row<sign, 1, true>(JoinedName<name, "2_h">::text, two),
            long_row<sign, 2, true>(JoinedName<name, "2_s">::text, two)};
}

// clang-format off
constexpr auto kVector = concat(
    vec<"SSHR", Shr<true, false, false>>(0, 0x00, "sshr", T::simd_shift),
    vec<"USHR", Shr<false, false, false>>(1, 0x00, "ushr", T::simd_shift),
    vec<"SSRA", Shr<true, false, true>>(0, 0x02, "ssra", T::simd_shift_acc),
    vec<"USRA", Shr<false, false, true>>(1, 0x02, "usra", T::simd_shift_acc),
    vec<"SRSHR", Shr<true, true, false>>(0, 0x04, "srshr", T::simd_shift_acc),
    vec<"URSHR", Shr<false, true, false>>(1, 0x04, "urshr", T::simd_shift_acc),
    vec<"SRSRA", Shr<true, true, true>>(0, 0x06, "srsra", T::simd_shift_acc),
    vec<"URSRA", Shr<false, true, true>>(1, 0x06, "ursra", T::simd_shift_acc),
    vec<"SRI", Sri>(1, 0x08, "sri", T::simd_shift),
    vec<"SHL", ShlImm>(0, 0x0a, "shl", T::simd_shift),
    vec<"SLI", Sli>(1, 0x0a, "sli", T::simd_shift),
    vec<"SQSHLU", QShlU>(1, 0x0c, "sqshlu", T::simd_shift_acc),
    vec<"SQSHL", QShlImm<true>>(0, 0x0e, "sqshl", T::simd_shift_acc),
    vec<"UQSHL", QShlImm<false>>(1, 0x0e, "uqshl", T::simd_shift_acc));
constexpr auto kScalar = concat(
    scl_d<"SSHR", Shr<true, false, false>>(0, 0x00, "sshr", T::simd_shift),
    scl_d<"USHR", Shr<false, false, false>>(1, 0x00, "ushr", T::simd_shift),
    scl_d<"SSRA", Shr<true, false, true>>(0, 0x02, "ssra", T::simd_shift_acc),
    scl_d<"USRA", Shr<false, false, true>>(1, 0x02, "usra", T::simd_shift_acc),
    scl_d<"SRSHR", Shr<true, true, false>>(0, 0x04, "srshr", T::simd_shift_acc),
    scl_d<"URSHR", Shr<false, true, false>>(1, 0x04, "urshr", T::simd_shift_acc),
    scl_d<"SRSRA", Shr<true, true, true>>(0, 0x06, "srsra", T::simd_shift_acc),
    scl_d<"URSRA", Shr<false, true, true>>(1, 0x06, "ursra", T::simd_shift_acc),
    scl_d<"SRI", Sri>(1, 0x08, "sri", T::simd_shift),
    scl_d<"SHL", ShlImm>(0, 0x0a, "shl", T::simd_shift),
    scl_d<"SLI", Sli>(1, 0x0a, "sli", T::simd_shift),
    scl_all<"SQSHLU", QShlU>(1, 0x0c, "sqshlu", T::simd_shift_acc),
    scl_all<"SQSHL", QShlImm<true>>(0, 0x0e, "sqshl", T::simd_shift_acc),
    scl_all<"UQSHL", QShlImm<false>>(1, 0x0e, "uqshl", T::simd_shift_acc));
constexpr auto kResize = concat(
    narrow<"SHRN", "shrn", ShrNarrow<false, false, false, false>>(0, 0x10, T::simd_shift),
    narrow<"RSHRN", "rshrn", ShrNarrow<true, false, false, false>>(0, 0x11, T::simd_shift_acc),
    narrow<"SQSHRUN", "sqshrun", ShrNarrow<false, true, true, false>>(1, 0x10, T::simd_shift_acc),
    narrow<"SQRSHRUN", "sqrshrun", ShrNarrow<true, true, true, false>>(1, 0x11, T::simd_shift_acc),
    narrow<"SQSHRN", "sqshrn", ShrNarrow<false, true, true, true>>(0, 0x12, T::simd_shift_acc),
    narrow<"UQSHRN", "uqshrn", ShrNarrow<false, true, false, false>>(1, 0x12, T::simd_shift_acc),
    narrow<"SQRSHRN", "sqrshrn", ShrNarrow<true, true, true, true>>(0, 0x13, T::simd_shift_acc),
    narrow<"UQRSHRN", "uqrshrn", ShrNarrow<true, true, false, false>>(1, 0x13, T::simd_shift_acc),
    narrow_scalar<"SQSHRUN", ShrNarrow<false, true, true, false>>(1, 0x10, "sqshrun"),
    narrow_scalar<"SQRSHRUN", ShrNarrow<true, true, true, false>>(1, 0x11, "sqrshrun"),
    narrow_scalar<"SQSHRN", ShrNarrow<false, true, true, true>>(0, 0x12, "sqshrn"),
    narrow_scalar<"UQSHRN", ShrNarrow<false, true, false, false>>(1, 0x12, "uqshrn"),
    narrow_scalar<"SQRSHRN", ShrNarrow<true, true, true, true>>(0, 0x13, "sqrshrn"),
    narrow_scalar<"UQRSHRN", ShrNarrow<true, true, false, false>>(1, 0x13, "uqrshrn"),
    lng<"SSHLL", "sshll", true>(),
    lng<"USHLL", "ushll", false>());
// clang-format on
static_assert(table_sound(kVector, region::fp_simd) && table_sound(kScalar, region::fp_simd) &&
              table_sound(kResize, region::fp_simd));

} // namespace

std::span<const OpRow> simd_shift_rows() { return kVector; }
std::span<const OpRow> simd_shift_scalar_rows() { return kScalar; }
std::span<const OpRow> simd_shift_long_rows() { return kResize; }

} // namespace rkperf::a64

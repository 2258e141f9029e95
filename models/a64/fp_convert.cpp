// SPDX-License-Identifier: Apache-2.0
// Scalar floating point to and from general registers: integers, fixed point, moves. Arm ARM C4.1.96.
#include "models/a64/fp_decode.h"
#include "models/a64/fp_ops.h"
#include "models/a64/fp_tables.h"

#include <array>

namespace rkperf::a64 {
namespace {

/// Truncation by the host; false if the operand is out of range or the flags are not known.
template <class F, class Int>
inline bool host_truncate(const CpuState& s, typename F::Bits bits, std::uint64_t& result) {
    using Host = typename F::Host;
    const Host v = std::bit_cast<Host>(bits);
    constexpr bool is_unsigned = std::is_unsigned_v<Int>;
    constexpr int digits = std::numeric_limits<Int>::digits; // value bits
    constexpr Host limit = static_cast<Host>(std::uint64_t{1} << (digits - 1)) * 2;
    if (s.fpcr & fpcr::FZ) return false;
    if (!(v < limit && (is_unsigned ? v >= 0 : v >= -limit))) return false; // a NaN fails too
    const Int i = static_cast<Int>(v);
    if (!(s.fpsr & fpsr::IXC) && static_cast<Host>(i) != v) return false;
    result = static_cast<std::make_unsigned_t<Int>>(i);
    return true;
}

/// FCVT*: imm is the number of fraction bits.
template <class F, class Int, Rounding rounding>
void exec_to_gpr(CpuState& s, const Insn& i) {
    const typename F::Bits a = lane<typename F::Bits>(s.v[i.rn], 0);
    if constexpr (kHasHost<F> && rounding == Rounding::zero) {
        std::uint64_t result;
        if (__builtin_expect(i.imm == 0 && host_truncate<F, Int>(s, a, result), 1)) {
            s.x[i.rd] = result;
            return;
        }
    }
    FpEnv env{s.fpcr};
    s.x[i.rd] =
        soft::to_fixed<F>(a, static_cast<unsigned>(i.imm), sizeof(Int) * 8, std::is_unsigned_v<Int>, rounding, env);
    s.fpsr |= env.flags;
}

/// SCVTF, UCVTF: imm is the number of fraction bits.
template <class F, class Int>
void exec_from_gpr(CpuState& s, const Insn& i) {
    using Unsigned = std::make_unsigned_t<Int>;
    const Int v = static_cast<Int>(s.x[i.rn]);
    const bool negative = v < Int{0};
    const Unsigned magnitude =
        negative ? static_cast<Unsigned>(0 - static_cast<Unsigned>(v)) : static_cast<Unsigned>(v);
    if constexpr (kHasHost<F>) {
        const bool exact = std::uint64_t{magnitude} >> (F::frac_bits + 1) == 0;
        if (__builtin_expect(i.imm == 0 && (exact || host_mode_or_flush(s)), 1))
            return set_scalar(s.v[i.rd], std::bit_cast<typename F::Bits>(static_cast<typename F::Host>(v)));
    }
    FpEnv env{s.fpcr};
    set_scalar(s.v[i.rd], soft::from_fixed<F>(negative, magnitude, static_cast<unsigned>(i.imm), env));
    s.fpsr |= env.flags;
}

template <class T>
void exec_move_to_gpr(CpuState& s, const Insn& i) {
    s.x[i.rd] = lane<T>(s.v[i.rn], 0);
}
template <class T>
void exec_move_from_gpr(CpuState& s, const Insn& i) {
    set_scalar(s.v[i.rd], static_cast<T>(s.x[i.rn]));
}
void exec_move_top_to_gpr(CpuState& s, const Insn& i) { s.x[i.rd] = s.v[i.rn].d[1]; }
void exec_move_top_from_gpr(CpuState& s, const Insn& i) { s.v[i.rd].d[1] = s.x[i.rn]; }

void set_to_gpr(std::uint32_t raw, Insn& out) {
    out.rd = dst_slot(rd_of(raw));
    out.rn = small(rn_of(raw));
    out.src[0] = v_dep(out.rn);
    out.dst[0] = zr_dep(rd_of(raw));
}
void set_from_gpr(std::uint32_t raw, Insn& out) {
    out.rd = small(rd_of(raw));
    out.rn = src_slot(rn_of(raw));
    out.src[0] = zr_dep(rn_of(raw));
    out.dst[0] = v_dep(out.rd);
}

/// The format from `type`, the number of fraction bits from `scale` if this is a fixed-point form.
template <bool fixed>
bool set_fixed(std::uint32_t raw, Insn& out) {
    const unsigned size = fp_type_size(raw);
    if (size == 0) return false;
    set_shape(out, size, false);
    if (fixed) {
        const unsigned fbits = 64 - field(raw, 10, 6);
        if (!(raw & kSf) && fbits > 32) return false;
        out.imm = fbits;
    }
    return true;
}

template <class Int32, class Int64, Rounding rounding, bool fixed>
bool dec_to_gpr(std::uint32_t raw, Insn& out) {
    set_to_gpr(raw, out);
    if (!set_fixed<fixed>(raw, out)) return false;
    constexpr Exec fns[2][3] = {
        {exec_to_gpr<F16, Int32, rounding>, exec_to_gpr<F32, Int32, rounding>, exec_to_gpr<F64, Int32, rounding>},
        {exec_to_gpr<F16, Int64, rounding>, exec_to_gpr<F32, Int64, rounding>, exec_to_gpr<F64, Int64, rounding>}};
    out.fn = fns[raw >> 31][out.a - 1];
    return true;
}

template <class Int32, class Int64, bool fixed>
bool dec_from_gpr(std::uint32_t raw, Insn& out) {
    set_from_gpr(raw, out);
    if (!set_fixed<fixed>(raw, out)) return false;
    constexpr Exec fns[2][3] = {{exec_from_gpr<F16, Int32>, exec_from_gpr<F32, Int32>, exec_from_gpr<F64, Int32>},
                                {exec_from_gpr<F16, Int64>, exec_from_gpr<F32, Int64>, exec_from_gpr<F64, Int64>}};
    out.fn = fns[raw >> 31][out.a - 1];
    return true;
}

/// FMOV between registers: half from W or X, single from W, double from X.
template <bool to_gpr>
bool dec_move(std::uint32_t raw, Insn& out) {
    to_gpr ? set_to_gpr(raw, out) : set_from_gpr(raw, out);
    const unsigned size = fp_type_size(raw);
    const bool wide = raw & kSf;
    if (size == 0 || (size == 2 && wide) || (size == 3 && !wide)) return false;
    set_shape(out, size, false);
    constexpr Exec to[3] = {exec_move_to_gpr<std::uint16_t>, exec_move_to_gpr<std::uint32_t>,
                            exec_move_to_gpr<std::uint64_t>};
    constexpr Exec from[3] = {exec_move_from_gpr<std::uint16_t>, exec_move_from_gpr<std::uint32_t>,
                              exec_move_from_gpr<std::uint64_t>};
    out.fn = to_gpr ? to[size - 1] : from[size - 1];
    return true;
}

bool dec_move_top_to_gpr(std::uint32_t raw, Insn& out) {
    set_to_gpr(raw, out);
    set_shape(out, 3, true);
    return true;
}
bool dec_move_top_from_gpr(std::uint32_t raw, Insn& out) {
    set_from_gpr(raw, out);
    set_v_merges(out);
    set_shape(out, 3, true);
    return true;
}

constexpr InsnKind kFp = InsnKind::fp;
using T = TimingClass;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Integer forms: rmode 20:19, opcode 18:16; sf and type vary.
constexpr u32 kIntMask = 0x7f3ffc00, kFixMask = 0x7f3f0000;
constexpr u32 int_value(unsigned rmode, unsigned opcode) { return 0x1e200000u | rmode << 19 | opcode << 16; }
constexpr u32 fix_value(unsigned rmode, unsigned opcode) { return 0x1e000000u | rmode << 19 | opcode << 16; }

template <Rounding r, bool is_unsigned>
constexpr OpRow to_int(unsigned rmode, unsigned opcode, const char* name, const char* mnemonic) {
    using A = std::conditional_t<is_unsigned, u32, i32>;
    using B = std::conditional_t<is_unsigned, u64, i64>;
    return {kIntMask,
            int_value(rmode, opcode),
            name,
            mnemonic,
            dec_to_gpr<A, B, r, false>,
            exec_to_gpr<F64, B, r>,
            T::fp_to_gpr,
            kFp};
}

// clang-format off
constexpr std::array kRows = {
    to_int<Rounding::tie_even, false>(0, 0, "FCVTNS_gpr", "fcvtns"),
    to_int<Rounding::tie_even, true>(0, 1, "FCVTNU_gpr", "fcvtnu"),
    to_int<Rounding::plus, false>(1, 0, "FCVTPS_gpr", "fcvtps"),
    to_int<Rounding::plus, true>(1, 1, "FCVTPU_gpr", "fcvtpu"),
    to_int<Rounding::minus, false>(2, 0, "FCVTMS_gpr", "fcvtms"),
    to_int<Rounding::minus, true>(2, 1, "FCVTMU_gpr", "fcvtmu"),
    to_int<Rounding::zero, false>(3, 0, "FCVTZS_gpr", "fcvtzs"),
    to_int<Rounding::zero, true>(3, 1, "FCVTZU_gpr", "fcvtzu"),
    to_int<Rounding::tie_away, false>(0, 4, "FCVTAS_gpr", "fcvtas"),
    to_int<Rounding::tie_away, true>(0, 5, "FCVTAU_gpr", "fcvtau"),
    OpRow{kIntMask, int_value(0, 2), "SCVTF_gpr", "scvtf", dec_from_gpr<i32, i64, false>, exec_from_gpr<F64, i64>, T::gpr_to_fp, kFp},
    OpRow{kIntMask, int_value(0, 3), "UCVTF_gpr", "ucvtf", dec_from_gpr<u32, u64, false>, exec_from_gpr<F64, u64>, T::gpr_to_fp, kFp},
    OpRow{kIntMask, int_value(0, 6), "FMOV_to_gpr", "fmov", dec_move<true>, exec_move_to_gpr<u64>, T::simd_umov, kFp},
    OpRow{kIntMask, int_value(0, 7), "FMOV_from_gpr", "fmov", dec_move<false>, exec_move_from_gpr<u64>, T::simd_ins_gpr, kFp},
    OpRow{0xfffffc00, 0x9eae0000, "FMOV_top_to_gpr", "fmov", dec_move_top_to_gpr, exec_move_top_to_gpr, T::simd_umov, kFp},
    OpRow{0xfffffc00, 0x9eaf0000, "FMOV_top_from_gpr", "fmov", dec_move_top_from_gpr, exec_move_top_from_gpr, T::simd_ins_gpr, kFp},
    OpRow{kFixMask, fix_value(3, 0), "FCVTZS_fixed_gpr", "fcvtzs", dec_to_gpr<i32, i64, Rounding::zero, true>, exec_to_gpr<F64, i64, Rounding::zero>, T::fp_to_gpr, kFp},
    OpRow{kFixMask, fix_value(3, 1), "FCVTZU_fixed_gpr", "fcvtzu", dec_to_gpr<u32, u64, Rounding::zero, true>, exec_to_gpr<F64, u64, Rounding::zero>, T::fp_to_gpr, kFp},
    OpRow{kFixMask, fix_value(0, 2), "SCVTF_fixed_gpr", "scvtf", dec_from_gpr<i32, i64, true>, exec_from_gpr<F64, i64>, T::gpr_to_fp, kFp},
    OpRow{kFixMask, fix_value(0, 3), "UCVTF_fixed_gpr", "ucvtf", dec_from_gpr<u32, u64, true>, exec_from_gpr<F64, u64>, T::gpr_to_fp, kFp},
};
// clang-format on
static_assert(table_sound(kRows, region::fp_simd));

} // namespace

std::span<const OpRow> fp_convert_rows() { return kRows; }

} // namespace rkperf::a64

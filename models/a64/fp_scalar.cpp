// SPDX-License-Identifier: Apache-2.0
// Scalar floating point: arithmetic, fused multiply-add, comparison, selection, rounding, immediates. Arm ARM C4.1.96.
#include "models/a64/fp_binary.h"
#include "models/a64/fp_decode.h"
#include "models/a64/fp_fma.h"
#include "models/a64/fp_ops.h"
#include "models/a64/fp_tables.h"

#include <array>

namespace rkperf::a64 {
namespace {

template <class F>
using BitsOf = typename F::Bits;

// ---- one operand

template <class F, class Op>
void exec_unary(CpuState& s, const Insn& i) {
    using Bits = BitsOf<F>;
    const Bits a = lane<Bits>(s.v[i.rn], 0);
    if constexpr (std::is_same_v<Op, op::Sqrt> && kHasHost<F>) {
        if (host_mode(s)) {
            const Bits r = std::bit_cast<Bits>(std::sqrt(std::bit_cast<typename F::Host>(a)));
            if (is_well_normal<F>(r)) return set_scalar(s.v[i.rd], r);
        }
    }
    FpEnv env{s.fpcr};
    set_scalar(s.v[i.rd], static_cast<Bits>(Op::template soft<F>(a, env)));
    s.fpsr |= env.flags;
}

template <class To, class From>
void exec_convert(CpuState& s, const Insn& i) {
    using Bits = BitsOf<To>;
    const BitsOf<From> a = lane<BitsOf<From>>(s.v[i.rn], 0);
    if constexpr (std::is_same_v<From, F32> && std::is_same_v<To, F64>) {
        if (is_well_normal<F32>(a)) { // always exact
            const double r = std::bit_cast<float>(a);
            return set_scalar(s.v[i.rd], std::bit_cast<Bits>(r));
        }
    } else if constexpr (std::is_same_v<From, F64> && std::is_same_v<To, F32>) {
        if (host_mode(s)) {
            const auto r = std::bit_cast<Bits>(static_cast<float>(std::bit_cast<double>(a)));
            if (is_well_normal<F32>(r)) return set_scalar(s.v[i.rd], r);
        }
    }
    FpEnv env{s.fpcr};
    const Bits r = soft::convert<To, From>(a, env.rounding(), env);
    set_scalar(s.v[i.rd], r);
    s.fpsr |= env.flags;
}

// ---- comparison and selection

template <class F, bool signal_all, bool with_zero>
inline std::uint32_t compare(CpuState& s, const Insn& i) {
    using Bits = BitsOf<F>;
    const Bits a = lane<Bits>(s.v[i.rn], 0), b = with_zero ? Bits{0} : lane<Bits>(s.v[i.rm], 0);
    if constexpr (kHasHost<F>) {
        const auto x = std::bit_cast<typename F::Host>(a), y = std::bit_cast<typename F::Host>(b);
        if (__builtin_expect(!(s.fpcr & fpcr::FZ) && !F::is_nan(a) && !F::is_nan(b), 1))
            return x == y ? nzcv::Z | nzcv::C : x < y ? nzcv::N : nzcv::C;
    }
    FpEnv env{s.fpcr};
    const std::uint32_t flags = soft::compare<F>(a, b, signal_all, env);
    s.fpsr |= env.flags;
    return flags;
}

template <class F, bool signal_all, bool with_zero>
void exec_compare(CpuState& s, const Insn& i) {
    s.nzcv = compare<F, signal_all, with_zero>(s, i);
}

/// imm: mask of the condition; c: NZCV if it does not hold.
template <class F, bool signal_all>
void exec_ccmp(CpuState& s, const Insn& i) {
    if (condition_holds(static_cast<std::uint16_t>(i.imm), s.nzcv))
        s.nzcv = compare<F, signal_all, false>(s, i);
    else
        s.nzcv = std::uint32_t{i.c} << 28;
}

template <class F>
void exec_csel(CpuState& s, const Insn& i) {
    const bool first = condition_holds(static_cast<std::uint16_t>(i.imm), s.nzcv);
    set_scalar(s.v[i.rd], lane<BitsOf<F>>(s.v[first ? i.rn : i.rm], 0));
}

void exec_mov_imm(CpuState& s, const Insn& i) { set_scalar(s.v[i.rd], static_cast<std::uint64_t>(i.imm)); }

// ---- decoding

/// Chooses the body for the format: half, single, double by element size.
bool choose(std::uint32_t raw, Insn& out, Exec half, Exec single, Exec dbl) {
    const unsigned size = fp_type_size(raw);
    if (size == 0) return false;
    set_shape(out, size, false);
    out.fn = size == 1 ? half : size == 2 ? single : dbl;
    return true;
}

TimingClass by_size(unsigned size, TimingClass half, TimingClass single, TimingClass dbl) {
    return size == 1 ? half : size == 2 ? single : dbl;
}

template <class Op>
bool dec_unary(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    if (!choose(raw, out, exec_unary<F16, Op>, exec_unary<F32, Op>, exec_unary<F64, Op>)) return false;
    if constexpr (std::is_same_v<Op, op::Sqrt>)
        out.timing = by_size(out.a, TimingClass::fp_sqrt_h, TimingClass::fp_sqrt_s, TimingClass::fp_sqrt_d);
    return true;
}

template <class Op>
bool dec_binary(std::uint32_t raw, Insn& out) {
    set_v_binary(raw, out);
    if (!choose(raw, out, exec_binary<F16, Op>, exec_binary<F32, Op>, exec_binary<F64, Op>)) return false;
    if constexpr (std::is_same_v<Op, op::Div>)
        out.timing = by_size(out.a, TimingClass::fp_div_h, TimingClass::fp_div_s, TimingClass::fp_div_d);
    return true;
}

template <class To>
bool dec_convert(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    const unsigned from = fp_type_size(raw);
    if (from == 0 || from == To::size_log2) return false;
    set_shape(out, from, false);
    if constexpr (!std::is_same_v<To, F16>)
        if (from == 1) out.fn = exec_convert<To, F16>;
    if constexpr (!std::is_same_v<To, F32>)
        if (from == 2) out.fn = exec_convert<To, F32>;
    if constexpr (!std::is_same_v<To, F64>)
        if (from == 3) out.fn = exec_convert<To, F64>;
    return true;
}

template <bool negate_addend, bool negate_product>
bool dec_fma(std::uint32_t raw, Insn& out) {
    set_v_binary(raw, out);
    out.ra = small(ra_of(raw));
    out.src[3] = v_dep(out.ra);
    if (host_has_fma())
        return choose(raw, out, exec_fma<F16, negate_addend, negate_product>,
                      exec_fma_hw<F32, negate_addend, negate_product>, exec_fma_hw<F64, negate_addend, negate_product>);
    return choose(raw, out, exec_fma<F16, negate_addend, negate_product>, exec_fma<F32, negate_addend, negate_product>,
                  exec_fma<F64, negate_addend, negate_product>);
}

template <bool signal_all, bool with_zero>
bool dec_compare(std::uint32_t raw, Insn& out) {
    out.rn = small(rn_of(raw));
    out.src[0] = v_dep(out.rn);
    if (!with_zero) {
        out.rm = small(rm_of(raw));
        out.src[1] = v_dep(out.rm);
    }
    out.dst[0] = reg::flags;
    return choose(raw, out, exec_compare<F16, signal_all, with_zero>, exec_compare<F32, signal_all, with_zero>,
                  exec_compare<F64, signal_all, with_zero>);
}

template <bool signal_all>
bool dec_ccmp(std::uint32_t raw, Insn& out) {
    dec_compare<signal_all, false>(raw, out);
    out.src[2] = reg::flags;
    out.imm = condition_mask(field(raw, 12, 4));
    out.c = small(field(raw, 0, 4));
    return choose(raw, out, exec_ccmp<F16, signal_all>, exec_ccmp<F32, signal_all>, exec_ccmp<F64, signal_all>);
}

bool dec_csel(std::uint32_t raw, Insn& out) {
    set_v_binary(raw, out);
    out.src[2] = reg::flags;
    out.imm = condition_mask(field(raw, 12, 4));
    return choose(raw, out, exec_csel<F16>, exec_csel<F32>, exec_csel<F64>);
}

bool dec_mov_imm(std::uint32_t raw, Insn& out) {
    out.rd = small(rd_of(raw));
    out.dst[0] = v_dep(out.rd);
    if (!choose(raw, out, exec_mov_imm, exec_mov_imm, exec_mov_imm)) return false;
    const unsigned imm8 = field(raw, 13, 8);
    out.imm = out.a == 1   ? soft::expand_imm<F16>(imm8)
              : out.a == 2 ? soft::expand_imm<F32>(imm8)
                           : static_cast<std::int64_t>(soft::expand_imm<F64>(imm8));
    return true;
}

constexpr InsnKind kFp = InsnKind::fp;
using T = TimingClass;

template <class Op>
constexpr OpRow unary(unsigned opcode, const char* name, const char* mnemonic, T timing) {
    return {0xff3ffc00, 0x1e204000 | opcode << 15, name, mnemonic, dec_unary<Op>, exec_unary<F64, Op>, timing, kFp};
}
template <class Op>
constexpr OpRow binary(unsigned opcode, const char* name, const char* mnemonic, T timing) {
    return {0xff20fc00, 0x1e200800 | opcode << 12, name, mnemonic, dec_binary<Op>, exec_binary<F64, Op>, timing, kFp};
}
template <class To, class From>
constexpr OpRow convert(unsigned opcode, const char* name) {
    return {0xff3ffc00,      0x1e204000 | opcode << 15, name,      "fcvt",
            dec_convert<To>, exec_convert<To, From>,    T::fp_cvt, kFp};
}
template <bool negate_addend, bool negate_product>
constexpr OpRow fused(std::uint32_t value, const char* name, const char* mnemonic) {
    return {0xff208000,
            value,
            name,
            mnemonic,
            dec_fma<negate_addend, negate_product>,
            exec_fma_slow<F64, negate_addend, negate_product>,
            T::fp_madd,
            kFp};
}
template <bool signal_all, bool with_zero>
constexpr OpRow comparison(const char* name, const char* mnemonic) {
    return {0xff20fc1f,
            0x1e202000u | signal_all << 4 | with_zero << 3,
            name,
            mnemonic,
            dec_compare<signal_all, with_zero>,
            exec_compare<F64, signal_all, with_zero>,
            T::fp_cmp,
            kFp};
}

// clang-format off
constexpr std::array kRows = {
    unary<op::Move>(0, "FMOV_scalar", "fmov", T::fp_mov),
    unary<op::Abs>(1, "FABS_scalar", "fabs", T::fp_minmax),
    unary<op::Neg>(2, "FNEG_scalar", "fneg", T::fp_minmax),
    unary<op::Sqrt>(3, "FSQRT_scalar", "fsqrt", T::fp_sqrt_d),
    unary<op::RoundInt<Rounding::tie_even>>(8, "FRINTN_scalar", "frintn", T::fp_round),
    unary<op::RoundInt<Rounding::plus>>(9, "FRINTP_scalar", "frintp", T::fp_round),
    unary<op::RoundInt<Rounding::minus>>(10, "FRINTM_scalar", "frintm", T::fp_round),
    unary<op::RoundInt<Rounding::zero>>(11, "FRINTZ_scalar", "frintz", T::fp_round),
    unary<op::RoundInt<Rounding::tie_away>>(12, "FRINTA_scalar", "frinta", T::fp_round),
    unary<op::RoundIntCurrent<true>>(14, "FRINTX_scalar", "frintx", T::fp_round),
    unary<op::RoundIntCurrent<false>>(15, "FRINTI_scalar", "frinti", T::fp_round),
    convert<F32, F64>(4, "FCVT_to_single"),
    convert<F64, F32>(5, "FCVT_to_double"),
    convert<F16, F64>(7, "FCVT_to_half"),
    binary<op::Mul>(0, "FMUL_scalar", "fmul", T::fp_mul),
    binary<op::Div>(1, "FDIV_scalar", "fdiv", T::fp_div_d),
    binary<op::Add>(2, "FADD_scalar", "fadd", T::fp_arith),
    binary<op::Sub>(3, "FSUB_scalar", "fsub", T::fp_arith),
    binary<op::Max>(4, "FMAX_scalar", "fmax", T::fp_minmax),
    binary<op::Min>(5, "FMIN_scalar", "fmin", T::fp_minmax),
    binary<op::MaxNum>(6, "FMAXNM_scalar", "fmaxnm", T::fp_minmax),
    binary<op::MinNum>(7, "FMINNM_scalar", "fminnm", T::fp_minmax),
    binary<op::NegMul>(8, "FNMUL_scalar", "fnmul", T::fp_mul),
    fused<false, false>(0x1f000000, "FMADD", "fmadd"),
    fused<false, true>(0x1f008000, "FMSUB", "fmsub"),
    fused<true, true>(0x1f200000, "FNMADD", "fnmadd"),
    fused<true, false>(0x1f208000, "FNMSUB", "fnmsub"),
    comparison<false, false>("FCMP", "fcmp"),
    comparison<false, true>("FCMP_zero", "fcmp"),
    comparison<true, false>("FCMPE", "fcmpe"),
    comparison<true, true>("FCMPE_zero", "fcmpe"),
    OpRow{0xff200c10, 0x1e200400, "FCCMP", "fccmp", dec_ccmp<false>, exec_ccmp<F64, false>, T::fp_cmp, kFp},
    OpRow{0xff200c10, 0x1e200410, "FCCMPE", "fccmpe", dec_ccmp<true>, exec_ccmp<F64, true>, T::fp_cmp, kFp},
    OpRow{0xff200c00, 0x1e200c00, "FCSEL", "fcsel", dec_csel, exec_csel<F64>, T::fp_csel, kFp},
    OpRow{0xff201fe0, 0x1e201000, "FMOV_scalar_imm", "fmov", dec_mov_imm, exec_mov_imm, T::fp_imm, kFp},
};
// clang-format on
static_assert(table_sound(kRows, region::fp_simd));

} // namespace

std::span<const OpRow> fp_arith_rows() { return kRows; }

} // namespace rkperf::a64

// SPDX-License-Identifier: Apache-2.0
// Floating-point arithmetic in integers, bit exact to the Arm ARM's shared/functions/float pseudocode: NaN propagation,
// flushing, underflow before rounding, and the FPSR bits, which each function adds to env.flags. Instantiated for F16,
// F32 and F64. This is the reference path; bodies take the host's arithmetic where that provably gives the same.
#pragma once

#include "models/a64/fp_format.h"

namespace rkperf::a64::soft {

template <class F>
typename F::Bits add(typename F::Bits a, typename F::Bits b, FpEnv& env);
template <class F>
typename F::Bits sub(typename F::Bits a, typename F::Bits b, FpEnv& env);
template <class F>
typename F::Bits mul(typename F::Bits a, typename F::Bits b, FpEnv& env);
/// FMULX: infinity times zero is 2.
template <class F>
typename F::Bits mulx(typename F::Bits a, typename F::Bits b, FpEnv& env);
template <class F>
typename F::Bits div(typename F::Bits a, typename F::Bits b, FpEnv& env);
template <class F>
typename F::Bits sqrt(typename F::Bits a, FpEnv& env);
/// addend + a * b with one rounding.
template <class F>
typename F::Bits fma(typename F::Bits addend, typename F::Bits a, typename F::Bits b, FpEnv& env);

template <class F>
typename F::Bits max(typename F::Bits a, typename F::Bits b, FpEnv& env);
template <class F>
typename F::Bits min(typename F::Bits a, typename F::Bits b, FpEnv& env);
/// FMAXNM, FMINNM: a single quiet NaN counts as the other operand.
template <class F>
typename F::Bits max_num(typename F::Bits a, typename F::Bits b, FpEnv& env);
template <class F>
typename F::Bits min_num(typename F::Bits a, typename F::Bits b, FpEnv& env);

/// FCMP, FCMPE (`signal_all`): the resulting PSTATE.NZCV in bits 31:28.
template <class F>
std::uint32_t compare(typename F::Bits a, typename F::Bits b, bool signal_all, FpEnv& env);
template <class F>
bool equal(typename F::Bits a, typename F::Bits b, FpEnv& env);
template <class F>
bool greater_equal(typename F::Bits a, typename F::Bits b, FpEnv& env);
template <class F>
bool greater(typename F::Bits a, typename F::Bits b, FpEnv& env);

/// FRINT*: `exact` makes an inexact result set IXC.
template <class F>
typename F::Bits round_int(typename F::Bits a, Rounding rounding, bool exact, FpEnv& env);
/// FCVT* to a `width`-bit integer with `fbits` fraction bits; the result is zero extended from `width` bits.
template <class F>
std::uint64_t to_fixed(typename F::Bits a, unsigned fbits, unsigned width, bool is_unsigned, Rounding rounding,
                       FpEnv& env);
/// SCVTF, UCVTF of (-1)^sign * magnitude / 2^fbits, in FPCR's rounding.
template <class F>
typename F::Bits from_fixed(bool sign, std::uint64_t magnitude, unsigned fbits, FpEnv& env);
/// FCVT between formats, FCVTL, FCVTN, and with Rounding::odd FCVTXN.
template <class To, class From>
typename To::Bits convert(typename From::Bits a, Rounding rounding, FpEnv& env);

template <class F>
typename F::Bits recip_estimate(typename F::Bits a, FpEnv& env); ///< FRECPE
template <class F>
typename F::Bits recip_sqrt_estimate(typename F::Bits a, FpEnv& env); ///< FRSQRTE
template <class F>
typename F::Bits recip_step(typename F::Bits a, typename F::Bits b, FpEnv& env); ///< FRECPS
template <class F>
typename F::Bits recip_sqrt_step(typename F::Bits a, typename F::Bits b, FpEnv& env); ///< FRSQRTS
template <class F>
typename F::Bits recip_exponent(typename F::Bits a, FpEnv& env); ///< FRECPX

std::uint32_t unsigned_recip_estimate(std::uint32_t a);      ///< URECPE
std::uint32_t unsigned_recip_sqrt_estimate(std::uint32_t a); ///< URSQRTE

/// VFPExpandImm: the 8-bit immediate of FMOV in format F.
template <class F>
constexpr typename F::Bits expand_imm(unsigned imm8) {
    // Sign, then an exponent made of NOT(b6), copies of b6 and b5:4, then four fraction bits.
    const std::uint64_t b6 = imm8 >> 6 & 1;
    const std::uint64_t copies = b6 ? (std::uint64_t{1} << (F::exp_bits - 3)) - 1 : 0;
    const std::uint64_t exp = (b6 ^ 1) << (F::exp_bits - 1) | copies << 2 | (imm8 >> 4 & 3);
    return static_cast<typename F::Bits>(std::uint64_t{imm8 >> 7 & 1} << (F::bits - 1) | exp << F::frac_bits |
                                         std::uint64_t{imm8 & 15} << (F::frac_bits - 4));
}

} // namespace rkperf::a64::soft

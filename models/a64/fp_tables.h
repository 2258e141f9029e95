// SPDX-License-Identifier: Apache-2.0
// The parts of fp_rows() and simd_rows(), one per file, and what is needed to join them.
#pragma once

#include "models/a64/tables.h"

#include <initializer_list>
#include <span>
#include <vector>

namespace rkperf::a64 {

std::span<const OpRow> fp_arith_rows();   ///< scalar arithmetic
std::span<const OpRow> fp_convert_rows(); ///< between FP and general registers
std::span<const OpRow> simd_same_rows();  ///< three same, integer
std::span<const OpRow> simd_same_scalar_rows();
std::span<const OpRow> simd_misc_rows(); ///< two-register miscellaneous and across lanes, integer
std::span<const OpRow> simd_misc_scalar_rows();
std::span<const OpRow> simd_long_rows();  ///< three different
std::span<const OpRow> simd_copy_rows();  ///< copies, permutations, table look-up, modified immediates
std::span<const OpRow> simd_shift_rows(); ///< shift by immediate, same size
std::span<const OpRow> simd_shift_scalar_rows();
std::span<const OpRow> simd_shift_long_rows(); ///< shift by immediate, narrowing and widening
std::span<const OpRow> simd_element_rows();    ///< by element, integer
std::span<const OpRow> simd_fp_rows();         ///< three same, pairwise, across lanes, by element: FP vector
std::span<const OpRow> simd_fp_scalar_rows();
std::span<const OpRow> simd_fp_misc_rows(); ///< two-register miscellaneous and fixed point, FP
std::span<const OpRow> simd_fp_misc_scalar_rows();

/// One table made of several, for the lifetime of the program.
std::vector<OpRow> joined(std::initializer_list<std::span<const OpRow>> parts);

} // namespace rkperf::a64

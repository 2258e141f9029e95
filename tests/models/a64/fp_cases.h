// SPDX-License-Identifier: Apache-2.0
// Differential test of FP, SIMD and crypto rows: what the general cases of diff_harness.h seldom hit.
#pragma once

#include "models/a64/insn.h"

#include <cstdint>
#include <span>

namespace rkperf::a64::test {

/// Runs diff_row() on every row with cases that favour what decides floating-point results: sums and products half-way
/// between two numbers, cancellation, operands of one size, the modes in which bodies use the host's arithmetic
/// (FPCR.RMode nearest, FPSR.IXC set) and those in which they do not.
void diff_fp_rows(std::span<const OpRow> rows);

/// DiffOptions::adjust of diff_fp_rows().
void adjust_fp_case(std::uint32_t& raw, CpuState& state);

} // namespace rkperf::a64::test

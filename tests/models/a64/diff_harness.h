// SPDX-License-Identifier: Apache-2.0
// Differential test of instruction bodies: random encodings of one row, random states, one instruction executed by us
// and by Unicorn (QEMU's TCG semantics, CPU model MAX), everything visible compared. Shared by all tests of this room.
//
//   TEST_CASE("scalar floating point agrees with Unicorn") {
//       for (const OpRow& row : fp_rows()) {
//           INFO(row.name);
//           if (skipped(kMySkips, row)) continue;
//           CHECK(diff_row(row, diff_seed(), diff_cases()) == "");
//       }
//   }
//
// What a case is: X, SP, V, NZCV, FPCR (for rows of kind fp and simd), FPSR and memory hold a mixture of interesting
// and random values; the base register of a memory access is moved so that the access mostly falls in or at the edge of
// a window of mapped memory. Compared afterwards: X0-X30, SP, PC, NZCV, V0-V31, FPSR, memory, and how the instruction
// ended (completed, exception, memory fault). Encodings that row.decode refuses must be undefined in Unicorn as well,
// unless DiffOptions::lax_undefined says otherwise.
// Ready for use (needs libunicorn; built if RK_HAVE_UNICORN is defined).
#pragma once

#include "models/a64/insn.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace rkperf::a64::test {

/// Seed of the whole run: environment variable RKPERF_SEED, else a constant. Printed with every difference.
std::uint64_t diff_seed();
/// Cases per row: environment variable RKPERF_CASES, else 1000.
unsigned diff_cases();

/// A row Unicorn 2.0.1 cannot judge, and why. Such rows have cases written by hand instead.
struct DiffSkip {
    std::string_view row;
    std::string_view reason;
};
bool skipped(std::span<const DiffSkip> skips, const OpRow& row);

struct DiffOptions {
    bool lax_undefined = false; ///< do not compare encodings that row.decode refuses
    bool compare_fpsr = true;
    std::uint32_t fpcr_mask = 0x07c80000; ///< bits of FPCR that vary (AHP, DN, FZ, RMode, FZ16)
    /// Called before a case runs, to change its encoding or state (null: nothing).
    std::function<void(std::uint32_t& raw, CpuState& state)> adjust;
};

/// "" if all cases agree, else a report of the first few that do not: encoding, text, inputs, what differs.
std::string diff_row(const OpRow& row, std::uint64_t seed, unsigned cases, const DiffOptions& options = {});

/// A random encoding of the row, operands biased towards interesting ones (registers 31 and equal registers).
std::uint32_t random_encoding(const OpRow& row, std::uint64_t& rng);

/// splitmix64: next value, state advanced.
std::uint64_t next_random(std::uint64_t& rng);

} // namespace rkperf::a64::test

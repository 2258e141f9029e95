// SPDX-License-Identifier: Apache-2.0
// Every row of the integer half, and of SIMD&FP loads and stores, against Unicorn.
#ifdef RK_HAVE_UNICORN
#include "models/a64/tables.h"
#include "tests/models/a64/diff_harness.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <string>

namespace rkperf::a64 {
namespace {

using test::diff_cases;
using test::diff_row;
using test::diff_seed;

constexpr std::string_view kEl1 = "Unicorn executes at EL1, where it does not trap; system_test.cpp";
constexpr std::string_view kNop = "cache maintenance is a NOP in Unicorn, ours translates; system_test.cpp";
constexpr test::DiffSkip kSkips[] = {
    {"MSR_DAIFSet", kEl1}, {"MSR_DAIFClr", kEl1}, {"DC_CVAC", kNop}, {"DC_CVAU", kNop},
    {"DC_CVAP", kNop},     {"DC_CIVAC", kNop},    {"IC_IVAU", kNop},
};

/// QEMU 5.0, on which Unicorn is based, compares in LD[SU]MAX and LD[SU]MIN of less than 64 bits without extending the
/// operands first (repaired in QEMU 6.1). guest_program_test.cpp runs them against qemu-user.
bool min_max_below_64(const OpRow& row) {
    const std::string_view name = row.name;
    return (name.find("MAX") != name.npos || name.find("MIN") != name.npos) && name.find("_64") == name.npos;
}

void diff_rows(std::span<const OpRow> rows, const test::DiffOptions& options = {}) {
    for (const OpRow& row : rows) {
        if (test::skipped(kSkips, row)) continue;
        CHECK(diff_row(row, diff_seed(), diff_cases(), options) == "");
    }
}

/// Only the registers that live in CpuState; the others belong to CoreHooks. TPIDRRO_EL0 cannot be written at EL0.
void choose_inline_register(std::uint32_t& raw, CpuState& state) {
    constexpr SysReg kRegisters[] = {sysreg::NZCV, sysreg::FPCR, sysreg::FPSR, sysreg::TPIDR_EL0, sysreg::TPIDRRO_EL0};
    constexpr std::uint32_t kFixed = 0xfff00000, kMsr = 0xd5100000, kMrs = 0xd5300000;
    if ((raw & kFixed) != kMsr && (raw & kFixed) != kMrs) return;
    const unsigned count = (raw & kFixed) == kMrs ? 5 : 4;
    raw = (raw & (kFixed | 31u)) | std::uint32_t{kRegisters[(raw >> 5) % count].encoding & 0x7fffu} << 5;
    state.fpcr = static_cast<std::uint32_t>(state.x[0]) & kFpcrMask;
    // FPCR.Stride and Len read as 0 on Cortex-A76; Unicorn's CPU keeps them for AArch32.
    if ((raw & 31) != 31) state.x[raw & 31] &= ~std::uint64_t{0x370000};
}

} // namespace

TEST_CASE("immediate data processing agrees with Unicorn") { diff_rows(dp_imm_rows()); }
TEST_CASE("register data processing agrees with Unicorn") {
    diff_rows(dp_reg_rows());
    diff_rows(dp_misc_rows());
}
TEST_CASE("branches agree with Unicorn") { diff_rows(branch_rows()); }
TEST_CASE("system instructions agree with Unicorn") {
    test::DiffOptions options;
    options.adjust = choose_inline_register;
    diff_rows(system_rows(), options);
}
TEST_CASE("loads and stores of general registers agree with Unicorn") {
    diff_rows(ldst_rows());
    diff_rows(ldst_pair_rows());
}
TEST_CASE("exclusives and ordered accesses agree with Unicorn") { diff_rows(ldst_excl_rows()); }
TEST_CASE("atomics agree with Unicorn") {
    for (const OpRow& row : ldst_atomic_rows()) {
        if (min_max_below_64(row)) continue;
        CHECK(diff_row(row, diff_seed(), diff_cases()) == "");
    }
}
TEST_CASE("loads and stores of vector registers agree with Unicorn") {
    diff_rows(ldst_fp_rows());
    diff_rows(ldst_simd_rows());
}

} // namespace rkperf::a64
#endif

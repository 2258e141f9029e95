// SPDX-License-Identifier: Apache-2.0
// Every row of the integer half, and of SIMD&FP loads and stores, against Unicorn.
#ifdef RK_HAVE_UNICORN
#include "models/a64/tables.h"
#include "tests/models/a64/diff_harness.h"

#include <catch2/catch.hpp>

#include <string>

namespace rkperf::a64 {
namespace {

using test::diff_cases;
using test::diff_row;
using test::diff_seed;

constexpr test::DiffSkip kSkips[] = {
    {"none", "none"},
};

void diff_rows(std::span<const OpRow> rows) {
    for (const OpRow& row : rows) {
        if (test::skipped(kSkips, row)) continue;
        CHECK(diff_row(row, diff_seed(), diff_cases()) == "");
    }
}

} // namespace

TEST_CASE("immediate data processing agrees with Unicorn") { diff_rows(dp_imm_rows()); }
TEST_CASE("register data processing agrees with Unicorn") {
    diff_rows(dp_reg_rows());
    diff_rows(dp_misc_rows());
}
TEST_CASE("branches agree with Unicorn") { diff_rows(branch_rows()); }
TEST_CASE("system instructions agree with Unicorn") { diff_rows(system_rows()); }
TEST_CASE("loads and stores of general registers agree with Unicorn") {
    diff_rows(ldst_rows());
    diff_rows(ldst_pair_rows());
}
TEST_CASE("exclusives and ordered accesses agree with Unicorn") { diff_rows(ldst_excl_rows()); }
TEST_CASE("atomics agree with Unicorn") { diff_rows(ldst_atomic_rows()); }
TEST_CASE("loads and stores of vector registers agree with Unicorn") {
    diff_rows(ldst_fp_rows());
    diff_rows(ldst_simd_rows());
}

} // namespace rkperf::a64
#endif

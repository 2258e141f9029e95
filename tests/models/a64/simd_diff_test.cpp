// SPDX-License-Identifier: Apache-2.0
// Every Advanced SIMD row against Unicorn.
#ifdef RK_HAVE_UNICORN
#include "models/a64/fp_tables.h"
#include "tests/models/a64/fp_cases.h"

#include <catch2/catch.hpp>

namespace rkperf::a64 {

TEST_CASE("SIMD integer arithmetic agrees with Unicorn") {
    test::diff_fp_rows(simd_same_rows());
    test::diff_fp_rows(simd_same_scalar_rows());
    test::diff_fp_rows(simd_misc_rows());
    test::diff_fp_rows(simd_misc_scalar_rows());
}
TEST_CASE("SIMD widening, narrowing and by-element arithmetic agrees with Unicorn") {
    test::diff_fp_rows(simd_long_rows());
    test::diff_fp_rows(simd_element_rows());
}
TEST_CASE("SIMD data movement agrees with Unicorn") { test::diff_fp_rows(simd_copy_rows()); }
TEST_CASE("SIMD shifts by immediate agree with Unicorn") {
    test::diff_fp_rows(simd_shift_rows());
    test::diff_fp_rows(simd_shift_scalar_rows());
    test::diff_fp_rows(simd_shift_long_rows());
}
TEST_CASE("SIMD floating point agrees with Unicorn") {
    test::diff_fp_rows(simd_fp_rows());
    test::diff_fp_rows(simd_fp_scalar_rows());
    test::diff_fp_rows(simd_fp_misc_rows());
    test::diff_fp_rows(simd_fp_misc_scalar_rows());
}

} // namespace rkperf::a64
#endif

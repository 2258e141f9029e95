// SPDX-License-Identifier: Apache-2.0
// Every scalar floating-point row against Unicorn.
#ifdef RK_HAVE_UNICORN
#include "models/a64/tables.h"
#include "tests/models/a64/fp_cases.h"

#include <catch2/catch.hpp>

namespace rkperf::a64 {

TEST_CASE("scalar floating point agrees with Unicorn") { test::diff_fp_rows(fp_rows()); }

} // namespace rkperf::a64
#endif

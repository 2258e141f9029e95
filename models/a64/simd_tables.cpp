// SPDX-License-Identifier: Apache-2.0
#include "models/a64/fp_tables.h"

namespace rkperf::a64 {

std::span<const OpRow> simd_rows() {
    static const std::vector<OpRow> rows = joined({
        simd_same_rows(),
        simd_same_scalar_rows(),
        simd_copy_rows(),
        simd_misc_rows(),
        simd_misc_scalar_rows(),
        simd_long_rows(),
        simd_shift_rows(),
        simd_shift_scalar_rows(),
        simd_shift_long_rows(),
        simd_element_rows(),
        simd_fp_rows(),
        simd_fp_scalar_rows(),
        simd_fp_misc_rows(),
        simd_fp_misc_scalar_rows(),
    });
    return rows;
}

} // namespace rkperf::a64

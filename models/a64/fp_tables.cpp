// SPDX-License-Identifier: Apache-2.0
#include "models/a64/fp_tables.h"

namespace rkperf::a64 {

std::vector<OpRow> joined(std::initializer_list<std::span<const OpRow>> parts) {
    std::vector<OpRow> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

std::span<const OpRow> fp_rows() {
    static const std::vector<OpRow> rows = joined({fp_arith_rows(), fp_convert_rows()});
    return rows;
}

} // namespace rkperf::a64

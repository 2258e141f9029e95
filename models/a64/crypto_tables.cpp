// SPDX-License-Identifier: Apache-2.0
#include "models/a64/crypto_tables.h"

#include "models/a64/fp_tables.h"

namespace rkperf::a64 {

std::span<const OpRow> crypto_rows() {
    static const std::vector<OpRow> rows = joined({crypto_aes_rows(), crypto_sha_rows()});
    return rows;
}

} // namespace rkperf::a64

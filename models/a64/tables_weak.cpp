// SPDX-License-Identifier: Apache-2.0
// Empty tables for the SIMD&FP groups, so that a program without them links. In a static library the real definition
// wins because its object comes first in the archive (sources are sorted by name).
#include "models/a64/tables.h"

namespace rkperf::a64 {

[[gnu::weak]] std::span<const OpRow> fp_rows() { return {}; }
[[gnu::weak]] std::span<const OpRow> simd_rows() { return {}; }
[[gnu::weak]] std::span<const OpRow> crypto_rows() { return {}; }

} // namespace rkperf::a64

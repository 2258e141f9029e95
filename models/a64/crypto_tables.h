// SPDX-License-Identifier: Apache-2.0
// The parts of crypto_rows().
#pragma once

#include "models/a64/insn.h"

#include <span>

namespace rkperf::a64 {

std::span<const OpRow> crypto_aes_rows(); ///< AES and PMULL to 128 bits
std::span<const OpRow> crypto_sha_rows(); ///< SHA-1, SHA-256

} // namespace rkperf::a64

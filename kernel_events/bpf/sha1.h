// SPDX-License-Identifier: Apache-2.0
// SHA-1 (FIPS 180-4), of which program tags are made.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace rkperf::ke {

std::array<std::uint8_t, 20> sha1(std::span<const std::uint8_t> data);

} // namespace rkperf::ke

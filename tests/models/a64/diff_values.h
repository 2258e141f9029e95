// SPDX-License-Identifier: Apache-2.0
// Values for differential tests: the ones at which semantics change, mixed with random ones.
#pragma once

#include "models/a64/state.h"

#include <cstdint>

namespace rkperf::a64::test {

/// A value for a general register.
std::uint64_t interesting_integer(std::uint64_t& rng);
/// A value for a vector register: lanes of one size, integers or floating-point numbers of that size.
Vec interesting_vector(std::uint64_t& rng);

} // namespace rkperf::a64::test

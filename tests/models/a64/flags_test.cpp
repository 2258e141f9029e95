// SPDX-License-Identifier: Apache-2.0
// NZCV of additions and subtractions: what the host's own flags give is what the architecture defines.
#include "models/a64/exec_util.h"

#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace rkperf::a64;

template <class T>
void compare() {
    constexpr T sign = T{1} << (std::numeric_limits<T>::digits - 1);
    std::vector<T> values{0, 1, 2, static_cast<T>(~T{0}), sign, sign - 1, sign + 1};
    std::mt19937_64 random(1);
    for (int i = 0; i < 60; ++i) values.push_back(static_cast<T>(random() >> random() % 64));
    for (const T a : values)
        for (const T b : values) {
            const T sum = a + b, difference = a - b;
            REQUIRE(flags_add<T>(a, b, sum) == defined_flags_add<T>(a, b, sum));
            REQUIRE(flags_sub<T>(a, b, difference) == defined_flags_sub<T>(a, b, difference));
        }
}

TEST_CASE("flags of 32 and 64 bits are those that are defined") {
    compare<std::uint32_t>();
    compare<std::uint64_t>();
}

} // namespace

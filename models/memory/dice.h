// SPDX-License-Identifier: Apache-2.0
// Chance that is the same in each run: a linear congruential generator (Knuth), whose upper bits are good enough for
// replacement policies.
#pragma once

#include <cstdint>

namespace rkperf::mem {

class Dice {
  public:
    /// A number below `n`, which is at most 2^32.
    std::uint64_t below(std::uint64_t n) {
        state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
        return (state_ >> 32) * n >> 32;
    }

  private:
    std::uint64_t state_{};
};

} // namespace rkperf::mem

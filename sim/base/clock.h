// SPDX-License-Identifier: Apache-2.0
// A core's clock: converts between its cycle count and simulated time without accumulating rounding, across changes of
// frequency.
#pragma once

#include "sim/base/types.h"

namespace rkperf {

class Clock {
  public:
    explicit Clock(std::uint64_t hertz) : hertz_(hertz) {}

    std::uint64_t hertz() const { return hertz_; }

    /// Time at which cycle `c` begins (rounded up to a whole picosecond).
    Picoseconds time_of(Cycles c) const {
        const auto d = static_cast<unsigned __int128>(c.v - base_cycle_.v) * kPicosPerSecond;
        return Picoseconds(base_time_.v + static_cast<std::uint64_t>((d + hertz_ - 1) / hertz_));
    }
    /// First cycle that begins at or after `t`. Times before the last change of frequency give that cycle.
    Cycles cycle_at(Picoseconds t) const {
        if (t <= base_time_) return base_cycle_;
        if (t == kNever) return Cycles(~std::uint64_t{0});
        // By time_of's rounded beginnings: who waits until t must find the cycle due at t.
        const auto d = static_cast<unsigned __int128>(t.v - base_time_.v - 1) * hertz_;
        return Cycles(base_cycle_.v + static_cast<std::uint64_t>(d / kPicosPerSecond) + 1);
    }
    /// From cycle `now` on the clock runs at `hertz`.
    void set_hertz(std::uint64_t hertz, Cycles now) {
        base_time_ = time_of(now);
        base_cycle_ = now;
        hertz_ = hertz;
    }
    /// The clock stood still (WFI): cycle `now` begins at `t`.
    void resume_at(Cycles now, Picoseconds t) {
        base_cycle_ = now;
        base_time_ = t;
    }

    static constexpr std::uint64_t kPicosPerSecond = 1'000'000'000'000;

  private:
    std::uint64_t hertz_;
    Cycles base_cycle_{};
    Picoseconds base_time_{};
};

} // namespace rkperf

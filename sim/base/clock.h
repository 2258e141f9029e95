// SPDX-License-Identifier: Apache-2.0
// A core's clock: converts between its cycle count and simulated time without accumulating rounding, across changes of
// frequency.
#pragma once

#include "sim/base/types.h"

#include <numeric>

namespace rkperf {

class Clock {
  public:
    explicit Clock(std::uint64_t hertz) { set(hertz); }

    std::uint64_t hertz() const { return hertz_; }

    /// Time at which cycle `c` begins (rounded up to a whole picosecond).
    Picoseconds time_of(Cycles c) const {
        return Picoseconds(base_time_.v + scale(c.v - base_cycle_.v, picos_, cycles_, cycles_ - 1));
    }
    /// First cycle that begins at or after `t`. Times before the last change of frequency give that cycle.
    Cycles cycle_at(Picoseconds t) const {
        if (t <= base_time_) return base_cycle_;
        if (t == kNever) return Cycles(~std::uint64_t{0});
        // By time_of's rounded beginnings: who waits until t must find the cycle due at t.
        return Cycles(base_cycle_.v + scale(t.v - base_time_.v - 1, cycles_, picos_, 0) + 1);
    }
    /// From cycle `now` on the clock runs at `hertz`.
    void set_hertz(std::uint64_t hertz, Cycles now) {
        base_time_ = time_of(now);
        base_cycle_ = now;
        set(hertz);
    }
    /// The clock stood still (WFI): cycle `now` begins at `t`.
    void resume_at(Cycles now, Picoseconds t) {
        base_cycle_ = now;
        base_time_ = t;
    }

    static constexpr std::uint64_t kPicosPerSecond = 1'000'000'000'000;

  private:
    /// (n * up + more) / down, with the division of 128 bits only where 64 do not hold the product.
    static std::uint64_t scale(std::uint64_t n, std::uint64_t up, std::uint64_t down, std::uint64_t more) {
        std::uint64_t d{};
        if (!__builtin_mul_overflow(n, up, &d) && !__builtin_add_overflow(d, more, &d)) [[likely]]
            return d / down;
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(n) * up + more) / down);
    }
    void set(std::uint64_t hertz) {
        hertz_ = hertz;
        const std::uint64_t common = std::gcd(kPicosPerSecond, hertz);
        picos_ = kPicosPerSecond / common;
        cycles_ = hertz / common;
    }

    std::uint64_t hertz_{};
    std::uint64_t picos_{}, cycles_{}; ///< so many picoseconds are so many cycles, in lowest terms
    Cycles base_cycle_{};
    Picoseconds base_time_{};
};

} // namespace rkperf

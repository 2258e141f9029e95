// SPDX-License-Identifier: Apache-2.0
// Occupancy of a resource that serves one request per interval, when requests arrive out of time order: cores run ahead
// of each other by up to a quantum. Time is cut into slots of one interval; a request takes the first free slot at or
// after its arrival. So a request from the past finds the slots that were free then, and the result does not depend on
// how far ahead others already are. The last kWords * 64 slots are remembered; older arrivals wait for nothing.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace rkperf::mem {

class SlotCalendar {
  public:
    /// `interval` in the caller's unit of time; 0: unlimited.
    explicit SlotCalendar(std::uint64_t interval = 0) { set_interval(interval); }

    void set_interval(std::uint64_t interval) {
        interval_ = interval;
        words_.assign(interval == 0 ? 0 : kWords, Word{});
    }
    std::uint64_t interval() const { return interval_; }

    /// Reserves one slot; returns the time at which service begins, at least `arrival`.
    std::uint64_t reserve(std::uint64_t arrival) {
        if (interval_ == 0) return arrival;
        const std::uint64_t slot = arrival / interval_;
        std::uint64_t index = slot / 64;
        std::uint64_t earlier = (std::uint64_t{1} << (slot % 64)) - 1; // slots of the first word that have passed
        for (;; ++index, earlier = 0) {
            Word& w = words_[index % kWords];
            if (w.index != index) {
                if (w.index != kNone && w.index > index) return arrival;
                w = {index, 0};
            }
            const std::uint64_t taken = w.taken | earlier;
            if (taken == ~std::uint64_t{0}) continue;
            const unsigned bit = static_cast<unsigned>(std::countr_one(taken));
            w.taken |= std::uint64_t{1} << bit;
            const std::uint64_t start = (index * 64 + bit) * interval_;
            return start > arrival ? start : arrival;
        }
    }

  private:
    static constexpr std::uint64_t kNone = ~std::uint64_t{0};
    static constexpr std::uint64_t kWords = 4096;
    struct Word {
        std::uint64_t index{kNone};
        std::uint64_t taken{};
    };
    std::uint64_t interval_{};
    std::vector<Word> words_;
};

} // namespace rkperf::mem

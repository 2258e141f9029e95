// SPDX-License-Identifier: Apache-2.0
// Line fills in flight (MSHRs): bounds how many there are, and lets later requests to the same line wait for the same
// fill. Times are core cycles and may go backwards a little between calls.
#pragma once

#include "models/memory/hierarchy.h"

#include <cstdint>
#include <vector>

namespace rkperf::mem {

class Fills {
  public:
    struct Slot {
        std::uint64_t pline{~0ull};
        std::uint64_t ready{};
        Level level{Level::l1};
    };

    /// At most `count` in flight; 0 means never one (prefetches off).
    explicit Fills(unsigned count) : slots_(count) {}

    /// The slot that is free first. A request at `now` can start at max(now, slot.ready).
    Slot* earliest() {
        Slot* best = nullptr;
        for (Slot& s : slots_) {
            if (!best || s.ready < best->ready) best = &s;
        }
        return best;
    }
    void occupy(Slot& s, std::uint64_t pline, std::uint64_t ready, Level level) {
        s = {pline, ready, level};
        if (ready > latest_) latest_ = ready;
    }
    /// When the last of all fills so far is done.
    std::uint64_t latest() const { return latest_; }
    /// The fill of `pline` that is still in flight at `now`, if any.
    const Slot* find(std::uint64_t pline, std::uint64_t now) const {
        if (now >= latest_) return nullptr;
        for (const Slot& s : slots_) {
            if (s.pline == pline && s.ready > now) return &s;
        }
        return nullptr;
    }

  private:
    std::vector<Slot> slots_;
    std::uint64_t latest_{};
};

} // namespace rkperf::mem

// SPDX-License-Identifier: Apache-2.0
// Line fills in flight (MSHRs): bounds how many there are, and lets later requests to the same line wait for the same
// fill. Times are core cycles and may go backwards a little between calls.
#pragma once

#include "models/memory/hierarchy.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rkperf::mem {

class Fills {
  public:
    struct Slot {
        std::uint64_t ready{}; ///< free from then on
    };
    struct Fill {
        std::uint64_t pline{~0ull};
        std::uint64_t ready{};
        Level level{Level::l1};
    };

    /// At most `count` in flight; 0 means never one (prefetches off).
    explicit Fills(unsigned count) : slots_(count), recent_(count + 8) {}

    /// A slot that is free at `now`, else the one that is free first; null if there are none. The request can start at
    /// max(now, slot->ready).
    Slot* pick(std::uint64_t now) {
        if (slots_.empty()) return nullptr;
        if (++next_ >= slots_.size()) next_ = 0;
        if (slots_[next_].ready <= now) return &slots_[next_];
        Slot* best = &slots_[0];
        for (Slot& s : slots_) {
            if (s.ready < best->ready) best = &s;
        }
        return best;
    }
    void occupy(Slot& s, std::uint64_t pline, std::uint64_t ready, Level level) {
        s.ready = ready;
        // A slot may be promised to the next request while its fill is still in flight, so fills are kept apart.
        if (++last_ >= recent_.size()) last_ = 0;
        recent_[last_] = {pline, ready, level};
        if (ready > latest_) latest_ = ready;
    }
    /// When the last of all fills so far is done.
    std::uint64_t latest() const { return latest_; }
    /// The fill of `pline` that is still in flight at `now`, if any.
    const Fill* find(std::uint64_t pline, std::uint64_t now) const {
        if (now >= latest_) return nullptr;
        for (const Fill& f : recent_) {
            if (f.pline == pline && f.ready > now) return &f;
        }
        return nullptr;
    }

  private:
    std::vector<Slot> slots_;
    std::vector<Fill> recent_;
    std::uint64_t latest_{};
    std::size_t next_{}, last_{};
};

} // namespace rkperf::mem

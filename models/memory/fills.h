// SPDX-License-Identifier: Apache-2.0
// Line fills in flight (MSHRs): bounds how many there are, and lets later requests to the same line wait for the same
// fill. Times are core cycles and may go backwards a little between calls.
#pragma once

#include "models/memory/hierarchy.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
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
    explicit Fills(unsigned count) : slots_(count), keys_((count + 3) / 4 * 4, ~0ull), recent_(count + 8) {
        if (count > kMaxSlots) throw std::invalid_argument("Fills: too many in flight");
        for (std::size_t i = 0; i < count; ++i) keys_[i] = i;
    }

    /// A slot that is free at `now`, else the one that is free first; null if there are none. The request can start at
    /// max(now, slot->ready).
    Slot* pick(std::uint64_t now) {
        if (slots_.empty()) return nullptr;
        if (++next_ >= slots_.size()) next_ = 0;
        if (slots_[next_].ready <= now) return &slots_[next_];
        // The least key tells which slot; no branch depends on it.
        std::uint64_t a = ~0ull, b = ~0ull, c = ~0ull, d = ~0ull;
        for (const std::uint64_t *k = keys_.data(), *end = k + keys_.size(); k != end; k += 4) {
            a = std::min(a, k[0]);
            b = std::min(b, k[1]);
            c = std::min(c, k[2]);
            d = std::min(d, k[3]);
        }
        return &slots_[std::min(std::min(a, b), std::min(c, d)) & (kMaxSlots - 1)];
    }
    /// The slot stays taken `release` longer than the fill takes.
    void occupy(Slot& s, std::uint64_t pline, std::uint64_t ready, Level level, unsigned release = 0) {
        keys_[static_cast<std::size_t>(&s - slots_.data())] =
            (ready + release) * kMaxSlots + static_cast<std::size_t>(&s - slots_.data());
        s.ready = ready + release;
        // A slot may be promised to the next request while its fill is still in flight, so fills are kept apart.
        if (++last_ >= recent_.size()) last_ = 0;
        if (recent_[last_].pline != ~0ull) --places_[place(recent_[last_].pline)].fills;
        recent_[last_] = {pline, ready, level};
        places_[place(pline)] = {static_cast<std::uint16_t>(places_[place(pline)].fills + 1),
                                 static_cast<std::uint16_t>(last_)};
        if (ready > latest_) latest_ = ready;
    }
    /// When the last of all fills so far is done.
    std::uint64_t latest() const { return latest_; }
    /// The fill of `pline` that is still in flight at `now`, if any.
    const Fill* find(std::uint64_t pline, std::uint64_t now) const {
        if (now >= latest_) return nullptr;
        const Place& p = places_[place(pline)];
        if (p.fills == 0) return nullptr;
        if (p.fills == 1) {
            const Fill& f = recent_[p.last];
            return f.pline == pline && f.ready > now ? &f : nullptr;
        }
        for (const Fill& f : recent_) {
            if (f.pline == pline && f.ready > now) return &f;
        }
        return nullptr;
    }

  private:
    /// The recent fills whose lines share a hash: their number, and the last of them.
    struct Place {
        std::uint16_t fills{}, last{};
    };
    static std::size_t place(std::uint64_t pline) { return pline * 0x9E37'79B9'7F4A'7C15ull >> 56; }

    static constexpr std::uint64_t kMaxSlots = 256;
    std::vector<Slot> slots_;
    std::vector<std::uint64_t> keys_; ///< ready * kMaxSlots + place of each, then some that are never the least
    std::vector<Fill> recent_;        ///< overwritten in turn, the oldest first
    std::array<Place, 256> places_{};
    std::uint64_t latest_{};
    std::size_t next_{}, last_{};
};

} // namespace rkperf::mem

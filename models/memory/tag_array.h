// SPDX-License-Identifier: Apache-2.0
// Tags of a set-associative cache with true LRU. Recency is kept as stamps of a 32-bit clock; the oldest line of a set
// is the one with the greatest age, a difference modulo 2^32, so that the clock may wrap.
#pragma once

#include "models/memory/hierarchy.h"

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace rkperf::mem {

class TagArray {
  public:
    using State = CacheLine::State;

    explicit TagArray(const CacheGeometry& g) : ways_(g.ways) {
        if (g.line != kLineSize || g.ways == 0 || g.bytes % (g.ways * g.line) != 0) {
            throw std::invalid_argument("cache geometry: 64-byte lines, whole sets");
        }
        const unsigned sets = g.bytes / (g.ways * g.line);
        if (!std::has_single_bit(sets)) throw std::invalid_argument("cache geometry: sets must be a power of two");
        mask_ = sets - 1;
        lines_.resize(static_cast<std::size_t>(sets) * ways_);
    }

    CacheLine* find(std::uint64_t pline) {
        CacheLine* const set = first(pline);
        for (CacheLine* l = set; l != set + ways_; ++l) {
            if (l->pline == pline) return l;
        }
        return nullptr;
    }
    const CacheLine* find(std::uint64_t pline) const { return const_cast<TagArray*>(this)->find(pline); }

    /// The line to be replaced by `pline`: an invalid one, else the oldest of the set.
    CacheLine& victim(std::uint64_t pline, std::uint32_t clock) {
        CacheLine* const set = first(pline);
        CacheLine* best = set;
        std::uint32_t age = 0;
        for (CacheLine* l = set; l != set + ways_; ++l) {
            if (l->state == State::invalid) return *l;
            const std::uint32_t a = clock - l->stamp;
            if (a > age) {
                age = a;
                best = l;
            }
        }
        return *best;
    }

    static void drop(CacheLine& l) { l = CacheLine{}; }

    unsigned sets() const { return mask_ + 1; }
    unsigned ways() const { return ways_; }
    std::vector<CacheLine>& lines() { return lines_; }
    const std::vector<CacheLine>& lines() const { return lines_; }

  private:
    CacheLine* first(std::uint64_t pline) { return &lines_[(pline & mask_) * ways_]; }

    unsigned ways_;
    unsigned mask_{};
    std::vector<CacheLine> lines_;
};

} // namespace rkperf::mem

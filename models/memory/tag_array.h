// SPDX-License-Identifier: Apache-2.0
// Tags of a set-associative cache, replaced by true LRU or at random; or its owner chooses itself, as the DSU does, and keeps
// something else in the stamps. Recency is kept as stamps of a 32-bit clock; the oldest line of a set is the one with the
// greatest age, a difference modulo 2^32, so that the clock may wrap. A short form of the tags is kept beside the lines: a look-up reads one or two lines of the host's cache.
#pragma once

#include "models/memory/dice.h"
#include "models/memory/hierarchy.h"
#include "models/memory/page_colours.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <vector>

namespace rkperf::mem {

class TagArray {
  public:
    using State = CacheLine::State;
    static constexpr unsigned kMaxWays = 60;

    explicit TagArray(const CacheGeometry& g)
        : ways_(g.ways), stride_((g.ways + 3) / 4 * 4), replacement_(g.replacement) {
        if (g.line != kLineSize || g.ways == 0 || g.ways > kMaxWays || g.bytes % (g.ways * g.line) != 0) {
            throw std::invalid_argument("cache geometry: 64-byte lines, whole sets");
        }
        const unsigned sets = g.bytes / (g.ways * g.line);
        if (!std::has_single_bit(sets)) throw std::invalid_argument("cache geometry: sets must be a power of two");
        mask_ = sets - 1;
        count_ = std::size_t{sets} * stride_;
        lines_.reset(new (kHostLine) CacheLine[count_]);
        tags_.reset(new (kHostLine) std::uint32_t[count_]);
        for (std::size_t i = 0; i < count_; ++i) tags_[i] = kNoTag;
    }

    /// Sets are chosen by virtual addresses: as many bits of the page as a way has pages come from there.
    void index_by(const PageColours& colours) { colours_ = &colours; }

    CacheLine* find(std::uint64_t pline) {
        const std::size_t set = first(pline);
        const std::uint32_t key = short_tag(pline);
        // No branch depends on the way.
        std::uint64_t equal = 0;
        for (unsigned w = 0; w < stride_; w += 4) {
            const std::uint32_t* t = &tags_[set + w];
            equal |= std::uint64_t{unsigned{t[0] == key} | unsigned{t[1] == key} << 1 | unsigned{t[2] == key} << 2 |
                                   unsigned{t[3] == key} << 3}
                     << w;
        }
        for (; equal != 0; equal &= equal - 1) {
            CacheLine& l = lines_[set + static_cast<unsigned>(std::countr_zero(equal))];
            if (__builtin_expect(l.pline == pline, 1)) return &l;
        }
        return nullptr;
    }
    const CacheLine* find(std::uint64_t pline) const { return const_cast<TagArray*>(this)->find(pline); }

    /// The line to be replaced by `pline`: an invalid one, else as the cache replaces them.
    CacheLine& victim(std::uint64_t pline, std::uint32_t clock) {
        CacheLine* const set = &lines_[first(pline)];
        if (replacement_ == Replacement::random) {
            // An invalid line is found by its short tag.
            const std::uint32_t* const tags = &tags_[first(pline)];
            for (unsigned w = 0; w < ways_; ++w)
                if (tags[w] == kNoTag && set[w].state == State::invalid) return set[w];
            return set[dice_.below(ways_)];
        }
        // Ranks by age, then by place; no branch depends on them.
        std::uint64_t best = 0;
        for (unsigned w = 0; w < ways_; ++w) {
            const std::uint64_t age = set[w].state == State::invalid ? std::uint64_t{1} << 32 : clock - set[w].stamp;
            const std::uint64_t rank = age << 8 | (kMaxWays - w);
            best = rank > best ? rank : best;
        }
        return set[kMaxWays - (best & 0xff)];
    }

    /// The places where `pline` may be.
    std::span<CacheLine> set(std::uint64_t pline) { return {&lines_[first(pline)], ways_}; }

    /// Puts a line in the place of `l`, a line of this array.
    void replace(CacheLine& l, const CacheLine& by) {
        tags_[static_cast<std::size_t>(&l - lines_.get())] = short_tag(by.pline);
        l = by;
    }
    void drop(CacheLine& l) { replace(l, CacheLine{}); }

    /// Lets the host fetch what find() or, with `lines`, victim() will read.
    void expect(std::uint64_t pline, bool lines) const {
        const std::size_t set = first(pline);
        __builtin_prefetch(&tags_[set]);
        if (!lines) return;
        for (std::size_t i = set; i != set + stride_; i += 4) __builtin_prefetch(&lines_[i]);
    }

    unsigned sets() const { return mask_ + 1; }
    unsigned ways() const { return ways_; }
    std::span<CacheLine> lines() { return {lines_.get(), count_}; }
    std::span<const CacheLine> lines() const { return {lines_.get(), count_}; }

  private:
    static constexpr std::align_val_t kHostLine{64};
    static constexpr std::uint32_t kNoTag = ~std::uint32_t{0};
    template <class T>
    struct Free {
        void operator()(T* p) const { ::operator delete[](p, kHostLine); }
    };

    static std::uint32_t short_tag(std::uint64_t pline) { return static_cast<std::uint32_t>(pline); }
    std::size_t first(std::uint64_t pline) const {
        const std::uint64_t index = colours_ ? colours_->index(pline) : pline;
        return static_cast<std::size_t>(index & mask_) * stride_;
    }

    unsigned ways_;
    unsigned stride_; ///< lines from one set to the next
    Replacement replacement_;
    unsigned mask_{};
    const PageColours* colours_{};
    Dice dice_;
    std::size_t count_{};
    std::unique_ptr<CacheLine[], Free<CacheLine>> lines_;
    std::unique_ptr<std::uint32_t[], Free<std::uint32_t>> tags_; ///< low bits of the lines' numbers
};

} // namespace rkperf::mem

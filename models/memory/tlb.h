// SPDX-License-Identifier: Apache-2.0
// The TLB structures: fully associative L1, set-associative L2, and the cache of table pointers used by walks. All are
// true LRU by stamps (see tag_array.h for ages).
#pragma once

#include "models/memory/hierarchy.h"
#include "models/memory/page_walk.h"
#include "sim/base/types.h"

#include <array>
#include <cstdint>
#include <vector>

namespace rkperf::mem {

inline constexpr std::uint32_t kAnyAsid = ~std::uint32_t{0};
inline constexpr std::uint64_t kAnyPage = ~std::uint64_t{0};

/// L1 TLB. Entries stay where they are, so that pointers to them remain good while they are valid.
class L1Tlb {
  public:
    explicit L1Tlb(unsigned entries) : entries_(entries), invalid_(entries) { by_age_.reserve(entries); }

    /// The entry for `vpn` in address space `asid` (or a global one); null if there is none.
    TlbEntry* find(std::uint64_t vpn, std::uint32_t asid) {
        const Slot& s = slots_[slot(vpn)];
        TlbEntry& guess = entries_[s.guess];
        if (__builtin_expect(matches(guess, vpn, asid), 1)) return &guess;
        if (s.entries <= (guess.valid && slot(guess.vpn) == slot(vpn))) return nullptr;
        return find_slow(vpn, asid);
    }
    /// The entry to be overwritten: an invalid one, else the least recently used.
    TlbEntry& victim(std::uint32_t clock);
    /// Overwrites an entry of this TLB.
    void set(TlbEntry& e, const TlbEntry& value);
    void drop(TlbEntry& e);
    std::vector<TlbEntry>& entries() { return entries_; }

  private:
    static constexpr unsigned kSlots = 256;
    /// The valid entries whose pages share a slot: their number, and where one of them is.
    struct Slot {
        std::uint16_t guess{}, entries{};
    };
    static unsigned slot(std::uint64_t vpn) { return vpn & (kSlots - 1); }
    static bool matches(const TlbEntry& e, std::uint64_t vpn, std::uint32_t asid) {
        return e.vpn == vpn && e.valid && (e.global || e.asid == asid);
    }
    TlbEntry* find_slow(std::uint64_t vpn, std::uint32_t asid);
    void order_by_age(std::uint32_t clock);

    /// An entry and its stamp at some time.
    struct Seen {
        std::uint32_t age{}, stamp{};
        std::uint16_t entry{};
    };

    std::vector<TlbEntry> entries_;
    unsigned invalid_; ///< how many are
    /// Entries in the order of their age when last looked at, the oldest at the back. Stamps only grow, so the last whose
    /// stamp is still the same is the oldest of all.
    std::vector<Seen> by_age_;
    std::array<Slot, kSlots> slots_{};
};

/// L2 TLB: pages and blocks in one array, looked up size by size (only sizes that are present).
class L2Tlb {
  public:
    L2Tlb(unsigned entries, unsigned ways);

    /// The translation of `vpn`, as a leaf of its own size; null if it is not held.
    const Leaf* find(std::uint64_t vpn, std::uint32_t asid);
    void insert(std::uint64_t vpn, std::uint32_t asid, const Leaf& leaf);
    void invalidate(std::uint32_t asid, std::uint64_t vpn);

  private:
    struct Entry {
        std::uint64_t tag{}; ///< vpn without the bits inside the page or block
        std::uint32_t asid{};
        std::uint32_t stamp{};
        bool valid{};
        Leaf leaf{};
    };
    static std::uint64_t tag(std::uint64_t vpn, unsigned level) { return vpn >> (9 * (desc::kLastLevel - level)); }
    Entry* set(std::uint64_t tag) { return &entries_[(tag & mask_) * ways_]; }

    unsigned ways_;
    std::uint64_t mask_;
    std::uint32_t clock_{};
    std::array<unsigned, desc::kLastLevel + 1> of_level_{}; ///< valid entries by level
    std::vector<Entry> entries_;
};

/// Walk cache: for a prefix of the virtual address, the table of the next level.
class WalkCache {
  public:
    WalkCache(unsigned entries, unsigned ways);

    /// The table of `level` (1..3) that translates `va`; false if it is not held.
    bool find(VirtAddr va, unsigned level, std::uint32_t asid, WalkState& state);
    /// Remembers `state`, reached on a walk for `va`.
    void insert(VirtAddr va, std::uint32_t asid, const WalkState& state);
    void invalidate(std::uint32_t asid, std::uint64_t vpn);

  private:
    struct Entry {
        std::uint64_t prefix{};
        std::uint32_t asid{};
        std::uint32_t stamp{};
        bool valid{};
        WalkState state{};
    };
    static std::uint64_t prefix(VirtAddr va, unsigned level) { return va.v >> desc::shift(level - 1); }
    Entry* set(std::uint64_t prefix) { return &entries_[(prefix & mask_) * ways_]; }

    unsigned ways_;
    std::uint64_t mask_;
    std::uint32_t clock_{};
    std::vector<Entry> entries_;
};

} // namespace rkperf::mem

// SPDX-License-Identifier: Apache-2.0
#include "models/memory/tlb.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace rkperf::mem {

namespace {

std::uint64_t set_mask(unsigned entries, unsigned ways) {
    if (ways == 0 || entries % ways != 0 || !std::has_single_bit(entries / ways)) {
        throw std::invalid_argument("TLB geometry: a power of two of whole sets");
    }
    return entries / ways - 1;
}

/// The entry of a set to be overwritten: an invalid one, else the oldest.
template <class Entry>
Entry& oldest(Entry* set, unsigned ways, std::uint32_t clock) {
    Entry* best = set;
    std::uint32_t age = 0;
    for (Entry* e = set; e != set + ways; ++e) {
        if (!e->valid) return *e;
        if (clock - e->stamp > age) {
            age = clock - e->stamp;
            best = e;
        }
    }
    return *best;
}

} // namespace

TlbEntry* L1Tlb::find_slow(std::uint64_t vpn, std::uint32_t asid) {
    for (TlbEntry& e : entries_) {
        if (matches(e, vpn, asid)) {
            slots_[slot(vpn)].guess = static_cast<std::uint16_t>(&e - entries_.data());
            return &e;
        }
    }
    return nullptr;
}

TlbEntry& L1Tlb::victim(std::uint32_t clock) {
    if (invalid_ != 0)
        return *std::find_if(entries_.begin(), entries_.end(), [](const TlbEntry& e) { return !e.valid; });
    for (;;) {
        while (!by_age_.empty()) {
            const Seen oldest = by_age_.back();
            by_age_.pop_back();
            TlbEntry& e = entries_[oldest.entry];
            if (e.stamp == oldest.stamp) return e;
        }
        order_by_age(clock);
    }
}

void L1Tlb::order_by_age(std::uint32_t clock) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const TlbEntry& e = entries_[i];
        by_age_.push_back({clock - e.stamp, e.stamp, static_cast<std::uint16_t>(i)});
    }
    std::sort(by_age_.begin(), by_age_.end(),
              [](const Seen& a, const Seen& b) { return a.age != b.age ? a.age < b.age : a.entry > b.entry; });
}

void L1Tlb::set(TlbEntry& e, const TlbEntry& value) {
    drop(e);
    e = value;
    --invalid_;
    Slot& s = slots_[slot(e.vpn)];
    s.guess = static_cast<std::uint16_t>(&e - entries_.data());
    ++s.entries;
}

void L1Tlb::drop(TlbEntry& e) {
    if (e.valid) {
        --slots_[slot(e.vpn)].entries;
        ++invalid_;
    }
    e = TlbEntry{};
}

L2Tlb::L2Tlb(unsigned entries, unsigned ways) : ways_(ways), mask_(set_mask(entries, ways)), entries_(entries) {}

const Leaf* L2Tlb::find(std::uint64_t vpn, std::uint32_t asid) {
    for (unsigned level = desc::kLastLevel; level > desc::kFirstLevel; --level) {
        if (of_level_[level] == 0) continue;
        const std::uint64_t t = tag(vpn, level);
        Entry* const s = set(t);
        for (Entry* e = s; e != s + ways_; ++e) {
            if (e->valid && e->tag == t && e->leaf.level == level && (e->leaf.global || e->asid == asid)) {
                e->stamp = ++clock_;
                return &e->leaf;
            }
        }
    }
    return nullptr;
}

void L2Tlb::insert(std::uint64_t vpn, std::uint32_t asid, const Leaf& leaf) {
    const std::uint64_t t = tag(vpn, leaf.level);
    Entry& e = oldest(set(t), ways_, clock_);
    if (e.valid) --of_level_[e.leaf.level];
    e = Entry{.tag = t, .asid = asid, .stamp = ++clock_, .valid = true, .leaf = leaf};
    ++of_level_[leaf.level];
}

void L2Tlb::invalidate(std::uint32_t asid, std::uint64_t vpn) {
    for (Entry& e : entries_) {
        if (!e.valid) continue;
        if (asid != kAnyAsid && !e.leaf.global && e.asid != asid) continue;
        if (asid != kAnyAsid && e.leaf.global && vpn == kAnyPage) continue;
        if (vpn != kAnyPage && e.tag != tag(vpn, e.leaf.level)) continue;
        e.valid = false;
        --of_level_[e.leaf.level];
    }
}

WalkCache::WalkCache(unsigned entries, unsigned ways)
    : ways_(ways), mask_(set_mask(entries, ways)), entries_(entries) {}

bool WalkCache::find(VirtAddr va, unsigned level, std::uint32_t asid, WalkState& state) {
    const std::uint64_t p = prefix(va, level);
    Entry* const s = set(p);
    for (Entry* e = s; e != s + ways_; ++e) {
        if (e->valid && e->prefix == p && e->state.level == level && e->asid == asid) {
            e->stamp = ++clock_;
            state = e->state;
            return true;
        }
    }
    return false;
}

void WalkCache::insert(VirtAddr va, std::uint32_t asid, const WalkState& state) {
    const std::uint64_t p = prefix(va, state.level);
    oldest(set(p), ways_, clock_) = Entry{.prefix = p, .asid = asid, .stamp = ++clock_, .valid = true, .state = state};
}

void WalkCache::invalidate(std::uint32_t asid, std::uint64_t vpn) {
    for (Entry& e : entries_) {
        if (!e.valid || (asid != kAnyAsid && e.asid != asid)) continue;
        if (vpn != kAnyPage && e.prefix != prefix(VirtAddr(vpn << kPageShift), e.state.level)) continue;
        e.valid = false;
    }
}

} // namespace rkperf::mem

// SPDX-License-Identifier: Apache-2.0
#include "models/memory/translation.h"

#include "models/memory/kernel_layout.h"

#include <algorithm>

namespace rkperf::mem {

namespace ev = pmu_event;

namespace {

/// Not an ASID of 16 bits.
constexpr std::uint32_t kKernelAsid = 0x10000;
/// Of its pages, which nobody reads or writes by these entries.
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
constexpr EventNumber kNoEvent = 0;
/// Bits 55:48 of an address without its tag byte: not zero, and TTBR0 translates nothing.
constexpr std::uint64_t kAboveTtbr0 = 0xffull << desc::kVaBits;
constexpr std::uint64_t kTagByte = 0xffull << 56;

} // namespace

struct TranslationUnit::Side {
    bool fetch{}, write{};
    EventNumber access{}, access_dir{}, refill{}, refill_dir{}, l2_dir{}, l2_refill_dir{}, walk{};
};

const TranslationUnit::Side TranslationUnit::kRead{
    .access = ev::L1D_TLB,
    .access_dir = ev::L1D_TLB_RD,
    .refill = ev::L1D_TLB_REFILL,
    .refill_dir = ev::L1D_TLB_REFILL_RD,
    .l2_dir = ev::L2D_TLB_RD,
    .l2_refill_dir = ev::L2D_TLB_REFILL_RD,
    .walk = ev::DTLB_WALK,
};
const TranslationUnit::Side TranslationUnit::kWrite{
    .write = true,
    .access = ev::L1D_TLB,
    .access_dir = ev::L1D_TLB_WR,
    .refill = ev::L1D_TLB_REFILL,
    .refill_dir = ev::L1D_TLB_REFILL_WR,
    .l2_dir = ev::L2D_TLB_WR,
    .l2_refill_dir = ev::L2D_TLB_REFILL_WR,
    .walk = ev::DTLB_WALK,
};
const TranslationUnit::Side TranslationUnit::kFetch{
    .fetch = true,
    .access = ev::L1I_TLB,
    .access_dir = kNoEvent,
    .refill = ev::L1I_TLB_REFILL,
    .refill_dir = kNoEvent,
    .l2_dir = ev::L2D_TLB_RD,
    .l2_refill_dir = ev::L2D_TLB_REFILL_RD,
    .walk = ev::ITLB_WALK,
};

TranslationUnit::TranslationUnit(const CoreMemoryParams& params, const PhysicalMemory& memory, EventTotals& totals,
                                 PrivateCaches& caches)
    : p_(params),
      memory_(memory),
      totals_(totals),
      caches_(caches),
      itlb_(params.itlb_entries),
      dtlb_(params.dtlb_entries),
      l2tlb_(params.l2tlb_entries, params.l2tlb_ways),
      walk_cache_(params.walk_cache_entries, params.walk_cache_ways),
      walkers_(std::max(params.walks_in_flight, 1u)) {}

Translation TranslationUnit::data(VirtAddr va, bool write, bool kernel, std::uint64_t now) {
    if (kernel && va.v >> 63) return this->kernel(va, write, now);
    const Side& side = write ? kWrite : kRead;
    count(side.access);
    count(side.access_dir);
    const std::uint64_t address = va.v & ~kTagByte;
    Translation t{.entry = dtlb_.find(address >> kPageShift, asid_)};
    if (t.entry) {
        t.entry->stamp = ++*clock_;
    } else {
        t = miss(dtlb_, side, VirtAddr(address), now);
        if (!t.entry) return t;
    }
    if ((!kernel && !t.entry->user) || (write && !t.entry->writable)) {
        t.status = desc::fsc::kPermission + t.entry->level;
        t.entry = nullptr;
    }
    return t;
}

Translation TranslationUnit::fetch(VirtAddr va, std::uint64_t now) {
    count(kFetch.access);
    const std::uint64_t address = va.v & ~kTagByte;
    Translation t{.entry = itlb_.find(address >> kPageShift, asid_)};
    if (t.entry) {
        t.entry->stamp = ++fetch_clock_;
    } else {
        t = miss(itlb_, kFetch, VirtAddr(address), now);
        if (!t.entry) return t;
    }
    if (!t.entry->user || !t.entry->exec) {
        t.status = desc::fsc::kPermission + t.entry->level;
        t.entry = nullptr;
    }
    return t;
}

Translation TranslationUnit::miss(L1Tlb& tlb, const Side& side, VirtAddr va, std::uint64_t now) {
    Translation t{.missed = true};
    count(side.refill);
    if (side.refill_dir != kNoEvent) count(side.refill_dir);
    count(ev::L2D_TLB);
    count(side.l2_dir);
    const std::uint64_t vpn = va.v >> kPageShift;
    std::uint64_t ready = now + p_.l2tlb_hit;
    Leaf leaf;
    if (const Leaf* held = l2tlb_.find(vpn, asid_)) {
        leaf = *held;
    } else {
        count(side.walk);
        const bool ok = walk(va, leaf, t.status, ready);
        if (ok) {
            count(ev::L2D_TLB_REFILL);
            count(side.l2_refill_dir);
            l2tlb_.insert(vpn, asid_, leaf);
        }
    }
    t.cycles = static_cast<std::uint32_t>(ready - now);
    if (t.status != 0) return t;

    const std::uint64_t inside = va.v & (desc::span(leaf.level) - 1) & kPageMask;
    const PhysAddr page(leaf.output.v + inside);
    if (!memory_.contains(page, kPageSize)) {
        t.status = desc::fsc::kExternalAbort;
        return t;
    }
    std::uint32_t& clock = side.fetch ? fetch_clock_ : *clock_;
    TlbEntry& e = tlb.victim(clock);
    if (e.valid && listener_)
        side.fetch ? listener_->itlb_entry_lost(e.vpn) : listener_->dtlb_entry_lost(e.vpn, e.fast_lines);
    tlb.set(e, {.vpn = vpn,
                .ppn = page.v >> kPageShift,
                .asid = asid_,
                .valid = true,
                .global = leaf.global,
                .user = leaf.user,
                .writable = leaf.writable,
                .exec = leaf.exec,
                .level = static_cast<std::uint8_t>(leaf.level),
                .stamp = ++clock});
    t.entry = &e;
    return t;
}

Translation TranslationUnit::kernel(VirtAddr va, bool write, std::uint64_t now) {
    const bool fetch = va.v >= kernel_layout::kImageVa;
    const Side& side = fetch ? kFetch : write ? kWrite : kRead;
    const unsigned level = fetch ? desc::kLastLevel - 1 : desc::kLastLevel;
    const std::uint64_t vpn = (va.v & ~(desc::span(level) - 1)) >> kPageShift;
    L1Tlb& tlb = fetch ? itlb_ : dtlb_;
    std::uint32_t& clock = fetch ? fetch_clock_ : *clock_;
    count(side.access);
    if (side.access_dir != kNoEvent) count(side.access_dir);
    Translation t{.entry = tlb.find(vpn, kKernelAsid)};
    if (t.entry) {
        t.entry->stamp = ++clock;
        return t;
    }
    t.missed = true;
    count(side.refill);
    if (side.refill_dir != kNoEvent) count(side.refill_dir);
    count(ev::L2D_TLB);
    count(side.l2_dir);
    std::uint64_t ready = now + p_.l2tlb_hit;
    if (!l2tlb_.find(vpn, kKernelAsid)) {
        count(side.walk);
        ready = kernel_walk(va, level, ready);
        count(ev::L2D_TLB_REFILL);
        count(side.l2_refill_dir);
        l2tlb_.insert(vpn, kKernelAsid, {.level = level, .writable = true, .exec = fetch, .global = true});
    }
    t.cycles = static_cast<std::uint32_t>(ready - now);
    TlbEntry& e = tlb.victim(clock);
    if (e.valid && listener_)
        fetch ? listener_->itlb_entry_lost(e.vpn) : listener_->dtlb_entry_lost(e.vpn, e.fast_lines);
    tlb.set(e, {.vpn = vpn,
                .ppn = kNoPage,
                .asid = kKernelAsid,
                .valid = true,
                .global = true,
                .writable = true,
                .exec = fetch,
                .level = static_cast<std::uint8_t>(level),
                .stamp = ++clock});
    t.entry = &e;
    return t;
}

std::uint64_t TranslationUnit::kernel_walk(VirtAddr va, unsigned leaf_level, std::uint64_t now) {
    const PhysAddr tables(memory_.base().v + kernel_layout::kTables);
    constexpr std::uint64_t kTables =
        kernel_layout::kTableBytes / kPageSize / 2; // of the last level, and as many above
    const auto read = [&](std::uint64_t table, unsigned level) {
        const PhysAddr at(tables.v + table * kPageSize + 8 * desc::index(va, level));
        now = caches_.access(at, Access::walk, now + p_.walk_step, nullptr, 8).ready;
    };
    WalkState state;
    count(ev::L2D_LLWALK_TLB);
    if (!walk_cache_.find(va, leaf_level, kKernelAsid, state)) {
        count(ev::L2D_L2WALK_TLB);
        read(kTables + (va.v >> desc::shift(leaf_level - 1)) % kTables, leaf_level - 1);
        state = WalkState{.table = tables, .level = leaf_level};
        walk_cache_.insert(va, kKernelAsid, state);
        count(ev::L2D_LLWALK_TLB_REFILL);
    }
    read((va.v >> desc::shift(leaf_level)) / 512 % kTables, leaf_level);
    return now;
}

std::uint64_t TranslationUnit::page_behind(std::uint64_t vpn) {
    const VirtAddr va(vpn << kPageShift);
    Leaf leaf;
    if ((va.v & kAboveTtbr0) != 0 || mem::walk(memory_, root_, va, leaf) != 0 || !leaf.user) return ~0ull;
    const std::uint64_t page = (leaf.output.v | (va.v & (desc::span(leaf.level) - 1) & kPageMask)) >> kPageShift;
    return memory_.contains(PhysAddr(page << kPageShift), kPageSize) ? page : ~0ull;
}

WalkState TranslationUnit::first_table(VirtAddr va) {
    WalkState state{.table = root_};
    count(ev::L2D_LLWALK_TLB);
    if (walk_cache_.find(va, 3, asid_, state)) return state;
    count(ev::L2D_L2WALK_TLB);
    if (walk_cache_.find(va, 2, asid_, state)) return state;
    walk_cache_.find(va, 1, asid_, state);
    return state;
}

bool TranslationUnit::walk(VirtAddr va, Leaf& leaf, std::uint8_t& status, std::uint64_t& ready) {
    if ((va.v & kAboveTtbr0) != 0) {
        status = desc::fsc::kTranslation;
        return false;
    }
    std::uint64_t& walker = *std::min_element(walkers_.begin(), walkers_.end());
    ready = std::max(ready, walker);
    WalkState state = first_table(va);
    for (;;) {
        const PhysAddr at = entry_address(state, va);
        ready += p_.walk_step;
        if (memory_.contains(at, 8)) ready = caches_.access(at, Access::walk, ready, nullptr, 8).ready;
        const WalkStep step = walk_step(memory_, va, state, leaf, status);
        if (step == WalkStep::next_table) {
            walk_cache_.insert(va, asid_, state);
            if (state.level == 3) count(ev::L2D_LLWALK_TLB_REFILL);
            if (state.level == 2) count(ev::L2D_L2WALK_TLB_REFILL);
            continue;
        }
        walker = ready;
        return step == WalkStep::leaf;
    }
}

void TranslationUnit::invalidate(std::uint32_t asid, std::uint64_t vpn) {
    const auto sweep = [&](L1Tlb& tlb, auto&& lost) {
        for (TlbEntry& e : tlb.entries()) {
            // A piece of a block goes with the whole block.
            const unsigned inside = 9 * (desc::kLastLevel - e.level);
            if (!e.valid || (vpn != kAnyPage && e.vpn >> inside != vpn >> inside)) continue;
            // TLBI ASIDE1 leaves global entries alone, TLBI VAE1 takes them (Arm ARM D8.13).
            if (asid != kAnyAsid && e.asid != asid && !(e.global && vpn != kAnyPage)) continue;
            if (asid != kAnyAsid && e.global && vpn == kAnyPage) continue;
            const TlbEntry gone = e;
            tlb.drop(e);
            lost(gone);
        }
    };
    sweep(dtlb_, [&](const TlbEntry& gone) {
        if (listener_ && vpn != kAnyPage) listener_->dtlb_entry_lost(gone.vpn, gone.fast_lines);
    });
    sweep(itlb_, [&](const TlbEntry& gone) {
        if (listener_ && vpn != kAnyPage) listener_->itlb_entry_lost(gone.vpn);
    });
    if (listener_ && vpn == kAnyPage) {
        listener_->dtlb_entry_lost(kAnyPage, ~std::uint64_t{0});
        listener_->itlb_entry_lost(kAnyPage);
    }
    l2tlb_.invalidate(asid, vpn);
    walk_cache_.invalidate(asid, vpn);
}

} // namespace rkperf::mem

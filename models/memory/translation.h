// SPDX-License-Identifier: Apache-2.0
// Address translation of one core: L1 TLBs, L2 TLB, walk cache, walker. Times are core cycles. What is counted:
// hierarchy.h; the walk cache events follow the A55's: LLWALK is the lookup for the table of level 3, L2WALK the one for
// the table of level 2 after that missed.
#pragma once

#include "models/memory/hierarchy.h"
#include "models/memory/page_walk.h"
#include "models/memory/private_caches.h"
#include "models/memory/tlb.h"

#include <cstdint>
#include <vector>

namespace rkperf::mem {

class TranslationUnit final : public PageLookup {
  public:
    TranslationUnit(const CoreMemoryParams& params, const PhysicalMemory& memory, EventTotals& totals,
                    PrivateCaches& caches);

    /// With `kernel`, an address of the upper half is the kernel's own: kernel_code in its text, else its data.
    Translation data(VirtAddr va, bool write, bool kernel, std::uint64_t now);
    Translation fetch(VirtAddr va, std::uint64_t now);

    void set_ttbr0(PhysAddr table, std::uint16_t asid) {
        root_ = table;
        asid_ = asid;
    }
    void invalidate(std::uint32_t asid, std::uint64_t vpn);
    std::uint64_t page_behind(std::uint64_t vpn) override;
    void set_listener(FastPathListener* l) { listener_ = l; }
    void set_recency_clock(std::uint32_t* clock) { clock_ = clock; }

  private:
    /// The numbers under which one kind of access is counted.
    struct Side;
    static const Side kRead, kWrite, kFetch;

    Translation miss(L1Tlb& tlb, const Side& side, VirtAddr va, std::uint64_t now);
    /// Walks: fills `leaf`, or returns false and sets `status`. `ready` in: start, out: end.
    bool walk(VirtAddr va, Leaf& leaf, std::uint8_t& status, std::uint64_t& ready);
    /// The kernel's own code and data, whose tables nobody writes: text in blocks of 2 MiB, data in pages (as with
    /// CONFIG_RODATA_FULL), entries global. Translates nothing, only holds, times and counts.
    Translation kernel(VirtAddr va, bool write, std::uint64_t now);
    /// The last steps of a walk for the kernel; returns when it has ended.
    std::uint64_t kernel_walk(VirtAddr va, unsigned leaf_level, std::uint64_t now);
    WalkState first_table(VirtAddr va);
    void count(EventNumber e) { totals_.add(e); }

    const CoreMemoryParams p_;
    const PhysicalMemory& memory_;
    EventTotals& totals_;
    PrivateCaches& caches_;
    FastPathListener* listener_{};
    std::uint32_t* clock_{};      ///< recency of the DTLB
    std::uint32_t fetch_clock_{}; ///< recency of the ITLB
    L1Tlb itlb_, dtlb_;
    L2Tlb l2tlb_;
    WalkCache walk_cache_;
    PhysAddr root_{};
    std::uint32_t asid_{};
    std::vector<std::uint64_t> walkers_; ///< cycle at which each becomes free
};

} // namespace rkperf::mem

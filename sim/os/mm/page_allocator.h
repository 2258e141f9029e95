// SPDX-License-Identifier: Apache-2.0
// Pages of simulated DRAM with reference counts. Deterministic: addresses depend only on the sequence of calls. They
// lie scattered, as those of a kernel that has been up for a while do: physically indexed caches see pages of all colours, some
// oftener than others (M: the RK3588's L2s of 128 and 512 KiB do not hold all of 128 and 512 KiB).
#pragma once

#include "models/memory/physical_memory.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace rkperf::os {

/// What a page is for, as the flags of the kernel's allocation say it (tracepoint kmem:mm_page_alloc).
enum class Gfp : std::uint32_t {
    kernel = 0xdc0,      ///< GFP_KERNEL | __GFP_ZERO: rings
    table = 0x400dc0,    ///< GFP_PGTABLE_USER
    zeroed = 0x140dca,   ///< GFP_HIGHUSER_MOVABLE | __GFP_COMP | __GFP_ZERO: anonymous memory
    copy = 0x140cca,     ///< the same without __GFP_ZERO: copies, shared memory
    readahead = 0x152cca ///< and with __GFP_NORETRY | __GFP_NOWARN: the page cache
};

class PageAllocator {
  public:
    PageAllocator(mem::PhysicalMemory& memory, PhysAddr first, std::uint64_t bytes);
    /// One page with a reference, contents zero; physical address 0 if none is left.
    PhysAddr alloc(Gfp gfp);
    /// Told of each page given out, and (gfp is null then) taken back.
    using Watch = std::function<void(PhysAddr page, const Gfp* gfp)>;
    void set_watch(Watch watch) { watch_ = std::move(watch); }
    void get(PhysAddr page);
    void put(PhysAddr page); ///< the last reference frees it
    std::uint32_t refs(PhysAddr page) const;
    std::uint8_t* host(PhysAddr page) const { return memory_.host(page); }
    std::uint64_t free_pages() const { return free_count_; }
    std::uint64_t total_pages() const { return total_; }
    mem::PhysicalMemory& memory() { return memory_; }

  private:
    /// Pages are scattered within pieces of so many (16 MiB); what is left over at the end is in order.
    static constexpr unsigned kPieceBits = 12;
    std::uint64_t scattered(std::uint64_t n) const;

    mem::PhysicalMemory& memory_;
    PhysAddr first_;
    std::uint64_t total_, next_{}, free_count_;
    std::vector<std::uint32_t> refs_;
    std::vector<std::uint64_t> free_;
    Watch watch_;
};

} // namespace rkperf::os

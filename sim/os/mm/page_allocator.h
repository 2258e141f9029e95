// SPDX-License-Identifier: Apache-2.0
// Pages of simulated DRAM with reference counts. Deterministic: addresses depend only on the sequence of calls. They
// lie scattered, as those of a kernel that has been up for a while do: physically indexed caches see pages of all colours, some
// oftener than others (M: the RK3588's L2s of 128 and 512 KiB do not hold all of 128 and 512 KiB).
#pragma once

#include "models/memory/physical_memory.h"

#include <cstdint>
#include <vector>

namespace rkperf::os {

class PageAllocator {
  public:
    PageAllocator(mem::PhysicalMemory& memory, PhysAddr first, std::uint64_t bytes);
    /// One page with a reference, contents zero; physical address 0 if none is left.
    PhysAddr alloc();
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
};

} // namespace rkperf::os

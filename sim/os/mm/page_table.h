// SPDX-License-Identifier: Apache-2.0
// Writes the Armv8 translation tables of one address space (TTBR0, 4 KiB granule, four levels).
#pragma once

#include "models/memory/descriptors.h"
#include "sim/os/mm/page_allocator.h"

#include <cstdint>
#include <functional>

namespace rkperf::os {

class PageTable {
  public:
    explicit PageTable(PageAllocator& pages);
    ~PageTable();
    PageTable(const PageTable&) = delete;
    PageTable& operator=(const PageTable&) = delete;

    PhysAddr root() const { return root_; }
    std::uint64_t tables() const { return tables_; } ///< pages of tables below the root
    /// The level 3 entry of `va`; null if its table does not exist and `create` is false.
    std::uint64_t* entry(std::uint64_t va, bool create);
    /// Calls fn(va, entry) for each present page of [start, end), in order.
    void for_each(std::uint64_t start, std::uint64_t end, const std::function<void(std::uint64_t, std::uint64_t&)>& fn);

  private:
    std::uint64_t* table(PhysAddr pa) { return reinterpret_cast<std::uint64_t*>(pages_.host(pa)); }
    void free_level(PhysAddr table_pa, unsigned level);

    PageAllocator& pages_;
    PhysAddr root_;
    std::uint64_t tables_{};
};

} // namespace rkperf::os

// SPDX-License-Identifier: Apache-2.0
#include "sim/os/mm/page_table.h"

namespace rkperf::os {

namespace d = mem::desc;

PageTable::PageTable(PageAllocator& pages) : pages_(pages), root_(pages.alloc(Gfp::table)) {}

PageTable::~PageTable() { free_level(root_, d::kFirstLevel); }

void PageTable::free_level(PhysAddr table_pa, unsigned level) {
    if (level < d::kLastLevel) {
        std::uint64_t* t = table(table_pa);
        for (unsigned i = 0; i < d::kEntries; ++i)
            if (d::is_valid(t[i])) free_level(d::address(t[i], level), level + 1);
    }
    pages_.put(table_pa);
}

std::uint64_t* PageTable::entry(std::uint64_t va, bool create) {
    PhysAddr pa = root_;
    for (unsigned level = d::kFirstLevel; level < d::kLastLevel; ++level) {
        std::uint64_t& e = table(pa)[d::index(VirtAddr(va), level)];
        if (!d::is_valid(e)) {
            if (!create) return nullptr;
            const PhysAddr next = pages_.alloc(Gfp::table);
            if (!next.v) return nullptr;
            ++tables_;
            e = d::table(next);
        }
        pa = d::address(e, level);
    }
    return &table(pa)[d::index(VirtAddr(va), d::kLastLevel)];
}

void PageTable::for_each(std::uint64_t start, std::uint64_t end,
                         const std::function<void(std::uint64_t, std::uint64_t&)>& fn) {
    for (std::uint64_t va = start; va < end;) {
        PhysAddr pa = root_;
        unsigned level = d::kFirstLevel;
        for (; level < d::kLastLevel; ++level) {
            const std::uint64_t e = table(pa)[d::index(VirtAddr(va), level)];
            if (!d::is_valid(e)) break;
            pa = d::address(e, level);
        }
        if (level == d::kLastLevel) {
            std::uint64_t& e = table(pa)[d::index(VirtAddr(va), level)];
            if (d::is_valid(e)) fn(va, e);
            va += kPageSize;
        } else {
            va = (va & ~(d::span(level) - 1)) + d::span(level); // nothing below this entry
            if (!va) break;
        }
    }
}

} // namespace rkperf::os

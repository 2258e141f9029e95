// SPDX-License-Identifier: Apache-2.0
// Pages of a file that go away while they are mapped (unmap_mapping_range): truncation, holes.
#include "sim/os/kernel.h"
#include "sim/os/mm/address_space.h"

#include <algorithm>
#include <set>

namespace rkperf::os {

namespace d = mem::desc;

void AddressSpace::unmap_file_pages(Inode& inode, std::uint64_t first, std::uint64_t end, bool even_cows) {
    std::uint32_t cost = 0;
    for (const auto& [start, v] : vmas_) {
        if (!v.file || v.file->inode() != &inode || v.ops) continue;
        const std::uint64_t pages = (v.end - v.start) >> kPageShift;
        const std::uint64_t from = std::max(first, v.pgoff), to = std::min(end, v.pgoff + pages);
        if (from >= to) continue;
        const std::uint64_t from_va = v.start + ((from - v.pgoff) << kPageShift),
                            to_va = v.start + ((to - v.pgoff) << kPageShift);
        if (even_cows) {
            cost += zap(from_va, to_va);
            continue;
        }
        for (std::uint64_t va = from_va; va < to_va; va += kPageSize) {
            const std::uint64_t* pte = table_.entry(va, false);
            if (!pte || !d::is_valid(*pte)) continue;
            const std::uint64_t index = v.pgoff + ((va - v.start) >> kPageShift);
            if (d::address(*pte, 3) == inode.cached(index).page) cost += zap(va, va + kPageSize);
        }
    }
    if (cost) os_.charge(cost);
}

void Kernel::unmap_mapping_range(Inode& inode, std::uint64_t first, std::uint64_t end, bool even_cows) {
    std::set<AddressSpace*> seen;
    std::vector<std::shared_ptr<AddressSpace>> spaces; // time passes while one is seen to
    for (const auto& [tid, t] : tasks())
        if (t->as && seen.insert(t->as.get()).second) spaces.push_back(t->as);
    for (const auto& as : spaces) as->unmap_file_pages(inode, first, end, even_cows);
}

} // namespace rkperf::os

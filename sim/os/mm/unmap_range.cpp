// SPDX-License-Identifier: Apache-2.0
// Pages of a file that go away while they are mapped (unmap_mapping_range with even_cows): truncation.
#include "sim/os/kernel.h"
#include "sim/os/mm/address_space.h"

#include <algorithm>
#include <set>

namespace rkperf::os {

void AddressSpace::unmap_file_pages(const Inode& inode, std::uint64_t first) {
    std::uint32_t cost = 0;
    for (const auto& [start, v] : vmas_) {
        if (!v.file || v.file->inode() != &inode || v.ops) continue;
        const std::uint64_t from = std::max(first, v.pgoff) - v.pgoff, pages = (v.end - v.start) >> kPageShift;
        if (from < pages) cost += zap(v.start + (from << kPageShift), v.end);
    }
    if (cost) os_.charge(cost);
}

void Kernel::unmap_mapping_range(const Inode& inode, std::uint64_t first) {
    std::set<AddressSpace*> seen;
    std::vector<std::shared_ptr<AddressSpace>> spaces; // time passes while one is seen to
    for (const auto& [tid, t] : tasks())
        if (t->as && seen.insert(t->as.get()).second) spaces.push_back(t->as);
    for (const auto& as : spaces) as->unmap_file_pages(inode, first);
}

} // namespace rkperf::os

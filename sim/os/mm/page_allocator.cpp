// SPDX-License-Identifier: Apache-2.0
#include "sim/os/mm/page_allocator.h"

#include <cstring>

namespace rkperf::os {

PageAllocator::PageAllocator(mem::PhysicalMemory& memory, PhysAddr first, std::uint64_t bytes)
    : memory_(memory), first_(first), total_(bytes >> kPageShift), free_count_(total_) {}

std::uint64_t PageAllocator::scattered(std::uint64_t n) const {
    constexpr std::uint64_t kMask = (std::uint64_t{1} << kPieceBits) - 1;
    const std::uint64_t piece = n >> kPieceBits;
    if ((piece + 1) << kPieceBits > total_) return n;
    // One-to-one steps: odd products and shifted sums.
    std::uint64_t x = (n + piece * 617) & kMask;
    for (std::uint64_t odd : {0x9e5u, 0xacbu, 0xb4du}) {
        x = x * odd & kMask;
        x ^= x >> kPieceBits / 2;
    }
    return piece << kPieceBits | x;
}

PhysAddr PageAllocator::alloc(Gfp gfp) {
    std::uint64_t index;
    if (!free_.empty()) {
        index = free_.back();
        free_.pop_back();
        std::memset(memory_.host(PhysAddr(first_.v + (index << kPageShift))), 0, kPageSize);
    } else if (next_ < total_) {
        index = scattered(next_++);
        if (index >= refs_.size()) refs_.resize(index + 1);
    } else {
        return PhysAddr(0);
    }
    refs_[index] = 1;
    --free_count_;
    const PhysAddr page(first_.v + (index << kPageShift));
    if (watch_) watch_(page, &gfp);
    return page;
}

void PageAllocator::get(PhysAddr page) { ++refs_[(page.v - first_.v) >> kPageShift]; }

void PageAllocator::put(PhysAddr page) {
    const std::uint64_t index = (page.v - first_.v) >> kPageShift;
    if (--refs_[index]) return;
    if (watch_) watch_(page, nullptr);
    free_.push_back(index);
    ++free_count_;
}

std::uint32_t PageAllocator::refs(PhysAddr page) const { return refs_[(page.v - first_.v) >> kPageShift]; }

} // namespace rkperf::os

// SPDX-License-Identifier: Apache-2.0
#include "sim/os/mm/page_allocator.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <vector>

using namespace rkperf;
using rkperf::os::PageAllocator;

namespace {
constexpr std::uint64_t kFirst = 0x200000, kPiece = 16 << 20;
} // namespace

TEST_CASE("pages lie scattered, each given once") {
    // Two pieces of 16 MiB and a remainder, which is in order.
    constexpr std::uint64_t kPages = (2 * kPiece + (1 << 20)) / kPageSize;
    mem::PhysicalMemory memory(PhysAddr(kFirst), kPages * kPageSize);
    PageAllocator pages(memory, PhysAddr(kFirst), kPages * kPageSize);
    std::vector<std::uint64_t> given;
    for (std::uint64_t i = 0; i < kPages; ++i) given.push_back(pages.alloc(os::Gfp::zeroed).v);
    CHECK(pages.alloc(os::Gfp::zeroed) == PhysAddr(0));
    CHECK(pages.free_pages() == 0);
    CHECK(std::set(given.begin(), given.end()).size() == kPages);
    CHECK(*std::min_element(given.begin(), given.end()) == kFirst);
    CHECK(*std::max_element(given.begin(), given.end()) == kFirst + (kPages - 1) * kPageSize);
    unsigned runs = 0; // pages that follow the one before
    for (std::uint64_t i = 1; i < 2 * kPiece / kPageSize; ++i) runs += given[i] == given[i - 1] + kPageSize;
    CHECK(runs < 2 * kPiece / kPageSize / 50);
    for (std::uint64_t i = 2 * kPiece / kPageSize + 1; i < kPages; ++i) REQUIRE(given[i] == given[i - 1] + kPageSize);
}

TEST_CASE("few pages already have all colours of a cache") {
    mem::PhysicalMemory memory(PhysAddr(kFirst), kPiece);
    PageAllocator pages(memory, PhysAddr(kFirst), kPiece);
    // 512 KiB: the pages of an L2 of 512 KiB and 8 ways have 16 colours; a run of addresses would give each 8 pages.
    std::vector<unsigned> colours(16);
    for (unsigned i = 0; i < 128; ++i) ++colours[pages.alloc(os::Gfp::zeroed).v / kPageSize % 16];
    for (const unsigned n : colours) {
        CHECK(n >= 2);
        CHECK(n <= 14);
    }
}

TEST_CASE("a page that is given back comes again, empty") {
    mem::PhysicalMemory memory(PhysAddr(kFirst), kPiece);
    PageAllocator pages(memory, PhysAddr(kFirst), kPiece);
    const PhysAddr p = pages.alloc(os::Gfp::zeroed);
    *pages.host(p) = 7;
    pages.get(p);
    CHECK(pages.refs(p) == 2);
    pages.put(p);
    CHECK(pages.alloc(os::Gfp::zeroed) != p);
    pages.put(p);
    CHECK(pages.alloc(os::Gfp::zeroed) == p);
    CHECK(*pages.host(p) == 0);
    CHECK(pages.free_pages() == pages.total_pages() - 2);
}

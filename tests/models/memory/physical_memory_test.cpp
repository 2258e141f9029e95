// SPDX-License-Identifier: Apache-2.0
#include "models/memory/physical_memory.h"

#include <catch2/catch.hpp>

using namespace rkperf;
using namespace rkperf::mem;

TEST_CASE("simulated DRAM reads as zeros, keeps what is written, and forgets what is discarded", "[memory]") {
    PhysicalMemory m(PhysAddr(0x4000'0000), 16ull << 30); // more than the host has to give
    const PhysAddr a(0x4000'0000 + (5ull << 30));
    CHECK(*m.host(a) == 0);
    *m.host(a) = 0x5a;
    *m.host(PhysAddr(a.v + kPageSize)) = 0xa5;
    m.discard(a, kPageSize);
    CHECK(*m.host(a) == 0);
    CHECK(*m.host(PhysAddr(a.v + kPageSize)) == 0xa5);
    CHECK(m.phys(m.host(a)) == a);
}

TEST_CASE("the bounds of simulated DRAM are exact", "[memory]") {
    PhysicalMemory m(PhysAddr(0x1000), 0x3000);
    CHECK_FALSE(m.contains(PhysAddr(0xfff)));
    CHECK(m.contains(PhysAddr(0x1000)));
    CHECK(m.contains(PhysAddr(0x3ff8), 8));
    CHECK_FALSE(m.contains(PhysAddr(0x3ff8), 9));
    CHECK_FALSE(m.contains(PhysAddr(0x4000)));
    CHECK_THROWS(m.discard(PhysAddr(0x3000), 0x2000));
    CHECK_THROWS(m.discard(PhysAddr(0x1800), 0x1000));
    CHECK_THROWS(PhysicalMemory(PhysAddr(0), 0));
    CHECK_THROWS(PhysicalMemory(PhysAddr(0x800), 0x1000));
}

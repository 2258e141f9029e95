// SPDX-License-Identifier: Apache-2.0
// Descriptors and walks against the Arm ARM (DDI 0487, D8.3 descriptor formats, D8.15 faults by level).
#include "tests/models/memory/machine.h"

#include "models/memory/page_walk.h"

#include <catch2/catch.hpp>

using namespace rkperf;
using namespace rkperf::mem;
using namespace rkperf::mem::test;

namespace {

struct Fixture {
    PhysicalMemory memory{PhysAddr(0x10'0000), 64 << 20};
    Tables tables{memory, PhysAddr(0x20'0000)};
    Leaf leaf;
    std::uint8_t walk_at(std::uint64_t va) { return walk(memory, tables.root(), VirtAddr(va), leaf); }
};

} // namespace

TEST_CASE("descriptor builders give the architecture's bit patterns", "[memory][mmu]") {
    using namespace desc;
    STATIC_REQUIRE(table(PhysAddr(0x1234'5000)) == 0x1234'5003);
    STATIC_REQUIRE(page(PhysAddr(0x8000'0000), kAf | kApUser | kNotGlobal | kUxn) == 0x0040'0000'8000'0c43);
    STATIC_REQUIRE(block(PhysAddr(0x4000'0000), kAf | kApReadOnly) == 0x4000'0481);
    STATIC_REQUIRE(shift(0) == 39);
    STATIC_REQUIRE(shift(1) == 30);
    STATIC_REQUIRE(shift(2) == 21);
    STATIC_REQUIRE(shift(3) == 12);
    STATIC_REQUIRE(span(2) == 2 << 20);
    STATIC_REQUIRE(index(VirtAddr(0x0000'ffff'ffff'ffff), 0) == 511);
    STATIC_REQUIRE(index(VirtAddr(0x0000'0080'4060'1000), 0) == 1);
    STATIC_REQUIRE(index(VirtAddr(0x0000'0080'4060'1000), 1) == 1);
    STATIC_REQUIRE(index(VirtAddr(0x0000'0080'4060'1000), 2) == 3);
    STATIC_REQUIRE(index(VirtAddr(0x0000'0080'4060'1000), 3) == 1);
    // Reserved encodings translate nothing: a block at level 0, bit 1 clear at level 3.
    STATIC_REQUIRE_FALSE(is_leaf(0x1, 0));
    STATIC_REQUIRE_FALSE(is_leaf(0x1, 3));
    STATIC_REQUIRE_FALSE(is_table(0x3, 3));
}

TEST_CASE("pages and blocks translate with their own size and attributes", "[memory][mmu]") {
    Fixture f;
    using namespace desc;
    f.tables.set(VirtAddr(0x40'0000), page(PhysAddr(0x30'1000), kAf | kApUser | kNotGlobal | kUxn | kApReadOnly));
    REQUIRE(f.walk_at(0x40'0abc) == 0);
    CHECK(f.leaf.output == PhysAddr(0x30'1000));
    CHECK(f.leaf.level == 3);
    CHECK(f.leaf.user);
    CHECK_FALSE(f.leaf.writable);
    CHECK_FALSE(f.leaf.exec);
    CHECK_FALSE(f.leaf.global);

    f.tables.set(VirtAddr(0x7f00'0020'0000), block(PhysAddr(0x60'0000), kAf | kContiguous), 2);
    REQUIRE(f.walk_at(0x7f00'003f'ffff) == 0);
    CHECK(f.leaf.output == PhysAddr(0x60'0000));
    CHECK(f.leaf.level == 2);
    CHECK_FALSE(f.leaf.user);
    CHECK(f.leaf.writable);
    CHECK(f.leaf.exec);
    CHECK(f.leaf.global);

    f.tables.set(VirtAddr(0x80'4000'0000), block(PhysAddr(0x4000'0000), kAf), 1);
    REQUIRE(f.walk_at(0x80'7fff'ffff) == 0);
    CHECK(f.leaf.output == PhysAddr(0x4000'0000));
    CHECK(f.leaf.level == 1);
}

TEST_CASE("faults name their kind and level", "[memory][mmu]") {
    Fixture f;
    using namespace desc;
    f.tables.set(VirtAddr(0x40'0000), page(PhysAddr(0x30'1000), kAf));
    CHECK(f.walk_at(0x80'0000'0000) == 0x04);   // level 0: no table
    CHECK(f.walk_at(0x0000'4000'0000) == 0x05); // level 1
    CHECK(f.walk_at(0x0000'0060'0000) == 0x06); // level 2
    CHECK(f.walk_at(0x0000'0040'1000) == 0x07); // level 3
    f.tables.set(VirtAddr(0x40'2000), page(PhysAddr(0x30'1000), 0));
    CHECK(f.walk_at(0x40'2000) == 0x0b); // access flag, level 3
    f.tables.set(VirtAddr(0x60'0000), block(PhysAddr(0x60'0000), 0), 2);
    CHECK(f.walk_at(0x60'1000) == 0x0a); // access flag, level 2
    f.tables.set(VirtAddr(0x80'0000), table(PhysAddr(0x9000'0000)), 2);
    CHECK(f.walk_at(0x80'0000) == 0x17); // the level 3 table is nowhere: external abort on a walk
    CHECK(walk(f.memory, PhysAddr(0), VirtAddr(0), f.leaf) == 0x14);
}

TEST_CASE("attributes of tables restrict everything below them", "[memory][mmu]") {
    Fixture f;
    using namespace desc;
    f.tables.set(VirtAddr(0x40'0000), page(PhysAddr(0x30'1000), kAf | kApUser));
    REQUIRE(f.walk_at(0x40'0000) == 0);
    CHECK((f.leaf.user && f.leaf.writable && f.leaf.exec));
    f.tables.add_to_table(VirtAddr(0x40'0000), 0, kApTableReadOnly);
    f.tables.add_to_table(VirtAddr(0x40'0000), 1, kUxnTable);
    REQUIRE(f.walk_at(0x40'0000) == 0);
    CHECK(f.leaf.user);
    CHECK_FALSE(f.leaf.writable);
    CHECK_FALSE(f.leaf.exec);
    f.tables.add_to_table(VirtAddr(0x40'0000), 2, kApTableNoUser);
    REQUIRE(f.walk_at(0x40'0000) == 0);
    CHECK_FALSE(f.leaf.user);
}

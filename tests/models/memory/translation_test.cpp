// SPDX-License-Identifier: Apache-2.0
// TLBs and walks of one core.
#include "models/memory/translation.h"
#include "tests/models/memory/fake_dsu.h"

#include <catch2/catch.hpp>

using namespace rkperf;
using namespace rkperf::mem;
using namespace rkperf::mem::test;
namespace ev = rkperf::pmu_event;

namespace {

struct Fixture : CachesFixture {
    explicit Fixture(const CoreMemoryParams& p = without_prefetch(cortex_a55_memory()))
        : CachesFixture(p), tables(memory, PhysAddr(kDramBytes - (64 << 20))), mmu(params, memory, totals, caches) {
        mmu.set_recency_clock(&clock);
        mmu.set_listener(&listener);
        mmu.set_ttbr0(tables.root(), 1);
        dsu.level = Level::l3;
    }
    Translation read(std::uint64_t va) { return step(mmu.data(VirtAddr(va), false, false, cycle)); }
    Translation write(std::uint64_t va) { return step(mmu.data(VirtAddr(va), true, false, cycle)); }
    Translation kernel_write(std::uint64_t va) { return step(mmu.data(VirtAddr(va), true, true, cycle)); }
    Translation fetch(std::uint64_t va) { return step(mmu.fetch(VirtAddr(va), cycle)); }
    Translation step(Translation t) {
        cycle += t.cycles;
        return t;
    }

    Tables tables;
    TranslationUnit mmu;
};

constexpr std::uint64_t kVa = 0x7f12'3456'7000;

} // namespace

TEST_CASE("a page is walked for once, then found in the L1 TLB, then in the L2 TLB", "[memory][tlb]") {
    Fixture f;
    f.tables.map(VirtAddr(kVa), PhysAddr(0x20'0000), 64 * kPageSize);
    Translation t = f.read(kVa + 0x123);
    REQUIRE(t.entry);
    CHECK(t.missed);
    CHECK(t.entry->ppn == 0x200);
    CHECK(t.entry->vpn == kVa >> kPageShift);
    CHECK(t.cycles > f.params.l2tlb_hit + 4 * f.params.walk_step);
    CHECK(f.total(ev::L1D_TLB) == 1);
    CHECK(f.total(ev::L1D_TLB_RD) == 1);
    CHECK(f.total(ev::L1D_TLB_REFILL) == 1);
    CHECK(f.total(ev::L1D_TLB_REFILL_RD) == 1);
    CHECK(f.total(ev::L2D_TLB) == 1);
    CHECK(f.total(ev::L2D_TLB_REFILL) == 1);
    CHECK(f.total(ev::DTLB_WALK) == 1);
    CHECK(f.total(ev::L1D_CACHE_RD) == 4); // four levels read

    t = f.write(kVa);
    REQUIRE(t.entry);
    CHECK_FALSE(t.missed);
    CHECK(t.cycles == 0);
    CHECK(f.total(ev::L1D_TLB) == 2);
    CHECK(f.total(ev::L1D_TLB_WR) == 1);
    CHECK(f.total(ev::L1D_TLB_REFILL) == 1);

    // 16 other pages push it out of the L1 TLB.
    for (unsigned i = 1; i <= f.params.dtlb_entries; ++i) f.read(kVa + i * kPageSize);
    CHECK(f.listener.dtlb == std::vector<std::uint64_t>{kVa >> kPageShift});
    const std::uint64_t walks = f.total(ev::DTLB_WALK);
    t = f.write(kVa);
    CHECK(t.missed);
    CHECK(t.cycles == f.params.l2tlb_hit);
    CHECK(f.total(ev::DTLB_WALK) == walks);
    CHECK(f.total(ev::L1D_TLB_REFILL_WR) == 1);
    CHECK(f.total(ev::L2D_TLB_WR) == 1);
    CHECK(f.total(ev::L2D_TLB_REFILL_WR) == 0);
    CHECK(f.total(ev::L1D_TLB) == f.total(ev::L1D_TLB_RD) + f.total(ev::L1D_TLB_WR));
    CHECK(f.total(ev::L2D_TLB) == f.total(ev::L1D_TLB_REFILL));
}

TEST_CASE("the L1 TLB is true LRU over all entries, fast-path uses included", "[memory][tlb][lru]") {
    Fixture f;
    f.tables.map(VirtAddr(kVa), PhysAddr(0x20'0000), 64 * kPageSize);
    const Translation first = f.read(kVa);
    for (unsigned i = 1; i < f.params.dtlb_entries; ++i) f.read(kVa + i * kPageSize);
    first.entry->stamp = ++f.clock;
    f.read(kVa + 40 * kPageSize);
    CHECK_FALSE(f.read(kVa).missed);
    CHECK(f.read(kVa + kPageSize).missed);
}

TEST_CASE("walk caches shorten later walks", "[memory][tlb][walk]") {
    Fixture f;
    f.tables.map(VirtAddr(0x4000'0000), PhysAddr(0x20'0000), 2 * kPageSize);
    f.tables.map(VirtAddr(0x4020'0000), PhysAddr(0x30'0000), kPageSize);
    f.tables.map(VirtAddr(0x8000'0000), PhysAddr(0x40'0000), kPageSize);
    f.read(0x4000'0000);
    CHECK(f.total(ev::L2D_LLWALK_TLB_REFILL) == 1);
    CHECK(f.total(ev::L2D_L2WALK_TLB_REFILL) == 1);
    std::uint64_t reads = f.total(ev::L1D_CACHE_RD);
    f.read(0x4000'1000); // the same level 3 table
    CHECK(f.total(ev::L1D_CACHE_RD) == reads + 1);
    CHECK(f.total(ev::L2D_LLWALK_TLB) == 2);
    CHECK(f.total(ev::L2D_L2WALK_TLB) == 1);
    reads += 1;
    f.read(0x4020'0000); // the same level 2 table
    CHECK(f.total(ev::L1D_CACHE_RD) == reads + 2);
    CHECK(f.total(ev::L2D_L2WALK_TLB) == 2);
    reads += 2;
    f.read(0x8000'0000); // the same level 1 table
    CHECK(f.total(ev::L1D_CACHE_RD) == reads + 3);
}

TEST_CASE("a walk costs its steps and its memory accesses", "[memory][tlb][walk]") {
    Fixture f;
    f.tables.map(VirtAddr(0x4000'0000), PhysAddr(0x20'0000), 8 * kPageSize);
    f.read(0x4000'0000);
    // Table line in the L2 by now, one step.
    const Translation t = f.read(0x4000'1000);
    CHECK(t.cycles == f.params.l2tlb_hit + f.params.walk_step + f.params.l2_hit);
    // And in the L1D, where the kernel may have it.
    PhysAddr table = f.tables.root();
    for (unsigned l = 0; l < 3; ++l) {
        std::uint64_t d;
        std::memcpy(&d, f.memory.host(PhysAddr(table.v + 8 * desc::index(VirtAddr(0x4000'0000), l))), 8);
        table = desc::address(d, l);
    }
    f.go(table.v);
    CHECK(f.read(0x4000'2000).cycles == f.params.l2tlb_hit + f.params.walk_step);
}

TEST_CASE("walks wait for a walker", "[memory][tlb][walk]") {
    Fixture f;
    f.tables.map(VirtAddr(0x4000'0000), PhysAddr(0x20'0000), 8 * kPageSize);
    const std::uint64_t first = f.mmu.data(VirtAddr(0x4000'0000), false, false, 1000).cycles;
    const std::uint64_t second = f.mmu.data(VirtAddr(0x4000'1000), false, false, 1000).cycles;
    CHECK(second > first); // the A55 walks one at a time
}

TEST_CASE("permissions at EL0, and the kernel's exemption", "[memory][mmu]") {
    Fixture f;
    using namespace desc;
    const std::uint64_t base = kAf | kNotGlobal;
    f.tables.set(VirtAddr(0x1000), page(PhysAddr(0x20'0000), base | kApUser | kApReadOnly));
    f.tables.set(VirtAddr(0x2000), page(PhysAddr(0x20'1000), base));
    f.tables.set(VirtAddr(0x3000), page(PhysAddr(0x20'2000), base | kApUser | kUxn));
    f.tables.set(VirtAddr(0x4000), page(PhysAddr(0x20'3000), kNotGlobal | kApUser));

    CHECK(f.read(0x1000).entry);
    Translation t = f.write(0x1000);
    CHECK(t.entry == nullptr);
    CHECK(t.status == 0x0f);
    CHECK(f.kernel_write(0x1000).status == 0x0f);
    CHECK(f.fetch(0x1000).entry);

    CHECK(f.read(0x2000).status == 0x0f);
    CHECK(f.kernel_write(0x2000).entry);
    CHECK(f.fetch(0x2000).status == 0x0f);

    CHECK(f.write(0x3000).entry);
    CHECK(f.fetch(0x3000).status == 0x0f);

    CHECK(f.read(0x4000).status == 0x0b);
    CHECK(f.read(0x5000).status == 0x07);
    CHECK(f.read(0x7000'0000'0000).status == 0x04);
}

TEST_CASE("faults count as L1 TLB refills, not as L2 TLB refills, and are not remembered", "[memory][mmu][tlb]") {
    Fixture f;
    f.tables.map(VirtAddr(0x1000), PhysAddr(0x20'0000), kPageSize);
    CHECK(f.read(0x2000).status == 0x07);
    CHECK(f.total(ev::L1D_TLB_REFILL) == 1);
    CHECK(f.total(ev::DTLB_WALK) == 1);
    CHECK(f.total(ev::L2D_TLB_REFILL) == 0);
    f.tables.map(VirtAddr(0x2000), PhysAddr(0x20'1000), kPageSize);
    CHECK(f.read(0x2000).entry); // no invalidation needed for a page that was not valid
}

TEST_CASE("addresses outside of TTBR0's range or of the memory fault", "[memory][mmu]") {
    Fixture f;
    f.tables.map(VirtAddr(0x1000), PhysAddr(kDramBytes), kPageSize);
    CHECK(f.read(0x1000).status == 0x10);
    CHECK(f.read(0xffff'0000'0000'0000).status == 0x04); // TTBR1: nothing for EL0
    CHECK(f.read(0x0001'0000'0000'0000).status == 0x04);
    f.tables.map(VirtAddr(0x2000), PhysAddr(0x20'0000), kPageSize);
    CHECK(f.read(0xab00'0000'0000'2000).entry); // the top byte is a tag
    CHECK(f.fetch(0xcd00'0000'0000'2000).entry);
}

TEST_CASE("instruction fetches use the ITLB and share the L2 TLB", "[memory][tlb]") {
    Fixture f;
    f.tables.map(VirtAddr(0x1000), PhysAddr(0x20'0000), 64 * kPageSize);
    CHECK(f.fetch(0x1000).missed);
    CHECK(f.total(ev::ITLB_WALK) == 1);
    CHECK(f.total(ev::L1I_TLB_REFILL) == 1);
    CHECK_FALSE(f.fetch(0x1ffc).missed);
    CHECK(f.total(ev::L1I_TLB) == 2);
    const Translation t = f.read(0x1000);
    CHECK(t.cycles == f.params.l2tlb_hit);
    CHECK(f.total(ev::DTLB_WALK) == 0);
    CHECK(f.total(ev::L2D_TLB) == 2);
    for (unsigned i = 1; i <= f.params.itlb_entries; ++i) f.fetch(0x1000 + i * kPageSize);
    CHECK(f.listener.itlb == std::vector<std::uint64_t>{1});
}

TEST_CASE("address spaces are told apart by ASID, global pages belong to all", "[memory][tlb][asid]") {
    Fixture f;
    Tables other(f.memory, PhysAddr(kDramBytes - (32 << 20)));
    f.tables.map(VirtAddr(0x1000), PhysAddr(0x20'0000), kPageSize);
    f.tables.set(VirtAddr(0x2000), desc::page(PhysAddr(0x21'0000), Tables::kUserPage & ~desc::kNotGlobal));
    other.map(VirtAddr(0x1000), PhysAddr(0x30'0000), kPageSize);
    CHECK(f.read(0x1000).entry->ppn == 0x200);
    CHECK(f.read(0x2000).entry->ppn == 0x210);
    f.mmu.set_ttbr0(other.root(), 2);
    CHECK(f.read(0x1000).entry->ppn == 0x300);
    CHECK_FALSE(f.read(0x2000).missed); // global, although the other tables do not have it
    f.mmu.set_ttbr0(f.tables.root(), 1);
    CHECK_FALSE(f.read(0x1000).missed);
    CHECK(f.read(0x1000).entry->ppn == 0x200);
}

TEST_CASE("invalidation by address, by address space, and of everything", "[memory][tlb][asid]") {
    Fixture f;
    f.tables.map(VirtAddr(0x1000), PhysAddr(0x20'0000), 2 * kPageSize);
    f.tables.set(VirtAddr(0x3000), desc::page(PhysAddr(0x21'0000), Tables::kUserPage & ~desc::kNotGlobal));
    const auto walks_for = [&](std::uint64_t va) {
        const std::uint64_t before = f.total(ev::DTLB_WALK);
        f.read(va);
        return f.total(ev::DTLB_WALK) - before;
    };
    for (std::uint64_t va : {0x1000, 0x2000, 0x3000}) walks_for(va);

    f.mmu.invalidate(1, 1);
    CHECK(f.listener.dtlb == std::vector<std::uint64_t>{1});
    CHECK(walks_for(0x1000) == 1);
    CHECK(walks_for(0x2000) == 0);

    f.mmu.invalidate(2, 1); // another address space
    CHECK(walks_for(0x1000) == 0);

    f.mmu.invalidate(1, kAnyPage);
    CHECK(f.listener.dtlb.back() == kAnyPage);
    CHECK(walks_for(0x1000) == 1);
    CHECK(walks_for(0x2000) == 1);
    CHECK(walks_for(0x3000) == 0); // global entries stay
    f.mmu.invalidate(2, 3);        // by address, global entries go whatever the ASID
    CHECK(walks_for(0x3000) == 1);
    f.mmu.invalidate(kAnyAsid, kAnyPage);
    for (std::uint64_t va : {0x1000, 0x2000, 0x3000}) CHECK(walks_for(va) == 1);

    // Until invalidated, a changed page is what it was.
    f.tables.map(VirtAddr(0x1000), PhysAddr(0x25'0000), kPageSize);
    CHECK(f.read(0x1000).entry->ppn == 0x200);
    f.mmu.invalidate(kAnyAsid, 1);
    CHECK(f.read(0x1000).entry->ppn == 0x250);
}

TEST_CASE("a block is one L2 TLB entry, and goes with any page of it", "[memory][tlb]") {
    Fixture f;
    f.tables.set(VirtAddr(0x4000'0000), desc::block(PhysAddr(0x0020'0000), Tables::kUserPage), 2);
    CHECK(f.read(0x4000'5000).entry->ppn == 0x205);
    CHECK(f.total(ev::L1D_CACHE_RD) == 3); // levels 0 to 2
    const Translation t = f.read(0x401f'f000);
    CHECK(t.entry->ppn == 0x3ff);
    CHECK(t.cycles == f.params.l2tlb_hit);
    CHECK(t.entry->level == 2);
    CHECK(f.total(ev::DTLB_WALK) == 1);
    f.mmu.invalidate(1, 0x4000'7000 >> kPageShift);
    CHECK(f.read(0x4000'5000).cycles > f.params.l2tlb_hit);
    CHECK(f.total(ev::DTLB_WALK) == 2);
}

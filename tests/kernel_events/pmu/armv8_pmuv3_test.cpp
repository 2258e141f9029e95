// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/pmu/armv8_pmuv3.h"
#include "tests/kernel_events/fixture.h"

#include <utility>

using namespace rkperf;
using namespace rkperf::ke;
using namespace rkperf::ke::test;

namespace {
FakePmuRegs& regs(World& w, int cpu = 0) { return w.k.cpu(cpu).pmu; }
std::size_t overflows(World& w) { return w.noticed(EventNotice::What::overflow); }
perf_event_attr sampling(std::uint64_t event, std::uint64_t period) {
    perf_event_attr a = World::on(World::hw(event));
    a.sample_period = period;
    return a;
}
perf_event_attr long_event(std::uint64_t event) {
    perf_event_attr a = World::on(World::hw(event));
    a.config1 = 1;
    return a;
}
perf_event_attr generic(std::uint32_t type, std::uint64_t config) { return World::attr(type, config); }
} // namespace

TEST_CASE("probe, reset, message", "[PMUV3-001][PMUV3-002][ARMPMU-035][ARMPMU-040]") {
    World w;
    CHECK((regs(w).pmcr & 0xff) == 0x40);
    CHECK((regs(w, 1).pmcr & 0xff) == 0x40);
    CHECK(regs(w).writes[sysreg::PMCNTENCLR_EL0.encoding] == 1);
    CHECK(w.k.cpu(1).irq_enabled);
    REQUIRE_FALSE(w.k.log.empty());
    CHECK(w.k.log.back() == "hw perfevents: enabled with armv8_pmuv3 PMU driver, 7 counters available");
}

TEST_CASE("generic events", "[PMUV3-004][PMUV3-005][PMUV3-006][ARMPMU-003][ARMPMU-004][ARMPMU-005]") {
    World w;
    const std::pair<std::uint64_t, int> hw[] = {{0, 0x11}, {1, 0x08}, {2, 0x04}, {3, 0x03},    {4, -ENOENT}, {5, 0x10},
                                                {6, 0x1d}, {7, 0x23}, {8, 0x24}, {9, -ENOENT}, {10, -EINVAL}};
    for (const auto& [config, want] : hw) {
        const int fd = w.open(generic(PERF_TYPE_HARDWARE, config));
        INFO("PERF_COUNT_HW " << config);
        CHECK((fd < 0 ? fd : static_cast<int>(w.event(fd).hw.config_base & 0xffff)) == want);
    }
    const auto cache = [&w](unsigned c, unsigned op, unsigned result) {
        const int fd = w.open(generic(PERF_TYPE_HW_CACHE, c | op << 8 | result << 16));
        return fd < 0 ? fd : static_cast<int>(w.event(fd).hw.config_base & 0xffff);
    };
    CHECK(cache(0, 0, 0) == 0x04);
    CHECK(cache(0, 0, 1) == 0x03);
    CHECK(cache(1, 0, 0) == 0x14);
    CHECK(cache(2, 0, 1) == 0x37);
    CHECK(cache(3, 0, 0) == 0x25);
    CHECK(cache(4, 0, 1) == 0x02);
    CHECK(cache(5, 0, 1) == 0x10);
    CHECK(cache(0, 1, 0) == -ENOENT);
    CHECK(cache(6, 0, 0) == -ENOENT);
    CHECK(cache(7, 0, 0) == -EINVAL);
    CHECK(cache(0, 3, 0) == -EINVAL);
    CHECK(cache(0, 0, 2) == -EINVAL);
}

TEST_CASE("branch-instructions where PC_WRITE_RETIRED is announced", "[PMUV3-006]") {
    FakePmuRegs a55;
    CHECK_FALSE(a55.pmceid0 >> 0x0c & 1); // the fake is an A76
    World w;
    CHECK(w.try_open(generic(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS)) == ENOENT);
}

TEST_CASE("raw events", "[PMUV3-007][PMUV3-008][ARMPMU-006]") {
    World w;
    for (std::uint64_t e : {0x00, 0x3f, 0xc1, 0xffff}) CHECK(w.try_open(World::hw(e)) == 0);
    const int fd = w.must_open(World::hw(0x12345));
    CHECK((w.event(fd).hw.config_base & 0xffff) == 0x2345);
    CHECK(w.event(fd).hw.idx == -1);
    const int chain = w.must_open(World::on(World::hw(0x1e)));
    CHECK(w.event(chain).state == PerfEventState::inactive);
    const int other = w.must_open(World::on(World::hw(0x08)));
    CHECK(w.event(other).state == PerfEventState::active);
}

TEST_CASE("filters of a kernel at EL1", "[PMUV3-012][PMUV3-013][PMUV3-015][ARMPMU-002]") {
    World w;
    struct Row {
        bool user, kernel, hv, host, guest;
        std::uint64_t bits;
    };
    const Row rows[] = {{0, 0, 0, 0, 0, 0x08000000}, {0, 1, 1, 0, 0, 0x80000000}, {1, 0, 1, 0, 0, 0x40000000},
                        {1, 1, 1, 0, 0, 0xc0000000}, {0, 0, 0, 1, 0, 0},          {0, 0, 0, 0, 1, 0x08000000}};
    for (const Row& r : rows) {
        perf_event_attr a = World::hw(kInstructions);
        a.exclude_user = r.user;
        a.exclude_kernel = r.kernel;
        a.exclude_hv = r.hv;
        a.exclude_host = r.host;
        a.exclude_guest = r.guest;
        const int fd = w.must_open(a);
        CHECK(w.event(fd).hw.config_base == (r.bits | kInstructions));
    }
    perf_event_attr idle = World::hw(kInstructions);
    idle.exclude_idle = 1;
    CHECK(w.try_open(idle) == EOPNOTSUPP);
}

TEST_CASE("registers of one event", "[PMUV3-026][PMUV3-027][PMUV3-028][PMUV3-029][ARMPMU-023][ARMPMU-025]") {
    World w;
    const int fd = w.must_open(sampling(kInstructions, 100'000));
    FakePmuRegs& r = regs(w);
    CHECK(r.type[0] == (0x80000000 | kInstructions));
    CHECK(r.cntr[0] == 0xfffe7960);
    CHECK(w.event(fd).hw.prev_count == 0xfffffffffffe7960);
    CHECK(r.cnten == 1);
    CHECK(r.inten == 1);
    CHECK((r.pmcr & 1) == 1);
    w.disable(fd);
    CHECK(r.cnten == 0);
    CHECK(r.inten == 0);
    CHECK((r.pmcr & 1) == 0);
    CHECK((r.pmcr & 0x40) == 0x40);
    // Counting events: half the range, so that a wrap is seen.
    w.must_open(World::on(World::hw(0x03)));
    CHECK(r.cntr[0] == 0x80000001);
    w.must_open(World::on(World::hw(kCycles)));
    CHECK(r.ccntr == 0xffffffff80000001);
    CHECK(r.ccfiltr == 0x80000000);
}

TEST_CASE("period arithmetic",
          "[ARMPMU-001][ARMPMU-007][ARMPMU-023][ARMPMU-024][ARMPMU-026][ARMPMU-027][ARMPMU-028]"
          "[CORE-251][PMUV3-035]") {
    World w;
    w.k.record_notices = true;
    SECTION("skid shortens the next period") {
        const int fd = w.must_open(sampling(kInstructions, 1000));
        w.k.count(0, kInstructions, 1030);
        CHECK(overflows(w) == 1);
        CHECK(regs(w).cntr[0] == 0x100000000 - 970);
        w.k.count(0, kInstructions, 970);
        CHECK(overflows(w) == 2);
        CHECK(w.count(fd) == 2000);
    }
    SECTION("more than a period too late") {
        w.must_open(sampling(kInstructions, 1000));
        w.k.count(0, kInstructions, 2500);
        CHECK(overflows(w) == 1);
        CHECK(regs(w).cntr[0] == 0x100000000 - 1000);
    }
    SECTION("periods beyond half the counter") {
        const int fd = w.must_open(sampling(kInstructions, 3'000'000'000));
        CHECK(regs(w).cntr[0] == 0x80000001);
        w.k.count(0, kInstructions, 0x7fffffff);
        CHECK(overflows(w) == 0);
        CHECK(regs(w).cntr[0] == 0x100000000 - (3'000'000'000 - 0x7fffffff));
        w.k.count(0, kInstructions, 3'000'000'000 - 0x7fffffff);
        CHECK(overflows(w) == 1);
        CHECK(w.count(fd) == 3'000'000'000);
    }
    SECTION("counting beyond 32 bits") {
        const int fd = w.must_open(World::on(World::hw(kInstructions)));
        for (int i = 0; i < 10; ++i) w.k.count(0, kInstructions, 0x7fffffff);
        w.k.count(0, kInstructions, 5);
        CHECK(w.count(fd) == 10ull * 0x7fffffff + 5);
        CHECK(overflows(w) == 0);
    }
}

TEST_CASE("the cycle counter overflows like a short one", "[PMUV3-023][PMUV3-031]") {
    World w;
    w.k.record_notices = true;
    const int c = w.must_open(sampling(kCycles, 1000));
    CHECK(w.event(c).hw.idx == 0);
    CHECK(regs(w).ccntr == ~std::uint64_t{0} - 999);
    w.k.count(0, 0x11, 1000);
    CHECK(overflows(w) == 1);
    CHECK(w.count(c) == 1000);
    const int plain = w.must_open(long_event(kCycles));
    // The second one takes a pair of event counters.
    CHECK(w.event(plain).hw.idx == 2);
    w.k.close(c);
    w.disable(plain);
    w.enable(plain);
    CHECK(w.event(plain).hw.idx == 0);
    CHECK(regs(w).ccntr == 0x8000000000000001);
}

TEST_CASE("pairs of counters for 64 bits",
          "[PMUV3-019][PMUV3-021][PMUV3-022][PMUV3-024][PMUV3-026][PMUV3-028]"
          "[ARMPMU-014]") {
    World w;
    const int a = w.must_open(long_event(kInstructions)), b = w.must_open(long_event(0x03)),
              c = w.must_open(long_event(0x04)), d = w.must_open(long_event(0x10));
    CHECK(w.event(a).hw.idx == 2);
    CHECK(w.event(b).hw.idx == 4);
    CHECK(w.event(c).hw.idx == 6);
    CHECK(w.event(d).state == PerfEventState::inactive);
    FakePmuRegs& r = regs(w);
    CHECK(r.type[0] == (0x80000000 | kInstructions));
    CHECK(r.type[1] == 0x0800001e);
    CHECK(r.cnten == 0x3f);
    CHECK(r.inten == 0x2a);
    CHECK(r.cntr[1] == 0x80000000);
    CHECK(r.cntr[0] == 1);
    w.k.count(0, kInstructions, 0xffffffff);
    w.k.count(0, kInstructions, 0x10);
    CHECK(w.count(a) == 0x10000000f);
    for (int fd : {a, b, c, d}) w.k.close(fd);
    CHECK(r.cnten == 0);
    // Groups: three pairs fit.
    perf_event_attr l = long_event(kInstructions);
    const int lead = w.must_open(l);
    w.must_open(l, 0, -1, lead);
    w.must_open(l, 0, -1, lead);
    CHECK(w.try_open(l, 0, -1, lead) == EINVAL);
}

TEST_CASE("a pair whose low half wraps between the two reads is short until it is read again",
          "[PMUV3-024][PMUV3-025]") {
    World w;
    const int fd = w.must_open(long_event(kInstructions));
    FakePmuRegs& r = regs(w);
    w.k.count(0, kInstructions, 0xfffffff0);
    const std::uint64_t before = w.count(fd);
    r.after_read = [&, done = false](SysReg reg) mutable {
        if (reg == sysreg::PMEVCNTR_EL0(1) && !std::exchange(done, true)) w.k.count(0, kInstructions, 0x20);
    };
    CHECK(w.count(fd) == before + 0x20 - 0x100000000);
    CHECK(w.count(fd) == before + 0x20);
}

TEST_CASE("group limits", "[ARMPMU-011][ARMPMU-012][ARMPMU-013][ARMPMU-015][CORE-150]") {
    const auto largest = [](perf_event_attr a, bool leader_off, bool all_off) {
        World w;
        int lead = -1, n = 0, fd = 0;
        for (; n < 16; ++n) {
            a.disabled = all_off || (leader_off && n == 0);
            fd = w.open(a, 0, -1, lead);
            if (fd < 0) break;
            if (n == 0) lead = fd;
        }
        if (n < 16) CHECK(fd == -EINVAL);
        return n;
    };
    CHECK(largest(World::hw(kCycles), false, false) == 7);
    CHECK(largest(World::hw(kCycles), true, false) == 8);
    CHECK(largest(World::hw(kCycles), false, true) == 16);
    CHECK(largest(World::hw(kInstructions), false, false) == 6);
    CHECK(largest(World::hw(kInstructions), true, false) == 7);
    World w;
    int lead = -1;
    for (int i = 0; i < 6; ++i) {
        const int fd = w.must_open(World::on(World::hw(kInstructions)), 0, -1, lead);
        if (!i) lead = fd;
    }
    CHECK(w.try_open(World::on(World::sw(PERF_COUNT_SW_DUMMY)), 0, -1, lead) == 0);
    CHECK(w.try_open(World::on(World::hw(kCycles)), 0, -1, lead) == 0);
    CHECK(w.try_open(World::on(World::hw(kInstructions)), 0, -1, lead) == EINVAL);
}

TEST_CASE("the overflow interrupt",
          "[PMUV3-030][PMUV3-031][PMUV3-032][PMUV3-034][PMUV3-036][PMUV3-037][ARMPMU-030]"
          "[ARMPMU-034]") {
    World w;
    w.k.record_notices = true;
    w.must_open(sampling(kInstructions, 100));
    w.must_open(sampling(kCycles, 100));
    FakePmuRegs& r = regs(w);
    // Both while interrupts are masked: one interrupt later.
    w.k.on_cpu(0);
    const bool was = w.k.local_irq_save();
    w.k.count(0, kInstructions, 120);
    w.k.count(0, kCycles, 120);
    CHECK(overflows(w) == 0);
    CHECK(r.ovs == 0x80000001);
    r.ovs |= 0x10; // of no event: cleared and ignored
    w.k.local_irq_restore(was);
    CHECK(overflows(w) == 2);
    CHECK(r.ovs == 0);
    CHECK((r.pmcr & 1) == 1);
    CHECK(r.cntr[0] == 0x100000000 - 80);
    PtRegs pt;
    CHECK_FALSE(w.p().cpu_armpmu[0]->dispatch_irq(pt));
    CHECK((r.pmcr & 1) == 1);
}

TEST_CASE("user access", "[PMUV3-038][PMUV3-039][PMUV3-040][PMUV3-041][CORE-013]") {
    World w;
    const auto& store = w.k.attributes.at("/proc/sys/kernel/perf_user_access").store;
    perf_event_attr a = World::on(World::hw(kInstructions));
    a.config1 = 2;
    CHECK(w.try_open(a, -1, 0) == EINVAL);
    perf_event_attr both = a;
    both.config1 = 3;
    CHECK(w.try_open(both) == EOPNOTSUPP);
    both.config = kCycles;
    CHECK(w.try_open(both) == 0);
    const int fd = w.must_open(a);
    CHECK(w.event(fd).ctx->nr_user == 1);
    CHECK(regs(w).userenr == 0);
    CHECK(w.p().perf_event_index(w.event(fd)) == 0);
    CHECK(store("2\n") == -EINVAL);
    CHECK(store("1\n") == 2);
    CHECK(regs(w).userenr == 0);
    regs(w).cntr[4] = 77;
    w.disable(fd);
    w.enable(fd);
    CHECK(regs(w).userenr == 0xc);
    CHECK(regs(w).cntr[4] == 0);
    CHECK(w.p().perf_event_index(w.event(fd)) == 1);
    const int cycles = w.must_open(both);
    CHECK(w.p().perf_event_index(w.event(cycles)) == 32);
    CHECK(store("0\n") == 2);
    CHECK(regs(w).userenr == 0);
}

TEST_CASE("user page fields", "[PMUV3-042][PMUV3-043][CORE-360]") {
    World w;
    perf_event_attr a = World::on(World::hw(kInstructions));
    const int plain = w.must_open(a);
    a.config1 = 2;
    const int user = w.must_open(a);
    perf_event_mmap_page page{};
    w.p().arch_perf_update_userpage(w.event(plain), page, w.k.now_ns);
    CHECK_FALSE(page.cap_user_rdpmc);
    CHECK(page.cap_user_time);
    CHECK(page.cap_user_time_zero);
    CHECK(page.cap_user_time_short);
    CHECK(page.time_shift > 0);
    CHECK(page.time_shift < 32);
    // A user's computation gives the clock again.
    w.k.advance(10'000'000);
    const std::uint64_t cycles = w.k.now_ns * 24 / 1000;
    const auto ns = page.time_zero + static_cast<std::uint64_t>(
                                         static_cast<unsigned __int128>(cycles) * page.time_mult >> page.time_shift);
    CHECK(ns + 100 > w.k.now_ns);
    CHECK(ns < w.k.now_ns + 100);
    w.p().arch_perf_update_userpage(w.event(user), page, w.k.now_ns);
    CHECK(page.cap_user_rdpmc);
    CHECK(page.pmc_width == 32);
}

TEST_CASE("files in sysfs", "[PMUV3-009][PMUV3-010][PMUV3-011][ARMPMU-041][CORE-103]") {
    World w;
    const std::string dir = "/sys/bus/event_source/devices/armv8_pmuv3/";
    CHECK(w.attribute(dir + "events/cpu_cycles") == "event=0x0011\n");
    CHECK(w.attribute(dir + "events/inst_retired") == "event=0x0008\n");
    CHECK(w.attribute(dir + "format/event") == "config:0-15\n");
    CHECK(w.attribute(dir + "format/long") == "config1:0\n");
    CHECK(w.attribute(dir + "format/rdpmc") == "config1:1\n");
    CHECK(w.attribute(dir + "caps/slots") == "0x00000000\n");
    CHECK(w.attribute(dir + "cpus") == "0-1\n");
    CHECK_FALSE(w.k.attributes.count(dir + "events/sw_incr"));
    CHECK_FALSE(w.k.attributes.count(dir + "events/chain"));
    CHECK_FALSE(w.k.attributes.count(dir + "events/pc_write_retired"));
    std::size_t n = 0;
    for (const auto& [path, a] : w.k.attributes) n += path.find(dir + "events/") == 0;
    CHECK(n == 40);
}

TEST_CASE("lists of CPUs", "[ARMPMU-041]") {
    CHECK(cpu_list(0xff) == "0-7");
    CHECK(cpu_list(0x0f) == "0-3");
    CHECK(cpu_list(0x51) == "0,4,6");
    CHECK(cpu_list(0x1) == "0");
}

TEST_CASE("a PMU off in the middle of a transaction of adds", "[CORE-100][CORE-102][ARMPMU-020]") {
    World w;
    Pmu& pmu = *w.p().cpu_armpmu[0];
    const int fd = w.must_open(World::on(World::hw(kInstructions)));
    (void)fd;
    w.p().perf_pmu_disable(pmu);
    w.p().perf_pmu_disable(pmu);
    CHECK((regs(w).pmcr & 1) == 0);
    w.p().perf_pmu_enable(pmu);
    CHECK((regs(w).pmcr & 1) == 0);
    w.p().perf_pmu_enable(pmu);
    CHECK((regs(w).pmcr & 1) == 1);
    // Nothing in use: it stays off.
    w.k.close(fd);
    w.p().perf_pmu_disable(pmu);
    w.p().perf_pmu_enable(pmu);
    CHECK((regs(w).pmcr & 1) == 0);
}

// SPDX-License-Identifier: Apache-2.0
// Test cases over the runs of behaviour.h.
#pragma once

#include "tests/models/cpu/behaviour.h"

namespace rkperf::test {

TEST_CASE("an interrupt is taken at the first boundary at which it is visible") {
    Machine& m = machine("irq 100000000");
    REQUIRE(m.values.at("taken") == 40);
    CHECK(m.values.at("pc ok") == 1);
    const Clock& clock = m.cores[0]->clock();
    const std::uint64_t period = clock.time_of(Cycles(1)).v;
    for (std::size_t i = 0; i + 4 < m.list.size(); i += 5) {
        CAPTURE(i);
        const std::uint64_t visible = m.list[i], advanced = m.list[i + 1];
        // The timer is told at the first boundary after its deadline: no instruction of this loop takes ten cycles.
        CHECK(advanced >= visible - (i / 5 % 2 ? 123'456 : 0));
        CHECK(advanced < visible - (i / 5 % 2 ? 123'456 : 0) + 10 * period);
        // The handler begins after the boundary and the cost of the exception.
        CHECK(m.list[i + 3] > visible);
        CHECK(m.list[i + 3] < visible + 60 * period);
    }
    CHECK(machine("irq 1000").list == m.list);
}

TEST_CASE("breakpoints and watchpoints that are never near change nothing", "[DBG-016][DBG-028]") {
    Machine &off = machine("debug off"), &armed = machine("debug armed");
    CHECK(off.list.at(1) == 2000);
    CHECK(armed.list == off.list);
}

TEST_CASE("stalls of the kernel's work are those of their causes whenever somebody looks") {
    const std::vector<std::uint64_t>& seen = machine("kernel stalls").list;
    REQUIRE(seen.size() > 2000);
    CHECK(seen.back() > 1000);
    if (seen[seen.size() - 2] == 0) return; // a core without events for the causes
    for (std::size_t i = 0; i < seen.size(); i += 2) REQUIRE(seen[i] == seen[i + 1]);
}

TEST_CASE("EL1 work wraps counters at the exact instruction and nests interrupts", "[PMUV3-062]") {
    Machine& m = machine("kernel");
    const std::vector<std::uint64_t> wraps = m.list;
    REQUIRE(wraps.size() == 10);
    for (std::size_t i = 1; i < wraps.size(); ++i) CHECK(wraps[i] == wraps[i - 1] + 100);
    CHECK(m.values.at("nested at") == 400);
    CHECK(m.values.at("masked inside") == 1);
    CHECK(m.values.at("nested") == 2);
    CHECK(m.values.at("while masked") == 2);
    CHECK(m.values.at("signalled") == 1);
    CHECK(m.values.at("after") == 3);
    CHECK(m.values.at("unmasked after") == 1);
}

TEST_CASE("the clock stands still while waiting for an interrupt", "[PMUV3-056]") {
    Machine& m = machine("wfi");
    CHECK(m.values.at("cycles") < 10);
    CHECK(m.values.at("time") == 5'000'000'123);
    CHECK(m.values.at("idle") > 4'900'000'000);
    CHECK(m.values.at("not taken") == 1);
    CHECK(m.values.at("later") > m.values.at("time") + 1000 * 500);
}

TEST_CASE("exclusives and atomics of two cores lose no update") {
    for (const char* q : {"2000", "1000000"}) {
        CAPTURE(q);
        Machine& m = machine(std::string("exclusive ") + q);
        REQUIRE(m.finished == 2);
        CHECK(m.word(kData) == 6000);
        CHECK(m.word(kData + 8) == 6000);
        for (const char* n : {"0", "1"})
            CHECK(m.values.at(std::string("stop ") + n) == static_cast<std::uint64_t>(Stop::svc));
        if (m.cores[0]->knows(ev::STREX_PASS_SPEC)) CHECK(m.values.at("passes 0") == 3000);
    }
    Machine& fine = machine("exclusive 2000");
    if (fine.cores[0]->knows(ev::STREX_FAIL_SPEC)) CHECK(fine.values.at("fails 0") + fine.values.at("fails 1") > 0);
}

TEST_CASE("changed code is executed after the maintenance that the architecture asks for") {
    Machine& m = machine("self-modifying");
    CHECK(m.values.at("stop") == static_cast<std::uint64_t>(Stop::svc));
    CHECK(m.values.at("x3") == 1 + 2);
    if (m.cores[0]->knows(ev::ISB_SPEC)) CHECK(m.values.at("isb") == 1);
    Machine& cross = machine("cross-modifying");
    REQUIRE(cross.finished == 2);
    CHECK(cross.values.at("x5") == 7);
}

TEST_CASE("faults report what the architecture says and retire nothing") {
    Machine& m = machine("faults");
    const std::vector<std::uint64_t> expected = {
        static_cast<std::uint64_t>(Stop::data_abort),
        kCode + 4,
        0x30000008,
        0x06,
        0,
        1, // no table at level 2
        static_cast<std::uint64_t>(Stop::data_abort),
        kCode + 12,
        0x20000010,
        0x0f,
        1,
        static_cast<std::uint64_t>(Stop::insn_abort),
        0x40000000,
        0x40000000,
        0x05,
        static_cast<std::uint64_t>(Stop::undefined),
        static_cast<std::uint64_t>(Stop::undefined),
    };
    CHECK(m.list == expected);
    CHECK(m.values.at("exceptions") == 5);
    CHECK(m.values.at("returns") == 5);
}

TEST_CASE("what was refilled had been looked up, whether or not anything was executed") {
    const std::vector<std::uint64_t> expected = {
        1, 1, 0,       // a fetch that faults
        1, 1, 1, 1, 1, // a load that does, the first of its page
        1, 0, 1, 1, 1, // and once more
        1, 1, 1,       // what is no instruction
        1, 1,          // a breakpoint at the first of a page
        1, 0, 1,       // which then is executed
    };
    CHECK(machine("lookups").list == expected);
}

TEST_CASE("breakpoints, steps and watchpoints stop where they should", "[DBG-017][DBG-032][DBG-040]") {
    Machine& m = machine("debug");
    const auto bp = static_cast<std::uint64_t>(cpu::UserExit::breakpoint),
               step = static_cast<std::uint64_t>(cpu::UserExit::step);
    const std::vector<std::uint64_t> expected = {
        bp,
        kCode + 12,
        1,
        step,
        kCode + 16,
        bp,
        kCode + 12,
        2,
        step,
        kCode + 16,
        static_cast<std::uint64_t>(cpu::UserExit::sync),
        static_cast<std::uint64_t>(Stop::watchpoint),
        kCode + 8,
        kData + 64,
        static_cast<std::uint64_t>(Stop::svc),
        5,
    };
    CHECK(m.list == expected);
}

TEST_CASE("system registers are transactions at the core's local time, and cost time") {
    Machine& m = machine("system registers");
    CHECK(m.values.at("write") > 10'000);
    CHECK(m.values.at("read") == 0x41);
    CHECK(m.values.at("at") > 0);
    CHECK(m.values.at("at") <= m.values.at("now"));
    CHECK(m.values.at("refused") == 1);
    REQUIRE(m.list.size() == 6);
    CHECK(m.list[0] == static_cast<std::uint64_t>(Stop::trap_sysreg));
    CHECK(m.list[1] ==
          (3u << 20 | 0u << 17 | 3u << 14 | 9u << 10 | 4u << 5 | 12u << 1 | 1u)); // ISS of MRS X4, PMCR_EL0
    CHECK(m.list[2] == kCode + 8);
    CHECK(m.list[3] < m.list[4]);
    CHECK(m.list[4] < m.list[5]);
}

TEST_CASE("the kernel's accesses go through the caches") {
    Machine& m = machine("kernel accesses");
    CHECK(m.values.at("cold") > 150);
    CHECK(m.values.at("warm") < 20);
    CHECK(m.list == std::vector<std::uint64_t>{4, 1, 2, 5});
    CHECK(m.values.at("ps per cycle") == 1000);
    CHECK(m.values.at("ttbr") == 1);
    CHECK(m.values.at("cid") == 1);
}

TEST_CASE("events agree with one another", "[PMUV3-058]") {
    Machine& m = machine("identities");
    const auto n = [&](EventNumber e) { return m.el0(e); };
    CHECK(n(ev::CPU_CYCLES) == n(ev::BUS_CYCLES));
    CHECK(n(ev::L1D_CACHE) == n(ev::L1D_CACHE_RD) + n(ev::L1D_CACHE_WR));
    CHECK(n(ev::MEM_ACCESS) == n(ev::MEM_ACCESS_RD) + n(ev::MEM_ACCESS_WR));
    CHECK(n(ev::LDST_SPEC) == n(ev::LD_SPEC) + n(ev::ST_SPEC));
    CHECK(n(ev::BR_MIS_PRED) == n(ev::BR_MIS_PRED_RETIRED));
    CHECK(n(ev::BR_MIS_PRED) <= n(ev::BR_PRED));
    CHECK(n(ev::STALL_FRONTEND) + n(ev::STALL_BACKEND) <= n(ev::CPU_CYCLES));
    CHECK(n(ev::INST_SPEC) >= n(ev::INST_RETIRED));
    CHECK(n(ev::L1D_CACHE) >= n(ev::MEM_ACCESS)); // walks look the L1D up too
    CHECK(n(ev::L1D_CACHE_REFILL) <= n(ev::L1D_CACHE));
    CHECK(n(ev::L1I_CACHE_REFILL) <= n(ev::L1I_CACHE));
    CHECK(n(ev::L1I_TLB_REFILL) <= n(ev::L1I_TLB));
    // Five loads: two unaligned, one of them across a line; a pair; two stores, one of them DC ZVA; an exclusive store that fails.
    const EventNumber unaligned =
        m.cores[0]->knows(ev::UNALIGNED_LDST_RETIRED) ? ev::UNALIGNED_LDST_RETIRED : ev::UNALIGNED_LDST_SPEC;
    CHECK(n(unaligned) == 3);
    CHECK(n(ev::BR_RETIRED) > 5000 * 3);
    CHECK(n(ev::L1D_TLB) >= n(ev::L1D_TLB_REFILL));
}

TEST_CASE("the simple configuration takes one cycle per instruction") {
    Machine& m = machine("simple");
    CHECK(m.values.at("stop") == static_cast<std::uint64_t>(Stop::svc));
    CHECK(m.el0(ev::CPU_CYCLES) == m.el0(ev::INST_RETIRED));
    CHECK(m.el0(ev::INST_RETIRED) > 12000);
    CHECK(m.el0(ev::BR_MIS_PRED) == 0);
    CHECK(m.el0(ev::L1D_CACHE_REFILL) == 0);
    CHECK(m.el0(ev::L1D_CACHE) == m.el0(ev::MEM_ACCESS));
}

} // namespace rkperf::test

// SPDX-License-Identifier: Apache-2.0
// System registers, hints, barriers and cache maintenance: what reaches CoreHooks and how it comes back.
#include "tests/models/a64/bench_machine.h"

#include <catch2/catch.hpp>

namespace rkperf::a64 {

using test::Bench;

TEST_CASE("registers behind the hooks") {
    Bench m;
    m.memory.sysreg_outcome = SysRegOutcome::ok;
    m.memory.sysreg_value = 0x123456789;
    CHECK(m.run(0xd53b9d00) == Stop::none); // mrs x0, pmccntr_el0
    CHECK(m.memory.last_sysreg == sysreg::PMCCNTR_EL0);
    CHECK(m.state.x[0] == 0x123456789);
    m.state.x[0] = 5;
    CHECK(m.run(0xd51b9ca0) == Stop::none); // msr pmselr_el0, x0
    CHECK(m.memory.last_sysreg == sysreg::PMSELR_EL0);
    CHECK(m.memory.sysreg_value == 5);
    CHECK(m.run(0xd51b9cbf) == Stop::none); // msr pmselr_el0, xzr
    CHECK(m.memory.sysreg_value == 0);
    CHECK(m.run(0xd53b9d1f) == Stop::none); // mrs xzr, pmccntr_el0
    CHECK(m.state.x[kZr] == 0);
}

TEST_CASE("refused registers trap or are undefined, and nothing changes") {
    Bench m;
    const auto before = m.picture();
    m.memory.sysreg_outcome = SysRegOutcome::undefined;
    CHECK(m.run(0xd53b9d00) == Stop::undefined);
    CHECK(m.picture() == before);
    m.memory.sysreg_outcome = SysRegOutcome::trap_el1;
    CHECK(m.run(0xd53b9d00) == Stop::trap_sysreg);
    // ISS of EC 0x18: Op0 3, Op2 0, Op1 3, CRn 9, Rt 0, CRm 13, read
    CHECK(m.state.stop_info == (3u << 20 | 0u << 17 | 3u << 14 | 9u << 10 | 0u << 5 | 13u << 1 | 1u));
    CHECK(m.picture() == before);
    CHECK(m.run(0xd51b9cbf) == Stop::trap_sysreg); // msr pmselr_el0, xzr
    CHECK(m.state.stop_info == (3u << 20 | 5u << 17 | 3u << 14 | 9u << 10 | 31u << 5 | 12u << 1));
    CHECK(m.picture() == before);
}

TEST_CASE("DAIF traps at EL0") {
    Bench m;
    const auto before = m.picture();
    CHECK(m.run(0xd50343df) == Stop::trap_sysreg); // msr daifset, #3
    CHECK(m.state.stop_info == (6u << 17 | 3u << 14 | 4u << 10 | 31u << 5 | 3u << 1));
    CHECK(m.run(0xd5034fff) == Stop::trap_sysreg); // msr daifclr, #15
    CHECK(m.state.stop_info == (7u << 17 | 3u << 14 | 4u << 10 | 31u << 5 | 15u << 1));
    CHECK(m.picture() == before);
}

TEST_CASE("registers in the state do not go through the hooks") {
    Bench m;
    m.memory.sysreg_outcome = SysRegOutcome::undefined;
    m.state.tpidr_el0 = 77;
    m.state.tpidrro_el0 = 88;
    CHECK(m.run(0xd53bd045) == Stop::none); // mrs x5, tpidr_el0
    CHECK(m.state.x[5] == 77);
    m.state.x[6] = 99;
    CHECK(m.run(0xd51bd046) == Stop::none); // msr tpidr_el0, x6
    CHECK(m.state.tpidr_el0 == 99);
    CHECK(m.run(0xd53bd065) == Stop::none); // mrs x5, tpidrro_el0
    CHECK(m.state.x[5] == 88);
    m.state.x[8] = ~std::uint64_t{0};
    CHECK(m.run(0xd51b4208) == Stop::none); // msr nzcv, x8
    CHECK(m.state.nzcv == 0xf0000000u);
    m.state.x[0] = ~std::uint64_t{0};
    CHECK(m.run(0xd51b4400) == Stop::none); // msr fpcr, x0
    CHECK(m.state.fpcr == kFpcrMask);
    CHECK(m.run(0xd51b4420) == Stop::none); // msr fpsr, x0
    CHECK(m.state.fpsr == kFpsrMask);
}

TEST_CASE("barriers and hints") {
    Bench m;
    CHECK(m.run(0xd5033bbf) == Stop::none); // dmb ish
    CHECK(m.memory.last_barrier == 11);
    CHECK(m.run(0xd5033f9f) == Stop::none); // dsb sy
    CHECK(m.memory.last_barrier == 16 + 15);
    const std::uint64_t pc = m.state.pc;
    CHECK(m.run(0xd5033fdf) == Stop::isb);
    CHECK(m.state.pc == pc + 4);
    constexpr std::uint32_t kYield = 0xd503203f;
    for (std::uint32_t hint = 1; hint <= 5; ++hint) {
        CHECK(m.run(kYield + (hint - 1) * 32) == Stop::wait);
        CHECK(m.state.stop_info == hint);
        CHECK(m.state.pc == pc + 4 + 4 * hint);
        CHECK_FALSE(m.state.branch_taken);
    }
    const auto before = m.picture();
    CHECK(m.run(0xd503201f) == Stop::none); // nop
    CHECK(m.run(0xd503233f) == Stop::none); // paciasp
    auto after = before;
    after.pc += 8;
    CHECK(m.picture() == after);
}

TEST_CASE("cache maintenance by address") {
    Bench m;
    m.state.x[2] = Bench::kReadOnly + 5;
    constexpr SysReg kCvau = SysReg::make(1, 3, 7, 11, 1), kCvac = SysReg::make(1, 3, 7, 10, 1),
                     kCvap = SysReg::make(1, 3, 7, 12, 1), kCivac = SysReg::make(1, 3, 7, 14, 1),
                     kIvau = SysReg::make(1, 3, 7, 5, 1);
    const std::pair<std::uint32_t, SysReg> ops[] = {
        {0xd50b7b22, kCvau}, {0xd50b7a22, kCvac}, {0xd50b7c22, kCvap}, {0xd50b7e22, kCivac}, {0xd50b7522, kIvau}};
    for (const auto& [raw, op] : ops) {
        CHECK(m.run(raw) == Stop::none);
        CHECK(m.memory.last_sysreg == op);
        CHECK(*m.memory.first_va == Bench::kReadOnly + 5);
    }
    m.state.x[2] = Bench::kAbsent;
    const auto before = m.picture();
    CHECK(m.run(0xd50b7b22) == Stop::data_abort);
    CHECK(m.picture() == before);
}

TEST_CASE("DC ZVA clears its aligned block") {
    Bench m;
    m.state.x[2] = Bench::kBase + 64 + 17;
    const auto before = m.picture();
    CHECK(m.run(0xd50b7422) == Stop::none);
    CHECK(m.memory.last_kind == AccessKind::dc_zva);
    CHECK(*m.memory.first_va == Bench::kBase + 64);
    for (unsigned n = 0; n < 2 * kPageSize; ++n) REQUIRE(m.bytes[n] == (n >= 64 && n < 128 ? 0 : before.bytes[n]));
    m.state.x[2] = Bench::kReadOnly + 1;
    CHECK(m.run(0xd50b7422) == Stop::data_abort);
}

} // namespace rkperf::a64

// SPDX-License-Identifier: Apache-2.0
// The generic timer: counts, exact deadlines, lines, EL0 access.
#include "models/timer/generic_timer.h"
#include "tests/models/pmu_v3/fakes.h"
#include "tests/support/run_catch.h"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

using namespace rkperf;
using namespace rkperf::timer;
using namespace rkperf::sysreg;
using EL = ExceptionLevel;

namespace {

struct Bench {
    explicit Bench(unsigned n)
        : core(("core" + std::to_string(n)).c_str()),
          timer(("timer" + std::to_string(n)).c_str(), TimerConfig{}, virt, phys) {
        core.sysreg.bind(timer.sysreg);
    }
    test::FakeLine virt, phys;
    test::FakeCore core;
    GenericTimer timer;
};

std::vector<std::unique_ptr<Bench>> spare;

std::unique_ptr<Bench> bench() {
    REQUIRE_FALSE(spare.empty());
    auto b = std::move(spare.back());
    spare.pop_back();
    return b;
}

using Changes = std::vector<test::Change>;

constexpr std::uint64_t kSecond = 1'000'000'000'000;

} // namespace

int sc_main(int argc, char** argv) {
    for (unsigned n = 0; n < 10; ++n) spare.push_back(std::make_unique<Bench>(n));
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    return run_catch(argc, argv);
}

TEST_CASE("the counter is floor(time x 24 MHz) and time_of its exact inverse", "[timer]") {
    auto b = bench();
    const auto count = [&](std::uint64_t ps) { return b->timer.count_at(Picoseconds(ps)); };
    CHECK(count(0) == 0);
    CHECK(count(41'666) == 0); // a period is 41666.67 ps
    CHECK(count(41'667) == 1);
    CHECK(count(83'333) == 1);
    CHECK(count(83'334) == 2);
    CHECK(count(124'999) == 2);
    CHECK(count(125'000) == 3);
    CHECK(count(kSecond) == 24'000'000);
    CHECK(count(kSecond - 1) == 23'999'999);
    for (const std::uint64_t c : {0ull, 1ull, 2ull, 3ull, 24'000'000ull, 123'456'789'012ull, 400'000'000'000'000ull}) {
        const Picoseconds t = b->timer.time_of(c);
        CHECK(b->timer.count_at(t) == c);
        if (c) CHECK(b->timer.count_at(t - Picoseconds(1)) == c - 1);
    }
    CHECK(b->timer.time_of(~std::uint64_t{0}) == kNever);
}

TEST_CASE("counts and frequency read at the core's local time", "[timer]") {
    auto b = bench();
    b->core.time = Picoseconds(kSecond + 41'667);
    CHECK(b->core.mrs(CNTFRQ_EL0) == 24'000'000);
    CHECK(b->core.mrs(CNTVCT_EL0) == 24'000'001);
    CHECK(b->core.mrs(CNTPCT_EL0) == 24'000'001);
    b->core.msr(CNTVCT_EL0, 5);
    CHECK(b->core.outcome() == SysRegOutcome::undefined);
    b->core.msr(CNTFRQ_EL0, 5);
    CHECK(b->core.outcome() == SysRegOutcome::undefined);
}

TEST_CASE("the line rises at the picosecond at which the count reaches CVAL", "[timer]") {
    auto b = bench();
    CHECK(b->timer.next_deadline() == kNever);
    b->core.time = Picoseconds(1'000'000); // count 24
    b->core.msr(CNTV_CVAL_EL0, 100);
    CHECK(b->timer.next_deadline() == kNever);
    b->core.msr(CNTV_CTL_EL0, cnt_ctl::ENABLE);
    const Picoseconds due = b->timer.time_of(100);
    CHECK(due == Picoseconds(4'166'667));
    CHECK(b->timer.next_deadline() == due);
    b->timer.advance_to(due - Picoseconds(1));
    CHECK(b->virt.changes.empty());
    b->timer.advance_to(due + Picoseconds(500)); // late, yet the change carries the exact time
    CHECK(b->virt.changes == Changes{{true, due}});
    CHECK(b->timer.next_deadline() == kNever);
    CHECK(b->phys.changes.empty());

    b->core.time = Picoseconds(5'000'000); // count 120
    CHECK(b->core.mrs(CNTV_CTL_EL0) == (cnt_ctl::ENABLE | cnt_ctl::ISTATUS));
    b->core.msr(CNTV_CVAL_EL0, 200);
    CHECK(b->virt.changes.back() == test::Change{false, Picoseconds(5'000'000)});
    CHECK(b->core.mrs(CNTV_CTL_EL0) == cnt_ctl::ENABLE);
    CHECK(b->timer.next_deadline() == b->timer.time_of(200));
}

TEST_CASE("a compare value in the past raises the line at once", "[timer]") {
    auto b = bench();
    b->core.time = Picoseconds(10'000'000); // count 240
    b->core.msr(CNTP_CVAL_EL0, 240);
    b->core.msr(CNTP_CTL_EL0, cnt_ctl::ENABLE);
    CHECK(b->phys.changes == Changes{{true, Picoseconds(10'000'000)}});
    CHECK(b->virt.changes.empty());
}

TEST_CASE("TVAL is the signed 32-bit distance", "[timer]") {
    auto b = bench();
    b->core.time = Picoseconds(10'000'000); // count 240
    b->core.msr(CNTV_TVAL_EL0, 1000);
    CHECK(b->core.mrs(CNTV_CVAL_EL0) == 1240);
    CHECK(b->core.mrs(CNTV_TVAL_EL0) == 1000);
    b->core.time = Picoseconds(11'000'000); // 264
    CHECK(b->core.mrs(CNTV_TVAL_EL0) == 976);
    b->core.msr(CNTV_TVAL_EL0, 0xffffffff); // -1
    CHECK(b->core.mrs(CNTV_CVAL_EL0) == 263);
    CHECK(b->core.mrs(CNTV_TVAL_EL0) == 0xffffffff);
    b->core.msr(CNTV_CTL_EL0, cnt_ctl::ENABLE);
    CHECK(b->virt.changes == Changes{{true, Picoseconds(11'000'000)}});
}

TEST_CASE("IMASK hides the line, not the status; a disabled timer has neither", "[timer]") {
    auto b = bench();
    b->core.msr(CNTV_CVAL_EL0, 24);
    b->core.msr(CNTV_CTL_EL0, cnt_ctl::ENABLE | cnt_ctl::IMASK);
    CHECK(b->timer.next_deadline() == kNever);
    b->core.time = Picoseconds(2'000'000);
    CHECK(b->core.mrs(CNTV_CTL_EL0) == 7);
    CHECK(b->virt.changes.empty());
    b->core.msr(CNTV_CTL_EL0, cnt_ctl::ENABLE);
    CHECK(b->virt.changes == Changes{{true, Picoseconds(2'000'000)}});
    b->core.time = Picoseconds(3'000'000);
    b->core.msr(CNTV_CTL_EL0, 0);
    CHECK(b->virt.changes.back() == test::Change{false, Picoseconds(3'000'000)});
    CHECK(b->core.mrs(CNTV_CTL_EL0) == 0);
}

TEST_CASE("an access after the deadline sees the line that rose before it", "[timer]") {
    auto b = bench();
    b->core.msr(CNTV_CVAL_EL0, 24);
    b->core.msr(CNTV_CTL_EL0, cnt_ctl::ENABLE);
    b->core.time = Picoseconds(9'000'000);
    b->core.msr(CNTV_CTL_EL0, 0);
    CHECK(b->virt.changes == Changes{{true, Picoseconds(1'000'000)}, {false, Picoseconds(9'000'000)}});
}

TEST_CASE("two timers: the nearer deadline first, each at its own time", "[timer]") {
    auto b = bench();
    b->core.msr(CNTV_CVAL_EL0, 48);
    b->core.msr(CNTP_CVAL_EL0, 24);
    b->core.msr(CNTV_CTL_EL0, cnt_ctl::ENABLE);
    b->core.msr(CNTP_CTL_EL0, cnt_ctl::ENABLE);
    CHECK(b->timer.next_deadline() == Picoseconds(1'000'000));
    b->timer.advance_to(Picoseconds(1'000'000));
    CHECK(b->phys.changes.size() == 1);
    CHECK(b->virt.changes.empty());
    CHECK(b->timer.next_deadline() == Picoseconds(2'000'000));
    b->timer.advance_to(Picoseconds(5'000'000));
    CHECK(b->virt.changes == Changes{{true, Picoseconds(2'000'000)}});
}

TEST_CASE("CNTKCTL_EL1 opens the timer to EL0", "[timer]") {
    auto b = bench();
    struct Rights {
        SysReg reg;
        std::uint64_t bits;
        bool writable;
    };
    const Rights table[] = {
        {CNTFRQ_EL0, cntkctl::EL0PCTEN | cntkctl::EL0VCTEN, false},
        {CNTPCT_EL0, cntkctl::EL0PCTEN, false},
        {CNTVCT_EL0, cntkctl::EL0VCTEN, false},
        {CNTP_TVAL_EL0, cntkctl::EL0PTEN, true},
        {CNTP_CTL_EL0, cntkctl::EL0PTEN, true},
        {CNTP_CVAL_EL0, cntkctl::EL0PTEN, true},
        {CNTV_TVAL_EL0, cntkctl::EL0VTEN, true},
        {CNTV_CTL_EL0, cntkctl::EL0VTEN, true},
        {CNTV_CVAL_EL0, cntkctl::EL0VTEN, true},
    };
    for (const std::uint64_t bit : {0ull, 1ull, 2ull, 0x100ull, 0x200ull, 0x3ffull}) {
        b->core.msr(CNTKCTL_EL1, bit);
        CHECK(b->core.mrs(CNTKCTL_EL1) == bit);
        for (const Rights& r : table) {
            INFO("CNTKCTL " << std::hex << bit << " register " << r.reg.encoding);
            const auto expected = bit & r.bits ? SysRegOutcome::ok : SysRegOutcome::trap_el1;
            b->core.mrs(r.reg, EL::el0);
            CHECK(b->core.outcome() == expected);
            b->core.msr(r.reg, 0, EL::el0);
            CHECK(b->core.outcome() == (r.writable ? expected : SysRegOutcome::undefined));
        }
        b->core.mrs(CNTKCTL_EL1, EL::el0);
        CHECK(b->core.outcome() == SysRegOutcome::undefined);
    }
    b->core.mrs(SysReg::make(3, 7, 14, 2, 1)); // CNTPS_CTL_EL1
    CHECK(b->core.outcome() == SysRegOutcome::undefined);
    CHECK(b->core.status() == tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

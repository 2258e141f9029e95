// SPDX-License-Identifier: Apache-2.0
// What matches: levels, breakpoints, contexts, linking, watchpoints, FAR. Spec DBG-008 to 038.
#include "models/debug_regs/matching.h"

#include <catch2/catch.hpp>

using namespace rkperf;
using namespace rkperf::debug;
using EL = ExceptionLevel;

namespace {

constexpr std::uint64_t kPc = 0x0000'aaaa'0000'1000, kData = 0x0000'ffff'0000'2000;

/// Control words of Linux (HWBP-060).
constexpr std::uint32_t kUserExec = 0x1e5, kUserRw8 = 0x1ffd, kUserW8 = 0x1ff5;

State open_state() {
    State s;
    s.mdscr = mdscr::MDE;
    return s;
}
State with_bp(std::uint32_t control, std::uint64_t value = kPc, unsigned n = 0) {
    State s = open_state();
    s.bp[n] = {value, control};
    return s;
}
State with_wp(std::uint32_t control, std::uint64_t value = kData) {
    State s = open_state();
    s.wp[1] = {value, control};
    return s;
}
bool stops(const State& s, std::uint64_t pc, EL el = EL::el0, bool d = false) { return breakpoint(s, pc, el, d); }
std::optional<std::uint64_t> hit(const State& s, std::uint64_t va, std::uint64_t bytes, bool write = true) {
    return watchpoint(s, va, bytes, write, EL::el0, EL::el0, false);
}
constexpr std::uint32_t bas(unsigned mask) { return mask << 5; }
constexpr std::uint32_t bt(unsigned type) { return type << 20; }
constexpr std::uint32_t lbn(unsigned n) { return n << 16; }

} // namespace

TEST_CASE("debug exceptions are enabled below the debug target level, or at it with KDE and D clear",
          "[DBG-008][DBG-009][DBG-010]") {
    State s = open_state();
    for (const bool d : {false, true}) CHECK(exceptions_enabled(s, EL::el0, d));
    CHECK_FALSE(exceptions_enabled(s, EL::el1, false));
    s.mdscr |= mdscr::KDE;
    CHECK(exceptions_enabled(s, EL::el1, false));
    CHECK_FALSE(exceptions_enabled(s, EL::el1, true));
    CHECK_FALSE(exceptions_enabled(s, EL::el2, false));
    for (bool State::*routes : {&State::tge, &State::tde}) {
        State r = s;
        r.*routes = true;
        r.mdscr &= ~mdscr::KDE;
        CHECK(exceptions_enabled(r, EL::el1, true));
        CHECK_FALSE(exceptions_enabled(r, EL::el2, false));
        r.mdscr |= mdscr::KDE;
        CHECK(exceptions_enabled(r, EL::el2, false));
        CHECK_FALSE(exceptions_enabled(r, EL::el3, false));
    }
}

TEST_CASE("locks close everything; breakpoints and watchpoints need MDE, step needs SS only",
          "[DBG-009][DBG-011][DBG-013][DBG-014]") {
    State s = with_bp(kUserExec);
    s.wp[0] = {kData, kUserRw8};
    s.mdscr |= mdscr::SS;
    CHECK(stops(s, kPc));
    CHECK(hit(s, kData, 1));
    CHECK(Step::active(s, EL::el0, false));
    State no_mde = s;
    no_mde.mdscr = mdscr::SS;
    CHECK_FALSE(stops(no_mde, kPc));
    CHECK_FALSE(hit(no_mde, kData, 1));
    CHECK(Step::active(no_mde, EL::el0, false));
    State no_ss = s;
    no_ss.mdscr = mdscr::MDE;
    CHECK_FALSE(Step::active(no_ss, EL::el0, false));
    State locked = s;
    locked.os_lock = true;
    State twice = s;
    twice.double_lock = true;
    for (const State& closed : {locked, twice}) {
        CHECK_FALSE(stops(closed, kPc));
        CHECK_FALSE(hit(closed, kData, 1));
        CHECK_FALSE(Step::active(closed, EL::el0, false));
    }
    twice.no_powerdown = true; // then the double lock has no effect
    CHECK(stops(twice, kPc));
}

TEST_CASE("an ignored match is not remembered", "[DBG-012]") {
    State s = with_bp(kUserExec);
    s.os_lock = true;
    CHECK_FALSE(stops(s, kPc));
    s.os_lock = false;
    CHECK_FALSE(stops(s, kPc + 4));
    CHECK(stops(s, kPc)); // executed again
}

TEST_CASE("an address breakpoint compares VA[48:2] and the byte of the pc", "[DBG-016][DBG-019]") {
    CHECK(stops(with_bp(kUserExec), kPc));
    CHECK_FALSE(stops(with_bp(kUserExec), kPc + 4));
    CHECK_FALSE(stops(with_bp(kUserExec & ~1u), kPc));
    struct Case {
        unsigned bas;
        bool word, second; // at the word, at its second halfword (T32)
    };
    for (const Case c : {Case{0xf, true, true}, {0x3, true, false}, {0xc, false, true}, {0xe, false, true}}) {
        INFO(c.bas);
        const State s = with_bp(1 | 2 << 1 | bas(c.bas));
        CHECK(stops(s, kPc) == c.word);
        CHECK(stops(s, kPc + 2) == c.second);
    }
    // Bits 63:49 are not compared.
    CHECK(stops(with_bp(kUserExec, kPc | 0xfffe'0000'0000'0000), kPc));
    CHECK_FALSE(stops(with_bp(kUserExec, kPc | 0x0001'0000'0000'0000), kPc));
}

TEST_CASE("HMC, SSC and PMC or PAC select levels", "[DBG-024][DBG-025][DBG-026]") {
    constexpr unsigned u = 1, k = 2, h = 4; // EL0, EL1, EL2
    // By HMC, SSC, PxC.
    const unsigned expected[2][4][4] = {
        {{0, k, u, k | u}, {0, k, u, k | u}, {0, 0, 0, 0}, {0, 0, 0, 0}},
        {{0, h | k, 0, h | k | u}, {h, h | k, 0, h | k | u}, {0, 0, 0, 0}, {h, h | k, 0, h | k | u}},
    };
    for (unsigned hmc = 0; hmc < 2; ++hmc)
        for (unsigned ssc = 0; ssc < 4; ++ssc)
            for (unsigned pxc = 0; pxc < 4; ++pxc) {
                INFO(hmc << " " << ssc << " " << pxc);
                CHECK(levels(hmc << 13 | ssc << 14 | pxc << 1) == expected[hmc][ssc][pxc]);
            }
    // Linux: user, kernel at EL1, kernel at EL2.
    CHECK(levels(kUserExec) == u);
    CHECK(levels(0x1e3) == k);
    CHECK(levels(0x21e3) == (h | k));
    State s = with_bp(0x1e3);
    s.mdscr |= mdscr::KDE;
    CHECK(stops(s, kPc, EL::el1));
    CHECK_FALSE(stops(s, kPc, EL::el1, true)); // masked by D
    CHECK_FALSE(stops(s, kPc, EL::el0));
}

TEST_CASE("context breakpoints match contexts, in context-aware registers only", "[DBG-020][DBG-022]") {
    State s = open_state();
    s.contextidr_el1 = 77;
    s.contextidr_el2 = 88;
    s.vmid = 5;
    constexpr std::uint64_t vmid = 5ull << 32, id2 = 88ull << 32;
    struct Case {
        unsigned type;
        std::uint64_t value, wrong;
    };
    const Case cases[] = {{2, 77, 78},         {6, 77, 78},   {8, vmid, 6ull << 32},
                          {10, vmid | 77, 77}, {12, id2, 77}, {14, id2 | 77, id2 | 78}};
    for (const Case& c : cases) {
        INFO(c.type);
        s.bp[4] = {c.value, kUserExec | bt(c.type)};
        CHECK(stops(s, kPc));
        CHECK(stops(s, kPc + 400)); // any instruction
        s.bp[4].value = c.wrong;
        CHECK_FALSE(stops(s, kPc));
        s.bp[4] = {c.value, kUserExec | bt(c.type + 1)}; // linked: never alone
        CHECK_FALSE(stops(s, kPc));
        s.bp[4] = {};
        s.bp[3] = {c.value, kUserExec | bt(c.type)}; // not context aware
        CHECK_FALSE(stops(s, kPc));
        s.bp[3] = {};
    }
    for (const unsigned mismatch : {4u, 5u}) CHECK_FALSE(stops(with_bp(kUserExec | bt(mismatch), kPc + 4), kPc));
    // In a host the context is EL2's.
    s.e2h = s.tge = true;
    s.bp[5] = {88, kUserExec | bt(2)};
    CHECK(stops(s, kPc));
    s.bp[5].value = 77;
    CHECK_FALSE(stops(s, kPc));
}

TEST_CASE("linking needs an enabled, linked context breakpoint", "[DBG-016][DBG-020][DBG-021]") {
    State s = with_bp(kUserExec | bt(1) | lbn(5));
    s.wp[0] = {kData, kUserRw8 | 1u << 20 | lbn(5)};
    s.contextidr_el1 = 77;
    const auto both = [&](bool expected) {
        CHECK(stops(s, kPc) == expected);
        CHECK(hit(s, kData, 4).has_value() == expected);
    };
    both(false); // disabled
    s.bp[5] = {77, kUserExec | bt(3)};
    both(true);
    s.contextidr_el1 = 78;
    both(false);
    s.contextidr_el1 = 77;
    s.bp[5].control = kUserExec | bt(2); // not a linked type
    s.bp[5].value = 76;
    both(false);
    s.bp[5] = {77, kUserExec | bt(1)}; // an address
    both(false);
    s.bp[5] = {77, kUserExec | bt(3)};
    for (const unsigned wrong : {3u, 6u, 15u}) { // not context aware, not implemented
        s.bp[0].control = kUserExec | bt(1) | lbn(wrong);
        s.bp[3] = {77, kUserExec | bt(3)};
        CHECK_FALSE(stops(s, kPc));
    }
}

TEST_CASE("a watchpoint fires on any byte of any access that overlaps", "[DBG-028][DBG-029]") {
    const State s = with_wp(1 | 2 << 1 | 3 << 3 | bas(0x30)); // bytes 4 and 5
    for (std::uint64_t at = 0; at < 16; ++at)
        for (const unsigned bytes : {1u, 2u, 4u, 8u, 16u, 32u, 64u})
            for (const std::uint64_t back : {0, 1, 3, 8, 20}) {
                const std::uint64_t va = kData + at - back;
                const bool overlaps = va < kData + 6 && va + bytes > kData + 4;
                CHECK(hit(s, va, bytes).has_value() == overlaps);
            }
    // Bit 2 of the value: a word, of which BAS[3:0] counts.
    const State word = with_wp(1 | 2 << 1 | 3 << 3 | bas(0xf2), kData + 4);
    CHECK(hit(word, kData + 5, 1));
    for (const unsigned other : {0u, 4u, 6u, 7u, 8u, 9u}) CHECK_FALSE(hit(word, kData + other, 1));
}

TEST_CASE("the direction must be asked for", "[DBG-028][DBG-030]") {
    for (unsigned lsc = 0; lsc < 4; ++lsc) {
        const State s = with_wp(1 | 2 << 1 | lsc << 3 | bas(0xff));
        CHECK(hit(s, kData, 8, false).has_value() == bool(lsc & 1));
        CHECK(hit(s, kData, 8, true).has_value() == bool(lsc & 2));
    }
    CHECK_FALSE(hit(with_wp(1 | 2 << 1 | 3 << 3), kData, 8)); // BAS 0
}

TEST_CASE("MASK widens the range; bytes may be picked singly", "[DBG-030][DBG-031]") {
    for (unsigned m = 3; m < 32; ++m) {
        const std::uint64_t size = 1ull << m, base = 0x0000'7f00'0000'0000;
        const State s = with_wp(kUserRw8 | m << 24, base);
        CHECK(hit(s, base, 1));
        CHECK(hit(s, base + size - 1, 1));
        CHECK_FALSE(hit(s, base - 1, 1));
        CHECK_FALSE(hit(s, base + size, 1));
        if (m > 3) CHECK_FALSE(hit(with_wp(kUserRw8 | m << 24, base + 8), base + 8, 1));
        CHECK_FALSE(hit(with_wp((kUserRw8 & ~bas(0x80)) | m << 24, base), base, 1));
    }
    for (const unsigned reserved : {1u, 2u}) CHECK_FALSE(hit(with_wp(kUserRw8 | reserved << 24), kData, 1));
    const State holes = with_wp(1 | 2 << 1 | 3 << 3 | bas(0xa5));
    for (unsigned b = 0; b < 8; ++b) CHECK(hit(holes, kData + b, 1).has_value() == bool(0xa5 >> b & 1));
    CHECK_FALSE(hit(holes, kData + 3, 2)); // bytes 3 and 4
}

TEST_CASE("a watchpoint looks at the access's level and the CPU's", "[DBG-027]") {
    State s = with_wp(kUserW8);
    const auto unprivileged = [&](bool d) { return watchpoint(s, kData, 8, true, EL::el0, EL::el1, d).has_value(); };
    CHECK_FALSE(unprivileged(false)); // taken from EL1, where KDE is 0
    s.mdscr |= mdscr::KDE;
    CHECK(unprivileged(false));
    CHECK_FALSE(unprivileged(true));
    CHECK_FALSE(watchpoint(s, kData, 8, true, EL::el1, EL::el1, false)); // the kernel's own access
}

TEST_CASE("FAR is the lowest address accessed, or the start of the block of the watched byte", "[DBG-037][DBG-038]") {
    const State s = with_wp(1 | 2 << 1 | 3 << 3 | bas(0xf0)); // 0x2004 to 0x2007
    CHECK(hit(s, kData, 8) == kData);
    CHECK(hit(s, kData + 4, 4) == kData + 4);
    CHECK(hit(s, kData + 6, 8) == kData + 6);
    CHECK(hit(s, kData - 8, 16) == kData); // begins in the block before
    CHECK_FALSE(hit(s, kData - 60, 64));   // the last byte is 0x2003
    const State far_end = with_wp(kUserW8, kData + 56);
    CHECK(hit(far_end, kData, 64) == kData); // DC ZVA
    CHECK(hit(far_end, kData + 50, 32) == kData + 50);
}

TEST_CASE("ranges tell where a register may match", "[DBG-016][DBG-028]") {
    const auto bp = breakpoint_range(with_bp(kUserExec), 0, EL::el0);
    REQUIRE(bp);
    CHECK(bp->first == kPc);
    CHECK(bp->last == kPc + 3);
    CHECK_FALSE(breakpoint_range(with_bp(kUserExec), 1, EL::el0));
    CHECK_FALSE(breakpoint_range(with_bp(kUserExec), 0, EL::el1));
    const auto wp = watchpoint_range(with_wp(kUserRw8 | 12u << 24, kData), 1, EL::el0);
    REQUIRE(wp);
    CHECK(wp->first == kData);
    CHECK(wp->last == kData + 4095);
    CHECK_FALSE(watchpoint_range(with_wp(kUserRw8 & ~0x18u), 1, EL::el0));
}

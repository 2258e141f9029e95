// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/probes/decode_insn.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace rkperf::ke;

namespace {

constexpr auto kSlot = ProbeInsn::INSN_GOOD, kSimulated = ProbeInsn::INSN_GOOD_NO_SLOT,
               kRefused = ProbeInsn::INSN_REJECTED;

struct Case {
    std::uint32_t insn;
    ProbeInsn kind;
    const char* text;
};

void check(const std::vector<Case>& cases) {
    for (const Case& c : cases) {
        INFO(c.text << " " << std::hex << c.insn);
        CHECK(arm_probe_decode_insn(c.insn) == c.kind);
    }
}

std::uint32_t hint(unsigned n) { return 0xd503201f | n << 5; }

PtRegs at(std::uint64_t pc) {
    PtRegs r;
    for (unsigned i = 0; i < 31; ++i) r.regs[i] = 0x1000 + i;
    r.sp = 0x7000;
    r.pc = pc;
    return r;
}

/// Simulates one instruction at 0x400100; the pc that follows.
std::uint64_t next(std::uint32_t insn, PtRegs& r) {
    r.pc = 0x400100;
    simulate_insn(insn, 0x400100, r);
    return r.pc;
}

} // namespace

TEST_CASE("Plain instructions run in a slot, branches and addresses are simulated, the rest is refused", "[UPR-069]") {
    check({
        {0x8b010000, kSlot, "add x0, x0, x1"},
        {0xf9400000, kSlot, "ldr x0, [x0]"},
        {0x1e602800, kSlot, "fadd d0, d0, d0"},
        {0x54000040, kSimulated, "b.eq"},
        {0xb4000040, kSimulated, "cbz x0"},
        {0x35000040, kSimulated, "cbnz w0"},
        {0x36000040, kSimulated, "tbz w0, #0"},
        {0xb7f80040, kSimulated, "tbnz x0, #63"},
        {0x10000040, kSimulated, "adr"},
        {0xb0000000, kSimulated, "adrp"},
        {0x14000002, kSimulated, "b"},
        {0x94000002, kSimulated, "bl"},
        {0xd61f0060, kSimulated, "br x3"},
        {0xd63f0060, kSimulated, "blr x3"},
        {0xd65f03c0, kSimulated, "ret"},
    });
}

TEST_CASE("Of the system class, what traps or writes is refused and what reads or orders is stepped", "[UPR-070]") {
    check({
        {0xd51bd043, kRefused, "msr tpidr_el0, x3"},
        {0xd50342df, kRefused, "msr daifset, #2"},
        {0xd4000001, kRefused, "svc #0"},
        {0xd4000002, kRefused, "hvc #0"},
        {0xd4000003, kRefused, "smc #0"},
        {0xd4200020, kRefused, "brk #1"},
        {0xd4400000, kRefused, "hlt #0"},
        {0xd4a00001, kRefused, "dcps1"},
        {0xd69f03e0, kRefused, "eret"},
        {0xd69f0bff, kRefused, "eretaa"},
        {0xd53b4223, kRefused, "mrs x3, daif"},
        {0xd53bd043, kSlot, "mrs x3, tpidr_el0"},
        {0xd53b4203, kSlot, "mrs x3, nzcv"},
        {0xd5033bbf, kSlot, "dmb ish"},
        {0xd5033b9f, kSlot, "dsb ish"},
        {0xd5033fdf, kSlot, "isb"},
        {0xd50330ff, kSlot, "sb"},
        {0xd5033f5f, kSlot, "clrex"},
        {0xd50b7420, kSlot, "dc zva, x0"},
        {0xd50b7520, kSlot, "ic ivau, x0"},
    });
}

TEST_CASE("Twelve hints are stepped, among them PACIASP but not AUTIASP", "[UPR-071]") {
    for (unsigned n = 0; n < 128; ++n) {
        const bool good =
            n == 0 || n == 7 || n == 8 || n == 10 || (n >= 24 && n <= 27) || n == 32 || n == 34 || n == 36 || n == 38;
        INFO("hint #" << n);
        CHECK(arm_probe_decode_insn(hint(n)) == (good ? kSlot : kRefused));
    }
}

TEST_CASE("Branches with pointer authentication are refused", "[UPR-072]") {
    check({
        {0xd61f081f, kRefused, "braaz x0"},
        {0xd71f0801, kRefused, "braa x0, x1"},
        {0xd63f081f, kRefused, "blraaz x0"},
        {0xd73f0801, kRefused, "blraa x0, x1"},
        {0xd65f0bff, kRefused, "retaa"},
        {0xd65f0fff, kRefused, "retab"},
    });
}

TEST_CASE("Loads of literals into general registers are refused, into vector registers stepped", "[UPR-073][UPR-074]") {
    check({
        {0x18000040, kRefused, "ldr w0, literal"},
        {0x58000040, kRefused, "ldr x0, literal"},
        {0x98000040, kRefused, "ldrsw x0, literal"},
        {0xd8000040, kRefused, "prfm pldl1keep, literal"},
        {0x1c000040, kSlot, "ldr s0, literal"},
        {0x5c000040, kSlot, "ldr d0, literal"},
        {0x9c000040, kSlot, "ldr q0, literal"},
    });
}

TEST_CASE("Exclusives and CASP are refused, other atomics are stepped", "[UPR-075]") {
    check({
        {0xc85f7c23, kRefused, "ldxr x3, [x1]"},
        {0xc8047c23, kRefused, "stxr w4, x3, [x1]"},
        {0xc87f0c22, kRefused, "ldxp x2, x3, [x1]"},
        {0xc8200c22, kRefused, "stxp w0, x2, x3, [x1]"},
        {0x885ffc20, kRefused, "ldaxr w0, [x1]"},
        {0x8800fc22, kRefused, "stlxr w0, w2, [x1]"},
        {0x48207c82, kRefused, "casp x0, x1, x2, x3, [x4]"},
        {0xc8a07c82, kSlot, "cas x0, x2, [x4]"},
        {0xc8dffc20, kSlot, "ldar x0, [x1]"},
        {0xc89ffc20, kSlot, "stlr x0, [x1]"},
        {0xf8200023, kSlot, "ldadd x0, x3, [x1]"},
        {0xf8208023, kSlot, "swp x0, x3, [x1]"},
    });
}

TEST_CASE("Unallocated encodings are stepped, whatever comes of it", "[UPR-076]") {
    check({
        {0x00000000, kSlot, "udf #0"},
        {0x0000ffff, kSlot, "udf #65535"},
        {0x54000010, kSlot, "unallocated, next to b.eq"},
        {0xd69f03e1, kSlot, "unallocated, next to eret"},
    });
}

TEST_CASE("Every trap instruction is refused by the decoder", "[UPR-077]") {
    for (unsigned imm : {0u, 1u, 4u, 5u, 0x400u, 0xffffu})
        CHECK(arm_probe_decode_insn(0xd4200000 | imm << 5) == kRefused);
}

TEST_CASE("Register 31 reads as zero and swallows what is written", "[UPR-078]") {
    PtRegs r = at(0);
    CHECK(next(0xb400005f, r) == 0x400108); // cbz xzr, +8
    CHECK(next(0xb500005f, r) == 0x400104); // cbnz xzr
    CHECK(next(0x3600005f, r) == 0x400108); // tbz wzr, #0
    const PtRegs before = r;
    CHECK(next(0x1000005f, r) == 0x400104); // adr xzr, +8
    CHECK(r.sp == before.sp);
    for (unsigned i = 0; i < 31; ++i) CHECK(r.regs[i] == before.regs[i]);
}

TEST_CASE("Direct and conditional branches go where the instruction says", "[UPR-079]") {
    PtRegs r = at(0);
    CHECK(next(0x14000002, r) == 0x400108); // b +8
    CHECK(next(0x17ffffff, r) == 0x4000fc); // b -4
    CHECK(r.regs[30] == 0x1000 + 30);
    CHECK(next(0x97ffffff, r) == 0x4000fc); // bl -4
    CHECK(r.regs[30] == 0x400104);
    r.regs[3] = 0x100000000;
    CHECK(next(0x34000043, r) == 0x400108); // cbz w3: the low half is 0
    CHECK(next(0xb4000043, r) == 0x400104); // cbz x3
    CHECK(next(0xb5000043, r) == 0x400108); // cbnz x3
    CHECK(next(0x35ffffc3, r) == 0x400104); // cbnz w3
    r.regs[3] = 0x10;
    CHECK(next(0x37200043, r) == 0x400108); // tbnz w3, #4, +8
    CHECK(next(0x36200043, r) == 0x400104); // tbz w3, #4
    r.regs[3] = 1ull << 63;
    CHECK(next(0xb7f80043, r) == 0x400108); // tbnz x3, #63
    CHECK(next(0xb6f80043, r) == 0x400104); // tbz x3, #63
}

TEST_CASE("B.cond tests the saved flags; conditions 14 and 15 always hold", "[UPR-079]") {
    // By condition: whether it holds for each value of NZCV, as the architecture says.
    for (unsigned flags = 0; flags < 16; ++flags)
        for (unsigned cond = 0; cond < 16; ++cond) {
            const bool n = flags & 8, z = flags & 4, c = flags & 2, v = flags & 1;
            bool holds = false;
            switch (cond >> 1) {
                case 0: holds = z; break;
                case 1: holds = c; break;
                case 2: holds = n; break;
                case 3: holds = v; break;
                case 4: holds = c && !z; break;
                case 5: holds = n == v; break;
                case 6: holds = n == v && !z; break;
                default: holds = true; break;
            }
            if ((cond & 1) && cond != 15) holds = !holds;
            PtRegs r = at(0);
            r.pstate = std::uint64_t{flags} << 28;
            INFO("cond " << cond << " nzcv " << flags);
            CHECK(next(0x54000040 | cond, r) == (holds ? 0x400108u : 0x400104u));
        }
}

TEST_CASE("BLR reads its target before it writes the link register", "[UPR-080]") {
    PtRegs r = at(0);
    r.regs[30] = 0x500000;
    CHECK(next(0xd63f03c0, r) == 0x500000); // blr x30
    CHECK(r.regs[30] == 0x400104);
    r.regs[3] = 0x600000;
    CHECK(next(0xd61f0060, r) == 0x600000); // br x3
    CHECK(r.regs[30] == 0x400104);
    CHECK(next(0xd65f03c0, r) == 0x400104); // ret
}

TEST_CASE("ADR and ADRP count from the probed address", "[UPR-081][UPR-082]") {
    PtRegs r = at(0);
    r.pc = 0x400ffc;
    simulate_insn(0x10000043, 0x400ffc, r); // adr x3, +8
    CHECK(r.regs[3] == 0x401004);
    CHECK(r.pc == 0x401000);
    simulate_insn(0x70ffffe3, 0x400ffc, r); // adr x3, -1
    CHECK(r.regs[3] == 0x400ffb);
    simulate_insn(0xb0000003, 0x400ffc, r); // adrp x3, +1 page
    CHECK(r.regs[3] == 0x401000);
    simulate_insn(0xf0ffffe3, 0x400ffc, r); // adrp x3, -1 page
    CHECK(r.regs[3] == 0x3ff000);
}

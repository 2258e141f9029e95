// SPDX-License-Identifier: Apache-2.0
// What Unicorn does not show: faults leave nothing behind, alignment, SP alignment, exceptions, undefined encodings.
#include "tests/models/a64/bench_machine.h"

#include <catch2/catch.hpp>

namespace rkperf::a64 {
namespace {

using test::Bench;
using test::FlatMemory;

struct Word {
    std::uint32_t raw;
    const char* text;
};

constexpr Word kLoads[] = {
    {0xa8c10440, "ldp x0, x1, [x2], #16"},
    {0x68c10440, "ldpsw x0, x1, [x2], #8"},
    {0xf8408440, "ldr x0, [x2], #8"},
    {0xacc10440, "ldp q0, q1, [x2], #32"},
    {0x4cdf0040, "ld4 {v0.16b-v3.16b}, [x2], #64"},
    {0x0dc43440, "ld3 {v0.b-v2.b}[5], [x2], x4"},
    {0x4d60cc40, "ld2r {v0.2d, v1.2d}, [x2]"},
    {0xf85f8449, "ldr x9, [x2], #-8"},
};
constexpr Word kStores[] = {
    {0xa8810440, "stp x0, x1, [x2], #16"},
    {0xf8008440, "str x0, [x2], #8"},
    {0xac810440, "stp q0, q1, [x2], #32"},
    {0x4c9f0040, "st4 {v0.16b-v3.16b}, [x2], #64"},
    {0x4c842040, "st1 {v0.16b-v3.16b}, [x2], x4"},
    {0x4d208440, "st2 {v0.d, v1.d}[1], [x2]"},
    {0xa8000440, "stnp x0, x1, [x2]"},
    {0xf8000840, "sttr x0, [x2]"},
    {0xf8000040, "stur x0, [x2]"},
};

void check_fault(Bench& m, const Word& w, std::uint64_t va, std::uint64_t address, std::uint8_t status, bool write) {
    INFO(w.text);
    m.state.x[2] = va;
    const auto before = m.picture();
    CHECK(m.run(w.raw) == Stop::data_abort);
    CHECK(m.state.fault.addr == address);
    CHECK(m.state.fault.status == status);
    CHECK(m.state.fault.write == write);
    CHECK(m.picture() == before);
}

} // namespace

TEST_CASE("a load whose second page faults changes nothing") {
    Bench m;
    for (const Word& w : kLoads) {
        check_fault(m, w, Bench::kAbsent - 1, Bench::kAbsent, FlatMemory::kTranslation, false);
        check_fault(m, w, Bench::kAbsent + 8, Bench::kAbsent + 8, FlatMemory::kTranslation, false);
        check_fault(m, w, Bench::kBase - 1, Bench::kBase - 1, FlatMemory::kTranslation, false); // first part
    }
}

TEST_CASE("a store whose second page faults writes nothing to the first") {
    Bench m;
    for (const Word& w : kStores) {
        check_fault(m, w, Bench::kReadOnly - 1, Bench::kReadOnly, FlatMemory::kPermission, true);
        check_fault(m, w, Bench::kReadOnly + 32, Bench::kReadOnly + 32, FlatMemory::kPermission, true);
        check_fault(m, w, Bench::kBase - 1, Bench::kBase - 1, FlatMemory::kTranslation, true);
    }
}

TEST_CASE("pre-indexed faults keep the base") {
    Bench m;
    check_fault(m, {0xa9c10440, "ldp x0, x1, [x2, #16]!"}, Bench::kAbsent - 24, Bench::kAbsent,
                FlatMemory::kTranslation, false);
    check_fault(m, {0x3cc10c40, "ldr q0, [x2, #16]!"}, Bench::kAbsent - 24, Bench::kAbsent, FlatMemory::kTranslation,
                false);
    check_fault(m, {0xa9810440, "stp x0, x1, [x2, #16]!"}, Bench::kReadOnly - 24, Bench::kReadOnly,
                FlatMemory::kPermission, true);
    check_fault(m, {0x3c810c40, "str q0, [x2, #16]!"}, Bench::kReadOnly - 24, Bench::kReadOnly, FlatMemory::kPermission,
                true);
}

TEST_CASE("accesses across two mapped pages join them") {
    Bench m;
    m.state.x[2] = Bench::kReadOnly - 5;
    CHECK(m.run(0xf8408440) == Stop::none); // ldr x0, [x2], #8
    std::uint64_t expected;
    std::memcpy(&expected, m.bytes.data() + kPageSize - 5, 8);
    CHECK(m.state.x[0] == expected);
    CHECK(m.state.x[2] == Bench::kReadOnly + 3);
    CHECK(m.state.mem.last_va == Bench::kReadOnly - 5);
}

TEST_CASE("atomics fault as writes of the page and change nothing") {
    Bench m;
    for (const Word& w : {Word{0xf8e00041, "ldaddal x0, x1, [x2]"},
                          {0xb8208041, "swp w0, w1, [x2]"},
                          {0xc8e0fc41, "casal x0, x1, [x2]"},
                          {0x4860fc44, "caspal x0, x1, x4, x5, [x2]"}}) {
        check_fault(m, w, Bench::kReadOnly + 32, Bench::kReadOnly + 32, FlatMemory::kPermission, true);
        check_fault(m, w, Bench::kAbsent, Bench::kAbsent, FlatMemory::kTranslation, true);
        CHECK(m.memory.last_kind == AccessKind::atomic);
    }
}

TEST_CASE("exclusives, ordered accesses and atomics need alignment") {
    constexpr std::uint8_t kAlignment = 0x21;
    struct Case {
        Word word;
        unsigned size;
        bool write;
    };
    constexpr Case kCases[] = {
        {{0xc85f7c40, "ldxr x0, [x2]"}, 8, false},
        {{0x485f7c40, "ldxrh w0, [x2]"}, 2, false},
        {{0x887f0440, "ldxp w0, w1, [x2]"}, 8, false},
        {{0xc87f0440, "ldxp x0, x1, [x2]"}, 16, false},
        {{0xc8007c41, "stxr w0, x1, [x2]"}, 8, true},
        {{0xc8208444, "stlxp w0, x4, x1, [x2]"}, 16, true},
        {{0xc8dffc40, "ldar x0, [x2]"}, 8, false},
        {{0x48dffc40, "ldarh w0, [x2]"}, 2, false},
        {{0x889f7c40, "stllr w0, [x2]"}, 4, true},
        {{0xb8bfc040, "ldapr w0, [x2]"}, 4, false},
        {{0x48df7c40, "ldlarh w0, [x2]"}, 2, false},
        {{0x489f7c40, "stllrh w0, [x2]"}, 2, true},
        {{0x78206041, "ldumaxh w0, w1, [x2]"}, 2, false},
        {{0x48a07c41, "cash w0, w1, [x2]"}, 2, false},
        {{0x08207c44, "casp w0, w1, w4, w5, [x2]"}, 8, false},
        {{0x48207c44, "casp x0, x1, x4, x5, [x2]"}, 16, false},
    };
    Bench m;
    for (const Case& c : kCases) {
        const unsigned calls = m.memory.calls;
        for (unsigned off = 1; off < c.size; ++off) {
            const std::uint64_t va = Bench::kBase + 0x40 + off;
            check_fault(m, c.word, va, va, kAlignment, c.write);
        }
        CHECK(m.memory.calls == calls);
        INFO(c.word.text);
        m.state.x[2] = Bench::kBase + 0x40 + c.size;
        if (c.size < 16) CHECK(m.run(c.word.raw) == Stop::none);
    }
}

TEST_CASE("SP must be aligned as a base register") {
    constexpr Word kWords[] = {
        {0xf94003e0, "ldr x0, [sp]"},
        {0xf8408fe0, "ldr x0, [sp, #8]!"},
        {0xf84087e0, "ldr x0, [sp], #8"},
        {0xf84003e0, "ldur x0, [sp]"},
        {0xf8636be0, "ldr x0, [sp, x3]"},
        {0xb8635be0, "ldr w0, [sp, w3, uxtw #2]"},
        {0xb863cbe0, "ldr w0, [sp, w3, sxtw]"},
        {0xa94007e0, "ldp x0, x1, [sp]"},
        {0xa8c107e0, "ldp x0, x1, [sp], #16"},
        {0xa84007e0, "ldnp x0, x1, [sp]"},
        {0x390003e0, "strb w0, [sp]"},
        {0xa9bf07e0, "stp x0, x1, [sp, #-16]!"},
        {0x3dc003e0, "ldr q0, [sp]"},
        {0xfc636be0, "ldr d0, [sp, x3]"},
        {0x6dbf07e0, "stp d0, d1, [sp, #-16]!"},
        {0x4c4073e0, "ld1 {v0.16b}, [sp]"},
        {0x0d4003e0, "ld1 {v0.b}[0], [sp]"},
        {0x0d40c3e0, "ld1r {v0.8b}, [sp]"},
        {0x0c9f03e0, "st4 {v0.8b-v3.8b}, [sp], #32"},
        {0xc85f7fe0, "ldxr x0, [sp]"},
        {0xc87f07e0, "ldxp x0, x1, [sp]"},
        {0xc8007fe1, "stxr w0, x1, [sp]"},
        {0x88dfffe0, "ldar w0, [sp]"},
        {0x089fffe0, "stlrb w0, [sp]"},
        {0x78bfc3e0, "ldaprh w0, [sp]"},
        {0xf82003e1, "ldadd x0, x1, [sp]"},
        {0x38a083e1, "swpab w0, w1, [sp]"},
        {0xc8a07fe1, "cas x0, x1, [sp]"},
        {0x0860ffe4, "caspal w0, w1, w4, w5, [sp]"},
    };
    for (const Word& w : kWords) {
        INFO(w.text);
        Bench m;
        m.state.x[3] = 0;
        m.state.x[kSp] = Bench::kBase + 0x108;
        const auto before = m.picture();
        CHECK(m.run(w.raw) == Stop::sp_alignment);
        CHECK(m.picture() == before);
        CHECK(m.memory.calls == 0);
        m.state.x[kSp] = Bench::kBase + 0x110;
        CHECK(m.run(w.raw) == Stop::none);
    }
}

TEST_CASE("prefetch never faults") {
    Bench m;
    m.state.x[kSp] = Bench::kBase + 0x108;
    CHECK(m.run(0xf98003e0) == Stop::none); // prfm pldl1keep, [sp]
    m.state.x[2] = Bench::kAbsent;
    const auto before = m.picture();
    CHECK(m.run(0xf9800050) == Stop::none); // prfm pstl1keep, [x2]
    CHECK(m.memory.last_kind == AccessKind::prefetch);
    CHECK(m.state.mem.last_va == Bench::kAbsent);
    auto after = before;
    after.pc += 4;
    CHECK(m.picture() == after);
    for (const std::uint32_t beyond : {0xf9800043u, 0xf9800044u}) { // prfm pldl2strm, pldl3keep, [x2]
        CHECK(m.run(beyond) == Stop::none);
        CHECK(m.memory.last_kind == AccessKind::prefetch_beyond);
    }
}

TEST_CASE("store-exclusive without the monitor does not touch memory") {
    Bench m;
    m.state.x[2] = Bench::kAbsent;
    CHECK(m.run(0xc8007c41) == Stop::none); // stxr w0, x1, [x2]
    CHECK(m.state.x[0] == 1);
    CHECK(m.memory.calls == 0);
}

TEST_CASE("load-exclusive arms the monitor, store-exclusive uses it up") {
    Bench m;
    m.state.x[2] = Bench::kBase + 64;
    CHECK(m.run(0xc85f7c40) == Stop::none); // ldxr x0, [x2]
    REQUIRE(m.memory.monitor);
    CHECK(m.memory.monitor->first == Bench::kBase + 64);
    CHECK(m.memory.monitor->second == 8);
    CHECK(m.run(0xc8007c41) == Stop::none); // stxr w0, x1, [x2]
    CHECK(m.state.x[0] == 0);
    CHECK_FALSE(m.memory.monitor);
    std::uint64_t stored;
    std::memcpy(&stored, m.bytes.data() + 64, 8);
    CHECK(stored == m.state.x[1]);
    CHECK(m.run(0xc8007c41) == Stop::none);
    CHECK(m.state.x[0] == 1);
    CHECK(m.run(0xc87f0440) == Stop::none); // ldxp x0, x1, [x2]
    REQUIRE(m.memory.monitor);
    CHECK(m.memory.monitor->second == 16);
    CHECK(m.run(0xd5033f5f) == Stop::none); // clrex
    CHECK_FALSE(m.memory.monitor);
    // A faulting load does not arm it; a faulting store neither reports nor stores.
    m.state.x[2] = Bench::kAbsent;
    CHECK(m.run(0xc85f7c40) == Stop::data_abort);
    CHECK_FALSE(m.memory.monitor);
    m.state.x[2] = Bench::kReadOnly;
    CHECK(m.run(0xc85f7c40) == Stop::none);
    const auto before = m.picture();
    CHECK(m.run(0xc8007c41) == Stop::data_abort);
    CHECK(m.picture() == before);
}

TEST_CASE("the line cache is used, and only where it is true") {
    Bench m;
    m.memory.fill_lines = true;
    m.state.x[2] = Bench::kBase + 8;
    CHECK(m.run(0xf8408440) == Stop::none); // ldr x0, [x2], #8 fills
    CHECK(m.memory.calls == 1);
    CHECK(m.state.mem.accesses == 0);
    CHECK(m.run(0xf8408440) == Stop::none);
    CHECK(m.run(0xf8008440) == Stop::none); // str x0, [x2], #8
    CHECK(m.run(0xf8e00041) == Stop::none); // ldaddal x0, x1, [x2]
    CHECK(m.memory.calls == 1);
    CHECK(m.state.mem.accesses == 3);
    CHECK(m.state.mem.clock == 3);
    CHECK(m.state.mem.last_va == Bench::kBase + 32);
    m.state.x[2] = Bench::kBase + 60; // leaves the line
    CHECK(m.run(0xf8408440) == Stop::none);
    CHECK(m.memory.calls == 2);
    m.state.x[2] = Bench::kReadOnly; // readable, not writable
    CHECK(m.run(0xf8408440) == Stop::none);
    m.state.x[2] = Bench::kReadOnly;
    CHECK(m.run(0xf8408440) == Stop::none);
    CHECK(m.memory.calls == 3);
    CHECK(m.run(0xf8008440) == Stop::data_abort);
    CHECK(m.memory.calls == 4);
}

TEST_CASE("exceptions and their program counters") {
    Bench m;
    CHECK(m.run(0xd40000e1) == Stop::svc);
    CHECK(m.state.stop_info == 7);
    CHECK(m.state.pc == 0x400004);
    CHECK_FALSE(m.state.branch_taken);
    CHECK(m.run(0xd4224680) == Stop::brk);
    CHECK(m.state.stop_info == 0x1234);
    CHECK(m.state.pc == 0x400004);
    CHECK(m.run(0xd44000a0) == Stop::hlt);
    CHECK(m.state.pc == 0x400004);
}

TEST_CASE("undefined at EL0") {
    for (const Word& w : {Word{0x00000000, "udf #0"},
                          {0xd4000002, "hvc #0"},
                          {0xd4000003, "smc #0"},
                          {0xd69f03e0, "eret"},
                          {0xd500419f, "msr pan, #1"},
                          {0xd50041bf, "msr spsel, #1"},
                          {0xd5087620, "dc ivac, x0"},
                          {0xd508871f, "tlbi vmalle1"},
                          {0xd5087800, "at s1e1r, x0"},
                          {0xd51bd066, "msr tpidrro_el0, x6"},
                          {0xd71f0a11, "braa x16, x17"},
                          {0x48217c44, "casp x1"}}) {
        INFO(w.text);
        Bench m;
        const auto before = m.picture();
        CHECK(m.run(w.raw) == Stop::undefined);
        CHECK(m.picture() == before);
    }
}

TEST_CASE("branches through the link register") {
    Bench m;
    m.state.x[30] = 0x1234560;
    CHECK(m.run(0xd63f03c0) == Stop::none); // blr x30
    CHECK(m.state.pc == 0x1234560);
    CHECK(m.state.x[30] == 0x400004);
    CHECK(m.state.branch_taken);
    CHECK(m.run(0xd65f03c0) == Stop::none); // ret
    CHECK(m.state.pc == 0x400004);
}

} // namespace rkperf::a64

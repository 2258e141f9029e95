// SPDX-License-Identifier: Apache-2.0
// Classic BPF for seccomp. The expected acceptance and results are those of Linux 6.1 (tests/guest/sec_filter.c).
#include "sim/os/seccomp/bpf.h"

#include <catch2/catch.hpp>
#include <initializer_list>
#include <random>
#include <vector>

using namespace rkperf::os::bpf;

namespace {

constexpr std::uint16_t kLoad = 0x20, kReturn = 0x06, kReturnA = 0x16, kStore = 0x02, kLoadMem = 0x60, kJumpEq = 0x15,
                        kJump = 0x05, kDivX = 0x3c, kLoadX = 0x01, kShiftX = 0x6c, kNegate = 0x84, kLength = 0x80,
                        kMod = 0x94;

bool accepted(std::initializer_list<Insn> program) { return valid(std::vector<Insn>(program)); }

std::uint32_t result(std::initializer_list<Insn> list, const SeccompData& data = {}) {
    const std::vector<Insn> program(list);
    REQUIRE(valid(program));
    unsigned executed = 0;
    return run(program, data, executed);
}

TEST_CASE("seccomp's BPF refuses what would leave the program, the data or the memory") {
    CHECK(accepted({{kReturn, 0, 0, 1}}));
    CHECK_FALSE(accepted({}));
    CHECK_FALSE(accepted({{kLoad, 0, 0, 0}}));
    CHECK_FALSE(accepted({{kLoad, 0, 0, 64}, {kReturn, 0, 0, 0}}));
    CHECK_FALSE(accepted({{kLoad, 0, 0, 2}, {kReturn, 0, 0, 0}}));
    CHECK_FALSE(accepted({{kMod, 0, 0, 3}, {kReturn, 0, 0, 0}}));
    CHECK_FALSE(accepted({{kStore, 0, 0, 16}, {kReturn, 0, 0, 0}}));
    CHECK_FALSE(accepted({{kLoadMem, 0, 0, 0}, {kReturn, 0, 0, 0}}));
    CHECK_FALSE(accepted({{kJump, 0, 0, 1}, {kReturn, 0, 0, 0}}));
    CHECK_FALSE(accepted({{kJump, 0, 0, ~0u}, {kReturn, 0, 0, 0}}));
    CHECK_FALSE(accepted({{kJumpEq, 0, 1, 0}, {kReturn, 0, 0, 0}}));
    CHECK_FALSE(accepted({{0xffff, 0, 0, 0}, {kReturn, 0, 0, 0}}));
    // Stored on one of the two ways only.
    CHECK_FALSE(accepted({{kJumpEq, 0, 1, 7}, {kStore, 0, 0, 1}, {kLoadMem, 0, 0, 1}, {kReturn, 0, 0, 0}}));
    CHECK(
        accepted({{kStore, 0, 0, 1}, {kJumpEq, 0, 1, 7}, {kStore, 0, 0, 2}, {kLoadMem, 0, 0, 1}, {kReturn, 0, 0, 0}}));
    CHECK(valid(std::vector<Insn>(kMaxInsns, Insn{kReturn, 0, 0, 0})));
    CHECK_FALSE(valid(std::vector<Insn>(kMaxInsns + 1, Insn{kReturn, 0, 0, 0})));
}

TEST_CASE("seccomp's BPF computes with 32 bits") {
    SeccompData data{};
    data.nr = 172;
    data.args[1] = 0x1122334455667788;
    CHECK(result({{kLoad, 0, 0, 0}, {kReturnA, 0, 0, 0}}, data) == 172);
    CHECK(result({{kLoad, 0, 0, 28}, {kReturnA, 0, 0, 0}}, data) == 0x11223344);
    CHECK(result({{kLength, 0, 0, 0}, {kReturnA, 0, 0, 0}}) == 64);
    CHECK(result({{kLength, 0, 0, 0}, {kNegate, 0, 0, 0}, {kReturnA, 0, 0, 0}}) == 0xffffffc0);
    CHECK(result({{kLoadX, 0, 0, 0}, {kDivX, 0, 0, 0}, {kReturn, 0, 0, 9}}) == 0); // ends the program
    CHECK(result({{kLength, 0, 0, 0}, {kLoadX, 0, 0, 33}, {kShiftX, 0, 0, 0}, {kReturnA, 0, 0, 0}}) == 128);
}

TEST_CASE("whatever seccomp's BPF accepts ends, within the program") {
    std::mt19937 random(1);
    const std::uint16_t codes[] = {kLoad, kReturn, kReturnA, kStore,  kLoadMem, kJumpEq,
                                   kJump, kDivX,   kLoadX,   kShiftX, kNegate};
    unsigned good = 0;
    for (unsigned n = 0; n < 200'000; ++n) {
        std::vector<Insn> program(1 + random() % 12);
        for (Insn& i : program)
            i = {codes[random() % std::size(codes)], static_cast<std::uint8_t>(random() % 6),
                 static_cast<std::uint8_t>(random() % 6), static_cast<std::uint32_t>(random() % 20)};
        if (!valid(program)) continue;
        ++good;
        unsigned executed = 0;
        run(program, SeccompData{}, executed);
        REQUIRE(executed < program.size());
    }
    CHECK(good > 1000);
}

} // namespace

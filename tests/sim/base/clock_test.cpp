// SPDX-License-Identifier: Apache-2.0
#include "sim/base/clock.h"

#include <catch2/catch.hpp>

using namespace rkperf;

namespace {

__extension__ using Wide = unsigned __int128;
constexpr std::uint64_t kSecond = Clock::kPicosPerSecond;

std::uint64_t begins(std::uint64_t cycle, std::uint64_t hertz) {
    return static_cast<std::uint64_t>((static_cast<Wide>(cycle) * kSecond + hertz - 1) / hertz);
}

} // namespace

TEST_CASE("a cycle begins at the next whole picosecond, however far away and at any frequency") {
    for (const std::uint64_t hertz :
         {24'000'000ull, 408'000'000ull, 1'800'000'000ull, 2'400'000'000ull, 2'256'000'001ull, 1'000'000'007ull, 3ull})
        for (const std::uint64_t cycle : {0ull, 1ull, 2ull, 7ull, 999ull, 1'000'003ull, 123'456'789'012ull}) {
            INFO(hertz << " Hz, cycle " << cycle);
            if (static_cast<Wide>(cycle) * kSecond / hertz >> 63) continue;
            const Clock clock(hertz);
            const Picoseconds t = clock.time_of(Cycles(cycle));
            CHECK(t.v == begins(cycle, hertz));
            CHECK(clock.cycle_at(t).v == cycle);
            if (cycle) CHECK(clock.cycle_at(t + Picoseconds(1)).v == cycle + 1);
        }
    // Products beyond 64 bits: 200 days at an odd frequency.
    const std::uint64_t far = 17'280'000ull * 1'000'000'007;
    CHECK(Clock(1'000'000'007).time_of(Cycles(far)).v == 17'280'000ull * kSecond);
    CHECK(Clock(1'000'000'007).cycle_at(Picoseconds(17'280'000ull * kSecond)).v == far);
}

TEST_CASE("a new frequency holds from the cycle on at which it is set") {
    Clock clock(1'000'000'000);
    clock.set_hertz(2'000'000'000, Cycles(1000));
    CHECK(clock.time_of(Cycles(1000)).v == 1'000'000);
    CHECK(clock.time_of(Cycles(1002)).v == 1'001'000);
    CHECK(clock.cycle_at(Picoseconds(1'001'000)).v == 1002);
    CHECK(clock.cycle_at(Picoseconds(5)).v == 1000);
    clock.resume_at(Cycles(2000), Picoseconds(9'000'000));
    CHECK(clock.time_of(Cycles(2001)).v == 9'000'500);
    CHECK(clock.cycle_at(kNever).v == ~std::uint64_t{0});
}

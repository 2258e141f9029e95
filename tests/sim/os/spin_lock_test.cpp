// SPDX-License-Identifier: Apache-2.0
// Who waits for whom at a spin lock of kernel code.
#include "sim/os/spin_lock.h"

#include <catch2/catch.hpp>

using namespace rkperf;
using rkperf::os::LockUses;

namespace {

constexpr Picoseconds at(std::uint64_t ns) { return Picoseconds(ns * 1000); }

TEST_CASE("who comes while others hold a lock waits for the last of them") {
    LockUses uses;
    CHECK(uses.at(at(150), 1).others == 0);
    // Given a holder, and one who came meanwhile and held it after that
    uses.add(at(100), at(200), 0);
    uses.add(at(120), at(260), 1);
    // Then before and after nobody waits, between them for the holder alone, later for both: who is third queues.
    CHECK(uses.at(at(99), 2).others == 0);
    CHECK(uses.at(at(110), 2).others == 1);
    CHECK(uses.at(at(110), 2).until == at(200));
    CHECK(uses.at(at(130), 2).others == 2);
    CHECK(uses.at(at(130), 2).until == at(260));
    CHECK(uses.at(at(200), 2).others == 1);
    CHECK(uses.at(at(260), 2).others == 0);
    CHECK(uses.at(at(260), 2).until == Picoseconds{});
}

TEST_CASE("nobody waits for a lock that the same CPU held") {
    LockUses uses;
    uses.add(at(100), at(200), 3);
    CHECK(uses.at(at(150), 3).others == 0);
    CHECK(uses.at(at(150), 2).others == 1);
}

TEST_CASE("of a lock the latest sixteen uses are known") {
    LockUses uses;
    uses.add(at(0), at(10'000), 0);
    for (unsigned n = 0; n < 15; ++n) uses.add(at(n), at(n + 1), 1);
    CHECK(uses.at(at(5'000), 2).others == 1);
    uses.add(at(15), at(16), 1);
    CHECK(uses.at(at(5'000), 2).others == 0);
}

} // namespace

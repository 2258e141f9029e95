// SPDX-License-Identifier: Apache-2.0
// The crypto rows against Unicorn, and against vectors of the standards they implement.
#include "models/a64/crypto_aes.h"
#include "models/a64/tables.h"
#include "tests/models/a64/fp_cases.h"

#include <catch2/catch.hpp>

namespace rkperf::a64 {
namespace {

#ifdef RK_HAVE_UNICORN
TEST_CASE("crypto instructions agree with Unicorn") { test::diff_fp_rows(crypto_rows()); }
#endif

void run(CpuState& s, std::uint32_t raw) {
    const Insn insn = decode(raw);
    REQUIRE(insn.kind == InsnKind::crypto);
    insn.fn(s, insn);
}
void set_bytes(Vec& v, const char* hex) {
    for (unsigned n = 0; n < 16; ++n)
        v.b[n] = static_cast<std::uint8_t>(std::stoul(std::string(hex + 2 * n, 2), nullptr, 16));
}
std::string bytes(const Vec& v) {
    std::string out;
    for (const unsigned b : v.b) {
        out += "0123456789abcdef"[b >> 4];
        out += "0123456789abcdef"[b & 15];
    }
    return out;
}

} // namespace

TEST_CASE("AES round of FIPS 197 appendix B") {
    CpuState s;
    // Round 1: the state after key addition is given there; AESE adds its key first, so the key is 0.
    set_bytes(s.v[0], "193de3bea0f4e22b9ac68d2ae9f84808");
    run(s, 0x4e284820); // aese v0.16b, v1.16b
    CHECK(bytes(s.v[0]) == "d4bf5d30e0b452aeb84111f11e2798e5");
    run(s, 0x4e286800); // aesmc v0.16b, v0.16b
    CHECK(bytes(s.v[0]) == "046681e5e0cb199a48f8d37a2806264c");
    run(s, 0x4e287800); // aesimc v0.16b, v0.16b
    run(s, 0x4e285820); // aesd v0.16b, v1.16b
    CHECK(bytes(s.v[0]) == "193de3bea0f4e22b9ac68d2ae9f84808");
}

TEST_CASE("AES bodies give the same with and without the host's AES instructions") {
    if (!aes::host_has_aes()) {
        WARN("this host has no AES instructions; nothing to compare");
        return;
    }
    CpuState table, host;
    Insn round, mix;
    round.rd = mix.rn = 0, round.rn = 1, mix.rd = 2;
    const auto both = [&](Exec by_table, Exec by_host, const Insn& i) {
        by_table(table, i);
        by_host(host, i);
        REQUIRE(bytes(table.v[i.rd]) == bytes(host.v[i.rd]));
    };
    for (unsigned value = 0; value < 256; ++value) {
        for (unsigned n = 0; n < 16; ++n) {
            table.v[0].b[n] = static_cast<std::uint8_t>(value + 37 * n * n);
            table.v[1].b[n] = static_cast<std::uint8_t>(value * 11 + n);
        }
        host = table;
        both(aes::exec_round<false>, aes::exec_round_hw<false>, round);
        both(aes::exec_mix<false>, aes::exec_mix_hw<false>, mix);
        both(aes::exec_round<true>, aes::exec_round_hw<true>, round);
        both(aes::exec_mix<true>, aes::exec_mix_hw<true>, mix);
    }
}

TEST_CASE("SHA-256 of an empty message by the instructions") {
    // Round constants: fraction bits of the cube roots of the first 64 primes, by integer search.
    std::uint32_t k[64], h[8];
    unsigned found = 0;
    for (std::uint64_t p = 2; found < 64; ++p) {
        bool prime = true;
        for (std::uint64_t q = 2; q * q <= p; ++q) prime &= p % q != 0;
        if (!prime) continue;
        const auto root = [p](unsigned power, unsigned __int128 scaled) {
            std::uint64_t r = 0;
            for (std::uint64_t bit = std::uint64_t{1} << 40; bit; bit >>= 1) {
                const unsigned __int128 t = r | bit;
                if ((power == 3 ? t * t * t : t * t) <= scaled) r |= bit;
            }
            (void)p;
            return static_cast<std::uint32_t>(r);
        };
        k[found] = root(3, static_cast<unsigned __int128>(p) << 96);
        if (found < 8) h[found] = root(2, static_cast<unsigned __int128>(p) << 64);
        ++found;
    }
    CHECK(k[0] == 0x428a2f98);
    CHECK(h[7] == 0x5be0cd19);

    CpuState s;
    Vec* w = &s.v[16]; // v16-v19: the message schedule
    w[0].s[0] = 0x80000000;
    for (unsigned n = 0; n < 4; ++n) s.v[0].s[n] = h[n], s.v[1].s[n] = h[n + 4];
    for (unsigned round = 0; round < 64; round += 4) {
        for (unsigned n = 0; n < 4; ++n) s.v[2].s[n] = w[0].s[n] + k[round + n];
        s.v[3] = s.v[0];
        run(s, 0x5e024020); // sha256h q0, q1, v2.4s
        run(s, 0x5e025061); // sha256h2 q1, q3, v2.4s
        run(s, 0x5e282a30); // sha256su0 v16.4s, v17.4s
        run(s, 0x5e136250); // sha256su1 v16.4s, v18.4s, v19.4s
        const Vec next = w[0];
        w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = next;
    }
    const std::uint32_t expected[8] = {0xe3b0c442, 0x98fc1c14, 0x9afbf4c8, 0x996fb924,
                                       0x27ae41e4, 0x649b934c, 0xa495991b, 0x7852b855};
    for (unsigned n = 0; n < 8; ++n) CHECK(h[n] + (n < 4 ? s.v[0].s[n] : s.v[1].s[n - 4]) == expected[n]);
}

} // namespace rkperf::a64

// SPDX-License-Identifier: Apache-2.0
// Bodies of the AES instructions (Arm ARM C4.1.96, FIPS 197). In a header so that a test can run both those for hosts with
// AES instructions and those for hosts without.
#pragma once

#include "models/a64/insn.h"
#include "models/a64/state.h"

#include <array>
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rkperf::a64::aes {

using u8 = std::uint8_t;

/// Product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
constexpr u8 times(unsigned a, unsigned b) {
    unsigned r = 0;
    for (; b != 0; b >>= 1) {
        if (b & 1) r ^= a;
        a = a << 1 ^ (a & 0x80 ? 0x11b : 0);
    }
    return static_cast<u8>(r);
}

struct SubBytes {
    std::array<u8, 256> forward{}, inverse{};
};
constexpr SubBytes make_sub_bytes() {
    SubBytes s;
    for (unsigned v = 0; v < 256; ++v) {
        unsigned power = 1; // v^254 is the inverse, and 0 for 0
        for (unsigned n = 0; n < 254; ++n) power = times(power, v);
        unsigned r = 0x63;
        for (unsigned n = 0; n < 5; ++n) r ^= (power << n | power >> (8 - n)) & 0xff;
        s.forward[v] = static_cast<u8>(r);
        s.inverse[r] = static_cast<u8>(v);
    }
    return s;
}
inline constexpr SubBytes kSub = make_sub_bytes();

/// AESE, AESD: key addition, then the rows shifted and the bytes substituted. Byte 4c + r is row r of column c.
template <bool decrypts>
void exec_round(CpuState& s, const Insn& i) {
    const Vec &text = s.v[i.rd], &key = s.v[i.rn];
    Vec r;
    for (unsigned n = 0; n < 16; ++n) {
        const unsigned from = (decrypts ? n - 4 * (n & 3) : n + 4 * (n & 3)) & 15;
        const unsigned v = text.b[from] ^ key.b[from];
        r.b[n] = decrypts ? kSub.inverse[v] : kSub.forward[v];
    }
    s.v[i.rd] = r;
}

/// Columns multiplied by the circulant matrix whose first row is the coefficients, as a table per row of the input.
constexpr std::array<std::array<std::uint32_t, 256>, 4> make_mix(std::array<unsigned, 4> first_row) {
    std::array<std::array<std::uint32_t, 256>, 4> t{};
    for (unsigned in = 0; in < 4; ++in)
        for (unsigned v = 0; v < 256; ++v)
            for (unsigned out = 0; out < 4; ++out)
                t[in][v] |= static_cast<std::uint32_t>(times(v, first_row[(in - out) & 3])) << 8 * out;
    return t;
}
inline constexpr auto kMix = make_mix({2, 3, 1, 1});
inline constexpr auto kInverseMix = make_mix({14, 11, 13, 9});

template <bool decrypts>
void exec_mix(CpuState& s, const Insn& i) {
    constexpr const auto& table = decrypts ? kInverseMix : kMix;
    const Vec& in = s.v[i.rn];
    Vec r;
    for (unsigned c = 0; c < 4; ++c)
        r.s[c] =
            table[0][in.b[4 * c]] ^ table[1][in.b[4 * c + 1]] ^ table[2][in.b[4 * c + 2]] ^ table[3][in.b[4 * c + 3]];
    s.v[i.rd] = r;
}

#if defined(__x86_64__)
#define RK_TARGET_AES [[gnu::target("aes")]]
/// The host has AES instructions. Which bodies run depends on it, results do not.
inline bool host_has_aes() { return __builtin_cpu_supports("aes"); }

/// The host's last round without its key is what Arm's round is after its key.
template <bool decrypts>
RK_TARGET_AES void exec_round_hw(CpuState& s, const Insn& i) {
    auto* const text = reinterpret_cast<__m128i*>(s.v[i.rd].b);
    const __m128i keyed = _mm_xor_si128(*text, *reinterpret_cast<const __m128i*>(s.v[i.rn].b));
    const __m128i none = _mm_setzero_si128();
    *text = decrypts ? _mm_aesdeclast_si128(keyed, none) : _mm_aesenclast_si128(keyed, none);
}
/// The host mixes columns within a round only: what the last inverse round does before it undoes the rest.
template <bool decrypts>
RK_TARGET_AES void exec_mix_hw(CpuState& s, const Insn& i) {
    const __m128i in = *reinterpret_cast<const __m128i*>(s.v[i.rn].b), none = _mm_setzero_si128();
    *reinterpret_cast<__m128i*>(s.v[i.rd].b) =
        decrypts ? _mm_aesimc_si128(in) : _mm_aesenc_si128(_mm_aesdeclast_si128(in, none), none);
}
#else
#define RK_TARGET_AES
inline bool host_has_aes() { return false; }
template <bool decrypts>
inline constexpr auto exec_round_hw = exec_round<decrypts>;
template <bool decrypts>
inline constexpr auto exec_mix_hw = exec_mix<decrypts>;
#endif

} // namespace rkperf::a64::aes

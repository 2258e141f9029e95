// SPDX-License-Identifier: Apache-2.0
// AES instructions and the 64-bit polynomial multiplication. Arm ARM C4.1.96 (Cryptographic AES), FIPS 197.
#include "models/a64/crypto_tables.h"
#include "models/a64/simd_exec.h"

namespace rkperf::a64 {
namespace {

using T = TimingClass;
using u8 = std::uint8_t;
using u128 = unsigned __int128;

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
constexpr SubBytes kSub = make_sub_bytes();

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
constexpr auto kMix = make_mix({2, 3, 1, 1});
constexpr auto kInverseMix = make_mix({14, 11, 13, 9});

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

bool dec_round(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    set_v_merges(out);
    set_shape(out, 0, true);
    return true;
}
bool dec_mix(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    set_shape(out, 0, true);
    return true;
}

/// Carry-less product, four bits of b at a time.
u128 carry_less(std::uint64_t a, std::uint64_t b) {
    u128 multiple[16] = {0, a};
    for (unsigned n = 2; n < 16; ++n) multiple[n] = n & 1 ? multiple[n - 1] ^ a : multiple[n / 2] << 1;
    u128 r = 0;
    for (int n = 60; n >= 0; n -= 4) r = r << 4 ^ multiple[b >> n & 15];
    return r;
}
template <bool upper>
void exec_pmull(CpuState& s, const Insn& i) {
    const u128 r = carry_less(s.v[i.rn].d[upper], s.v[i.rm].d[upper]);
    s.v[i.rd].d[0] = static_cast<std::uint64_t>(r);
    s.v[i.rd].d[1] = static_cast<std::uint64_t>(r >> 64);
}
template <bool upper>
bool dec_pmull(std::uint32_t raw, Insn& out) {
    set_v_binary(raw, out);
    set_shape(out, 3, upper);
    return true;
}

constexpr InsnKind kCrypto = InsnKind::crypto;
// clang-format off
constexpr std::array kRows = {
    OpRow{0xfffffc00, 0x4e284800, "AESE", "aese", dec_round, exec_round<false>, T::aes, kCrypto},
    OpRow{0xfffffc00, 0x4e285800, "AESD", "aesd", dec_round, exec_round<true>, T::aes, kCrypto},
    OpRow{0xfffffc00, 0x4e286800, "AESMC", "aesmc", dec_mix, exec_mix<false>, T::aes_mc, kCrypto},
    OpRow{0xfffffc00, 0x4e287800, "AESIMC", "aesimc", dec_mix, exec_mix<true>, T::aes_mc, kCrypto},
    OpRow{0xffe0fc00, 0x0ee0e000, "PMULL_1q", "pmull", dec_pmull<false>, exec_pmull<false>, T::pmull, kCrypto},
    OpRow{0xffe0fc00, 0x4ee0e000, "PMULL2_1q", "pmull2", dec_pmull<true>, exec_pmull<true>, T::pmull, kCrypto},
};
// clang-format on
static_assert(table_sound(kRows, region::fp_simd));

} // namespace

std::span<const OpRow> crypto_aes_rows() { return kRows; }

} // namespace rkperf::a64

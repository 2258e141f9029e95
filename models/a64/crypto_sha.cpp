// SPDX-License-Identifier: Apache-2.0
// SHA-1 and SHA-256 instructions. Arm ARM C4.1.96 (Cryptographic two- and three-register SHA), FIPS 180-4.
#include "models/a64/crypto_tables.h"
#include "models/a64/simd_exec.h"

#include <bit>

namespace rkperf::a64 {
namespace {

using T = TimingClass;
using u32 = std::uint32_t;

u32 choose(u32 x, u32 y, u32 z) { return ((y ^ z) & x) ^ z; }
u32 parity(u32 x, u32 y, u32 z) { return x ^ y ^ z; }
u32 majority(u32 x, u32 y, u32 z) { return (x & y) | ((x | y) & z); }

/// Four rounds of SHA-1: rd holds a, b, c, d and rn e.
template <u32 (*mix)(u32, u32, u32)>
void exec_sha1_rounds(CpuState& s, const Insn& i) {
    Vec x = s.v[i.rd];
    const Vec w = s.v[i.rm];
    u32 e = s.v[i.rn].s[0];
    for (unsigned n = 0; n < 4; ++n) {
        const u32 a = e + std::rotl(x.s[0], 5) + mix(x.s[1], x.s[2], x.s[3]) + w.s[n];
        e = x.s[3];
        x.s[3] = x.s[2];
        x.s[2] = std::rotl(x.s[1], 30);
        x.s[1] = x.s[0];
        x.s[0] = a;
    }
    s.v[i.rd] = x;
}
void exec_sha1h(CpuState& s, const Insn& i) { set_scalar(s.v[i.rd], std::rotl(s.v[i.rn].s[0], 30)); }
void exec_sha1su0(CpuState& s, const Insn& i) {
    const Vec d = s.v[i.rd], n = s.v[i.rn], m = s.v[i.rm];
    s.v[i.rd].d[0] = d.d[1] ^ d.d[0] ^ m.d[0];
    s.v[i.rd].d[1] = n.d[0] ^ d.d[1] ^ m.d[1];
}
void exec_sha1su1(CpuState& s, const Insn& i) {
    Vec& d = s.v[i.rd];
    const Vec n = s.v[i.rn];
    for (unsigned l = 0; l < 3; ++l) d.s[l] = std::rotl(d.s[l] ^ n.s[l + 1], 1);
    d.s[3] = std::rotl(d.s[3], 1) ^ std::rotl(d.s[0], 1); // d.s[0] has been rotated once already
}

/// Four rounds of SHA-256: x holds a, b, c, d and y e, f, g, h.
void sha256_rounds(Vec& x, Vec& y, const Vec& w) {
    for (unsigned n = 0; n < 4; ++n) {
        const u32 sigma1 = std::rotr(y.s[0], 6) ^ std::rotr(y.s[0], 11) ^ std::rotr(y.s[0], 25);
        const u32 sigma0 = std::rotr(x.s[0], 2) ^ std::rotr(x.s[0], 13) ^ std::rotr(x.s[0], 22);
        const u32 t = y.s[3] + sigma1 + choose(y.s[0], y.s[1], y.s[2]) + w.s[n];
        const u32 e = t + x.s[3], a = t + sigma0 + majority(x.s[0], x.s[1], x.s[2]);
        for (unsigned l = 3; l > 0; --l) {
            x.s[l] = x.s[l - 1];
            y.s[l] = y.s[l - 1];
        }
        x.s[0] = a;
        y.s[0] = e;
    }
}
void exec_sha256h(CpuState& s, const Insn& i) {
    Vec x = s.v[i.rd], y = s.v[i.rn];
    sha256_rounds(x, y, s.v[i.rm]);
    s.v[i.rd] = x;
}
void exec_sha256h2(CpuState& s, const Insn& i) {
    Vec x = s.v[i.rn], y = s.v[i.rd];
    sha256_rounds(x, y, s.v[i.rm]);
    s.v[i.rd] = y;
}
void exec_sha256su0(CpuState& s, const Insn& i) {
    Vec& d = s.v[i.rd];
    const u32 next[4] = {d.s[1], d.s[2], d.s[3], s.v[i.rn].s[0]};
    for (unsigned l = 0; l < 4; ++l) d.s[l] += std::rotr(next[l], 7) ^ std::rotr(next[l], 18) ^ next[l] >> 3;
}
void exec_sha256su1(CpuState& s, const Insn& i) {
    const Vec d = s.v[i.rd], n = s.v[i.rn], m = s.v[i.rm];
    const u32 seventh[4] = {n.s[1], n.s[2], n.s[3], m.s[0]};
    Vec r;
    for (unsigned l = 0; l < 4; ++l) {
        const u32 v = l < 2 ? m.s[l + 2] : r.s[l - 2];
        r.s[l] = d.s[l] + seventh[l] + (std::rotr(v, 17) ^ std::rotr(v, 19) ^ v >> 10);
    }
    s.v[i.rd] = r;
}

bool dec_three(std::uint32_t raw, Insn& out) {
    set_v_binary(raw, out);
    set_v_merges(out);
    set_shape(out, 2, true);
    return true;
}
bool dec_two(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    set_v_merges(out);
    set_shape(out, 2, true);
    return true;
}
bool dec_sha1h(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    set_shape(out, 2, false);
    return true;
}

constexpr InsnKind kCrypto = InsnKind::crypto;
// clang-format off
constexpr std::array kRows = {
    OpRow{0xffe0fc00, 0x5e000000, "SHA1C", "sha1c", dec_three, exec_sha1_rounds<choose>, T::sha1, kCrypto},
    OpRow{0xffe0fc00, 0x5e001000, "SHA1P", "sha1p", dec_three, exec_sha1_rounds<parity>, T::sha1, kCrypto},
    OpRow{0xffe0fc00, 0x5e002000, "SHA1M", "sha1m", dec_three, exec_sha1_rounds<majority>, T::sha1, kCrypto},
    OpRow{0xffe0fc00, 0x5e003000, "SHA1SU0", "sha1su0", dec_three, exec_sha1su0, T::sha1h, kCrypto},
    OpRow{0xffe0fc00, 0x5e004000, "SHA256H", "sha256h", dec_three, exec_sha256h, T::sha256, kCrypto},
    OpRow{0xffe0fc00, 0x5e005000, "SHA256H2", "sha256h2", dec_three, exec_sha256h2, T::sha256, kCrypto},
    OpRow{0xffe0fc00, 0x5e006000, "SHA256SU1", "sha256su1", dec_three, exec_sha256su1, T::sha256_su, kCrypto},
    OpRow{0xfffffc00, 0x5e280800, "SHA1H", "sha1h", dec_sha1h, exec_sha1h, T::sha1h, kCrypto},
    OpRow{0xfffffc00, 0x5e281800, "SHA1SU1", "sha1su1", dec_two, exec_sha1su1, T::sha1h, kCrypto},
    OpRow{0xfffffc00, 0x5e282800, "SHA256SU0", "sha256su0", dec_two, exec_sha256su0, T::sha256_su, kCrypto},
};
// clang-format on
static_assert(table_sound(kRows, region::fp_simd));

} // namespace

std::span<const OpRow> crypto_sha_rows() { return kRows; }

} // namespace rkperf::a64

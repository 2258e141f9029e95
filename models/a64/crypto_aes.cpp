// SPDX-License-Identifier: Apache-2.0
// Rows of the AES instructions; the 64-bit polynomial multiplication. Arm ARM C4.1.96 (Cryptographic AES).
#include "models/a64/crypto_aes.h"
#include "models/a64/crypto_tables.h"
#include "models/a64/simd_exec.h"

namespace rkperf::a64 {
namespace {

using T = TimingClass;
using u128 = unsigned __int128;

template <bool decrypts>
bool dec_round(std::uint32_t raw, Insn& out) {
    if (aes::host_has_aes()) out.fn = aes::exec_round_hw<decrypts>;
    set_v_unary(raw, out);
    set_v_merges(out);
    set_shape(out, 0, true);
    return true;
}
template <bool decrypts>
bool dec_mix(std::uint32_t raw, Insn& out) {
    if (aes::host_has_aes()) out.fn = aes::exec_mix_hw<decrypts>;
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
    OpRow{0xfffffc00, 0x4e284800, "AESE", "aese", dec_round<false>, aes::exec_round<false>, T::aes, kCrypto},
    OpRow{0xfffffc00, 0x4e285800, "AESD", "aesd", dec_round<true>, aes::exec_round<true>, T::aes, kCrypto},
    OpRow{0xfffffc00, 0x4e286800, "AESMC", "aesmc", dec_mix<false>, aes::exec_mix<false>, T::aes_mc, kCrypto},
    OpRow{0xfffffc00, 0x4e287800, "AESIMC", "aesimc", dec_mix<true>, aes::exec_mix<true>, T::aes_mc, kCrypto},
    OpRow{0xffe0fc00, 0x0ee0e000, "PMULL_1q", "pmull", dec_pmull<false>, exec_pmull<false>, T::pmull, kCrypto},
    OpRow{0xffe0fc00, 0x4ee0e000, "PMULL2_1q", "pmull2", dec_pmull<true>, exec_pmull<true>, T::pmull, kCrypto},
};
// clang-format on
static_assert(table_sound(kRows, region::fp_simd));

} // namespace

std::span<const OpRow> crypto_aes_rows() { return kRows; }

} // namespace rkperf::a64

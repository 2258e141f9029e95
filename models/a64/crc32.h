// SPDX-License-Identifier: Apache-2.0
// The checksum step of CRC32B..CRC32CX: bit-reflected, no inversion (DDI 0487, CRC32 and CRC32C).
#pragma once

#include <array>
#include <cstdint>

namespace rkperf::a64 {

// Polynomials 0x04c11db7 (ISO 3309) and 0x1edc6f41 (Castagnoli), bits reversed.
inline constexpr std::uint32_t kCrc32 = 0xedb88320, kCrc32c = 0x82f63b78;

template <std::uint32_t kPolynomial>
constexpr std::array<std::uint32_t, 256> crc32_table() {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t n = 0; n < 256; ++n) {
        std::uint32_t c = n;
        for (int k = 0; k < 8; ++k) c = c >> 1 ^ (c & 1 ? kPolynomial : 0);
        t[n] = c;
    }
    return t;
}
template <std::uint32_t kPolynomial>
inline constexpr std::array<std::uint32_t, 256> kCrc32Table = crc32_table<kPolynomial>();

/// Takes the low `bytes` bytes of `data` into `acc`.
template <std::uint32_t kPolynomial>
constexpr std::uint32_t crc32_update(std::uint32_t acc, std::uint64_t data, unsigned bytes) {
    for (; bytes > 0; --bytes, data >>= 8) acc = acc >> 8 ^ kCrc32Table<kPolynomial>[(acc ^ data) & 0xff];
    return acc;
}

} // namespace rkperf::a64

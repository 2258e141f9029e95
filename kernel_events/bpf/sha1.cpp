// SPDX-License-Identifier: Apache-2.0
#include "kernel_events/bpf/sha1.h"

#include <bit>
#include <vector>

namespace rkperf::ke {

std::array<std::uint8_t, 20> sha1(std::span<const std::uint8_t> data) {
    std::vector<std::uint8_t> m(data.begin(), data.end());
    const std::uint64_t bits = std::uint64_t{data.size()} * 8;
    m.push_back(0x80);
    while (m.size() % 64 != 56) m.push_back(0);
    for (int shift = 56; shift >= 0; shift -= 8) m.push_back(static_cast<std::uint8_t>(bits >> shift));
    std::uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    for (std::size_t block = 0; block < m.size(); block += 64) {
        std::uint32_t w[80];
        for (std::size_t t = 0; t < 16; ++t) {
            const std::uint8_t* p = &m[block + 4 * t];
            w[t] = static_cast<std::uint32_t>(p[0]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 |
                   static_cast<std::uint32_t>(p[2]) << 8 | p[3];
        }
        for (std::size_t t = 16; t < 80; ++t) w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
        std::uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
        for (std::size_t t = 0; t < 80; ++t) {
            std::uint32_t f, k;
            if (t < 20)
                f = (b & c) | (~b & d), k = 0x5a827999;
            else if (t < 40)
                f = b ^ c ^ d, k = 0x6ed9eba1;
            else if (t < 60)
                f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
            else
                f = b ^ c ^ d, k = 0xca62c1d6;
            const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[t];
            e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
        }
        h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
    }
    std::array<std::uint8_t, 20> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>(h[i / 4] >> (24 - 8 * (i % 4)));
    return out;
}

} // namespace rkperf::ke

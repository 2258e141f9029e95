// SPDX-License-Identifier: Apache-2.0
#include "tests/models/a64/diff_values.h"

#include "tests/models/a64/diff_harness.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace rkperf::a64::test {
namespace {

template <std::size_t N, class T>
T pick(const T (&from)[N], std::uint64_t& rng) {
    return from[next_random(rng) % N];
}

/// Sign, exponent and fraction widths of a floating-point format.
struct Format {
    unsigned exponent, fraction;
};
std::uint64_t interesting_float(Format f, std::uint64_t& rng) {
    const std::uint64_t r = next_random(rng);
    const std::uint64_t sign = (r & 1) << (f.exponent + f.fraction);
    const std::uint64_t frac_mask = (std::uint64_t{1} << f.fraction) - 1,
                        exp_max = (std::uint64_t{1} << f.exponent) - 1;
    const std::uint64_t bias = exp_max >> 1, quiet = std::uint64_t{1} << (f.fraction - 1);
    const std::uint64_t random_fraction = next_random(rng) & frac_mask;
    const auto make = [&](std::uint64_t exp, std::uint64_t frac) { return sign | exp << f.fraction | frac; };
    switch (r >> 1 & 15) {
        case 0: return make(0, 0);
        case 1: return make(exp_max, 0);
        case 2: return make(exp_max, quiet | random_fraction);
        case 3: return make(exp_max, (random_fraction & ~quiet) | 1);
        case 4: return make(0, random_fraction); // subnormal
        case 5: return make(0, 1);
        case 6: return make(1, r >> 8 & 1 ? 0 : random_fraction);
        case 7: return make(exp_max - 1, r >> 8 & 1 ? frac_mask : random_fraction);
        case 8: return make(bias, 0);                                              // 1
        case 9: return make(bias + (r >> 8 & 1 ? 0 : -1), r >> 9 & 1 ? quiet : 0); // 1.5, 0.75, 0.5
        case 10: // about the size of the integer types' limits
            return make(std::min(bias + (r >> 8) % 66, exp_max - 1), r >> 20 & 1   ? random_fraction
                                                                     : r >> 21 & 1 ? frac_mask
                                                                                   : 0);
        case 11: return make(bias + (r >> 8) % f.fraction, random_fraction & ~(frac_mask >> ((r >> 16) % f.fraction)));
        case 12: return make(bias - 2 + (r >> 8) % 5, random_fraction);
        default: return make((r >> 8) % exp_max, random_fraction);
    }
}

std::uint64_t interesting_lane(unsigned bytes, bool is_float, std::uint64_t& rng) {
    if (is_float && bytes == 2) return interesting_float({5, 10}, rng);
    if (is_float && bytes == 4) return interesting_float({8, 23}, rng);
    if (is_float && bytes == 8) return interesting_float({11, 52}, rng);
    const std::uint64_t r = next_random(rng);
    const std::uint64_t top = std::uint64_t{1} << (bytes * 8 - 1), all = top | (top - 1);
    switch (r & 15) {
        case 0: return 0;
        case 1: return 1;
        case 2: return all;
        case 3: return top;
        case 4: return top - 1;
        case 5: return top + 1;
        case 6: return all - 1;
        case 7: return (r >> 8) % (bytes * 16); // shift amounts
        case 8: return (0 - (r >> 8) % (bytes * 16)) & all;
        default: return next_random(rng) & all;
    }
}

} // namespace

std::uint64_t next_random(std::uint64_t& rng) {
    std::uint64_t z = rng += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

std::uint64_t interesting_integer(std::uint64_t& rng) {
    static constexpr std::uint64_t kSpecial[] = {0,
                                                 1,
                                                 2,
                                                 0x7f,
                                                 0x80,
                                                 0xff,
                                                 0x100,
                                                 0x7fff,
                                                 0x8000,
                                                 0xffff,
                                                 0x10000,
                                                 0x7fffffff,
                                                 0x80000000,
                                                 0xffffffff,
                                                 0x100000000,
                                                 0x7fffffffffffffff,
                                                 0x8000000000000000,
                                                 0xffffffff80000000,
                                                 0xffffffffffffff80,
                                                 0xffffffffffff8000,
                                                 0xffffffffffffffff,
                                                 0xfffffffffffffffe,
                                                 0x5555555555555555,
                                                 0xaaaaaaaaaaaaaaaa};
    const std::uint64_t r = next_random(rng);
    switch (r & 7) {
        case 0:
        case 1: return pick(kSpecial, rng);
        case 2: return std::uint64_t{1} << (r >> 8 & 63);
        case 3: return ~std::uint64_t{0} >> (r >> 8 & 63);
        case 4: return next_random(rng) >> (r >> 8 & 63);
        case 5: return static_cast<std::uint32_t>(next_random(rng));
        default: return next_random(rng);
    }
}

Vec interesting_vector(std::uint64_t& rng) {
    Vec v;
    const std::uint64_t r = next_random(rng);
    const unsigned bytes = 1u << (r & 3);
    const bool is_float = r >> 2 & 1;
    if ((r >> 3 & 7) == 0) {
        v.d[0] = next_random(rng);
        v.d[1] = next_random(rng);
        return v;
    }
    for (unsigned at = 0; at < 16; at += bytes) {
        const std::uint64_t lane = interesting_lane(bytes, is_float, rng);
        std::memcpy(v.b + at, &lane, bytes);
    }
    return v;
}

} // namespace rkperf::a64::test

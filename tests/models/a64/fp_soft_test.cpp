// SPDX-License-Identifier: Apache-2.0
// Cases by hand from the Arm ARM's pseudocode (DDI 0487, J1.3 shared/functions/float), and what host and integer
// arithmetic must agree on.
#include "models/a64/fp_fma.h"
#include "models/a64/insn.h"
#include "models/a64/simd_fp.h"

#include <catch2/catch.hpp>

#include <cmath>

namespace rkperf::a64 {
namespace {

using namespace soft;

constexpr std::uint32_t kRm[4] = {0, 1u << 22, 2u << 22, 3u << 22};

std::uint64_t next(std::uint64_t& rng) {
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return rng ^ rng >> 29;
}

struct Out {
    std::uint64_t value;
    std::uint32_t flags;
    bool operator==(const Out&) const = default;
};
std::ostream& operator<<(std::ostream& o, const Out& v) { return o << std::hex << v.value << " flags " << v.flags; }

template <class F, class... A>
Out call(F f, std::uint32_t fpcr, A... a) {
    FpEnv env{fpcr};
    const auto r = f(a..., env);
    return {static_cast<std::uint64_t>(r), env.flags};
}

} // namespace

TEST_CASE("FPRound: tininess is found before rounding") {
    // The largest product below the smallest normal that rounds up to it: underflow, though the result is normal.
    const std::uint32_t almost_two = 0x3fffffff, half_min = 0x00400000;
    CHECK(call(mul<F32>, 0, almost_two, half_min) == Out{0x00800000, fpsr::UFC | fpsr::IXC});
    // Exact results in the denormal range do not underflow.
    CHECK(call(mul<F32>, 0, 0x3f000000u, 0x00800000u) == Out{0x00400000, 0});
    // With FZ they do, and nothing is inexact.
    CHECK(call(mul<F32>, fpcr::FZ, 0x3f000000u, 0x00800000u) == Out{0, fpsr::UFC});
    CHECK(call(mul<F32>, fpcr::FZ, 0xbf000000u, 0x00800000u) == Out{0x80000000, fpsr::UFC});
}

TEST_CASE("FPUnpack: flushing denormal inputs") {
    // FZ sets IDC, even if the other operand is a NaN; FZ16 sets nothing.
    CHECK(call(add<F32>, fpcr::FZ, 1u, 0x3f800000u) == Out{0x3f800000, fpsr::IDC});
    CHECK(call(add<F32>, fpcr::FZ, 1u, 0x7fc00001u) == Out{0x7fc00001, fpsr::IDC});
    CHECK(call(add<F16>, fpcr::FZ16, std::uint16_t{1}, std::uint16_t{0x3c00}) == Out{0x3c00, 0});
    CHECK(call(add<F16>, fpcr::FZ, std::uint16_t{1}, std::uint16_t{0}) == Out{1, 0});
    // A flushed addend of FMA counts as a zero: the sign of 0 + 0.
    CHECK(call(fma<F32>, fpcr::FZ, 0x80000001u, 0x80000000u, 0x3f800000u) == Out{0x80000000, fpsr::IDC});
}

TEST_CASE("FPRound: overflow by rounding mode") {
    const std::uint32_t max = 0x7f7fffff, flags = fpsr::OFC | fpsr::IXC;
    CHECK(call(add<F32>, kRm[0], max, max) == Out{0x7f800000, flags});
    CHECK(call(add<F32>, kRm[1], max, max) == Out{0x7f800000, flags});
    CHECK(call(add<F32>, kRm[2], max, max) == Out{0x7f7fffff, flags});
    CHECK(call(add<F32>, kRm[3], max, max) == Out{0x7f7fffff, flags});
    CHECK(call(add<F32>, kRm[1], max | 0x80000000u, max | 0x80000000u) == Out{0xff7fffff, flags});
    CHECK(call(add<F32>, kRm[2], max | 0x80000000u, max | 0x80000000u) == Out{0xff800000, flags});
}

TEST_CASE("FPProcessNaNs: signalling first, then operand order; quieted; DN") {
    const std::uint32_t q1 = 0x7fc00001, q2 = 0xffc00002, s1 = 0x7f800003, s2 = 0xff800004;
    CHECK(call(add<F32>, 0, q1, q2) == Out{q1, 0});
    CHECK(call(add<F32>, 0, q1, s2) == Out{s2 | 0x400000, fpsr::IOC});
    CHECK(call(add<F32>, 0, s1, s2) == Out{s1 | 0x400000, fpsr::IOC});
    CHECK(call(add<F32>, fpcr::DN, q1, s2) == Out{F32::default_nan, fpsr::IOC});
    // FMA: addend, then the factors; a quiet addend gives way to an invalid product.
    CHECK(call(fma<F32>, 0, q1, s1, q2) == Out{s1 | 0x400000, fpsr::IOC});
    CHECK(call(fma<F32>, 0, q1, q2, 0u) == Out{q1, 0});
    CHECK(call(fma<F32>, 0, q1, 0x7f800000u, 0u) == Out{F32::default_nan, fpsr::IOC});
    CHECK(call(fma<F32>, 0, s1, 0x7f800000u, 0u) == Out{s1 | 0x400000, fpsr::IOC});
}

TEST_CASE("exact zero sums take their sign from the rounding mode") {
    const std::uint32_t one = 0x3f800000;
    CHECK(call(sub<F32>, kRm[0], one, one) == Out{0, 0});
    CHECK(call(sub<F32>, kRm[2], one, one) == Out{0x80000000, 0});
    CHECK(call(add<F32>, kRm[2], 0u, 0x80000000u) == Out{0x80000000, 0});
    CHECK(call(add<F32>, kRm[0], 0x80000000u, 0x80000000u) == Out{0x80000000, 0});
    CHECK(call(fma<F32>, kRm[2], one | 0x80000000u, one, one) == Out{0x80000000, 0});
}

TEST_CASE("FPMin, FPMax, FPMinNum, FPMaxNum") {
    CHECK(call(soft::max<F32>, 0, 0x80000000u, 0u) == Out{0, 0});
    CHECK(call(soft::min<F32>, 0, 0u, 0x80000000u) == Out{0x80000000, 0});
    CHECK(call(soft::max<F32>, 0, 0x7fc00001u, 0x3f800000u) == Out{0x7fc00001, 0});
    CHECK(call(max_num<F32>, 0, 0x7fc00001u, 0x3f800000u) == Out{0x3f800000, 0});
    CHECK(call(min_num<F32>, 0, 0x3f800000u, 0x7fc00001u) == Out{0x3f800000, 0});
    CHECK(call(max_num<F32>, 0, 0x7f800001u, 0x3f800000u) == Out{0x7fc00001, fpsr::IOC});
    CHECK(call(max_num<F32>, 0, 0x7fc00001u, 0x7fc00002u) == Out{0x7fc00001, 0});
}

TEST_CASE("FPConvert: alternative half precision") {
    // AHP has no infinities and NaNs: infinity and overflow give the largest number, NaN a zero, all invalid.
    const auto narrow = [](std::uint32_t v, FpEnv& env) { return convert<F16, F32>(v, env.rounding(), env); };
    const auto widen = [](std::uint16_t v, FpEnv& env) { return convert<F32, F16>(v, env.rounding(), env); };
    CHECK(call(narrow, fpcr::AHP, 0x7f800000u) == Out{0x7fff, fpsr::IOC});
    CHECK(call(narrow, fpcr::AHP, 0xff7fffffu) == Out{0xffff, fpsr::IOC});
    CHECK(call(narrow, fpcr::AHP, 0xffc00001u) == Out{0x8000, fpsr::IOC});
    CHECK(call(narrow, fpcr::AHP, 0x47ffe000u) == Out{0x7fff, 0}); // 131008
    CHECK(call(widen, fpcr::AHP, std::uint16_t{0x7fff}) == Out{0x47ffe000, 0});
    CHECK(call(widen, 0, std::uint16_t{0x7e01}) == Out{0x7fc02000, 0});
    // Conversions do not flush half-precision denormals.
    CHECK(call(widen, fpcr::FZ16 | fpcr::FZ, std::uint16_t{1}) == Out{0x33800000, 0});
}

TEST_CASE("FPConvert with round to odd") {
    const auto odd = [](std::uint64_t v, FpEnv& env) { return convert<F32, F64>(v, Rounding::odd, env); };
    CHECK(call(odd, 0, 0x3ff0000000000001u) == Out{0x3f800001, fpsr::IXC});
    CHECK(call(odd, 0, 0x3ff0000020000001u) == Out{0x3f800001, fpsr::IXC});
    CHECK(call(odd, 0, 0x7fefffffffffffffu) == Out{0x7f7fffff, fpsr::OFC | fpsr::IXC});
}

TEST_CASE("FPToFixed") {
    const auto to = [](std::uint64_t v, unsigned width, bool is_unsigned, Rounding r, FpEnv& env) {
        return to_fixed<F64>(v, 0, width, is_unsigned, r, env);
    };
    const auto bits = [](double v) { return std::bit_cast<std::uint64_t>(v); };
    CHECK(call(to, 0, bits(2.5), 32u, false, Rounding::tie_even) == Out{2, fpsr::IXC});
    CHECK(call(to, 0, bits(2.5), 32u, false, Rounding::tie_away) == Out{3, fpsr::IXC});
    CHECK(call(to, 0, bits(-2.5), 32u, false, Rounding::tie_away) == Out{0xfffffffd, fpsr::IXC});
    CHECK(call(to, 0, bits(-0.5), 32u, true, Rounding::minus) == Out{0, fpsr::IOC});
    CHECK(call(to, 0, bits(-0.5), 32u, true, Rounding::zero) == Out{0, fpsr::IXC});
    CHECK(call(to, 0, bits(2147483647.5), 32u, false, Rounding::plus) == Out{0x7fffffff, fpsr::IOC});
    CHECK(call(to, 0, bits(-9223372036854775808.0), 64u, false, Rounding::zero) == Out{0x8000000000000000, 0});
    CHECK(call(to, 0, bits(18446744073709551616.0), 64u, true, Rounding::zero) == Out{~std::uint64_t{0}, fpsr::IOC});
    CHECK(call(to, 0, 0x7ff8000000000000u, 64u, false, Rounding::zero) == Out{0, fpsr::IOC});
    CHECK(call(to, fpcr::FZ, std::uint64_t{1}, 64u, false, Rounding::plus) == Out{0, fpsr::IDC});
    CHECK(call(to, 0, std::uint64_t{1}, 64u, false, Rounding::plus) == Out{1, fpsr::IXC});
}

TEST_CASE("FCVTZS Hd, Hn, #fbits clears everything above the halfword") {
    CpuState s;
    s.v[1].h[0] = 0xfbff; // -65504
    s.v[0].d[0] = s.v[0].d[1] = ~std::uint64_t{0};
    const Insn insn = decode(0x5f1ffc20); // fcvtzs h0, h1, #1
    insn.fn(s, insn);
    CHECK(s.v[0].d[0] == 0x8000);
    CHECK(s.v[0].d[1] == 0);
    CHECK(s.fpsr == fpsr::IOC);
    s.v[1].h[0] = 0xbe00; // -1.5
    insn.fn(s, insn);
    CHECK(s.v[0].d[0] == 0xfffd);
}

TEST_CASE("FPRecipEstimate at the edges of the range") {
    CHECK(call(recip_estimate<F32>, 0, 0x3f800000u) == Out{0x3f7f8000, 0}); // 1 / 1 = 511/512
    CHECK(call(recip_estimate<F32>, 0, 0x00200000u) == Out{0x7f7f8000, 0}); // 2^-128 is still in range
    CHECK(call(recip_estimate<F32>, kRm[0], 0x001fffffu) == Out{0x7f800000, fpsr::OFC | fpsr::IXC});
    CHECK(call(recip_estimate<F32>, kRm[3], 0x001fffffu) == Out{0x7f7fffff, fpsr::OFC | fpsr::IXC});
    CHECK(call(recip_estimate<F32>, fpcr::FZ, 0x7e800000u) == Out{0, fpsr::UFC});
    CHECK(call(recip_estimate<F32>, 0, 0x7e800000u) == Out{0x007fc000, 0}); // 2^-126 * 511/512
    CHECK(call(recip_sqrt_estimate<F32>, 0, 0x80000001u) == Out{F32::default_nan, fpsr::IOC});
    CHECK(call(recip_sqrt_estimate<F32>, 0, 0x80000000u) == Out{0xff800000, fpsr::DZC});
}

TEST_CASE("half-precision arithmetic is double arithmetic rounded once") {
    // Double holds sums, products and quotients of half-precision numbers well enough for a second rounding to be
    // harmless; the reference rounds by nearest search through the widened numbers.
    const auto widen = [](std::uint16_t v) {
        const int e = v >> 10 & 31, f = v & 1023;
        const double m = e == 31 ? (f ? NAN : INFINITY) : e ? std::ldexp(1024 + f, e - 25) : std::ldexp(f, -24);
        return v >> 15 ? -m : m;
    };
    const auto round = [&](double v) -> std::uint16_t {
        const std::uint16_t sign = std::signbit(v) ? 0x8000 : 0;
        v = std::fabs(v);
        if (v >= 65520) return sign | 0x7c00;
        unsigned low = 0, high = 0x7c00;
        while (high - low > 1)
            (widen(static_cast<std::uint16_t>((low + high) / 2)) <= v ? low : high) = (low + high) / 2;
        const double below = widen(static_cast<std::uint16_t>(low));
        const double above = high == 0x7c00 ? 65536 : widen(static_cast<std::uint16_t>(high));
        const bool up = v - below > above - v || (v - below == above - v && (low & 1));
        return static_cast<std::uint16_t>(sign | (up ? high : low));
    };
    std::uint64_t rng = 1;
    for (unsigned n = 0; n < 100000; ++n) {
        const auto a = static_cast<std::uint16_t>(next(rng)), b = static_cast<std::uint16_t>(next(rng));
        const double x = widen(a), y = widen(b);
        if (std::isnan(x) || std::isnan(y) || std::isinf(x) || std::isinf(y)) continue;
        FpEnv env;
        REQUIRE(add<F16>(a, b, env) == round(x + y));
        REQUIRE(mul<F16>(a, b, env) == round(x * y));
        if (y != 0) REQUIRE(soft::div<F16>(a, b, env) == round(x / y));
        if (x > 0) REQUIRE(soft::sqrt<F16>(a, env) == round(std::sqrt(x)));
    }
}

TEST_CASE("integer arithmetic agrees with the host's in round to nearest") {
    std::uint64_t rng = 2;
    const auto number = [&](unsigned spread) { // numbers around 1 whose results stay in range
        return (next(rng) & (F64::sign_bit | F64::frac_mask)) | (F64::bias - spread / 2 + next(rng) % spread) << 52;
    };
    for (unsigned n = 0; n < 200000; ++n) {
        const std::uint64_t a = number(60), b = number(60), c = number(120);
        const double x = std::bit_cast<double>(a), y = std::bit_cast<double>(b), z = std::bit_cast<double>(c);
        const auto bits = [](double v) { return std::bit_cast<std::uint64_t>(v); };
        FpEnv env;
        REQUIRE(add<F64>(a, b, env) == bits(x + y));
        REQUIRE(mul<F64>(a, b, env) == bits(x * y));
        REQUIRE(soft::div<F64>(a, b, env) == bits(x / y));
        REQUIRE(soft::sqrt<F64>(a & ~F64::sign_bit, env) == bits(std::sqrt(std::fabs(x))));
        REQUIRE(soft::fma<F64>(c, a, b, env) == bits(std::fma(x, y, z)));
        const auto f = static_cast<float>(x), g = static_cast<float>(y), h = static_cast<float>(z);
        const float reference = std::fmaf(f, g, h);
        REQUIRE(std::bit_cast<std::uint32_t>(host_fma(f, g, h)) == std::bit_cast<std::uint32_t>(reference));
    }
}

TEST_CASE("float multiply-add by way of double meets ties") {
    // 1 + 2^-24 is a tie of the second rounding; the third term decides, far below what double keeps.
    const float tiny = std::ldexp(1.0f, -100), half_ulp = std::ldexp(1.0f, -24);
    const float a = 1 + std::ldexp(1.0f, -12), b = 1 + std::ldexp(1.0f, -12);
    for (const float c : {tiny, -tiny, half_ulp, -half_ulp, 0.0f}) {
        const float by_hand = host_fma(a, b, c), reference = std::fmaf(a, b, c);
        CHECK(std::bit_cast<std::uint32_t>(by_hand) == std::bit_cast<std::uint32_t>(reference));
        CHECK(host_fma(-a, b, c) == std::fmaf(-a, b, c));
    }
}

namespace {

/// A number of any kind, mostly ordinary.
template <class F>
typename F::Bits any_number(std::uint64_t& rng) {
    const std::uint64_t r = next(rng), kind = next(rng) >> 8 & 15;
    if (kind == 0) return static_cast<typename F::Bits>(r);
    if (kind == 1) return static_cast<typename F::Bits>(r & (F::sign_bit | F::frac_mask)); // denormal
    if (kind == 2) return static_cast<typename F::Bits>((r & F::sign_bit) | (r >> 20 & 1 ? F::infinity : 0));
    // Sometimes so small that products come near the smallest normal number.
    const std::uint64_t exp =
        (kind == 4 || kind == 5 ? F::bias / 2 + next(rng) % (2 * F::frac_bits) : F::bias - 8 + (next(rng) >> 16 & 15));
    const std::uint64_t frac = kind & 1 ? r & F::frac_mask : r & F::frac_mask & ~(F::frac_mask >> 4);
    return static_cast<typename F::Bits>((r & F::sign_bit) | exp << F::frac_bits | frac);
}

template <class F>
void compare_fma_bodies() {
    if (!host_has_fma()) {
        WARN("this host has no FMA instructions; nothing to compare");
        return;
    }
    std::uint64_t rng = 3;
    Insn i;
    i.rd = 0, i.rn = 1, i.rm = 2, i.ra = 3;
    constexpr unsigned n = 16 / sizeof(typename F::Bits);
    for (unsigned k = 0; k < 20000; ++k) {
        CpuState a;
        for (unsigned v = 0; v < 4; ++v)
            for (unsigned l = 0; l < n; ++l) lane<typename F::Bits>(a.v[v], l) = any_number<F>(rng);
        a.fpcr = next(rng) >> 8 & 1 ? static_cast<std::uint32_t>(next(rng)) & (fpcr::FZ | fpcr::DN | fpcr::RMode) : 0;
        a.fpsr = next(rng) >> 8 & 1 ? fpsr::IXC : 0;
        CpuState b = a, c = a, d = a;
        exec_fma<F, false, true>(a, i);
        exec_fma_hw<F, false, true>(b, i);
        exec_fp_mla<F, n, true, false>(c, i);
        exec_fp_mla_hw<F, n, true, false>(d, i);
        REQUIRE((a.v[0].d[0] == b.v[0].d[0] && a.fpsr == b.fpsr));
        REQUIRE((c.v[0].d[0] == d.v[0].d[0] && c.v[0].d[1] == d.v[0].d[1] && c.fpsr == d.fpsr));
    }
}

/// The body of a vector operation against its definition.
template <class F, class Op>
void compare_with_definition() {
    using Bits = typename F::Bits;
    std::uint64_t rng = 4;
    Insn i;
    i.rd = 0, i.rn = 1, i.rm = 2;
    constexpr unsigned n = 16 / sizeof(Bits);
    for (unsigned k = 0; k < 20000; ++k) {
        CpuState a;
        for (unsigned v = 0; v < 3; ++v)
            for (unsigned l = 0; l < n; ++l) {
                Bits x = any_number<F>(rng);
                // Mostly whole numbers, whose sums are exact.
                if (k & 1) x = std::bit_cast<Bits>(static_cast<typename F::Host>(static_cast<int>(x % 1000) - 500));
                lane<Bits>(a.v[v], l) = x;
            }
        a.fpcr = k & 6 ? 0 : static_cast<std::uint32_t>(next(rng)) & (fpcr::FZ | fpcr::DN | fpcr::RMode);
        a.fpsr = k & 8 ? fpsr::IXC : 0;
        CpuState b = a;
        exec_fp2<F, n, Op, false>(a, i);
        FpEnv env{b.fpcr, b.fpsr};
        for (unsigned l = 0; l < n; ++l)
            lane<Bits>(b.v[0], l) = Op::template soft<F>(lane<Bits>(b.v[1], l), lane<Bits>(b.v[2], l), env);
        REQUIRE((a.v[0].d[0] == b.v[0].d[0] && a.v[0].d[1] == b.v[0].d[1] && a.fpsr == (b.fpsr | env.flags)));
    }
}

} // namespace

TEST_CASE("vector sums, differences and products are as defined, flags too") {
    compare_with_definition<F32, op::Add>();
    compare_with_definition<F64, op::Add>();
    compare_with_definition<F32, op::Sub>();
    compare_with_definition<F64, op::AbsDiff>();
    compare_with_definition<F32, op::Mul>();
}

TEST_CASE("multiply-add bodies give the same with and without the host's FMA instructions") {
    compare_fma_bodies<F32>();
    compare_fma_bodies<F64>();
}

} // namespace rkperf::a64

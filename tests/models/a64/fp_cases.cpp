// SPDX-License-Identifier: Apache-2.0
#ifdef RK_HAVE_UNICORN
#include "tests/models/a64/fp_cases.h"

#include "models/a64/fp_format.h"
#include "models/a64/fp_ops.h"
#include "tests/models/a64/diff_harness.h"

#include <catch2/catch.hpp>

namespace rkperf::a64::test {
namespace {

constexpr DiffSkip kSkips[] = {
    {"FCVTZS_fixed_scalar_h",
     "QEMU (5.0 and 7.2) sign extends the halfword result to 32 bits; V[d] is zero above esize bits; fp_soft_test.cpp"},
};

/// Number `v` with its exponent lowered by `down`; zero if that leaves the normal range.
template <class F>
typename F::Bits scaled_down(typename F::Bits v, unsigned down) {
    const auto exp = static_cast<unsigned>(v >> F::frac_bits) & F::exp_max;
    if (exp <= down || exp == F::exp_max) return static_cast<typename F::Bits>(v & F::sign_bit);
    return static_cast<typename F::Bits>(v - (static_cast<std::uint64_t>(down) << F::frac_bits));
}

/// Makes the lanes of rm, and ra or rd, stand in a relation to those of rn.
template <class F>
void relate(CpuState& s, std::uint32_t raw, std::uint64_t& rng) {
    using Bits = typename F::Bits;
    Vec &n = s.v[raw >> 5 & 31], &m = s.v[raw >> 16 & 31], &a = s.v[raw >> 10 & 31], &d = s.v[raw & 31];
    for (unsigned l = 0; l < 16 / sizeof(Bits); ++l) {
        const std::uint64_t r = next_random(rng);
        Bits x = lane<Bits>(n, l);
        if (r >> 60 & 1) { // something ordinary
            x = static_cast<Bits>((r & F::frac_mask) | static_cast<std::uint64_t>(F::bias - 3 + (r >> 56 & 7))
                                                           << F::frac_bits);
            lane<Bits>(n, l) = x;
        }
        Bits y = x;
        switch (r >> 52 & 7) {
            case 0:
                y = static_cast<Bits>(scaled_down<F>(F::one | (x & F::infinity), F::frac_bits + 1));
                break; // about half an ulp
            case 1: y = static_cast<Bits>(scaled_down<F>(x, F::frac_bits + 1) | 1); break;
            case 2: y = static_cast<Bits>(x ^ F::sign_bit ^ (r >> 48 & 3)); break; // cancels all or nearly all
            case 3: y = static_cast<Bits>(F::one + (r >> 40 & 3)); break;
            case 4:
                y = static_cast<Bits>((r & F::frac_mask & ~(F::frac_mask >> (F::frac_bits / 2))) | F::one);
                break; // short
            case 5: y = x; break;
            default: y = lane<Bits>(m, l); break;
        }
        lane<Bits>(m, l) = y;
        if (r >> 45 & 1) { // the addend nearly cancels the product, or is half an ulp of it
            FpEnv env;
            Bits p = soft::mul<F>(x, lane<Bits>(m, l), env);
            if (r >> 44 & 1) p = static_cast<Bits>(p ^ F::sign_bit);
            if (r >> 43 & 1) p = scaled_down<F>(p, F::frac_bits + (r >> 42 & 1));
            lane<Bits>(r >> 41 & 1 ? a : d, l) = static_cast<Bits>(p ^ (r >> 39 & 1));
        }
    }
}

} // namespace

void adjust_fp_case(std::uint32_t& raw, CpuState& state) {
    std::uint64_t rng = state.x[0] ^ state.v[0].d[0] ^ raw;
    const std::uint64_t r = next_random(rng);
    if (r & 1) state.fpsr |= fpsr::IXC;
    if (r & 2) state.fpcr &= ~(fpcr::RMode | fpcr::FZ);
    if ((r & 12) == 0) state.fpcr = (state.fpcr & ~fpcr::RMode) | fpcr::FZ;
    switch (r >> 4 & 15) {
        case 0:
        case 1: relate<F16>(state, raw, rng); break;
        case 2:
        case 3:
        case 4: relate<F32>(state, raw, rng); break;
        case 5:
        case 6:
        case 7: relate<F64>(state, raw, rng); break;
        default: break;
    }
}

void diff_fp_rows(std::span<const OpRow> rows) {
    DiffOptions options;
    options.adjust = adjust_fp_case;
    for (const OpRow& row : rows) {
        if (skipped(kSkips, row)) continue;
        CHECK(diff_row(row, diff_seed(), diff_cases(), options) == "");
    }
}

} // namespace rkperf::a64::test
#endif

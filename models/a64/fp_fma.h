// SPDX-License-Identifier: Apache-2.0
// Bodies of the scalar fused multiply-adds, (-)ra + (-)rn * rm. In a header so that a test can run both the one for
// hosts with FMA instructions and the one for hosts without.
#pragma once

#include "models/a64/fp_ops.h"

namespace rkperf::a64 {

template <class F, bool negate_addend, bool negate_product>
[[gnu::noinline]] void exec_fma_slow(CpuState& s, const Insn& i) {
    using Bits = typename F::Bits;
    FpEnv env{s.fpcr, s.fpsr};
    Bits c = lane<Bits>(s.v[i.ra], 0), a = lane<Bits>(s.v[i.rn], 0);
    if (negate_addend) c = static_cast<Bits>(c ^ F::sign_bit);
    if (negate_product) a = static_cast<Bits>(a ^ F::sign_bit);
    const Bits r = fused_lane<F>(c, a, lane<Bits>(s.v[i.rm], 0), env);
    set_scalar(s.v[i.rd], r);
    s.fpsr = env.flags;
}

template <class F, bool negate_addend, bool negate_product>
void exec_fma(CpuState& s, const Insn& i) {
    if constexpr (std::is_same_v<F, F32>) {
        if (__builtin_expect(host_mode(s), 1)) {
            const float a = std::bit_cast<float>(s.v[i.rn].s[0]), b = std::bit_cast<float>(s.v[i.rm].s[0]);
            const float c = std::bit_cast<float>(s.v[i.ra].s[0]);
            const auto r = std::bit_cast<std::uint32_t>(host_fma(negate_product ? -a : a, b, negate_addend ? -c : c));
            if (__builtin_expect(is_well_normal<F>(r), 1)) return set_scalar(s.v[i.rd], r);
        }
    }
    exec_fma_slow<F, negate_addend, negate_product>(s, i);
}

/// On a host with FMA instructions, whose results are correctly rounded as well. False: nothing was done, exec_fma_slow()
/// has to.
template <class F, bool negate_addend, bool negate_product>
RK_TARGET_FMA inline bool quick_fma_hw(CpuState& s, const Insn& i) {
    using Bits = typename F::Bits;
    using Host = typename F::Host;
    Host a = std::bit_cast<Host>(lane<Bits>(s.v[i.rn], 0)), c = std::bit_cast<Host>(lane<Bits>(s.v[i.ra], 0));
    const Host b = std::bit_cast<Host>(lane<Bits>(s.v[i.rm], 0));
    if (negate_product) a = -a;
    if (negate_addend) c = -c;
    Host value;
    if (host_mode_or_flush(s)) {
        value = hw_fma(a, b, c);
        const bool flushes =
            s.fpcr & fpcr::FZ && (F::is_denormal(std::bit_cast<Bits>(a)) || F::is_denormal(std::bit_cast<Bits>(b)) ||
                                  F::is_denormal(std::bit_cast<Bits>(c)));
        const Bits r = std::bit_cast<Bits>(value);
        if (__builtin_expect(is_well_normal<F>(r) && !flushes, 1)) {
            set_scalar(s.v[i.rd], r);
            return true;
        }
    }
    if ((s.fpcr & (fpcr::RMode | fpcr::FZ)) || !hw_fused_exact<F>(a, b, c, value)) return false;
    set_scalar(s.v[i.rd], std::bit_cast<Bits>(value));
    return true;
}
template <class F, bool negate_addend, bool negate_product>
RK_TARGET_FMA void exec_fma_hw(CpuState& s, const Insn& i) {
    if (!quick_fma_hw<F, negate_addend, negate_product>(s, i)) exec_fma_slow<F, negate_addend, negate_product>(s, i);
}

} // namespace rkperf::a64

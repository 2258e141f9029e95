// SPDX-License-Identifier: Apache-2.0
// Bodies that apply a floating-point operation to the lanes of a vector (one lane: scalar), with the host's arithmetic
// where that is exact for all of them. Insn::c is the lane of rm in the by-element forms.
#pragma once

#include "models/a64/simd_exec.h"

namespace rkperf::a64 {

template <class F, unsigned N>
using FpLanes = Lanes<typename F::Bits, N>;

/// The second operand: rm, or one lane of it repeated.
template <class F, unsigned N, bool by_element>
inline FpLanes<F, N> second_operand(const CpuState& s, const Insn& i) {
    if constexpr (by_element) {
        FpLanes<F, N> b;
        const typename F::Bits e = lane<typename F::Bits>(s.v[i.rm], i.c);
        for (unsigned l = 0; l < N; ++l) b.v[l] = e;
        return b;
    } else {
        return FpLanes<F, N>::load(s.v[i.rm]);
    }
}

/// Whether none of the numbers is anything but a zero.
template <class Bits, unsigned N>
inline bool all_zero(const Lanes<Bits, N>& e) {
    Bits any = 0;
    for (unsigned l = 0; l < N; ++l) any = static_cast<Bits>(any | e.v[l] << 1);
    return any == 0;
}

template <class F, unsigned N>
inline bool all_well_normal(const FpLanes<F, N>& r) {
    typename F::Bits other = 0;
    for (unsigned l = 0; l < N; ++l) other |= typename F::Bits{!is_well_normal<F>(r.v[l])};
    return other == 0;
}

/// Whether all sums are exact, so that there is nothing to report; round to nearest, no flushing.
template <class F, unsigned N, class Op>
inline bool exact_sums(const Lanes<typename F::Host, N>& a, const Lanes<typename F::Host, N>& b) {
    using Host = typename F::Host;
    Lanes<Host, N> e;
    // Infinities and NaNs make a NaN of the error, which is no zero.
    for (unsigned l = 0; l < N; ++l) e.v[l] = Op::error(a.v[l], b.v[l]);
    return all_zero(std::bit_cast<FpLanes<F, N>>(e));
}

template <class F, unsigned N, class Op, bool by_element>
[[gnu::noinline]] void exec_fp2_slow(CpuState& s, const Insn& i) {
    const auto a = FpLanes<F, N>::load(s.v[i.rn]), b = second_operand<F, N, by_element>(s, i);
    FpLanes<F, N> d;
    FpEnv env{s.fpcr, s.fpsr};
    for (unsigned l = 0; l < N; ++l) d.v[l] = binary_lane<F, Op>(a.v[l], b.v[l], env);
    d.store(s.v[i.rd]);
    s.fpsr = env.flags;
}

/// False: nothing was done, exec_fp2_slow() has to.
template <class F, unsigned N, class Op, bool by_element>
inline bool quick_fp2(CpuState& s, const Insn& i) {
    using Bits = typename F::Bits;
    if constexpr (Op::has_host && kHasHost<F>) {
        using Host = typename F::Host;
        if (__builtin_expect(!(s.fpcr & (fpcr::RMode | fpcr::FZ)), 1)) {
            const auto a = std::bit_cast<Lanes<Host, N>>(FpLanes<F, N>::load(s.v[i.rn]));
            const auto b = std::bit_cast<Lanes<Host, N>>(second_operand<F, N, by_element>(s, i));
            Lanes<Host, N> d;
            for (unsigned l = 0; l < N; ++l) d.v[l] = Op::host(a.v[l], b.v[l]);
            const auto r = std::bit_cast<FpLanes<F, N>>(d);
            bool stands;
            if (s.fpsr & fpsr::IXC) {
                Bits other = 0; // as wide as a lane, so that the loop becomes vector code
                for (unsigned l = 0; l < N; ++l) other |= Bits{!Op::template plain<F>(r.v[l])};
                stands = other == 0;
            } else if constexpr (Op::is_sum) {
                stands = exact_sums<F, N, Op>(a, b);
            } else {
                stands = false;
            }
            if (__builtin_expect(stands, 1)) {
                r.store(s.v[i.rd]);
                return true;
            }
        }
    } else if constexpr (Op::has_quick && kHasHost<F>) {
        if (__builtin_expect(!(s.fpcr & fpcr::FZ), 1)) {
            const auto a = FpLanes<F, N>::load(s.v[i.rn]), b = second_operand<F, N, by_element>(s, i);
            FpLanes<F, N> r;
            bool quick = true;
            for (unsigned l = 0; l < N; ++l) {
                Bits v;
                quick &= Op::template quick<F>(a.v[l], b.v[l], v);
                r.v[l] = v;
            }
            if (__builtin_expect(quick, 1)) {
                r.store(s.v[i.rd]);
                return true;
            }
        }
    }
    return false;
}
template <class F, unsigned N, class Op, bool by_element>
void exec_fp2(CpuState& s, const Insn& i) {
    if (!quick_fp2<F, N, Op, by_element>(s, i)) exec_fp2_slow<F, N, Op, by_element>(s, i);
}

/// hw_fused_exact() of all lanes, without a branch between them.
template <class F, unsigned N>
RK_TARGET_FMA inline bool hw_fused_exact(const Lanes<typename F::Host, N>& a, const Lanes<typename F::Host, N>& b,
                                         const Lanes<typename F::Host, N>& c, Lanes<typename F::Host, N>& sum) {
    using Bits = typename F::Bits;
    using Host = typename F::Host;
    Lanes<Host, N> p, of_product, of_sum;
    for (unsigned l = 0; l < N; ++l) p.v[l] = a.v[l] * b.v[l];
    for (unsigned l = 0; l < N; ++l) of_product.v[l] = hw_fma(a.v[l], b.v[l], -p.v[l]);
    for (unsigned l = 0; l < N; ++l) {
        const Host s = p.v[l] + c.v[l], t = s - p.v[l];
        of_sum.v[l] = (p.v[l] - (s - t)) + (c.v[l] - t);
        sum.v[l] = s;
    }
    const auto x = std::bit_cast<FpLanes<F, N>>(a), y = std::bit_cast<FpLanes<F, N>>(b);
    const auto product = std::bit_cast<FpLanes<F, N>>(p);
    const auto errors = std::bit_cast<FpLanes<F, N>>(of_product), others = std::bit_cast<FpLanes<F, N>>(of_sum);
    Bits any = 0;
    for (unsigned l = 0; l < N; ++l) {
        const auto shifted = [](Bits v) { return static_cast<Bits>(v << 1); };
        const Bits small = (product.v[l] & F::infinity) < least_exact_product<F>;
        const Bits zero = Bits{shifted(x.v[l]) == 0} | Bits{shifted(y.v[l]) == 0};
        any = static_cast<Bits>(any | shifted(errors.v[l] | others.v[l]) | (small & ~zero));
    }
    return any == 0;
}

template <class F, unsigned N, bool negate, bool by_element>
[[gnu::noinline]] void exec_fp_mla_slow(CpuState& s, const Insn& i) {
    using Bits = typename F::Bits;
    const auto a = FpLanes<F, N>::load(s.v[i.rn]), b = second_operand<F, N, by_element>(s, i);
    auto d = FpLanes<F, N>::load(s.v[i.rd]);
    FpEnv env{s.fpcr, s.fpsr};
    for (unsigned l = 0; l < N; ++l)
        d.v[l] = fused_lane<F>(d.v[l], static_cast<Bits>(negate ? a.v[l] ^ F::sign_bit : a.v[l]), b.v[l], env);
    d.store(s.v[i.rd]);
    s.fpsr = env.flags;
}

template <class F, unsigned N, bool negate, bool by_element>
void exec_fp_mla(CpuState& s, const Insn& i) {
    if constexpr (std::is_same_v<F, F32>) {
        if (__builtin_expect(host_mode(s), 1)) {
            const auto a = std::bit_cast<Lanes<float, N>>(FpLanes<F, N>::load(s.v[i.rn]));
            const auto b = std::bit_cast<Lanes<float, N>>(second_operand<F, N, by_element>(s, i));
            auto d = std::bit_cast<Lanes<float, N>>(FpLanes<F, N>::load(s.v[i.rd]));
            for (unsigned l = 0; l < N; ++l) d.v[l] = host_fma(negate ? -a.v[l] : a.v[l], b.v[l], d.v[l]);
            const auto r = std::bit_cast<FpLanes<F, N>>(d);
            if (__builtin_expect(all_well_normal<F, N>(r), 1)) return r.store(s.v[i.rd]);
        }
    }
    exec_fp_mla_slow<F, N, negate, by_element>(s, i);
}

/// The same on a host with FMA instructions. False: nothing was done, exec_fp_mla_slow() has to.
template <class F, unsigned N, bool negate, bool by_element>
RK_TARGET_FMA inline bool quick_fp_mla_hw(CpuState& s, const Insn& i) {
    using Host = typename F::Host;
    auto a = std::bit_cast<Lanes<Host, N>>(FpLanes<F, N>::load(s.v[i.rn]));
    const auto b = std::bit_cast<Lanes<Host, N>>(second_operand<F, N, by_element>(s, i));
    const auto c = FpLanes<F, N>::load(s.v[i.rd]);
    const auto addend = std::bit_cast<Lanes<Host, N>>(c);
    if (negate)
        for (unsigned l = 0; l < N; ++l) a.v[l] = -a.v[l];
    Lanes<Host, N> d;
    if (host_mode_or_flush(s)) {
        for (unsigned l = 0; l < N; ++l) d.v[l] = hw_fma(a.v[l], b.v[l], addend.v[l]);
        const auto r = std::bit_cast<FpLanes<F, N>>(d);
        bool plain = all_well_normal<F, N>(r);
        if (__builtin_expect(s.fpcr & fpcr::FZ, 0)) {
            for (unsigned l = 0; l < N; ++l)
                plain &= !F::is_denormal(std::bit_cast<typename F::Bits>(a.v[l])) &&
                         !F::is_denormal(std::bit_cast<typename F::Bits>(b.v[l])) && !F::is_denormal(c.v[l]);
        }
        if (__builtin_expect(plain, 1)) {
            r.store(s.v[i.rd]);
            return true;
        }
    }
    if ((s.fpcr & (fpcr::RMode | fpcr::FZ)) || !hw_fused_exact<F, N>(a, b, addend, d)) return false;
    std::bit_cast<FpLanes<F, N>>(d).store(s.v[i.rd]);
    return true;
}
template <class F, unsigned N, bool negate, bool by_element>
RK_TARGET_FMA void exec_fp_mla_hw(CpuState& s, const Insn& i) {
    if (!quick_fp_mla_hw<F, N, negate, by_element>(s, i)) exec_fp_mla_slow<F, N, negate, by_element>(s, i);
}

/// Lane operations with one operand.
template <class F, unsigned N, class Op>
void exec_fp1(CpuState& s, const Insn& i) {
    const auto a = FpLanes<F, N>::load(s.v[i.rn]);
    FpLanes<F, N> d;
    FpEnv env{s.fpcr};
    for (unsigned l = 0; l < N; ++l) d.v[l] = Op::template soft<F>(a.v[l], env);
    d.store(s.v[i.rd]);
    s.fpsr |= env.flags;
}

/// FP formats of a row: half precision has rows of its own, since its encodings lie elsewhere.
enum class FpSizes { half, single_double, single_only };

/// Chooses among the bodies of a family. Family::body<F, N>() gives one. Single or double by bit 22.
template <class Family, FpSizes sizes, bool scalar>
bool choose_fp(std::uint32_t raw, Insn& out) {
    const bool q = !scalar && (raw >> 30 & 1);
    if constexpr (sizes == FpSizes::half) {
        set_shape(out, 1, q);
        if constexpr (scalar)
            out.fn = Family::template body<F16, 1>();
        else
            out.fn = q ? Family::template body<F16, 8>() : Family::template body<F16, 4>();
        return true;
    } else {
        const bool dbl = raw >> 22 & 1;
        set_shape(out, dbl ? 3 : 2, q);
        if constexpr (scalar) {
            out.fn = dbl ? Family::template body<F64, 1>() : Family::template body<F32, 1>();
            return true;
        } else {
            if (dbl && !q) return false;
            out.fn = dbl ? Family::template body<F64, 2>()
                     : q ? Family::template body<F32, 4>()
                         : Family::template body<F32, 2>();
            return true;
        }
    }
}

template <class Op, bool by_element>
struct Fp2Family {
    template <class F, unsigned N>
    static Exec body() {
        return exec_fp2<F, N, Op, by_element>;
    }
};
template <class Op>
struct Fp1Family {
    template <class F, unsigned N>
    static Exec body() {
        return exec_fp1<F, N, Op>;
    }
};
template <bool negate, bool by_element>
struct FpMlaFamily {
    template <class F, unsigned N>
    static Exec body() {
        if constexpr (kHasHost<F>)
            if (host_has_fma()) return exec_fp_mla_hw<F, N, negate, by_element>;
        return exec_fp_mla<F, N, negate, by_element>;
    }
};

} // namespace rkperf::a64

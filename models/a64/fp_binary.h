// SPDX-License-Identifier: Apache-2.0
// Bodies of the scalar operations with two operands.
#pragma once

#include "models/a64/fp_ops.h"

namespace rkperf::a64 {

template <class F, class Op>
[[gnu::noinline]] void exec_binary_slow(CpuState& s, const Insn& i) {
    using Bits = typename F::Bits;
    FpEnv env{s.fpcr, s.fpsr};
    const Bits r = binary_lane<F, Op>(lane<Bits>(s.v[i.rn], 0), lane<Bits>(s.v[i.rm], 0), env);
    set_scalar(s.v[i.rd], r);
    s.fpsr = env.flags;
}
/// False: nothing was done, exec_binary_slow() has to.
template <class F, class Op>
inline bool quick_binary(CpuState& s, const Insn& i) {
    using Bits = typename F::Bits;
    if constexpr (Op::has_host && kHasHost<F>) {
        using Host = typename F::Host;
        if (__builtin_expect(host_mode(s), 1)) {
            const Host a = std::bit_cast<Host>(lane<Bits>(s.v[i.rn], 0));
            const Host b = std::bit_cast<Host>(lane<Bits>(s.v[i.rm], 0));
            const Bits r = std::bit_cast<Bits>(Op::host(a, b));
            if (__builtin_expect(Op::template plain<F>(r), 1)) {
                set_scalar(s.v[i.rd], r);
                return true;
            }
        }
    }
    return false;
}
template <class F, class Op>
void exec_binary(CpuState& s, const Insn& i) {
    if (!quick_binary<F, Op>(s, i)) exec_binary_slow<F, Op>(s, i);
}

} // namespace rkperf::a64

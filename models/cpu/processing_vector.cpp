// SPDX-License-Identifier: Apache-2.0
// Handlers of SIMD&FP instructions. A body that has to look closely at its numbers now and then is inlined only as far as
// it does not; then the whole is called, so that the handler needs no registers that it would have to save.
#include "models/a64/crypto_aes.h"
#include "models/a64/fp_binary.h"
#include "models/a64/fp_fma.h"
#include "models/a64/simd_fp.h"
#include "models/a64/simd_long.h"
#include "models/cpu/processing.h"

namespace rkperf::cpu {
namespace {

using namespace a64;

using Quick = bool (*)(CpuState&, const Insn&);

/// kQuick: false if it has done nothing.
template <Quick kQuick>
[[gnu::flatten]] void process_quick(CoreBase& base, CpuState& s, const DecodedOp* op, std::uint64_t pc) {
    if (__builtin_expect(!kQuick(s, op->insn), 0)) return process_called(base, s, op, pc);
    return op[1].handler(base, s, op + 1, pc + 4);
}
template <Quick kQuick>
RK_TARGET_FMA [[gnu::flatten]] void process_quick_fma(CoreBase& base, CpuState& s, const DecodedOp* op,
                                                      std::uint64_t pc) {
    if (__builtin_expect(!kQuick(s, op->insn), 0)) return process_called(base, s, op, pc);
    return op[1].handler(base, s, op + 1, pc + 4);
}
template <Exec kFn>
[[gnu::flatten]] void process(CoreBase& base, CpuState& s, const DecodedOp* op, std::uint64_t pc) {
    kFn(s, op->insn);
    return op[1].handler(base, s, op + 1, pc + 4);
}
template <Exec kFn>
RK_TARGET_AES [[gnu::flatten]] void process_aes(CoreBase& base, CpuState& s, const DecodedOp* op, std::uint64_t pc) {
    kFn(s, op->insn);
    return op[1].handler(base, s, op + 1, pc + 4);
}

using Rows = std::vector<BodyHandler>;

template <class F, bool negate_addend, bool negate_product>
void add_fma(Rows& rows) {
    rows.push_back({exec_fma_hw<F, negate_addend, negate_product>,
                    process_quick_fma<quick_fma_hw<F, negate_addend, negate_product>>});
}
template <class F>
void add_scalar(Rows& rows) {
    rows.push_back({exec_binary<F, op::Add>, process_quick<quick_binary<F, op::Add>>});
    rows.push_back({exec_binary<F, op::Sub>, process_quick<quick_binary<F, op::Sub>>});
    rows.push_back({exec_binary<F, op::Mul>, process_quick<quick_binary<F, op::Mul>>});
    add_fma<F, false, false>(rows);
    add_fma<F, false, true>(rows);
    add_fma<F, true, false>(rows);
    add_fma<F, true, true>(rows);
}
template <class F, unsigned N, bool by_element>
void add_multiplications(Rows& rows) {
    rows.push_back({exec_fp2<F, N, op::Mul, by_element>, process_quick<quick_fp2<F, N, op::Mul, by_element>>});
    rows.push_back(
        {exec_fp_mla_hw<F, N, false, by_element>, process_quick_fma<quick_fp_mla_hw<F, N, false, by_element>>});
    rows.push_back(
        {exec_fp_mla_hw<F, N, true, by_element>, process_quick_fma<quick_fp_mla_hw<F, N, true, by_element>>});
}
template <class F, unsigned N>
void add_lanes(Rows& rows) {
    rows.push_back({exec_fp2<F, N, op::Add, false>, process_quick<quick_fp2<F, N, op::Add, false>>});
    rows.push_back({exec_fp2<F, N, op::Sub, false>, process_quick<quick_fp2<F, N, op::Sub, false>>});
    add_multiplications<F, N, false>(rows);
    add_multiplications<F, N, true>(rows);
}
template <class E, unsigned N, class Op>
void add_widening(Rows& rows) {
    constexpr Exec lower = exec_long<E, N, Widening<Op>, false, false>,
                   upper = exec_long<E, N, Widening<Op>, true, false>;
    rows.push_back({lower, process<lower>});
    rows.push_back({upper, process<upper>});
}
template <bool sign>
void add_products(Rows& rows) {
    using lane_op::Into;
    using Sum = lane_op::MulL<sign, Into::add>;
    using Product = lane_op::MulL<sign, Into::replace>;
    add_widening<Element<sign, 1>, 4, Sum>(rows);
    add_widening<Element<sign, 2>, 2, Sum>(rows);
    add_widening<Element<sign, 1>, 4, Product>(rows);
    add_widening<Element<sign, 2>, 2, Product>(rows);
}
void add_aes(Rows& rows) {
    if (!aes::host_has_aes()) return;
    rows.push_back({aes::exec_round_hw<false>, process_aes<aes::exec_round_hw<false>>});
    rows.push_back({aes::exec_round_hw<true>, process_aes<aes::exec_round_hw<true>>});
    rows.push_back({aes::exec_mix_hw<false>, process_aes<aes::exec_mix_hw<false>>});
    rows.push_back({aes::exec_mix_hw<true>, process_aes<aes::exec_mix_hw<true>>});
}

} // namespace

std::vector<BodyHandler> vector_handlers() {
    Rows rows;
    add_scalar<F32>(rows);
    add_scalar<F64>(rows);
    add_lanes<F32, 4>(rows);
    add_lanes<F64, 2>(rows);
    add_products<true>(rows);
    add_products<false>(rows);
    add_aes(rows);
    return rows;
}

} // namespace rkperf::cpu

// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/processing.h"
#include "models/cpu/hot_bodies.h"

namespace rkperf::cpu {
namespace {

template <a64::Exec kFn>
[[gnu::flatten]] void process(CoreBase& base, a64::CpuState& s, const DecodedOp* op, std::uint64_t pc) {
    if constexpr (kSameBody<kFn, a64::dp_imm::adr> || kSameBody<kFn, a64::dp_imm::adrp>) s.pc = pc;
    kFn(s, op->insn);
    return op[1].handler(base, s, op + 1, pc + 4);
}

using Rows = std::vector<BodyHandler>;

template <a64::Exec... kFns>
void add(Rows& rows, hot::Bodies<kFns...>) {
    (rows.push_back({kFns, process<kFns>}), ...);
}
template <class... Lists>
void add(Rows& rows, hot::Types<Lists...>) {
    (add(rows, Lists{}), ...);
}

std::uintptr_t key(a64::Exec fn) { return reinterpret_cast<std::uintptr_t>(fn); }

} // namespace

Handler processing_handler(const a64::Insn& insn) {
    static const Rows kRows = [] {
        Rows rows = vector_handlers();
        add(rows, hot::DataProcessing{});
        // By address, for searching only.
        std::sort(rows.begin(), rows.end(),
                  [](const BodyHandler& a, const BodyHandler& b) { return key(a.body) < key(b.body); });
        return rows;
    }();
    const auto at = std::lower_bound(kRows.begin(), kRows.end(), key(insn.fn),
                                     [](const BodyHandler& r, std::uintptr_t k) { return key(r.body) < k; });
    return at != kRows.end() && at->body == insn.fn ? at->handler : process_called;
}

} // namespace rkperf::cpu

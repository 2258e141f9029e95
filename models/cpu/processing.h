// SPDX-License-Identifier: Apache-2.0
// Handlers (threads.h) of operations that neither access memory nor branch. They ask nothing of the core, and so are the
// same for all cores, timed or not.
#pragma once

#include "models/cpu/decoded_op.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace rkperf::cpu {

/// Whether two bodies are the same. Compared as types: under -fsanitize=undefined g++ does not take the comparison of
/// functions for a constant.
template <a64::Exec kFn>
struct BodyOf {};
template <a64::Exec kOne, a64::Exec kOther>
inline constexpr bool kSameBody = std::is_same_v<BodyOf<kOne>, BodyOf<kOther>>;

/// The operation's handler: with its body inlined, or one that calls it.
Handler processing_handler(const a64::Insn& insn);

struct BodyHandler {
    a64::Exec body;
    Handler handler;
};
/// Those of SIMD&FP instructions with bodies inlined.
std::vector<BodyHandler> vector_handlers();

/// Calls the body.
inline void process_called(CoreBase& base, a64::CpuState& s, const DecodedOp* op, std::uint64_t pc) {
    s.pc = pc;
    op->insn.fn(s, op->insn);
    return op[1].handler(base, s, op + 1, s.pc + 4); // of pc there is a copy: one register less to keep
}

} // namespace rkperf::cpu

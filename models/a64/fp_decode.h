// SPDX-License-Identifier: Apache-2.0
// What the decoders of FP, SIMD and crypto rows share. In all of them Insn::a is the element size (log2 of bytes) and
// Insn::b is 1 for a 128-bit vector and 0 for a 64-bit vector or a scalar; c, d and imm are each row's own.
#pragma once

#include "models/a64/decode_util.h"
#include "models/a64/insn.h"

#include <cstdint>

namespace rkperf::a64 {

constexpr std::uint8_t small(unsigned v) { return static_cast<std::uint8_t>(v); }

inline void set_shape(Insn& out, unsigned size, bool q) {
    out.a = small(size);
    out.b = q;
}
/// rd = op(rn), all V registers.
inline void set_v_unary(std::uint32_t raw, Insn& out) {
    out.rd = small(rd_of(raw));
    out.rn = small(rn_of(raw));
    out.src[0] = v_dep(out.rn);
    out.dst[0] = v_dep(out.rd);
}
/// rd = op(rn, rm), all V registers.
inline void set_v_binary(std::uint32_t raw, Insn& out) {
    set_v_unary(raw, out);
    out.rm = small(rm_of(raw));
    out.src[1] = v_dep(out.rm);
}
/// rd is an accumulator: added to late, so a core may forward it late.
inline void set_v_accumulates(Insn& out) { out.src[3] = v_dep(out.rd); }
/// rd is an ordinary input besides (merging, inserting).
inline void set_v_merges(Insn& out) { out.src[2] = v_dep(out.rd); }

/// The element size of FP scalar instructions' `type` field (bits 23:22); 0 if it is unallocated.
constexpr unsigned fp_type_size(std::uint32_t raw) {
    constexpr unsigned sizes[4] = {2, 3, 0, 1};
    return sizes[field(raw, 22, 2)];
}

} // namespace rkperf::a64

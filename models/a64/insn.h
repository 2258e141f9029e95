// SPDX-License-Identifier: Apache-2.0
// Decoded instructions, and the declarative table they come from.
#pragma once

#include "models/a64/state.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rkperf::a64 {

struct Insn;
/// One instruction's body. Precondition: state.pc is the instruction's address, state.stop is none, branch_taken is
/// false. A branch that is taken writes pc and sets branch_taken; all others leave pc alone (the core adds 4) unless they
/// stop: a body that stops has brought pc to where Stop says it is, without branch_taken. On a fault nothing
/// architectural has changed but stop and fault.
using Exec = void (*)(CpuState&, const Insn&);

/// Resource classes: what a pipeline model needs to know of an instruction. Each core maps a class to latency, pipes
/// and throughput in its own table (facts/latency_*.csv). Keep in step with the rows of those files.
// clang-format off
enum class TimingClass : std::uint8_t {
    nop, alu, alu_flags, alu_shift, alu_ext, logic_shift_flags, adc, csel, ccmp, mov_imm, adr, shift_reg, bitfield, bfm, extr, clz, rev,
    mul32, madd32, mul64, madd64, mulh, div32, div64, crc, pac,
    branch, branch_cond, branch_link, branch_reg, ret,
    load, load_signed, load_pair, load_fp, load_fp_q, load_fp_pair, load_lit, ld1, ld2, ld3, ld4, ld1r, load_excl, load_acq, prefetch,
    store, store_pair, store_fp, store_fp_q, store_fp_pair, st1, st2, st3, st4, store_excl, store_rel, atomic, cas, dc_zva,
    fp_arith, fp_mul, fp_madd, fp_div_h, fp_div_s, fp_div_d, fp_sqrt_h, fp_sqrt_s, fp_sqrt_d, fp_cmp, fp_csel, fp_cvt, fp_round, fp_mov, fp_imm, fp_to_gpr, gpr_to_fp, fp_minmax,
    simd_arith, simd_logic, simd_cmp, simd_shift, simd_shift_acc, simd_sat, simd_mul, simd_mla, simd_mull, simd_abs_diff_acc, simd_pairwise, simd_reduce, simd_minmax,
    simd_permute, simd_tbl1, simd_tbl2, simd_tbl3, simd_tbl4, simd_dup, simd_dup_gpr, simd_ins, simd_ins_gpr, simd_umov, simd_movi, simd_dot,
    simd_fp_arith, simd_fp_mul, simd_fp_mla, simd_fp_div, simd_fp_sqrt, simd_fp_cmp, simd_fp_cvt, simd_fp_cvt_long, simd_fp_reduce, simd_fp_recip, simd_fp_recip_step,
    aes, aes_mc, pmull, sha1, sha1h, sha256, sha256_su,
    barrier, isb, sysreg_read, sysreg_write, cache_op, svc, hint,
    count,
};
// clang-format on

/// What events an instruction produces by being retired; static at decode.
enum class InsnKind : std::uint8_t {
    other,
    load,
    store,
    load_store,
    branch_immed,
    branch_cond,
    branch_indirect,
    branch_call,
    branch_call_indirect,
    branch_return,
    barrier_dmb,
    barrier_dsb,
    isb,
    exclusive_load,
    exclusive_store,
    crypto,
    fp,
    simd,
    exception
};

/// Unified register numbers for dependency tracking.
namespace reg {
inline constexpr std::uint8_t gpr0 = 0;  ///< 0-30 X registers
inline constexpr std::uint8_t none = 31; ///< no register (also XZR): always ready, results ignored
inline constexpr std::uint8_t sp = 32;
inline constexpr std::uint8_t flags = 33; ///< NZCV
inline constexpr std::uint8_t fpsr = 34;
inline constexpr std::uint8_t v0 = 40; ///< 40-71 V registers
inline constexpr std::uint8_t count = 72;
} // namespace reg

struct OpRow;

/// Insn::row of an encoding that no row allocates.
inline constexpr std::uint16_t kNoRow = 0xffff;

struct Insn {
    Exec fn{};
    /// Slots of CpuState::x, or V register numbers (ra also: second data register of a pair).
    std::uint8_t rd{}, rn{}, rm{}, ra{};
    /// Small operands; each row's body says what they mean (shift kind and amount, condition, lane, element size).
    std::uint8_t a{}, b{}, c{}, d{};
    std::int64_t imm{};        ///< immediate, byte offset, or mask
    std::uint32_t raw{};       ///< the encoding
    std::uint16_t row{kNoRow}; ///< index into op_table()
    /// For alu_shift: a = shift (0 LSL, 1 LSR, 2 ASR, 3 ROR), b = amount, c = 1 if the operation is logical.
    TimingClass timing{};
    InsnKind kind{};
    /// Registers read (reg::*): src[0] the base of an access, src[3] the accumulator or store data if any, src[2] the
    /// second store datum of a pair, or the flags.
    std::uint8_t src[4]{reg::none, reg::none, reg::none, reg::none};
    /// Registers written: dst[0] the main result, dst[1] the second of a pair or the flags, dst[2] base write-back.
    std::uint8_t dst[3]{reg::none, reg::none, reg::none};
    std::uint8_t mem_bytes{}; ///< bytes accessed, 0 if no memory access
};

/// One row of the decode table.
struct OpRow {
    std::uint32_t mask, value; ///< raw & mask == value
    const char* name;          ///< unique row name, e.g. "ADD_reg_64"
    /// Preferred mnemonic without aliases, as objdump -M no-aliases prints it; "" if it depends on operands.
    const char* mnemonic;
    bool (*decode)(std::uint32_t raw, Insn& out); ///< fills operands; false: this encoding is unallocated after all
    Exec fn;                                      ///< body; decode may choose a specialised one
    TimingClass timing;
    InsnKind kind;
};

/// All rows, in order of the encoding groups; no two rows match one encoding.
std::span<const OpRow> op_table();

/// Decodes one instruction. An undefined encoding gives an Insn whose body stops with Stop::undefined.
Insn decode(std::uint32_t raw);

/// True if the instruction ends a basic block: branches, exceptions, ISB, hints the core wants to see, and accesses to
/// system registers that go through CoreHooks.
bool ends_block(const Insn& insn);

/// Capstone's text, or ".inst 0x%08x // ROW" with the row's name where Capstone does not know the instruction, or
/// ".inst 0x%08x // undefined" where we do not.
std::string disassemble(std::uint32_t raw, std::uint64_t pc);

} // namespace rkperf::a64

// SPDX-License-Identifier: Apache-2.0
#include "models/cpu_a55/timing.h"

#include "models/cpu/class_table.h"
#include "models/cpu_a55/pipeline.h"

namespace rkperf::cpu_a55 {
namespace {

using a64::Insn;
using a64::TimingClass;
using Tc = TimingClass;
using namespace unit;

// Occupancy: issue cycles taken by loads and stores, else cycles during which the unit takes nothing else. "est." marks
// rows for which facts/latency_a55.csv has no figure.
// clang-format off
constexpr cpu::ClassRow kRows[] = {
    // class              latency units occupancy uops accumulate second
    {Tc::nop,                0, 0},
    {Tc::alu,                1, ALU},
    {Tc::alu_flags,          1, ALU},
    {Tc::alu_shift,          2, ALU},           // operand needed a stage earlier; figures for shifts in part inferred
    {Tc::alu_ext,            2, ALU},
    {Tc::logic_shift_flags,  2, ALU},
    {Tc::adc,                1, ALU},
    {Tc::csel,               1, ALU},
    {Tc::ccmp,               1, ALU},
    {Tc::mov_imm,            1, ALU},
    {Tc::adr,                1, ALU},
    {Tc::shift_reg,          2, ALU},
    {Tc::bitfield,           2, ALU},
    {Tc::bfm,                2, ALU},
    {Tc::extr,               2, ALU},
    {Tc::clz,                2, ALU},
    {Tc::rev,                2, ALU},
    {Tc::mul32,              3, MAC, 1, 1, 2},  // accumulator forwarded
    {Tc::madd32,             3, MAC, 1, 1, 2},
    {Tc::mul64,              4, MAC, 2, 1, 2},
    {Tc::madd64,             4, MAC, 2, 1, 2},
    {Tc::mulh,               4, MAC, 2},
    {Tc::div32,              12, DIV, 12},      // at most; 8 typical, see Pipeline::divide
    {Tc::div64,              20, DIV, 20},
    {Tc::crc,                2, ALU},           // est.
    {Tc::pac,                1, ALU},
    {Tc::branch,             1, B},
    {Tc::branch_cond,        1, B},
    {Tc::branch_link,        1, B},
    {Tc::branch_reg,         1, B},
    {Tc::ret,                1, B},
    {Tc::load,               3, LD},            // as the base of the next load a cycle earlier (PipelineParams::chase_bonus)
    {Tc::load_signed,        3, LD},
    {Tc::load_pair,          3, LD, 2, 1, 0, 1},// 64 bits a cycle from the L1
    {Tc::load_fp,            4, LD},
    {Tc::load_fp_q,          4, LD | FPQ, 2},   // two cycles of the load unit, no FP operation beside it; M: AES-CBC, as is its latency
    {Tc::load_fp_pair,       4, LD, 2, 1, 0, 3},
    {Tc::load_lit,           3, LD},
    {Tc::ld1,                5, LD, 2},         // by registers (below)
    {Tc::ld2,                5, LD, 2},
    {Tc::ld3,                6, LD, 3},
    {Tc::ld4,                7, LD, 4},
    {Tc::ld1r,               4, LD},
    {Tc::load_excl,          3, LD},            // est.
    {Tc::load_acq,           3, LD},
    {Tc::prefetch,           1, LD},
    {Tc::store,              1, ST},
    {Tc::store_pair,         1, ST},
    {Tc::store_fp,           1, ST},
    {Tc::store_fp_q,         1, ST},
    {Tc::store_fp_pair,      1, ST, 2},
    {Tc::st1,                4, ST},
    {Tc::st2,                5, ST, 2},
    {Tc::st3,                7, ST, 4},
    {Tc::st4,                7, ST, 4},
    {Tc::store_excl,         4, ST},
    {Tc::store_rel,          4, ST},
    {Tc::atomic,             10, ST, 2},        // est.: 5..15
    {Tc::cas,                11, ST, 2},        // est.
    {Tc::dc_zva,             1, ST, 2},         // est.
    {Tc::fp_arith,           4, FP},
    {Tc::fp_mul,             4, FP},
    {Tc::fp_madd,            4, FP, 1, 1, 0},
    {Tc::fp_div_h,           8, FP, 5},
    {Tc::fp_div_s,           13, FP, 10},
    {Tc::fp_div_d,           22, FP, 19},
    {Tc::fp_sqrt_h,          8, FP, 5},
    {Tc::fp_sqrt_s,          12, FP, 9},
    {Tc::fp_sqrt_d,          22, FP, 19},
    {Tc::fp_cmp,             3, FP},
    {Tc::fp_csel,            3, FP},
    {Tc::fp_cvt,             4, FP},
    {Tc::fp_round,           4, FP},
    {Tc::fp_mov,             3, FP},
    {Tc::fp_imm,             3, FP},
    {Tc::fp_to_gpr,          3, FP},
    {Tc::gpr_to_fp,          4, FP},
    {Tc::fp_minmax,          4, FP},
    {Tc::simd_arith,         2, FP},
    {Tc::simd_logic,         1, FP},
    {Tc::simd_cmp,           2, FP},
    {Tc::simd_shift,         2, FP},
    {Tc::simd_shift_acc,     3, FP},
    {Tc::simd_sat,           3, FP},
    {Tc::simd_mul,           4, FP},
    {Tc::simd_mla,           4, FP},
    {Tc::simd_mull,          4, FP},
    {Tc::simd_abs_diff_acc,  4, FP},
    {Tc::simd_pairwise,      3, FP},
    {Tc::simd_reduce,        4, FP},
    {Tc::simd_minmax,        2, FP},
    {Tc::simd_permute,       2, FP},            // the 4 of the source is for MOV element and REV
    {Tc::simd_tbl1,          4, FP},            // est.
    {Tc::simd_tbl2,          4, FP},
    {Tc::simd_tbl3,          4, FP},
    {Tc::simd_tbl4,          4, FP},
    {Tc::simd_dup,           2, FP},
    {Tc::simd_dup_gpr,       2, FP},
    {Tc::simd_ins,           2, FP},
    {Tc::simd_ins_gpr,       3, FP},
    {Tc::simd_umov,          3, FP},
    {Tc::simd_movi,          1, FP},
    {Tc::simd_dot,           4, FP},
    {Tc::simd_fp_arith,      4, FP},
    {Tc::simd_fp_mul,        4, FP},
    {Tc::simd_fp_mla,        4, FP},
    {Tc::simd_fp_div,        22, FP, 19},       // est. from the scalar figures
    {Tc::simd_fp_sqrt,       22, FP, 19},
    {Tc::simd_fp_cmp,        2, FP},
    {Tc::simd_fp_cvt,        4, FP},
    {Tc::simd_fp_cvt_long,   4, FP},
    {Tc::simd_fp_reduce,     4, FP},
    {Tc::simd_fp_recip,      4, FP},
    {Tc::simd_fp_recip_step, 4, FP},
    {Tc::aes,                2, FP},            // 2 per AESE+AESMC pair
    {Tc::aes_mc,             2, FP},
    {Tc::pmull,              3, FP},
    {Tc::sha1,               4, FP},            // est.
    {Tc::sha1h,              2, FP},
    {Tc::sha256,             4, FP},
    {Tc::sha256_su,          2, FP},
    {Tc::barrier,            1, 0},
    {Tc::isb,                1, 0},
    {Tc::sysreg_read,        1, 0},
    {Tc::sysreg_write,       1, 0},
    {Tc::cache_op,           1, 0},
    {Tc::svc,                1, 0},
    {Tc::hint,               1, 0},
};
// clang-format on
static_assert(cpu::complete(kRows), "one row per TimingClass, in its order");

// The same table of the source, where one class holds operations of different latency.
// clang-format off
constexpr cpu::ExactRow kExact[] = {
    {cpu::kTwoMisc,   0x0e20b800, 3}, // ABS
    {cpu::kThreeSame, 0x0e208c00, 3}, // CMTST
    {cpu::kThreeSame, 0x0e207400, 3}, {cpu::kThreeSame, 0x2e207400, 3}, // SABD UABD
    {cpu::kThreeSame, 0x0e207000, 3}, {cpu::kThreeSame, 0x2e207000, 3}, // SABDL UABDL
    {cpu::kTwoMisc,   0x0e202800, 3}, {cpu::kTwoMisc,   0x2e202800, 3}, // SADDLP UADDLP
    {cpu::kThreeSame, 0x0e200000, 3}, {cpu::kThreeSame, 0x2e200000, 3}, // SADDL UADDL
    {cpu::kThreeSame, 0x0e201000, 3}, {cpu::kThreeSame, 0x2e201000, 3}, // SADDW UADDW
    {cpu::kThreeSame, 0x0e202000, 3}, {cpu::kThreeSame, 0x2e202000, 3}, // SSUBL USUBL
    {cpu::kThreeSame, 0x0e203000, 3}, {cpu::kThreeSame, 0x2e203000, 3}, // SSUBW USUBW
    {cpu::kThreeSame, 0x0e204000, 3}, {cpu::kThreeSame, 0x0e206000, 3}, // ADDHN SUBHN
    {cpu::kThreeSame, 0x2e204000, 4}, {cpu::kThreeSame, 0x2e206000, 4}, // RADDHN RSUBHN
    {cpu::kAcross & ~0xc00000u, 0x0e31b800, 3},                         // ADDV
    {cpu::kAcross & ~0xe00000u, 0x0e103800, 3}, {cpu::kAcross & ~0xe00000u, 0x2e103800, 3}, // SADDLV UADDLV
    {cpu::kThreeSame, 0x2e209c00, 3}, // PMUL
    {cpu::kThreeSame | 0xc00000, 0x0e20e000, 3}, // PMULL of bytes
    {cpu::kShiftImm,  0x0f007400, 4}, {cpu::kShiftImm,  0x2f007400, 4}, {cpu::kShiftImm,  0x2f006400, 4}, // SQSHL UQSHL SQSHLU
    {cpu::kThreeSame, 0x0e204c00, 4}, {cpu::kThreeSame, 0x2e204c00, 4}, // SQSHL UQSHL by register
    {cpu::kThreeSame, 0x0e205c00, 4}, {cpu::kThreeSame, 0x2e205c00, 4}, // SQRSHL UQRSHL
    {cpu::kShiftImm,  0x0f003400, 4}, {cpu::kShiftImm,  0x2f003400, 4}, // SRSRA URSRA
    {cpu::kShiftImm,  0x0f009400, 4}, {cpu::kShiftImm,  0x2f009400, 4}, {cpu::kShiftImm,  0x2f008400, 4}, // SQSHRN UQSHRN SQSHRUN
    {cpu::kShiftImm,  0x0f009c00, 4}, {cpu::kShiftImm,  0x2f009c00, 4}, {cpu::kShiftImm,  0x2f008c00, 4}, // with rounding
    {cpu::kTwoMisc & ~0xc00000u, 0x0e200800, 4}, {cpu::kTwoMisc & ~0xc00000u, 0x2e200800, 4}, // REV64 REV32
    {cpu::kTwoMisc,   0x0e201800, 4}, {cpu::kAcross, 0x2e605800, 4}, // REV16 RBIT
    {0xffe08400,      0x6e000400, 4}, // INS of an element
};
// clang-format on

bool is_vector(TimingClass t) { return t >= Tc::fp_arith && t <= Tc::sha256_su; }
/// Bit 30 of a vector operation; scalar ones (bit 28) have it set, too.
bool quad(const Insn& i) { return (i.raw >> 30 & 1) && !(i.raw >> 28 & 1); }
bool is_simd(TimingClass t) { return t >= Tc::simd_arith && t <= Tc::simd_fp_recip_step; }
/// Bits 15:12 of LD1/ST1 (multiple structures).
unsigned structure_registers(const Insn& i) {
    if (i.raw >> 24 & 1) return 1;
    switch (i.raw >> 12 & 15) {
        case 0b1010: return 2;
        case 0b0110: return 3;
        case 0b0010: return 4;
        default: return 1;
    }
}

} // namespace

cpu::OpTiming timing_of(const Insn& i) {
    constexpr unsigned kAdvSimdLane = 24;
    cpu::OpTiming t = cpu::timing_of_row(kRows[static_cast<std::size_t>(i.timing)]);
    cpu::refine(t, i.raw, kExact);
    if (is_vector(i.timing)) t.detail |= detail::fp;
    // 128-bit operations take both halves of the unit.
    if (is_simd(i.timing) && quad(i) && (t.pipes & FP)) t.pipes = FPQ;
    const bool lane = i.raw >> kAdvSimdLane & 1;
    switch (i.timing) {
        case Tc::alu_shift:
            if (i.b == 0) t.latency = 1; // no shift after all
            break;
        case Tc::load:
        case Tc::load_signed:
            if (i.src[1] != a64::reg::none) t.detail |= detail::indexed;
            break;
        case Tc::load_pair:
            if (i.mem_bytes <= 8) t.occupancy = 1;
            break;
        case Tc::load_fp_pair:
            if (i.mem_bytes > 16) {
                t.occupancy = 4;
                t.pipes |= FPQ;
            }
            break;
        case Tc::store_pair:
        case Tc::store_fp_pair:
            // STNP takes twice as long as STP: 15.2 GB/s where STP writes 22 (tinymembench on three boards).
            if ((i.raw >> 23 & 7) == 0) t.occupancy = static_cast<std::uint8_t>(2 * t.occupancy);
            break;
        case Tc::ld1: {
            const unsigned n = structure_registers(i);
            // LLVM has 5 for one register of 128 bits, at which AES-CBC is 6 % slower than on boards.
            t.latency = static_cast<std::uint8_t>(lane || n == 1 ? 4 : quad(i) ? 3 + 2 * n : 3 + n);
            t.occupancy = static_cast<std::uint8_t>(lane ? 1 : quad(i) ? 2 * n : n);
            if (!lane && quad(i)) t.pipes |= FPQ;
            break;
        }
        case Tc::ld2:
        case Tc::ld3:
        case Tc::ld4:
            if (lane) {
                t.latency = 5;
                t.occupancy = 2;
            } else if (quad(i)) {
                t.latency = static_cast<std::uint8_t>(3 + 2 * (t.latency - 3));
                t.occupancy = static_cast<std::uint8_t>(t.occupancy * 2);
            }
            break;
        case Tc::st1: {
            constexpr std::uint8_t kIssue[] = {1, 1, 1, 2, 4};
            t.occupancy = kIssue[structure_registers(i)];
            break;
        }
        case Tc::st2:
            if (quad(i)) t.occupancy = 4;
            break;
        case Tc::store_excl:
        case Tc::atomic:
        case Tc::cas: t.detail |= detail::result_store; break;
        case Tc::aes_mc: t.detail |= detail::fused; break;
        case Tc::prefetch: t.detail |= detail::prefetch | (i.raw >> 1 & 3 ? detail::beyond : 0); break;
        case Tc::gpr_to_fp:
            if ((i.raw >> 16 & 7) >= 6) t.latency = 3; // FMOV
            break;
        default: break;
    }
    return t;
}

} // namespace rkperf::cpu_a55

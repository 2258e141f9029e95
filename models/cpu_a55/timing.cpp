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

// Latencies and throughputs of Arm's Cortex-A55 Software Optimization Guide (issue 4.0, section 4), unless said otherwise.
// Its latencies are those of a user that takes the result in iss. Occupancy: issue cycles taken by loads and stores, else
// cycles during which the unit takes nothing else.
// clang-format off
constexpr cpu::ClassRow kRows[] = {
    // class              latency units occupancy uops accumulate second
    {Tc::nop,                0, 0},
    {Tc::alu,                1, ALU},
    {Tc::alu_flags,          1, ALU},
    {Tc::alu_shift,          2, ALU},
    {Tc::alu_ext,            2, ALU},
    {Tc::logic_shift_flags,  2, ALU},
    {Tc::adc,                1, ALU},
    {Tc::csel,               1, ALU},
    {Tc::ccmp,               1, ALU},
    {Tc::mov_imm,            1, ALU},
    {Tc::adr,                1, ALU},
    {Tc::shift_reg,          1, ALU | DIV},     // one a cycle: the divider's is the unit that no two have at once
    {Tc::bitfield,           2, ALU},           // immediate shifts too; extensions: 1 (below)
    {Tc::bfm,                2, ALU},
    {Tc::extr,               2, ALU},
    {Tc::clz,                1, ALU},
    {Tc::rev,                1, ALU},
    {Tc::mul32,              3, MAC, 1, 1, 2},  // accumulator forwarded
    {Tc::madd32,             3, MAC, 1, 1, 2},
    {Tc::mul64,              4, MAC, 2, 1, 2},
    {Tc::madd64,             4, MAC, 2, 1, 2},
    {Tc::mulh,               6, MAC, 3},
    {Tc::div32,              12, DIV, 12},      // at most; see Pipeline::divide
    {Tc::div64,              20, DIV, 20},
    {Tc::crc,                2, ALU},           // of words: 1 (below)
    {Tc::pac,                1, ALU},
    {Tc::branch,             1, B},
    {Tc::branch_cond,        1, B},
    {Tc::branch_link,        1, B},
    {Tc::branch_reg,         1, B},
    {Tc::ret,                1, B},
    {Tc::load,               3, LD},            // as the base of the next load a cycle earlier (PipelineParams::chase_bonus)
    {Tc::load_signed,        3, LD},
    {Tc::load_pair,          3, LD, 2, 1, 0, 1},// 64 bits a cycle from the L1; of 32 bits: one cycle (below)
    {Tc::load_fp,            3, LD},
    {Tc::load_fp_q,          4, LD | FPQ, 2},   // two cycles of the load unit, no FP operation beside it; M: AES-CBC, as is its latency
    {Tc::load_fp_pair,       3, LD, 2, 1, 0, 1},// by registers (below)
    {Tc::load_lit,           3, LD},
    {Tc::ld1,                3, LD},           // structures: below
    {Tc::ld2,                4, LD, 2},
    {Tc::ld3,                6, LD, 4},
    {Tc::ld4,                7, LD, 5},
    {Tc::ld1r,               3, LD},
    {Tc::load_excl,          3, LD},            // est.
    {Tc::load_acq,           3, LD},
    {Tc::prefetch,           1, LD},
    {Tc::store,              1, ST},
    {Tc::store_pair,         1, ST},
    {Tc::store_fp,           1, ST},
    {Tc::store_fp_q,         1, ST},
    {Tc::store_fp_pair,      1, ST, 2},
    {Tc::st1,                1, ST},           // structures: below
    {Tc::st2,                1, ST},
    {Tc::st3,                3, ST, 3},
    {Tc::st4,                3, ST, 3},
    {Tc::store_excl,         4, ST},
    {Tc::store_rel,          2, ST, 2},
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
    {Tc::fp_cmp,             3, FP},           // a branch on it goes in the next cycle (guide 5.11)
    {Tc::fp_csel,            2, FP},
    {Tc::fp_cvt,             4, FP},
    {Tc::fp_round,           4, FP},
    {Tc::fp_mov,             1, FP},
    {Tc::fp_imm,             1, FP},
    {Tc::fp_to_gpr,          3, FP},
    {Tc::gpr_to_fp,          5, FP},
    {Tc::fp_minmax,          4, FP},
    {Tc::simd_arith,         2, FP},
    {Tc::simd_logic,         1, FP},
    {Tc::simd_cmp,           2, FP},
    {Tc::simd_shift,         2, FP},
    {Tc::simd_shift_acc,     3, FP},
    {Tc::simd_sat,           3, FP},
    {Tc::simd_mul,           4, FP},
    {Tc::simd_mla,           4, FP, 1, 1, 3},  // accumulator forwarded
    {Tc::simd_mull,          4, FPQ, 1, 1, 3}, // the long results take both halves
    {Tc::simd_abs_diff_acc,  4, FP, 2},
    {Tc::simd_pairwise,      3, FP},
    {Tc::simd_reduce,        4, FP},
    {Tc::simd_minmax,        2, FP},
    {Tc::simd_permute,       2, FP},            // the 4 of the source is for MOV element and REV
    {Tc::simd_tbl1,          2, FPQ},
    {Tc::simd_tbl2,          3, FPQ, 2},
    {Tc::simd_tbl3,          4, FPQ, 3},
    {Tc::simd_tbl4,          5, FPQ, 4},
    {Tc::simd_dup,           2, FP},
    {Tc::simd_dup_gpr,       3, FP},
    {Tc::simd_ins,           2, FP},
    {Tc::simd_ins_gpr,       2, FP},
    {Tc::simd_umov,          2, FP},
    {Tc::simd_movi,          1, FP},
    {Tc::simd_dot,           4, FP, 1, 1, 3},
    {Tc::simd_fp_arith,      4, FP},
    {Tc::simd_fp_mul,        4, FP},
    {Tc::simd_fp_mla,        4, FP},
    {Tc::simd_fp_div,        22, FP, 19},       // est. from the scalar figures
    {Tc::simd_fp_sqrt,       22, FP, 19},
    {Tc::simd_fp_cmp,        2, FP},
    {Tc::simd_fp_cvt,        4, FP},
    {Tc::simd_fp_cvt_long,   4, FPQ},
    {Tc::simd_fp_reduce,     4, FP},
    {Tc::simd_fp_recip,      4, FP},
    {Tc::simd_fp_recip_step, 4, FP},
    {Tc::aes,                2, FP},            // 2 per AESE+AESMC pair
    {Tc::aes_mc,             2, FP},
    {Tc::pmull,              2, FPQ},
    {Tc::sha1,               4, FPQ},
    {Tc::sha1h,              2, FPQ},
    {Tc::sha256,             4, FPQ},
    {Tc::sha256_su,          3, FPQ},
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

// Where one class holds operations of different latency or throughput.
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
    {cpu::kThreeSame, 0x2e204000, 4, 2}, {cpu::kThreeSame, 0x2e206000, 4, 2}, // RADDHN RSUBHN
    {cpu::kAcross & ~0xc00000u, 0x0e31b800, 3},                         // ADDV
    {cpu::kAcross & ~0xe00000u, 0x0e103800, 3}, {cpu::kAcross & ~0xe00000u, 0x2e103800, 3}, // SADDLV UADDLV
    {cpu::kThreeSame, 0x2e209c00, 3}, // PMUL
    {cpu::kThreeSame | 0xc00000, 0x0e20e000, 3}, // PMULL of bytes
    {cpu::kShiftImm,  0x0f007400, 4}, {cpu::kShiftImm,  0x2f007400, 4}, {cpu::kShiftImm,  0x2f006400, 4}, // SQSHL UQSHL SQSHLU
    {cpu::kThreeSame, 0x0e204c00, 4}, {cpu::kThreeSame, 0x2e204c00, 4}, // SQSHL UQSHL by register
    {cpu::kThreeSame, 0x0e205c00, 4}, {cpu::kThreeSame, 0x2e205c00, 4}, // SQRSHL UQRSHL
    {cpu::kShiftImm,  0x0f003400, 4, 2}, {cpu::kShiftImm, 0x2f003400, 4, 2}, // SRSRA URSRA
    {cpu::kShiftImm,  0x0f009400, 4}, {cpu::kShiftImm,  0x2f009400, 4}, {cpu::kShiftImm,  0x2f008400, 4}, // SQSHRN UQSHRN SQSHRUN
    {cpu::kShiftImm,  0x0f009c00, 4}, {cpu::kShiftImm,  0x2f009c00, 4}, {cpu::kShiftImm,  0x2f008c00, 4}, // with rounding
    {cpu::kTwoMisc,   0x0e206800, 4, 2}, {cpu::kTwoMisc, 0x2e206800, 4, 2}, // SADALP UADALP
    {cpu::kTwoMisc,   0x0e207800, 4}, // SQABS
    {cpu::kTwoMisc,   0x0e204800, 3}, // CLS
    {0xfffffc00,      0x5e282800, 3}, {0xffe0fc00, 0x5e006000, 4}, // SHA256SU0 SHA256SU1
    {0x7f3ffc00,      0x1e260000, 1}, // FMOV to a general register
};
// clang-format on

/// Arithmetic and logic, whose operands are taken in ex2 if they come late; what is shifted is not.
bool takes_late(const Insn& i) { return i.timing >= Tc::alu && i.timing <= Tc::adr; }
bool is_vector(TimingClass t) { return t >= Tc::fp_arith && t <= Tc::sha256_su; }
/// Bit 30 of a vector operation; scalar ones (bit 28) have it set, too.
bool quad(const Insn& i) { return (i.raw >> 30 & 1) && !(i.raw >> 28 & 1); }
bool is_simd(TimingClass t) { return t >= Tc::simd_arith && t <= Tc::simd_fp_recip_step; }
/// Results, or sums, of twice the elements' width, and operations by an element: both halves of the unit, whatever bit 30 says.
bool long_or_by_element(std::uint32_t raw) {
    return (raw & 0x9f200c00) == 0x0e200000 || (raw & 0x9f000400) == 0x0f000000 || (raw & 0x9f80fc00) == 0x0f00a400;
}

/// Loads and stores of structures: bit 24 tells single ones.
bool single(const Insn& i) { return i.raw >> 24 & 1; }
/// Bits 15:12 of LD1/ST1 (multiple structures).
unsigned structure_registers(const Insn& i) {
    if (single(i)) return 1;
    switch (i.raw >> 12 & 15) {
        case 0b1010: return 2;
        case 0b0110: return 3;
        case 0b0010: return 4;
        default: return 1;
    }
}
/// log2 of the bytes of an element.
unsigned element_size(const Insn& i) {
    const unsigned size = i.raw >> 10 & 3, scale = i.raw >> 14 & 3;
    if (!single(i) || scale == 3) return size; // multiple, or one to all lanes
    return scale == 2 && (i.raw >> 10 & 1) ? 3 : scale;
}
/// Issue cycles of a structure load; its data are there two cycles later than those of one cycle would be.
unsigned load_cycles(const Insn& i) {
    const bool q = quad(i), narrow = element_size(i) < 2, wide = element_size(i) == 3;
    if (i.timing == Tc::ld1) return single(i) ? 1 : structure_registers(i) << q;
    if (single(i)) return i.timing == Tc::ld2 ? 1 + wide : i.timing == Tc::ld3 ? 2 + wide : 2 + 2 * wide;
    if (i.timing == Tc::ld2) return 2u << q;
    return ((i.timing == Tc::ld3 ? 3u : 4u) << q) + narrow;
}
unsigned store_cycles(const Insn& i) {
    const bool q = quad(i), wide = element_size(i) == 3;
    if (i.timing == Tc::st1) return q ? structure_registers(i) : (structure_registers(i) + 1) / 2;
    if (i.timing == Tc::st2) return single(i) ? 1 + wide : 1 + q;
    if (single(i)) return 2;
    return i.timing == Tc::st3 || !q ? 3 : wide ? 4 : 5;
}

} // namespace

cpu::OpTiming timing_of(const Insn& i) {
    cpu::OpTiming t = cpu::timing_of_row(kRows[static_cast<std::size_t>(i.timing)]);
    cpu::refine(t, i.raw, kExact);
    if (i.timing == Tc::alu_shift && i.b == 0) t.latency = 1; // no shift after all
    if (is_vector(i.timing)) t.detail |= detail::fp;
    if (takes_late(i)) t.detail |= detail::late | (t.latency == 1 ? detail::late_second : 0);
    // 128-bit operations take both halves of the unit.
    if (is_simd(i.timing) && (quad(i) || long_or_by_element(i.raw)) && (t.pipes & FP)) t.pipes = FPQ;
    if (i.timing >= Tc::store_fp && i.timing <= Tc::st4) t.detail |= detail::vector;
    switch (i.timing) {
        case Tc::bitfield: {
            const unsigned immr = i.raw >> 16 & 63, imms = i.raw >> 10 & 63;
            if (immr == 0 && (imms == 7 || imms == 15 || imms == 31)) t.latency = 1; // SXTB and so on
            break;
        }
        case Tc::crc:
            if ((i.raw >> 10 & 3) == 2) t.latency = 1;
            break;
        case Tc::div32:
        case Tc::div64: t.detail |= detail::first; break;
        case Tc::load:
        case Tc::load_signed:
            if (i.src[1] != a64::reg::none) t.detail |= detail::indexed;
            break;
        case Tc::load_pair: {
            const bool word = i.mem_bytes <= 8, writes_back = i.dst[2] != a64::reg::none;
            if (word) t.occupancy = 1;
            t.detail |= word || writes_back ? detail::alone : detail::first;
            break;
        }
        case Tc::load_fp:
            if (i.mem_bytes < 4) t.detail |= detail::first;
            break;
        case Tc::load_fp_pair:
            t.detail |= detail::first;
            if (i.mem_bytes <= 8) {
                t.occupancy = 1;
                t.second = 0;
            } else if (i.mem_bytes > 16) {
                t.latency = 4;
                t.occupancy = 4;
                t.second = 2;
                t.pipes |= FPQ;
            }
            break;
        case Tc::store_pair:
        case Tc::store_fp_pair:
            // STNP takes twice as long as STP: 15.2 GB/s where STP writes 22 (tinymembench on three boards).
            if ((i.raw >> 23 & 7) == 0) t.occupancy = static_cast<std::uint8_t>(2 * t.occupancy);
            break;
        case Tc::ld1:
        case Tc::ld2:
        case Tc::ld3:
        case Tc::ld4:
            t.occupancy = static_cast<std::uint8_t>(load_cycles(i));
            t.latency = static_cast<std::uint8_t>(2 + t.occupancy);
            if (i.timing == Tc::ld1 && !single(i) && quad(i)) t.pipes |= FPQ;
            break;
        case Tc::st1:
        case Tc::st2:
        case Tc::st3:
        case Tc::st4: t.occupancy = static_cast<std::uint8_t>(store_cycles(i)); break;
        case Tc::store_excl:
        case Tc::atomic:
        case Tc::cas: t.detail |= detail::result_store | detail::first; break;
        case Tc::load_acq:
        case Tc::load_excl:
        case Tc::store_rel: t.detail |= detail::first; break;
        case Tc::fp_csel: t.detail |= detail::first; break;
        case Tc::aes_mc: t.detail |= detail::fused; break;
        case Tc::prefetch: t.detail |= detail::prefetch | (i.raw >> 1 & 3 ? detail::beyond : 0); break;
        default: break;
    }
    // What takes both halves of the FP unit, or more than one cycle of a unit, goes with a younger operation only.
    const bool memory = i.timing >= Tc::load && i.timing <= Tc::dc_zva;
    const bool crypto = i.timing == Tc::aes || (i.timing >= Tc::pmull && i.timing <= Tc::sha256_su);
    if ((t.pipes & FPQ) || crypto || ((memory || (t.pipes & FP)) && t.occupancy > 1)) t.detail |= detail::first;
    return t;
}

} // namespace rkperf::cpu_a55

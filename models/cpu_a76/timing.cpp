// SPDX-License-Identifier: Apache-2.0
#include "models/cpu_a76/timing.h"

#include "models/cpu/class_table.h"
#include "models/cpu_a76/pipeline.h"

#include <bit>

namespace rkperf::cpu_a76 {
namespace {

using a64::Insn;
using a64::TimingClass;
using Tc = TimingClass;
using namespace port;

// Throughputs above one per cycle follow from the ports; below, from occupancy (cycles a port is held) or from the
// number of micro-operations. "est." marks rows for which facts/latency_a76.csv has no figure.
// clang-format off
constexpr cpu::ClassRow kRows[] = {
    // class              latency ports occupancy uops accumulate second
    {Tc::nop,               0, I},
    {Tc::alu,               1, I},
    {Tc::alu_flags,         1, I},
    {Tc::alu_shift,         2, M},          // LSL #0..4 and logical: as alu (below)
    {Tc::alu_ext,           2, M},
    {Tc::logic_shift_flags, 2, M},
    {Tc::adc,               1, I},
    {Tc::csel,              1, I},
    {Tc::ccmp,              1, I},
    {Tc::mov_imm,           1, I},
    {Tc::adr,               1, I},
    {Tc::shift_reg,         1, I},
    {Tc::bitfield,          1, I},
    {Tc::bfm,               2, M},
    {Tc::extr,              3, M},          // of one register: as a shift (below)
    {Tc::clz,               1, I},
    {Tc::rev,               1, I},
    {Tc::mul32,             2, M, 1, 1, 1}, // accumulator forwarded: chained MADD at 1
    {Tc::madd32,            2, M, 1, 1, 1},
    {Tc::mul64,             4, M, 3, 1, 3},
    {Tc::madd64,            4, M, 3, 1, 3},
    {Tc::mulh,              5, M, 4},
    {Tc::div32,            12, M, 12},      // at most; early out in Pipeline::divide
    {Tc::div64,            20, M, 20},
    {Tc::crc,               2, M},
    {Tc::pac,               1, I},          // not on Armv8.2: a hint
    {Tc::branch,            1, B},
    {Tc::branch_cond,       1, B},
    {Tc::branch_link,       1, B},
    {Tc::branch_reg,        1, B},
    {Tc::ret,               1, B},
    {Tc::load,              4, L},
    {Tc::load_signed,       4, L},
    {Tc::load_pair,         4, L, 1, 2},    // of 32 bits: one slot (below); LDPSW's second: 5
    {Tc::load_fp,           5, L},
    {Tc::load_fp_q,         5, L},
    {Tc::load_fp_pair,      5, L, 1, 2, 0, 2},
    {Tc::load_lit,          4, L},
    {Tc::ld1,               5, L},          // by registers (below)
    {Tc::ld2,               7, L, 1, 2},
    {Tc::ld3,               8, L, 1, 4},
    {Tc::ld4,              10, L, 1, 8},
    {Tc::ld1r,              7, L},
    {Tc::load_excl,         4, L, 1, 2},    // est.
    {Tc::load_acq,          4, L, 1, 2},    // est.
    {Tc::prefetch,          1, L},
    {Tc::store,             1, L},
    {Tc::store_pair,        1, L, 1, 2},    // model figure; 3 cycles each measured on one server, not kept: RK3588 fills at 12.8 bytes a cycle
    {Tc::store_fp,          1, L},
    {Tc::store_fp_q,        2, L, 1, 2},
    {Tc::store_fp_pair,     2, L, 1, 4},
    {Tc::st1,               5, L, 1, 2},
    {Tc::st2,               5, L, 1, 4},
    {Tc::st3,               6, L, 1, 6},
    {Tc::st4,               9, L, 1, 8},
    {Tc::store_excl,        6, L, 1, 2},    // est.: pair of LDXR and STXR at about 10
    {Tc::store_rel,         1, L, 1, 2},    // est.
    {Tc::atomic,           13, L, 1, 2},    // 13 per dependent LDADDAL
    {Tc::cas,              14, L, 1, 2},    // 14 per dependent CASAL
    {Tc::dc_zva,            1, L, 1, 2},    // est.
    {Tc::fp_arith,          2, V},
    {Tc::fp_mul,            3, V},
    {Tc::fp_madd,           4, V, 1, 1, 2},
    {Tc::fp_div_h,          7, V0, 7},
    {Tc::fp_div_s,         10, V0, 7},
    {Tc::fp_div_d,         15, V0, 7},
    {Tc::fp_sqrt_h,         7, V0, 7},
    {Tc::fp_sqrt_s,        10, V0, 7},
    {Tc::fp_sqrt_d,        17, V0, 7},
    {Tc::fp_cmp,            2, V0},
    {Tc::fp_csel,           2, V},
    {Tc::fp_cvt,            3, V0},
    {Tc::fp_round,          3, V0},
    {Tc::fp_mov,            2, V},
    {Tc::fp_imm,            2, V},
    {Tc::fp_to_gpr,         2, V1},         // conversions: 4 (below)
    {Tc::gpr_to_fp,         3, M},          // conversions: 6 (below)
    {Tc::fp_minmax,         2, V},
    {Tc::simd_arith,        2, V},
    {Tc::simd_logic,        2, V},
    {Tc::simd_cmp,          2, V},
    {Tc::simd_shift,        2, V1},
    {Tc::simd_shift_acc,    4, V1},
    {Tc::simd_sat,          2, V},
    {Tc::simd_mul,          4, V0},         // Q: 5, two passes (below)
    {Tc::simd_mla,          4, V0, 1, 1, 3},
    {Tc::simd_mull,         4, V0, 1, 1, 3},
    {Tc::simd_abs_diff_acc, 4, V1, 1, 1, 3},
    {Tc::simd_pairwise,     2, V},
    {Tc::simd_reduce,       6, V1},
    {Tc::simd_minmax,       2, V},
    {Tc::simd_permute,      2, V},
    {Tc::simd_tbl1,         2, V},
    {Tc::simd_tbl2,         2, V},
    {Tc::simd_tbl3,         4, V, 1, 2},
    {Tc::simd_tbl4,         4, V, 1, 3},
    {Tc::simd_dup,          2, V},
    {Tc::simd_dup_gpr,      3, M},
    {Tc::simd_ins,          2, V},
    {Tc::simd_ins_gpr,      5, M},
    {Tc::simd_umov,         2, V1},
    {Tc::simd_movi,         2, V},
    {Tc::simd_dot,          3, V, 1, 1, 2},
    {Tc::simd_fp_arith,     2, V},
    {Tc::simd_fp_mul,       3, V},
    {Tc::simd_fp_mla,       4, V, 1, 1, 2},
    {Tc::simd_fp_div,      18, V0, 14},     // est. from the scalar figures
    {Tc::simd_fp_sqrt,     16, V0, 14},
    {Tc::simd_fp_cmp,       2, V},
    {Tc::simd_fp_cvt,       4, V0, 2},
    {Tc::simd_fp_cvt_long,  4, V0, 2},
    {Tc::simd_fp_reduce,    6, V},
    {Tc::simd_fp_recip,     4, V0, 2},
    {Tc::simd_fp_recip_step, 4, V},
    {Tc::aes,               2, V0},
    {Tc::aes_mc,            2, V0},
    {Tc::pmull,             2, V0},
    {Tc::sha1,              4, V0},
    {Tc::sha1h,             2, V0},
    {Tc::sha256,            4, V0},
    {Tc::sha256_su,         2, V0},
    {Tc::barrier,           1, 0},          // cost in SystemCosts
    {Tc::isb,               1, 0},
    {Tc::sysreg_read,       1, 0},
    {Tc::sysreg_write,      1, 0},
    {Tc::cache_op,          1, 0},
    {Tc::svc,               1, 0},
    {Tc::hint,              1, 0},
};
// clang-format on
static_assert(cpu::complete(kRows), "one row per TimingClass, in its order");

// Operations of the source that differ from their class.
// clang-format off
constexpr std::uint32_t kByte = 0, kHalf = 1u << 22, kWord = 2u << 22;
constexpr cpu::ExactRow kExact[] = {
    {0xffffffe0, 0xd2800000, 0}, {0xffffffe0, 0x52800000, 0},             // MOVZ #0: at rename
    {0xbfffffe0, 0x2f00e400, 0}, {0xbfffffe0, 0x0f000400, 0},             // MOVI #0: at rename
    {cpu::kThreeSame | 0x800000u, 0x2e20d400, 3},                        // FADDP
    {cpu::kThreeSame | 0x800000u, 0x2e20f400, 3}, {cpu::kThreeSame | 0x800000u, 0x2ea0f400, 3}, // FMAXP FMINP
    {cpu::kThreeSame | 0x800000u, 0x2e20c400, 3}, {cpu::kThreeSame | 0x800000u, 0x2ea0c400, 3}, // FMAXNMP FMINNMP
    {cpu::kAcross, 0x0e31b800 | kByte, 6, 2}, {cpu::kAcross, 0x0e31b800 | kHalf, 6}, {cpu::kAcross, 0x0e31b800 | kWord, 3}, // ADDV
    {cpu::kAcross, 0x0e303800 | kByte, 6, 2}, {cpu::kAcross, 0x0e303800 | kHalf, 6}, {cpu::kAcross, 0x0e303800 | kWord, 3}, // SADDLV
    {cpu::kAcross, 0x2e303800 | kByte, 6, 2}, {cpu::kAcross, 0x2e303800 | kHalf, 6}, {cpu::kAcross, 0x2e303800 | kWord, 3}, // UADDLV
    {cpu::kAcross & ~0x10000u, 0x0e30a800 | kByte, 6, 2}, {cpu::kAcross & ~0x10000u, 0x0e30a800 | kHalf, 6}, {cpu::kAcross & ~0x10000u, 0x0e30a800 | kWord, 3}, // SMAXV SMINV
    {cpu::kAcross & ~0x10000u, 0x2e30a800 | kByte, 6, 2}, {cpu::kAcross & ~0x10000u, 0x2e30a800 | kHalf, 6}, {cpu::kAcross & ~0x10000u, 0x2e30a800 | kWord, 3}, // UMAXV UMINV
    {cpu::kThreeSame, 0x2e209c00, 4, 2},                                  // PMUL
    {cpu::kThreeSame | 0xc00000, 0x0e20e000, 3},                          // PMULL of bytes
    // Latencies are from the last of the micro-operations, of which two go at a time.
    {cpu::kTable, 0x0e006000, 3, 1, 3},                                   // TBL of four
    {cpu::kTable, 0x0e001000, 2}, {cpu::kTable, 0x0e003000, 4, 1, 2},     // TBX of one, two
    {cpu::kTable, 0x0e005000, 5, 1, 3}, {cpu::kTable, 0x0e007000, 4, 1, 5}, // TBX of three, four
    {0xbfbffc00, 0x2ea1f800, 9, 7},                                     // FSQRT 4S 2S (2D: below)
};
// clang-format on

bool quad(const Insn& i) { return i.raw >> 30 & 1; }
/// Bits 12 and up of LD1/ST1 (multiple structures): 0111 one register, 1010 two, 0110 three, 0010 four.
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
    constexpr unsigned kLsl = 0, kCheapShift = 4;
    cpu::OpTiming t = cpu::timing_of_row(kRows[static_cast<std::size_t>(i.timing)]);
    cpu::refine(t, i.raw, kExact);
    if (i.timing == Tc::nop || ((i.timing == Tc::mov_imm || i.timing == Tc::simd_movi) && t.latency == 0)) t.pipes = 0;
    t.forward = static_cast<std::uint8_t>(t.latency + 1); // est.: 5.5 measured for 4
    switch (i.timing) {
        case Tc::alu_shift:
            if (i.c || (i.a == kLsl && i.b <= kCheapShift))
                t = cpu::timing_of_row(kRows[static_cast<std::size_t>(Tc::alu)]);
            break;
        case Tc::extr:
            if (i.src[0] == i.src[1]) t = cpu::timing_of_row(kRows[static_cast<std::size_t>(Tc::shift_reg)]);
            break;
        case Tc::load_pair:
            if (i.mem_bytes <= 8) t.uops = 1;
            if (i.raw >> 30 == 1) t.second = 1; // LDPSW
            break;
        case Tc::ld1: {
            const unsigned n = structure_registers(i);
            const bool lane = i.raw >> 24 & 1;
            t.latency = lane ? 7 : n > 2 ? 6 : 5;
            t.uops = static_cast<std::uint8_t>(n);
            break;
        }
        case Tc::st1: t.uops = static_cast<std::uint8_t>(structure_registers(i) * (quad(i) ? 2 : 1)); break;
        case Tc::store_excl:
        case Tc::atomic:
        case Tc::cas: t.detail = detail::result_store | detail::oldest; break;
        case Tc::aes_mc: t.detail = detail::fused; break;
        case Tc::fp_to_gpr:
            if ((i.raw >> 16 & 7) < 6) t.latency = 4; // FCVT*: rounding mode and opcode in 20:16, FMOV has opcode 11x
            break;
        case Tc::gpr_to_fp:
            if ((i.raw >> 16 & 7) < 6) t.latency = 6; // SCVTF, UCVTF
            break;
        case Tc::simd_fp_cvt:
        case Tc::simd_fp_recip: {
            // By the size of the elements; scalar (bit 28) as for D.
            const bool half = (i.raw >> 17 & 0x1f) == 0x1c, wide = i.raw >> 22 & 1, scalar = i.raw >> 28 & 1;
            t.latency = half && !scalar ? 6 : wide || scalar ? 3 : 4;
            t.occupancy = half && !scalar ? 4 : wide || scalar ? 1 : 2;
            break;
        }
        case Tc::simd_fp_sqrt:
            if (i.raw >> 22 & 1) { // 2D
                t.latency = 16;
                t.occupancy = 14;
            }
            break;
        case Tc::simd_mul:
        case Tc::simd_mla:
            if (quad(i) && t.latency == 4 && t.occupancy == 1) {
                t.latency = 5;
                t.occupancy = 2;
            }
            break;
        default: break;
    }
    return t;
}

} // namespace rkperf::cpu_a76

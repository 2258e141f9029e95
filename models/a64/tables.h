// SPDX-License-Identifier: Apache-2.0
// The spans the decode table is made of, one per group of encodings (Arm ARM DDI 0487, C4.1), and the checks every
// group's table passes at build time.
#pragma once

#include "models/a64/insn.h"

#include <span>
#include <string_view>
#include <type_traits>

namespace rkperf::a64 {

std::span<const OpRow> dp_imm_rows();      ///< data processing, immediate
std::span<const OpRow> dp_reg_rows();      ///< data processing, register: add/subtract and logical
std::span<const OpRow> dp_misc_rows();     ///< data processing, register: all others
std::span<const OpRow> branch_rows();      ///< branches and exception generation
std::span<const OpRow> system_rows();      ///< hints, barriers, system registers and instructions
std::span<const OpRow> ldst_rows();        ///< loads and stores of one general register
std::span<const OpRow> ldst_pair_rows();   ///< pairs, and literals
std::span<const OpRow> ldst_excl_rows();   ///< exclusives, acquire and release
std::span<const OpRow> ldst_atomic_rows(); ///< Large System Extensions
std::span<const OpRow> ldst_fp_rows();     ///< loads and stores of one SIMD&FP register or a pair
std::span<const OpRow> ldst_simd_rows();   ///< LD1-LD4, ST1-ST4, LD1R-LD4R
std::span<const OpRow> fp_rows();          ///< scalar floating point
std::span<const OpRow> simd_rows();        ///< Advanced SIMD
std::span<const OpRow> crypto_rows();      ///< AES, SHA-1, SHA-256

/// Part of the encoding space: raw & mask == value. Two tables whose regions are disjoint need no check of each pair.
struct Region {
    std::uint32_t mask, value;
};
namespace region {
inline constexpr Region dp_imm{0x1c000000, 0x10000000};
inline constexpr Region branch_system{0x1c000000, 0x14000000};
inline constexpr Region dp_reg{0x0e000000, 0x0a000000};
inline constexpr Region load_store{0x0a000000, 0x08000000};
inline constexpr Region fp_simd{0x0e000000, 0x0e000000};
} // namespace region

constexpr bool overlap(const OpRow& a, const OpRow& b) { return ((a.value ^ b.value) & a.mask & b.mask) == 0; }

/// Null test for the build-time checks. Under UBSan g++ 12 does not take an address for a constant; there the
/// same checks run in the tests.
template <class F>
constexpr bool absent(F* f) {
#ifdef RK_ASAN
    if (std::is_constant_evaluated()) return false;
#endif
    return f == nullptr;
}

/// The first thing wrong with a table: 1 no body, 2 no decode, 3 no name, 4 value outside mask,
/// 5 outside its region, 6 overlaps an earlier row, 7 name used before; 0 if it is sound. For static_assert.
constexpr int table_fault(std::span<const OpRow> rows, Region where) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const OpRow& r = rows[i];
        if (absent(r.fn)) return 1;
        if (absent(r.decode)) return 2;
        if (absent(r.name) || absent(r.mnemonic) || std::string_view(r.name).empty()) return 3;
        if (r.value & ~r.mask) return 4;
        if ((r.mask & where.mask) != where.mask || (r.value & where.mask) != where.value) return 5;
        for (std::size_t j = 0; j < i; ++j) {
            if (overlap(r, rows[j])) return 6;
            if (std::string_view(r.name) == rows[j].name) return 7;
        }
    }
    return 0;
}
/// True if every row has a body and a decode, names are unique, no two rows overlap and all lie in `where`.
constexpr bool table_sound(std::span<const OpRow> rows, Region where) { return table_fault(rows, where) == 0; }

} // namespace rkperf::a64

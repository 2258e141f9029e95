// SPDX-License-Identifier: Apache-2.0
// The decode table as a whole, and the index over it.
#include "models/a64/exec_util.h"
#include "models/a64/tables.h"

#include <vector>

namespace rkperf::a64 {
namespace {

std::vector<OpRow> join_tables() {
    std::vector<OpRow> all;
    for (const auto rows : {dp_imm_rows(), branch_rows(), system_rows(), dp_reg_rows(), dp_misc_rows(), ldst_rows(),
                            ldst_pair_rows(), ldst_excl_rows(), ldst_atomic_rows(), ldst_fp_rows(), ldst_simd_rows(),
                            fp_rows(), simd_rows(), crypto_rows()}) {
        all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
}

/// Rows by the bits that tell most of them apart: 31:21 and 12:10 of the encoding.
class Index {
  public:
    explicit Index(std::span<const OpRow> rows) {
        for (std::size_t r = 0; r < rows.size(); ++r)
            for_each_bucket(rows[r], [&](std::uint32_t b) { ++begin_[b + 1]; });
        for (std::size_t b = 0; b < kBuckets; ++b) begin_[b + 1] += begin_[b];
        entries_.resize(begin_[kBuckets]);
        std::vector<std::uint32_t> fill(begin_.begin(), begin_.end());
        for (std::size_t r = 0; r < rows.size(); ++r)
            for_each_bucket(rows[r], [&](std::uint32_t b) { entries_[fill[b]++] = static_cast<std::uint16_t>(r); });
    }
    std::span<const std::uint16_t> candidates(std::uint32_t raw) const {
        const std::uint32_t b = bucket(raw);
        return {entries_.data() + begin_[b], entries_.data() + begin_[b + 1]};
    }

  private:
    static constexpr unsigned kBits = 14;
    static constexpr std::size_t kBuckets = 1u << kBits;
    static constexpr std::uint32_t bucket(std::uint32_t raw) { return raw >> 21 << 3 | (raw >> 10 & 7); }

    template <class F>
    static void for_each_bucket(const OpRow& row, F f) {
        const std::uint32_t mask = bucket(row.mask), value = bucket(row.value), free = ~mask & (kBuckets - 1);
        // Subsets of the free bits in ascending order, ending with the empty one again.
        std::uint32_t subset = 0;
        do {
            f(value | subset);
            subset = (subset - free) & free;
        } while (subset != 0);
    }

    std::vector<std::uint32_t> begin_ = std::vector<std::uint32_t>(kBuckets + 1);
    std::vector<std::uint16_t> entries_;
};

struct Table {
    std::vector<OpRow> rows = join_tables();
    Index index{rows};
};
const Table& table() {
    static const Table t;
    return t;
}

} // namespace

std::span<const OpRow> op_table() { return table().rows; }

Insn decode(std::uint32_t raw) {
    const Table& t = table();
    for (const std::uint16_t r : t.index.candidates(raw)) {
        const OpRow& row = t.rows[r];
        if ((raw & row.mask) != row.value) continue;
        Insn out;
        out.fn = row.fn;
        out.raw = raw;
        out.row = r;
        out.timing = row.timing;
        out.kind = row.kind;
        if (row.decode(raw, out)) return out;
        break;
    }
    Insn undefined;
    undefined.fn = exec_undefined;
    undefined.raw = raw;
    undefined.kind = InsnKind::exception;
    return undefined;
}

bool ends_block(const Insn& insn) {
    switch (insn.kind) {
        case InsnKind::branch_immed:
        case InsnKind::branch_cond:
        case InsnKind::branch_indirect:
        case InsnKind::branch_call:
        case InsnKind::branch_call_indirect:
        case InsnKind::branch_return:
        case InsnKind::exception:
        case InsnKind::isb: return true;
        default: break;
    }
    switch (insn.timing) {
        case TimingClass::sysreg_read:
        case TimingClass::sysreg_write: return insn.c != 0 || insn.fn == exec_undefined;
        case TimingClass::hint: return insn.fn != exec_nop;
        case TimingClass::cache_op: return true;
        default: return false;
    }
}

} // namespace rkperf::a64

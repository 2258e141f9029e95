// SPDX-License-Identifier: Apache-2.0
// The decode table as a whole: what static_assert checks per group must hold across groups too.
#include "models/a64/tables.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <set>
#include <string>

namespace rkperf::a64 {

TEST_CASE("every row has one body, one name, and no row overlaps another") {
    const auto rows = op_table();
    REQUIRE(rows.size() > 500);
    REQUIRE(rows.size() < kNoRow);
    CHECK(table_fault(rows, Region{0, 0}) == 0);
}

TEST_CASE("a table with two bodies for one encoding is refused") {
    const auto rows = dp_imm_rows();
    OpRow twice[] = {rows[0], rows[1]};
    CHECK(table_fault(twice, region::dp_imm) == 0);
    twice[1] = rows[0];
    CHECK(table_fault(twice, region::dp_imm) == 6);
    twice[1] = rows[1];
    twice[1].fn = nullptr;
    CHECK(table_fault(twice, region::dp_imm) == 1);
    twice[1] = rows[1];
    twice[1].name = twice[0].name;
    CHECK(table_fault(twice, region::dp_imm) == 7);
    twice[1] = rows[1];
    twice[1].value |= ~twice[1].mask;
    CHECK(table_fault(twice, region::dp_imm) == 4);
    CHECK(table_fault(rows, region::load_store) == 5);
}

TEST_CASE("the index finds the row of its own value") {
    const auto rows = op_table();
    for (std::size_t r = 0; r < rows.size(); ++r) {
        Insn out;
        if (!rows[r].decode(rows[r].value, out)) continue;
        INFO(rows[r].name);
        const Insn insn = decode(rows[r].value);
        REQUIRE(insn.row == r);
        CHECK(insn.raw == rows[r].value);
        CHECK(insn.kind == rows[r].kind);
        CHECK(insn.fn != nullptr);
    }
}

TEST_CASE("decoded registers and memory sizes are in range") {
    for (const OpRow& row : op_table()) {
        std::uint32_t raw = row.value;
        for (int n = 0; n < 200; ++n, raw = raw * 1664525u + 1013904223u) {
            const std::uint32_t word = (raw & ~row.mask) | row.value;
            const Insn insn = decode(word);
            if (insn.row == kNoRow) continue;
            INFO(row.name << " " << std::hex << word);
            for (const auto s : insn.src) CHECK(s < reg::count);
            for (const auto d : insn.dst) CHECK(d < reg::count);
            CHECK(insn.timing < TimingClass::count);
            CHECK(insn.mem_bytes <= 64);
            const bool memory = insn.kind == InsnKind::load || insn.kind == InsnKind::store ||
                                insn.kind == InsnKind::load_store || insn.kind == InsnKind::exclusive_load ||
                                insn.kind == InsnKind::exclusive_store;
            CHECK((insn.mem_bytes != 0) == memory);
            if (row.kind == InsnKind::store)
                CHECK((insn.src[3] != reg::none || (word & 31) == 31 || insn.timing == TimingClass::dc_zva));
        }
    }
}

namespace {
constexpr std::uint32_t kAddImm = 0x91000420;  // add x0, x1, #1
constexpr std::uint32_t kCmpReg = 0xeb02003f;  // cmp x1, x2
constexpr std::uint32_t kStrPost = 0xf8008441; // str x1, [x2], #8
constexpr std::uint32_t kLdpPre = 0xa9c10be1;  // ldp x1, x2, [sp, #16]!
constexpr std::uint32_t kMovZr = 0xaa1f03e3;   // mov x3, xzr
} // namespace

TEST_CASE("dependencies drive the pipelines") {
    Insn i = decode(kAddImm);
    CHECK(i.src[0] == 1);
    CHECK(i.dst[0] == 0);
    CHECK(i.timing == TimingClass::alu);
    i = decode(kCmpReg);
    CHECK((i.src[0] == 1 && i.src[1] == 2));
    CHECK(i.dst[0] == reg::none);
    CHECK(i.dst[1] == reg::flags);
    i = decode(kStrPost);
    CHECK((i.src[0] == 2 && i.src[3] == 1));
    CHECK(i.dst[2] == 2);
    CHECK(i.mem_bytes == 8);
    i = decode(kLdpPre);
    CHECK(i.src[0] == reg::sp);
    CHECK((i.dst[0] == 1 && i.dst[1] == 2 && i.dst[2] == reg::sp));
    CHECK(i.mem_bytes == 16);
    i = decode(kMovZr);
    CHECK((i.src[0] == reg::none && i.src[1] == reg::none && i.dst[0] == 3));
}

TEST_CASE("what ends a block") {
    const auto ends = [](std::uint32_t raw) { return ends_block(decode(raw)); };
    CHECK(ends(0x14000000)); // b
    CHECK(ends(0x54000000)); // b.eq
    CHECK(ends(0xd65f03c0)); // ret
    CHECK(ends(0xd4000001)); // svc
    CHECK(ends(0xd5033fdf)); // isb
    CHECK(ends(0xd503203f)); // yield
    CHECK(ends(0xd53b9d00)); // mrs x0, pmccntr_el0
    CHECK(ends(0));          // udf
    CHECK_FALSE(ends(kAddImm));
    CHECK_FALSE(ends(0xd503201f)); // nop
    CHECK_FALSE(ends(0xd503233f)); // paciasp
    CHECK_FALSE(ends(0xd53bd040)); // mrs x0, tpidr_el0
}

TEST_CASE("disassembly") {
    CHECK(disassemble(kAddImm, 0) == "add x0, x1, #1");
    CHECK(disassemble(0x14000001, 0x1000) == "b #0x1004");
    CHECK(disassemble(5, 0) == "udf #0x5");
    CHECK(disassemble(0xffffffff, 0) == ".inst 0xffffffff // undefined");
    CHECK(disassemble(0x38bfc020, 0).find("LDAPRB") != std::string::npos); // newer than Capstone 4
}

} // namespace rkperf::a64

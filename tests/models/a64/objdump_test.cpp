// SPDX-License-Identifier: Apache-2.0
// The decoder against GNU objdump: rows and mnemonics, what is allocated and what not, and all of a real C library.
#include "tests/models/a64/objdump.h"
#include "models/a64/tables.h"
#include "tests/models/a64/diff_harness.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

namespace rkperf::a64 {
namespace {

/// Encodings that the architecture leaves constrained unpredictable and objdump refuses, QEMU and we execute.
bool unpredictable(const OpRow& row, std::uint32_t raw) {
    const std::string_view name = row.name;
    const unsigned rt = raw & 31, rn = raw >> 5 & 31, rt2 = raw >> 10 & 31, rs = raw >> 16 & 31;
    if (name.substr(0, 5) == "LDPSW") return rt == rt2 || (name != "LDPSW_offset" && (rn == rt || rn == rt2));
    if (name.substr(0, 4) == "LDAR") return rt2 != 31 || rs != 31; // fields that should be one
    return false;
}

/// What objdump knows and Armv8.2-A at EL0 does not have, by first letters of the mnemonic ("=": the whole).
struct Later {
    std::string_view mnemonics;
    std::string_view why;
};
constexpr Later kLater[] = {
    {"cpy", "FEAT_MOPS"},
    {"set", "FEAT_MOPS, FEAT_FlagM"},
    {"bc.", "FEAT_HBC"},
    {"=abs", "FEAT_CSSC"},
    {"=cnt", "FEAT_CSSC"},
    {"=ctz", "FEAT_CSSC"},
    {"=smax", "FEAT_CSSC"},
    {"=smin", "FEAT_CSSC"},
    {"=umax", "FEAT_CSSC"},
    {"=umin", "FEAT_CSSC"},
    {"=gmi", "FEAT_MTE"},
    {"=irg", "FEAT_MTE"},
    {"=addg", "FEAT_MTE"},
    {"=subg", "FEAT_MTE"},
    {"subp", "FEAT_MTE"},
    {"=ldg", "FEAT_MTE"},
    {"ldgm", "FEAT_MTE"},
    {"=stg", "FEAT_MTE"},
    {"stgm", "FEAT_MTE"},
    {"stgp", "FEAT_MTE"},
    {"st2g", "FEAT_MTE"},
    {"stzg", "FEAT_MTE"},
    {"stz2g", "FEAT_MTE"},
    {"ldapur", "FEAT_LRCPC2"},
    {"stlur", "FEAT_LRCPC2"},
    {"ldraa", "FEAT_PAuth"},
    {"ldrab", "FEAT_PAuth"},
    {"pac", "FEAT_PAuth"},
    {"aut", "FEAT_PAuth"},
    {"xpac", "FEAT_PAuth"},
    {"bra", "FEAT_PAuth"},
    {"blra", "FEAT_PAuth"},
    {"reta", "FEAT_PAuth"},
    {"ereta", "FEAT_PAuth"},
    {"=rmif", "FEAT_FlagM"},
    {"=cfinv", "FEAT_FlagM"},
    {"=axflag", "FEAT_FlagM2"},
    {"=xaflag", "FEAT_FlagM2"},
    {"ld64b", "FEAT_LS64"},
    {"st64b", "FEAT_LS64"},
    {"=sb", "FEAT_SB"},
    {"wfet", "FEAT_WFxT"},
    {"wfit", "FEAT_WFxT"},
    {"tcancel", "FEAT_TME"},
    {"tcommit", "FEAT_TME"},
    {"tstart", "FEAT_TME"},
    {"ttest", "FEAT_TME"},
    {"=bcax", "FEAT_SHA3"},
    {"=eor3", "FEAT_SHA3"},
    {"=rax1", "FEAT_SHA3"},
    {"=xar", "FEAT_SHA3"},
    {"sha512", "FEAT_SHA512"},
    {"sm3", "FEAT_SM3"},
    {"sm4", "FEAT_SM4"},
    {"bf", "FEAT_BF16"},
    {"fcadd", "FEAT_FCMA"},
    {"fcmla", "FEAT_FCMA"},
    {"fjcvtzs", "FEAT_JSCVT"},
    {"fmlal", "FEAT_FHM"},
    {"fmlsl", "FEAT_FHM"},
    {"frint32", "FEAT_FRINTTS"},
    {"frint64", "FEAT_FRINTTS"},
    {"=smmla", "FEAT_I8MM"},
    {"=ummla", "FEAT_I8MM"},
    {"=usmmla", "FEAT_I8MM"},
    {"=sudot", "FEAT_I8MM"},
    {"=usdot", "FEAT_I8MM"},
    {"dcps", "undefined at EL0 outside Debug state"},
    {"=hvc", "undefined at EL0"},
    {"=smc", "undefined at EL0"},
    {"=eret", "undefined at EL0"},
    {"=drps", "undefined at EL0"},
    {"=msr", "PSTATE fields other than DAIF are later or undefined at EL0"},
    {"=mrs", "op0 of 0: SYSL space without registers"},
    {"=sys", "cache, TLB and address-translation operations undefined at EL0"},
    {"=sysl", "no SYSL is defined"},
};
bool later(std::string_view mnemonic) {
    if (mnemonic == "bfm") return false;
    for (const Later& l : kLater) {
        if (l.mnemonics[0] == '=' ? mnemonic == l.mnemonics.substr(1)
                                  : mnemonic.substr(0, l.mnemonics.size()) == l.mnemonics)
            return true;
    }
    return false;
}

std::string hex(std::uint32_t raw) {
    char text[16];
    std::snprintf(text, sizeof text, "%08x", raw);
    return text;
}

} // namespace

TEST_CASE("rows have the mnemonics that objdump prints") {
    REQUIRE(test::have_objdump());
    constexpr unsigned kPerRow = 64;
    std::uint64_t rng = test::diff_seed();
    std::vector<std::uint32_t> words;
    for (const OpRow& row : op_table()) {
        for (unsigned n = 0; n < kPerRow; ++n) words.push_back(test::random_encoding(row, rng));
    }
    const std::vector<std::string> mnemonics = test::objdump_mnemonics(words);
    std::map<std::string, std::uint32_t> wrong; // with one example
    std::set<unsigned> seen;
    for (std::size_t n = 0; n < words.size(); ++n) {
        const Insn insn = decode(words[n]);
        if (insn.row == kNoRow) continue;
        const OpRow& row = op_table()[insn.row];
        if (mnemonics[n] == ".inst" ? unpredictable(row, words[n]) : *row.mnemonic == 0 || mnemonics[n] == row.mnemonic)
            seen.insert(insn.row);
        else
            wrong.emplace(std::string(row.name) + ": ours " + row.mnemonic + ", objdump " + mnemonics[n], words[n]);
    }
    for (const auto& [text, raw] : wrong) FAIL_CHECK(text << ", e.g. " << hex(raw));
    for (unsigned r = 0; r < op_table().size(); ++r) {
        if (!seen.count(r)) FAIL_CHECK(op_table()[r].name << " was never confirmed");
    }
}

TEST_CASE("what we leave unallocated belongs to later architectures") {
    REQUIRE(test::have_objdump());
    std::uint64_t rng = test::diff_seed() + 1;
    std::vector<std::uint32_t> words;
    for (const Region where :
         {region::dp_imm, region::branch_system, region::dp_reg, region::load_store, region::fp_simd}) {
        for (unsigned n = 0; n < 60000; ++n) {
            const std::uint32_t raw = (static_cast<std::uint32_t>(test::next_random(rng)) & ~where.mask) | where.value;
            if (decode(raw).row == kNoRow) words.push_back(raw);
        }
    }
    REQUIRE(words.size() > 10000);
    const std::vector<std::string> mnemonics = test::objdump_mnemonics(words);
    std::map<std::string, std::uint32_t> missing;
    for (std::size_t n = 0; n < words.size(); ++n) {
        if (mnemonics[n] != ".inst" && !later(mnemonics[n])) missing.emplace(mnemonics[n], words[n]);
    }
    for (const auto& [mnemonic, raw] : missing) FAIL_CHECK("objdump knows " << mnemonic << " " << hex(raw));
}

TEST_CASE("all of the C library decodes") {
    REQUIRE(test::have_objdump());
    const std::string path = "/usr/aarch64-linux-gnu/lib/libc.a";
    const std::vector<test::CodeWord> code = test::objdump_code(path);
    REQUIRE(code.size() > 50000);
    std::map<std::string, std::uint32_t> missing;
    unsigned known = 0;
    for (const test::CodeWord& w : code) {
        if (w.mnemonic[0] == '.' || w.mnemonic == "udf") continue;
        const Insn insn = decode(w.raw);
        if (insn.row == kNoRow) {
            // SVE, which the library selects at run time, has the encodings with bits 28:25 = 0010.
            if ((w.raw >> 25 & 15) != 2 && !later(w.mnemonic)) missing.emplace(w.mnemonic, w.raw);
            continue;
        }
        ++known;
        const std::string_view expected = op_table()[insn.row].mnemonic;
        if (!expected.empty() && expected != w.mnemonic) FAIL_CHECK(w.mnemonic << " decodes as " << expected);
    }
    CHECK(known > 50000);
    for (const auto& [mnemonic, raw] : missing) FAIL_CHECK("not decoded: " << mnemonic << " " << hex(raw));
}

} // namespace rkperf::a64

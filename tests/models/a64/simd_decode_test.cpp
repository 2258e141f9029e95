// SPDX-License-Identifier: Apache-2.0
// The SIMD&FP part of the encoding space against objdump, and the static facts about instructions.
#include "models/a64/tables.h"
#include "tests/models/a64/diff_harness.h"
#include "tests/models/a64/objdump.h"

#include <catch2/catch.hpp>

#include <map>
#include <string>

namespace rkperf::a64 {
namespace {

/// Extensions that neither core has, by first letters of objdump's mnemonic.
constexpr std::string_view kAbsent[] = {
    "fcmla",   "fcadd",                                // FEAT_FCMA
    "fmlal",   "fmlsl",                                // FEAT_FHM
    "fjcvtzs",                                         // FEAT_JSCVT
    "frint32", "frint64",                              // FEAT_FRINTTS
    "usdot",   "sudot",   "smmla",  "ummla", "usmmla", // FEAT_I8MM
    "bfdot",   "bfmlal",  "bfmmla", "bfcvt",           // FEAT_BF16
    "sha512",  "eor3",    "bcax",   "rax1",  "xar",    // FEAT_SHA512, FEAT_SHA3
    "sm3",     "sm4",                                  // FEAT_SM3, FEAT_SM4
};
bool absent(std::string_view mnemonic) {
    for (const std::string_view a : kAbsent)
        if (mnemonic.substr(0, a.size()) == a) return true;
    return false;
}

} // namespace

TEST_CASE("SIMD and FP encodings are allocated exactly as objdump says, less later extensions") {
    REQUIRE(test::have_objdump());
    std::uint64_t rng = test::diff_seed() + 2;
    std::vector<std::uint32_t> words;
    for (unsigned n = 0; n < 400000; ++n) {
        std::uint32_t raw = static_cast<std::uint32_t>(test::next_random(rng)) | region::fp_simd.value;
        if (n % 4 != 0) raw &= 0x7fffffffu; // the half of the space in which nearly everything lies
        if (n % 2 != 0) raw &= ~(1u << 24);
        words.push_back(raw);
    }
    const std::vector<std::string> mnemonics = test::objdump_mnemonics(words);
    std::map<std::string, std::uint32_t> wrong;
    unsigned allocated = 0;
    for (std::size_t n = 0; n < words.size(); ++n) {
        const std::uint16_t row = decode(words[n]).row;
        const bool known = mnemonics[n] != ".inst" && !absent(mnemonics[n]);
        if (row == kNoRow && known) wrong.emplace("not decoded: " + mnemonics[n], words[n]);
        if (row != kNoRow && !known)
            wrong.emplace(std::string("not an instruction: ") + op_table()[row].name, words[n]);
        allocated += row != kNoRow && known;
    }
    for (const auto& [text, raw] : wrong) FAIL_CHECK(text << " " << std::hex << raw);
    CHECK(allocated > 50000);
}

TEST_CASE("what pipelines need to know of SIMD and FP instructions") {
    const auto v = [](unsigned n) { return static_cast<std::uint8_t>(reg::v0 + n); };
    Insn i = decode(0x1f420c20); // fmadd d0, d1, d2, d3
    CHECK((i.src[0] == v(1) && i.src[1] == v(2) && i.src[3] == v(3) && i.dst[0] == v(0)));
    CHECK((i.timing == TimingClass::fp_madd && i.kind == InsnKind::fp && i.a == 3 && i.b == 0));
    i = decode(0x4e22cc20); // fmla v0.4s, v1.4s, v2.4s
    CHECK((i.src[3] == v(0) && i.dst[0] == v(0) && i.a == 2 && i.b == 1));
    CHECK((i.timing == TimingClass::simd_fp_mla && i.kind == InsnKind::simd));
    i = decode(0x1e621820); // fdiv d0, d1, d2
    CHECK(i.timing == TimingClass::fp_div_d);
    i = decode(0x1e221820); // fdiv s0, s1, s2
    CHECK(i.timing == TimingClass::fp_div_s);
    i = decode(0x1ee1c020); // fsqrt h0, h1
    CHECK(i.timing == TimingClass::fp_sqrt_h);
    i = decode(0x1e622020); // fcmp d1, d2
    CHECK((i.dst[0] == reg::flags && i.src[0] == v(1) && i.src[1] == v(2)));
    i = decode(0x1e620c20); // fcsel d0, d1, d2, eq
    CHECK((i.src[2] == reg::flags && i.dst[0] == v(0)));
    i = decode(0x9e670020); // fmov d0, x1
    CHECK((i.src[0] == 1 && i.dst[0] == v(0)));
    i = decode(0x9e66001f); // fmov xzr, d0
    CHECK((i.src[0] == v(0) && i.dst[0] == reg::none && i.rd == kSink));
    i = decode(0x4e0c1c20); // ins v0.s[1], w1
    CHECK((i.src[0] == 1 && i.src[2] == v(0) && i.dst[0] == v(0)));
    i = decode(0x4e284820); // aese v0.16b, v1.16b
    CHECK((i.src[0] == v(1) && i.src[2] == v(0) && i.dst[0] == v(0) && i.kind == InsnKind::crypto));
    i = decode(0x4e0262a2); // tbl v2.16b, {v21-v24}, v2: of four table registers three have room
    CHECK((i.src[0] == v(2) && i.src[1] == v(21) && i.src[3] == v(23)));
}

TEST_CASE("scalar results clear the rest of the register") {
    for (const std::uint32_t raw : {0x1e622820u /* fadd d0, d1, d2 */, 0x5ee28420u /* add d0, d1, d2 */,
                                    0x0e228420u /* add v0.8b, v1.8b, v2.8b */, 0x1e604020u /* fmov d0, d1 */}) {
        CpuState s;
        s.v[0].d[0] = s.v[0].d[1] = s.v[1].d[1] = s.v[2].d[1] = ~std::uint64_t{0};
        const Insn insn = decode(raw);
        insn.fn(s, insn);
        CHECK(s.v[0].d[0] == 0);
        CHECK(s.v[0].d[1] == 0);
    }
}

} // namespace rkperf::a64

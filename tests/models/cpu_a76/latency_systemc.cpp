// SPDX-License-Identifier: Apache-2.0
// Cortex-A76: cycles of dependent and independent instructions, against facts/latency_a76.csv.
#include "models/cpu_a76/core_a76.h"
#include "tests/models/cpu/loops.h"
#include "tests/models/cpu/rig.inc.h"

#include <catch2/catch.hpp>

namespace {

using namespace rkperf;
using namespace rkperf::test;
using namespace rkperf::test::a;

/// One instruction repeated, registers as given; expected cycles per copy.
struct Case {
    const char* name;
    std::vector<W> body;
    double cycles, tolerance;
};
std::vector<W> taken_every(unsigned instructions) {
    std::vector<W> body(instructions - 1, nop());
    body.push_back(b(1));
    return body;
}
const std::vector<Case> kCases = {
    {"dependent add", {add_imm(2, 2, 1)}, 1, 0.02},
    {"independent add",
     {add_imm(2, 2, 1), add_imm(3, 3, 1), add_imm(4, 4, 1), add_imm(5, 5, 1), add_imm(6, 6, 1), add_imm(7, 7, 1)},
     2,
     0.06},
    {"nop", {nop(), nop(), nop(), nop()}, 1.33, 0.4},
    {"add with shift over 4", {add(2, 2, 3, 12)}, 2, 0.02},
    {"add with shift up to 4", {add(2, 2, 3, 2)}, 1, 0.02},
    {"eor with shift", {eor(2, 2, 3, 0, 13)}, 1, 0.02},
    {"mul 64", {mul(2, 2, 3)}, 4, 0.02},
    {"mul 32", {mul_w(2, 2, 3)}, 2, 0.02},
    {"umulh", {umulh(2, 2, 3)}, 5, 0.02},
    {"independent mul 64", {mul(2, 9, 3), mul(4, 9, 3)}, 6, 0.06},
    {"udiv by one, small", {udiv(2, 2, 10)}, 5, 0.1},
    {"fadd", {fadd_d(2, 2, 3)}, 2, 0.02},
    {"independent fadd", {fadd_d(2, 9, 8), fadd_d(3, 9, 8), fadd_d(4, 9, 8), fadd_d(5, 9, 8)}, 2, 0.06},
    {"fmadd accumulator chain", {fmadd_d(2, 3, 4, 2)}, 2, 0.02},
    {"load to use", {ldr(2, 1), add(1, 1, 2)}, 5, 0.05},
    {"pointer chase", {ldr(1, 1)}, 4, 0.02},
    {"independent loads", {ldr(2, 1), ldr(3, 1, 72), ldr(4, 1, 144), ldr(5, 1, 216)}, 2, 0.06},
    {"loads of one bank in different lines", {ldr(2, 1), ldr(3, 1, 64), ldr(4, 1, 128), ldr(5, 1, 192)}, 4, 0.06},
    {"independent stores", {str(2, 1), str(3, 1, 64), str(4, 1, 128), str(5, 1, 192)}, 2, 0.06},
    {"load across a line", {ldur(2, 1, 60), add(1, 1, 2)}, 12, 0.3},
    {"load across a page", {ldr(2, 11), add(11, 14, 2)}, 12, 0.3},
    {"stores across a line", {str(2, 13, 56), str(3, 13, 120), str(4, 13, 184), str(5, 13, 248)}, 4, 0.06},
    {"stores across a page", {str(2, 11), str(3, 11, 4096), str(4, 11, 8192), str(5, 11, 12288)}, 4, 0.06},
    // AESMC after the AESE of its register is one operation with it; of another, or with something between, it is not.
    {"AES round", {aese(2, 3), aesmc(2, 2)}, 2, 0.05},
    {"AES inverse round", {aese(2, 3, true), aesmc(2, 2, true)}, 2, 0.05},
    {"AESMC after AESD", {aese(2, 3, true), aesmc(2, 2)}, 4, 0.05},
    {"AES round with a nop inside", {aese(2, 3), nop(), aesmc(2, 2)}, 4, 0.05},
    {"AES round to another register", {aese(2, 3), aesmc(4, 2), aese(4, 3), aesmc(2, 4)}, 8, 0.05},
    // The dividers of integers and of floating point are two: what one does costs nothing beside the other.
    {"fdiv", {fdiv_d(2, 8, 9)}, 7, 0.1},
    {"fdiv and udiv", {fdiv_d(2, 8, 9), udiv(3, 9, 10)}, 7, 0.1},
    {"store to load", {str(2, 1, 64), ldr(2, 1, 64)}, 6, 1},
    // Measured on N1: 0.08 a cycle of LDADDAL, that is, one begins when the one before is done.
    {"atomics whose results nobody waits for", {ldaddal(12, 4, 1), ldaddal(12, 5, 1)}, 26, 0.3},
    {"the same without order", {ldadd(12, 4, 1), ldadd(12, 5, 1)}, 26, 0.3},
    {"taking and leaving a lock", {ldaxr(4, 1), stxr(6, 12, 1), stlr(31, 1)}, 7, 0.3},
    // A prediction covers twice what a fetch brings: what the predictor loses at a taken branch of the micro BTB is hidden
    // where there is more than that to fetch between two of them.
    {"taken branch to the next instruction", {b(1)}, 2, 0.05},
    {"taken branch every four fetches", taken_every(16), 4.33, 0.05}, // and a third of the loop's own block
};

const bool registered = [] {
    for (const Case& c : kCases)
        measure(
            c.name, cpu_a76::make_core, c.body, 60 / static_cast<unsigned>(c.body.size()),
            [](a64::CpuState& s) {
                s.x[10] = 1;
                s.x[9] = 3;
                s.x[2] = 0;
                s.x[12] = kData + 64;
                s.x[11] = s.x[14] = kData + kPageSize - 4;
                s.x[13] = kData + 4;
            },
            [c](Machine& m) {
                if (std::string(c.name) == "pointer chase") m.word(kData) = kData;
            });
    measure_prefetches("prefetches", cpu_a76::make_core);
    return true;
}();

TEST_CASE("prefetch instructions on the Cortex-A76 go no faster than what they ask for comes", "[a76]") {
    check_prefetches("prefetches");
}

TEST_CASE("cycles of instruction sequences on the Cortex-A76") {
    REQUIRE(registered);
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        CHECK(measured(c.name) == Approx(c.cycles).margin(c.tolerance));
    }
}

} // namespace

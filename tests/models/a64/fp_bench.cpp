// SPDX-License-Identifier: Apache-2.0
// Cost of FP, SIMD and crypto bodies: one dependent chain of one instruction each, as a core calls them.
#include "models/a64/fp_format.h"
#include "models/a64/insn.h"

#include <benchmark/benchmark.h>

namespace {

using namespace rkperf::a64;

/// State in which values stay ordinary however long the chain is: 1.0 times 1.0, plus tiny numbers.
void prepare(CpuState& s, unsigned size) {
    for (unsigned r = 0; r < 32; ++r) {
        for (unsigned l = 0; l < 16u >> size; ++l) {
            if (size == 1) s.v[r].h[l] = F16::one;
            if (size == 2) s.v[r].s[l] = F32::one;
            if (size == 3) s.v[r].d[l] = F64::one;
        }
    }
    const std::uint64_t tiny = 0x3c9fffffffffffff; // adding it to 1 is inexact and changes nothing
    if (size == 1) s.v[3].h[0] = 0x0c01;
    for (unsigned l = 0; l < 4 && size == 2; ++l) s.v[3].s[l] = 0x30ffffff;
    for (unsigned l = 0; l < 2 && size == 3; ++l) s.v[3].d[l] = tiny;
}

/// Arguments: encoding, element size, FPCR, FPSR.
void body(benchmark::State& b, std::uint32_t raw, unsigned size, std::uint32_t fpcr, std::uint32_t fpsr) {
    static CpuState s;
    s.fpcr = fpcr;
    s.fpsr = fpsr;
    prepare(s, size);
    const Insn insn = decode(raw);
    if (insn.row == kNoRow) return b.SkipWithError("undefined");
    Exec fn = insn.fn;
    for (auto _ : b) {
        benchmark::DoNotOptimize(fn);
        fn(s, insn);
        if (fpsr == 0) s.fpsr = 0;
    }
}

constexpr std::uint32_t kIxc = fpsr::IXC, kToZero = 3u << 22;
#define RK_BODY(name, raw, size) BENCHMARK_CAPTURE(body, name, raw, size, 0, kIxc)
RK_BODY(fadd_d, 0x1e632800u, 3);     // fadd d0, d0, d3
RK_BODY(fadd_s, 0x1e232800u, 2);     // fadd s0, s0, s3
RK_BODY(fmul_d, 0x1e610800u, 3);     // fmul d0, d0, d1
RK_BODY(fmadd_d, 0x1f410c00u, 3);    // fmadd d0, d0, d1, d3
RK_BODY(fmadd_s, 0x1f010c00u, 2);    // fmadd s0, s0, s1, s3
RK_BODY(fdiv_d, 0x1e611800u, 3);     // fdiv d0, d0, d1
RK_BODY(fsqrt_d, 0x1e61c000u, 3);    // fsqrt d0, d0
RK_BODY(fcmp_d, 0x1e612000u, 3);     // fcmp d0, d1
RK_BODY(fcvtzs_x_d, 0x9e780000u, 3); // fcvtzs x0, d0
RK_BODY(scvtf_d_x, 0x9e620000u, 3);  // scvtf d0, x0
RK_BODY(frintm_d, 0x1e654000u, 3);   // frintm d0, d0
RK_BODY(fadd_4s, 0x4e23d400u, 2);    // fadd v0.4s, v0.4s, v3.4s
RK_BODY(fadd_2d, 0x4e63d400u, 3);    // fadd v0.2d, v0.2d, v3.2d
RK_BODY(fmul_4s, 0x6e21dc00u, 2);    // fmul v0.4s, v0.4s, v1.4s
RK_BODY(fmla_4s, 0x4e23cc20u, 2);    // fmla v0.4s, v1.4s, v3.4s
RK_BODY(fmla_2d, 0x4e63cc20u, 3);    // fmla v0.2d, v1.2d, v3.2d
RK_BODY(fmla_4s_el, 0x4f831020u, 2); // fmla v0.4s, v1.4s, v3.s[0]
RK_BODY(faddp_4s, 0x6e23d400u, 2);   // faddp v0.4s, v0.4s, v3.4s
RK_BODY(fcmgt_4s, 0x6ea1e402u, 2);   // fcmgt v2.4s, v0.4s, v1.4s
RK_BODY(fadd_h, 0x1ee32800u, 1);     // fadd h0, h0, h3
RK_BODY(fmla_8h, 0x4e430c20u, 1);    // fmla v0.8h, v1.8h, v3.8h
RK_BODY(add_4s, 0x4ea18400u, 2);     // add v0.4s, v0.4s, v1.4s
RK_BODY(mul_4s, 0x4ea19c00u, 2);     // mul v0.4s, v0.4s, v1.4s
RK_BODY(sqadd_16b, 0x4e210c00u, 2);  // sqadd v0.16b, v0.16b, v1.16b
RK_BODY(and_16b, 0x4e211c00u, 2);    // and v0.16b, v0.16b, v1.16b
RK_BODY(cmeq_16b, 0x6e218c00u, 2);   // cmeq v0.16b, v0.16b, v1.16b
RK_BODY(umaxp_16b, 0x6e21a400u, 2);  // umaxp v0.16b, v0.16b, v1.16b
RK_BODY(addv_16b, 0x4e31b800u, 2);   // addv b0, v0.16b
RK_BODY(sshr_4s, 0x4f3d0400u, 2);    // sshr v0.4s, v0.4s, #3
RK_BODY(smlal_4s, 0x0e618020u, 2);   // smlal v0.4s, v1.4h, v1.4h
RK_BODY(sdot_4s, 0x4e819420u, 2);    // sdot v0.4s, v1.16b, v1.16b
RK_BODY(tbl_16b, 0x4e010000u, 2);    // tbl v0.16b, {v0.16b}, v1.16b
RK_BODY(zip1_4s, 0x4e813800u, 2);    // zip1 v0.4s, v0.4s, v1.4s
RK_BODY(umov_w, 0x0e043c00u, 2);     // umov w0, v0.s[0]
RK_BODY(aese, 0x4e284820u, 2);       // aese v0.16b, v1.16b
RK_BODY(aesmc, 0x4e286800u, 2);      // aesmc v0.16b, v0.16b
RK_BODY(sha256h, 0x5e024020u, 2);    // sha256h q0, q1, v2.4s
RK_BODY(pmull_1q, 0x0ee1e000u, 3);   // pmull v0.1q, v0.1d, v1.1d
// Outside the modes in which the host's arithmetic serves.
BENCHMARK_CAPTURE(body, fadd_d_to_zero, 0x1e632800u, 3, kToZero, kIxc);
BENCHMARK_CAPTURE(body, fmul_d_to_zero, 0x1e610800u, 3, kToZero, kIxc);
BENCHMARK_CAPTURE(body, fmadd_d_to_zero, 0x1f410c00u, 3, kToZero, kIxc);
BENCHMARK_CAPTURE(body, fdiv_d_to_zero, 0x1e611800u, 3, kToZero, kIxc);
BENCHMARK_CAPTURE(body, fadd_d_flush, 0x1e632800u, 3, fpcr::FZ, kIxc);
BENCHMARK_CAPTURE(body, fmla_4s_flush, 0x4e23cc20u, 2, fpcr::FZ, kIxc);
BENCHMARK_CAPTURE(body, fadd_d_no_ixc, 0x1e632800u, 3, 0, 0);
BENCHMARK_CAPTURE(body, fmadd_d_no_ixc, 0x1f410c00u, 3, 0, 0);

} // namespace

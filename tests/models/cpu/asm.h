// SPDX-License-Identifier: Apache-2.0
// A few A64 encodings, for programs of the core tests.
#pragma once

#include <cstdint>

namespace rkperf::test::a {

using W = std::uint32_t;
constexpr W r(unsigned n) { return n & 31; }

constexpr W nop() { return 0xd503201f; }
constexpr W movz(unsigned d, unsigned imm16, unsigned hw = 0) {
    return 0xd2800000 | hw << 21 | (imm16 & 0xffff) << 5 | r(d);
}
constexpr W movk(unsigned d, unsigned imm16, unsigned hw) {
    return 0xf2800000 | hw << 21 | (imm16 & 0xffff) << 5 | r(d);
}
constexpr W add_imm(unsigned d, unsigned n, unsigned imm12) {
    return 0x91000000 | (imm12 & 0xfff) << 10 | r(n) << 5 | r(d);
}
constexpr W sub_imm(unsigned d, unsigned n, unsigned imm12) {
    return 0xd1000000 | (imm12 & 0xfff) << 10 | r(n) << 5 | r(d);
}
constexpr W subs_imm(unsigned d, unsigned n, unsigned imm12) {
    return 0xf1000000 | (imm12 & 0xfff) << 10 | r(n) << 5 | r(d);
}
constexpr W add(unsigned d, unsigned n, unsigned m, unsigned lsl = 0) {
    return 0x8b000000 | r(m) << 16 | lsl << 10 | r(n) << 5 | r(d);
}
constexpr W eor(unsigned d, unsigned n, unsigned m, unsigned shift = 0, unsigned amount = 0) {
    return 0xca000000 | shift << 22 | r(m) << 16 | amount << 10 | r(n) << 5 | r(d);
}
/// AND Xd, Xn with the low `bits` set, 1..63.
constexpr W and_low(unsigned bits, unsigned d, unsigned n) { return 0x92400000 | (bits - 1) << 10 | r(n) << 5 | r(d); }
constexpr W mul(unsigned d, unsigned n, unsigned m) { return 0x9b007c00 | r(m) << 16 | r(n) << 5 | r(d); }
constexpr W mul_w(unsigned d, unsigned n, unsigned m) { return 0x1b007c00 | r(m) << 16 | r(n) << 5 | r(d); }
constexpr W udiv(unsigned d, unsigned n, unsigned m) { return 0x9ac00800 | r(m) << 16 | r(n) << 5 | r(d); }
constexpr W umulh(unsigned d, unsigned n, unsigned m) { return 0x9bc07c00 | r(m) << 16 | r(n) << 5 | r(d); }
constexpr W fadd_d(unsigned d, unsigned n, unsigned m) { return 0x1e602800 | r(m) << 16 | r(n) << 5 | r(d); }
constexpr W fdiv_d(unsigned d, unsigned n, unsigned m) { return 0x1e601800 | r(m) << 16 | r(n) << 5 | r(d); }
/// AESE (AESD with `inverse`) and AESMC (AESIMC) of 16 bytes.
constexpr W aese(unsigned d, unsigned n, bool inverse = false) { return 0x4e284800 | inverse << 12 | r(n) << 5 | r(d); }
constexpr W aesmc(unsigned d, unsigned n, bool inverse = false) {
    return 0x4e286800 | inverse << 12 | r(n) << 5 | r(d);
}
constexpr W fmadd_d(unsigned d, unsigned n, unsigned m, unsigned ad) {
    return 0x1f400000 | r(m) << 16 | r(ad) << 10 | r(n) << 5 | r(d);
}
constexpr W ldr(unsigned t, unsigned n, unsigned bytes = 0) {
    return 0xf9400000 | (bytes / 8) << 10 | r(n) << 5 | r(t);
}
constexpr W ldur(unsigned t, unsigned n, int off) {
    return 0xf8400000 | (static_cast<W>(off) & 0x1ff) << 12 | r(n) << 5 | r(t);
}
constexpr W ldr_reg(unsigned t, unsigned n, unsigned m, bool scaled) {
    return 0xf8606800 | r(m) << 16 | scaled << 12 | r(n) << 5 | r(t);
}
constexpr W str(unsigned t, unsigned n, unsigned bytes = 0) {
    return 0xf9000000 | (bytes / 8) << 10 | r(n) << 5 | r(t);
}
constexpr W str_w(unsigned t, unsigned n, unsigned bytes = 0) {
    return 0xb9000000 | (bytes / 4) << 10 | r(n) << 5 | r(t);
}
constexpr W ldr_w(unsigned t, unsigned n, unsigned bytes = 0) {
    return 0xb9400000 | (bytes / 4) << 10 | r(n) << 5 | r(t);
}
constexpr W ldp(unsigned t, unsigned t2, unsigned n, int bytes = 0) {
    return 0xa9400000 | (static_cast<W>(bytes / 8) & 0x7f) << 15 | r(t2) << 10 | r(n) << 5 | r(t);
}
constexpr W stp(unsigned t, unsigned t2, unsigned n, int bytes = 0) {
    return 0xa9000000 | (static_cast<W>(bytes / 8) & 0x7f) << 15 | r(t2) << 10 | r(n) << 5 | r(t);
}
/// PRFM PLDL1KEEP.
constexpr W prfm(unsigned n) { return 0xf9800000 | r(n) << 5; }
constexpr W ldxr(unsigned t, unsigned n) { return 0xc85f7c00 | r(n) << 5 | r(t); }
constexpr W stxr(unsigned s, unsigned t, unsigned n) { return 0xc8007c00 | r(s) << 16 | r(n) << 5 | r(t); }
constexpr W stxp(unsigned s, unsigned t, unsigned t2, unsigned n) {
    return 0xc8200000 | r(s) << 16 | r(t2) << 10 | r(n) << 5 | r(t);
}
constexpr W ldadd(unsigned s, unsigned t, unsigned n) { return 0xf8200000 | r(s) << 16 | r(n) << 5 | r(t); }
constexpr W ldaddal(unsigned s, unsigned t, unsigned n) { return 0xf8e00000 | r(s) << 16 | r(n) << 5 | r(t); }
constexpr W ldaxr(unsigned t, unsigned n) { return 0xc85ffc00 | r(n) << 5 | r(t); }
constexpr W stlr(unsigned t, unsigned n) { return 0xc89ffc00 | r(n) << 5 | r(t); }
constexpr W dmb_ish() { return 0xd5033bbf; }
constexpr W dsb_ish() { return 0xd5033b9f; }
constexpr W isb() { return 0xd5033fdf; }
constexpr W dc_cvau(unsigned t) { return 0xd50b7b20 | r(t); }
constexpr W ic_ivau(unsigned t) { return 0xd50b7520 | r(t); }
constexpr W dc_zva(unsigned t) { return 0xd50b7420 | r(t); }
constexpr W mrs(unsigned t, unsigned encoding) { return 0xd5300000 | (encoding & 0x7fff) << 5 | r(t); }
constexpr W svc(unsigned imm = 0) { return 0xd4000001 | imm << 5; }
constexpr W brk(unsigned imm = 0) { return 0xd4200000 | imm << 5; }
// Branches: `words` counts instructions from the branch itself.
constexpr W b(int words) { return 0x14000000 | (static_cast<W>(words) & 0x3ffffff); }
constexpr W bl(int words) { return 0x94000000 | (static_cast<W>(words) & 0x3ffffff); }
constexpr W b_ne(int words) { return 0x54000001 | (static_cast<W>(words) & 0x7ffff) << 5; }
constexpr W cbz(unsigned t, int words) { return 0xb4000000 | (static_cast<W>(words) & 0x7ffff) << 5 | r(t); }
constexpr W cbnz(unsigned t, int words) { return 0xb5000000 | (static_cast<W>(words) & 0x7ffff) << 5 | r(t); }
constexpr W tbz(unsigned t, unsigned bit, int words) {
    return 0x36000000 | bit << 19 | (static_cast<W>(words) & 0x3fff) << 5 | r(t);
}
constexpr W br(unsigned n) { return 0xd61f0000 | r(n) << 5; }
constexpr W ret() { return 0xd65f03c0; }

} // namespace rkperf::test::a

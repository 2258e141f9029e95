// SPDX-License-Identifier: Apache-2.0
// Every kind of load and store below a watchpoint of each type and length, at places around it: pairs, SIMD structures,
// exclusives, atomics, cache maintenance, prefetches [DBG-029]. Accesses are aligned: of others QEMU reports more than are made.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static uint8_t area[8192] __attribute__((aligned(4096)));
struct op {
    const char* n;
    void (*f)(void*);
};
// A list; its layout is by hand.
// clang-format off
#define OPS \
    O(ldrb, "ldrb w1,[x0]") O(ldrh, "ldrh w1,[x0]") O(ldrw, "ldr w1,[x0]") O(ldrx, "ldr x1,[x0]") \
    O(ldrb_f, "ldr b0,[x0]") O(ldrh_f, "ldr h0,[x0]") O(ldrs, "ldr s0,[x0]") O(ldrd, "ldr d0,[x0]") \
    O(ldrq, "ldr q0,[x0]") O(ldrsb, "ldrsb x1,[x0]") O(ldrsw, "ldrsw x1,[x0]") O(ldur, "ldur x1,[x0,#-8]") \
    O(ldpost, "ldr x1,[x0],#8") O(ldpre, "ldr x1,[x0,#8]!") O(ldtr, "ldtr x1,[x0]") O(sttr, "sttr x1,[x0]") \
    O(ldpost1, "ldrb w1,[x0],#16") O(strb, "strb w1,[x0]") O(strh, "strh w1,[x0]") O(strw, "str w1,[x0]") \
    O(strx, "str x1,[x0]") O(strq, "str q0,[x0]") O(strs, "str s0,[x0]") O(strd, "str d0,[x0]") \
    O(ldpw, "ldp w1,w2,[x0]") O(ldpx, "ldp x1,x2,[x0]") O(ldpsw, "ldpsw x1,x2,[x0]") O(ldps, "ldp s0,s1,[x0]") \
    O(ldpd, "ldp d0,d1,[x0]") O(ldpq, "ldp q0,q1,[x0]") O(ldnp, "ldnp x1,x2,[x0]") O(stpw, "stp w1,w2,[x0]") \
    O(stpx, "stp x1,x2,[x0]") O(stpq, "stp q0,q1,[x0]") O(stps, "stp s0,s1,[x0]") O(stnp, "stnp x1,x2,[x0]") \
    O(stppre, "stp x1,x2,[x0,#-16]!") O(ld1_1, "ld1 {v0.16b},[x0]") O(ld1_2, "ld1 {v0.16b,v1.16b},[x0]") \
    O(ld1_3, "ld1 {v0.8b,v1.8b,v2.8b},[x0]") O(ld1_4, "ld1 {v0.2d-v3.2d},[x0]") O(ld1_b, "ld1 {v0.b}[3],[x0]") \
    O(ld1_d, "ld1 {v0.d}[1],[x0]") O(ld1r, "ld1r {v0.4s},[x0]") O(ld2, "ld2 {v0.16b,v1.16b},[x0]") \
    O(ld2_h, "ld2 {v0.h,v1.h}[2],[x0]") O(ld2r, "ld2r {v0.4s,v1.4s},[x0]") O(ld3, "ld3 {v0.8b-v2.8b},[x0]") \
    O(ld3_s, "ld3 {v0.s-v2.s}[1],[x0]") O(ld3r, "ld3r {v0.2d-v2.2d},[x0]") O(ld4, "ld4 {v0.16b-v3.16b},[x0]") \
    O(ld4_b, "ld4 {v0.b-v3.b}[5],[x0]") O(ld4r, "ld4r {v0.8h-v3.8h},[x0]") O(st1_1, "st1 {v0.16b},[x0]") \
    O(st1_4, "st1 {v0.2d-v3.2d},[x0]") O(st1_h, "st1 {v0.h}[3],[x0]") O(st2, "st2 {v0.4s,v1.4s},[x0]") \
    O(st2_d, "st2 {v0.d,v1.d}[1],[x0]") O(st3, "st3 {v0.8h-v2.8h},[x0]") O(st3_b, "st3 {v0.b-v2.b}[1],[x0]") \
    O(st4, "st4 {v0.2d-v3.2d},[x0]") O(st4_s, "st4 {v0.s-v3.s}[0],[x0]") O(prfm, "prfm pldl1keep,[x0]") \
    O(prfst, "prfm pstl1keep,[x0]") O(prfum, "prfum pldl1keep,[x0,#1]") O(dczva, "dc zva,x0") \
    O(dccvau, "dc cvau,x0") O(dccvac, "dc cvac,x0") O(dccivac, "dc civac,x0") O(icivau, "ic ivau,x0")
// clang-format on
// clang-format off
#define AOPS \
    /* aligned only */ O(ldxr, "ldxr x1,[x0]\nclrex") O(ldxrw, "ldxr w1,[x0]\nclrex") \
    O(ldxrb, "ldxrb w1,[x0]\nclrex") O(ldaxr, "ldaxr x1,[x0]\nclrex") O(ldxp, "ldxp x1,x2,[x0]\nclrex") \
    O(ldxpw, "ldxp w1,w2,[x0]\nclrex") O(stxr_f, "clrex\nstxr w3,x1,[x0]") \
    O(stxp_f, "clrex\nstxp w3,x1,x2,[x0]") O(ldar, "ldar x1,[x0]") O(ldarb, "ldarb w1,[x0]") \
    O(stlr, "stlr x1,[x0]") O(stlrw, "stlr w1,[x0]") O(ldapr, "ldapr x1,[x0]") O(ldadd, "ldadd x1,x2,[x0]") \
    O(ldaddw, "ldadd w1,w2,[x0]") O(ldaddb, "ldaddb w1,w2,[x0]") O(ldaddal, "ldaddal x1,x2,[x0]") \
    O(stadd, "stadd x1,[x0]") O(ldclr, "ldclr x1,x2,[x0]") O(ldset, "ldset x1,x2,[x0]") \
    O(ldeor, "ldeor x1,x2,[x0]") O(ldsmax, "ldsmax x1,x2,[x0]") O(ldumin, "ldumin x1,x2,[x0]") \
    O(swp, "swp x1,x2,[x0]") O(swpb, "swpb w1,w2,[x0]") O(cas_f, "mov x1,#77\ncas x1,x2,[x0]") \
    O(cas_s, "mov x4,x0\nldr x1,[x4]\ncas x1,x2,[x0]") O(casb, "casb w1,w2,[x0]") \
    O(caspx, "mov x4,#0\ncaspal x2,x3,x4,x5,[x0]") O(caspw, "casp w2,w3,w4,w5,[x0]")
// clang-format on
#define O(n, a) \
    __asm__(".arch armv8.4-a+lse+simd+crypto\n.text\n.balign 64\n.global op_" #n "\nop_" #n \
            ": mov x1,#0\nmov x2,#0\nmov x3,#0\nmov x5,#0\nmov x6,x4\n" a "\nret\n"); \
    void op_##n(void*);
OPS AOPS
#undef O
#define O(n, a) {#n, op_##n},
    static const struct op ops[] = {OPS},
                           aops[] = {AOPS};
#define N(a) (sizeof(a) / sizeof *(a))
static int op_bp(int type, void* at, int len) {
    struct perf_event_attr a = {
        .type = PERF_TYPE_BREAKPOINT, .size = sizeof a, .disabled = 1, .exclude_kernel = 1, .exclude_hv = 1};
    a.bp_type = type;
    a.bp_addr = (uint64_t)at;
    a.bp_len = len;
    return syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
}
static void one(const struct op* o, int* offs, int no) {
    static const int lens[] = {1, 2, 4, 8};
    static const int wo[] = {0, 7, 8, 60, 64, 19};
    for (int t = 1; t <= 3; t++) {
        printf("%s %s:", o->n, t == 1 ? "r" : t == 2 ? "w" : "rw");
        for (unsigned l = 0; l < 4; l++)
            for (unsigned w = 0; w < N(wo); w++) {
                if ((wo[w] & 7) + lens[l] > 8 && lens[l] != 1) {
                    continue;
                }
                int f = op_bp(t, area + 4096 + wo[w], lens[l]);
                if (f < 0) {
                    printf(" E%d", errno);
                    continue;
                }
                printf(" ");
                for (int i = 0; i < no; i++) {
                    uint64_t a = 0, b = 0;
                    read(f, &a, 8);
                    ioctl(f, PERF_EVENT_IOC_ENABLE, 0);
                    o->f(area + 4096 + offs[i]);
                    ioctl(f, PERF_EVENT_IOC_DISABLE, 0);
                    read(f, &b, 8);
                    printf("%d", (int)(b - a));
                }
                close(f);
            }
        printf("\n");
    }
}
int main(void) {
    int offs[] = {-64, -48, -32, -16, 0, 16, 48, 64};
    int aoffs[] = {-16, -8, 0, 8, 16, 48, 56, 64};
    int a16[] = {-16, 0, 16, 48, 64};
    for (unsigned i = 0; i < N(ops); i++) {
        one(ops + i, offs, N(offs));
    }
    for (unsigned i = 0; i < N(aops); i++) {
        int p = strstr(aops[i].n, "xp") || strstr(aops[i].n, "casp");
        if (p)
            one(aops + i, a16, N(a16));
        else
            one(aops + i, aoffs, N(aoffs));
    }
    return 0;
}

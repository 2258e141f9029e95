// SPDX-License-Identifier: Apache-2.0
// What rt_sigreturn makes of a frame: records in sigcontext.__reserved that are well formed or not, modes that may not
// come back, stack pointers that are not aligned; and where the fault is reported.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

struct head {
    uint32_t magic, size;
};
struct extra {
    struct head head;
    uint64_t datap;
    uint32_t size, pad[3];
};
enum { FPSIMD = 0x46508001, ESR = 0x45535201, EXTRA = 0x45585401, SVE = 0x53564501, ZA = 0x54366345 };

static sigjmp_buf again;
static int kind, code, at_sp;
static uint64_t altered_sp, blocked_then;
static char alt[65536], spare[32768] __attribute__((aligned(16)));

static struct head* record(char* base, unsigned at) { return (struct head*)(base + at); }

static void set(char* base, unsigned at, uint32_t magic, uint32_t size) {
    record(base, at)->magic = magic;
    record(base, at)->size = size;
}

static void go_back(void* sp) {
    __asm__ volatile("mov sp, %0\n mov x8, #139\n svc #0\n brk #1" ::"r"(sp) : "x8", "memory");
}

static void on_usr(int signo, siginfo_t* info, void* context) {
    (void)signo;
    // A frame of our own, so that it can be spoiled and moved.
    char* frame = spare;
    memcpy(frame, info, 128);
    memcpy(frame + 128, context, sizeof(ucontext_t));
    ucontext_t* uc = (ucontext_t*)(frame + 128);
    char* r = (char*)uc->uc_mcontext.__reserved;
    const unsigned end = 528, most = sizeof uc->uc_mcontext.__reserved;
    set(r, end, 0, 0); // what may follow the vector registers
    switch (kind) {
        case 0: break;
        case 1: set(r, 0, 0x12345678, 528); break;
        case 2: set(r, end, 0xdeadbeef, 16), set(r, end + 16, 0, 0); break;
        case 3: record(r, 0)->size = 512; break;
        case 4: record(r, 0)->size = 544; break;
        case 5: set(r, end, ESR, 16), set(r, end + 16, 0, 0); break;
        case 6: set(r, end, ESR, 24), set(r, end + 24, 0, 0); break;
        case 7: set(r, end, ESR, 4), set(r, end + 16, 0, 0); break;
        case 8: set(r, end, 0, 16); break;
        case 9: set(r, 0, 0, 0); break;
        case 10: memmove(r + end, r, 528), set(r, 2 * end, 0, 0); break;
        case 11: set(r, end, ESR, most), set(r, end + 16, 0, 0); break;
        case 12: set(r, 0, ESR, 16), set(r, 16, ESR, most - 16); break;
        case 13: set(r, end, SVE, 16), set(r, end + 16, 0, 0); break;
        case 14: set(r, end, ZA, 16), set(r, end + 16, 0, 0); break;
        case 15:
        case 16:
        case 17:
        case 18:
        case 19:
        case 20: { // the vector registers behind an extra record
            char saved[528];
            memcpy(saved, r, 528);
            memset(r, 0, most);
            struct extra* x = (struct extra*)(r + most - 48);
            set(r, 0, ESR, most - 48);
            x->head = (struct head){EXTRA, 32};
            x->datap = (uint64_t)(r + most);
            x->size = 544;
            memset(r + most, 0, 560);
            memcpy(r + most, saved, 528);
            if (kind == 16) x->datap += 16;
            if (kind == 17) x->size = 540;
            if (kind == 18) x->head.size = 24;
            if (kind == 19) record(r, most - 16)->size = 16;
            if (kind == 20) x->size = 1 << 20;
            break;
        }
        case 21: uc->uc_mcontext.pstate |= 5; break;         // EL1h
        case 22: uc->uc_mcontext.pstate |= 1 << 7; break;    // I
        case 23: uc->uc_mcontext.pstate |= 1 << 4; break;    // AArch32
        case 24: uc->uc_mcontext.pstate |= 15u << 28; break; // flags may come back
        case 25: frame += 8; break;
        case 26: frame = (char*)0x1000; break;
        case 27: sigaddset(&uc->uc_sigmask, SIGUSR2), set(r, 0, 1, 528); break;
        case 28: uc->uc_mcontext.sp = (uint64_t)spare + 8192, set(r, 0, 1, 528); break;
    }
    altered_sp = kind == 25 ? (uint64_t)frame : kind == 26 ? 0 : uc->uc_mcontext.sp;
    go_back(frame);
}

static void on_segv(int signo, siginfo_t* info, void* context) {
    (void)signo;
    ucontext_t* uc = context;
    code = info->si_code;
    at_sp = (uint64_t)info->si_addr == altered_sp && uc->uc_mcontext.sp == altered_sp;
    blocked_then = sigismember(&uc->uc_sigmask, SIGUSR2);
    siglongjmp(again, 2);
}

int main(void) {
    stack_t st = {.ss_sp = alt, .ss_size = sizeof alt};
    sigaltstack(&st, NULL);
    struct sigaction sa = {.sa_sigaction = on_usr, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &sa, NULL);
    struct sigaction sv = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &sv, NULL);
    for (kind = 0; kind <= 28; ++kind) {
        const int how = sigsetjmp(again, 1);
        if (how == 0) {
            raise(SIGUSR1);
            printf("%2d comes back\n", kind);
        } else {
            printf("%2d SIGSEGV, si_code %d, %s%s\n", kind, code, at_sp ? "at the stack pointer" : "elsewhere",
                   blocked_then ? ", SIGUSR2 blocked" : "");
        }
        fflush(stdout);
    }
    return 0;
}

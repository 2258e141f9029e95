// SPDX-License-Identifier: Apache-2.0
// Accesses that must be aligned, and the events about their repair: a 64-bit program gets a signal, nothing is repaired, and
// so alignment-faults and emulation-faults stay 0. [CORE-455]
#include "perf_guest.h"

#include <setjmp.h>
#include <sys/prctl.h>
#include <sys/ucontext.h>

static sigjmp_buf back;
static volatile uintptr_t at;

static void caught(int sig, siginfo_t* info, void* context) {
    const ucontext_t* u = context;
    printf("  %s code %d address %+ld pc %s\n",
           sig == SIGBUS   ? "SIGBUS"
           : sig == SIGILL ? "SIGILL"
                           : "another",
           info->si_code, (long)((uintptr_t)info->si_addr - at),
           (uintptr_t)info->si_addr == u->uc_mcontext.pc ? "is it" : "is another");
    fflush(stdout);
    siglongjmp(back, 1);
}

#define ATTEMPT(name, address, code) \
    do { \
        printf("%s\n", name); \
        at = (uintptr_t)(address); \
        if (!sigsetjmp(back, 1)) { \
            code; \
            printf("  done\n"); \
        } \
    } while (0)

static char bytes[64] __attribute__((aligned(64)));

static void compare_and_swap_pair(void) {
    asm volatile(".arch armv8.2-a\ncasp x2, x3, x4, x5, [%0]" : : "r"(at) : "x2", "x3", "x4", "x5", "memory");
}

int main(void) {
    struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_ALIGNMENT_FAULTS);
    const int alignment = perf_open(&attr, 0, -1, -1, 0);
    attr.config = PERF_COUNT_SW_EMULATION_FAULTS;
    const int emulation = perf_open(&attr, 0, -1, -1, 0);
    SHOW(alignment >= 0);
    SHOW(emulation >= 0);
    SHOW(prctl(PR_GET_UNALIGN, &(int){0}, 0, 0, 0));
    SHOW(prctl(PR_SET_UNALIGN, PR_UNALIGN_SIGBUS, 0, 0, 0));

    unsigned long value = 0;
    unsigned status = 0;
    ATTEMPT("plain load", bytes + 3, asm volatile("ldr %0, [%1]" : "=r"(value) : "r"(at)));
    ATTEMPT("ldxr", bytes + 4, asm volatile("ldxr %0, [%1]" : "=r"(value) : "r"(at)));
    ATTEMPT("ldxp", bytes + 8, asm volatile("ldxp %0, x9, [%1]" : "=&r"(value) : "r"(at) : "x9"));
    ATTEMPT("ldaxrh", bytes + 1, asm volatile("ldaxrh %w0, [%1]" : "=r"(value) : "r"(at)));
    ATTEMPT("ldar", bytes + 4, asm volatile("ldar %0, [%1]" : "=r"(value) : "r"(at)));
    ATTEMPT("stlr", bytes + 2, asm volatile("stlr %w1, [%0]" : : "r"(at), "r"(value) : "memory"));
    ATTEMPT("ldadd", bytes + 4,
            asm volatile(".arch armv8.2-a\nldadd %1, %0, [%2]"
                         : "=&r"(value)
                         : "r"(1l), "r"(at)
                         : "memory"));
    ATTEMPT("cas", bytes + 1,
            asm volatile(".arch armv8.2-a\ncas %w0, %w1, [%2]"
                         : "+r"(status)
                         : "r"(1), "r"(at)
                         : "memory"));
    ATTEMPT("casp", bytes + 8, compare_and_swap_pair());
    // The kernel reads these for the program, which is not what emulation-faults counts.
    ATTEMPT("identification register", bytes, asm volatile("mrs %0, ID_AA64ISAR0_EL1" : "=r"(value)));
    printf("alignment %lu emulation %lu\n", (unsigned long)count_of(alignment), (unsigned long)count_of(emulation));
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Small pieces of code that do one countable thing n times each, measured with every event a core has.
//
//   event_kernels EVENT...   numbers, in hexadecimal
//
// prints a line for each kernel and event: KERNEL EVENT N COUNT, where COUNT is what 2 n rounds count more than n rounds
// do: calls, loops around and the counting itself cancel out. What is to be expected is in event_kernels_test.py.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define KIB 1024ul
#define MIB (1024ul * KIB)
#define GIB (1024ul * MIB)
#define LINE 64ul
#define PAGE 4096ul

static char small[8192] __attribute__((aligned(4096)));

// A loop of n rounds; %0 is the counter, %1 the address of `small`, x9 to x15 and v0 to v7 are free.
#define ROUNDS(body) \
    __asm__ volatile("1:\n" body "subs %0, %0, #1\n b.ne 1b\n" \
                     : "+r"(n) \
                     : "r"(small) \
                     : "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x30", "v0", "v1", "v2", "v3", "v4", "v5", \
                       "v6", "v7", "cc", "memory")
#define KERNEL(name, body) \
    static void name(long n) { ROUNDS(body); }

KERNEL(nops, "nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n")
KERNEL(adds, "add x9, x10, x11\n add x10, x11, x12\n eor x12, x13, x14\n lsl x13, x14, #3\n")
KERNEL(loads, "ldr x9, [%1]\n ldr x10, [%1, #8]\n ldr x11, [%1, #16]\n")
KERNEL(stores, "str x9, [%1]\n str x10, [%1, #8]\n")
KERNEL(atomics, "mov x9, #1\n .arch_extension lse\n ldadd x9, x10, [%1]\n")
KERNEL(store_atomics, "mov x9, #1\n .arch_extension lse\n stadd x9, [%1]\n")
KERNEL(prefetches, "prfm pldl1keep, [%1]\n")
KERNEL(unaligned_loads, "ldr x9, [%1, #1]\n ldr w10, [%1, #18]\n ldrh w11, [%1, #7]\n ldr x12, [%1, #8]\n")
KERNEL(unaligned_stores, "str x9, [%1, #1]\n str w10, [%1, #18]\n str x12, [%1, #8]\n")
KERNEL(exclusive_pass, "ldxr x9, [%1]\n stxr w10, x9, [%1]\n")
KERNEL(exclusive_fail, "ldxr x9, [%1]\n clrex\n stxr w10, x9, [%1]\n")
KERNEL(acquire_release, "ldar x9, [%1]\n stlr x9, [%1]\n")
KERNEL(data_barriers, "dmb ish\n dmb ishld\n dsb ish\n")
KERNEL(isbs, "isb\n")
KERNEL(aes, ".arch_extension crypto\n aese v0.16b, v1.16b\n aesmc v0.16b, v0.16b\n sha256h q2, q3, v4.4s\n")
KERNEL(simd, "add v0.4s, v1.4s, v2.4s\n mul v3.4s, v4.4s, v5.4s\n eor v6.16b, v6.16b, v7.16b\n")
KERNEL(fp, "fadd d0, d1, d2\n fmul s3, s4, s5\n")
KERNEL(calls, "bl 2f\n b 3f\n 2: ret\n 3:\n")
KERNEL(odd_returns, "adr x30, 2f\n ret\n nop\n 2:\n")
KERNEL(indirect, "adr x9, 2f\n br x9\n nop\n 2:\n")
KERNEL(untaken, "cbnz xzr, 1b\n tbnz xzr, #3, 1b\n")
KERNEL(add_chain, "mul x9, x9, x9\n mul x9, x9, x9\n mul x9, x9, x9\n")
KERNEL(div_chain, "mov x10, #-1\n udiv x9, x10, x11\n orr x11, x9, #3\n udiv x9, x10, x11\n orr x11, x9, #3\n")
KERNEL(fp_chain, "fadd d0, d0, d1\n fadd d0, d0, d1\n fadd d0, d0, d1\n fadd d0, d0, d1\n")
KERNEL(address_chain, "and x9, x9, #56\n madd x10, x9, xzr, %1\n ldr x9, [x10]\n")

KERNEL(zero_line, "dc zva, %1\n")
KERNEL(pairs, "ldp x9, x10, [%1]\n stp x9, x10, [%1, #16]\n")
KERNEL(compare_swaps, ".arch_extension lse\n cas x9, x10, [%1]\n")
KERNEL(ordered_atomics, ".arch_extension lse\n ldaddal xzr, x10, [%1]\n")
KERNEL(ordered_exclusives, "ldaxr x9, [%1]\n stlxr w10, x9, [%1]\n")
KERNEL(indirect_calls, "adr x9, 2f\n blr x9\n b 3f\n 2: ret\n 3:\n")
KERNEL(long_products, ".arch_extension crypto\n pmull v0.1q, v1.1d, v2.1d\n")
KERNEL(system_registers, "mrs x9, tpidr_el0\n msr tpidr_el0, x9\n")
KERNEL(far_prefetches, "prfm pldl2keep, [%1]\n")

static void zero_lines(long n) {
    static char* area;
    static size_t at;
    if (!area) area = aligned_alloc(LINE, 2 * MIB);
    for (; n > 0; --n, at = (at + 3 * LINE) % (2 * MIB - LINE))
        __asm__ volatile("dc zva, %0" ::"r"(area + (at & ~63ul)) : "memory");
}

// --- branches whose way a generator of random numbers chooses ---

#define RANDOM "eor x9, x9, x9, lsl #13\n eor x9, x9, x9, lsr #7\n eor x9, x9, x9, lsl #17\n"
static uint64_t random_state = 88172645463325252ull;
#define RANDOM_ROUNDS(body) \
    __asm__ volatile("mov x9, %1\n 1:\n" RANDOM body "subs %0, %0, #1\n b.ne 1b\n mov %1, x9\n" \
                     : "+r"(n), "+r"(random_state) \
                     : \
                     : "x9", "x10", "x11", "cc", "memory")
static void random_branches(long n) { RANDOM_ROUNDS("tbnz x9, #40, 2f\n nop\n 2:\n"); }
static void random_targets(long n) {
    RANDOM_ROUNDS(
        "adr x10, 2f\n and x11, x9, #0x7c000000000\n add x10, x10, x11, lsr #36\n br x10\n"
        "2: .rept 31\n b 3f\n .endr\n b 3f\n 3:\n");
}

// --- memory in an order that no prefetcher foresees: chains of pointers ---

struct chain {
    size_t span, step; // one node in each `step` bytes of `span`
    size_t offset;     // of the nodes in successive steps, so that they use all sets
    char* base;
    void** at;
};

static void chain_link(struct chain* c, char* base) {
    const size_t n = c->span / c->step;
    uint32_t* order = malloc(n * sizeof *order);
    for (size_t i = 0; i < n; ++i) order[i] = i;
    uint64_t r = 1;
    for (size_t i = n - 1; i > 0; --i) {
        r = r * 6364136223846793005ull + 1442695040888963407ull;
        const size_t j = (r >> 33) % (i + 1);
        const uint32_t t = order[i];
        order[i] = order[j], order[j] = t;
    }
#define NODE(k) (base + order[(k) % n] * c->step + order[(k) % n] * c->offset % (c->step < PAGE ? c->step : PAGE))
    for (size_t i = 0; i < n; ++i) *(void**)NODE(i) = NODE(i + 1);
    c->at = (void**)NODE(0);
    c->base = base;
    free(order);
}

static void chain_make(struct chain* c) {
    if (c->at) return;
    char* base = mmap(NULL, c->span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    chain_link(c, base);
}

static void chain_load(struct chain* c, long n) {
    chain_make(c);
    void** p = c->at;
    for (; n > 0; --n) p = *p;
    c->at = p;
    __asm__ volatile("" ::"r"(p));
}

// The chains that depend on sizes of the core are set up by main.
static struct chain in_l2 = {.step = LINE}, in_l3 = {.step = LINE, .span = 2 * MIB},
                    in_dram = {.step = LINE, .span = 24 * MIB};
static struct chain tlb_pages = {.step = PAGE, .offset = LINE},
                    walk_pages = {.step = PAGE, .offset = 3 * LINE, .span = 16 * MIB};
static struct chain far_pages = {.step = 2 * MIB, .offset = LINE, .span = 512 * MIB};
static struct chain written_l2 = {.step = LINE}, written_l3 = {.step = LINE, .span = 2 * MIB};
static struct chain written_tlb = {.step = PAGE, .offset = LINE},
                    written_walk = {.step = PAGE, .offset = 3 * LINE, .span = 16 * MIB};
static void load_l2(long n) { chain_load(&in_l2, n); }
static void load_l3(long n) { chain_load(&in_l3, n); }
static void load_dram(long n) { chain_load(&in_dram, n); }
static void load_tlb(long n) { chain_load(&tlb_pages, n); }
static void load_walk(long n) { chain_load(&walk_pages, n); }
static void load_far(long n) { chain_load(&far_pages, n); }

// A gigabyte between any two pages: the walk misses its caches for the last two levels, too.
static void load_farthest(long n) {
    enum { kPages = 100 };
    static void** at;
    if (!at) {
        void** first = NULL;
        void** last = NULL;
        for (long i = 0; i < kPages; ++i) {
            char* page = mmap((void*)(0x1000000000ul + ((size_t)(i * 37 % kPages)) * GIB), PAGE, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (page == MAP_FAILED) return;
            void** node = (void**)(page + i * LINE % PAGE);
            if (last) *last = node;
            if (!first) first = node;
            last = node;
        }
        *last = first;
        at = first;
    }
    void** p = at;
    for (; n > 0; --n) p = *p;
    at = p;
    __asm__ volatile("" ::"r"(p));
}

// One store in each place of a random order of lines or pages; the order is a generator's, not loaded.
static void scattered_store(struct chain* c, long n) {
    if (!c->base) {
        c->base = mmap(NULL, c->span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(c->base, 1, c->span);
    }
    static uint64_t i;
    const uint64_t places = c->span / c->step - 1; // a power of two minus one
    for (; n > 0; --n) {
        i = i * 5 + 12345;
        const uint64_t k = i & places;
        *(volatile uint64_t*)(c->base + k * c->step + k * c->offset % PAGE % c->step) = n;
    }
}
static void store_l2(long n) { scattered_store(&written_l2, n); }
static void store_l3(long n) { scattered_store(&written_l3, n); }
static void store_tlb(long n) { scattered_store(&written_tlb, n); }
static void store_walk(long n) { scattered_store(&written_walk, n); }

static size_t l1d_bytes, l1i_bytes;
static char* stream_area;
static void fill(long n) { // n lines, whole
    static size_t at;
    if (!stream_area) stream_area = aligned_alloc(PAGE, 16 * MIB), memset(stream_area, 1, 16 * MIB);
    for (; n > 0; --n, at = (at + LINE) % (16 * MIB)) {
        char* p = stream_area + at;
        __asm__ volatile("stp q0, q1, [%0]\n stp q0, q1, [%0, #32]" ::"r"(p) : "memory");
    }
}
static void store_bursts(long n) { // eight stores in a row, each to a line that the L1D does not have
    static char* area;
    static size_t at;
    const size_t span = 2 * l1d_bytes;
    if (!area) area = aligned_alloc(PAGE, span + PAGE), memset(area, 1, span + PAGE);
    for (; n > 0; --n, at = (at + 8 * LINE) % span)
        __asm__ volatile(
            "str xzr, [%0]\n str xzr, [%0, #64]\n str xzr, [%0, #128]\n str xzr, [%0, #192]\n"
            "str xzr, [%0, #256]\n str xzr, [%0, #320]\n str xzr, [%0, #384]\n str xzr, [%0, #448]\n" ::"r"(area + at)
            : "memory");
}
static void short_fills(long n) { // 64 whole lines at a time, then a store that is not one of a row
    static size_t at;
    if (!stream_area) stream_area = aligned_alloc(PAGE, 16 * MIB), memset(stream_area, 1, 16 * MIB);
    for (; n > 0; --n, at = (at + LINE) % (16 * MIB)) {
        char* p = stream_area + at;
        __asm__ volatile("stp q0, q1, [%0]\n stp q0, q1, [%0, #32]" ::"r"(p) : "memory");
        if (n % 64 == 0) *(volatile char*)(stream_area + (at + 8 * MIB) % (16 * MIB)) = 1;
    }
}
static void read_on(long n) { // n lines, one after the other
    static size_t at;
    if (!stream_area) stream_area = aligned_alloc(PAGE, 16 * MIB), memset(stream_area, 1, 16 * MIB);
    for (; n > 0; --n, at = (at + LINE) % (16 * MIB))
        __asm__ volatile("ldr x9, [%0]" ::"r"(stream_area + at) : "x9", "memory");
}
static void walk_by_seven(long n) { // lines, each address from what was read at the one before (docs/fidelity.md)
    enum { BYTES = 16 * MIB };
    static unsigned char* lines;
    static unsigned at;
    if (!lines) lines = aligned_alloc(PAGE, BYTES), memset(lines, 7, BYTES);
    for (; n > 0; --n) at = (at + *(volatile unsigned char*)(lines + at) * LINE) % BYTES;
}
static void clean_lines(long n) { // each line written, then cleaned and invalidated
    for (; n > 0; --n) {
        char* p = small + 4096 + n % 16 * 2 * LINE;
        __asm__ volatile("str x9, [%0]\n dc civac, %0\n" ::"r"(p) : "memory");
    }
    __asm__ volatile("dsb ish" ::: "memory");
}

static void bind_to(unsigned cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void clean_l2_lines(long n) { // the same with lines that have gone from the L1D to the L2 meanwhile
    static char* area;
    const size_t span = 2 * l1d_bytes;
    if (!area) area = aligned_alloc(PAGE, 2 * span), memset(area, 1, 2 * span);
    while (n > 0) {
        const size_t lines = n < 64 ? n : 64;
        for (size_t i = 0; i < lines; ++i) *(volatile char*)(area + i * LINE) = 1;
        for (size_t i = 0; i < span; i += LINE) (void)*(volatile char*)(area + span + i);
        for (size_t i = 0; i < lines; ++i) __asm__ volatile("dc civac, %0" ::"r"(area + i * LINE) : "memory");
        n -= lines;
    }
}

// Another thread of execution on another CPU, which takes the line away.
static void shared_line(long n) {
    static volatile uint64_t* line;
    if (!line) {
        line = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        unsigned cpu = 0;
        getcpu(&cpu, NULL);
        if (fork() == 0) {
            bind_to(cpu ^ 1);
            for (uint64_t seen = 0;;) { // answers each odd number with the next even one
                const uint64_t v = *line;
                if (v == ~0ull) _exit(0);
                if (v != seen && v % 2) *line = seen = v + 1;
            }
        }
        *line = 0;
    }
    if (n < 0) {
        *line = ~0ull;
        return;
    }
    for (; n > 0; --n) {
        const uint64_t v = *line;
        *line = v + 1;
        while (*line == v + 1) {
        }
    }
}

// --- code in an order that no fetcher foresees ---

static void (*code_make(size_t span, size_t step, size_t offset))(long) {
    uint32_t* base = mmap(NULL, span + PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct chain c = {.span = span, .step = step, .offset = offset};
    chain_link(&c, (char*)base);
    // Each node: subs x0, x0, #1; b.eq out; b next. The last word of all is the return.
    uint32_t* const out = base + span / 4;
    *out = 0xd65f03c0;
    uint32_t* node = (uint32_t*)c.at;
    do {
        uint32_t* const next = *(void**)node;
        node[0] = 0xf1000400;
        node[1] = 0x54000000u | ((uint32_t)(4) << 5); // b.eq, to the jump below
        node[2] = 0x14000000u | ((uint32_t)(next - (node + 2)) & 0x3ffffff);
        node[5] = 0x14000000u | ((uint32_t)(out - (node + 5)) & 0x3ffffff);
        node = next;
    } while (node != (uint32_t*)c.at);
    __builtin___clear_cache((char*)base, (char*)(base + span / 4 + 1));
    return (void (*)(long))c.at;
}
static void code_lines(long n) {
    static void (*code)(long);
    if (!code) code = code_make(2 * l1i_bytes, LINE, 0);
    code(n);
}
static void code_tlb(long n) { // more pages than the L1 TLB holds, few enough lines for the L1I
    static void (*code)(long);
    if (!code) code = code_make(64 * PAGE, PAGE, LINE);
    code(n);
}
static void code_pages(long n) {
    static void (*code)(long);
    if (!code) code = code_make(8 * MIB, PAGE, LINE);
    code(n);
}

// --- exceptions ---

static void svcs(long n) {
    for (; n > 0; --n) {
        register long x8 __asm__("x8") = SYS_getpid;
        register long x0 __asm__("x0");
        __asm__ volatile("svc #0" : "=r"(x0) : "r"(x8) : "memory");
    }
}
static void skip_instruction(int signo, siginfo_t* info, void* context) {
    (void)signo, (void)info;
    ((ucontext_t*)context)->uc_mcontext.pc += 4;
}
static void return_to_caller(int signo, siginfo_t* info, void* context) {
    (void)signo, (void)info;
    ((ucontext_t*)context)->uc_mcontext.pc = ((ucontext_t*)context)->uc_mcontext.regs[30];
}
static void handle(int signo, void (*f)(int, siginfo_t*, void*)) {
    struct sigaction a = {.sa_sigaction = f, .sa_flags = SA_SIGINFO};
    sigaction(signo, &a, NULL);
}
static void undefined(long n) {
    handle(SIGILL, skip_instruction);
    for (; n > 0; --n) __asm__ volatile("udf #0");
}
static void data_aborts(long n) {
    char* p = mmap(NULL, (size_t)n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < n; ++i) ((volatile char*)p)[i * (long)PAGE] = 1;
    munmap(p, (size_t)n * PAGE);
}
static void insn_aborts(long n) {
    handle(SIGSEGV, return_to_caller);
    for (; n > 0; --n) ((void (*)(void))(void*)small)();
}
static void breakpoints(long n) {
    handle(SIGTRAP, skip_instruction);
    for (; n > 0; --n) __asm__ volatile("brk #0");
}
static void interrupts(long n) { // a timer's interrupt in each fifth of a millisecond
    timer_t timer = 0;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    signal(SIGALRM, SIG_IGN);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    struct itimerspec every = {{0, 200000}, {0, 200000}};
    timer_settime(timer, 0, &every, NULL);
    struct timespec t0, t;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    do clock_gettime(CLOCK_MONOTONIC, &t);
    while ((t.tv_sec - t0.tv_sec) * 1000000000l + t.tv_nsec - t0.tv_nsec < n * 200000l + 100000);
    timer_delete(timer);
}
static void switches(long n) { // to another process and back
    static int there[2], back[2];
    static pid_t partner;
    char c = 0;
    if (!partner) {
        if (pipe(there) || pipe(back)) exit(3);
        partner = fork();
        if (partner == 0) {
            close(there[1]);
            while (read(there[0], &c, 1) == 1)
                if (write(back[1], &c, 1) != 1) break;
            _exit(0);
        }
        close(there[0]);
    }
    for (; n > 0; --n)
        if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1) exit(3);
}

// --- measuring ---

enum Mode { kUser, kAll, kCpu };

static const struct {
    const char* name;
    void (*run)(long);
    long n;
    enum Mode mode; // counts at EL0; at EL0 and EL1; of the CPU, whatever runs there
} kKernels[] = {
    {"nops", nops, 1000, kUser},
    {"adds", adds, 1000, kUser},
    {"loads", loads, 1000, kUser},
    {"stores", stores, 1000, kUser},
    {"atomics", atomics, 1000, kUser},
    {"store_atomics", store_atomics, 1000, kUser},
    {"prefetches", prefetches, 1000, kUser},
    {"unaligned_loads", unaligned_loads, 1000, kUser},
    {"unaligned_stores", unaligned_stores, 1000, kUser},
    {"exclusive_pass", exclusive_pass, 1000, kUser},
    {"exclusive_fail", exclusive_fail, 1000, kUser},
    {"acquire_release", acquire_release, 1000, kUser},
    {"data_barriers", data_barriers, 1000, kUser},
    {"isbs", isbs, 1000, kUser},
    {"aes", aes, 1000, kUser},
    {"simd", simd, 1000, kUser},
    {"fp", fp, 1000, kUser},
    {"calls", calls, 1000, kUser},
    {"odd_returns", odd_returns, 1000, kUser},
    {"indirect", indirect, 1000, kUser},
    {"untaken", untaken, 1000, kUser},
    {"add_chain", add_chain, 1000, kUser},
    {"div_chain", div_chain, 1000, kUser},
    {"fp_chain", fp_chain, 1000, kUser},
    {"address_chain", address_chain, 1000, kUser},
    {"zero_line", zero_line, 1000, kUser},
    {"pairs", pairs, 1000, kUser},
    {"compare_swaps", compare_swaps, 1000, kUser},
    {"ordered_atomics", ordered_atomics, 1000, kUser},
    {"ordered_exclusives", ordered_exclusives, 1000, kUser},
    {"indirect_calls", indirect_calls, 1000, kUser},
    {"long_products", long_products, 1000, kUser},
    {"system_registers", system_registers, 1000, kUser},
    {"far_prefetches", far_prefetches, 1000, kUser},
    {"zero_lines", zero_lines, 1000, kUser},
    {"random_branches", random_branches, 4000, kUser},
    {"random_targets", random_targets, 4000, kUser},
    {"load_l2", load_l2, 4096, kUser},
    {"load_l3", load_l3, 4000, kUser},
    {"load_dram", load_dram, 4000, kUser},
    {"load_tlb", load_tlb, 4096, kUser},
    {"load_walk", load_walk, 4096, kUser},
    {"load_far", load_far, 4096, kUser},
    {"load_farthest", load_farthest, 4000, kUser},
    {"store_l2", store_l2, 4096, kUser},
    {"store_l3", store_l3, 4096, kUser},
    {"store_tlb", store_tlb, 4096, kUser},
    {"store_walk", store_walk, 4096, kUser},
    {"fill", fill, 8192, kUser},
    {"store_bursts", store_bursts, 2048, kUser},
    {"short_fills", short_fills, 4096, kUser},
    {"read_on", read_on, 4096, kUser},
    {"walk_by_seven", walk_by_seven, 20000, kUser},
    {"clean_lines", clean_lines, 1000, kUser},
    {"clean_l2_lines", clean_l2_lines, 512, kUser},
    {"shared_line", shared_line, 20, kUser},
    {"code_lines", code_lines, 4096, kUser},
    {"code_tlb", code_tlb, 4096, kUser},
    {"code_pages", code_pages, 4096, kUser},
    {"svcs", svcs, 200, kAll},
    {"undefined", undefined, 40, kAll},
    {"data_aborts", data_aborts, 40, kAll},
    {"insn_aborts", insn_aborts, 40, kAll},
    {"breakpoints", breakpoints, 40, kAll},
    {"interrupts", interrupts, 20, kAll},
    {"switches", switches, 40, kCpu},
};

enum { kGroup = 6 };

static void measure(void (*run)(long), long n, enum Mode mode, const unsigned* events, int count, uint64_t* out) {
    int fds[kGroup] = {-1};
    unsigned cpu = 0;
    getcpu(&cpu, NULL);
    for (int i = 0; i < count; ++i) {
        struct perf_event_attr attr = {.type = PERF_TYPE_RAW, .size = sizeof attr, .config = events[i]};
        attr.disabled = i == 0;
        attr.exclude_kernel = mode == kUser;
        fds[i] = syscall(SYS_perf_event_open, &attr, mode == kCpu ? -1 : 0, mode == kCpu ? (int)cpu : -1,
                         i ? fds[0] : -1, 0);
        if (fds[i] < 0) printf("# event %x: %s\n", events[i], strerror(errno)), exit(2);
    }
    ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
    run(n);
    ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);
    for (int i = 0; i < count; ++i) {
        if (read(fds[i], &out[i], 8) != 8) exit(2);
        if (i) close(fds[i]);
    }
    close(fds[0]);
}

int main(int argc, char** argv) {
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    uint64_t midr = 0;
    __asm__("mrs %0, MIDR_EL1" : "=r"(midr));
    const int big = (midr >> 4 & 0xfff) == 0xd0b;
    in_l2.span = written_l2.span = big ? 256 * KIB : 64 * KIB;
    tlb_pages.span = written_tlb.span = (big ? 128 : 64) * PAGE;
    l1d_bytes = l1i_bytes = big ? 64 * KIB : 32 * KIB;
    unsigned cpu = 0;
    getcpu(&cpu, NULL);
    bind_to(cpu & ~1u);
    printf("core %s\n", big ? "a76" : "a55");
    unsigned events[256];
    const int total = argc - 1;
    for (int i = 0; i < total; ++i) events[i] = strtoul(argv[i + 1], NULL, 16);
    for (size_t k = 0; k < sizeof kKernels / sizeof *kKernels; ++k) {
        kKernels[k].run(kKernels[k].n); // so that caches and predictors know it
        for (int i = 0; i < total; i += kGroup) {
            const int count = total - i < kGroup ? total - i : kGroup;
            uint64_t once[kGroup], twice[kGroup];
            measure(kKernels[k].run, kKernels[k].n, kKernels[k].mode, events + i, count, once);
            measure(kKernels[k].run, 2 * kKernels[k].n, kKernels[k].mode, events + i, count, twice);
            for (int j = 0; j < count; ++j)
                printf("%s %02x %ld %lld\n", kKernels[k].name, events[i + j], kKernels[k].n,
                       (long long)(twice[j] - once[j]));
        }
        fflush(stdout);
    }
    shared_line(-1);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Watchpoints opened with perf_event_open: which accesses of which kind count, exactly how often, and that the program's
// results do not change.
#include "os_guest.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

static uint8_t area[8192] __attribute__((aligned(4096)));

static int open_bp(unsigned type, const volatile void* at, unsigned len, pid_t pid, int cpu, int kernel) {
    struct perf_event_attr a = {.type = PERF_TYPE_BREAKPOINT, .size = sizeof a, .disabled = 1};
    a.bp_type = type;
    a.bp_addr = (uint64_t)at;
    a.bp_len = len;
    a.exclude_kernel = !kernel;
    a.exclude_hv = 1;
    return syscall(SYS_perf_event_open, &a, pid, cpu, -1, 0);
}
static int watch(unsigned type, const volatile void* at, unsigned len) {
    int fd = open_bp(type, at, len, 0, -1, 0);
    if (fd < 0) say("perf_event_open: %s", res(fd));
    return fd;
}
static uint64_t count(int fd) {
    uint64_t v = 0;
    read(fd, &v, sizeof v);
    return v;
}
static void on(int fd) {
    ioctl(fd, PERF_EVENT_IOC_RESET, 0);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}
static void off(int fd) { ioctl(fd, PERF_EVENT_IOC_DISABLE, 0); }

// One line: hits of loads, of stores and of both by one instruction at `base`.
static int fds[3];
#define INSN(text, base, insn) \
    do { \
        uint64_t n[3]; \
        for (int k = 0; k < 3; k++) { \
            void* b = (base); \
            on(fds[k]); \
            asm volatile("mov x9, %0\n mov x10, #3\n mov x11, #5\n" insn \
                         : \
                         : "r"(b) \
                         : "memory", "cc", "x9", "x10", "x11", "x12", "x13", "v0", "v1", "v2", "v3"); \
            off(fds[k]); \
            n[k] = count(fds[k]); \
        } \
        say("%s: r %lu w %lu rw %lu", text, n[0], n[1], n[2]); \
    } while (0)

// [DBG-029]; PRFM and cache maintenance never, DC ZVA as a store of its block [DBG-034]; a store-exclusive that fails does
// not, a load-exclusive does [DBG-035].
static void kinds_of_access(void) {
    uint8_t* w = area + 128 + 24; // 4 bytes are watched
    static const unsigned types[] = {HW_BREAKPOINT_R, HW_BREAKPOINT_W, HW_BREAKPOINT_RW};
    for (int k = 0; k < 3; k++) fds[k] = watch(types[k], w, 4);
    INSN("ldp post-index", w - 8, "ldp x12, x13, [x9], #16");
    INSN("stp pre-index", w - 24, "stp x10, x11, [x9, #16]!");
    INSN("ldpsw", w - 4, "ldpsw x12, x13, [x9]");
    INSN("stnp", w, "stnp x10, x11, [x9]");
    INSN("ld1 4 registers", w - 24, "ld1 {v0.16b-v3.16b}, [x9]");
    INSN("st1 3 registers", w - 40, "st1 {v0.16b-v2.16b}, [x9]");
    INSN("ld2", w - 16, "ld2 {v0.4s, v1.4s}, [x9]");
    INSN("ld3 one element", w - 8, "ld3 {v0.s, v1.s, v2.s}[1], [x9]");
    INSN("ld4r", w - 8, "ld4r {v0.4h, v1.4h, v2.4h, v3.4h}, [x9]");
    INSN("st4 one element", w - 3, "st4 {v0.b, v1.b, v2.b, v3.b}[0], [x9]");
    INSN("ldp q", w - 16, "ldp q0, q1, [x9]");
    INSN("stp d", w - 8, "stp d0, d1, [x9]");
    INSN("ldr q", w - 12, "ldr q0, [x9]");
    INSN("stur unaligned", w - 7, "stur x10, [x9]");
    INSN("stur unaligned, just before", w - 8, "stur x10, [x9]");
    INSN("ldrb past it", w + 4, "ldrb w12, [x9]");
    INSN("ldar", w, "ldar w12, [x9]");
    INSN("stlr", w, "stlr w10, [x9]");
    INSN("ldxr", w, "ldxr w12, [x9]\n clrex");
    INSN("stxr without a monitor", w, "clrex\n stxr w12, w10, [x9]");
    INSN("prfm", w, "prfm pldl1keep, [x9]\n prfm pstl1strm, [x9]");
    INSN("dc cvau", w, "dc cvau, x9");
    INSN("dc civac", w, "dc civac, x9");
    INSN("dc zva", w - 24, "dc zva, x9");
    INSN("two loads and a store", w, "ldr w12, [x9]\n ldr w13, [x9]\n str w12, [x9]");
    INSN("store of the same register", w, "str w10, [x9], #4");
    for (int k = 0; k < 3; k++) close(fds[k]);
}

// Atomics load and store, CAS even if it fails [DBG-035][DBG-052].
static void atomics(void) {
    uint8_t* w = area + 256;
    static const unsigned types[] = {HW_BREAKPOINT_R, HW_BREAKPOINT_W, HW_BREAKPOINT_RW};
    for (int k = 0; k < 3; k++) fds[k] = watch(types[k], w, 8);
    memset(area, 0, sizeof area);
    INSN("ldadd", w, ".arch armv8-a+lse\n ldadd x10, x12, [x9]");
    INSN("stadd", w, ".arch armv8-a+lse\n stadd x10, [x9]");
    INSN("swp", w, ".arch armv8-a+lse\n swpal x10, x12, [x9]");
    INSN("cas that fails", w, ".arch armv8-a+lse\n mov x12, #77\n casal x12, x10, [x9]");
    INSN("casp beside it", w + 16, ".arch armv8-a+lse\n mov x12, #0\n mov x13, #0\n casp x12, x13, x10, x11, [x9]");
    say("value after all: %lu", *(volatile uint64_t*)w);
    for (int k = 0; k < 3; k++) close(fds[k]);
}

static void boundaries(void) {
    uint8_t *line = area + 64 * 9, *page = area + 4096;
    int a = watch(HW_BREAKPOINT_W, line, 1), b = watch(HW_BREAKPOINT_W, page, 1),
        c = watch(HW_BREAKPOINT_W, page - 1, 1);
    uint64_t v = 0x1122334455667788;
    for (int o = -8; o <= 0; o++) {
        on(a);
        memcpy(line + o, &v, 8);
        asm volatile("str %0, [%1]" : : "r"(v), "r"(line + o) : "memory");
        off(a);
        uint64_t na = count(a);
        on(b);
        on(c);
        asm volatile("str %0, [%1]" : : "r"(v), "r"(page + o) : "memory");
        off(b);
        off(c);
        uint64_t got;
        memcpy(&got, page + o, 8);
        say("offset %d: line %d, page %lu, byte before it %lu, stored %d", o, na > 0, count(b), count(c), got == v);
    }
    close(a);
    close(b);
    close(c);
}

static void neighbours(void) {
    volatile uint8_t* p = area + 1024;
    int a = watch(HW_BREAKPOINT_W, p + 8, 4), b = watch(HW_BREAKPOINT_W, p + 12, 4), c = watch(HW_BREAKPOINT_RW, p, 8);
    on(a);
    on(b);
    on(c);
    for (int i = 0; i < 5; i++) *(volatile uint64_t*)(p + 8) = i; // both watched words
    for (int i = 0; i < 3; i++) *(volatile uint32_t*)(p + 12) = i;
    for (int i = 0; i < 2; i++) (void)*(volatile uint64_t*)p;
    asm volatile("stp %0, %0, [%1]" : : "r"(1ul), "r"(p) : "memory"); // all three
    off(a);
    off(b);
    off(c);
    say("two words of a doubleword, the doubleword before: %lu %lu %lu", count(a), count(b), count(c));
    close(a);
    close(b);
    close(c);
}

// [DBG-036]: a store that faults is no hit; when it is repeated it is one.
static sigjmp_buf jump;
static int faults;
static void on_segv(int sig, siginfo_t* si, void* uc) {
    (void)sig, (void)si, (void)uc;
    faults++;
    siglongjmp(jump, 1);
}
static void faulting(void) {
    uint8_t* m = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction sa = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &sa, NULL);
    int a = watch(HW_BREAKPOINT_W, m + PAGE, 8), b = watch(HW_BREAKPOINT_W, m + 2 * PAGE - 4, 4);
    on(a);
    *(volatile uint64_t*)(m + PAGE) = 1; // demand-zero fault first
    off(a);
    say("first touch: %lu", count(a));
    mprotect(m + PAGE, PAGE, PROT_READ);
    on(a);
    if (!sigsetjmp(jump, 1)) *(volatile uint64_t*)(m + PAGE) = 2;
    off(a);
    say("read-only page: %lu, faults %d", count(a), faults);
    mprotect(m + PAGE, PAGE, PROT_READ | PROT_WRITE);
    mprotect(m + 2 * PAGE, PAGE, PROT_NONE);
    on(b);
    if (!sigsetjmp(jump, 1)) asm volatile("str %0, [%1]" : : "r"(1ul), "r"(m + 2 * PAGE - 4) : "memory");
    off(b);
    say("second page faults: %lu, faults %d, nothing stored %d", count(b), faults, *(uint32_t*)(m + 2 * PAGE - 4) == 0);
    close(a);
    close(b);
}

static void system_calls(void) {
    int p[2];
    uint8_t* w = area + 2048;
    pipe(p);
    int a = watch(HW_BREAKPOINT_RW, w, 8);
    on(a);
    write(p[1], w, 8);
    read(p[0], w, 8);
    off(a);
    say("read and write of it: %lu", count(a));
    close(a);
}

static void* thread(void* arg) {
    volatile uint64_t* w = (volatile uint64_t*)(area + 3000 / 8 * 8);
    for (long i = 0; i < (long)arg; i++) *w = i;
    return NULL;
}
static void threads(void) {
    volatile uint64_t* w = (volatile uint64_t*)(area + 3000 / 8 * 8);
    for (int inherit = 0; inherit < 2; inherit++) {
        struct perf_event_attr a = {.type = PERF_TYPE_BREAKPOINT, .size = sizeof a, .disabled = 1, .inherit = inherit};
        a.bp_type = HW_BREAKPOINT_W;
        a.bp_addr = (uint64_t)w;
        a.bp_len = 8;
        a.exclude_kernel = 1;
        int fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
        on(fd);
        pthread_t t[8];
        for (long i = 0; i < 8; i++) pthread_create(&t[i], NULL, thread, (void*)(i + 1));
        for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
        off(fd);
        say("inherit %d: threads with 1 to 8 stores: %lu", inherit, count(fd));
        close(fd);
    }
}

// ri-char/pwatch#6: every thread has slots of its own, and a fifth watchpoint of one fails.
static pthread_barrier_t barrier;
static pid_t tids[6];
static void* sleeper(void* arg) {
    tids[(long)arg] = syscall(SYS_gettid);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}
static void slots_of_threads(void) {
    pthread_t t[6];
    int fd[6][5];
    pthread_barrier_init(&barrier, NULL, 7);
    for (long i = 0; i < 6; i++) pthread_create(&t[i], NULL, sleeper, (void*)i);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 5; k++) fd[i][k] = open_bp(HW_BREAKPOINT_W, area + 64 * k, 8, tids[i], -1, 0);
        say("thread %d: %s, fifth %s", i, fd[i][3] >= 0 ? "ok" : "no", fd[i][4] < 0 ? res(-1) : "ok");
    }
    int wide = open_bp(HW_BREAKPOINT_W, area, 8, -1, 0, 0);
    say("CPU 0 beside them: %s", res(wide));
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 4; k++) close(fd[i][k]);
    wide = open_bp(HW_BREAKPOINT_W, area, 8, -1, 0, 0);
    say("CPU 0 after them: %s", OK(wide));
    close(wide);
}

// An event of a CPU sees all tasks there; a kernel breakpoint elsewhere does not disturb it.
static void cpu_wide(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    int cpu = sched_getcpu();
    sched_setaffinity(0, sizeof set, &set);
    volatile uint64_t* w = (volatile uint64_t*)(area + 4096 + 512);
    int fd = open_bp(HW_BREAKPOINT_W, w, 8, -1, cpu, 0);
    on(fd);
    for (int i = 0; i < 10; i++) *w = i;
    pid_t p = fork();
    if (!p) {
        for (int i = 0; i < 20; i++) *w = i;
        _exit(0);
    }
    waitpid(p, NULL, 0);
    off(fd);
    say("on its CPU, parent 10 and child 20 stores: %lu", count(fd));
    close(fd);
}

int main(void) {
    memset(area, 1, sizeof area);
    say("[kinds_of_access]");
    kinds_of_access();
    say("[atomics]");
    atomics();
    say("[boundaries]");
    boundaries();
    say("[neighbours]");
    neighbours();
    say("[faulting]");
    faulting();
    say("[system_calls]");
    system_calls();
    say("[threads]");
    threads();
    say("[slots_of_threads]");
    slots_of_threads();
    say("[cpu_wide]");
    cpu_wide();
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Execution breakpoints opened with perf_event_open on instructions of many kinds: exact counts, unchanged results, and
// what signals, faults, BRK and debug registers in use by the kernel make of it.
#include "os_guest.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

static uint64_t cell;

uint64_t code(uint64_t n, uint64_t* p);
extern char c_sub[], c_cbz[], c_load[], c_store[], c_cond[], c_bl[], c_leaf[], c_ret[], c_br[], c_end[], c_fp[],
    c_adr[];
asm(".text\n.balign 64\n"
    "code:	stp x29, x30, [sp, #-16]!\n"
    "	mov x9, #0\n"
    "1:\n"
    "c_cbz:	cbz x0, 3f\n"
    "c_sub:	sub x0, x0, #1\n"
    "c_load: ldr x2, [x1]\n"
    "	add x2, x2, #1\n"
    "c_store: str x2, [x1]\n"
    "c_fp:	scvtf d0, x2\n"
    "	tst x0, #1\n"
    "c_cond: b.eq 2f\n"
    "c_bl:	bl c_leaf\n"
    "2:	b 1b\n"
    "3:\n"
    "c_adr:	adr x3, c_end\n"
    "c_br:	br x3\n"
    "	brk #0x77\n"
    "c_leaf: add x9, x9, #1\n"
    "c_ret:	ret\n"
    "c_end:	mov x0, x9\n"
    "	ldp x29, x30, [sp], #16\n"
    "	ret\n"
    ".global code, c_sub, c_cbz, c_load, c_store, c_cond, c_bl, c_leaf, c_ret, c_br, c_end, c_fp, c_adr\n");

static int open_at(unsigned type, const void* at, unsigned len, pid_t pid, int cpu, int kernel) {
    struct perf_event_attr a = {.type = PERF_TYPE_BREAKPOINT, .size = sizeof a, .disabled = 1};
    a.bp_type = type;
    a.bp_addr = (uint64_t)at;
    a.bp_len = len;
    a.exclude_kernel = !kernel;
    a.exclude_hv = 1;
    return syscall(SYS_perf_event_open, &a, pid, cpu, -1, 0);
}
static int bp(const void* at) { return open_at(HW_BREAKPOINT_X, at, sizeof(long), 0, -1, 0); }
static uint64_t count(int fd) {
    uint64_t v = 0;
    read(fd, &v, sizeof v);
    return v;
}
static void on(int fd) { ioctl(fd, PERF_EVENT_IOC_ENABLE, 0); }
static void off(int fd) { ioctl(fd, PERF_EVENT_IOC_DISABLE, 0); }

// A conditional instruction is hit whatever its condition [DBG-018]; the next instruction is what is hit [DBG-017].
static void kinds(void) {
    static const struct {
        const char* name;
        char* at;
    } k[] = {{"cbz", c_cbz},  {"sub", c_sub},   {"load", c_load}, {"store", c_store},
             {"scvtf", c_fp}, {"b.eq", c_cond}, {"bl", c_bl},     {"leaf", c_leaf},
             {"ret", c_ret},  {"adr", c_adr},   {"br", c_br},     {"behind br", c_end}};
    for (unsigned i = 0; i < sizeof k / sizeof *k; i++) {
        int fd = bp(k[i].at);
        cell = 0;
        on(fd);
        uint64_t r = code(51, &cell);
        off(fd);
        say("%s: %lu, result %lu, cell %lu", k[i].name, count(fd), r, cell);
        close(fd);
    }
}

// The step off one breakpoint ends at the next one, which is hit then [DBG-049].
static void together(void) {
    char* at[] = {c_cbz, c_load, c_store, c_bl, c_leaf, c_ret};
    int fd[6], wp = open_at(HW_BREAKPOINT_RW, &cell, 8, 0, -1, 0);
    for (int i = 0; i < 6; i++) fd[i] = bp(at[i]);
    cell = 0;
    for (int i = 0; i < 6; i++) on(fd[i]);
    on(wp);
    uint64_t r = code(20, &cell);
    off(wp);
    for (int i = 0; i < 6; i++) off(fd[i]);
    say("six breakpoints and a watchpoint: %lu %lu %lu %lu %lu %lu, %lu, result %lu, cell %lu", count(fd[0]),
        count(fd[1]), count(fd[2]), count(fd[3]), count(fd[4]), count(fd[5]), count(wp), r, cell);
    for (int i = 0; i < 6; i++) close(fd[i]);
    close(wp);
}

static void lengths(void) {
    for (int off_ = 0; off_ < 4; off_++) {
        int fd = open_at(HW_BREAKPOINT_X, c_sub + off_, 4, 0, -1, 0);
        on(fd);
        code(10, &cell);
        off(fd);
        say("at +%d: %lu", off_, count(fd));
        close(fd);
    }
}

// An instruction that faults is hit again when it is repeated.
static int signals, code_of;
static uint64_t pc_of;
static void handler(int sig, siginfo_t* si, void* uc) {
    (void)sig;
    signals++;
    code_of = si->si_code;
    pc_of = ((ucontext_t*)uc)->uc_mcontext.pc;
    if (sig == SIGTRAP)
        ((ucontext_t*)uc)->uc_mcontext.pc += 4;
    else
        ((ucontext_t*)uc)->uc_mcontext.regs[1] = (uint64_t)&cell;
}
void brk_code(void);
extern char brk_at[], brk_next[];
asm(".text\nbrk_code: nop\nbrk_at: brk #0x77\nbrk_next: nop\n ret\n.global brk_code, brk_at, brk_next\n");

static void with_signals(void) {
    struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGTRAP, &sa, NULL);
    int fd = bp(c_load);
    cell = 0;
    on(fd);
    uint64_t r = code(3, NULL);
    off(fd);
    say("load that faults: %lu, signals %d, at the load %d, result %lu, cell %lu", count(fd), signals,
        pc_of == (uint64_t)c_load, r, cell);
    close(fd);
    signals = 0;
    int at = bp(brk_at), next = bp(brk_next);
    on(at);
    on(next);
    brk_code();
    off(at);
    off(next);
    say("brk: %lu, behind it %lu, signals %d, code %d, at the brk %d", count(at), count(next), signals, code_of,
        pc_of == (uint64_t)brk_at);
    close(at);
    close(next);
}

// What the kernel emulates counts as stepped: the breakpoint behind it is hit [DBG-074]. HLT is undefined [DBG-056].
void mrs_code(void);
extern char mrs_at[], mrs_next[], hlt_at[];
asm(".text\nmrs_code: nop\nmrs_at: mrs x0, midr_el1\nmrs_next: nop\nhlt_at: hlt #0\n ret\n"
    ".global mrs_code, mrs_at, mrs_next, hlt_at\n");
static void on_ill(int sig, siginfo_t* si, void* uc) {
    (void)sig;
    signals++;
    code_of = si->si_code;
    pc_of = ((ucontext_t*)uc)->uc_mcontext.pc;
    ((ucontext_t*)uc)->uc_mcontext.pc += 4;
}
static void emulated(void) {
    struct sigaction sa = {.sa_sigaction = on_ill, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &sa, NULL);
    int at = bp(mrs_at), next = bp(mrs_next), hlt = bp(hlt_at);
    signals = 0;
    on(at);
    on(next);
    on(hlt);
    for (int i = 0; i < 3; i++) mrs_code();
    off(at);
    off(next);
    off(hlt);
    say("mrs %lu, behind it %lu, hlt %lu, signals %d, code %d, at the hlt %d", count(at), count(next), count(hlt),
        signals, code_of, pc_of == (uint64_t)hlt_at);
    close(at);
    close(next);
    close(hlt);
}

// A pc that is not aligned is no hit [DBG-048]; several breakpoints on one instruction are one exception, which each of
// them counts [DBG-023].
static void on_bad_pc(int sig, siginfo_t* si, void* uc) {
    (void)sig;
    signals++;
    code_of = si->si_code;
    pc_of = ((ucontext_t*)uc)->uc_mcontext.pc;
    ((ucontext_t*)uc)->uc_mcontext.pc = ((ucontext_t*)uc)->uc_mcontext.regs[30];
}
static void new_code(void) {
    struct sigaction sa = {.sa_sigaction = on_bad_pc, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGBUS, &sa, NULL);
    uint32_t* page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = page[1] = 0xd65f03c0; // ret
    int there = bp(page), odd = open_at(HW_BREAKPOINT_X, (char*)page + 6, 2, 0, -1, 0);
    on(there);
    on(odd);
    signals = 0;
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    __builtin___clear_cache((char*)page, (char*)page + 8);
    ((void (*)(void))page)();
    ((void (*)(void))((char*)page + 6))();
    say("executable: %lu, not aligned: %lu, signals %d", count(there), count(odd), signals);
    off(odd);
    int again = bp(page);
    on(again);
    ((void (*)(void))page)();
    say("two on one instruction: %lu %lu", count(there), count(again));
    close(there);
    close(odd);
    close(again);
    munmap(page, PAGE);
}

// A signal that the hit itself sends is taken before the step [DBG-068]: the instruction is hit again.
static int traps, trap_fd;
static void on_sigtrap(int sig) {
    (void)sig;
    if (++traps == 3) ioctl(trap_fd, PERF_EVENT_IOC_DISABLE, 0);
}
static void sigtrap(void) {
    struct perf_event_attr a = {.type = PERF_TYPE_BREAKPOINT,
                                .size = sizeof a,
                                .disabled = 1,
                                .sigtrap = 1,
                                .remove_on_exec = 1,
                                .sample_period = 1,
                                .exclude_kernel = 1,
                                .exclude_hv = 1};
    a.bp_type = HW_BREAKPOINT_X;
    a.bp_addr = (uint64_t)c_leaf;
    a.bp_len = 8;
    signal(SIGTRAP, on_sigtrap);
    trap_fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
    on(trap_fd);
    uint64_t r = code(2, &cell);
    say("sigtrap: %lu, signals %d, result %lu", count(trap_fd), traps, r);
    close(trap_fd);
}

// The first instruction of a handler, and what sigreturn goes back to.
static int handled;
__attribute__((noinline)) static void on_usr1(int sig) {
    (void)sig;
    handled++;
}
static void in_handler(void) {
    signal(SIGUSR1, on_usr1);
    int fd = bp((void*)on_usr1);
    on(fd);
    for (int i = 0; i < 5; i++) raise(SIGUSR1);
    off(fd);
    say("handler: %lu of %d", count(fd), handled);
    close(fd);
}

// A breakpoint in the middle of a page fault's instruction, a page that is not there yet.
static void first_touch(void) {
    uint64_t* m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = bp(c_load);
    on(fd);
    code(1, m);
    off(fd);
    say("load that faults a page in: %lu, cell %lu", count(fd), *m);
    close(fd);
}

static void children(void) {
    int fd = bp(c_leaf);
    on(fd);
    pid_t p = fork();
    if (!p) {
        code(9, &cell);
        _exit(0);
    }
    waitpid(p, NULL, 0);
    code(3, &cell);
    off(fd);
    say("child not counted: %lu", count(fd));
    close(fd);
}

// Kernel debug registers in use on this CPU: kernel accesses to watched user memory are then caught, and nobody hears of it.
static void beside_the_kernel(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    int cpu = sched_getcpu(), p[2];
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
    pipe(p);
    int k = open_at(HW_BREAKPOINT_W, (void*)0xffff800000001000, 8, -1, cpu, 1);
    int w = open_at(HW_BREAKPOINT_RW, &cell, 8, 0, -1, 0), x = bp(c_leaf);
    say("kernel watchpoint: %s", OK(k));
    on(k);
    for (int i = 0; i < 2; i++) {
        on(w);
        on(x);
        uint64_t v = 0x1234 + i;
        write(p[1], &v, 8);
        read(p[0], &cell, 8);
        write(p[1], &cell, 8);
        read(p[0], &v, 8);
        code(4, &v);
        off(x);
        off(w);
        say("kernel accesses to it %lu, breakpoint beside %lu, value %lx", count(w), count(x), v);
        if (i == 0) off(k); // the user's stay: KDE stays on
    }
    close(k);
    close(w);
    close(x);
}

int main(void) {
    say("[kinds]");
    kinds();
    say("[together]");
    together();
    say("[lengths]");
    lengths();
    say("[with_signals]");
    with_signals();
    say("[emulated]");
    emulated();
    say("[new_code]");
    new_code();
    say("[sigtrap]");
    sigtrap();
    say("[in_handler]");
    in_handler();
    say("[first_touch]");
    first_touch();
    say("[children]");
    children();
    say("[beside_the_kernel]");
    beside_the_kernel();
    return 0;
}

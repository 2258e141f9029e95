// SPDX-License-Identifier: Apache-2.0
// Uprobes and what happens around them: faults and traps in the slot, signals, forks inside probed calls, threads, mappings
// made and changed while a probe is there, calls under way when the probe goes.
#include "upr_guest.h"

long r_load(long*p), r_leaf(long a, long b), r_outer(long n), r_forks(long n), r_spin(long n);
extern char r_udf[], r_brk[], r_svc[], r_out[], r_fp[], r_lit[];
asm(".text\n.balign 64\n.global r_load, r_leaf, r_outer, r_forks, r_udf, r_brk, r_svc, r_out, r_spin, r_fp, r_lit\n"
    "r_load:	ldr x0, [x0]\n"
    "r_out:	ret\n"
    "r_leaf:	add x0, x0, x1\n"
    "	ret\n"
    "r_outer: stp x29, x30, [sp, #-16]!\n"
    "	mov x29, sp\n"
    "	mov x1, #1\n"
    "	bl r_leaf\n"
    "	ldp x29, x30, [sp], #16\n"
    "	ret\n"
    "r_forks: stp x29, x30, [sp, #-16]!\n"
    "	mov x29, sp\n"
    "	bl do_fork\n"
    "	ldp x29, x30, [sp], #16\n"
    "	ret\n"
    "r_udf:	udf #0\n"
    "	ret\n"
    "r_brk:	brk #0x123\n"
    "	ret\n"
    "r_svc:	svc #0\n"
    "	ret\n"
    "r_fp:	fmov d0, x0\n"
    "	ret\n"
    "r_lit:	ldr d0, r_out\n"
    "	ret\n"
    "r_spin: subs x0, x0, #1\n"
    "	b.ne r_spin\n"
    "	ret\n");

static volatile uint64_t sig_pc, sig_addr;
static volatile int sig_no, sig_code, handled;
static long cell = 41;
static char* resume_at;

static void on_signal(int s, siginfo_t* si, void* v) {
    ucontext_t* uc = v;
    sig_no = s;
    sig_code = si->si_code;
    sig_addr = (uint64_t)si->si_addr;
    sig_pc = uc->uc_mcontext.pc;
    handled++;
    if (resume_at) uc->uc_mcontext.pc = (uint64_t)resume_at;
}

static void catch_all(void) {
    struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    const int all[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGALRM, SIGUSR1};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sigaction(all[i], &sa, NULL);
}

// A fault inside the slot shows the probed address (DragonOS#2163): the handler mends it and returns to the same instruction.
static void fault_in_slot(void) {
    catch_all();
    long* page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const int fd = probe(r_load, 0);
    resume_at = r_out;
    r_load(page);
    say("no access: signal %d code %d, pc at the probe %d, address of the access %d, hits %lu", sig_no, sig_code,
        sig_pc == (uint64_t)r_load, sig_addr == (uint64_t)page, hits(fd));
    resume_at = NULL;
    mprotect(page, PAGE, PROT_READ);
    say("first touch: value %ld, hits %lu, signals %d", r_load(page), hits(fd), handled);
    resume_at = r_out;
    r_load((long*)0x123456789abcdeful);
    say("not an address: signal %d code %d, pc at the probe %d, hits %lu", sig_no, sig_code, sig_pc == (uint64_t)r_load,
        hits(fd));
    close(fd);
}

static void on_mend(int s, siginfo_t* si, void* v) {
    (void)s, (void)v;
    handled++;
    mprotect((void*)((uint64_t)si->si_addr & ~(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE);
}

// The handler of the fault makes the access possible: the instruction is hit again, and counted again.
static void mended_fault(void) {
    struct sigaction sa = {.sa_sigaction = on_mend, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &sa, NULL);
    long* page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const int fd = probe(r_load, 0);
    handled = 0;
    say("value %ld, handled %d, hits %lu", r_load(page), handled, hits(fd));
}

// Instructions that trap by themselves; a probe on a BRK is refused with ENOTSUPP, which is no errno of user space's (cilium/ebpf#351).
static void traps(void) {
    catch_all();
    resume_at = r_out;
    int fd = probe(r_udf, 0);
    say("udf: %s", OK(fd));
    ((void (*)(void))r_udf)();
    say("udf: signal %d code %d, pc at the probe %d, hits %lu", sig_no, sig_code, sig_pc == (uint64_t)r_udf, hits(fd));
    say("brk #0x123: %s", OK(probe(r_brk, 0)));
    say("svc: %s", OK(probe(r_svc, 0)));
    sig_no = 0;
    ((void (*)(void))r_brk)();
    say("the brk itself: signal %d code %d, pc there %d", sig_no, sig_code, sig_pc == (uint64_t)r_brk);
    say("literal into a vector register: %s", OK(probe(r_lit, 0)));
}

// A signal that comes while an instruction is in its slot waits.
static void signals(void) {
    catch_all();
    resume_at = NULL;
    const int fd = probe(r_spin, 0);
    struct itimerval t = {{0, 300}, {0, 300}};
    handled = 0;
    setitimer(ITIMER_REAL, &t, NULL);
    r_spin(3000);
    memset(&t, 0, sizeof t);
    setitimer(ITIMER_REAL, &t, NULL);
    say("hits %lu, some signals %d", hits(fd), handled > 0);
}

static volatile pid_t child;
static int closing;
long do_fork(long n) {
    if (n == 2) close(closing);
    child = 1;
    if (n == 0) child = fork();
    if (n == 1) child = vfork();
    if (child == 0 && n == 1) _exit(7);
    return child == 0 ? 5 : 6;
}

// Calls under way in a forked child return through its own trampoline.
static void forks(void) {
    const int fd = probe(r_forks, 1);
    const long r = r_forks(0);
    if (child == 0) _exit(r == 5 ? 0 : 1);
    int s;
    waitpid(child, &s, 0);
    say("fork inside a probed call: parent %ld, child %s, returns %lu", r, status_text(s), hits(fd));
    const long v = r_forks(1);
    waitpid(child, &s, 0);
    say("vfork: parent %ld, child %s, returns %lu", v, status_text(s), hits(fd));
}

static void probe_goes(void) {
    closing = probe(r_forks, 1);
    const long r = r_forks(2);
    say("closed while inside: result %ld", r);
    const int again = probe(r_forks, 1);
    r_forks(3);
    say("opened anew: returns %lu", hits(again));
}

static void* runner(void* p) {
    long n = 0;
    for (int i = 0; i < 500; i++) n += r_leaf(i, 1);
    *(long*)p = n;
    return NULL;
}

static void threads(void) {
    enum { kThreads = 16 };
    pthread_t t[kThreads];
    long sum[kThreads], all;
    for (int ret = 0; ret < 2; ret++) {
        const int fd = probe(r_leaf, ret);
        all = 0;
        for (int i = 0; i < kThreads; i++) pthread_create(&t[i], NULL, runner, &sum[i]);
        for (int i = 0; i < kThreads; i++) pthread_join(t[i], NULL), all += sum[i];
        // Linux itself is one off now and then, when threads' contexts change places.
        const uint64_t n = hits(fd);
        say("sum %ld, %s of all %d", all, ret ? "returns" : "hits", n - 7999 <= 2);
        close(fd);
    }
}

// Mappings of the program's file made after the probe, and what they hold.
static void mappings(void) {
    const int fd = probe(r_leaf, 0);
    const int self = open("/proc/self/exe", O_RDONLY);
    const uint64_t off = file_offset(r_leaf), in = off & (PAGE - 1);
    uint32_t word, want;
    memcpy(&want, r_leaf, 4);
    say("in the text: %s", want == 0xd42000a0 ? "the breakpoint" : "the instruction");
    struct {
        const char* name;
        int prot, flags;
    } m[] = {{"private, executable", PROT_READ | PROT_EXEC, MAP_PRIVATE},
             {"private, read only", PROT_READ, MAP_PRIVATE},
             {"private, writable", PROT_READ | PROT_WRITE, MAP_PRIVATE},
             {"shared", PROT_READ | PROT_EXEC, MAP_SHARED}};
    for (size_t i = 0; i < 4; i++) {
        char* p = mmap(NULL, PAGE, m[i].prot, m[i].flags, self, (off_t)(off & ~(PAGE - 1)));
        memcpy(&word, p + in, 4);
        say("%s: %s", m[i].name, word == 0xd42000a0 ? "the breakpoint" : "the instruction");
        if (i == 0) {
            const uint64_t before = hits(fd);
            say("executed there: %ld, hits %lu", ((long (*)(long, long))(p + in))(3, 4), hits(fd) - before);
            char* q = mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, p + 16 * PAGE);
            say("moved: %ld, hits %lu", ((long (*)(long, long))(q + in))(3, 4), hits(fd) - before);
            mprotect(q, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
            memcpy(&word, q + in, 4);
            say("made writable: %s", word == 0xd42000a0 ? "the breakpoint" : "the instruction");
            say("hit there: %ld, hits %lu", ((long (*)(long, long))(q + in))(3, 4), hits(fd) - before);
            munmap(q, PAGE);
        }
    }
    ssize_t n = pread(self, &word, 4, (off_t)off);
    say("read from the file: %s", n == 4 && word == 0xd42000a0 ? "the breakpoint" : "the instruction");
    close(fd);
    memcpy(&word, r_leaf, 4);
    say("afterwards: %s", word == 0xd42000a0 ? "the breakpoint" : "the instruction");
}

// A probe of the whole system finds programs that start later.
static void whole_system(void) {
    const int fd = probe_file("/proc/self/exe", file_offset(r_leaf), 0, -1, 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
    r_leaf(1, 2);
    pid_t p = fork();
    if (p == 0) {
        execl("/proc/self/exe", "upr_run", "leaf", NULL);
        _exit(1);
    }
    int s;
    waitpid(p, &s, 0);
    say("child %s, hits %lu", status_text(s), hits(fd));
}

// A thousand nested calls and then the way back: 64 are followed.
static long deep(long n) __attribute__((noinline, noclone));
static long (*volatile deeper)(long) = deep;
static long deep(long n) { return n ? deeper(n - 1) + 1 : 0; }
static void nesting(void) {
    const int fd = probe((void*)deep, 1);
    const long r = deep(1000);
    say("result %ld, returns %lu", r, hits(fd));
    deep(10);
    say("afterwards %lu", hits(fd));
}

int main(int argc, char** argv) {
    (void)cell;
    if (argc > 1 && !strcmp(argv[1], "leaf")) return r_leaf(2, 3) == 5 ? 0 : 1;
    in_child("fault in a slot", fault_in_slot);
    in_child("mended fault", mended_fault);
    in_child("traps", traps);
    in_child("signals", signals);
    in_child("forks", forks);
    in_child("probe goes", probe_goes);
    in_child("threads", threads);
    in_child("mappings", mappings);
    in_child("whole system", whole_system);
    in_child("nesting", nesting);
    return 0;
}

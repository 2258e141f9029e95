// SPDX-License-Identifier: Apache-2.0
// A debugger's steps and hardware breakpoints, alone and together with perf's: which instructions stop, in which order.
// After rr-debugger/rr#4100 (a step is lost after a stop at a breakpoint of perf's) and rr#2593 (watchpoints that are not
// aligned).
#include "os_guest.h"

#include <elf.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#ifndef NT_ARM_HW_BREAK
#define NT_ARM_HW_BREAK 0x402
#define NT_ARM_HW_WATCH 0x403
#endif

static unsigned char area[64] __attribute__((aligned(64)));

// Numbered by instruction: 0, 1, 2 ...
void code(unsigned char* at);
__asm__(
    ".text\n.balign 64\n.global code\n"
    "code: mov x1, #3\n"      // 0
    "1: nop\n"                // 1
    "subs x1, x1, #1\n"       // 2
    "b.ne 1b\n"               // 3
    "str x1, [x0]\n"          // 4
    "strb w1, [x0, #3]\n"     // 5
    "strh w1, [x0, #6]\n"     // 6
    "ldr w2, [x0, #4]\n"      // 7
    "stp x1, x2, [x0, #16]\n" // 8
    "str q0, [x0, #24]\n"     // 9
    "mov x8, #172\n"          // 10
    "svc #0\n"                // 11
    "mov x2, #1\n"            // 12
    "ret\n");                 // 13

struct hw_state {
    uint32_t info, pad;
    struct {
        uint64_t addr;
        uint32_t ctrl, pad;
    } slot[16];
};

static int at_code(uint64_t pc) {
    return pc >= (uint64_t)code && pc < (uint64_t)code + 56 ? (int)(pc - (uint64_t)code) / 4 : -1;
}

static uint64_t pc_of(pid_t p) {
    struct user_regs_struct r;
    struct iovec io = {&r, sizeof r};
    return ptrace(PTRACE_GETREGSET, p, (void*)NT_PRSTATUS, &io) ? 0 : r.pc;
}

static long set_hw(pid_t p, int note, uint64_t addr, unsigned mask, unsigned type, int on) {
    struct hw_state s;
    struct iovec io = {&s, 24};
    memset(&s, 0, sizeof s);
    s.slot[0].addr = addr;
    s.slot[0].ctrl = mask << 5 | type << 3 | 2 << 1 | (unsigned)on;
    return ptrace(PTRACE_SETREGSET, p, (void*)(long)note, &io) ? -errno : 0;
}

static pid_t tracee(void) {
    pid_t p = fork();
    int s;
    if (!p) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        code(area);
        _exit(5);
    }
    if (waitpid(p, &s, 0) != p || !WIFSTOPPED(s)) say("no stop");
    return p;
}

// Runs to the first instruction of code.
static void run_to_code(pid_t p) {
    int s;
    set_hw(p, NT_ARM_HW_BREAK, (uint64_t)code, 15, 0, 1);
    ptrace(PTRACE_CONT, p, 0, 0);
    waitpid(p, &s, 0);
    if (at_code(pc_of(p)) != 0) say("not at the code: %d", at_code(pc_of(p)));
    set_hw(p, NT_ARM_HW_BREAK, (uint64_t)code, 15, 0, 0);
}

// One stop as " pc/code", or its end. The address of a watchpoint is left out: cores report it differently.
static int stop(pid_t p, char* b) {
    siginfo_t si;
    int s;
    if (waitpid(p, &s, __WALL) != p) return sprintf(b, " no wait"), -1;
    if (!WIFSTOPPED(s)) return sprintf(b, " %s", status_text(s)), -1;
    memset(&si, 0, sizeof si);
    ptrace(PTRACE_GETSIGINFO, p, 0, &si);
    int at = at_code(pc_of(p));
    int n = sprintf(b, " %d", at);
    if (WSTOPSIG(s) != SIGTRAP)
        sprintf(b + n, "/signal %d", WSTOPSIG(s));
    else if (si.si_code != TRAP_TRACE)
        sprintf(b + n, "/code %d", si.si_code);
    return at;
}

static int perf_break(pid_t p, uint64_t addr, int type, int len) {
    struct perf_event_attr a = {.type = PERF_TYPE_BREAKPOINT,
                                .size = sizeof a,
                                .bp_type = type,
                                .bp_addr = addr,
                                .bp_len = len,
                                .exclude_kernel = 1,
                                .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &a, p, -1, -1, 0);
}
static long count_of(int fd) {
    long n = -1;
    return read(fd, &n, sizeof n) == sizeof n ? n : -1;
}

static void steps(const char* name, pid_t p, int max) {
    char line[1024], b[96];
    int n = 0, at = 0;
    line[0] = 0;
    while (n < max && at >= 0) {
        ptrace(PTRACE_SINGLESTEP, p, 0, 0);
        at = stop(p, b);
        strcat(line, b);
        n++;
    }
    say("%s: %d steps:%s", name, n, line);
    int s;
    kill(p, SIGKILL);
    while (waitpid(p, &s, __WALL) == p && WIFSTOPPED(s)) {
    }
}

static void plain(void) {
    pid_t p = tracee();
    run_to_code(p);
    steps("plain", p, 40);
}

static void over_perf(void) {
    // perf steps over its own breakpoint by the same means.
    pid_t p = tracee();
    run_to_code(p);
    int fd = perf_break(p, (uint64_t)code + 8, HW_BREAKPOINT_X, 8);
    steps("over a breakpoint of perf's", p, 40);
    say("hits: %ld", count_of(fd));
    close(fd);

    p = tracee();
    run_to_code(p);
    fd = perf_break(p, (uint64_t)area, HW_BREAKPOINT_W, 8);
    steps("over a watchpoint of perf's", p, 40);
    say("hits: %ld", count_of(fd));
    close(fd);

    // Every instruction of the loop, stepped from a breakpoint of the debugger's.
    p = tracee();
    run_to_code(p);
    fd = perf_break(p, (uint64_t)code + 4, HW_BREAKPOINT_X, 8);
    int fd2 = perf_break(p, (uint64_t)code + 8, HW_BREAKPOINT_X, 8);
    steps("two in a row", p, 40);
    say("hits: %ld %ld", count_of(fd), count_of(fd2));
    close(fd);
    close(fd2);
}

static void continue_then_step(void) {
    // A stop at a breakpoint, a continue past perf's, and a step again.
    pid_t p = tracee();
    char b[96];
    run_to_code(p);
    int fd = perf_break(p, (uint64_t)code + 16, HW_BREAKPOINT_X, 8);
    set_hw(p, NT_ARM_HW_BREAK, (uint64_t)code + 20, 15, 0, 1);
    ptrace(PTRACE_CONT, p, 0, 0);
    stop(p, b);
    say("stop:%s, hits %ld", b, count_of(fd));
    set_hw(p, NT_ARM_HW_BREAK, (uint64_t)code + 20, 15, 0, 0);
    steps("then", p, 3);
    close(fd);
}

static void watch(int offset, unsigned mask, unsigned type) {
    pid_t p = tracee();
    char line[1024], b[96];
    run_to_code(p);
    long r = set_hw(p, NT_ARM_HW_WATCH, (uint64_t)area + (unsigned)offset, mask, type, 1);
    line[0] = 0;
    for (int n = 0; !r && n < 20; n++) {
        ptrace(PTRACE_CONT, p, 0, 0);
        int at = stop(p, b);
        strcat(line, b);
        if (at < 0) break;
        // Past it: off, one step, on.
        set_hw(p, NT_ARM_HW_WATCH, (uint64_t)area + (unsigned)offset, mask, type, 0);
        ptrace(PTRACE_SINGLESTEP, p, 0, 0);
        if (stop(p, b) < 0) {
            strcat(line, b);
            break;
        }
        set_hw(p, NT_ARM_HW_WATCH, (uint64_t)area + (unsigned)offset, mask, type, 1);
    }
    say("watch area+%d mask %#x type %u: %s%s", offset, mask, type, r ? strerrorname_np((int)-r) : "ok", line);
    int s;
    kill(p, SIGKILL);
    while (waitpid(p, &s, __WALL) == p && WIFSTOPPED(s)) {
    }
}

static void alignment(void) {
    static const struct {
        int offset;
        unsigned mask;
    } kCases[] = {{0, 0xff}, {0, 0xf0}, {0, 0x10}, {0, 0x80}, {0, 0x3c},  {4, 0x0f},  {3, 0x01},  {3, 0x03},
                  {5, 0x07}, {7, 0x01}, {7, 0x03}, {8, 0x01}, {24, 0xff}, {32, 0x01}, {39, 0x01}, {40, 0xff}};
    for (size_t i = 0; i < sizeof kCases / sizeof *kCases; i++) watch(kCases[i].offset, kCases[i].mask, 2);
    watch(0, 0xf0, 1);
    watch(4, 0x0f, 3);
}

static volatile int handled;
static void on_usr1(int s) {
    (void)s;
    handled = 1;
}
// The tracer gets a stop at the first instruction of the handler [DBG-075].
static void into_handler(void) {
    int s;
    signal(SIGUSR1, on_usr1);
    pid_t p = tracee();
    run_to_code(p);
    ptrace(PTRACE_SINGLESTEP, p, 0, SIGUSR1);
    waitpid(p, &s, 0);
    say("step with a signal: at the handler %d", pc_of(p) == (uint64_t)on_usr1);
    int n = 0;
    while (n < 100 && at_code(pc_of(p)) < 0) {
        ptrace(PTRACE_SINGLESTEP, p, 0, 0);
        waitpid(p, &s, 0);
        n++;
    }
    say("back at %d", at_code(pc_of(p)));
    steps("then", p, 3);
}

static void through_exec_free(void) {
    // Breakpoints of the debugger's are not inherited by a child.
    pid_t p = fork();
    int s;
    if (!p) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        pid_t c = fork();
        if (!c) {
            code(area);
            _exit(9);
        }
        waitpid(c, &s, 0);
        _exit(WIFEXITED(s) ? WEXITSTATUS(s) : 1);
    }
    waitpid(p, &s, 0);
    set_hw(p, NT_ARM_HW_BREAK, (uint64_t)code, 15, 0, 1);
    for (;;) {
        ptrace(PTRACE_CONT, p, 0, 0);
        if (waitpid(p, &s, 0) != p || !WIFSTOPPED(s)) break;
        if (WSTOPSIG(s) != SIGCHLD) say("stop %d", WSTOPSIG(s));
    }
    say("a child of the tracee: %s", status_text(s));
}

int main(void) {
    plain();
    over_perf();
    continue_then_step();
    alignment();
    into_handler();
    through_exec_free();
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// PTRACE_SYSEMU as record-and-replay debuggers use it: whether a call is made is settled by how the task came to its entry
// stop. And the end of a tracer whose task stands at such a stop.
#include "os_guest.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

enum { SYSEMU = 31 };

static struct user_regs_struct regs_of(pid_t p) {
    struct user_regs_struct r;
    struct iovec io = {&r, sizeof r};
    memset(&r, 0, sizeof r);
    ptrace(PTRACE_GETREGSET, p, NT_PRSTATUS, &io);
    return r;
}

static void set_regs(pid_t p, struct user_regs_struct* r) {
    struct iovec io = {r, sizeof *r};
    ptrace(PTRACE_SETREGSET, p, NT_PRSTATUS, &io);
}

// Lets the task go on and says where it stops next; x7 is 0 at an entry, 1 at an exit.
static void go(const char* what, pid_t p, int request) {
    int s = 0;
    ptrace(request, p, 0, 0);
    if (waitpid(p, &s, __WALL) != p || !WIFSTOPPED(s)) {
        say("%s: %s", what, status_text(s));
        return;
    }
    const struct user_regs_struct r = regs_of(p);
    const long x0 = r.regs[0];
    const char* result = x0 == p ? "the pid" : x0 == -ENOSYS ? "ENOSYS" : x0 == 0 ? "0" : "other";
    say("%s: stop %#x, call %llu, x7 %llu, x0 %s", what, s >> 8, r.regs[8], r.regs[7], result);
}

static pid_t traced(void (*fn)(void)) {
    const pid_t p = fork();
    int s;
    if (!p) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        fn();
        _exit(7);
    }
    waitpid(p, &s, 0);
    ptrace(PTRACE_SETOPTIONS, p, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
    return p;
}

// x0 is 0 and the calls' results stay in it.
static void three_calls(void) {
    register long x0 asm("x0") = 0;
    register long x7 asm("x7") = 0;
    register long x8 asm("x8") = SYS_getpid;
    asm volatile("svc #0\n mov x0, #0\n svc #0\n mov x0, #0\n svc #0" : "+r"(x0), "+r"(x7) : "r"(x8) : "memory");
}

static char self[256];
static void execute(void) {
    char* argv[] = {self, "exec", NULL};
    register long x0 asm("x0") = (long)self;
    register long x1 asm("x1") = (long)argv;
    register long x2 asm("x2") = 0;
    register long x7 asm("x7") = 0;
    register long x8 asm("x8") = SYS_execve;
    asm volatile("svc #0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x7), "r"(x8) : "memory");
}

// The first stop may be the end of the call that sent the SIGSTOP: on to the entry of `nr`.
static void to_call(pid_t p, int request, unsigned long nr) {
    int s;
    do {
        ptrace(request, p, 0, 0);
        if (waitpid(p, &s, __WALL) != p || !WIFSTOPPED(s)) return;
    } while (regs_of(p).regs[8] != nr);
}

static void ways(void) {
    pid_t p = traced(three_calls);
    to_call(p, SYSEMU, SYS_getpid);
    go("emulated, on with SYSEMU: the next entry", p, SYSEMU);
    go("emulated, on with SYSCALL: its exit", p, PTRACE_SYSCALL);
    go("on with SYSCALL: the next entry", p, PTRACE_SYSCALL);
    go("not emulated, on with SYSCALL: its exit", p, PTRACE_SYSCALL);
    go("on with CONT: the end", p, PTRACE_CONT);

    p = traced(three_calls);
    to_call(p, PTRACE_SYSCALL, SYS_getpid);
    go("SYSEMU at a true call's entry: the next entry", p, SYSEMU);
    struct user_regs_struct r = regs_of(p);
    r.regs[0] = p;
    set_regs(p, &r);
    go("a result for the emulated call: its exit", p, PTRACE_SYSCALL);
    go("on with SYSEMU: the next entry", p, SYSEMU);
    go("emulated, on with CONT: the end", p, PTRACE_CONT);
}

// A replayer makes the task do a call after all: back to the SVC, and this time it is let through.
static void again(void) {
    const pid_t p = traced(execute);
    to_call(p, SYSEMU, SYS_execve);
    const unsigned long x0 = regs_of(p).regs[0];
    go("exec emulated: its exit", p, PTRACE_SYSCALL);
    struct user_regs_struct r = regs_of(p);
    r.pc -= 4;
    r.regs[0] = x0;
    set_regs(p, &r);
    go("again: entry", p, PTRACE_SYSCALL);
    go("done: event", p, PTRACE_SYSCALL);
    go("done: exit", p, PTRACE_SYSCALL);
    go("end", p, PTRACE_CONT);
}

// The tracer ends while the task stands at a call of which nobody has been told.
static void deserted(const char* what, long options) {
    const pid_t p = fork();
    if (!p) {
        for (int i = 0; i < 200; ++i) {
            getppid();
            usleep(500);
        }
        _exit(12);
    }
    const pid_t tracer = fork();
    if (!tracer) {
        int s;
        ptrace(PTRACE_SEIZE, p, 0, options);
        ptrace(PTRACE_INTERRUPT, p, 0, 0);
        waitpid(p, &s, __WALL);
        ptrace(PTRACE_SYSCALL, p, 0, 0);
        usleep(20000);
        _exit(0);
    }
    int s;
    waitpid(tracer, &s, 0);
    waitpid(p, &s, 0);
    say("deserted %s: %s", what, status_text(s));
}

int main(int argc, char** argv) {
    if (argc > 1 && !strcmp(argv[1], "exec")) return 21;
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) self[n] = 0;
    ways();
    again();
    deserted("with sysgood", PTRACE_O_TRACESYSGOOD);
    deserted("without", 0);
    return 0;
}

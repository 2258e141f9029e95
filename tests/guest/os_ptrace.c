// SPDX-License-Identifier: Apache-2.0
// ptrace: attaching, stops, events, requests, group stop, waiting, memory of other tasks.
#include "os_guest.h"

#include <elf.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif
#ifndef NT_ARM_TLS
#define NT_ARM_TLS 0x401
#endif

static char self[256];

static long pt(long request, pid_t pid, long addr, long data) {
    long r = syscall(SYS_ptrace, request, pid, addr, data);
    return r < 0 ? -errno : r;
}

static const char* err(long r) {
    static char b[4][32];
    static int k;
    if (r >= 0) return "ok";
    char* t = b[k = (k + 1) & 3];
    snprintf(t, 32, "%s", strerrorname_np((int)-r));
    return t;
}

// A wait status, with the event and what siginfo tells.
static const char* stop_text(pid_t p, int s) {
    static char b[160];
    siginfo_t si;
    if (!WIFSTOPPED(s)) return status_text(s);
    int n = snprintf(b, sizeof b, "stop %d", WSTOPSIG(s));
    if (s >> 16) n += snprintf(b + n, sizeof b - n, " event %d", s >> 16);
    memset(&si, 0, sizeof si);
    long r = pt(PTRACE_GETSIGINFO, p, 0, (long)&si);
    if (r)
        snprintf(b + n, sizeof b - n, " siginfo %s", err(r));
    else
        snprintf(b + n, sizeof b - n, " signo %d code %d", si.si_signo, si.si_code);
    return b;
}

static int wait_for(const char* what, pid_t p) {
    int s = 0;
    pid_t r = waitpid(p, &s, __WALL);
    if (r < 0)
        say("%s: wait %s", what, strerrorname_np(errno));
    else
        say("%s: %s", what, stop_text(r, s));
    return s;
}

static pid_t traced(void (*fn)(void)) {
    pid_t p = fork();
    int s;
    if (!p) {
        pt(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        fn();
        _exit(7);
    }
    if (waitpid(p, &s, 0) != p || !WIFSTOPPED(s)) say("no first stop: %#x", s);
    return p;
}

static void end(pid_t p) {
    int s = 0;
    kill(p, SIGKILL);
    while (waitpid(p, &s, __WALL) == p && !WIFEXITED(s) && !WIFSIGNALED(s)) {
    }
}

static void nothing(void) {}
static volatile long cell = 42;

static struct user_regs_struct regs_of(pid_t p) {
    struct user_regs_struct r;
    struct iovec io = {&r, sizeof r};
    memset(&r, 0, sizeof r);
    pt(PTRACE_GETREGSET, p, NT_PRSTATUS, (long)&io);
    return r;
}

// --- refusals ---
static void refusals(void) {
    say("attach to nobody: %s", err(pt(PTRACE_ATTACH, 99999, 0, 0)));
    say("attach to myself: %s", err(pt(PTRACE_ATTACH, getpid(), 0, 0)));
    say("cont somebody: %s", err(pt(PTRACE_CONT, getppid(), 0, 0)));
    pid_t p = traced(nothing);
    say("attach twice: %s", err(pt(PTRACE_ATTACH, p, 0, 0)));
    say("seize twice: %s", err(pt(PTRACE_SEIZE, p, 0, 0)));
    say("seize with addr: %s", err(pt(PTRACE_SEIZE, p, 1, 0)));
    say("seize with bad options: %s", err(pt(PTRACE_SEIZE, p, 0, 1l << 40)));
    say("bad options: %s", err(pt(PTRACE_SETOPTIONS, p, 0, 0x4000)));
    say("unknown request: %s", err(pt(0x4300, p, 0, 0)));
    say("getregs: %s", err(pt(12, p, 0, 0)));
    say("cont with signal 65: %s", err(pt(PTRACE_CONT, p, 0, 65)));
    say("interrupt unseized: %s", err(pt(PTRACE_INTERRUPT, p, 0, 0)));
    say("listen unseized: %s", err(pt(PTRACE_LISTEN, p, 0, 0)));
    say("detach with signal 100: %s", err(pt(PTRACE_DETACH, p, 0, 100)));
    say("peek at 0: %s", err(pt(PTRACE_PEEKDATA, p, 0, (long)&cell)));
    struct user_regs_struct r;
    struct iovec io = {&r, sizeof r};
    say("unknown regset: %s", err(pt(PTRACE_GETREGSET, p, 0x999, (long)&io)));
    io.iov_len = 12;
    say("regset of 12 bytes: %s", err(pt(PTRACE_GETREGSET, p, NT_PRSTATUS, (long)&io)));
    io.iov_len = 5000;
    say("regset of 5000 bytes: %s, %zu", err(pt(PTRACE_GETREGSET, p, NT_PRSTATUS, (long)&io)), io.iov_len);
    say("regset, bad iovec: %s", err(pt(PTRACE_GETREGSET, p, NT_PRSTATUS, 8)));
    say("sigmask of 4 bytes: %s", err(pt(PTRACE_GETSIGMASK, p, 4, (long)&cell)));
    cell = 42;
    pt(PTRACE_CONT, p, 0, 0);
    wait_for("end", p);
    say("cont the dead: %s", err(pt(PTRACE_CONT, p, 0, 0)));
    // Somebody else may not.
    p = traced(nothing);
    pid_t q = fork();
    if (!q) {
        say("from another process: %s", err(pt(PTRACE_CONT, p, 0, 0)));
        _exit(0);
    }
    waitpid(q, NULL, 0);
    end(p);
    p = fork();
    if (!p) {
        say("traceme: %s", err(pt(PTRACE_TRACEME, 0, 0, 0)));
        say("traceme again: %s", err(pt(PTRACE_TRACEME, 0, 0, 0)));
        _exit(0);
    }
    wait_for("after traceme", p);
}

// --- permission ---
static void permission(void) {
    pid_t victim = fork();
    if (!victim) {
        pause();
        _exit(0);
    }
    pid_t p = fork();
    if (!p) {
        struct iovec l = {(void*)&cell, 8}, r = {(void*)&cell, 8};
        setgid(1000);
        setuid(1000);
        say("attach as user to root: %s", err(pt(PTRACE_ATTACH, victim, 0, 0)));
        say("readv as user from root: %s",
            process_vm_readv(victim, &l, 1, &r, 1, 0) < 0 ? strerrorname_np(errno) : "ok");
        pid_t c = fork();
        if (!c) {
            pause();
            _exit(0);
        }
        say("attach to own child, not dumpable: %s", err(pt(PTRACE_ATTACH, c, 0, 0)));
        kill(c, SIGKILL);
        waitpid(c, NULL, __WALL);
        prctl(PR_SET_DUMPABLE, 1);
        c = fork();
        if (!c) {
            pause();
            _exit(0);
        }
        say("attach to own child: %s", err(pt(PTRACE_ATTACH, c, 0, 0)));
        kill(c, SIGKILL);
        waitpid(c, NULL, __WALL);
        _exit(0);
    }
    waitpid(p, NULL, 0);
    end(victim);
}

// --- memory and registers ---
static const char text[16] __attribute__((aligned(16))) = "read only text";

static long __attribute__((noinline)) value_of(void) {
    register long x asm("x0") = 5;
    asm volatile(".global patch_here\npatch_here: add %0, %0, #1" : "+r"(x));
    return x;
}
extern char patch_here[];

static void call_value(void) {
    for (int i = 0; i < 3; i++) {
        long v = value_of();
        kill(getpid(), SIGUSR1);
        cell = v;
    }
    _exit((int)value_of());
}

static void memory(void) {
    long v = 0;
    pid_t p = traced(call_value);
    say("peek: %s %ld", err(pt(PTRACE_PEEKDATA, p, (long)&cell, (long)&v)), v);
    say("poke: %s", err(pt(PTRACE_POKEDATA, p, (long)&cell, 1234)));
    pt(PTRACE_PEEKTEXT, p, (long)&cell, (long)&v);
    say("reads back: %ld, mine is %ld", v, cell);
    pt(PTRACE_PEEKDATA, p, (long)text, (long)&v);
    say("peek read-only: %.8s", (char*)&v);
    memcpy(&v, "WRITTEN!", 8);
    say("poke read-only: %s", err(pt(PTRACE_POKEDATA, p, (long)text, v)));
    v = 0;
    pt(PTRACE_PEEKDATA, p, (long)text, (long)&v);
    say("reads back: %.8s, mine is %.9s", (char*)&v, text);
    say("peek unaligned: %s", err(pt(PTRACE_PEEKDATA, p, (long)text + 3, (long)&v)));
    // Code that has run already is changed.
    pt(PTRACE_CONT, p, 0, 0);
    wait_for("first", p);
    v = 0;
    pt(PTRACE_PEEKTEXT, p, (long)patch_here, (long)&v);
    long old = v;
    v = (v & ~0xffffffffl) | 0x91002800; // add x0, x0, #10
    if (((old & 31) != 0)) v |= (old & 31) | (old & 31) << 5;
    say("poke code: %s", err(pt(PTRACE_POKETEXT, p, (long)patch_here, v)));
    pt(PTRACE_CONT, p, 0, 0);
    wait_for("second", p);
    pt(PTRACE_PEEKDATA, p, (long)&cell, (long)&v);
    say("cell after the first value: %ld", v);
    pt(PTRACE_CONT, p, 0, 0);
    wait_for("third", p);
    pt(PTRACE_PEEKDATA, p, (long)&cell, (long)&v);
    say("cell after the second value: %ld", v);
    pt(PTRACE_CONT, p, 0, 0);
    wait_for("end", p);

    p = traced(nothing);
    struct user_regs_struct r = regs_of(p);
    say("pstate: %llx", r.pstate & 0x0fffefff);
    struct iovec io = {&r, 16};
    r.regs[0] = 11, r.regs[1] = 22;
    say("set two registers: %s", err(pt(PTRACE_SETREGSET, p, NT_PRSTATUS, (long)&io)));
    r = regs_of(p);
    say("x0 %llu x1 %llu", r.regs[0], r.regs[1]);
    r.pstate = 5;
    io.iov_len = sizeof r;
    say("set EL1: %s", err(pt(PTRACE_SETREGSET, p, NT_PRSTATUS, (long)&io)));
    r.pstate = 0xa0000000;
    say("set flags: %s, %llx", err(pt(PTRACE_SETREGSET, p, NT_PRSTATUS, (long)&io)), regs_of(p).pstate & 0xf0000000);
    struct user_fpsimd_struct f;
    io.iov_base = &f, io.iov_len = sizeof f;
    say("fpregs: %s, %zu", err(pt(PTRACE_GETREGSET, p, NT_PRFPREG, (long)&io)), io.iov_len);
    f.vregs[3] = 77;
    pt(PTRACE_SETREGSET, p, NT_PRFPREG, (long)&io);
    memset(&f, 0, sizeof f);
    pt(PTRACE_GETREGSET, p, NT_PRFPREG, (long)&io);
    say("v3: %d", (int)f.vregs[3]);
    unsigned long tls[4] = {1, 2, 3, 4};
    io.iov_base = tls, io.iov_len = sizeof tls;
    say("tls: %s, %zu bytes, second %lu", err(pt(PTRACE_GETREGSET, p, NT_ARM_TLS, (long)&io)), io.iov_len, tls[1]);
    int nr = 5;
    io.iov_base = &nr, io.iov_len = 4;
    say("system call: %s %d", err(pt(PTRACE_GETREGSET, p, NT_ARM_SYSTEM_CALL, (long)&io)), nr);
    end(p);
}

// --- system calls ---
static void some_calls(void) {
    syscall(SYS_getppid);
    long r = syscall(SYS_getpriority, 99, 0);
    r = syscall(SYS_getuid);
    _exit(r == 4711 ? 1 : 2);
}

static void syscalls(void) {
    pid_t p = traced(some_calls);
    struct __ptrace_syscall_info info;
    say("options: %s", err(pt(PTRACE_SETOPTIONS, p, 0, PTRACE_O_TRACESYSGOOD)));
    long n = pt(PTRACE_GET_SYSCALL_INFO, p, sizeof info, (long)&info);
    say("outside: %ld op %d arch %x", n, info.op, info.arch);
    for (int i = 0; i < 9; i++) {
        pt(PTRACE_SYSCALL, p, 0, 0);
        int s = 0;
        waitpid(p, &s, 0);
        if (!WIFSTOPPED(s)) {
            say("%d: %s", i, status_text(s));
            return;
        }
        memset(&info, 0, sizeof info);
        n = pt(PTRACE_GET_SYSCALL_INFO, p, sizeof info, (long)&info);
        struct user_regs_struct r = regs_of(p);
        unsigned long msg = 99;
        pt(PTRACE_GETEVENTMSG, p, 0, (long)&msg);
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
            say("%d: %s, size %ld, entry of %llu, x7 %llu, msg %lu, pc ok %d", i, stop_text(p, s), n, info.entry.nr,
                (unsigned long long)r.regs[7], msg, info.instruction_pointer == r.pc && info.stack_pointer == r.sp);
        else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
            say("%d: %s, size %ld, exit, error %d, x7 %llu, msg %lu, value ok %d", i, stop_text(p, s), n,
                info.exit.is_error, r.regs[7], msg, (unsigned long long)info.exit.rval == r.regs[0]);
        else
            say("%d: %s, op %d", i, stop_text(p, s), info.op);
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_getppid) {
            // Another call in its place.
            int nr = SYS_getpid;
            struct iovec io = {&nr, sizeof nr};
            say("change the number: %s", err(pt(PTRACE_SETREGSET, p, NT_ARM_SYSTEM_CALL, (long)&io)));
        }
        if (info.op == PTRACE_SYSCALL_INFO_EXIT && i == 1) say("getpid instead: %d", info.exit.rval == p);
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_getuid) {
            // No call at all, and a result of ours.
            int nr = -1;
            struct iovec io = {&nr, sizeof nr};
            pt(PTRACE_SETREGSET, p, NT_ARM_SYSTEM_CALL, (long)&io);
            r.regs[0] = 4711;
            io.iov_base = &r, io.iov_len = sizeof r;
            pt(PTRACE_SETREGSET, p, NT_PRSTATUS, (long)&io);
        }
    }
    end(p);
}

static void without_sysgood(void) {
    pid_t p = traced(some_calls);
    pt(PTRACE_SYSCALL, p, 0, 0);
    wait_for("plain", p);
    pt(31, p, 0, 0); // PTRACE_SYSEMU: lets this call go, stops at the next and does not make it
    wait_for("sysemu", p);
    struct user_regs_struct r = regs_of(p);
    say("call %llu", r.regs[8]);
    pt(PTRACE_CONT, p, 0, 0);
    wait_for("end", p);
}

// --- events ---
static void forks(void) {
    if (!fork()) _exit(3);
    wait(NULL);
    if (!vfork()) _exit(4);
    wait(NULL);
    char* argv[] = {self, "exec", NULL};
    execv(self, argv);
    _exit(99);
}

static void events(int seize) {
    pid_t p = traced(forks), kids[4];
    int n = 0, exits = 0;
    long options = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
                   PTRACE_O_TRACEEXIT | PTRACE_O_TRACEVFORKDONE | PTRACE_O_EXITKILL;
    if (seize) {
        pt(PTRACE_DETACH, p, 0, SIGSTOP);
        waitpid(p, NULL, WUNTRACED);
        say("seize: %s", err(pt(PTRACE_SEIZE, p, 0, options)));
        wait_for("seized", p);
        kill(p, SIGCONT);
    } else {
        say("options: %s", err(pt(PTRACE_SETOPTIONS, p, 0, options)));
    }
    pt(PTRACE_CONT, p, 0, 0);
    for (;;) {
        int s = 0;
        siginfo_t si;
        // Of several, the first child first: the order of the stops of two processes is not fixed.
        pid_t w = waitpid(n && n > exits ? kids[n - 1] : p, &s, __WALL);
        if (w < 0) {
            say("wait: %s", strerrorname_np(errno));
            break;
        }
        const char* who = w == p ? "parent" : "child";
        if (!WIFSTOPPED(s)) {
            say("%s: %s", who, status_text(s));
            if (w == p) break;
            exits++;
            continue;
        }
        unsigned long msg = 0;
        pt(PTRACE_GETEVENTMSG, w, 0, (long)&msg);
        int event = s >> 16;
        if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
            say("%s: %s", who, stop_text(w, s));
            kids[n++] = (pid_t)msg;
            pt(PTRACE_CONT, w, 0, 0);
            continue;
        }
        if (event == PTRACE_EVENT_VFORK_DONE)
            say("%s: %s, the child %d", who, stop_text(w, s), (pid_t)msg == kids[n - 1]);
        else if (event == PTRACE_EVENT_EXEC)
            say("%s: %s, old pid %d", who, stop_text(w, s), (pid_t)msg == p);
        else if (event == PTRACE_EVENT_EXIT)
            say("%s: %s, status %#lx", who, stop_text(w, s), msg);
        else
            say("%s: %s, msg %lu", who, stop_text(w, s), msg);
        memset(&si, 0, sizeof si);
        pt(PTRACE_GETSIGINFO, w, 0, (long)&si);
        int sig = event || WSTOPSIG(s) == SIGSTOP || WSTOPSIG(s) == SIGTRAP ? 0 : WSTOPSIG(s);
        pt(PTRACE_CONT, w, 0, sig);
    }
}
static void events_attached(void) { events(0); }
static void events_seized(void) { events(1); }

static void only_exec(void) {
    char* argv[] = {self, "exec", NULL};
    execv(self, argv);
}
static void exec_trap(void) {
    pid_t p = traced(only_exec);
    pt(PTRACE_CONT, p, 0, 0);
    wait_for("exec without the option", p);
    struct user_regs_struct r = regs_of(p);
    say("x0 %llu, sp aligned %d", r.regs[0], !(r.sp & 15));
    pt(PTRACE_CONT, p, 0, 0);
    wait_for("end", p);
}

// --- signals ---
static volatile int got;
static void on_signal(int s) { got = s; }
static void signal_self(void) {
    struct sigaction sa = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &sa, NULL);
    sigaction(SIGUSR2, &sa, NULL);
    kill(getpid(), SIGUSR1);
    int first = got;
    got = 0;
    kill(getpid(), SIGUSR1);
    int second = got;
    got = 0;
    kill(getpid(), SIGUSR1);
    _exit(first * 16 + (second ? 1 : 0) + (got == SIGUSR2 ? 2 : 0));
}

static void signals(void) {
    pid_t p = traced(signal_self);
    pt(PTRACE_CONT, p, 0, 0);
    wait_for("first", p);
    siginfo_t si;
    pt(PTRACE_GETSIGINFO, p, 0, (long)&si);
    say("from itself: %d", si.si_pid == p);
    pt(PTRACE_CONT, p, 0, SIGUSR1);
    wait_for("second", p);
    pt(PTRACE_CONT, p, 0, 0); // swallowed
    wait_for("third", p);
    pt(PTRACE_CONT, p, 0, SIGUSR2); // another one instead
    wait_for("end", p);
}

static void masks(void) {
    pid_t p = traced(nothing);
    unsigned long m = 0;
    say("mask: %s %lx", err(pt(PTRACE_GETSIGMASK, p, 8, (long)&m)), m);
    m = ~0ul;
    say("set: %s", err(pt(PTRACE_SETSIGMASK, p, 8, (long)&m)));
    m = 0;
    pt(PTRACE_GETSIGMASK, p, 8, (long)&m);
    say("mask: %lx", m);
    // Queued and peeked at.
    union sigval v = {.sival_int = 5};
    sigqueue(p, SIGRTMIN, v);
    v.sival_int = 6;
    sigqueue(p, SIGRTMIN + 1, v);
    siginfo_t si[4];
    struct __ptrace_peeksiginfo_args a = {0, PTRACE_PEEKSIGINFO_SHARED, 4};
    long n = pt(PTRACE_PEEKSIGINFO, p, (long)&a, (long)si);
    say("peek shared: %ld", n);
    for (long i = 0; i < n; i++)
        say("signal %d code %d value %d", si[i].si_signo, si[i].si_code, si[i].si_value.sival_int);
    a.off = 1;
    say("from 1: %ld", pt(PTRACE_PEEKSIGINFO, p, (long)&a, (long)si));
    a.flags = 0, a.off = 0;
    say("own: %ld", pt(PTRACE_PEEKSIGINFO, p, (long)&a, (long)si));
    a.nr = -1;
    say("minus one: %s", err(pt(PTRACE_PEEKSIGINFO, p, (long)&a, (long)si)));
    a.flags = 8;
    say("flags: %s", err(pt(PTRACE_PEEKSIGINFO, p, (long)&a, (long)si)));
    end(p);
}

// --- attach, seize, interrupt, group stop ---
static void spin(void) {
    for (;;) cell++;
}
static pid_t spinner(void) {
    pid_t p = fork();
    if (!p) spin();
    return p;
}
static char state_of(pid_t p) {
    char name[64], b[1024];
    snprintf(name, sizeof name, "/proc/%d/status", p);
    int fd = open(name, O_RDONLY);
    long n = read(fd, b, sizeof b - 1);
    close(fd);
    b[n > 0 ? n : 0] = 0;
    char* s = strstr(b, "State:\t");
    return s ? s[7] : '?';
}
static int tracer_of(pid_t p) {
    char name[64], b[1024];
    snprintf(name, sizeof name, "/proc/%d/status", p);
    int fd = open(name, O_RDONLY);
    long n = read(fd, b, sizeof b - 1);
    close(fd);
    b[n > 0 ? n : 0] = 0;
    char* s = strstr(b, "TracerPid:\t");
    return s ? atoi(s + 11) : -1;
}

static void attach(void) {
    pid_t p = spinner();
    say("attach: %s", err(pt(PTRACE_ATTACH, p, 0, 0)));
    wait_for("attached", p);
    say("state %c, tracer me %d", state_of(p), tracer_of(p) == getpid());
    pt(PTRACE_CONT, p, 0, 0);
    say("running: %s", err(pt(PTRACE_PEEKDATA, p, (long)&cell, (long)&cell)));
    kill(p, SIGUSR1);
    wait_for("signal", p);
    say("detach: %s", err(pt(PTRACE_DETACH, p, 0, 0)));
    say("tracer %d", tracer_of(p));
    end(p);

    // A task that is stopped already.
    p = spinner();
    kill(p, SIGSTOP);
    int s;
    waitpid(p, &s, WUNTRACED);
    say("stopped: %s, state %c", status_text(s), state_of(p));
    say("attach: %s, state %c", err(pt(PTRACE_ATTACH, p, 0, 0)), state_of(p));
    wait_for("attached", p);
    pt(PTRACE_CONT, p, 0, 0);
    wait_for("then", p);
    say("detach: %s", err(pt(PTRACE_DETACH, p, 0, 0)));
    end(p);
}

static void seize(void) {
    pid_t p = spinner();
    say("seize: %s", err(pt(PTRACE_SEIZE, p, 0, 0)));
    int s = 0;
    say("no stop: %d", waitpid(p, &s, WNOHANG | __WALL));
    say("interrupt: %s", err(pt(PTRACE_INTERRUPT, p, 0, 0)));
    wait_for("interrupted", p);
    pt(PTRACE_CONT, p, 0, 0);
    kill(p, SIGSTOP);
    wait_for("signal", p);
    pt(PTRACE_CONT, p, 0, SIGSTOP);
    wait_for("group stop", p);
    say("listen: %s", err(pt(PTRACE_LISTEN, p, 0, 0)));
    say("listening: %s, state %c", err(pt(PTRACE_CONT, p, 0, 0)), state_of(p));
    kill(p, SIGCONT);
    wait_for("continued", p);
    pt(PTRACE_CONT, p, 0, 0);
    wait_for("its signal", p);
    pt(PTRACE_CONT, p, 0, SIGCONT);
    pt(PTRACE_INTERRUPT, p, 0, 0);
    wait_for("interrupted", p);
    say("detach: %s", err(pt(PTRACE_DETACH, p, 0, 0)));
    end(p);
}

static void group_stop(void) {
    pid_t p = traced(spin);
    pt(PTRACE_CONT, p, 0, 0);
    kill(p, SIGTSTP);
    wait_for("signal", p);
    pt(PTRACE_CONT, p, 0, SIGSTOP);
    wait_for("group stop", p);
    kill(p, SIGCONT);
    pt(PTRACE_CONT, p, 0, 0);
    wait_for("signal", p);
    kill(p, SIGKILL);
    wait_for("killed", p);

    // Without a tracer: stopped, continued.
    p = spinner();
    int s;
    kill(p, SIGSTOP);
    say("stopped: %d %s", waitpid(p, &s, WUNTRACED) == p, status_text(s));
    say("once: %d", waitpid(p, &s, WUNTRACED | WNOHANG));
    kill(p, SIGCONT);
    say("continued: %d %s", waitpid(p, &s, WCONTINUED) == p, status_text(s));
    say("once: %d", waitpid(p, &s, WCONTINUED | WNOHANG));
    siginfo_t si;
    kill(p, SIGSTOP);
    waitid(P_PID, p, &si, WSTOPPED | WNOWAIT);
    say("waitid: code %d status %d", si.si_code, si.si_status);
    waitid(P_PID, p, &si, WSTOPPED);
    say("again: code %d status %d", si.si_code, si.si_status);
    say("attach: %s", err(pt(PTRACE_SEIZE, p, 0, 0)));
    memset(&si, 0, sizeof si);
    waitid(P_PID, p, &si, WSTOPPED);
    say("traced: code %d status %#x", si.si_code, si.si_status);
    end(p);
}

// --- who waits ---
static void* thread_main(void* arg) {
    (void)arg;
    syscall(SYS_exit, 5);
    return NULL;
}
static void with_thread(void) {
    static char stack[16384] __attribute__((aligned(16)));
    static int tid;
    clone((int (*)(void*))thread_main, stack + sizeof stack,
          CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_PARENT_SETTID |
              CLONE_CHILD_CLEARTID | CLONE_SYSVSEM,
          NULL, &tid, NULL, &tid);
    while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE) != 0) sched_yield();
    _exit(6);
}

static void threads(void) {
    pid_t p = traced(with_thread);
    pt(PTRACE_SETOPTIONS, p, 0, PTRACE_O_TRACECLONE);
    pt(PTRACE_CONT, p, 0, 0);
    wait_for("clone", p);
    unsigned long tid = 0;
    pt(PTRACE_GETEVENTMSG, p, 0, (long)&tid);
    int s = 0;
    pid_t w = waitpid((pid_t)tid, &s, __WALL);
    say("thread: %d %s", w == (pid_t)tid, stop_text(w, s));
    pt(PTRACE_CONT, w, 0, 0);
    w = waitpid((pid_t)tid, &s, __WALL);
    say("thread: %d %s", w == (pid_t)tid, status_text(s));
    pt(PTRACE_CONT, p, 0, 0);
    wait_for("end", p);
}

static void reparented(void) {
    // The tracer is not the parent: both see the end.
    int go[2];
    if (pipe(go)) return;
    pid_t p = fork();
    if (!p) {
        char c;
        if (read(go[0], &c, 1) != 1) _exit(9);
        _exit(8);
    }
    pid_t q = fork();
    if (!q) {
        say("attach: %s", err(pt(PTRACE_SEIZE, p, 0, 0)));
        if (write(go[1], "x", 1) != 1) _exit(1);
        wait_for("the tracer", p);
        _exit(0);
    }
    waitpid(q, NULL, 0);
    int s = 0;
    pid_t w = waitpid(p, &s, 0);
    say("the parent: %d %s", w == p, status_text(s));
}

static void tracer_ends(void) {
    pid_t p = spinner();
    for (int kill_it = 0; kill_it < 2; kill_it++) {
        pid_t q = fork();
        if (!q) {
            say("seize: %s", err(pt(PTRACE_SEIZE, p, 0, kill_it ? PTRACE_O_EXITKILL : 0)));
            pt(PTRACE_INTERRUPT, p, 0, 0);
            wait_for("interrupted", p);
            _exit(0);
        }
        waitpid(q, NULL, 0);
        int s = 0;
        if (!kill_it) say("lives: %d, tracer %d", waitpid(p, &s, WNOHANG), tracer_of(p));
        if (kill_it) say("%s", waitpid(p, &s, 0) == p ? status_text(s) : "nothing");
    }
}

static void interrupted_call(void) {
    int fds[2];
    if (pipe(fds)) return;
    pid_t p = fork();
    if (!p) {
        char c = 0;
        long n = read(fds[0], &c, 1);
        _exit(n == 1 ? c : 99);
    }
    while (state_of(p) != 'S') msleep(1);
    pt(PTRACE_SEIZE, p, 0, PTRACE_O_TRACESYSGOOD);
    pt(PTRACE_INTERRUPT, p, 0, 0);
    wait_for("interrupted", p);
    struct user_regs_struct r = regs_of(p);
    say("x0 is the descriptor: %d, x8 %llu", r.regs[0] == (unsigned long)fds[0], r.regs[8]);
    pt(PTRACE_SYSCALL, p, 0, 0);
    wait_for("made again", p);
    pt(PTRACE_CONT, p, 0, 0);
    if (write(fds[1], "A", 1) != 1) return;
    wait_for("end", p);
}

// --- memory of other processes ---
static void vm(void) {
    static char area[8192] __attribute__((aligned(4096)));
    pid_t p = fork();
    if (!p) {
        memset(area, 'c', sizeof area);
        munmap(area + 4096, 4096);
        raise(SIGSTOP);
        _exit(area[1]);
    }
    int s;
    waitpid(p, &s, WUNTRACED);
    char a[100] = "", b[100] = "";
    struct iovec l[2] = {{a, 3}, {b, 5}}, r[3] = {{area, 4}, {area + 10, 4}, {area + 4094, 8}};
    say("readv: %zd %s %s", process_vm_readv(p, l, 2, r, 2, 0), a, b);
    l[0].iov_len = 50;
    say("to the hole: %zd", process_vm_readv(p, l, 1, r + 2, 1, 0));
    r[0].iov_base = area + 5000;
    say("in the hole: %s", process_vm_readv(p, l, 1, r, 1, 0) < 0 ? strerrorname_np(errno) : "ok");
    say("flags: %s", process_vm_readv(p, l, 1, r, 1, 1) < 0 ? strerrorname_np(errno) : "ok");
    say("nobody: %s", process_vm_readv(99999, l, 1, r, 1, 0) < 0 ? strerrorname_np(errno) : "ok");
    say("nothing: %zd", process_vm_readv(99999, l, 0, r, 1, 0));
    say("1025 parts: %s", process_vm_readv(p, l, 1025, r, 1, 0) < 0 ? strerrorname_np(errno) : "ok");
    a[0] = 'X', l[0].iov_len = 1;
    r[0].iov_base = area + 1, r[0].iov_len = 1;
    say("writev: %zd", process_vm_writev(p, l, 1, r, 1, 0));
    r[0].iov_base = (void*)text;
    say("writev to text: %s", process_vm_writev(p, l, 1, r, 1, 0) < 0 ? strerrorname_np(errno) : "ok");
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/mem", p);
    int fd = open(name, O_RDWR);
    say("mem: read %zd, to the hole %zd, in it %s", pread(fd, a, 10, (long)area), pread(fd, a, 100, (long)area + 4090),
        pread(fd, a, 10, (long)area + 4100) < 0 ? strerrorname_np(errno) : "ok");
    say("mem: write to text %zd", pwrite(fd, "PQ", 2, (long)text));
    memset(a, 0, sizeof a);
    pread(fd, a, 4, (long)text);
    say("mem: text %s, mine %s", a, text);
    say("lseek: end %s", lseek(fd, 0, SEEK_END) < 0 ? strerrorname_np(errno) : "ok");
    kill(p, SIGCONT);
    waitpid(p, &s, 0);
    say("end: %s", status_text(s));
    say("mem of the dead: %zd", pread(fd, a, 10, (long)area));
    close(fd);
}

static const struct {
    const char* name;
    void (*fn)(void);
} kTests[] = {{"refusals", refusals},
              {"permission", permission},
              {"memory", memory},
              {"syscalls", syscalls},
              {"without_sysgood", without_sysgood},
              {"events_attached", events_attached},
              {"events_seized", events_seized},
              {"exec_trap", exec_trap},
              {"signals", signals},
              {"masks", masks},
              {"attach", attach},
              {"seize", seize},
              {"group_stop", group_stop},
              {"threads", threads},
              {"reparented", reparented},
              {"tracer_ends", tracer_ends},
              {"interrupted_call", interrupted_call},
              {"vm", vm}};

int main(int argc, char** argv) {
    if (argc > 1 && !strcmp(argv[1], "exec")) return 21;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) self[n] = 0;
    for (size_t i = 0; i < sizeof kTests / sizeof *kTests; i++) {
        if (argc > 1 && strcmp(argv[1], kTests[i].name)) continue;
        say("[%s]", kTests[i].name);
        kTests[i].fn();
    }
    return 0;
}

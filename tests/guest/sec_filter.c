// SPDX-License-Identifier: Apache-2.0
// seccomp: strict mode, filters, each action, what a tracer sees, threads, what is refused.
#include "os_guest.h"

#include <elf.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define NR_OFFSET 0
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define RET(value) BPF_STMT(BPF_RET | BPF_K, value)
#define ON(nr, value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), RET(value)
#define SIZE(a) (sizeof(a) / sizeof *(a))

static int install(struct sock_filter* f, unsigned n, unsigned flags) {
    struct sock_fprog p = {n, f};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p);
}
#define INSTALL(f) install(f, SIZE(f), 0)

static void show(const char* what, long r) {
    if (r == -1)
        say("%s: %s", what, strerrorname_np(errno));
    else
        say("%s: %ld", what, r);
}

// Runs `body` in a child and says how it ended.
static void child(const char* what, void (*body)(void)) {
    fflush(stdout);
    const pid_t pid = fork();
    if (!pid) {
        body();
        fflush(stdout);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    say("%s: %s", what, status_text(status));
}

static void strict_good(void) {
    show("PR_SET_SECCOMP strict", prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
    syscall(SYS_write, 1, "written\n", 8);
    syscall(SYS_exit, 7);
}
static void strict_bad(void) {
    fflush(stdout);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    syscall(SYS_getpid);
    syscall(SYS_exit, 0);
}

static void actions(void) {
    struct sock_filter f[] = {
        LOAD(NR_OFFSET),
        ON(SYS_getuid, SECCOMP_RET_ERRNO | EXDEV),
        ON(SYS_getgid, SECCOMP_RET_ERRNO | 0),
        ON(SYS_geteuid, SECCOMP_RET_ERRNO | 0xffff),
        ON(SYS_getegid, SECCOMP_RET_TRACE | 5),
        ON(SYS_gettid, SECCOMP_RET_LOG),
        ON(SYS_getppid, SECCOMP_RET_USER_NOTIF),
        RET(SECCOMP_RET_ALLOW),
    };
    show("install", INSTALL(f));
    show("get", prctl(PR_GET_SECCOMP));
    show("errno", syscall(SYS_getuid));
    show("errno 0", syscall(SYS_getgid));
    const long r = syscall(SYS_geteuid);
    say("errno 65535: %ld %d", r, r == -1 ? errno : 0);
    show("trace without tracer", syscall(SYS_getegid));
    show("log", syscall(SYS_gettid) > 0);
    show("notify without listener", syscall(SYS_getppid));
    show("strict after filter", prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
    struct sock_filter g[] = {LOAD(NR_OFFSET), ON(SYS_getuid, SECCOMP_RET_ALLOW),
                              ON(SYS_getgid, SECCOMP_RET_ERRNO | EDOM), RET(SECCOMP_RET_ALLOW)};
    show("second", INSTALL(g));
    show("the first is stricter", syscall(SYS_getuid));
    // The newer one is asked first and wins among equals.
    show("the newer of equals", syscall(SYS_getgid));
    char line[80];
    FILE* s = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, s))
        if (!strncmp(line, "Seccomp", 7)) say("%.*s", (int)strcspn(line, "\n"), line);
    fclose(s);
}

static volatile sig_atomic_t traps;
static void on_sys(int n, siginfo_t* i, void* context) {
    ucontext_t* u = context;
    ++traps;
    say("SIGSYS: signo %d code %d errno %d syscall %d arch %x here %d x8 %llu", n, i->si_code, i->si_errno,
        i->si_syscall, i->si_arch, i->si_call_addr == (void*)u->uc_mcontext.pc,
        (unsigned long long)u->uc_mcontext.regs[8]);
    say("x0 is what it was: %llx", (unsigned long long)u->uc_mcontext.regs[0]);
    u->uc_mcontext.regs[0] = 77;
}
static void trap(void) {
    struct sigaction a = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &a, NULL);
    struct sock_filter f[] = {LOAD(NR_OFFSET), ON(SYS_getpgid, SECCOMP_RET_TRAP | 0x1234), RET(SECCOMP_RET_ALLOW)};
    INSTALL(f);
    show("trapped", syscall(SYS_getpgid, 0x1234));
    signal(SIGSYS, SIG_IGN);
    fflush(stdout);
    show("ignored", syscall(SYS_getpgid, 0));
}
static void kill_process(void) {
    struct sigaction a = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &a, NULL);
    struct sock_filter f[] = {LOAD(NR_OFFSET), ON(SYS_getpgid, SECCOMP_RET_KILL_PROCESS), RET(SECCOMP_RET_ALLOW)};
    INSTALL(f);
    syscall(SYS_getpgid, 0);
    say("not reached");
}
static void unknown_action(void) {
    struct sock_filter f[] = {LOAD(NR_OFFSET), ON(SYS_getpgid, 0x12340000), RET(SECCOMP_RET_ALLOW)};
    INSTALL(f);
    syscall(SYS_getpgid, 0);
    say("not reached");
}
static void* dies(void* unused) {
    syscall(SYS_getpgid, 0);
    say("not reached");
    return unused;
}
static void kill_thread(void) {
    struct sock_filter f[] = {LOAD(NR_OFFSET), ON(SYS_getpgid, SECCOMP_RET_KILL_THREAD), RET(SECCOMP_RET_ALLOW)};
    INSTALL(f);
    pthread_t t;
    pthread_create(&t, NULL, dies, NULL);
    show("thread has gone", pthread_join(t, NULL));
    fflush(stdout);
    syscall(SYS_getpgid, 0); // the last thread: the process
    say("not reached");
}

static void arguments(void) {
    struct sock_filter f[] = {
        LOAD(4), // arch
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_AARCH64, 1, 0),
        RET(SECCOMP_RET_KILL_PROCESS),
        LOAD(NR_OFFSET),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_dup3, 1, 0),
        RET(SECCOMP_RET_ALLOW),
        LOAD(16), // low half of args[0]
        BPF_STMT(BPF_ST, 3),
        LOAD(24),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_MEM, 3),
        BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
        BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 3),
        BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 2),
        BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 1),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff),
        BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO),
        BPF_STMT(BPF_RET | BPF_A, 0),
    };
    show("install", INSTALL(f));
    const long r = syscall(SYS_dup3, 1000, 1040, 0);
    say("computed: %ld %d", r, errno); // (2040 * 3 / 2 ^ 1) & 255
}
static void division(void) {
    struct sock_filter f[] = {
        LOAD(NR_OFFSET),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 1, 0),
        RET(SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LDX | BPF_IMM, 0),
        BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0),
        RET(SECCOMP_RET_ALLOW),
    };
    INSTALL(f);
    syscall(SYS_getpgid, 0);
    say("not reached");
}

#define REFUSED(...) \
    do { \
        struct sock_filter f_[] = {__VA_ARGS__}; \
        show(#__VA_ARGS__, install(f_, SIZE(f_), 0)); \
    } while (0)
static void refused(void) {
    struct sock_filter good[] = {RET(SECCOMP_RET_ALLOW)};
    show("no instructions", install(good, 0, 0));
    show("bad address", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 8));
    show("unknown flag", install(good, 1, 64));
    show("TSYNC and listener", install(good, 1, SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_NEW_LISTENER));
    show("wait killable alone", install(good, 1, 32));
    show("strict with flags", syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, 0));
    show("strict with args", syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, good));
    show("unknown operation", syscall(SYS_seccomp, 9, 0, 0));
    show("prctl mode 0", prctl(PR_SET_SECCOMP, 0));
    show("prctl mode 3", prctl(PR_SET_SECCOMP, 3));
    REFUSED(LOAD(0));
    REFUSED(LOAD(2), RET(0));
    REFUSED(LOAD(64), RET(0));
    REFUSED(BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0), RET(0));
    REFUSED(BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0), RET(0));
    REFUSED(BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, 3), RET(0));
    REFUSED(BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), RET(0));
    REFUSED(BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 32), RET(0));
    REFUSED(BPF_STMT(BPF_LD | BPF_MEM, 0), RET(0));
    REFUSED(BPF_STMT(BPF_ST, 16), RET(0));
    REFUSED(BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), RET(0));
    REFUSED(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 1, 0), RET(0));
    REFUSED(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1), BPF_STMT(BPF_ST, 1), BPF_STMT(BPF_LD | BPF_MEM, 1), RET(0));
    REFUSED(BPF_STMT(0xffff, 0), RET(0));
    const unsigned known = SECCOMP_RET_TRAP, unknown = 0x12340000;
    show("action avail", syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &known));
    show("action unknown", syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &unknown));
    struct seccomp_notif_sizes sizes;
    show("notif sizes", syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes));
    say("%d %d %d", sizes.seccomp_notif, sizes.seccomp_notif_resp, sizes.seccomp_data);
    static struct sock_filter many[4096];
    for (unsigned i = 0; i < 4096; ++i) many[i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, 0);
    many[4095] = (struct sock_filter)RET(SECCOMP_RET_ALLOW);
    int n = 0;
    while (install(many, 4096, 0) == 0) ++n;
    say("filters of 4096: %d, then %s", n, strerrorname_np(errno));
}

static void unprivileged(void) {
    if (setresuid(1000, 1000, 1000)) say("setresuid");
    struct sock_filter f[] = {RET(SECCOMP_RET_ALLOW)};
    show("without no_new_privs", INSTALL(f));
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    show("with", INSTALL(f));
}

static pthread_barrier_t barrier;
static void* other(void* unused) {
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    show("in the other thread", syscall(SYS_getuid));
    return unused;
}
static void tsync(void) {
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    pthread_barrier_wait(&barrier);
    struct sock_filter f[] = {LOAD(NR_OFFSET), ON(SYS_getuid, SECCOMP_RET_ERRNO | EXDEV), RET(SECCOMP_RET_ALLOW)};
    show("tsync", install(f, SIZE(f), SECCOMP_FILTER_FLAG_TSYNC));
    pthread_barrier_wait(&barrier);
    pthread_join(t, NULL);
}
static int diverged;
static void* own_filter(void* unused) {
    struct sock_filter f[] = {RET(SECCOMP_RET_ALLOW)};
    INSTALL(f);
    diverged = (int)syscall(SYS_gettid);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}
static void tsync_diverged(void) {
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t t;
    pthread_create(&t, NULL, own_filter, NULL);
    pthread_barrier_wait(&barrier);
    struct sock_filter f[] = {RET(SECCOMP_RET_ALLOW)};
    const int r = install(f, SIZE(f), SECCOMP_FILTER_FLAG_TSYNC);
    say("tsync names the thread: %d", r == diverged);
    show("tsync with ESRCH", install(f, SIZE(f), SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH));
    pthread_barrier_wait(&barrier);
    pthread_join(t, NULL);
}

// --- a tracer ---

static void set_nr(pid_t pid, int nr) {
    struct iovec v = {&nr, sizeof nr};
    ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &v);
}
static void set_x0(pid_t pid, uint64_t value) {
    uint64_t regs[34];
    struct iovec v = {regs, sizeof regs};
    ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &v);
    regs[0] = value;
    ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &v);
}
static void traced(void) {
    fflush(stdout);
    const pid_t pid = fork();
    if (!pid) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        struct sock_filter f[] = {LOAD(NR_OFFSET), ON(SYS_getpgid, SECCOMP_RET_TRACE | 0xabc),
                                  ON(SYS_getuid, SECCOMP_RET_KILL_PROCESS), RET(SECCOMP_RET_ALLOW)};
        INSTALL(f);
        show("allowed by the tracer", syscall(SYS_getpgid, 0) >= 0);
        show("skipped by the tracer", syscall(SYS_getpgid, 11));
        show("became getppid", syscall(SYS_getpgid, 12) == getppid());
        fflush(stdout);
        syscall(SYS_getpgid, 13); // becomes getuid, which kills
        say("not reached");
        _exit(1);
    }
    int status, n = 0;
    waitpid(pid, &status, 0);
    show("options",
         ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    show("filter before there is one", ptrace(PTRACE_SECCOMP_GET_FILTER, pid, 0, 0));
    ptrace(PTRACE_CONT, pid, 0, 0);
    for (; waitpid(pid, &status, 0) == pid && WIFSTOPPED(status); ptrace(PTRACE_CONT, pid, 0, 0)) {
        if (status >> 8 != (SIGTRAP | PTRACE_EVENT_SECCOMP << 8)) {
            say("stopped: %x", status);
            continue;
        }
        unsigned long message = 0;
        ptrace(PTRACE_GETEVENTMSG, pid, 0, &message);
        struct __ptrace_syscall_info info;
        const long size = ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
        say("event: message %lx, info of %ld bytes: op %d nr %d arg %d data %x", message, size, info.op,
            (int)info.seccomp.nr, (int)info.seccomp.args[0], info.seccomp.ret_data);
        switch (n++) {
            case 0: {
                struct sock_filter copy[16];
                show("filter's length", ptrace(PTRACE_SECCOMP_GET_FILTER, pid, 0, copy));
                say("first %x %x", copy[0].code, copy[5].k);
                show("no second", ptrace(PTRACE_SECCOMP_GET_FILTER, pid, 1, copy));
                struct {
                    uint64_t off, flags;
                } md = {0, 9};
                show("metadata", ptrace(PTRACE_SECCOMP_GET_METADATA, pid, sizeof md, &md));
                say("flags %d", (int)md.flags);
                break;
            }
            case 1:
                set_nr(pid, -1);
                set_x0(pid, 99);
                break;
            case 2: set_nr(pid, SYS_getppid); break;
            default: set_nr(pid, SYS_getuid); break;
        }
    }
    say("tracee: %s", status_text(status));
}
// With PTRACE_SYSCALL the stop at the entry comes first, then the filter.
static void order(void) {
    fflush(stdout);
    const pid_t pid = fork();
    if (!pid) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        struct sock_filter f[] = {LOAD(NR_OFFSET), ON(SYS_getpgid, SECCOMP_RET_TRACE | 1),
                                  ON(SYS_getuid, SECCOMP_RET_ERRNO | 33), RET(SECCOMP_RET_ALLOW)};
        INSTALL(f);
        raise(SIGSTOP);
        syscall(SYS_getpgid, 0);
        syscall(SYS_getuid);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD);
    for (ptrace(PTRACE_SYSCALL, pid, 0, 0); waitpid(pid, &status, 0) == pid && WIFSTOPPED(status);
         ptrace(PTRACE_SYSCALL, pid, 0, 0)) {
        struct __ptrace_syscall_info info;
        ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
        if (info.op == PTRACE_SYSCALL_INFO_EXIT)
            say("stop %x: exit %lld", status >> 8, info.exit.is_error ? (long long)info.exit.rval : 0);
        else
            say("stop %x: op %d nr %lld", status >> 8, info.op, (long long)info.entry.nr);
    }
    say("tracee: %s", status_text(status));
}
static void suspended(void) {
    fflush(stdout);
    const pid_t pid = fork();
    if (!pid) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        struct sock_filter f[] = {LOAD(NR_OFFSET), ON(SYS_getuid, SECCOMP_RET_ERRNO | EXDEV), RET(SECCOMP_RET_ALLOW)};
        INSTALL(f);
        raise(SIGSTOP);
        show("suspended", syscall(SYS_getuid));
        raise(SIGSTOP);
        show("not any more", syscall(SYS_getuid));
        fflush(stdout);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    show("suspend", ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_SUSPEND_SECCOMP));
    ptrace(PTRACE_CONT, pid, 0, 0);
    waitpid(pid, &status, 0);
    ptrace(PTRACE_DETACH, pid, 0, 0);
    waitpid(pid, &status, 0);
    say("tracee: %s", status_text(status));
}

static void inherits(void) {
    struct sock_filter f[] = {LOAD(NR_OFFSET), ON(SYS_getuid, SECCOMP_RET_ERRNO | EXDEV), RET(SECCOMP_RET_ALLOW)};
    INSTALL(f);
    const pid_t pid = fork();
    if (!pid) {
        show("in the child", syscall(SYS_getuid));
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

int main(void) {
    child("strict", strict_good);
    child("strict, another call", strict_bad);
    child("actions", actions);
    child("trap", trap);
    child("kill process", kill_process);
    child("unknown action", unknown_action);
    child("kill thread", kill_thread);
    child("arguments", arguments);
    child("division by zero", division);
    child("refused", refused);
    child("unprivileged", unprivileged);
    child("tsync", tsync);
    child("tsync, diverged", tsync_diverged);
    child("inherits", inherits);
    traced();
    order();
    suspended();
    return 0;
}

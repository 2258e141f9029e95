// SPDX-License-Identifier: Apache-2.0
// prctl's options one by one, the bits that make root ordinary, what changes of identity do to capabilities and to
// who may look into the process, and tagged addresses in system calls.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <linux/prctl.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* name_of(long r) { return r < 0 ? strerrorname_np(errno) : ""; }
static long p(long option, long a, long b, long c, long d) { return syscall(SYS_prctl, option, a, b, c, d); }
static void show(const char* what, long r) { printf("%s: %ld %s\n", what, r, name_of(r)); }
#define P(option, a, b, c, d) show(#option " " #a " " #b " " #c " " #d, p(option, a, b, c, d))

struct caps {
    unsigned e, p, i, e2, p2, i2;
};
static struct caps get_caps(void) {
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct caps c;
    syscall(SYS_capget, &h, &c);
    return c;
}
static long set_caps(struct caps c) {
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
    return syscall(SYS_capset, &h, &c);
}
static void state(const char* when) {
    const struct caps c = get_caps();
    unsigned r, e, s;
    getresuid(&r, &e, &s);
    printf(
        "%s: uid %u/%u/%u eff %08x%08x perm %08x%08x inh %08x%08x ambient kill %d dumpable %d securebits %d keep %d\n",
        when, r, e, s, c.e2, c.e, c.p2, c.p, c.i2, c.i, prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_KILL, 0, 0),
        prctl(PR_GET_DUMPABLE), prctl(PR_GET_SECUREBITS), prctl(PR_GET_KEEPCAPS));
}
static void status_line(const char* key) {
    char line[256];
    FILE* f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key))) fputs(line, stdout);
    fclose(f);
}

/// Runs fn in a child and waits.
static void in_child(const char* what, void (*fn)(void)) {
    fflush(stdout);
    const int pid = fork();
    if (!pid) {
        printf("-- %s\n", what);
        fn();
        fflush(stdout);
        _exit(0);
    }
    int s;
    waitpid(pid, &s, 0);
    if (s) printf("%s: status %#x\n", what, s);
}

static void options(void) {
    int v = 7;
    for (long o = 5; o < 15; ++o)
        if (o != 7 && o != 8) {
            char t[32];
            sprintf(t, "option %ld", o);
            show(t, p(o, 1, 0, 0, 0));
        }
    P(PR_SET_PDEATHSIG, 64, 0, 0, 0);
    P(PR_SET_PDEATHSIG, 65, 0, 0, 0);
    P(PR_SET_PDEATHSIG, -1, 0, 0, 0);
    P(PR_GET_PDEATHSIG, 8, 0, 0, 0);
    P(PR_SET_DUMPABLE, 2, 0, 0, 0);
    P(PR_SET_DUMPABLE, 0, 5, 5, 5);
    P(PR_GET_DUMPABLE, 5, 5, 5, 5);
    P(PR_SET_DUMPABLE, 1, 0, 0, 0);
    P(PR_SET_KEEPCAPS, 2, 0, 0, 0);
    P(PR_GET_TIMING, 1, 2, 3, 4);
    P(PR_SET_TIMING, PR_TIMING_STATISTICAL, 0, 0, 0);
    P(PR_SET_TIMING, PR_TIMING_TIMESTAMP, 0, 0, 0);
    P(PR_SET_NAME, 8, 0, 0, 0);
    P(PR_GET_NAME, 8, 0, 0, 0);
    P(PR_GET_ENDIAN, &v, 0, 0, 0);
    P(PR_GET_TSC, &v, 0, 0, 0);
    P(PR_CAPBSET_READ, 0, 0, 0, 0);
    P(PR_CAPBSET_READ, 40, 0, 0, 0);
    P(PR_CAPBSET_READ, 41, 0, 0, 0);
    P(PR_CAPBSET_DROP, 41, 0, 0, 0);
    P(PR_SET_TIMERSLACK, 0x1234567890, 0, 0, 0);
    P(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    P(PR_SET_TIMERSLACK, 0, 0, 0, 0);
    P(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    P(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    fflush(stdout);
    if (!fork()) {
        prctl(PR_SET_TIMERSLACK, 5);
        P(PR_SET_TIMERSLACK, 0, 0, 0, 0);
        P(PR_GET_TIMERSLACK, 0, 0, 0, 0);
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    P(PR_MCE_KILL_GET, 0, 0, 0, 0);
    P(PR_MCE_KILL_GET, 0, 0, 0, 1);
    P(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0);
    P(PR_MCE_KILL_GET, 0, 0, 0, 0);
    P(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_LATE, 0, 0);
    P(PR_MCE_KILL_GET, 0, 0, 0, 0);
    P(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_DEFAULT, 0, 0);
    P(PR_MCE_KILL, PR_MCE_KILL_SET, 3, 0, 0);
    P(PR_MCE_KILL, PR_MCE_KILL_SET, 1, 1, 0);
    P(PR_MCE_KILL, PR_MCE_KILL_CLEAR, 1, 0, 0);
    P(PR_MCE_KILL, PR_MCE_KILL_CLEAR, 0, 0, 0);
    P(PR_MCE_KILL, 2, 0, 0, 0);
    P(PR_MCE_KILL_GET, 0, 0, 0, 0);
    P(PR_SET_CHILD_SUBREAPER, 5, 0, 0, 0);
    P(PR_GET_CHILD_SUBREAPER, &v, 0, 0, 0);
    printf("subreaper %d\n", v);
    P(PR_GET_CHILD_SUBREAPER, 8, 0, 0, 0);
    P(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
    P(PR_SET_NO_NEW_PRIVS, 1, 1, 0, 0);
    P(PR_GET_NO_NEW_PRIVS, 1, 0, 0, 0);
    P(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 1);
    P(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    int* tid = NULL;
    int own = 0;
    syscall(SYS_set_tid_address, &own);
    P(PR_GET_TID_ADDRESS, &tid, 0, 0, 0);
    printf("tid address is ours: %d\n", tid == &own);
    P(PR_GET_TID_ADDRESS, 8, 0, 0, 0);
    P(PR_SET_THP_DISABLE, 1, 1, 0, 0);
    P(PR_GET_THP_DISABLE, 1, 0, 0, 0);
    P(PR_GET_THP_DISABLE, 0, 0, 0, 0);
    status_line("THP_enabled");
    P(PR_SET_THP_DISABLE, 9, 0, 0, 0);
    P(PR_GET_THP_DISABLE, 0, 0, 0, 0);
    status_line("THP_enabled");
    P(PR_SET_THP_DISABLE, 0, 0, 0, 0);
    P(PR_SVE_SET_VL, 16, 0, 0, 0);
    P(PR_SVE_GET_VL, 0, 0, 0, 0);
    P(PR_PAC_RESET_KEYS, 0, 0, 0, 0);
    P(PR_PAC_GET_ENABLED_KEYS, 0, 0, 0, 0);
    P(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
    P(PR_SET_IO_FLUSHER, 2, 0, 0, 0);
    P(PR_SET_IO_FLUSHER, 0, 1, 0, 0);
    P(PR_GET_IO_FLUSHER, 0, 0, 0, 0);
    P(PR_GET_IO_FLUSHER, 0, 0, 1, 0);
    P(PR_SET_IO_FLUSHER, 0, 0, 0, 0);
    P(PR_GET_IO_FLUSHER, 0, 0, 0, 0);
    P(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0);
    P(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, 0);
    P(65, 0, 0, 0, 0);
    P(1000, 0, 0, 0, 0);
    P(-1, 0, 0, 0, 0);
    P(0x100000000, 0, 0, 0, 0);
}

static void speculation(void) {
    P(PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, 1, 0, 0);
    P(PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, 0, 0, 0);
    P(PR_GET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH, 0, 0, 0);
    P(PR_GET_SPECULATION_CTRL, 3, 0, 0, 0);
    P(PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, 0, 0, 0);
    P(PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, PR_SPEC_DISABLE, 1, 0);
    P(PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, PR_SPEC_DISABLE, 0, 0);
    status_line("Speculation");
    P(PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, 0, 0, 0);
    P(PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, PR_SPEC_ENABLE, 0, 0);
    status_line("Speculation");
    P(PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, PR_SPEC_DISABLE_NOEXEC, 0, 0);
    status_line("Speculation");
    P(PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, 0, 0, 0);
    P(PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, PR_SPEC_FORCE_DISABLE, 0, 0);
    P(PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, 0, 0, 0);
    status_line("Speculation");
    P(PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, PR_SPEC_ENABLE, 0, 0);
    P(PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, PR_SPEC_DISABLE, 0, 0);
    P(PR_SET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH, PR_SPEC_DISABLE, 0, 0);
}

static void securebits(void) {
    state("start");
    P(PR_SET_SECUREBITS, 0x100, 0, 0, 0);
    P(PR_SET_SECUREBITS, SECBIT_NO_CAP_AMBIENT_RAISE, 0, 0, 0);
    P(PR_GET_SECUREBITS, 1, 2, 3, 4);
    P(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0);
    P(PR_SET_KEEPCAPS, 1, 0, 0, 0);
    P(PR_GET_SECUREBITS, 0, 0, 0, 0);
    P(PR_SET_SECUREBITS, SECBIT_KEEP_CAPS_LOCKED, 0, 0, 0);
    P(PR_SET_KEEPCAPS, 1, 0, 0, 0);
    P(PR_SET_SECUREBITS, SECBIT_KEEP_CAPS_LOCKED | SECBIT_KEEP_CAPS, 0, 0, 0);
    P(PR_SET_SECUREBITS, 0, 0, 0, 0);
    P(PR_SET_SECUREBITS, SECBIT_KEEP_CAPS_LOCKED | SECBIT_NOROOT, 0, 0, 0);
    P(PR_GET_KEEPCAPS, 0, 0, 0, 0);
    state("noroot");
    struct caps c = get_caps();
    c.e &= ~(1u << CAP_SETPCAP), c.p &= ~(1u << CAP_SETPCAP);
    show("capset", set_caps(c));
    P(PR_SET_SECUREBITS, SECBIT_KEEP_CAPS_LOCKED, 0, 0, 0);
    P(PR_CAPBSET_DROP, CAP_KILL, 0, 0, 0);
    P(PR_SET_KEEPCAPS, 0, 0, 0, 0);
}
static void ambient(void) {
    P(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 1, 0, 0);
    P(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    P(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 41, 0, 0);
    P(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_KILL, 1, 0);
    P(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0);
    struct caps c = get_caps();
    c.i = 1u << CAP_KILL, c.i2 = 0;
    show("capset", set_caps(c));
    P(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0);
    P(PR_CAP_AMBIENT, 7, CAP_KILL, 0, 0);
    state("raised");
    P(PR_SET_KEEPCAPS, 1, 0, 0, 0);
    show("setresuid", setresuid(1000, 1000, 1000));
    state("kept");
    P(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, CAP_KILL, 0, 0);
    state("lowered");
    P(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0);
    c = get_caps();
    c.p &= ~(1u << CAP_KILL), c.e = c.e2 = 0;
    show("capset", set_caps(c));
    state("given up");
}
static void no_fixup(void) {
    P(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0);
    show("setresuid", setresuid(1000, 1000, 1000));
    state("not mended");
}
static void identity(void) {
    state("root");
    show("setegid", setegid(1000));
    state("egid 1000");
    prctl(PR_SET_DUMPABLE, 1);
    show("setegid", setegid(1000));
    state("egid again");
    show("setfsuid", setfsuid(1000));
    state("fsuid 1000");
    prctl(PR_SET_DUMPABLE, 1);
    show("setfsuid", setfsuid(0));
    state("fsuid 0");
    prctl(PR_SET_DUMPABLE, 1);
    show("setfsgid", setfsgid(77));
    state("fsgid 77");
    prctl(PR_SET_DUMPABLE, 1);
    show("setreuid", setreuid(1000, -1));
    state("uid 1000");
    show("seteuid", seteuid(1000));
    state("euid 1000");
    prctl(PR_SET_DUMPABLE, 1);
    show("seteuid", seteuid(0));
    state("euid 0");
    prctl(PR_SET_DUMPABLE, 1);
    struct caps c = get_caps();
    c.i = 1u << CAP_KILL;
    show("capset", set_caps(c));
    state("inheritable");
    show("setresuid", setresuid(1000, 1000, 1000));
    state("all 1000");
    prctl(PR_SET_DUMPABLE, 1);
    show("setresuid", setresuid(0, -1, -1));
    show("setresuid", setresuid(-1, 1000, -1));
    state("the same");
}

#define TAG(ptr) ((void*)((unsigned long)(ptr) | 0x5aul << 56))
static void tagged(void) {
    static char text[] = "tagged\n";
    int fds[2];
    char* page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pipe(fds);
    for (int on = 0; on < 2; ++on) {
        P(PR_SET_TAGGED_ADDR_CTRL, on, 0, 0, 0);
        P(PR_GET_TAGGED_ADDR_CTRL, 0, 0, 0, 0);
        *(volatile char*)TAG(page) = 'x';
        show("write", write(fds[1], TAG(text), 7));
        show("write untagged", write(fds[1], text, 7));
        show("read", read(fds[0], TAG(page), 7));
        show("open", open(TAG("/dev/null"), O_RDONLY) >= 0 ? 0 : -1);
        struct stat st;
        show("stat", stat("/", TAG(&st)));
        struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_DUMMY};
        const long fd = syscall(SYS_perf_event_open, TAG(&attr), 0, -1, -1, 0);
        show("perf_event_open", fd < 0 ? -1 : 0);
        show("mprotect", mprotect(TAG(page), 4096, PROT_READ | PROT_WRITE));
        show("madvise", madvise(TAG(page), 4096, MADV_NORMAL));
        show("mlock", mlock(TAG(page), 4096));
        show("msync", msync(TAG(page), 4096, MS_SYNC));
        unsigned char vec[1];
        show("mincore", mincore(TAG(page), 4096, vec));
        show("mremap", mremap(TAG(page), 8192, 8192, 0) == MAP_FAILED ? -1 : 0);
        show("mmap fixed",
             mmap(TAG(page), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0);
        void* hint = mmap(TAG(page + (1 << 24)), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        printf("mmap hint: %s\n", hint == MAP_FAILED ? strerrorname_np(errno) : "mapped");
        show("futex", syscall(SYS_futex, TAG(page), 1, 1, NULL, NULL, 0));
        show("brk", syscall(SYS_brk, TAG((char*)sbrk(0) + 8192)) == (long)sbrk(0));
        show("munmap", munmap(TAG(page + 4096), 4096));
        page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    fflush(stdout);
    if (!fork()) {
        P(PR_GET_TAGGED_ADDR_CTRL, 0, 0, 0, 0);
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    P(PR_SET_TAGGED_ADDR_CTRL, 2, 0, 0, 0);
    P(PR_SET_TAGGED_ADDR_CTRL, 1, 1, 0, 0);
    P(PR_GET_TAGGED_ADDR_CTRL, 1, 0, 0, 0);
}

static void again(void) {
    printf("-- after exec\n");
    state("exec");
    P(PR_GET_TAGGED_ADDR_CTRL, 0, 0, 0, 0);
    P(PR_GET_THP_DISABLE, 0, 0, 0, 0);
    P(PR_GET_IO_FLUSHER, 0, 0, 0, 0);
    P(PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, 0, 0, 0);
    P(PR_MCE_KILL_GET, 0, 0, 0, 0);
    P(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    int v = -1;
    P(PR_GET_PDEATHSIG, &v, 0, 0, 0);
    printf("pdeathsig %d\n", v);
    P(PR_GET_CHILD_SUBREAPER, &v, 0, 0, 0);
    printf("subreaper %d\n", v);
}
static void exec_self(void) {
    fflush(stdout);
    execl("/proc/self/exe", "os_prctl", "again", NULL);
    perror("exec");
}
static void exec_all_set(void) {
    prctl(PR_SET_TAGGED_ADDR_CTRL, 1, 0, 0, 0);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
    prctl(PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, PR_SPEC_DISABLE, 0, 0);
    prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0);
    prctl(PR_SET_TIMERSLACK, 777);
    prctl(PR_SET_PDEATHSIG, 9);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_KEEPCAPS, 1);
    prctl(PR_SET_DUMPABLE, 0);
    exec_self();
}
static void exec_noroot(void) {
    prctl(PR_SET_SECUREBITS, SECBIT_NOROOT);
    exec_self();
}
static void exec_noroot_ambient(void) {
    struct caps c = get_caps();
    c.i = 1u << CAP_KILL, c.i2 = 0;
    set_caps(c);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0);
    prctl(PR_SET_SECUREBITS, SECBIT_NOROOT);
    exec_self();
}
static void exec_user_ambient(void) {
    struct caps c = get_caps();
    c.i = 1u << CAP_KILL, c.i2 = 0;
    set_caps(c);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0);
    prctl(PR_SET_KEEPCAPS, 1);
    setresuid(1000, 1000, 1000);
    exec_self();
}
static void exec_uid(void) {
    setreuid(1000, 0);
    exec_self();
}
static void exec_euid(void) {
    setreuid(0, 1000);
    exec_self();
}
static void exec_bounded(void) {
    prctl(PR_CAPBSET_DROP, CAP_KILL);
    exec_self();
}
static void exec_user(void) {
    setresuid(1000, 1000, 1000);
    prctl(PR_SET_DUMPABLE, 0);
    exec_self();
}

int main(int argc, char** argv) {
    if (argc > 1) {
        again();
        return 0;
    }
    in_child("options", options);
    in_child("speculation", speculation);
    in_child("securebits", securebits);
    in_child("ambient", ambient);
    in_child("no fix-up", no_fixup);
    in_child("identity", identity);
    in_child("tagged", tagged);
    in_child("exec: all set", exec_all_set);
    in_child("exec: noroot", exec_noroot);
    in_child("exec: noroot, ambient", exec_noroot_ambient);
    in_child("exec: user, ambient", exec_user_ambient);
    in_child("exec: uid 1000, euid 0", exec_uid);
    in_child("exec: uid 0, euid 1000", exec_euid);
    in_child("exec: bounded", exec_bounded);
    in_child("exec: user", exec_user);
    return 0;
}

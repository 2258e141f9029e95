// SPDX-License-Identifier: Apache-2.0
// Uprobes and return probes where control goes other ways (longjmp, signals, fork, exec, recursion), files that change below them,
// and each instruction that they may not be on.
#include "mixed_guest.h"

static char exe[256];
static int upf(const char* file, u64 off, int ret, pid_t pid, int cpu, u64 extra) {
    static int t;
    if (!t) t = number_in("/sys/bus/event_source/devices/uprobe/type");
    attr_t a = {.type = t, .disabled = 0};
    a.config = ret | extra << 32;
    a.config1 = (u64)file;
    a.config2 = off;
    return pe(&a, pid, cpu, -1, 0);
}
static int up(const void* at, int ret, pid_t pid, int cpu) {
    readlink("/proc/self/exe", exe, 255);
    return upf(exe, file_offset(at), ret, pid, cpu, 0);
}
static jmp_buf jb;
static sigjmp_buf sjb;
static volatile int vi;
NOINLINE int f_jmp(int n) {
    vi++;
    if (n < 0) return 0;
    if (n == 0) longjmp(jb, 1);
    int r = f_jmp(n - 1);
    vi++;
    return r + 1;
}
NOINLINE int f_plain(int n) {
    vi++;
    return n + 1;
}
NOINLINE int f_rec(int n) {
    vi++;
    if (!n) return 0;
    int r = f_rec(n - 1);
    vi--;
    return r + 1;
}
static void hs(int s) { f_plain(3); }
static void hj(int s) { siglongjmp(sjb, 2); }
NOINLINE int f_raise(int s) {
    vi++;
    raise(s);
    vi++;
    return 5;
}
NOINLINE int f_fork(void) {
    vi++;
    pid_t p = fork();
    vi++;
    return p;
}
NOINLINE int f_vfork(void) {
    vi++;
    pid_t p = vfork();
    if (!p) {
        vi++;
        _exit(9);
    }
    vi++;
    return p;
}
NOINLINE int f_exit(int n) {
    vi++;
    if (n) _exit(7);
    return 1;
}
NOINLINE int f_null(volatile int* p) {
    vi++;
    int r = *p;
    vi++;
    return r;
}
NOINLINE int f_exec(char* me, char* arg) {
    vi++;
    execl(me, me, arg, NULL);
    vi++;
    return 1;
}
static void ljmp(void) {
    int a = up(f_jmp, 1, 0, -1), e = up(f_jmp, 0, 0, -1), b = up(f_plain, 1, 0, -1);
    for (volatile int i = 0; i < 4; i++) {
        if (!setjmp(jb)) f_jmp(i);
        f_plain(1);
        say("longjmp %d: ret %d entry %d plain %d", i, (int)cnt(a), (int)cnt(e), (int)cnt(b));
    }
    for (volatile int i = 0; i < 200; i++) {
        if (!setjmp(jb)) f_jmp(0);
    }
    say("200: ret %d entry %d", (int)cnt(a), (int)cnt(e));
    f_plain(2);
    say("plain %d", (int)cnt(b));
}
static void sjmp(void) {
    signal(SIGUSR1, hj);
    signal(SIGSEGV, hj);
    int a = up(f_raise, 1, 0, -1), b = up(f_null, 1, 0, -1), c = up(f_plain, 1, 0, -1);
    for (volatile int i = 0; i < 5; i++) {
        if (!sigsetjmp(sjb, 1)) f_raise(SIGUSR1);
        if (!sigsetjmp(sjb, 1)) f_null(0);
        f_plain(1);
        int x = 3;
        f_null(&x);
    }
    say("raise %d null %d plain %d", (int)cnt(a), (int)cnt(b), (int)cnt(c));
}
static char ss[65536];
static void handlers(void) {
    stack_t st = {.ss_sp = ss, .ss_size = sizeof ss};
    sigaltstack(&st, 0);
    struct sigaction sa = {.sa_handler = hs, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &sa, 0);
    sa.sa_flags = 0;
    sigaction(SIGUSR2, &sa, 0);
    int a = up(f_raise, 1, 0, -1), b = up(f_plain, 1, 0, -1), c = up(hs, 1, 0, -1), d = up(hs, 0, 0, -1),
        e = up(f_plain, 0, 0, -1);
    for (int i = 0; i < 6; i++) {
        int r = f_raise(i & 1 ? SIGUSR1 : SIGUSR2);
        if (r != 5) say("bad");
    }
    say("raise %d plain %d handler ret %d entry %d plain entry %d", (int)cnt(a), (int)cnt(b), (int)cnt(c), (int)cnt(d),
        (int)cnt(e));
}
static void rec(void) {
    int a = up(f_rec, 1, 0, -1), e = up(f_rec, 0, 0, -1);
    for (int n = 60; n < 70; n++) {
        u64 x = cnt(a), y = cnt(e);
        int r = f_rec(n);
        say("depth %d: %d ret %d entry %d", n, r, (int)(cnt(a) - x), (int)(cnt(e) - y));
    }
    int r = f_rec(300);
    say("300: %d", r);
}
static void clones(void) {
    int a = up(f_fork, 1, 0, -1), b = up(f_vfork, 1, 0, -1), c = up(f_exit, 1, 0, -1), d = up(f_exit, 0, 0, -1);
    for (int i = 0; i < 3; i++) {
        pid_t p = f_fork();
        if (!p) _exit(3);
        int st;
        waitpid(p, &st, 0);
        say("fork child %x: %d", st, (int)cnt(a));
    }
    for (int i = 0; i < 3; i++) {
        pid_t p = f_vfork();
        int st;
        waitpid(p, &st, 0);
        say("vfork child %x: %d", st, (int)cnt(b));
    }
    pid_t p = fork();
    if (!p) {
        f_exit(0);
        f_exit(1);
    }
    int st;
    waitpid(p, &st, 0);
    f_exit(0);
    say("exit %x: ret %d entry %d", st, (int)cnt(c), (int)cnt(d));
    int w = up(f_exit, 1, -1, 0), x = up(f_exit, 0, -1, 0);
    cpu_set_t cs;
    CPU_ZERO(&cs);
    CPU_SET(0, &cs);
    sched_setaffinity(0, sizeof cs, &cs);
    p = fork();
    if (!p) {
        f_exit(0);
        f_exit(1);
    }
    waitpid(p, &st, 0);
    f_exit(0);
    say("cpu wide %x: ret %d entry %d", st, (int)cnt(w), (int)cnt(x));
}
static void execs(void) {
    readlink("/proc/self/exe", exe, 255);
    int a = upf(exe, file_offset(f_exec), 1, 0, -1, 0), b = upf(exe, file_offset(f_plain), 0, 0, -1, 0),
        c = upf(exe, file_offset(f_plain), 1, 0, -1, 0);
    fcntl(a, F_SETFD, 0);
    char arg[64];
    snprintf(arg, 64, "@%d,%d,%d", a, b, c);
    f_plain(1);
    f_exec(exe, arg);
}
static void after_exec(char* s) {
    int a, b, c;
    sscanf(s, "@%d,%d,%d", &a, &b, &c);
    f_plain(1);
    f_plain(2);
    say("after exec: %d %d %d", (int)cnt(a), (int)cnt(b), (int)cnt(c));
    _exit(0);
}
static void files(void) { // truncated, unlinked, replaced, page ends
    int f = open("/tmp/x.so", O_CREAT | O_TRUNC | O_RDWR, 0755);
    u32 c[3072];
    for (int i = 0; i < 3072; i++) c[i] = 0xd503201f;
    c[1023] = 0x91000400; /*add x0,x0,1*/
    c[1024] = 0x91000800;
    c[1025] = 0xd65f03c0;
    c[0] = 0xd65f03c0;
    c[3071] = 0xd65f03c0;
    c[3070] = 0x91000400;
    write(f, c, sizeof c);
    char* m = mmap(0, 12288, PROT_READ | PROT_EXEC, MAP_PRIVATE, f, 0);
    long (*g)(long) = (void*)(m + 4092);
    int a = upf("/tmp/x.so", 4092, 0, 0, -1, 0), b = upf("/tmp/x.so", 4096, 0, 0, -1, 0),
        e = upf("/tmp/x.so", 4094, 0, 0, -1, 0), z = upf("/tmp/x.so", 12284, 0, 0, -1, 0),
        y = upf("/tmp/x.so", 12288, 0, 0, -1, 0), w = upf("/tmp/x.so", 12287, 0, 0, -1, 0),
        n = upf("/tmp/x.so", 1ull << 40, 0, 0, -1, 0), nn = upf("/tmp/x.so", -4ull, 0, 0, -1, 0);
    say("open: %s %s %s %s %s %s %s %s", err_name(a < 0 ? a : 0), err_name(b < 0 ? b : 0), err_name(e < 0 ? e : 0),
        err_name(z < 0 ? z : 0), err_name(y < 0 ? y : 0), err_name(w < 0 ? w : 0), err_name(n < 0 ? n : 0),
        err_name(nn < 0 ? nn : 0));
    long r = g(5);
    say("page end: %ld, %d %d", r, (int)cnt(a), (int)cnt(b));
    long (*h)(long) = (void*)(m + 12280);
    r = h(1);
    say("file end: %ld, %d", r, (int)cnt(z));
    unlink("/tmp/x.so");
    r = g(7);
    say("unlinked: %ld, %d %d", r, (int)cnt(a), (int)cnt(b));
    int u = upf("/tmp/x.so", 4092, 0, 0, -1, 0);
    say("open unlinked: %s", err_name(u < 0 ? u : 0));
    char pf[64];
    snprintf(pf, 64, "/proc/self/fd/%d", f);
    u = upf(pf, 4092, 0, 0, -1, 0);
    say("through /proc/self/fd: %s", err_name(u < 0 ? u : 0));
    if (u > 0) {
        g(1);
        say("hits %d", (int)cnt(u));
        close(u);
    }
    int f2 = open("/tmp/x.so", O_CREAT | O_TRUNC | O_RDWR, 0755);
    write(f2, c, sizeof c);
    u = upf("/tmp/x.so", 4092, 0, 0, -1, 0);
    g(1);
    char* m2 = mmap(0, 12288, PROT_READ | PROT_EXEC, MAP_PRIVATE, f2, 0);
    ((long (*)(long))(m2 + 4092))(1);
    say("a new file of the name: %s, old %d new %d", err_name(u < 0 ? u : 0), (int)cnt(a), (int)cnt(u));
    munmap(m2, 12288);
    char* m3 = mmap(0, 12288, PROT_READ | PROT_EXEC, MAP_PRIVATE, f2, 0);
    ((long (*)(long))(m3 + 4092))(1);
    say("mapped again: %d", (int)cnt(u));
    char* m4 = mmap(0, 12288, PROT_READ | PROT_EXEC, MAP_SHARED, f2, 0);
    ((long (*)(long))(m4 + 4092))(1);
    say("shared: %d", (int)cnt(u));
    mprotect(m3, 12288, PROT_READ | PROT_WRITE | PROT_EXEC);
    ((long (*)(long))(m3 + 4092))(1);
    say("rwx: %d word %x", (int)cnt(u), *(u32*)(m3 + 4092));
    *(u32*)(m3 + 4092) = 0x91000c00;
    __builtin___clear_cache(m3, m3 + 8192);
    r = ((long (*)(long))(m3 + 4092))(1);
    say("overwritten: %ld %d", r, (int)cnt(u));
    char* m5 = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, f2, 4096);
    say("second page alone: ok %d", m5 != MAP_FAILED);
    u32 wd = 0;
    pread(f2, &wd, 4, 4092);
    say("file %x", wd);
    wd = 0x91001000;
    pwrite(f2, &wd, 4, 4092);
    ((long (*)(long))(m4 + 4092))(1);
    say("written file: shared %d", (int)cnt(u));
    ftruncate(f2, 4096);
    say("truncated: %d", (int)cnt(u));
    ftruncate(f2, 0);
    ftruncate(f2, 12288);
    pwrite(f2, c, sizeof c, 0);
    char* m6 = mmap(0, 12288, PROT_READ | PROT_EXEC, MAP_PRIVATE, f2, 0);
    r = ((long (*)(long))(m6 + 4092))(1);
    say("refilled: %ld %d", r, (int)cnt(u));
    close(u);
    r = ((long (*)(long))(m6 + 4092))(1);
    say("closed: %ld word %x", r, *(u32*)(m6 + 4092));
}
static void reopen(void) {
    int r;
    say("dir %s", err_name((r = upf("/tmp", 0, 0, 0, -1, 0)) < 0 ? r : 0));
    say("none %s", err_name((r = upf("/none", 0, 0, 0, -1, 0)) < 0 ? r : 0));
    say("null %s", err_name((r = upf("/dev/null", 0, 0, 0, -1, 0)) < 0 ? r : 0));
    say("proc %s", err_name((r = upf("/proc/self/maps", 0, 0, 0, -1, 0)) < 0 ? r : 0));
    say("empty %s", err_name((r = upf("", 0, 0, 0, -1, 0)) < 0 ? r : 0));
    say("nopath %s", err_name((r = upf(0, 0, 0, 0, -1, 0)) < 0 ? r : 0));
    say("badptr %s", err_name((r = upf((char*)16, 0, 0, 0, -1, 0)) < 0 ? r : 0));
    char* l = malloc(8192);
    memset(l, 'a', 8191);
    l[8191] = 0;
    l[0] = '/';
    say("long %s", err_name((r = upf(l, 0, 0, 0, -1, 0)) < 0 ? r : 0));
    readlink("/proc/self/exe", exe, 255);
    say("memfd ");
    int m = memfd_create("q", 0);
    u32 c[4] = {0x91000400, 0xd65f03c0};
    write(m, c, 16);
    char pf[64];
    sprintf(pf, "/proc/self/fd/%d", m);
    int u = upf(pf, 0, 0, 0, -1, 0);
    void* x = mmap(0, 4096, 5, MAP_PRIVATE, m, 0);
    say("memfd %s %ld %d", err_name(u < 0 ? u : 0), ((long (*)(long))x)(3), (int)cnt(u));
    say("ref ctr %s", err_name((r = upf(exe, file_offset(f_plain), 0, 0, -1, 0x10)) < 0 ? r : 0));
    say("ref ctr odd %s", err_name((r = upf(exe, file_offset(f_plain) + 4, 0, 0, -1, 0x11)) < 0 ? r : 0));
    say("return in the middle %s", err_name((r = upf(exe, file_offset(f_plain) + 4, 1, 0, -1, 0)) < 0 ? r : 0));
}
static void refused(void) {
    int f = open("/tmp/y.so", O_CREAT | O_TRUNC | O_RDWR, 0755);
    static const u32 c[] = {
        0xd4000001, 0xd4000002, 0xd4000003, 0xd4200000, 0xd4400000, 0xd4a00001, 0xd4a00002, 0xd4a00003, 0,
        1,          0xffff,     0x10000,    0xd503201f, 0xd503203f, 0xd503205f, 0xd503207f, 0xd503209f, 0xd50320bf,
        0xd503221f, 0xd503225f, 0xd503229f, 0xd50322ff, 0xd503245f, 0xd503247f, 0xd503233f, 0xd503235f, 0xd503237f,
        0xd50323bf, 0xd50323ff, 0xd50320ff, 0xd503211f, 0xd503219f, 0xd503305f, 0xd5033f9f, 0xd5033fbf, 0xd5033fdf,
        0xd5033b9f, 0xd50330ff, 0xd503309f, 0xd53be040, 0xd53bd040, 0xd51bd040, 0xd53b4200, 0xd51b4200, 0xd5380000,
        0xd5384240, 0xd5384100, 0xd53b4220, 0xd51b4220, 0xd50b7420, 0xd50b7520, 0xd50b7a20, 0xd508751f, 0xd5034fdf,
        0xd50348df, 0xd500401f, 0xd500409f, 0xc85f7c20, 0xc8007c20, 0x885f7c20, 0xc87f0820, 0xc8200820, 0xc8dffc20,
        0xc89ffc20, 0xc85ffc20, 0xf8200020, 0xb8e00020, 0xc8a07c20, 0x48207c20, 0x58000000, 0x18000000, 0x98000000,
        0xd8000000, 0x1c000000, 0x5c000000, 0x9c000000, 0x10000000, 0x90000000, 0x14000001, 0x94000001, 0x17ffffff,
        0x54000020, 0x54000021, 0x5400002e, 0x5400002f, 0x54000030, 0x34000020, 0xb4000020, 0x35000020, 0xb5000020,
        0x36000020, 0x37000020, 0xd61f0020, 0xd63f0020, 0xd65f03c0, 0xd65f0000, 0xd69f03e0, 0xd6bf03e0, 0xd61f0800,
        0xd71f0801, 0xd65f0bff, 0xd65f0fff, 0xd63f0820, 0xf9400000, 0xf9000000, 0x3d800000, 0x0c400000, 0x91000400,
        0xaa0003e0, 0xf8200420, 0xf8a00420, 0xd4bfffff, 0xd4e00000, 0xffffffff, 0x0e000000, 0x4e284800, 0x9ac03000,
        0xdac11000, 0xd503411f, 0xd5030fff, 0xd51be000, 0xd53be000, 0xd53b9c00, 0xd53b9d00, 0xd53bee00, 0xd53800a0,
        0xd53b00e0, 0xd53b0020, 0xd53bd060, 0xd53b4400, 0xd51b4400, 0xd503403f, 0xd500405f, 0xd503417f, 0xd503439f};
    write(f, c, sizeof c);
    ftruncate(f, 8192);
    for (unsigned i = 0; i < N(c); i++) {
        int u = upf("/tmp/y.so", 4 * i, 0, -1, 0, 0);
        say("%08x %s", c[i], err_name(u < 0 ? u : 0));
        if (u > 0) close(u);
    }
    mmap(0, 8192, 5, MAP_PRIVATE, f, 0);
    for (unsigned i = 0; i < N(c); i++) {
        int u = upf("/tmp/y.so", 4 * i, 0, 0, -1, 0);
        say("mapped %08x %s", c[i], err_name(u < 0 ? u : 0));
        if (u > 0) close(u);
    }
}
int main(int c, char** v) {
    if (c > 1 && v[1][0] == '@') after_exec(v[1]);
    mkdir("/tmp", 0777);
#define R(f) \
    if (c < 2 || !strcmp(v[1], #f)) { \
        say("[" #f "]"); \
        pid_t p = fork(); \
        if (!p) { \
            alarm(15); \
            f(); \
            _exit(0); \
        } \
        int st; \
        waitpid(p, &st, 0); \
        if (st) say("[" #f "] status %x", st); \
    }
    R(ljmp) R(sjmp) R(handlers) R(rec) R(clones) R(execs) R(files) R(reopen) R(refused) return 0;
}

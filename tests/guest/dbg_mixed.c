// SPDX-License-Identifier: Apache-2.0
// Breakpoints, watchpoints, uprobes, kprobes, signals and a debugger's steps, several of them at one instruction: who sees what,
// who is lost. Some of it ends a program on Linux too.
#include "mixed_guest.h"

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

static u64 cell[16] __attribute__((aligned(64)));
u64 work(u64 n, u64* p);
extern char w_ld[], w_st[], w_bl[], w_leaf[], w_ret[], w_svc[], w_end[], w_nop[];
__asm__(
    ".text\n.balign 64\n.global work,w_ld,w_st,w_bl,w_leaf,w_ret,w_svc,w_end,w_nop\n"
    "work: stp x29,x30,[sp,#-32]!\nmov x29,sp\nstr x19,[sp,#16]\nmov x19,x0\nmov x9,#0\n"
    "1: cbz x19,2f\nsub x19,x19,#1\n"
    "w_ld: ldr x2,[x1]\nadd x2,x2,#1\nw_st: str x2,[x1]\nw_bl: bl w_leaf\nw_nop: nop\nb 1b\n"
    "2: mov x8,#172\nw_svc: svc #0\nmov x0,x9\nldr x19,[sp,#16]\nldp x29,x30,[sp],#32\nw_end: ret\n"
    "w_leaf: add x9,x9,#1\nw_ret: ret\n");
static attr_t bpa(int type, const void* at, int len) {
    attr_t a = {.type = PERF_TYPE_BREAKPOINT, .disabled = 1, .exclude_kernel = 1, .exclude_hv = 1};
    a.bp_type = type;
    a.bp_addr = (u64)at;
    a.bp_len = len;
    return a;
}
static char exe[256];
static int up(const void* at, int ret, pid_t pid, int cpu) {
    static int t;
    if (!t) t = number_in("/sys/bus/event_source/devices/uprobe/type");
    attr_t a = {.type = t, .disabled = 1};
    a.config = ret;
    a.config1 = (u64)exe;
    a.config2 = file_offset(at);
    return pe(&a, pid, cpu, -1, 0);
}
static int kp(const char* f, int ret, pid_t pid, int cpu) {
    static int t;
    if (!t) t = number_in("/sys/bus/event_source/devices/kprobe/type");
    attr_t a = {.type = t, .disabled = 1};
    a.config = ret;
    a.config1 = (u64)f;
    return pe(&a, pid, cpu, -1, 0);
}
static void on(int f) {
    if (f >= 0) ioctl(f, PERF_EVENT_IOC_ENABLE, 0);
}
static void off(int f) {
    if (f >= 0) ioctl(f, PERF_EVENT_IOC_DISABLE, 0);
}
static volatile int nsig;
static volatile u64 spc;
static void hsig(int s, siginfo_t* si, void* u) {
    nsig++;
    spc = ((ucontext_t*)u)->uc_mcontext.pc;
}
static void same_address(void) { // uprobe + hw breakpoint on one instruction, each kind
    readlink("/proc/self/exe", exe, 255);
    char* at[] = {w_ld, w_st, w_bl, w_leaf, w_ret, w_nop, w_svc, w_end};
    const char* n[] = {"ld", "st", "bl", "leaf", "ret", "nop", "svc", "end"};
    for (int i = 0; i < 8; i++) {
        int u = up(at[i], 0, 0, -1), b, w;
        attr_t a = bpa(HW_BREAKPOINT_X, at[i], 8), c = bpa(HW_BREAKPOINT_RW, cell, 8);
        b = pe(&a, 0, -1, -1, 0);
        w = pe(&c, 0, -1, -1, 0);
        close(u);
        close(b);
        close(w);
        for (int m = 1; m < 8; m++) {
            fflush(stdout);
            pid_t pp = fork();
            if (pp) {
                int st;
                waitpid(pp, &st, 0);
                if (st) say("%s mode %d: status %x", n[i], m, st);
                continue;
            }
            u = up(at[i], 0, 0, -1);
            b = pe(&a, 0, -1, -1, 0);
            w = pe(&c, 0, -1, -1, 0);
            if (m & 1) on(u);
            if (m & 2) on(b);
            if (m & 4) on(w);
            u64 x = cnt(u), y = cnt(b), z = cnt(w);
            u64 r = work(5, cell);
            int g = r;
            off(u);
            off(b);
            off(w);
            say("%s mode %d: result %d cell %d uprobe %d bp %d wp %d", n[i], m, g, (int)cell[0],
                u < 0 ? u : (int)(cnt(u) - x), (int)(cnt(b) - y), (int)(cnt(w) - z));
            _exit(0);
        }
    }
    // next instruction of a uprobe
    for (int i = 0; i < 7; i++) {
        pid_t pp = fork();
        if (pp) {
            int st;
            waitpid(pp, &st, 0);
            if (st) say("%s next: status %x", n[i], st);
            continue;
        }
        int u = up(at[i], 0, 0, -1);
        attr_t a = bpa(HW_BREAKPOINT_X, at[i] + 4, 8);
        int b = pe(&a, 0, -1, -1, 0);
        on(u);
        on(b);
        int r = work(5, cell);
        off(u);
        off(b);
        say("%s then next: %d uprobe %d bp %d", n[i], r, u < 0 ? u : (int)cnt(u), (int)cnt(b));
        _exit(0);
    }
    // two uprobes on neighbouring instructions, retprobe
    int u1 = up(w_ld, 0, 0, -1), u2 = up(w_ld + 4, 0, 0, -1), u3 = up(w_st, 0, 0, -1), u4 = up((void*)work, 1, 0, -1),
        u5 = up((void*)w_leaf, 1, 0, -1);
    on(u1);
    on(u2);
    on(u3);
    on(u4);
    on(u5);
    int r = work(7, cell);
    off(u1);
    off(u2);
    off(u3);
    off(u4);
    off(u5);
    say("neighbours %d: %d %d %d ret %d %d", r, (int)cnt(u1), (int)cnt(u2), (int)cnt(u3), (int)cnt(u4), (int)cnt(u5));
    close(u1);
    close(u2);
    close(u3);
    close(u4);
    close(u5);
}
static void step_mix(void) { // ptrace single step of a child that has uprobes, breakpoints, signals, kprobes
    readlink("/proc/self/exe", exe, 255);
    for (int m = 0; m < 32; m++) {
        pid_t p = fork();
        if (!p) {
            signal(SIGUSR1, SIG_IGN);
            struct sigaction sa = {.sa_sigaction = hsig, .sa_flags = SA_SIGINFO};
            sigaction(SIGALRM, &sa, 0);
            ptrace(PTRACE_TRACEME, 0, 0, 0);
            raise(SIGSTOP);
            u64 r = work(3, cell);
            _exit(r + 10 * (cell[0]));
        }
        int st;
        waitpid(p, &st, 0);
        int u = -1, b = -1, w = -1, k = -1, u2 = -1;
        if (m & 1) {
            u = up(w_leaf, 0, p, -1);
            on(u);
        }
        if (m & 2) {
            attr_t a = bpa(HW_BREAKPOINT_X, w_leaf, 8);
            b = pe(&a, p, -1, -1, 0);
            on(b);
        }
        if (m & 4) {
            attr_t a = bpa(HW_BREAKPOINT_W, cell, 8);
            w = pe(&a, p, -1, -1, 0);
            on(w);
        }
        if (m & 8) {
            k = kp("__arm64_sys_getpid", 0, p, -1);
            on(k);
        }
        if (m & 16) {
            u2 = up(w_st, 0, p, -1);
            on(u2);
        }
        int steps = 0, other = 0, in = 0, alrm = 0;
        char seq[200];
        int sl = 0;
        ptrace(PTRACE_SINGLESTEP, p, 0, 0);
        while (waitpid(p, &st, 0) == p && WIFSTOPPED(st)) {
            struct user_regs_struct g;
            struct iovec v = {&g, sizeof g};
            ptrace(PTRACE_GETREGSET, p, NT_PRSTATUS, &v);
            if (WSTOPSIG(st) != SIGTRAP) {
                other++;
            }
            siginfo_t si;
            ptrace(PTRACE_GETSIGINFO, p, 0, &si);
            if (g.pc >= (u64)work && g.pc < (u64)w_ret + 4) {
                in++;
                if (in < 60 && sl < 190) sl += sprintf(seq + sl, "%x.%d ", (int)(g.pc - (u64)work) / 4, si.si_code);
            }
            int sg = 0;
            if (in == 9 && !alrm) {
                alrm = 1;
                sg = SIGALRM;
            }
            if (in == 14) {
                sg = SIGUSR1;
            }
            steps++;
            if (steps > 3000) break;
            ptrace(in < 45 ? PTRACE_SINGLESTEP : PTRACE_CONT, p, 0, sg);
        }
        say("mode %d: in %d other %d exit %x seq %s u %d b %d w %d k %d u2 %d", m, in, other, st, seq,
            u < 0 ? u : (int)cnt(u), b < 0 ? b : (int)cnt(b), w < 0 ? w : (int)cnt(w), k < 0 ? k : (int)cnt(k),
            u2 < 0 ? u2 : (int)cnt(u2));
        kill(p, SIGKILL);
        if (u >= 0) close(u);
        if (b >= 0) close(b);
        if (w >= 0) close(w);
        if (k >= 0) close(k);
        if (u2 >= 0) close(u2);
    }
}
static void kprobes(void) { // kprobe + kretprobe + breakpoint sampling + uprobe + handler
    int k = kp("__arm64_sys_getpid", 0, 0, -1), r = kp("__arm64_sys_getpid", 1, 0, -1),
        k2 = kp("__arm64_sys_getppid", 0, 0, -1);
    attr_t a = bpa(HW_BREAKPOINT_X, w_svc, 8);
    int b = pe(&a, 0, -1, -1, 0);
    on(k);
    on(r);
    on(b);
    if (k2 >= 0) on(k2);
    for (int i = 0; i < 9; i++) work(1, cell);
    off(k);
    off(r);
    off(b);
    say("kprobe %d ret %d bp %d getppid %d", (int)cnt(k), (int)cnt(r), (int)cnt(b), k2 < 0 ? k2 : (int)cnt(k2));
}
static void groups(void) {
    for (int m = 0; m < 8; m++) {
        attr_t a = bpa(HW_BREAKPOINT_X, w_leaf, 8), b = bpa(HW_BREAKPOINT_W, cell, 8),
               c = bpa(HW_BREAKPOINT_R, cell, 8),
               s = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .disabled = 1};
        a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED;
        b.disabled = !(m & 1);
        c.disabled = !(m & 2);
        int l = pe(m & 4 ? &s : &a, 0, -1, -1, 0);
        if (m & 4) {
        }
        int x = pe(&b, 0, -1, l, 0), y = pe(&c, 0, -1, l, 0), z = m & 4 ? pe(&a, 0, -1, l, 0) : 0;
        ioctl(l, PERF_EVENT_IOC_ENABLE, 0);
        work(6, cell);
        ioctl(l, PERF_EVENT_IOC_DISABLE, 0);
        u64 v[8] = {0};
        int n = read(l, v, sizeof v);
        say("group %d: leader %d %d %d %d, read %d nr %d: %d %d %d own %d %d", m, l > 0, x > 0 ? 1 : x, y > 0 ? 1 : y,
            z > 0 ? 1 : z, n, (int)v[0], (int)v[2], (int)v[3], (int)v[4], (int)cnt(x), (int)cnt(y));
        close(x);
        close(y);
        close(l);
        if (z > 0) close(z);
    }
}
static volatile int tn;
static volatile u64 taddr, tdata, tpc;
static volatile int tcode, tperf, ttype;
static volatile int tfd = -1;
static void htrap(int s, siginfo_t* si, void* u) {
    tn++;
    if (tn >= 8) ioctl(tfd, PERF_EVENT_IOC_DISABLE, 0);
    tcode = si->si_code;
    taddr = (u64)si->si_addr;
    tpc = ((ucontext_t*)u)->uc_mcontext.pc;
    u64* q = (u64*)((char*)si + 0x18);
    tdata = q[0];
    ttype = *(u32*)((char*)si + 0x20);
}
static void sigtrap(void) {
    struct sigaction sa = {.sa_sigaction = htrap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &sa, 0);
    for (int t = 1; t <= 3; t++)
        for (int m = 0; m < 4; m++) {
            attr_t a = bpa(t, cell, 8);
            a.sigtrap = 1;
            a.remove_on_exec = 1;
            a.sample_period = m & 1 ? 2 : 1;
            a.sig_data = 0xabc;
            if (m & 2) {
                a.inherit = 1;
                a.inherit_thread = 1;
            }
            int f = pe(&a, 0, -1, -1, 0);
            tn = 0;
            tfd = f;
            on(f);
            int r = work(4, cell);
            off(f);
            say("sigtrap type %d m %d: fd %d n %d code %d addr %d data %lx type %d pc %d result %d count %d", t, m,
                f > 0 ? 1 : f, tn, tcode, taddr == (u64)cell, tdata, ttype, (int)(tpc - (u64)work) / 4, r, (int)cnt(f));
            if (f > 0) close(f);
        }
    // sigtrap blocked => forced
    sigset_t ss;
    sigemptyset(&ss);
    sigaddset(&ss, SIGTRAP);
    pid_t p = fork();
    if (!p) {
        sigprocmask(SIG_BLOCK, &ss, 0);
        attr_t a = bpa(2, cell, 8);
        a.sigtrap = 1;
        a.remove_on_exec = 1;
        a.sample_period = 1;
        int f = pe(&a, 0, -1, -1, 0);
        alarm(2);
        tfd = f;
        on(f);
        work(3, cell);
        off(f);
        tn = 0;
        sigset_t pe_;
        sigpending(&pe_);
        sigprocmask(SIG_UNBLOCK, &ss, 0);
        _exit(20 + tn + 10 * sigismember(&pe_, SIGTRAP));
    }
    int st;
    waitpid(p, &st, 0);
    say("blocked: %x", st);
    for (int ignored = 1; ignored >= 0; --ignored) {
        p = fork();
        if (!p) {
            signal(SIGTRAP, ignored ? SIG_IGN : SIG_DFL);
            attr_t a = bpa(2, cell, 8);
            a.sigtrap = 1;
            a.remove_on_exec = 1;
            a.sample_period = 1;
            int f = pe(&a, 0, -1, -1, 0);
            alarm(2);
            on(f);
            work(3, cell);
            off(f);
            _exit((int)cnt(f));
        }
        waitpid(p, &st, 0);
        say("%s: %x", ignored ? "ignored" : "default", st);
    }
}
static void full(void) {
    attr_t a;
    int f[20];
    for (int k = 0; k < 2; k++) {
        int n = 0, e = 0;
        for (int i = 0; i < 20; i++) {
            a = bpa(k ? HW_BREAKPOINT_W : HW_BREAKPOINT_X, k ? (char*)&cell[i % 16] : w_leaf + 4 * (i & 1), 8);
            f[i] = pe(&a, 0, -1, -1, 0);
            if (f[i] < 0) {
                e = f[i];
                break;
            }
            n++;
        }
        say("kind %d: %d then %s", k, n, err_name(e));
        pid_t p = fork();
        if (!p) {
            a = bpa(k ? HW_BREAKPOINT_W : HW_BREAKPOINT_X, cell, 8);
            int g = pe(&a, 0, -1, -1, 0);
            _exit(g < 0 ? -g : 0);
        }
        int st;
        waitpid(p, &st, 0);
        say("child: %d", WEXITSTATUS(st));
        a = bpa(k ? HW_BREAKPOINT_W : HW_BREAKPOINT_X, cell, 8);
        int g = pe(&a, -1, 0, -1, 0);
        say("cpu: %s", err_name(g < 0 ? g : 0));
        if (g > 0) close(g);
        close(f[0]);
        a = bpa(k ? HW_BREAKPOINT_W : HW_BREAKPOINT_X, cell, 8);
        g = pe(&a, -1, 0, -1, 0);
        say("cpu after one closed: %s", err_name(g < 0 ? g : 0));
        int h = pe(&a, 0, -1, -1, 0);
        say("task then: %s", err_name(h < 0 ? h : 0));
        if (g > 0) close(g);
        h = pe(&a, 0, -1, -1, 0);
        say("task then: %s", err_name(h < 0 ? h : 0));
        if (h > 0) close(h);
        for (int i = 1; i < n; i++) close(f[i]);
    }
    // freed by exit of child that owns
    int pp[2];
    pipe(pp);
    pid_t p = fork();
    if (!p) {
        for (int i = 0; i < 6; i++) {
            a = bpa(HW_BREAKPOINT_X, w_leaf, 8);
            pe(&a, 0, -1, -1, 0);
        }
        write(pp[1], "x", 1);
        pause();
    }
    char c;
    read(pp[0], &c, 1);
    a = bpa(HW_BREAKPOINT_X, w_leaf, 8);
    int g = pe(&a, -1, 0, -1, 0);
    say("cpu while child holds: %s", err_name(g < 0 ? g : 0));
    g = pe(&a, p, -1, -1, 0);
    say("7th on child: %s", err_name(g < 0 ? g : 0));
    kill(p, SIGKILL);
    waitpid(p, 0, 0);
    g = pe(&a, -1, 0, -1, 0);
    say("after its end: %s", err_name(g < 0 ? g : 0));
    // inherited
    a = bpa(HW_BREAKPOINT_W, cell, 8);
    a.inherit = 1;
    for (int i = 0; i < 4; i++) {
        f[i] = pe(&a, 0, -1, -1, 0);
        on(f[i]);
    }
    for (int i = 0; i < 3; i++) {
        p = fork();
        if (!p) {
            attr_t b = bpa(HW_BREAKPOINT_W, cell, 8);
            int h = pe(&b, 0, -1, -1, 0);
            work(2, cell);
            _exit(h < 0 ? -h : 0);
        }
        int st;
        waitpid(p, &st, 0);
        say("heir: %d, counts %d %d", WEXITSTATUS(st), (int)cnt(f[0]), (int)cnt(f[3]));
    }
    for (int i = 0; i < 4; i++) close(f[i]);
    p = fork();
    if (!p) {
        attr_t b = bpa(HW_BREAKPOINT_W, cell, 8);
        int h = 0, n = 0;
        while ((h = pe(&b, 0, -1, -1, 0)) > 0) n++;
        _exit(n * 10);
    }
    int st;
    waitpid(p, &st, 0);
    say("after close: %d", WEXITSTATUS(st));
}
static void forks(void) {
    attr_t a = bpa(HW_BREAKPOINT_W, cell, 8);
    for (int inh = 0; inh < 2; inh++) {
        a.inherit = inh;
        int f = pe(&a, 0, -1, -1, 0);
        on(f);
        pid_t p = fork();
        if (!p) {
            work(7, cell);
            _exit(0);
        }
        waitpid(p, 0, 0);
        work(2, cell);
        off(f);
        say("fork inherit %d: %d", inh, (int)cnt(f));
        close(f);
        f = pe(&a, 0, -1, -1, 0);
        on(f);
        p = vfork();
        if (!p) {
            work(5, cell);
            _exit(0);
        }
        waitpid(p, 0, 0);
        off(f);
        say("vfork inherit %d: %d", inh, (int)cnt(f));
        close(f);
    }
}
static void modify(void) {
    attr_t a = bpa(HW_BREAKPOINT_W, cell, 8);
    int f = pe(&a, 0, -1, -1, 0);
    on(f);
    work(3, cell);
    say("w %d", (int)cnt(f));
    struct {
        const char* n;
        int t;
        void* at;
        int len;
        int dis;
    } c[] = {{"addr", 2, &cell[1], 8, 0}, {"back", 2, cell, 8, 0},
             {"type r", 1, cell, 8, 0},   {"rw", 3, cell, 8, 0},
             {"len4", 3, cell, 4, 0},     {"len3", 3, cell, 3, 0},
             {"len9", 3, cell, 9, 0},     {"x", 4, w_leaf, 8, 0},
             {"type0", 0, cell, 8, 0},    {"unal", 3, (char*)cell + 4, 8, 0},
             {"dis", 2, cell, 8, 1},      {"kern", 2, (void*)0xffff800000000000, 8, 0},
             {"null", 2, 0, 8, 0},        {"end", 2, cell, 8, 0}};
    for (unsigned i = 0; i < N(c); i++) {
        attr_t b = bpa(c[i].t, c[i].at, c[i].len);
        b.disabled = c[i].dis;
        b.size = sizeof b;
        int r = ioctl(f, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &b);
        int e = r < 0 ? errno : 0;
        u64 x = cnt(f);
        work(3, cell);
        say("modify %s: %s, counts %d", c[i].n, err_name(e), (int)(cnt(f) - x));
    }
    close(f);
}
static void* thr(void* v) {
    work((u64)v, &cell[8]);
    work((u64)v, cell);
    return 0;
}
static void threads(void) {
    for (int m = 0; m < 4; m++) {
        attr_t a = bpa(m & 1 ? HW_BREAKPOINT_X : HW_BREAKPOINT_RW, m & 1 ? (void*)w_leaf : (void*)cell, 8);
        a.inherit = !!(m & 2);
        int f = pe(&a, 0, -1, -1, 0);
        on(f);
        pthread_t t[5];
        for (u64 i = 0; i < 5; i++) {
            pthread_create(t + i, 0, thr, (void*)(i + 1));
            pthread_join(t[i], 0);
        }
        off(f);
        say("threads %d: %d", m, (int)cnt(f));
        close(f);
    }
}
int main(int c, char** v) {
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
    R(same_address) R(kprobes) R(groups) R(sigtrap) R(full) R(forks) R(modify) R(threads) R(step_mix) return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Signals: handlers and their registers, masks, alternate stacks, restart, waiting, queues, timers that send them.
#include "os_guest.h"

static volatile int got, got_code, got_value, got_pid, nested;
static volatile uintptr_t handler_sp;

static void simple(int s) { got = s; }
static void detailed(int s, siginfo_t* i, void* u) {
    (void)u;
    got = s, got_code = i->si_code, got_value = i->si_value.sival_int, got_pid = i->si_pid;
    handler_sp = (uintptr_t)__builtin_frame_address(0);
}
static void install(int s, void (*fn)(int, siginfo_t*, void*), int flags) {
    struct sigaction a = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags};
    sigaction(s, &a, NULL);
}

static void basics(void) {
    struct sigaction old;
    SHOW((long)(signal(SIGUSR1, simple) == SIG_DFL));
    SHOW(raise(SIGUSR1));
    say("got %d", got);
    install(SIGUSR1, detailed, 0);
    SHOW(kill(getpid(), SIGUSR1));
    say("kill: %d code %d me %d", got, got_code, got_pid == getpid());
    SHOW(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1));
    say("tgkill: code %d", got_code);
    union sigval v = {.sival_int = 42};
    SHOW(sigqueue(getpid(), SIGUSR1, v));
    say("sigqueue: code %d value %d", got_code, got_value);
    SHOW(kill(getpid(), 0));
    SHOW(kill(getpid(), 65));
    SHOW(kill(999999, 0));
    SHOW(syscall(SYS_tgkill, getpid(), 999999, 0));
    SHOW(syscall(SYS_tgkill, 0, 1, 0));
    SHOW(syscall(SYS_tkill, -1, 0));
    SHOW(sigaction(SIGKILL, &(struct sigaction){.sa_handler = SIG_IGN}, NULL));
    SHOW(sigaction(SIGKILL, NULL, &old));
    SHOW(sigaction(65, NULL, &old));
    SHOW(syscall(SYS_rt_sigaction, SIGUSR1, NULL, NULL, 4));
    install(SIGUSR1, detailed, SA_RESETHAND);
    raise(SIGUSR1);
    sigaction(SIGUSR1, NULL, &old);
    say("after RESETHAND: %d", old.sa_handler == SIG_DFL);
}

static void show_set(const char* name, const sigset_t* s) { say("%s: %#lx", name, *(const unsigned long*)s); }

static void masks(void) {
    sigset_t s, o;
    struct timespec zero = {0, 0};
    siginfo_t i;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1), sigaddset(&s, SIGUSR2), sigaddset(&s, SIGRTMIN), sigaddset(&s, SIGKILL),
        sigaddset(&s, SIGCHLD);
    SHOW(sigprocmask(SIG_BLOCK, &s, &o));
    sigprocmask(SIG_SETMASK, NULL, &o);
    show_set("mask", &o);
    SHOW(syscall(SYS_rt_sigprocmask, 9, &s, NULL, 8));
    SHOW(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &s, NULL, 4));
    install(SIGUSR1, detailed, 0);
    got = 0;
    raise(SIGUSR1), raise(SIGUSR1), kill(getpid(), SIGUSR2);
    union sigval v;
    for (int k = 1; k <= 3; k++) v.sival_int = k, sigqueue(getpid(), SIGRTMIN, v);
    sigpending(&o);
    show_set("pending", &o);
    say("none came: %d", got);
    SHOW(sigtimedwait(&s, &i, &zero));
    say("%d %d", i.si_signo, i.si_code);
    SHOW(sigwaitinfo(&s, &i));
    for (int k = 0; k < 3; k++) say("%d: %d", sigtimedwait(&s, &i, &zero) == SIGRTMIN, i.si_value.sival_int);
    SHOW(sigtimedwait(&s, &i, &zero));
    // SIGCHLD is ignored by default, yet awaited here.
    pid_t p = fork();
    if (p == 0) {
        msleep(3);
        _exit(11);
    }
    SHOW(sigwaitinfo(&s, &i));
    say("child: %d %d %d %d", i.si_signo, i.si_code == CLD_EXITED, i.si_pid == p, i.si_status);
    wait(NULL);
    struct timespec ten = {0, 10000000};
    int64_t t = now_ns();
    SHOW(sigtimedwait(&s, &i, &ten));
    t = now_ns() - t;
    say("waited %d", t >= 10000000);
    raise(SIGUSR1);
    sigemptyset(&o);
    got = 0;
    SHOW(sigsuspend(&o));
    say("suspend got %d", got);
    sigprocmask(SIG_SETMASK, NULL, &o);
    show_set("mask again", &o);
    signal(SIGUSR2, SIG_IGN);
    kill(getpid(), SIGUSR2);
    sigpending(&o);
    show_set("ignored but blocked", &o);
    signal(SIGUSR2, SIG_IGN);
    sigpending(&o);
    show_set("ignored anew", &o);
    sigemptyset(&s);
    sigprocmask(SIG_SETMASK, &s, NULL);
    say("other signal interrupts sigtimedwait");
    sigaddset(&s, SIGUSR2);
    sigprocmask(SIG_SETMASK, &s, NULL);
    struct itimerval it = {.it_value = {0, 2000}};
    install(SIGALRM, detailed, SA_RESTART);
    setitimer(ITIMER_REAL, &it, NULL);
    SHOW(sigwaitinfo(&s, &i));
    sigemptyset(&s);
    sigprocmask(SIG_SETMASK, &s, NULL);
    signal(SIGUSR2, SIG_DFL);
}

static volatile int order[8], order_n;
static void note(int s) { order[order_n++ & 7] = s; }
static void nest(int s) {
    nested++;
    note(s);
    if (order_n < 3) raise(s);
    nested--;
    note(-s);
}
static void handler_masks(void) {
    struct sigaction a = {.sa_handler = nest, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR1, &a, NULL);
    order_n = nested = 0;
    raise(SIGUSR1);
    say("nodefer: %d %d %d %d %d %d", order[0], order[1], order[2], order[3], order[4], order[5]);
    a.sa_flags = 0;
    sigaction(SIGUSR1, &a, NULL);
    order_n = nested = 0;
    raise(SIGUSR1);
    say("deferred: %d, %d %d %d %d", order_n, order[0], order[1], order[2], order[3]);
    a.sa_handler = note;
    sigfillset(&a.sa_mask);
    sigset_t s, o;
    sigfillset(&s);
    sigprocmask(SIG_BLOCK, &s, &o);
    int all[] = {SIGTERM, SIGHUP, SIGUSR2, SIGRTMIN + 1, SIGSEGV, SIGINT};
    for (int k = 0; k < 6; k++) sigaction(all[k], &a, NULL);
    order_n = 0;
    for (int k = 0; k < 6; k++) kill(getpid(), all[k]);
    sigprocmask(SIG_SETMASK, &o, NULL);
    say("order: %d %d %d %d %d %d", order[0], order[1], order[2], order[3], order[4], order[5]);
    for (int k = 0; k < 6; k++) signal(all[k], SIG_DFL);
}

// Registers, flags and vectors survive a handler that uses them all.
static void clobber(int s, siginfo_t* i, void* u) {
    (void)i;
    ucontext_t* c = u;
    got = s;
    got_value = (int)(c->uc_mcontext.regs[20] & 0xffff);
    __asm__ volatile(
        "movi v0.16b, #255\n movi v8.16b, #255\n movi v31.16b, #255\n mov x9, #-1\n cmp x9, x9\n msr fpcr, xzr\n" ::
            : "v0", "v8", "v31", "x9", "cc");
}
static void registers(void) {
    install(SIGALRM, clobber, 0);
    struct itimerval it = {.it_value = {0, 1000}};
    setitimer(ITIMER_REAL, &it, NULL);
    got = 0;
    unsigned long bad = 0, v0, v31, x9, flags, fpcr = 0x400000, back;
    __asm__ volatile(
        "mov x20, #0x1234\n msr fpcr, %[fpcr]\n mov x9, #77\n dup v0.2d, x9\n dup v31.2d, x9\n dup v8.2d, x9\n cmp x9, "
        "#78\n"
        "1: ldr w10, %[got]\n cbz w10, 1b\n"
        "mrs %[flags], nzcv\n mov %[x9], x9\n umov %[v0], v0.d[1]\n umov %[v31], v31.d[0]\n mrs %[back], fpcr\n msr "
        "fpcr, xzr\n"
        : [v0] "=&r"(v0), [v31] "=&r"(v31), [x9] "=&r"(x9), [flags] "=&r"(flags), [back] "=&r"(back)
        : [got] "m"(got), [fpcr] "r"(fpcr)
        : "x9", "x10", "x20", "v0", "v8", "v31", "cc");
    bad = v0 != 77 || v31 != 77 || x9 != 77;
    say("registers: %lu, nzcv %#lx, fpcr %#lx, x20 seen %#x", bad, flags, back, got_value);
}
static void changes(int s, siginfo_t* i, void* u) {
    (void)s, (void)i;
    ucontext_t* c = u;
    c->uc_mcontext.pc += 4;
    c->uc_mcontext.regs[0] = 99;
    struct fpsimd_context* f = (void*)c->uc_mcontext.__reserved;
    say("fpsimd record: %#x %u", f->head.magic, f->head.size);
    f->vregs[3] = 0x55;
    struct _aarch64_ctx* n = (void*)((char*)f + f->head.size);
    say("next record: %#x %u", n->magic, n->size);
}
static void context(void) {
    install(SIGTRAP, changes, 0);
    unsigned long x, v;
    __asm__ volatile("movi v3.16b, #0\n mov x0, #1\n brk #7\n mov %0, x0\n umov %1, v3.d[0]"
                     : "=r"(x), "=r"(v)
                     :
                     : "x0", "v3");
    say("after brk: %lu %#lx", x, v);
    signal(SIGTRAP, SIG_DFL);
}

static char alt[16384];
static void altstacks(void) {
    stack_t s, o;
    memset(&o, 0xee, sizeof o);
    SHOW(sigaltstack(NULL, &o));
    say("none: %d %zu %p", o.ss_flags, o.ss_size, o.ss_sp);
    s = (stack_t){alt, 0, 100};
    SHOW(sigaltstack(&s, NULL));
    s = (stack_t){alt, 64, sizeof alt};
    SHOW(sigaltstack(&s, NULL));
    s = (stack_t){alt, 0, sizeof alt};
    SHOW(sigaltstack(&s, NULL));
    sigaltstack(NULL, &o);
    say("set: %d %zu %d", o.ss_flags, o.ss_size, o.ss_sp == alt);
    install(SIGUSR1, detailed, SA_ONSTACK);
    raise(SIGUSR1);
    say("on it: %d", handler_sp > (uintptr_t)alt && handler_sp < (uintptr_t)alt + sizeof alt);
    install(SIGUSR1, detailed, 0);
    raise(SIGUSR1);
    say("not on it: %d", !(handler_sp > (uintptr_t)alt && handler_sp < (uintptr_t)alt + sizeof alt));
}
static void inside(int s, siginfo_t* i, void* u) {
    (void)s, (void)i;
    stack_t o;
    SHOW(sigaltstack(NULL, &o));
    say("inside: %d", o.ss_flags);
    o.ss_flags = SS_DISABLE;
    SHOW(sigaltstack(&o, NULL));
    say("context: %d", ((ucontext_t*)u)->uc_stack.ss_flags);
}
static void altstacks2(void) {
    stack_t o;
    install(SIGUSR1, inside, SA_ONSTACK);
    raise(SIGUSR1);
    sigaltstack(NULL, &o);
    say("afterwards: %d", o.ss_flags);
    stack_t s = {alt, (int)(1u << 31), sizeof alt};
    SHOW(sigaltstack(&s, NULL));
    raise(SIGUSR1);
    sigaltstack(NULL, &o);
    say("autodisarm afterwards: %#x", o.ss_flags);
    o.ss_flags = SS_DISABLE;
    SHOW(sigaltstack(&o, NULL));
}

static int64_t since;
static void alarm_in(int us, int flags) {
    struct sigaction a = {.sa_handler = simple, .sa_flags = flags};
    sigaction(SIGALRM, &a, NULL);
    struct itimerval it = {.it_value = {us / 1000000, us % 1000000}};
    got = 0;
    since = now_ns();
    setitimer(ITIMER_REAL, &it, NULL);
}
static void restart(int flags) {
    char c;
    int p[2], s;
    if (pipe(p)) return;
    say("flags %#x", flags);
    pid_t child = fork();
    if (child == 0) {
        msleep(60);
        write(p[1], "x", 1);
        msleep(30);
        _exit(3);
    }
    alarm_in(5000, flags);
    SHOW(read(p[0], &c, 1));
    say("got %d", got);
    alarm_in(5000, flags);
    TRY(waitpid(child, &s, 0));
    say("got %d", got);
    while (wait(&s) > 0) {
    }
    struct timespec t = {0, 20000000}, rem = {0, 0};
    alarm_in(5000, flags);
    SHOW(nanosleep(&t, &rem));
    say("left more than 10 ms: %d, less than 16: %d", rem.tv_nsec > 10000000, rem.tv_nsec < 16000000);
    alarm_in(5000, flags);
    SHOW(pause());
    alarm_in(5000, flags);
    SHOW(sigsuspend(&(sigset_t){0}));
    alarm_in(5000, flags);
    int word = 0;
    SHOW(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, 0, 0));
    alarm_in(5000, flags);
    if (!flags) SHOW(syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, 0, 0));
    close(p[0]), close(p[1]);
}
// A signal without a handler does not end a sleep.
static void unnoticed(void) {
    pid_t p = fork();
    if (p == 0) {
        struct timespec t = {0, 30000000};
        int64_t a = now_ns();
        int r = nanosleep(&t, NULL);
        _exit(r == 0 && now_ns() - a >= 30000000 ? 0 : 1);
    }
    msleep(5);
    kill(p, SIGSTOP);
    msleep(2);
    kill(p, SIGCONT);
    kill(p, SIGWINCH);
    int s;
    waitpid(p, &s, 0);
    say("sleep through stop and continue: %s", status_text(s));
}

static void timers(void) {
    timer_t id;
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 2, .sigev_value.sival_int = 1234};
    struct itimerspec it = {{0, 3000000}, {0, 3000000}}, cur;
    sigset_t s;
    siginfo_t i;
    sigemptyset(&s);
    sigaddset(&s, SIGRTMIN + 2);
    sigprocmask(SIG_BLOCK, &s, NULL);
    TRY(timer_create(CLOCK_MONOTONIC, &e, &id));
    SHOW(timer_gettime(id, &cur));
    say("%ld %ld", cur.it_value.tv_nsec, cur.it_interval.tv_nsec);
    SHOW(timer_settime(id, 0, &it, NULL));
    SHOW(sigwaitinfo(&s, &i) == SIGRTMIN + 2);
    say("timer: code %d value %d", i.si_code, i.si_value.sival_int);
    msleep(20);
    SHOW(sigwaitinfo(&s, &i) == SIGRTMIN + 2);
    say("overrun: %d", i.si_overrun >= 4 && timer_getoverrun(id) >= 4);
    it = (struct itimerspec){{0, 0}, {0, 0}};
    SHOW(timer_settime(id, 0, &it, &cur));
    say("interval %ld, value in range %d", cur.it_interval.tv_nsec,
        cur.it_value.tv_nsec > 0 && cur.it_value.tv_nsec <= 3000000);
    SHOW(timer_delete(id));
    SHOW(timer_delete(id));
    SHOW(timer_create(77, &e, &id));
    e.sigev_signo = 99;
    SHOW(timer_create(CLOCK_MONOTONIC, &e, &id));
    it.it_value.tv_nsec = 1000000000;
    e.sigev_signo = SIGRTMIN + 2;
    timer_create(CLOCK_REALTIME, &e, &id);
    SHOW(timer_settime(id, 0, &it, NULL));
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 4000000;
    if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, t.tv_sec++;
    it = (struct itimerspec){{0, 0}, t};
    int64_t a = now_ns();
    SHOW(timer_settime(id, TIMER_ABSTIME, &it, NULL));
    sigwaitinfo(&s, &i);
    a = now_ns() - a;
    say("absolute: %d", a >= 3500000 && a < 50000000);
    struct itimerval iv = {{0, 4000}, {0, 4000}}, old;
    int n = 0;
    sigaddset(&s, SIGALRM);
    sigprocmask(SIG_BLOCK, &s, NULL);
    SHOW(setitimer(ITIMER_REAL, &iv, NULL));
    for (int k = 0; k < 5; k++) n += sigwaitinfo(&s, &i) == SIGALRM && i.si_code == SI_KERNEL;
    say("itimer: %d", n);
    iv = (struct itimerval){{0, 0}, {0, 0}};
    SHOW(setitimer(ITIMER_REAL, &iv, &old));
    say("old interval %ld", (long)old.it_interval.tv_usec);
    SHOW(setitimer(3, &iv, &old));
    SHOW(getitimer(ITIMER_REAL, &old));
    say("%ld %ld", (long)old.it_value.tv_usec, (long)old.it_interval.tv_usec);
    SHOW(alarm(100));
    SHOW(alarm(0) > 98);
    pid_t p = fork();
    if (p == 0) _exit((int)alarm(0));
    int status;
    waitpid(p, &status, 0);
    say("alarm after fork: %s", status_text(status));
    // A timer that is still armed when its process ends.
    p = fork();
    if (p == 0) {
        it = (struct itimerspec){{0, 1000000}, {0, 1000000}};
        timer_create(CLOCK_MONOTONIC, &e, &id);
        timer_settime(id, 0, &it, NULL);
        iv = (struct itimerval){{0, 1500}, {0, 1500}};
        setitimer(ITIMER_REAL, &iv, NULL);
        _exit(0);
    }
    waitpid(p, &status, 0);
    msleep(5);
    say("armed at exit: %s", status_text(status));
    sigprocmask(SIG_UNBLOCK, &s, NULL);
}

static volatile int cpu_signals;
static void on_prof(int s) { cpu_signals += s == SIGPROF ? 1 : s == SIGVTALRM ? 100 : 0; }
static void cpu_timers(void) {
    signal(SIGPROF, on_prof), signal(SIGVTALRM, on_prof);
    struct itimerval iv = {{0, 0}, {0, 20000}};
    SHOW(setitimer(ITIMER_PROF, &iv, NULL));
    SHOW(setitimer(ITIMER_VIRTUAL, &iv, NULL));
    while (cpu_signals < 101) {
    }
    say("cpu timers: %d", cpu_signals);
    iv.it_value.tv_usec = 0;
    SHOW(setitimer(ITIMER_PROF, &iv, NULL));
}

// Threads: who gets a signal of the process.
static volatile pid_t taker;
static void take(int s) { (void)s, taker = gettid(); }
static void* open_thread(void* arg) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    pthread_sigmask(SIG_UNBLOCK, &s, NULL);
    *(volatile pid_t*)arg = gettid();
    while (!taker) usleep(200);
    return NULL;
}
static void* spin_thread(void* arg) {
    *(volatile pid_t*)arg = gettid();
    while (!taker) {
    }
    return NULL;
}
static void threads(void) {
    signal(SIGUSR2, take);
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &s, NULL);
    pthread_t t;
    volatile pid_t tid = 0;
    pthread_create(&t, NULL, open_thread, (void*)&tid);
    while (!tid) usleep(100);
    kill(getpid(), SIGUSR2);
    pthread_join(t, NULL);
    say("taken by the one that does not block: %d", taker == tid);
    taker = 0, tid = 0;
    pthread_sigmask(SIG_UNBLOCK, &s, NULL);
    pthread_create(&t, NULL, spin_thread, (void*)&tid);
    while (!tid) usleep(100);
    pthread_kill(t, SIGUSR2);
    pthread_join(t, NULL);
    say("taken by the one it was sent to: %d", taker == tid);
}

static void overflow(void) {
    volatile char big[4096];
    big[0] = 1;
    overflow();
    big[1] = 2;
}
static sigjmp_buf jump;
static void on_overflow(int s, siginfo_t* i, void* u) {
    (void)u;
    got = s, got_code = i->si_code;
    siglongjmp(jump, 1);
}
static void stack_overflow(void) {
    stack_t s = {alt, 0, sizeof alt};
    sigaltstack(&s, NULL);
    install(SIGSEGV, on_overflow, SA_ONSTACK);
    if (!sigsetjmp(jump, 1)) overflow();
    say("stack overflow: %d %d", got, got_code);
    signal(SIGSEGV, SIG_DFL);
    in_child("stack overflow without a stack for the handler", overflow);
}

int main(void) {
    basics();
    masks();
    handler_masks();
    registers();
    context();
    altstacks();
    altstacks2();
    restart(0);
    restart(SA_RESTART);
    unnoticed();
    timers();
    cpu_timers();
    threads();
    stack_overflow();
    return 0;
}

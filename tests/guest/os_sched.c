// SPDX-License-Identifier: Apache-2.0
// Scheduling: affinity, policies and priorities and their errors, real-time order, yielding, rseq, context switches.
#include "os_guest.h"

#include <sys/rseq.h>

static void affinity(void) {
    cpu_set_t all, s;
    int n = (int)sysconf(_SC_NPROCESSORS_ONLN), bad = 0;
    SHOW(sched_getaffinity(0, sizeof all, &all));
    for (int i = 0; i < 3 * n; i++) {
        CPU_ZERO(&s);
        CPU_SET(i % n, &s);
        bad += sched_setaffinity(0, sizeof s, &s) != 0;
        bad += sched_getcpu() != i % n;
        unsigned cpu, node;
        bad += syscall(SYS_getcpu, &cpu, &node, NULL) != 0 || cpu != (unsigned)(i % n) || node != 0;
    }
    say("pinned: %d bad", bad);
    CPU_ZERO(&s);
    SHOW(sched_setaffinity(0, sizeof s, &s));
    CPU_SET(700, &s);
    SHOW(sched_setaffinity(0, sizeof s, &s));
    SHOW(sched_setaffinity(999999, sizeof all, &all));
    SHOW(syscall(SYS_sched_getaffinity, 0, 3, &s));
    SHOW(sched_setaffinity(0, sizeof all, &all));
    pid_t p = fork();
    if (p == 0)
        for (;;) pause();
    CPU_ZERO(&s);
    CPU_SET(n - 1, &s);
    SHOW(sched_setaffinity(p, sizeof s, &s));
    cpu_set_t got;
    SHOW(sched_getaffinity(p, sizeof got, &got) == 0 && CPU_EQUAL(&got, &s));
    kill(p, SIGKILL);
    wait(NULL);
    p = fork();
    if (p == 0)
        for (;;) {
        }
    msleep(2);
    SHOW(sched_setaffinity(p, sizeof s, &s));
    kill(p, SIGKILL);
    wait(NULL);
}

static void policies(void) {
    struct sched_param p = {0}, q;
    struct timespec t;
    SHOW(sched_getscheduler(0));
    SHOW(sched_getscheduler(999999));
    SHOW(sched_getscheduler(-1));
    p.sched_priority = 1;
    SHOW(sched_setscheduler(0, SCHED_OTHER, &p));
    SHOW(sched_setscheduler(0, 77, &p));
    SHOW(sched_setscheduler(0, SCHED_FIFO, NULL));
    p.sched_priority = 100;
    SHOW(sched_setscheduler(0, SCHED_FIFO, &p));
    p.sched_priority = 10;
    SHOW(sched_setscheduler(0, SCHED_FIFO, &p));
    SHOW(sched_getscheduler(0));
    sched_getparam(0, &q);
    say("priority %d", q.sched_priority);
    SHOW(sched_rr_get_interval(0, &t));
    say("fifo interval %ld %ld", (long)t.tv_sec, t.tv_nsec);
    SHOW(sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &p));
    SHOW(sched_getscheduler(0) == (SCHED_RR | SCHED_RESET_ON_FORK));
    SHOW(sched_rr_get_interval(0, &t));
    // In ticks, which need not divide a second.
    say("rr interval %ld ms", (long)t.tv_sec * 1000 + (t.tv_nsec + 500000) / 1000000);
    pid_t c = fork();
    if (c == 0) _exit(sched_getscheduler(0));
    int s;
    waitpid(c, &s, 0);
    say("child of reset: %s", status_text(s));
    p.sched_priority = 11;
    SHOW(sched_setparam(0, &p));
    p.sched_priority = 0;
    SHOW(sched_setscheduler(0, SCHED_BATCH, &p));
    SHOW(sched_setscheduler(0, SCHED_IDLE, &p));
    SHOW(sched_setscheduler(0, SCHED_OTHER, &p));
    SHOW(sched_get_priority_max(SCHED_FIFO));
    SHOW(sched_get_priority_min(SCHED_RR));
    SHOW(sched_get_priority_max(SCHED_OTHER));
    SHOW(sched_get_priority_max(50));
    errno = 0;
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(setpriority(PRIO_PROCESS, 0, 5));
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(setpriority(PRIO_PROCESS, 0, 100));
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(nice(-39));
    SHOW(getpriority(PRIO_PROCESS, 999999));
    SHOW(getpriority(7, 0));
    SHOW(setpriority(PRIO_PROCESS, 0, 0));
}

// On one CPU a more urgent real-time thread runs at once, equals take turns by arrival.
static int order[16];
static _Atomic int order_n;
static void* rt_thread(void* arg) {
    order[order_n++] = (int)(long)arg;
    sched_yield();
    order[order_n++] = (int)(long)arg + 100;
    return NULL;
}
static pthread_t start(int policy, int priority, long id) {
    pthread_attr_t a;
    pthread_t t;
    struct sched_param p = {priority};
    pthread_attr_init(&a);
    pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&a, policy);
    pthread_attr_setschedparam(&a, &p);
    if (pthread_create(&t, &a, rt_thread, (void*)id)) say("no thread");
    return t;
}
static void realtime(void) {
    cpu_set_t s;
    CPU_ZERO(&s);
    CPU_SET(0, &s);
    sched_setaffinity(0, sizeof s, &s);
    struct sched_param p = {50};
    sched_setscheduler(0, SCHED_FIFO, &p);
    pthread_t t[5];
    t[0] = start(SCHED_FIFO, 10, 1);
    t[1] = start(SCHED_FIFO, 10, 2);
    t[2] = start(SCHED_FIFO, 60, 3);
    t[3] = start(SCHED_RR, 20, 4);
    t[4] = start(SCHED_OTHER, 0, 5);
    for (int i = 0; i < 5; i++) pthread_join(t[i], NULL);
    char b[200] = "";
    for (int i = 0; i < order_n; i++) sprintf(b + strlen(b), " %d", order[i]);
    say("order:%s", b);
    p.sched_priority = 0;
    sched_setscheduler(0, SCHED_OTHER, &p);
}

// A nice process gets less of a shared CPU.
static void fairness(void) {
    volatile long* n = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t c[3];
    const int nice_of[] = {0, 0, 10};
    for (int i = 0; i < 3; i++) {
        c[i] = fork();
        if (c[i] == 0) {
            setpriority(PRIO_PROCESS, 0, nice_of[i]);
            for (;;) n[i * 8]++;
        }
    }
    msleep(200);
    for (int i = 0; i < 3; i++) kill(c[i], SIGKILL), waitpid(c[i], NULL, 0);
    long a = n[0], b = n[8], d = n[16];
    say("equal shares: %d", a > b / 2 && a < b * 2);
    say("nice 10 gets a tenth: %d", d > 0 && d < a / 4 && d < b / 4);
}

static void switches(void) {
    struct rusage a, b;
    getrusage(RUSAGE_THREAD, &a);
    for (int i = 0; i < 10; i++) usleep(100);
    getrusage(RUSAGE_THREAD, &b);
    say("voluntary switches: %d", b.ru_nvcsw - a.ru_nvcsw >= 10);
    getrusage(RUSAGE_SELF, &a);
    char* m = mmap(NULL, 100 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 100; i++) m[(unsigned)i * PAGE] = 1;
    getrusage(RUSAGE_SELF, &b);
    say("minor faults: %d", b.ru_minflt - a.ru_minflt >= 100 && b.ru_minflt - a.ru_minflt < 110);
    SHOW(getrusage(5, &a));
    SHOW(getrusage(RUSAGE_SELF, NULL));
}

static void nothing(int s) { (void)s; }
static void rseqs(void) {
    struct rseq* r = (void*)((char*)__builtin_thread_pointer() + __rseq_offset);
    say("registered: %u bytes, %d", __rseq_size, (int)r->cpu_id >= 0);
    SHOW(r->cpu_id == (unsigned)sched_getcpu());
    SHOW(syscall(SYS_rseq, r, 32, 0, RSEQ_SIG));
    SHOW(syscall(SYS_rseq, r, 32, 0, 1));
    SHOW(syscall(SYS_rseq, (char*)r + 32, 32, 0, RSEQ_SIG));
    SHOW(syscall(SYS_rseq, r, 16, 1, RSEQ_SIG));
    SHOW(syscall(SYS_rseq, r, 32, 2, RSEQ_SIG));
    SHOW(syscall(SYS_rseq, r, 32, 1, RSEQ_SIG));
    say("unregistered: %d", (int)r->cpu_id);
    SHOW(syscall(SYS_rseq, r, 32, 1, RSEQ_SIG));
    SHOW(syscall(SYS_rseq, (char*)r + 1, 32, 0, RSEQ_SIG));
    SHOW(syscall(SYS_rseq, r, 32, 0, RSEQ_SIG));
    // A critical section that is interrupted is aborted.
    struct rseq_cs {
        uint32_t version, flags;
        uint64_t start, post, abort;
    } __attribute__((aligned(32)));
    static struct rseq_cs cs;
    long aborted = 0;
    struct itimerval it = {{0, 0}, {0, 3000}};
    signal(SIGALRM, nothing);
    setitimer(ITIMER_REAL, &it, NULL);
    __asm__ volatile(
        "adr x1, 1f\n str x1, [%[cs], #8]\n adr x2, 2f\n sub x2, x2, x1\n str x2, [%[cs], #16]\n adr x3, 4f\n str x3, "
        "[%[cs], #24]\n"
        "str %[cs], [%[r], #8]\n"
        "1: b 1b\n"
        "2: b 3f\n"
        ".inst 0xd428bc00\n"
        "4: mov %[aborted], #1\n"
        "3:\n"
        : [aborted] "+r"(aborted)
        : [cs] "r"(&cs), [r] "r"(r)
        : "x1", "x2", "x3", "memory");
    say("aborted: %ld, cleared %d", aborted, r->rseq_cs == 0);
    // After a fork it goes on working.
    pid_t p = fork();
    if (p == 0) {
        cpu_set_t s;
        int bad = 0, n = (int)sysconf(_SC_NPROCESSORS_ONLN);
        for (int i = 0; i < 2 * n; i++) {
            CPU_ZERO(&s);
            CPU_SET(i % n, &s);
            sched_setaffinity(0, sizeof s, &s);
            bad += (int)r->cpu_id != i % n;
        }
        _exit(bad);
    }
    int s;
    waitpid(p, &s, 0);
    say("in a child: %s", status_text(s));
}

int main(void) {
    affinity();
    policies();
    switches();
    realtime();
    fairness();
    rseqs();
    return 0;
}

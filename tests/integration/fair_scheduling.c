// SPDX-License-Identifier: Apache-2.0
// How the fair class shares one CPU between tasks that compute, sleep, give way and wake each other. Prints for each pattern
// "name" and for each task rounds/voluntary/involuntary switches.
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kTasks = 4 };
static struct {
    volatile long rounds[kTasks], voluntary[kTasks], involuntary[kTasks];
    volatile int stop;
} * s;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
static void spin(double ms) {
    for (const double end = now_ms() + ms; now_ms() < end;) {
    }
}
static void pattern(const char* name, int n, void (*f)(int), double ms) {
    memset(s, 0, sizeof *s);
    pid_t p[kTasks];
    for (int i = 0; i < n; ++i)
        if (!(p[i] = fork())) {
            f(i);
            struct rusage u;
            getrusage(RUSAGE_SELF, &u);
            s->voluntary[i] = u.ru_nvcsw;
            s->involuntary[i] = u.ru_nivcsw;
            _exit(0);
        }
    usleep((useconds_t)(ms * 1000));
    s->stop = 1;
    for (int i = 0; i < n; ++i) waitpid(p[i], 0, 0);
    printf("%s", name);
    for (int i = 0; i < n; ++i) printf(" %ld/%ld/%ld", s->rounds[i], s->voluntary[i], s->involuntary[i]);
    puts("");
    fflush(stdout);
}
static void busy(int i) {
    while (!s->stop) {
        spin(0.05);
        ++s->rounds[i];
    }
}
static void busy_nice(int i) {
    if (nice(i * 5) == -1) _exit(1);
    busy(i);
}
static void yielding(int i) {
    while (!s->stop) {
        spin(0.05);
        ++s->rounds[i];
        sched_yield();
    }
}
static void light(int i) {
    if (i) return busy(i);
    while (!s->stop) {
        usleep(1000);
        ++s->rounds[0];
        spin(0.02);
    }
}
static void heavy(int i) {
    if (i) return busy(i);
    while (!s->stop) {
        usleep(200);
        ++s->rounds[0];
        spin(0.3);
    }
}
static void idle_policy(int i) {
    struct sched_param p = {0};
    if (!i) sched_setscheduler(0, SCHED_IDLE, &p);
    busy(i);
}
static void batch(int i) {
    struct sched_param p = {0};
    sched_setscheduler(0, SCHED_BATCH, &p);
    light(i);
}

/// A child that is woken by each sample of its parent: when does it come to run? The first time at a tick, so that it
/// matters when the parent starts between two.
static void reader(int delay_us) {
    struct perf_event_attr a = {0};
    a.size = sizeof a;
    a.type = PERF_TYPE_HARDWARE;
    a.config = PERF_COUNT_HW_CPU_CYCLES;
    a.exclude_kernel = a.disabled = 1;
    a.sample_period = 50000;
    a.sample_type = PERF_SAMPLE_IP;
    a.wakeup_events = 1;
    const int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
    const pid_t child = fork();
    if (!child) {
        struct pollfd p = {fd, POLLIN, 0};
        struct perf_event_mmap_page* m = mmap(0, 65 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        while (m != MAP_FAILED && poll(&p, 1, -1) > 0) {
            ++s->rounds[0];
            m->data_tail = m->data_head;
        }
        _exit(0);
    }
    usleep(10000);
    usleep((useconds_t)delay_us);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    for (long i = 0; i < 12000000; ++i) __asm__ volatile("");
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    kill(child, SIGKILL);
    waitpid(child, 0, 0);
    close(fd);
}

int main(void) {
    s = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct timespec t;
    sched_rr_get_interval(0, &t);
    printf("interval %ld\n", t.tv_nsec);
    pattern("busy2", 2, busy, 100);
    pattern("busy4", 4, busy, 100);
    pattern("nice", 3, busy_nice, 200);
    pattern("yield", 3, yielding, 50);
    pattern("light", 2, light, 100);
    pattern("heavy", 2, heavy, 100);
    pattern("idle", 2, idle_policy, 100);
    pattern("batch", 2, batch, 100);
    enum { kPhases = 16, kTickUs = 4000 };
    memset(s, 0, sizeof *s);
    for (int i = 0; i < kPhases; ++i) reader(i * kTickUs / kPhases);
    printf("reader %ld\n", s->rounds[0] / kPhases);
    return 0;
}

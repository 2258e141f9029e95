// SPDX-License-Identifier: Apache-2.0
// POSIX timers on the CPU time of threads and of the process, by fixed clocks and by those that
// pthread_getcpuclockid(3) and clock_getcpuclockid(3) give; whose clock may be read or used. Whole expiries only.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t hits;

static void on_alarm(int signo) {
    (void)signo;
    ++hits;
}

static int clock_of(int id, int which, int thread) {
    return (int)((~(unsigned)id << 3) | (unsigned)(which | thread * 4));
}

static const char* error(long result) { return result < 0 ? strerrorname_np(errno) : "0"; }

static long create(int clock, int* timer) { return syscall(SYS_timer_create, clock, NULL, timer); }

/// Does a timer of 5 ms on this clock come while a thread of ours works?
static void expiry(const char* name, int clock) {
    int timer;
    if (create(clock, &timer) < 0) {
        printf("%s: %s\n", name, error(-1));
        return;
    }
    hits = 0;
    struct itimerspec in = {.it_value = {0, 5000000}}, left;
    struct timespec before, after;
    syscall(SYS_clock_gettime, clock, &before);
    syscall(SYS_timer_settime, timer, 0, &in, NULL);
    while (!hits) {
    }
    syscall(SYS_clock_gettime, clock, &after);
    syscall(SYS_timer_gettime, timer, &left);
    const long ns = (after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec;
    printf("%s: %d expiry, %s, %s\n", name, (int)hits, ns >= 5000000 ? "not before its time" : "too early",
           left.it_value.tv_sec || left.it_value.tv_nsec ? "still armed" : "no longer armed");
    syscall(SYS_timer_delete, timer);
}

static pthread_barrier_t ready;
static int other_tid;

static void* sleeper(void* unused) {
    other_tid = gettid();
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&ready);
    return unused;
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    signal(SIGALRM, on_alarm);
    expiry("CLOCK_THREAD_CPUTIME_ID", CLOCK_THREAD_CPUTIME_ID);
    expiry("CLOCK_PROCESS_CPUTIME_ID", CLOCK_PROCESS_CPUTIME_ID);
    const char* const which[] = {"prof", "virt", "sched"};
    for (int w = 0; w < 3; ++w)
        for (int thread = 0; thread < 2; ++thread)
            for (int own = 0; own < 2; ++own) {
                char name[64];
                snprintf(name, sizeof name, "%s %s by %s", thread ? "thread" : "process", which[w],
                         own ? "0" : "number");
                expiry(name, clock_of(own ? 0 : getpid(), w, thread));
            }
    expiry("no such clock", clock_of(0, 3, 0));
    expiry("nobody", clock_of(30000, 2, 0));

    pthread_barrier_init(&ready, NULL, 2);
    pthread_t t;
    pthread_create(&t, NULL, sleeper, NULL);
    pthread_barrier_wait(&ready);
    struct timespec ts;
    int timer;
    printf("another thread's clock: read %s", error(syscall(SYS_clock_gettime, clock_of(other_tid, 2, 1), &ts)));
    printf(", timer %s\n", error(create(clock_of(other_tid, 2, 1), &timer)));
    printf("its number as a process: read %s", error(syscall(SYS_clock_gettime, clock_of(other_tid, 2, 0), &ts)));
    printf(", timer %s\n", error(create(clock_of(other_tid, 2, 0), &timer)));
    pthread_barrier_wait(&ready);
    pthread_join(t, NULL);

    const int child = fork();
    if (!child) {
        pause();
        _exit(0);
    }
    printf("a child's clock: read %s", error(syscall(SYS_clock_gettime, clock_of(child, 2, 0), &ts)));
    printf(", as a thread: read %s", error(syscall(SYS_clock_gettime, clock_of(child, 2, 1), &ts)));
    printf(", timer %s\n", error(create(clock_of(child, 2, 1), &timer)));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}

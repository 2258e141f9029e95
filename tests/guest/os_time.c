// SPDX-License-Identifier: Apache-2.0
// Clocks and sleeping: what is monotonic, how exact a sleep is, clocks of CPU time, errors.
#include "os_guest.h"

#include <sys/times.h>

static void in_range(const char* name, int64_t ns, int64_t low, int64_t high) {
    if (ns >= low && ns <= high)
        say("%s: in range", name);
    else
        say("%s: %lld ns", name, (long long)ns);
}

static int64_t clock_ns(clockid_t c) {
    struct timespec t;
    if (clock_gettime(c, &t)) return -1;
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static volatile int stop;
static _Atomic int64_t latest;
static void* watch(void* arg) {
    long back = 0;
    int64_t last = 0;
    cpu_set_t set;
    while (!stop) {
        int64_t n = now_ns();
        back += n < last;
        last = n;
        if (arg) {
            CPU_ZERO(&set);
            CPU_SET((unsigned)(n / 100000 % sysconf(_SC_NPROCESSORS_ONLN)), &set);
            sched_setaffinity(0, sizeof set, &set);
        }
    }
    return (void*)back;
}

int main(void) {
    struct timespec t = {0, 0}, rem;
    const clockid_t clocks[] = {CLOCK_REALTIME,          CLOCK_MONOTONIC,     CLOCK_PROCESS_CPUTIME_ID,
                                CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
                                CLOCK_MONOTONIC_COARSE,  CLOCK_BOOTTIME,      CLOCK_TAI};
    for (unsigned i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        int64_t a = clock_ns(clocks[i]), b = clock_ns(clocks[i]);
        clock_getres(clocks[i], &t);
        say("clock %d: %d %d, resolution %s", clocks[i], a > 0, b >= a, t.tv_nsec == 1 ? "1 ns" : "a tick");
    }
    SHOW(clock_gettime(99, &t));
    SHOW(clock_getres(99, &t));
    SHOW(clock_gettime(-1, &t));
    SHOW(clock_settime(CLOCK_MONOTONIC, &t));
    t.tv_nsec = 1000000000;
    SHOW(clock_settime(CLOCK_REALTIME, &t));
    say("tai - realtime: %lld s", (long long)(clock_ns(CLOCK_TAI) - clock_ns(CLOCK_REALTIME)) / 1000000000);
    in_range("boottime - monotonic", clock_ns(CLOCK_BOOTTIME) - now_ns(), -1000000, 1000000);

    SHOW(nanosleep(&t, NULL));
    t = (struct timespec){-1, 0};
    SHOW(nanosleep(&t, NULL));
    t = (struct timespec){0, 0};
    SHOW(nanosleep(&t, NULL));
    ERR(clock_nanosleep(99, 0, &t, NULL));
    ERR(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &t, NULL));
    ERR(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL));
    for (int us = 100; us <= 10000; us *= 10) {
        t.tv_nsec = us * 1000l;
        int64_t a = now_ns();
        nanosleep(&t, &rem);
        in_range("sleep", now_ns() - a, us * 1000l, us * 1000l + 5000000);
    }
    int64_t a = now_ns(), until = a + 3000000;
    t = (struct timespec){until / 1000000000, until % 1000000000};
    ERR(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL));
    in_range("until", now_ns() - until, 0, 5000000);

    // CPU time stands still in sleep and runs in work.
    int64_t c = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    msleep(20);
    in_range("cpu time of a sleep", clock_ns(CLOCK_THREAD_CPUTIME_ID) - c, 0, 10000000);
    struct rusage r0, r1;
    getrusage(RUSAGE_SELF, &r0);
    c = clock_ns(CLOCK_THREAD_CPUTIME_ID), a = now_ns();
    while (now_ns() - a < 50000000) {
    }
    int64_t w = now_ns() - a, d = clock_ns(CLOCK_THREAD_CPUTIME_ID) - c;
    say("cpu time of work: %d", d > w / 4 && d <= w + 1000000);
    getrusage(RUSAGE_SELF, &r1);
    int64_t us = (r1.ru_utime.tv_sec - r0.ru_utime.tv_sec + r1.ru_stime.tv_sec - r0.ru_stime.tv_sec) * 1000000 +
                 r1.ru_utime.tv_usec - r0.ru_utime.tv_usec + r1.ru_stime.tv_usec - r0.ru_stime.tv_usec;
    say("rusage of work: %d", us > 10000 && us < 60000);
    struct tms tms;
    say("times: %d %d", times(&tms) > 0, tms.tms_utime + tms.tms_stime > 1);
    clockid_t other;
    ERR(clock_getcpuclockid(getpid(), &other));
    say("process clock: %d", clock_ns(other) > 0);
    ERR(clock_getcpuclockid(999999, &other));

    pthread_t th[4];
    long back = 0;
    for (long i = 0; i < 4; i++) pthread_create(&th[i], NULL, watch, (void*)(i & 1));
    msleep(50);
    stop = 1;
    for (int i = 0; i < 4; i++) {
        void* v;
        pthread_join(th[i], &v);
        back += (long)v;
    }
    say("went back: %ld", back);
    // Absolute times on every clock that can wait.
    const clockid_t waiting[] = {CLOCK_REALTIME, CLOCK_MONOTONIC,      CLOCK_BOOTTIME,
                                 CLOCK_TAI,      CLOCK_REALTIME_ALARM, CLOCK_BOOTTIME_ALARM};
    for (unsigned i = 0; i < sizeof waiting / sizeof *waiting; i++) {
        const int64_t until = clock_ns(waiting[i]) + 3000000;
        t.tv_sec = until / 1000000000, t.tv_nsec = until % 1000000000;
        alarm(3);
        const int error = clock_nanosleep(waiting[i], TIMER_ABSTIME, &t, NULL);
        say("until a time of clock %d: %d, early %d", waiting[i], error, clock_ns(waiting[i]) < until);
    }
    alarm(0);
    return 0;
}

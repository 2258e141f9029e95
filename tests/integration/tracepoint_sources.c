// SPDX-License-Identifier: Apache-2.0
// Makes tracepoints fire that no recorded program can: frequencies, contended locks of the kernel, pages of a file of the
// host. Prints what came. tracepoint_sources FILE
#include "tests/guest/trace_guest.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

static void frequency(void) {
    struct perf_event_attr a = tracepoint("power", "cpu_frequency"), l = tracepoint("power", "cpu_frequency_limits");
    a.sample_period = l.sample_period = 1;
    a.sample_type = l.sample_type = PERF_SAMPLE_RAW;
    struct trace_ring ra, rl;
    const int fa = open_event(&a, 0, -1, -1), fl = open_event(&l, 0, -1, -1);
    map_ring(&ra, fa);
    map_ring(&rl, fl);
    ioctl(fa, PERF_EVENT_IOC_ENABLE, 0);
    ioctl(fl, PERF_EVENT_IOC_ENABLE, 0);
    const int fd = open("/sys/devices/system/cpu/cpu4/cpufreq/scaling_max_freq", O_WRONLY);
    printf("write %zd\n", write(fd, "1608000", 7));
    close(fd);
    const unsigned char* r;
    while ((r = next_raw(&rl))) printf("limits %ld %ld cpu %ld\n", num(r, 8, 4), num(r, 12, 4), num(r, 16, 4));
    while ((r = next_raw(&ra))) printf("frequency %ld cpu %ld\n", num(r, 8, 4), num(r, 12, 4));
    close(fa);
    close(fl);
}

/// Opens and closes events of the main thread, so that many want the mutex of its context.
static void* contender(void* arg) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((int)(long)arg, &set);
    sched_setaffinity(0, sizeof set, &set);
    struct perf_event_attr a = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .size = sizeof a, .disabled = 1};
    for (int i = 0; i < 100; ++i) close(open_event(&a, getpid(), -1, -1));
    return 0;
}

static void contention(void) {
    struct perf_event_attr b = tracepoint("lock", "contention_begin"), e = tracepoint("lock", "contention_end");
    b.inherit = e.inherit = 1;
    char text[64];
    int fd[4];
    fd[0] = open_event(&b, 0, -1, -1), fd[1] = open_event(&e, 0, -1, -1);
    for (int i = 2; i < 4; ++i) {
        fd[i] = open_event(&b, 0, -1, -1);
        snprintf(text, sizeof text, "flags == %d", i == 2 ? 33 : 32);
        ioctl(fd[i], PERF_EVENT_IOC_SET_FILTER, text);
    }
    for (int i = 0; i < 4; ++i) ioctl(fd[i], PERF_EVENT_IOC_ENABLE, 0);
    pthread_t t[4];
    for (long i = 0; i < 4; ++i) pthread_create(&t[i], 0, contender, (void*)i);
    for (int i = 0; i < 4; ++i) pthread_join(t[i], 0);
    printf("contended: begins %ld ends %ld spins %ld sleeps %ld\n", count_of(fd[0]), count_of(fd[1]), count_of(fd[2]),
           count_of(fd[3]));
}

/// Many wait for one pipe. Who wakes them all holds its queue's lock meanwhile, and each takes it to leave (poll) or before
/// it looks again (read).
static void crowd(const char* name, int reads) {
    enum { waiters = 40 };
    struct perf_event_attr b = tracepoint("lock", "contention_begin"), e = tracepoint("lock", "contention_end");
    b.inherit = e.inherit = 1;
    const int fb = open_event(&b, 0, -1, -1), fs = open_event(&b, 0, -1, -1), fe = open_event(&e, 0, -1, -1);
    ioctl(fs, PERF_EVENT_IOC_SET_FILTER, "flags == 1");
    int p[2];
    pipe(p);
    pid_t child[waiters];
    for (int i = 0; i < waiters; ++i) {
        child[i] = fork();
        if (child[i] == 0) {
            struct pollfd f = {.fd = p[0], .events = POLLIN};
            char byte;
            close(p[1]);
            _exit(reads ? read(p[0], &byte, 1) != 0 : poll(&f, 1, -1) != 1);
        }
    }
    usleep(20000);
    ioctl(fb, PERF_EVENT_IOC_ENABLE, 0);
    ioctl(fs, PERF_EVENT_IOC_ENABLE, 0);
    ioctl(fe, PERF_EVENT_IOC_ENABLE, 0);
    close(p[1]);
    int woken = 0, status;
    for (int i = 0; i < waiters; ++i) woken += waitpid(child[i], &status, 0) == child[i] && status == 0;
    printf("%s: woken %d begins %ld spins %ld ends %ld\n", name, woken, count_of(fb), count_of(fs), count_of(fe));
}

static void pages_of(const char* name) {
    struct perf_event_attr a = tracepoint("filemap", "mm_filemap_add_to_page_cache");
    const int fd = open_event(&a, 0, -1, -1), f = open(name, O_RDONLY);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    static char bytes[5 * 4096];
    const ssize_t n = read(f, bytes, sizeof bytes);
    const long first = count_of(fd);
    lseek(f, 0, SEEK_SET);
    read(f, bytes, sizeof bytes);
    printf("read %zd, came into the page cache %ld, then %ld\n", n, first, count_of(fd) - first);
}

int main(int argc, char** argv) {
    frequency();
    contention();
    crowd("pollers", 0);
    crowd("readers", 1);
    if (argc > 1) pages_of(argv[1]);
    return 0;
}

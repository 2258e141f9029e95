// SPDX-License-Identifier: Apache-2.0
// Sampling as users of RK3588 boards met it. Each argument names a question, the answer is a line "QUESTION NUMBERS".
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 64, PAGE = 4096 };

static void die(const char* what) {
    perror(what);
    exit(1);
}

static void bind_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) die("sched_setaffinity");
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void work(long n) {
    __asm__ volatile("1: subs %0, %0, #1\n b.ne 1b\n" : "+r"(n)::"cc");
}

struct Sampler {
    int fd;
    struct perf_event_mmap_page* page;
};

static struct Sampler sampler(uint64_t config, uint64_t period, int freq) {
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE, .size = sizeof attr, .config = config, .disabled = 1};
    attr.sample_period = period;
    attr.freq = freq != 0;
    attr.exclude_kernel = 1;
    attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME;
    struct Sampler s = {.fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0)};
    if (s.fd < 0) die("perf_event_open");
    s.page = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
    if (s.page == MAP_FAILED) die("mmap");
    return s;
}

// How many samples there are; `each` is told their addresses.
static long samples(struct Sampler s, void (*each)(uint64_t ip)) {
    long n = 0;
    const char* const base = (const char*)s.page + PAGE;
    for (uint64_t at = 0; at < s.page->data_head;) {
        const struct perf_event_header* h = (const void*)(base + at % (PAGES * PAGE));
        if (h->type == PERF_RECORD_SAMPLE) {
            ++n;
            if (each) each(*(const uint64_t*)(h + 1));
        }
        at += h->size;
    }
    return n;
}

static uint64_t value(int fd) {
    uint64_t v = 0;
    if (read(fd, &v, sizeof v) != sizeof v) die("read");
    return v;
}

// How many samples, the count by the period, and how often the task changed its CPU: what is left of a period goes along.
static void bounce(void) {
    enum { PERIOD = 50000, TURNS = 200 };
    const struct Sampler s = sampler(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, 0);
    bind_to(4);
    ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0);
    for (int i = 0; i < TURNS; ++i) {
        work(20000 + i * 37); // a different part of the period each time
        bind_to(i % 2 ? 4 : 6);
    }
    ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0);
    printf("%ld %llu %d\n", samples(s, NULL), (unsigned long long)(value(s.fd) / PERIOD), TURNS);
}

// Samples in a second, once the period has settled, at 5000 a second asked for.
static void frequency(void) {
    enum { ASKED = 5000, SETTLE_NS = 15000000, MEASURE_NS = 40000000 };
    bind_to(4);
    const struct Sampler s = sampler(PERF_COUNT_HW_CPU_CYCLES, ASKED, 1);
    ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0);
    for (const uint64_t end = now_ns() + SETTLE_NS; now_ns() < end;) work(2000);
    const long before = samples(s, NULL);
    const uint64_t begun = now_ns();
    while (now_ns() < begun + MEASURE_NS) work(2000);
    const uint64_t took = now_ns() - begun;
    printf("%.0f\n", (double)(samples(s, NULL) - before) * 1e9 / (double)took);
}

// Where the samples of a walk through memory lie: on the load that waits, on the instruction right behind it, elsewhere.
extern const char walk_load[], walk_behind[];
static long on_load, behind, elsewhere;
static void place(uint64_t ip) {
    if (ip == (uint64_t)walk_load)
        ++on_load;
    else if (ip == (uint64_t)walk_behind)
        ++behind;
    else
        ++elsewhere;
}
static void walk(void) {
    enum { BYTES = 16 << 20, STEPS = 200000 };
    bind_to(4);
    uint8_t* const lines = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (lines == MAP_FAILED) die("mmap");
    memset(lines, 7, BYTES);
    const struct Sampler s = sampler(PERF_COUNT_HW_CPU_CYCLES, 20011, 0);
    uint64_t at = 0, step, n = STEPS;
    ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0);
    __asm__ volatile(
        "1:\n"
        ".globl walk_load\nwalk_load: ldrb %w1, [%3, %0]\n"
        ".globl walk_behind\nwalk_behind: subs %2, %2, #1\n"
        "add %0, %0, %1, lsl #6\n and %0, %0, #0xffffff\n b.ne 1b\n"
        : "+r"(at), "=&r"(step), "+r"(n)
        : "r"(lines)
        : "cc", "memory");
    ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0);
    samples(s, place);
    printf("%ld %ld %ld\n", on_load, behind, elsewhere);
}

// Cycles, cycles of the bus, and cycles in which the front end or the back end kept the core waiting, of one group.
static void stalls(int cpu) {
    static const uint64_t kinds[] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_BUS_CYCLES,
                                     PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, PERF_COUNT_HW_STALLED_CYCLES_BACKEND};
    struct {
        uint64_t nr, value[4];
    } group;
    int fd[4];
    bind_to(cpu);
    for (int i = 0; i < 4; ++i) {
        struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE, .size = sizeof attr, .config = kinds[i]};
        attr.disabled = i == 0;
        attr.exclude_kernel = 1;
        attr.read_format = PERF_FORMAT_GROUP;
        fd[i] = (int)syscall(SYS_perf_event_open, &attr, 0, -1, i ? fd[0] : -1, 0);
        if (fd[i] < 0) die("perf_event_open");
    }
    ioctl(fd[0], PERF_EVENT_IOC_ENABLE, 0);
    for (int i = 0; i < 200; ++i) {
        work(1000);
        uint64_t d = 1u + (unsigned)i;
        for (int k = 0; k < 100; ++k) __asm__ volatile("udiv %0, %1, %0\n orr %0, %0, #1" : "+r"(d) : "r"(~0ull / d));
    }
    ioctl(fd[0], PERF_EVENT_IOC_DISABLE, 0);
    if (read(fd[0], &group, sizeof group) != sizeof group) die("read");
    for (int i = 0; i < 4; ++i) printf("%llu%c", (unsigned long long)group.value[i], i == 3 ? '\n' : ' ');
}

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        printf("%s ", argv[i]);
        fflush(stdout);
        if (!strcmp(argv[i], "bounce"))
            bounce();
        else if (!strcmp(argv[i], "frequency"))
            frequency();
        else if (!strcmp(argv[i], "walk"))
            walk();
        else if (!strncmp(argv[i], "stalls-", 7))
            stalls(atoi(argv[i] + 7));
        else
            return 2;
        fflush(stdout);
    }
    return 0;
}

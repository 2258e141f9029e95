// SPDX-License-Identifier: Apache-2.0
// What a program sees of frequencies.
//
//   cpufreq time N            N rounds of a loop of four dependent additions: ns, cycles, task-clock ns, ticks
//   cpufreq set FILE TEXT ... writes TEXT to FILE below cpufreq/, prints the errno; then the same loop
//
// prints "KEY VALUE" lines.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int open_event(uint32_t type, uint64_t config) {
    struct perf_event_attr attr = {.type = type, .size = sizeof attr, .config = config, .disabled = 1};
    attr.exclude_kernel = type == PERF_TYPE_RAW;
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static uint64_t count_of(int fd) {
    uint64_t v = 0;
    return read(fd, &v, sizeof v) == sizeof v ? v : ~0ull;
}

static uint64_t ticks(void) {
    uint64_t v;
    __asm__ volatile("isb\n mrs %0, cntvct_el0" : "=r"(v));
    return v;
}

static uint64_t ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void spin(long n) {
    uint64_t x = 1;
    __asm__ volatile(
        "1: add %0, %0, #1\n add %0, %0, #1\n add %0, %0, #1\n add %0, %0, #1\n"
        "subs %1, %1, #1\n b.ne 1b\n"
        : "+r"(x), "+r"(n)::"cc");
}

static void timed(long n) {
    const int cycles = open_event(PERF_TYPE_RAW, 0x11), task = open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    spin(1000);
    ioctl(cycles, PERF_EVENT_IOC_ENABLE, 0);
    ioctl(task, PERF_EVENT_IOC_ENABLE, 0);
    const uint64_t t0 = ns(), c0 = ticks();
    spin(n);
    const uint64_t c1 = ticks(), t1 = ns();
    ioctl(task, PERF_EVENT_IOC_DISABLE, 0);
    ioctl(cycles, PERF_EVENT_IOC_DISABLE, 0);
    printf("ns %llu\ncycles %llu\ntask_clock %llu\nticks %llu\n", (unsigned long long)(t1 - t0),
           (unsigned long long)count_of(cycles), (unsigned long long)count_of(task), (unsigned long long)(c1 - c0));
}

static void show(const char* file) {
    char path[256], text[512];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpufreq/%s", file);
    const int fd = open(path, O_RDONLY);
    const ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = 0;
    if (got > 0 && text[got - 1] == '\n') text[got - 1] = 0;
    printf("%s %s\n", file, got < 0 ? strerrorname_np(errno) : text);
}

int main(int argc, char** argv) {
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "time") && i + 1 < argc) {
            timed(atol(argv[++i]));
        } else if (!strcmp(argv[i], "set") && i + 2 < argc) {
            char path[256];
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpufreq/%s", argv[i + 1]);
            const int fd = open(path, O_WRONLY);
            const ssize_t put = fd < 0 ? -1 : write(fd, argv[i + 2], strlen(argv[i + 2]));
            printf("set %s\n", put < 0 ? strerrorname_np(errno) : "ok");
            if (fd >= 0) close(fd);
            i += 2;
        } else if (!strcmp(argv[i], "show") && i + 1 < argc) {
            show(argv[++i]);
        }
    }
    return 0;
}

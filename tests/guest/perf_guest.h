// SPDX-License-Identifier: Apache-2.0
// What guest programs about perf share.
#pragma once

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHOW(e) \
    do { \
        errno = 0; \
        long value_ = (long)(e); \
        printf("%s = %ld %s\n", #e, value_, value_ < 0 ? strerrorname_np(errno) : ""); \
        fflush(stdout); \
    } while (0)

static inline int perf_open(struct perf_event_attr* attr, int pid, int cpu, int group, unsigned long flags) {
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, flags);
}

static inline struct perf_event_attr sw_attr(uint64_t config) {
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.size = sizeof attr;
    attr.config = config;
    return attr;
}

static inline uint64_t count_of(int fd) {
    uint64_t values[64] = {0};
    if (read(fd, values, sizeof values) < 8) return ~0ull;
    return values[0];
}

static inline void bind_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/// Takes n page faults.
static inline void touch_pages(int n) {
    char* p = mmap(NULL, (size_t)n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < n; ++i) p[i * 4096] = 1;
    munmap(p, (size_t)n * 4096);
}

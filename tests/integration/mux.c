// SPDX-License-Identifier: Apache-2.0
// More events than counters, beginning at a chosen point of the rotation's grid: mux PHASE_US INSTRUCTIONS EVENT...
// prints the share of the time, in hundredths of a percent, that each event had a counter. An event that begins with a
// + is in the group of the one before it.
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int pmu_type(void) {
    char text[16] = "";
    FILE* f = fopen("/sys/bus/event_source/devices/armv8_pmuv3/type", "r");
    if (!f) f = fopen("/sys/bus/event_source/devices/armv8_pmuv3_0/type", "r");
    if (f) {
        fgets(text, sizeof text, f);
        fclose(f);
    }
    return atoi(text);
}

int main(int argc, char** argv) {
    enum { kInterval = 4000000 };
    const uint64_t phase = strtoull(argv[1], NULL, 0) * 1000;
    uint64_t turns = strtoull(argv[2], NULL, 0) / 2;
    int fds[32], n = 0, leader = -1;
    const int type = pmu_type();
    for (int i = 3; i < argc && n < 32; ++i) {
        struct perf_event_attr attr;
        memset(&attr, 0, sizeof attr);
        attr.type = (uint32_t)type;
        attr.size = sizeof attr;
        const int member = argv[i][0] == '+';
        attr.config = strtoull(argv[i] + member, NULL, 16);
        attr.disabled = !member;
        attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        fds[n] = (int)syscall(SYS_perf_event_open, &attr, 0, -1, member ? leader : -1, 0);
        if (fds[n] < 0) return 1;
        if (!member) leader = fds[n];
        ++n;
    }
    while (now() % kInterval > 100000) continue; // a new turn of the grid
    while (now() % kInterval < phase) continue;
    prctl(PR_TASK_PERF_EVENTS_ENABLE);
    __asm__ volatile("1: subs %0, %0, #1\n   b.ne 1b" : "+r"(turns)::"cc");
    prctl(PR_TASK_PERF_EVENTS_DISABLE);
    for (int i = 0; i < n; ++i) {
        uint64_t v[3] = {0};
        if (read(fds[i], v, sizeof v) != sizeof v) return 1;
        printf("%u\n", (unsigned)(v[1] ? v[2] * 10000 / v[1] : 0));
    }
    return 0;
}

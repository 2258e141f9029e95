// SPDX-License-Identifier: Apache-2.0
// Counts groups of events over a mixed piece of work: event_sums GROUP..., a GROUP is EVENT[,EVENT]... with an EVENT in
// hexadecimal, followed by u or k if it is to count at EL0 or EL1 only. A line of counts for each group. What they must add
// up to is in event_sums_test.py.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 6, LINE = 64, PAGE = 4096, WORDS = 1 << 17, PAGES = 300 };

static uint32_t words[WORDS];
static volatile uint64_t sink;

static __attribute__((noinline)) uint64_t recurse(unsigned n) { return n ? recurse(n - 1) + n : sink; }

// Branches, calls, loads and stores near and far, divisions, floating point, faults, system calls, interrupts of the clock.
static void work(void) {
    uint64_t r = 88172645463325252ull, sum = 0;
    double d = 1;
    for (unsigned i = 0; i < 60000; i++) {
        r ^= r << 13, r ^= r >> 7, r ^= r << 17;
        if (r & 1) sum += words[r % WORDS];
        if ((r & 6) == 2) words[(r >> 20) % WORDS] = (uint32_t)sum;
        if (i % 16 == 0) sum += r / (sum | 1), d += (double)sum * 1e-9;
        if (i % 64 == 0) sum += recurse(i % 21);
        if (i % 256 == 0) syscall(SYS_getppid);
    }
    char* pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) exit(2);
    for (unsigned i = 0; i < PAGES; i++) memset(pages + i * PAGE, (int)i, PAGE);
    for (unsigned i = 0; i < PAGES * PAGE; i += 3 * LINE) sum += (unsigned char)pages[i];
    munmap(pages, PAGES * PAGE);
    sink = sum + (uint64_t)d;
}

static unsigned parse(char* group, struct perf_event_attr* attrs) {
    unsigned n = 0;
    for (char* e = strtok(group, ","); e && n < MOST; e = strtok(NULL, ","), n++) {
        char* level = NULL;
        attrs[n] = (struct perf_event_attr){.type = PERF_TYPE_RAW, .size = sizeof *attrs, .disabled = n == 0};
        attrs[n].config = strtoul(e, &level, 16);
        attrs[n].exclude_kernel = *level == 'u';
        attrs[n].exclude_user = *level == 'k';
    }
    return n;
}

int main(int argc, char** argv) {
    work(); // so that it is not the first time
    for (int g = 1; g < argc; g++) {
        struct perf_event_attr attrs[MOST];
        const unsigned n = parse(argv[g], attrs);
        int fds[MOST] = {-1};
        for (unsigned i = 0; i < n; i++) {
            fds[i] = (int)syscall(SYS_perf_event_open, &attrs[i], 0, -1, i ? fds[0] : -1, 0);
            if (fds[i] < 0) {
                printf("event %llx: %s\n", (unsigned long long)attrs[i].config, strerror(errno));
                return 1;
            }
        }
        ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
        work();
        ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);
        for (unsigned i = 0; i < n; i++) {
            uint64_t count = 0;
            if (read(fds[i], &count, sizeof count) != sizeof count) return 1;
            printf("%llu%c", (unsigned long long)count, i + 1 < n ? ' ' : '\n');
        }
        for (unsigned i = 0; i < n; i++) close(fds[i]);
    }
    return 0;
}

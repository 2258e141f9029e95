// SPDX-License-Identifier: Apache-2.0
// Ten thousand events at once: opened off, for a task and for a CPU, some enabled, all read, all closed.
#include "perf_guest.h"

#include <sys/resource.h>
#include <time.h>

enum { kEvents = 10000, kSpare = 100 };
static int fds[kEvents + kSpare];

int main(void) {
    struct rlimit limit = {kEvents + 20, kEvents + 20};
    SHOW(setrlimit(RLIMIT_NOFILE, &limit));
    struct rlimit now;
    SHOW(getrlimit(RLIMIT_NOFILE, &now));
    SHOW(now.rlim_cur);
    bind_to(0);
    int n = 0;
    for (; n < kEvents + kSpare; ++n) {
        struct perf_event_attr a = sw_attr(n % 3 ? PERF_COUNT_SW_DUMMY : PERF_COUNT_SW_PAGE_FAULTS);
        if (n % 2) a.type = PERF_TYPE_RAW, a.config = 0x11;
        a.disabled = 1;
        a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;
        fds[n] = n % 4 < 2 ? perf_open(&a, 0, -1, -1, 0) : perf_open(&a, -1, 0, -1, 0);
        if (fds[n] < 0) break;
    }
    SHOW(n);
    SHOW(fds[n]);
    struct perf_event_attr a = sw_attr(0);
    SHOW(perf_open(&a, 0, -1, -1, 0));
    close(fds[--n]);
    SHOW(perf_open(&a, 0, -1, -1, 0) == fds[n]); // the lowest that is free
    ++n;
    int enabled = 0, failed = 0;
    for (int i = 0; i < n; i += 40) failed += ioctl(fds[i], PERF_EVENT_IOC_ENABLE, 0) != 0, ++enabled;
    SHOW(enabled);
    SHOW(failed);
    touch_pages(3);
    for (volatile int i = 0; i < 100000; ++i) continue;
    int bad = 0, counted = 0, timed = 0, ordered = 0;
    uint64_t before = 0;
    for (int i = 0; i < n - 1; ++i) {
        uint64_t v[4];
        if (read(fds[i], v, sizeof v) != sizeof v) ++bad;
        counted += v[0] != 0;
        timed += v[1] != 0;
        ordered += v[3] > before;
        before = v[3];
    }
    SHOW(bad);
    SHOW(counted == timed || counted); // dummies do not count
    SHOW(timed);
    SHOW(ordered == n - 1);
    for (int i = 0; i < n; ++i) failed += close(fds[i]) != 0;
    SHOW(failed);
    fds[0] = perf_open(&a, 0, -1, -1, 0);
    SHOW(fds[0]);
    SHOW(close(fds[0]));
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A CPU that goes and comes: its events, tasks bound to it, what the files say. The last CPU is the one that goes, so
// that the program runs on machines with any number. [CORE-509] [CORE-510] [CORE-511]
#include "perf_guest.h"

#include <sched.h>

static int last;
static char online_file[64];

static void set_online(int on) {
    int fd = open(online_file, O_WRONLY);
    SHOW(write(fd, on ? "1\n" : "0\n", 2));
    close(fd);
}

static int says(const char* path) {
    char text[64] = "";
    int fd = open(path, O_RDONLY);
    read(fd, text, sizeof text - 1);
    close(fd);
    return atoi(text);
}

int main(void) {
    last = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
    if (last < 1) return 77;
    snprintf(online_file, sizeof online_file, "/sys/devices/system/cpu/cpu%d/online", last);

    // Wrong values first.
    int fd = open(online_file, O_WRONLY);
    SHOW(write(fd, "x", 1));
    SHOW(write(fd, "2", 1));
    SHOW(write(fd, "on", 2)); // it is
    close(fd);

    struct perf_event_attr faults = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
    struct perf_event_attr clock = sw_attr(PERF_COUNT_SW_DUMMY);
    clock.read_format = PERF_FORMAT_GROUP;
    int of_cpu = perf_open(&faults, -1, last, -1, 0);
    int member = perf_open(&clock, -1, last, of_cpu, 0);
    int of_task = perf_open(&faults, 0, -1, -1, 0);
    SHOW(of_cpu >= 0 && member >= 0 && of_task >= 0);
    bind_to(last);
    touch_pages(5);
    uint64_t before = count_of(of_cpu), before_task = count_of(of_task);
    SHOW(before >= 5);
    SHOW(before_task >= 5);

    // Bound to the CPU that goes: the task may run anywhere then.
    set_online(0);
    SHOW(sched_getcpu() != last);
    SHOW(says(online_file));
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    SHOW(CPU_ISSET(last, &set));
    SHOW((int)sysconf(_SC_NPROCESSORS_ONLN) == last);

    touch_pages(5);
    SHOW(count_of(of_cpu) == before);
    SHOW(count_of(of_task) - before_task >= 5);
    SHOW(ioctl(of_cpu, PERF_EVENT_IOC_ENABLE, 0));
    uint64_t group[8] = {0};
    SHOW(read(member, group, sizeof group));
    SHOW(group[0]);
    SHOW(perf_open(&faults, -1, last, -1, 0));
    int for_later = perf_open(&faults, 0, last, -1, 0);
    SHOW(for_later >= 0);
    CPU_ZERO(&set);
    CPU_SET(last, &set);
    SHOW(sched_setaffinity(0, sizeof set, &set));

    set_online(1);
    SHOW(says(online_file));
    bind_to(last);
    SHOW(sched_getcpu() == last);
    touch_pages(5);
    SHOW(count_of(of_cpu) == before);
    SHOW(count_of(for_later) >= 5);
    int again = perf_open(&faults, -1, last, -1, 0);
    touch_pages(5);
    SHOW(count_of(again) >= 5);
    return 0;
}

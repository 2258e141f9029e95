// SPDX-License-Identifier: Apache-2.0
// Works on a CPU, takes it away, brings it back, and works there again: offline CPU OTHER_CPU
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void work_on(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) exit(1);
    for (volatile int i = 0; i < 100000; ++i) {
    }
}

static void set_online(int cpu, const char* text) {
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/online", cpu);
    const int fd = open(path, O_WRONLY);
    if (write(fd, text, 1) != 1) exit(2);
    close(fd);
}

int main(int argc, char** argv) {
    if (argc < 3) return 3;
    const int cpu = atoi(argv[1]);
    work_on(cpu);
    work_on(atoi(argv[2]));
    set_online(cpu, "0");
    set_online(cpu, "1");
    work_on(cpu);
    return 0;
}

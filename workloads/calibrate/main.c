// SPDX-License-Identifier: Apache-2.0
// Measures a core and its memory as the programs did whose figures are in scripts/calibration. calibrate PART [ARGUMENT]...
#include "calibrate/calibrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double since_ns(double begun) {
    static double cost = -1;
    double ended = now_ns();
    for (int i = 0; cost < 0 || i < 8; i++) {
        double t = now_ns();
        t = now_ns() - t;
        if (cost < 0 || t < cost) cost = t;
    }
    return ended - begun - cost;
}

void* fresh_memory(size_t bytes) {
    char* p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("calibrate: mmap");
        exit(1);
    }
    madvise(p, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += PAGE) *(volatile char*)(p + i) = 0;
    return p;
}

void clean_out(const void* memory, size_t bytes) {
    for (size_t at = 0; at < bytes; at += LINE)
        __asm__ volatile("dc civac, %0" : : "r"((const char*)memory + at) : "memory");
    __asm__ volatile("dsb ish" : : : "memory");
}

double median(const double values[PLACES]) {
    double sorted[PLACES];
    for (int i = 0; i < PLACES; i++) {
        int at = i;
        for (; at > 0 && sorted[at - 1] > values[i]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = values[i];
    }
    return sorted[PLACES / 2];
}

void report(const char* name, uint64_t size, double value, const char* unit) {
    printf("%s %llu %.4f %s\n", name, (unsigned long long)size, value, unit);
    fflush(stdout);
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        int (*run)(int argc, char** argv);
    } parts[] = {
        {"ramlat", ramlat},
        {"random-read", random_read},
        {"bandwidth", bandwidth},
        {"instructions", instructions},
        {"compute", compute},
        {"strided-walk", strided_walk},
        {"core-to-core", core_to_core},
    };
    for (size_t i = 0; argc > 1 && i < sizeof(parts) / sizeof(*parts); i++)
        if (!strcmp(argv[1], parts[i].name)) return parts[i].run(argc - 2, argv + 2);
    fprintf(
        stderr,
        "usage: calibrate ramlat|random-read|bandwidth|instructions|compute|strided-walk|core-to-core [ARGUMENT]...\n");
    return 2;
}

// SPDX-License-Identifier: Apache-2.0
// Stresses memory latency: follows a random cycle of pointers, one per cache line. chase [KIB] [STEPS]
#include "common/workload.h"

enum { LINE = 64 };

struct line {
    struct line* next;
    uint64_t value;
    char fill[LINE - sizeof(void*) - sizeof(uint64_t)];
};

WORKLOAD_FUNCTION static uint64_t chase(const struct line* p, uint64_t steps) {
    uint64_t sum = 0;
    while (steps--) {
        sum += p->value;
        p = p->next;
    }
    return sum;
}

int main(int argc, char** argv) {
    uint64_t kib = workload_arg(argc, argv, 1, 4096, 1u << 22),
             steps = workload_arg(argc, argv, 2, 2000000, 1ull << 40);
    size_t n = (size_t)kib * 1024 / LINE;
    struct line* lines = aligned_alloc(LINE, n * LINE);
    uint32_t* order = malloc(n * sizeof(*order));
    uint64_t seed = 3;
    if (!lines || !order) {
        fprintf(stderr, "chase: no memory for %llu KiB\n", (unsigned long long)kib);
        return 1;
    }
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    for (size_t i = n - 1; i; i--) {
        size_t j = (size_t)(workload_random(&seed) % (i + 1));
        uint32_t t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (size_t i = 0; i < n; i++) {
        lines[order[i]].next = &lines[order[(i + 1) % n]];
        lines[order[i]].value = order[i];
    }
    uint64_t sum = workload_mix(kib, chase(&lines[order[0]], steps));
    free(order);
    free(lines);
    return workload_report("chase", sum);
}

// SPDX-License-Identifier: Apache-2.0
// Stresses coherence: THREADS threads write words STRIDE bytes apart (8: one line for all, 64: a line each). falseshare [STRIDE] [THREADS] [WRITES]
#include <pthread.h>

#include "common/workload.h"

enum { THREADS_MAX = 16, STRIDE_MAX = 4096 };

static _Alignas(STRIDE_MAX) unsigned char area[THREADS_MAX * STRIDE_MAX];
static uint64_t writes, stride;

static void* writer(void* arg) {
    volatile uint64_t* word = (volatile uint64_t*)(area + (uintptr_t)arg * stride);
    for (uint64_t i = 0; i < writes; i++) *word += i;
    return NULL;
}

int main(int argc, char** argv) {
    pthread_t t[THREADS_MAX];
    stride = workload_arg(argc, argv, 1, 8, STRIDE_MAX);
    uint64_t threads = workload_arg(argc, argv, 2, 2, THREADS_MAX), sum = 0;
    writes = workload_arg(argc, argv, 3, 1000000, 1ull << 40);
    if (stride % 8) {
        fprintf(stderr, "falseshare: the stride must be a multiple of 8\n");
        return 2;
    }
    for (uint64_t i = 0; i < threads; i++)
        if (pthread_create(&t[i], NULL, writer, (void*)(uintptr_t)i)) {
            fprintf(stderr, "falseshare: thread %llu cannot be started\n", (unsigned long long)i);
            return 1;
        }
    for (uint64_t i = 0; i < threads; i++) {
        pthread_join(t[i], NULL);
        sum = workload_mix(sum, *(uint64_t*)(area + i * stride));
    }
    return workload_report("falseshare", sum);
}

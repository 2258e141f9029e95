// SPDX-License-Identifier: Apache-2.0
// Stresses contended locking: THREADS threads add to one number under one mutex. locks [THREADS] [ADDS]
#include <pthread.h>

#include "common/workload.h"

enum { THREADS_MAX = 64, PRIVATE_WORK = 40 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t shared, mixed, adds;

static void* worker(void* arg) {
    uint64_t x = (uint64_t)(uintptr_t)arg;
    for (uint64_t i = 0; i < adds; i++) {
        for (int j = 0; j < PRIVATE_WORK; j++) x = x * 6364136223846793005u + 1;
        pthread_mutex_lock(&lock);
        shared++;
        mixed += x;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char** argv) {
    pthread_t t[THREADS_MAX];
    uint64_t threads = workload_arg(argc, argv, 1, 4, THREADS_MAX);
    adds = workload_arg(argc, argv, 2, 30000, 1ull << 32);
    for (uint64_t i = 0; i < threads; i++)
        if (pthread_create(&t[i], NULL, worker, (void*)(uintptr_t)i)) {
            fprintf(stderr, "locks: thread %llu cannot be started\n", (unsigned long long)i);
            return 1;
        }
    for (uint64_t i = 0; i < threads; i++) pthread_join(t[i], NULL);
    if (shared != threads * adds) {
        fprintf(stderr, "locks: %llu instead of %llu\n", (unsigned long long)shared,
                (unsigned long long)(threads * adds));
        return 1;
    }
    return workload_report("locks", workload_mix(shared, mixed));
}

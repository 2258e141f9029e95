// SPDX-License-Identifier: Apache-2.0
// What it takes to hand a value from one CPU to another: two threads raise one number by turns, each when it sees the other's.
// core-to-core CPU CPU
#define _GNU_SOURCE
#include "calibrate/calibrate.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM = 100, TIMED = 2000 }; // turns of each

static _Alignas(LINE) _Atomic uint64_t number;
static pthread_barrier_t barrier;

static void bind_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void take_turns(uint64_t first, unsigned turns) {
    for (uint64_t mine = first; turns--; mine += 2) {
        while (atomic_load_explicit(&number, memory_order_acquire) != mine) {
        }
        atomic_store_explicit(&number, mine + 1, memory_order_release);
    }
}

static void* other(void* cpu) {
    bind_to(*(int*)cpu);
    pthread_barrier_wait(&barrier);
    take_turns(1, WARM + TIMED);
    return NULL;
}

int core_to_core(int argc, char** argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: calibrate core-to-core CPU CPU\n");
        return 2;
    }
    int cpu = atoi(argv[1]);
    pthread_t id;
    pthread_barrier_init(&barrier, NULL, 2);
    bind_to(atoi(argv[0]));
    pthread_create(&id, NULL, other, &cpu);
    pthread_barrier_wait(&barrier);
    take_turns(0, WARM);
    const double begun = now_ns();
    take_turns(2 * WARM, TIMED);
    const double ns = since_ns(begun) / (2 * TIMED);
    pthread_join(id, NULL);
    char name[32];
    snprintf(name, sizeof name, "hand_over_%s_%s", argv[0], argv[1]);
    report(name, 0, ns, "ns");
    return 0;
}

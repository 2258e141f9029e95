// SPDX-License-Identifier: Apache-2.0
// Two threads, each on a CPU of its own, that count for as long as they may.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

volatile long mine, others;
volatile int go, end;

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void* other(void* unused) {
    pin(5);
    go = 1;
    while (!end) others++;
    return unused;
}

__attribute__((noinline)) void turn(void) {
    for (int i = 0; i < 1000; i++) mine++;
}

int main(void) {
    pthread_t t;
    pin(4);
    pthread_create(&t, NULL, other, NULL);
    while (!go || others < 1000) {
    }
    const long before = others;
    for (int i = 0; i < 40; i++) turn();
    end = 1;
    pthread_join(t, NULL);
    printf("%ld, %s\n", mine, others > before ? "the other too" : "alone");
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// What the workloads share: reading a size argument, a repeatable generator, a checksum.
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// A function that is to be found by its own name in a profile.
#define WORKLOAD_FUNCTION __attribute__((noinline, noclone))

// Argument number i as a number from 1 to most, or the default when it is not given.
static inline uint64_t workload_arg(int argc, char** argv, int i, uint64_t fallback, uint64_t most) {
    char* end;
    if (argc <= i) return fallback;
    uint64_t v = strtoull(argv[i], &end, 0);
    if (*end || end == argv[i] || argv[i][0] == '-' || !v || v > most) {
        fprintf(stderr, "%s: argument %d must be a number from 1 to %llu, not '%s'\n", argv[0], i,
                (unsigned long long)most, argv[i]);
        exit(2);
    }
    return v;
}

// splitmix64: good enough bits, the same on every run.
static inline uint64_t workload_random(uint64_t* state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline uint64_t workload_mix(uint64_t sum, uint64_t v) { return (sum ^ v) * 0x100000001b3u; }

static inline int workload_report(const char* name, uint64_t sum) {
    return printf("%s checksum %016llx\n", name, (unsigned long long)sum) < 0 || fflush(stdout);
}

#endif

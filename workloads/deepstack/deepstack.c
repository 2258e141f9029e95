// SPDX-License-Identifier: Apache-2.0
// Stresses call chains: recursion DEPTH frames deep, three functions in turn, with work at the bottom. deepstack [DEPTH] [CALLS]
#include "common/workload.h"

enum { WORK = 2000 };

static uint64_t even(uint64_t depth, uint64_t x);
static uint64_t odd(uint64_t depth, uint64_t x);

WORKLOAD_FUNCTION static uint64_t bottom(uint64_t x) {
    for (int i = 0; i < WORK; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

// The addition after each call keeps it from being turned into a jump.
WORKLOAD_FUNCTION static uint64_t descend(uint64_t depth, uint64_t x) {
    if (!depth) return bottom(x);
    return (depth & 1 ? odd(depth - 1, x) : even(depth - 1, x)) + depth;
}

WORKLOAD_FUNCTION static uint64_t even(uint64_t depth, uint64_t x) {
    if (!depth) return bottom(x ^ 1);
    return descend(depth - 1, x + 2) + 1;
}

WORKLOAD_FUNCTION static uint64_t odd(uint64_t depth, uint64_t x) {
    if (!depth) return bottom(x ^ 2);
    return descend(depth - 1, x + 3) + 2;
}

int main(int argc, char** argv) {
    uint64_t depth = workload_arg(argc, argv, 1, 100, 50000), calls = workload_arg(argc, argv, 2, 1000, 1ull << 32),
             x = 7;
    while (calls--) x = workload_mix(x, descend(depth, x));
    return workload_report("deepstack", x);
}

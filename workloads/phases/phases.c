// SPDX-License-Identifier: Apache-2.0
// Stresses what changes over time: computing, memory and branches in turn, each with its own profile. phases [TURNS]
#include "common/workload.h"

enum { WORDS = 1 << 18, STRIDE = 8, STEPS = 400000 };

static uint64_t words[WORDS];

WORKLOAD_FUNCTION static uint64_t compute_phase(uint64_t x) {
    for (int i = 0; i < STEPS; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

WORKLOAD_FUNCTION static uint64_t memory_phase(uint64_t x) {
    for (size_t pass = 0; pass < 6; pass++)
        for (size_t i = 0; i < WORDS; i += STRIDE) x += words[i]++;
    return x;
}

WORKLOAD_FUNCTION static uint64_t branch_phase(uint64_t x, volatile uint64_t* sink) {
    for (int i = 0; i < STEPS; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        if (x & 1) *sink = x;
    }
    return x;
}

int main(int argc, char** argv) {
    uint64_t turns = workload_arg(argc, argv, 1, 3, 1u << 20), x = 5;
    volatile uint64_t sink = 0;
    while (turns--) {
        x = compute_phase(x);
        x = memory_phase(x);
        x = branch_phase(x | 1, &sink);
    }
    return workload_report("phases", x);
}

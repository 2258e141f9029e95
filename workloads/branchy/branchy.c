// SPDX-License-Identifier: Apache-2.0
// Stresses branch prediction: ROUNDS branches, PERCENT of them taken at random (1..99, 50 is worst). branchy [PERCENT] [ROUNDS]
#include "common/workload.h"

// The store keeps the compiler from turning the branch into a conditional select.
WORKLOAD_FUNCTION static uint64_t branches(const uint8_t* bits, size_t n, uint64_t rounds, volatile uint64_t* sink) {
    uint64_t taken = 0;
    for (uint64_t i = 0, at = 0; i < rounds; i++) {
        if (bits[at]) {
            *sink = i;
            taken++;
        }
        if (++at == n) at = 0;
    }
    return taken;
}

int main(int argc, char** argv) {
    // 64 Ki outcomes are far more than a predictor's history can hold.
    enum { OUTCOMES = 1 << 16 };
    static uint8_t bits[OUTCOMES];
    uint64_t percent = workload_arg(argc, argv, 1, 50, 99), rounds = workload_arg(argc, argv, 2, 2000000, 1ull << 40);
    uint64_t seed = 4;
    volatile uint64_t sink = 0;
    for (size_t i = 0; i < OUTCOMES; i++) bits[i] = workload_random(&seed) % 100 < percent;
    return workload_report("branchy", workload_mix(percent, branches(bits, OUTCOMES, rounds, &sink)));
}

// SPDX-License-Identifier: Apache-2.0
// Loops of which every second one is marked as a region. regions [LOOPS [STEPS]]
#include "common/workload.h"
#include "include/rkperf_region.h"

WORKLOAD_FUNCTION static uint64_t steps(uint64_t x, uint64_t n) {
    while (n--) x = (x ^ x >> 7) * 6364136223846793005u + n;
    // Keeps the call between the marks: to the compiler it would have no effect but its result.
    __asm__ volatile("" : "+r"(x)::"memory");
    return x;
}

int main(int argc, char** argv) {
    uint64_t loops = workload_arg(argc, argv, 1, 6, 1u << 20), n = workload_arg(argc, argv, 2, 300000, 1u << 30), x = 5;
    for (uint64_t i = 0; i < loops; i++) {
        if (i & 1) rkperf_region_begin();
        x = steps(x, n);
        if (i & 1) rkperf_region_end();
    }
    return workload_report("regions", x);
}

// SPDX-License-Identifier: Apache-2.0
// Stresses recursion and unpredictable branches: sorts N numbers and checks the result. quicksort [N]
#include "common/workload.h"

WORKLOAD_FUNCTION static uint32_t* partition(uint32_t* lo, uint32_t* hi) {
    uint32_t *mid = lo + (hi - lo) / 2, pivot = *mid, *store = lo, t;
    *mid = *hi;
    *hi = pivot;
    for (uint32_t* p = lo; p < hi; p++)
        if (*p < pivot) {
            t = *p;
            *p = *store;
            *store++ = t;
        }
    *hi = *store;
    *store = pivot;
    return store;
}

WORKLOAD_FUNCTION static void quicksort(uint32_t* lo, uint32_t* hi) {
    if (lo >= hi) return;
    uint32_t* p = partition(lo, hi);
    quicksort(lo, p - 1);
    quicksort(p + 1, hi);
}

int main(int argc, char** argv) {
    uint64_t n = workload_arg(argc, argv, 1, 60000, 1u << 27), seed = 1, sum = 0, before = 0, after = 0;
    // One word more on each side keeps lo - 1 and hi + 1 inside the array.
    uint32_t* a = malloc((n + 2) * sizeof(*a));
    if (!a) {
        fprintf(stderr, "quicksort: no memory for %llu numbers\n", (unsigned long long)n);
        return 1;
    }
    uint32_t* v = a + 1;
    for (uint64_t i = 0; i < n; i++) {
        v[i] = (uint32_t)workload_random(&seed);
        before += v[i];
    }
    quicksort(v, v + n - 1);
    for (uint64_t i = 0; i < n; i++) {
        if (i && v[i - 1] > v[i]) {
            fprintf(stderr, "quicksort: not in order at %llu\n", (unsigned long long)i);
            return 1;
        }
        after += v[i];
        sum = workload_mix(sum, v[i]);
    }
    if (before != after) {
        fprintf(stderr, "quicksort: numbers were lost\n");
        return 1;
    }
    free(a);
    return workload_report("quicksort", sum);
}

// SPDX-License-Identifier: Apache-2.0
// Stresses floating point and strided loads: multiplies two N x N matrices. matmul [N]
#include "common/workload.h"

// Plain order: the inner loop walks one matrix by rows and the other by columns.
WORKLOAD_FUNCTION static void multiply(const double* a, const double* b, double* c, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double s = 0;
            for (size_t k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
            c[i * n + j] = s;
        }
}

int main(int argc, char** argv) {
    size_t n = (size_t)workload_arg(argc, argv, 1, 128, 4096);
    double* m = malloc(3 * n * n * sizeof(*m));
    uint64_t seed = 2, sum = 0;
    if (!m) {
        fprintf(stderr, "matmul: no memory for matrices of %zu\n", n);
        return 1;
    }
    // Small whole numbers: every sum is exact, so the checksum depends on no rounding.
    for (size_t i = 0; i < 2 * n * n; i++) m[i] = (double)(workload_random(&seed) % 17) - 8;
    multiply(m, m + n * n, m + 2 * n * n, n);
    for (size_t i = 0; i < n * n; i++) sum = workload_mix(sum, (uint64_t)(int64_t)m[2 * n * n + i]);
    free(m);
    return workload_report("matmul", sum);
}

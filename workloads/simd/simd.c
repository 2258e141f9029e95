// SPDX-License-Identifier: Apache-2.0
// Stresses the vector units: fused multiply-add on floats, integer dot products and AES rounds. simd [ROUNDS]
#include <arm_neon.h>

#include "common/workload.h"

enum { LANES = 4, COUNT = 1024 };

WORKLOAD_FUNCTION static float32x4_t axpy(const float* x, float* y, float a) {
    float32x4_t factor = vdupq_n_f32(a), sum = vdupq_n_f32(0);
    for (size_t i = 0; i < COUNT; i += LANES) {
        float32x4_t v = vfmaq_f32(vld1q_f32(y + i), vld1q_f32(x + i), factor);
        vst1q_f32(y + i, v);
        sum = vaddq_f32(sum, v);
    }
    return sum;
}

WORKLOAD_FUNCTION static int64x2_t products(const int16_t* a, const int16_t* b) {
    int32x4_t sum = vdupq_n_s32(0);
    for (size_t i = 0; i < COUNT; i += 8) {
        int16x8_t u = vld1q_s16(a + i), v = vld1q_s16(b + i);
        sum = vmlal_s16(sum, vget_low_s16(u), vget_low_s16(v));
        sum = vmlal_high_s16(sum, u, v);
    }
    return vpaddlq_s32(sum);
}

WORKLOAD_FUNCTION static uint8x16_t rounds_of_aes(uint8x16_t state, uint8x16_t key, int n) {
    while (n--) state = vaesmcq_u8(vaeseq_u8(state, key));
    return state;
}

int main(int argc, char** argv) {
    static float x[COUNT], y[COUNT];
    static int16_t a[COUNT], b[COUNT];
    uint64_t n = workload_arg(argc, argv, 1, 2000, 1u << 30), seed = 6, sum = 0;
    uint8x16_t state = vdupq_n_u8(1), key = vdupq_n_u8(0x5a);
    for (size_t i = 0; i < COUNT; i++) {
        x[i] = (float)(workload_random(&seed) % 16);
        a[i] = (int16_t)workload_random(&seed);
        b[i] = (int16_t)(workload_random(&seed) % 256);
    }
    for (uint64_t r = 0; r < n; r++) {
        // Small whole numbers stay exact in a float, whatever the order of the sums.
        if (r % 64 == 0)
            for (size_t i = 0; i < COUNT; i++) y[i] = 0;
        float32x4_t f = axpy(x, y, (float)(r % 4));
        int64x2_t p = products(a, b);
        state = rounds_of_aes(state, key, 64);
        sum = workload_mix(sum, (uint64_t)vaddvq_f32(f) + (uint64_t)vaddvq_s64(p));
        sum = workload_mix(sum, vgetq_lane_u64(vreinterpretq_u64_u8(state), 0));
        a[r % COUNT]++;
    }
    return workload_report("simd", sum);
}

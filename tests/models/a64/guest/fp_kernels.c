// SPDX-License-Identifier: Apache-2.0
// Floating-point, SIMD and crypto work as compilers and the C library produce it: prints results with all their bits.
// Run by the instruction tests under qemu-user and under our semantics; both must print the same.
#include <arm_neon.h>
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t rng = 88172645463325252u;
static uint64_t next(void) {
    rng ^= rng << 13;
    rng ^= rng >> 7;
    return rng ^= rng << 17;
}
static double uniform(void) { return (double)(next() >> 11) * 0x1p-53; }

static uint64_t hash(const void* p, size_t n) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; ++i) h = (h ^ ((const unsigned char*)p)[i]) * 0x100000001b3u;
    return h;
}

enum { N = 24 };

#define MATMUL(T, name) \
    static void name(void) { \
        static T a[N][N], b[N][N], c[N][N]; \
        for (int i = 0; i < N; ++i) \
            for (int j = 0; j < N; ++j) a[i][j] = (T)uniform(), b[i][j] = (T)(uniform() - 0.5), c[i][j] = 0; \
        for (int i = 0; i < N; ++i) \
            for (int k = 0; k < N; ++k) \
                for (int j = 0; j < N; ++j) c[i][j] += a[i][k] * b[k][j]; \
        printf(#name " %016lx\n", hash(c, sizeof c)); \
    }
MATMUL(double, matmul_double)
MATMUL(float, matmul_float)
MATMUL(_Float16, matmul_half)

static void reductions(void) {
    static float f[1000];
    static int32_t n[1000];
    static uint8_t b[1000];
    for (int i = 0; i < 1000; ++i)
        f[i] = (float)(uniform() * 200 - 100), n[i] = (int32_t)next(), b[i] = (uint8_t)next();
    float lo = f[0], hi = f[0];
    double sum = 0;
    int64_t total = 0;
    uint32_t bytes = 0, most = 0;
    for (int i = 0; i < 1000; ++i) {
        lo = fminf(lo, f[i]);
        hi = fmaxf(hi, f[i]);
        sum += f[i];
        total += n[i];
        bytes += b[i];
        most = b[i] > most ? b[i] : most;
    }
    printf("reductions %a %a %a %ld %u %u\n", lo, hi, sum, total, bytes, most);
    static int16_t clipped[1000];
    static double rounded[1000];
    for (int i = 0; i < 1000; ++i) {
        const int v = n[i] >> 12;
        clipped[i] = (int16_t)(v > 32767 ? 32767 : v < -32768 ? -32768 : v);
        rounded[i] = floor(f[i]) + ceil(f[i]) * 3 + trunc(f[i]) * 5 + rint(f[i]) * 7 + round(f[i]) * 11;
    }
    printf("clipped %016lx rounded %016lx\n", hash(clipped, sizeof clipped), hash(rounded, sizeof rounded));
    static int32_t ints[1000];
    static uint64_t longs[1000];
    static float back[1000];
    for (int i = 0; i < 1000; ++i) ints[i] = (int32_t)f[i], longs[i] = (uint64_t)fabsf(f[i] * 1e12f);
    for (int i = 0; i < 1000; ++i) back[i] = (float)n[i] + (float)longs[i] / sqrtf(fabsf(f[i]) + 1);
    printf("converted %016lx %016lx %016lx\n", hash(ints, sizeof ints), hash(longs, sizeof longs),
           hash(back, sizeof back));
}

static void library(void) {
    for (int i = 0; i < 40; ++i) {
        const double x = (uniform() - 0.5) * ldexp(1, (int)(next() % 20) - 8), y = uniform() * 10;
        printf("lib %a %a %a %a %a %a\n", sin(x), exp(x / 50), pow(y, x / 50), log(y), atan2(x, y), cbrt(x));
        printf("libf %a %a %a %a %ld %.9g\n", (double)cosf((float)x), (double)expf((float)x / 50), fma(x, y, -x * y),
               fmod(x, y), lrint(x), strtod("0.1", 0) * x);
    }
}

static void modes(void) {
    static const int kModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    volatile double big = 1e308, tiny = 0x1p-1060, third = 3, one = 1;
    for (int m = 0; m < 4; ++m) {
        fesetround(kModes[m]);
        feclearexcept(FE_ALL_EXCEPT);
        const double a = one / third, b = big * big, c = tiny * tiny, d = -tiny / third, e = one - one;
        printf("mode %d %a %a %a %a %a %x\n", m, a, b, c, d, e, fetestexcept(FE_ALL_EXCEPT));
        feclearexcept(FE_ALL_EXCEPT);
        volatile double sum = 0;
        for (int i = 0; i < 100; ++i) sum += i * 0.5; // exact: must leave the flags alone
        printf("exact %a %x\n", sum, fetestexcept(FE_ALL_EXCEPT));
        volatile double product = 1;
        for (int i = 1; i < 60; ++i) product = fma(product, i & 3 ? 2 : 0.5, (i & 7) - 3);
        printf("fused %a %x\n", product, fetestexcept(FE_ALL_EXCEPT));
    }
    fesetround(FE_TONEAREST);
}

static void vectors(void) {
    uint8_t in[64], out[64];
    for (int i = 0; i < 64; ++i) in[i] = (uint8_t)next();
    uint8x16x4_t t = vld4q_u8(in);
    t.val[0] = vqaddq_u8(t.val[0], t.val[1]);
    t.val[1] = vqtbl4q_u8(t, vandq_u8(t.val[2], vdupq_n_u8(127)));
    t.val[2] = vextq_u8(t.val[3], t.val[0], 5);
    t.val[3] = vreinterpretq_u8_u16(vmull_u8(vget_low_u8(t.val[3]), vget_high_u8(t.val[1])));
    vst4q_u8(out, t);
    int32x4_t dot = vdupq_n_s32(7);
    dot = vdotq_s32(dot, vld1q_s8((int8_t*)in), vld1q_s8((int8_t*)in + 16));
    int16x8_t q = vqrdmulhq_s16(vld1q_s16((int16_t*)in), vld1q_s16((int16_t*)in + 8));
    int32x4_t wide = vqdmlal_s16(dot, vget_low_s16(q), vget_high_s16(q));
    float32x4_t r = vrecpeq_f32(vcvtq_f32_s32(dot));
    r = vmulq_f32(r, vrecpsq_f32(r, vcvtq_f32_s32(dot)));
    float32x4_t s = vrsqrteq_f32(vabsq_f32(vcvtq_f32_s32(dot)));
    float16x8_t h = vcvtq_f16_s16(vshrq_n_s16(q, 4));
    h = vfmaq_f16(h, h, vdupq_n_f16(0.333f));
    printf("vectors %016lx %d %d %08x %08x\n", hash(out, 64), vaddvq_s32(dot), vmaxvq_s32(wide),
           vgetq_lane_u32(vreinterpretq_u32_f32(r), 1), vgetq_lane_u32(vreinterpretq_u32_f32(s), 2));
    printf("halves %016lx\n", vgetq_lane_u64(vreinterpretq_u64_f16(h), 1));

    uint8x16_t state = vld1q_u8(in), key = vld1q_u8(in + 16);
    for (int i = 0; i < 10; ++i) state = vaesmcq_u8(vaeseq_u8(state, key)), key = vaesimcq_u8(vaesdq_u8(key, state));
    const poly128_t p = vmull_p64((poly64_t)vgetq_lane_u64(vreinterpretq_u64_u8(state), 0), (poly64_t)next());
    uint32x4_t abcd = vld1q_u32((uint32_t*)in), w = vld1q_u32((uint32_t*)in + 4), v = vld1q_u32((uint32_t*)in + 8);
    uint32_t e = 5;
    for (int i = 0; i < 8; ++i) {
        const uint32_t e1 = vsha1h_u32(vgetq_lane_u32(abcd, 0));
        abcd = i & 1 ? vsha1cq_u32(abcd, e, w) : vsha1mq_u32(vsha1pq_u32(abcd, e, w), e, v);
        w = vsha1su1q_u32(vsha1su0q_u32(w, v, abcd), v);
        v = vsha256su1q_u32(vsha256su0q_u32(v, w), abcd, w);
        e = e1;
    }
    printf("crypto %016lx %016lx %016lx %016lx %016lx\n", hash(&state, 16), hash(&key, 16), hash(&p, 16),
           hash(&abcd, 16), hash(&v, 16));
}

int main(void) {
    matmul_double();
    matmul_float();
    matmul_half();
    reductions();
    library();
    modes();
    for (int i = 0; i < 20; ++i) vectors();
    return 0;
}

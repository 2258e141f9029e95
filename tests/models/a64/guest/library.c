// SPDX-License-Identifier: Apache-2.0
// A program with the real C library: strings, formatted output, sorting, memory, floating point. Run by the instruction
// tests under qemu-user and under our semantics; both must print the same.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 12345;
static uint32_t rnd(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}
static int compare(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }

static void strings(void) {
    char* list[200];
    for (int i = 0; i < 200; ++i) {
        char text[128];
        const int n = snprintf(text, sizeof text, "%x-%d-%s-%08.3f", rnd(), (int)rnd() - 1000000000,
                               i & 1 ? "odd" : "even", (double)rnd() / 1e5);
        list[i] = malloc((size_t)n + 1);
        strcpy(list[i], text);
    }
    qsort(list, 200, sizeof list[0], compare);
    unsigned long h = 5381;
    for (int i = 0; i < 200; ++i) {
        for (const char* p = list[i]; *p; ++p) h = h * 33 ^ (unsigned char)*p;
        const char* dash = strchr(list[i], '-');
        h += strlen(list[i]) + (unsigned long)(strrchr(list[i], '-') - dash) + (strstr(list[i], "even") != NULL);
        free(list[i]);
    }
    printf("strings %lx\n", h);
}

static void memory(void) {
    static unsigned char a[5000], b[5000];
    unsigned long h = 1;
    for (int i = 0; i < 5000; ++i) a[i] = (unsigned char)rnd();
    for (int n = 0; n < 600; n = n < 140 ? n + 1 : n + 37) {
        memset(b, n, sizeof b);
        memcpy(b + n % 19, a + n % 13, (size_t)n);
        memmove(b + 100 + n % 7, b + 90, (size_t)(n * 3 + 1));
        h = h * 31 + (unsigned long)(memcmp(a, b, (size_t)n) > 0);
        const unsigned char* p = memchr(b, a[n], sizeof b);
        h = h * 31 + (unsigned long)(p ? p - b : -1);
        for (int i = 0; i < 5000; i += 3) h = h * 33 + b[i];
    }
    printf("memory %lx\n", h);
}

static void numbers(void) {
    double sum = 0, product = 1;
    float single = 0;
    for (int i = 1; i < 400; ++i) {
        const double x = (double)((int)rnd() - 0x40000000) / 65536.0;
        sum += sqrt(fabs(x)) * (i & 1 ? 1 : -1) + floor(x) / 3 + fma(x, 0.5, 1) - fmin(x, sum) * 1e-3;
        product *= 1 + x / 1e6;
        single = single * 0.75f + (float)x / (float)i;
    }
    printf("numbers %.17g %.17g %.9g\n", sum, product, (double)single);
    printf("functions %.15g %.15g %.15g %.15g\n", sin(1.25), exp(2.5), log(77.7), pow(1.0001, 5000));
    char* end;
    printf("parsed %.17g %ld %g\n", strtod("-1234.5678e-3xyz", &end), strtol("-0x7fffabcd", NULL, 0), atof("1e-310"));
    long double quad = 1;
    for (int i = 1; i < 25; ++i) quad = quad * i + 1 / (long double)i;
    printf("quad %.30Lg\n", quad);
}

static void loops(void) { // for the vectoriser
    static int32_t x[1000];
    static float f[1000];
    static uint8_t c[1000];
    static int16_t s[1000];
    for (int i = 0; i < 1000; ++i)
        x[i] = (int32_t)rnd(), f[i] = (float)(rnd() % 1000) / 7, c[i] = (uint8_t)rnd(), s[i] = (int16_t)rnd();
    int64_t total = 0;
    int32_t biggest = x[0];
    uint32_t bytes = 0;
    float dot = 0;
    int saturated = 0;
    for (int i = 0; i < 1000; ++i) {
        total += (int64_t)x[i] * s[i];
        biggest = x[i] > biggest ? x[i] : biggest;
        bytes += c[i];
        dot += f[i] * (float)c[i];
        const int t = s[i] + c[i] * 200;
        saturated += t > 32767 ? 32767 : t;
        x[i] = (x[i] >> 3) + (c[i] << 4) - abs(s[i]);
    }
    for (int i = 0; i < 999; ++i) c[i] = (uint8_t)((c[i] + c[i + 1] + 1) >> 1);
    for (int i = 0; i < 1000; ++i) total ^= (int64_t)x[i] << (i & 31), bytes = bytes * 7 + c[i];
    printf("loops %ld %d %u %.9g %d\n", (long)total, biggest, bytes, (double)dot, saturated);
}

int main(void) {
    strings();
    memory();
    numbers();
    loops();
    return 0;
}

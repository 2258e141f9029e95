// SPDX-License-Identifier: Apache-2.0
// Random reads, one or two at a time, each address depending on what was read before, as tinymembench does them; the time
// of the same loop in a small buffer is subtracted. random-read 1|2 SIZE...
#include "calibrate/calibrate.h"

#include <stdio.h>
#include <stdlib.h>

enum { READS = 65536, WARM_READS = 250000, SMALL = 1024 };

static uint32_t step(uint32_t seed) { return seed * 1103515245u + 12345u; }

// 31 bits from three steps of the generator.
#define ADDRESS(v) \
    seed = step(seed); \
    v = seed >> 16 & 0xff; \
    seed = step(seed); \
    v |= seed >> 8 & 0xff00; \
    seed = step(seed); \
    v |= seed & 0x7fff0000

static __attribute__((noinline)) uint32_t single(const volatile uint8_t* zeros, uint32_t mask, unsigned n,
                                                 uint32_t seed) {
    while (n--) {
        uint32_t v;
        ADDRESS(v);
        seed |= zeros[v & mask];
    }
    return seed;
}

// The two loads follow each other, as in the original: a Cortex-A55 goes on for some stages only behind one that misses.
static __attribute__((noinline)) uint32_t dual(const uint8_t* zeros, uint32_t mask, unsigned n, uint32_t seed) {
    while (n--) {
        seed = step(seed);
        uint32_t v = seed >> 8 & 0xff00;
        seed = step(seed);
        uint32_t w = seed >> 8 & 0xff00;
        seed = step(seed);
        v |= seed & 0x7fff0000;
        seed = step(seed);
        w |= seed & 0x7fff0000;
        seed = step(seed);
        v |= seed >> 16 & 0xff;
        w |= seed >> 24;
        w &= mask;
        v = (v ^ w) & mask;
        uint32_t one, two;
        __asm__ volatile("ldrb %w0, [%2, %w3, uxtw]\n\tldrb %w1, [%2, %w4, uxtw]"
                         : "=&r"(one), "=r"(two)
                         : "r"(zeros), "r"(w), "r"(v)
                         : "memory");
        seed = (seed | one) + two;
    }
    return seed;
}

static uint32_t run(const uint8_t* zeros, int two, uint32_t mask, unsigned n, uint32_t seed) {
    return two ? dual(zeros, mask, n, seed) : single(zeros, mask, n, seed);
}

static double measure(const uint8_t* zeros, size_t bytes, int two, unsigned reads) {
    // Long enough for the caches to forget what they held, where the buffer can stay in them at all.
    const unsigned lines = (unsigned)(bytes / LINE), warm = bytes <= 64 << 10                             ? reads
                                                            : 10 * lines > WARM_READS && bytes <= 8 << 20 ? 10 * lines
                                                                                                          : WARM_READS;
    uint32_t seed = run(zeros, two, (uint32_t)bytes - 1, warm, (uint32_t)bytes);
    double begun = now_ns();
    seed = run(zeros, two, (uint32_t)bytes - 1, reads, seed);
    double ns = since_ns(begun);
    __asm__ volatile("" : : "r"(seed));
    return ns / reads;
}

int random_read(int argc, char** argv) {
    if (argc < 1) {
        fprintf(stderr, "usage: calibrate random-read 1|2 SIZE...\n");
        return 2;
    }
    const int two = argv[0][0] == '2';
    size_t most = SMALL;
    for (int i = 1; i < argc; i++)
        if (strtoull(argv[i], NULL, 0) > most) most = strtoull(argv[i], NULL, 0);
    const uint8_t* places[PLACES] = {fresh_memory(most)};
    for (int i = 1; i < PLACES; i++) places[i] = fresh_memory(most < PLACED ? most : PLACED);
    const uint8_t* zeros = places[0];
    const double loop = measure(zeros, SMALL, two, READS / 4);
    for (int i = 1; i < argc; i++) {
        size_t bytes = strtoull(argv[i], NULL, 0);
        double ns[PLACES];
        ns[0] = measure(zeros, bytes, two, READS);
        for (int j = 1; bytes <= PLACED && j < PLACES; j++) {
            ns[j] = measure(places[j], bytes, two, READS);
            clean_out(places[j], bytes);
        }
        double extra = (bytes <= PLACED ? median(ns) : ns[0]) - loop;
        report(two ? "random_dual" : "random_single", bytes, extra > 0 ? extra : 0, "ns");
    }
    return 0;
}

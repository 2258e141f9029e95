// SPDX-License-Identifier: Apache-2.0
// Latency of dependent loads: chains through a buffer whose steps jump by half of it, then by a quarter, and so on, as
// sbc-bench's ramlat goes. ramlat KIND SIZE..., KIND: 1x32 2x32 1x64 2x64 (byte offsets) or 1xPTR 2xPTR 4xPTR 8xPTR.
//
// One word of each line is linked. A big buffer is linked only as far as the chains go, then cleaned out of the caches:
// there each line is met once for every time that the caches are filled anew.
#include "calibrate/calibrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    POINTERS_APART = 512,  // bytes between the starts of chains of pointers
    OFFSETS_APART = 64,    // and of offsets: the next line
    WHOLE = 32 << 20,      // bytes; up to here the whole buffer is linked
    BIG_STEPS = 160 << 10, // steps of all chains in a buffer that is not
    SMALL_STEPS = 32768,   // at least, in one that is
    WARM_ACCESSES = 300000,
    WARM_ROUNDS = 10,
    WARM_NS =
        100000000,     // half of the time for which the original measures: what the L3 keeps is learnt little by little
    WARM_PIECE = 4096, // steps
    MOST_CHAINS = 8,
};

// The element after `i`: bits counted up from the top down.
static size_t successor(size_t i, size_t elements, size_t lowest) {
    size_t bit = elements / 2;
    while (bit >= lowest && (i & bit)) {
        i ^= bit;
        bit /= 2;
    }
    return bit >= lowest ? i | bit : i;
}

struct chains {
    char* buffer;
    size_t bytes, width; // of an element
    int pointers;
    unsigned count;
    size_t start[MOST_CHAINS]; // element
};

static void put(const struct chains* c, size_t at, size_t next) {
    char* p = c->buffer + at * c->width;
    if (c->pointers) {
        *(char**)p = c->buffer + next * c->width;
    } else if (c->width == 8) {
        *(uint64_t*)p = next * c->width;
    } else {
        *(uint32_t*)p = (uint32_t)(next * c->width);
    }
}

static void clean(const char* p) { __asm__ volatile("dc civac, %0" : : "r"(p) : "memory"); }

static void link_chains(const struct chains* c, size_t steps) {
    const size_t elements = c->bytes / c->width, per_line = LINE / c->width;
    if (!steps) {
        size_t i = 0, n = elements / per_line;
        while (n--) {
            size_t next = successor(i, elements, per_line);
            put(c, i, next);
            i = next;
        }
        return;
    }
    for (unsigned k = 0; k < c->count; k++) {
        size_t i = c->start[k];
        for (size_t n = steps; n; n--) {
            size_t next = successor(i, elements, per_line);
            put(c, i, next);
            clean(c->buffer + i * c->width);
            i = next;
        }
    }
    __asm__ volatile("dsb ish" : : : "memory");
}

// Follows N chains for `steps` steps each, 16 at a time.
#define REPEAT4(x) x x x x
#define REPEAT16(x) REPEAT4(x) REPEAT4(x) REPEAT4(x) REPEAT4(x)
#define P(n) "ldr %" #n ", [%" #n "]\n\t"
#define FOLLOW(name, body, ...) \
    static __attribute__((noinline)) void name(const char* base, size_t* p, size_t steps) { \
        size_t a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7]; \
        for (size_t n = steps / 16; n; n--) \
            __asm__ volatile(REPEAT16(body) \
                             : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h) \
                             : "r"(base)); \
        p[0] = a, p[1] = b, p[2] = c, p[3] = d, p[4] = e, p[5] = f, p[6] = g, p[7] = h; \
    }
FOLLOW(follow_1p, P(0))
FOLLOW(follow_2p, P(0) P(1))
FOLLOW(follow_4p, P(0) P(1) P(2) P(3))
FOLLOW(follow_8p, P(0) P(1) P(2) P(3) P(4) P(5) P(6) P(7))
FOLLOW(follow_1x, "ldr %0, [%8, %0]\n\t")
FOLLOW(follow_2x, "ldr %0, [%8, %0]\n\tldr %1, [%8, %1]\n\t")
FOLLOW(follow_1w, "ldr %w0, [%8, %0]\n\t")
FOLLOW(follow_2w, "ldr %w0, [%8, %0]\n\tldr %w1, [%8, %1]\n\t")

static const struct kind {
    const char* name;
    unsigned chains, width;
    int pointers;
    void (*follow)(const char* base, size_t* p, size_t steps);
} kinds[] = {
    {"1x32", 1, 4, 0, follow_1w},  {"2x32", 2, 4, 0, follow_2w},  {"1x64", 1, 8, 0, follow_1x},
    {"2x64", 2, 8, 0, follow_2x},  {"1xPTR", 1, 8, 1, follow_1p}, {"2xPTR", 2, 8, 1, follow_2p},
    {"4xPTR", 4, 8, 1, follow_4p}, {"8xPTR", 8, 8, 1, follow_8p},
};

static double measure(const struct kind* k, char* buffer, size_t whole, size_t bytes) {
    struct chains c = {
        .buffer = buffer, .bytes = bytes, .width = k->width, .pointers = k->pointers, .count = k->chains};
    size_t at[MOST_CHAINS] = {0}, warm, steps;
    for (unsigned i = 0; i < k->chains; i++) {
        // In the smallest buffers the chains wrap around.
        size_t start = i * (k->pointers ? POINTERS_APART : OFFSETS_APART) % bytes;
        c.start[i] = start / k->width;
        at[i] = k->pointers ? (size_t)(buffer + start) : start;
    }
    if (bytes <= WHOLE) {
        link_chains(&c, 0);
        // What linking and the size before left in the caches must not stay there.
        clean_out(buffer, whole);
        steps = bytes / LINE;
        if (steps < SMALL_STEPS) steps = SMALL_STEPS;
        // Around until what the caches hold is this buffer's, and no more what linking left.
        warm = bytes <= 256 << 10 ? 3 * steps : WARM_ROUNDS * steps;
        if (bytes > 64 << 10 && warm < WARM_ACCESSES / k->chains) warm = WARM_ACCESSES / k->chains;
        if (k->chains >= 4 && bytes > 512 << 10) steps /= 2;
        if (bytes > 8 << 20 && steps > BIG_STEPS) steps = BIG_STEPS;
    } else {
        warm = steps = BIG_STEPS / 2 / (k->chains > 2 ? 2 : 1);
        link_chains(&c, warm + steps + 1);
    }
    warm &= ~(size_t)15, steps &= ~(size_t)15;
    now_ns(); // the first call meets pages and lines of its own
    double begun = now_ns();
    for (size_t left = warm; left && now_ns() - begun < WARM_NS;) {
        size_t piece = left < WARM_PIECE ? left : WARM_PIECE;
        k->follow(buffer, at, piece);
        left -= piece;
    }
    begun = now_ns();
    k->follow(buffer, at, steps);
    return since_ns(begun) / (double)steps;
}

int ramlat(int argc, char** argv) {
    const struct kind* k = NULL;
    for (size_t i = 0; argc && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (!strcmp(argv[0], kinds[i].name)) k = &kinds[i];
    if (!k) {
        fprintf(stderr, "usage: calibrate ramlat 1x32|2x32|1x64|2x64|1xPTR|2xPTR|4xPTR|8xPTR SIZE...\n");
        return 2;
    }
    size_t most = 0;
    for (int i = 1; i < argc; i++)
        if (strtoull(argv[i], NULL, 0) > most) most = strtoull(argv[i], NULL, 0);
    if (!most) return 0;
    char* places[PLACES] = {fresh_memory(most)};
    for (int i = 1; i < PLACES; i++) places[i] = fresh_memory(most < PLACED ? most : PLACED);
    for (int i = 1; i < argc; i++) {
        size_t bytes = strtoull(argv[i], NULL, 0);
        double ns[PLACES];
        ns[0] = measure(k, places[0], most, bytes);
        for (int j = 1; bytes <= PLACED && j < PLACES; j++) {
            clean_out(places[j - 1], bytes);
            ns[j] = measure(k, places[j], most < PLACED ? most : PLACED, bytes);
        }
        clean_out(places[PLACES - 1], bytes <= PLACED ? bytes : 0);
        char name[32];
        snprintf(name, sizeof name, "ramlat_%s", k->name);
        report(name, bytes, bytes <= PLACED ? median(ns) : ns[0], "ns");
    }
    return 0;
}

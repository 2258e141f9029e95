// SPDX-License-Identifier: Apache-2.0
// Uprobes on instructions of the program and of its C library, chosen by a seed: one at a time, then many at once. What the
// program computes stays the same.
#include "upr_guest.h"

#include <stdbool.h>

extern const char __executable_start[], etext[], _start[];

static uint64_t seed = 12345;
static uint64_t next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static int compare(const void* a, const void* b) {
    const int x = *(const int*)a, y = *(const int*)b;
    return (x > y) - (x < y);
}

// Something of everything: sorting, formatting, floating point, strings, memory.
static uint64_t work(void) {
    static char text[512], copy[512];
    int v[64];
    uint64_t h = 1469598103934665603ull;
    for (int i = 0; i < 64; i++) v[i] = (i * 7919) % 101;
    qsort(v, 64, sizeof *v, compare);
    int n = 0;
    for (int i = 0; i < 8; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%d:%s:%.3f:%lx;", v[i * 8], "word", v[i] * 1.25 + 0.5,
                      (long)v[i] * 977);
    memcpy(copy, text, sizeof copy);
    memmove(copy + 3, copy, 100);
    n += (int)strlen(copy) + (int)strtol("1234", NULL, 10) + (int)(strtod("2.5e3", NULL) / 7);
    n += strcmp(text, copy) > 0;
    char* p = malloc(100);
    memset(p, n & 0x7f, 100);
    for (int i = 0; i < 100; i++) h = (h ^ (uint8_t)p[i]) * 1099511628211ull;
    free(p);
    for (size_t i = 0; i < sizeof text; i++) h = (h ^ (uint8_t)text[i] ^ (uint8_t)copy[i]) * 1099511628211ull;
    return h + (uint64_t)n;
}

static bool exclusive(uint32_t i) { return (i & 0x3f000000) == 0x08000000; }
// A literal into a vector register is loaded beside the slot, and a store-exclusive fails with a probe before it.
static bool spoils(const uint32_t* at) {
    if ((*at & 0x3f000000) == 0x1c000000) return true;
    for (int k = -16; k <= 16; k++)
        if (exclusive(at[k])) return true;
    return false;
}

static const uint32_t* choose(void) {
    const uint64_t first = (uint64_t)_start + 256, words = ((uint64_t)etext - first - 256) / 4;
    for (;;) {
        const uint32_t* at = (const uint32_t*)first + next_random() % words;
        if (!spoils(at)) return at;
    }
}

// Instructions of functions that certainly run.
static const uint32_t* choose_used(void) {
    static const void* const functions[] = {work, compare, qsort, snprintf, strtol, strtod, malloc, free, next_random};
    for (;;) {
        const uint32_t* at = (const uint32_t*)functions[next_random() % 9] + next_random() % 40;
        if (!spoils(at)) return at;
    }
}

int main(void) {
    const uint64_t want = work();
    int opened = 0, same = 0;
    uint64_t hit = 0;
    for (int i = 0; i < 60; i++) {
        const int fd = probe(choose_used(), 0);
        if (fd < 0) continue;
        opened++;
        same += work() == want;
        hit += hits(fd) != 0;
        close(fd);
    }
    say("one at a time: same %d, many were hit %d", same == opened, hit > 20);
    static int fd[400];
    opened = 0;
    for (int i = 0; i < 400; i++) {
        fd[opened] = probe(i & 1 ? choose() : choose_used(), 0);
        opened += fd[opened] >= 0;
    }
    same = 1;
    for (int i = 0; i < 3; i++) same &= work() == want;
    say("hundreds at once: %d, same %d", opened > 200, same);
    uint64_t sum = 0;
    for (int i = 0; i < opened; i++) sum += hits(fd[i]), close(fd[i]);
    say("hits %d, afterwards same %d", sum > 1000, work() == want);
    return 0;
}

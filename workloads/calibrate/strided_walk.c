// SPDX-License-Identifier: Apache-2.0
// A walk through 16 MiB in which each byte read says how many lines on the next one is (seven), as DynamoRIO's stride
// benchmark does it; with and without prefetch instructions a hundred steps ahead. strided-walk NAME...
#include "calibrate/calibrate.h"

#include <string.h>

enum { BYTES = 16 << 20, LINES_A_STEP = 7, STEPS = 400000, AHEAD = 100 };

static __attribute__((noinline)) uint32_t walk(const uint8_t* lines, uint32_t at, long steps) {
    while (steps--) at = (at + lines[at] * LINE) & (BYTES - 1);
    return at;
}

static __attribute__((noinline)) uint32_t walk_prefetched(const uint8_t* lines, uint32_t at, long steps) {
    while (steps--) {
        __builtin_prefetch(lines + at + AHEAD * LINES_A_STEP * LINE, 0, 0);
        at = (at + lines[at] * LINE) & (BYTES - 1);
    }
    return at;
}

int strided_walk(int argc, char** argv) {
    uint8_t* const lines = fresh_memory(BYTES + AHEAD * LINES_A_STEP * LINE);
    memset(lines, LINES_A_STEP, BYTES);
    for (int i = 0; i < argc; i++) {
        uint32_t (*const run)(const uint8_t*, uint32_t, long) = !strcmp(argv[i], "walk_by_7") ? walk : walk_prefetched;
        const uint32_t at = run(lines, 0, STEPS / 4);
        const double begun = now_ns();
        const uint32_t end = run(lines, at, STEPS);
        const double ns = since_ns(begun) / STEPS;
        if (end == at) return 1; // STEPS times seven lines are no multiple of the whole
        report(argv[i], 0, ns, "ns");
    }
    return 0;
}

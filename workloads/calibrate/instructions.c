// SPDX-License-Identifier: Apache-2.0
// Latency and throughput of instructions, nanoseconds for one repetition (all instructions of a chain). instructions [NAME...]
#include "calibrate/calibrate.h"

#include <stdio.h>
#include <string.h>

enum { REPEATED = 64, TURNS = 150, TRIES = 4 };

#define KERNEL(name, repeated) \
    static __attribute__((noinline)) void name(uint64_t turns, void* memory) { \
        __asm__ volatile( \
            "mov x9, %1\n\tadd x8, %1, 2044\n\tmov x10, 3\n\tmov x11, 5\n\tmov x12, 0\n\tmov x0, 0\n\tcmp x10, 7\n\t" \
            "fmov v16.4s, 1.0\n\tfmov v17.4s, 1.0\n\tfmov v18.4s, 1.0\n\tfmov v19.4s, 1.0\n\t" \
            "fmov v0.4s, 1.0\n\tmovi v20.2d, 0\n\tmovi v21.2d, 0\n\tmovi v22.2d, 0\n\tmovi v23.2d, 0\n\t" \
            ".balign 64\n1:\n\t" repeated "\n2:\tsub %0, %0, 1\n\tcbnz %0, 1b" \
            : "+r"(turns) \
            : "r"(memory) \
            : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x14", "v0", "v1", \
              "v2", "v3", "v4", "v5", "v6", "v7", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "cc", \
              "memory"); \
    }
#define ROW(name, chain, independent) \
    KERNEL(latency_##name, ".rept 64\n\t" chain "\n\t.endr") \
    KERNEL(throughput_##name, ".rept 8\n\t.irp r, 0, 1, 2, 3, 4, 5, 6, 7\n\t" independent "\n\t.endr\n\t.endr")
#include "calibrate/instructions.def"
#undef ROW

static const struct {
    const char *name, *chain, *independent;
    void (*latency)(uint64_t turns, void* memory);
    void (*throughput)(uint64_t turns, void* memory);
} rows[] = {
#define ROW(name, chain, independent) {#name, chain, independent, latency_##name, throughput_##name},
#include "calibrate/instructions.def"
};

static char memory[4 * PAGE] __attribute__((aligned(4096)));

static void measure(const char* what, const char* name, void (*run)(uint64_t, void*)) {
    char label[64];
    memset(memory, 0, sizeof memory);
    *(void**)memory = memory; // a load of its own address
    run(20, memory);
    // The shortest of several: the others met an interrupt.
    double best = 0;
    for (int i = 0; i < TRIES; i++) {
        double begun = now_ns();
        run(TURNS, memory);
        double ns = since_ns(begun) / TURNS / REPEATED;
        if (i == 0 || ns < best) best = ns;
    }
    snprintf(label, sizeof label, "%s_%s", what, name);
    report(label, 0, best, "ns");
}

int instructions(int argc, char** argv) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int wanted = !argc;
        for (int a = 0; a < argc; a++) wanted |= !strcmp(argv[a], rows[i].name);
        if (wanted && *rows[i].chain) measure("latency", rows[i].name, rows[i].latency);
        if (wanted && *rows[i].independent) measure("throughput", rows[i].name, rows[i].throughput);
    }
    return 0;
}

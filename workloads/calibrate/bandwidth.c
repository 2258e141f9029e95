// SPDX-License-Identifier: Apache-2.0
// Bytes a second through buffers far bigger than the caches, by the methods of tinymembench and STREAM; a copy counts its
// bytes once, STREAM's kernels all they touch. bandwidth [THREADS] NAME...
#include "calibrate/calibrate.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WARM = 5 << 20, // the caches' old contents, and then what is dirty in them
    TIMED = 6 << 20,
    BUFFER = 12 << 20, // of which no more is touched
    BOUNCE = 2048,     // a 2-pass copy goes through so much
    STREAM_ARRAYS = 3,
};

typedef int64_t word;
// Works on `bytes` of `to`, and of `from` if it copies.
typedef void method(char* to, char* from, size_t bytes);

#define ASM_LOOP(name, step, body) \
    static __attribute__((noinline)) void name(char* to, char* from, size_t bytes) { \
        __asm__ volatile("1:\n\t" body "subs %2, %2, #" #step "\n\tb.gt 1b" \
                         : "+r"(to), "+r"(from), "+r"(bytes) \
                         : \
                         : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "v0", "v1", "v2", "v3", "cc", "memory"); \
    }
#define LOAD_X(op) \
    op " x4, x5, [%1]\n\t" op " x6, x7, [%1, 16]\n\t" op " x8, x9, [%1, 32]\n\t" op " x10, x11, [%1, 48]\n\t"
#define STORE_X(op) \
    op " x4, x5, [%0]\n\t" op " x6, x7, [%0, 16]\n\t" op " x8, x9, [%0, 32]\n\t" op " x10, x11, [%0, 48]\n\t"
#define LOAD_Q(op) op " q0, q1, [%1]\n\t" op " q2, q3, [%1, 32]\n\t"
#define STORE_Q(op) op " q0, q1, [%0]\n\t" op " q2, q3, [%0, 32]\n\t"
#define NEXT_FROM "add %1, %1, 64\n\t"
#define NEXT_TO "add %0, %0, 64\n\t"

ASM_LOOP(ldp_load, 64, LOAD_X("ldp") NEXT_FROM)
ASM_LOOP(ldnp_load, 64, LOAD_X("ldnp") NEXT_FROM)
ASM_LOOP(neon_ldp_load, 64, LOAD_Q("ldp") NEXT_FROM)
ASM_LOOP(neon_ldnp_load, 64, LOAD_Q("ldnp") NEXT_FROM)
ASM_LOOP(stp_fill, 64, STORE_X("stp") NEXT_TO)
ASM_LOOP(stnp_fill, 64, STORE_X("stnp") NEXT_TO)
ASM_LOOP(neon_stp_fill, 64, STORE_Q("stp") NEXT_TO)
ASM_LOOP(neon_stnp_fill, 64, STORE_Q("stnp") NEXT_TO)
ASM_LOOP(ldp_stp_copy, 64, LOAD_X("ldp") STORE_X("stp") NEXT_FROM NEXT_TO)
ASM_LOOP(neon_ldp_stp_copy, 64, LOAD_Q("ldp") STORE_Q("stp") NEXT_FROM NEXT_TO)
ASM_LOOP(neon_pldl1keep, 64, "prfm pldl1keep, [%1, 512]\n\t" LOAD_Q("ldp") STORE_Q("stp") NEXT_FROM NEXT_TO)
ASM_LOOP(neon_pldl2strm, 64, "prfm pldl2strm, [%1, 512]\n\t" LOAD_Q("ldp") STORE_Q("stp") NEXT_FROM NEXT_TO)
ASM_LOOP(ld1_st1_copy, 64,
         "ld1 {v0.16b, v1.16b, v2.16b, v3.16b}, [%1], 64\n\tst1 {v0.16b, v1.16b, v2.16b, v3.16b}, [%0], 64\n\t")

static void c_copy(char* to, char* from, size_t bytes) {
    volatile word *d = (volatile word*)to, *s = (volatile word*)from;
    for (size_t n = bytes / 64; n; n--, d += 8, s += 8)
        for (int i = 0; i < 8; i += 4) {
            word a = s[i], b = s[i + 1], c = s[i + 2], e = s[i + 3];
            d[i] = a, d[i + 1] = b, d[i + 2] = c, d[i + 3] = e;
        }
}

static void c_copy_prefetched(char* to, char* from, size_t bytes) {
    volatile word *d = (volatile word*)to, *s = (volatile word*)from;
    for (size_t n = bytes / 64; n; n--, d += 8, s += 8) {
        __builtin_prefetch((const char*)s + 256, 0, 0);
        for (int i = 0; i < 8; i += 4) {
            word a = s[i], b = s[i + 1], c = s[i + 2], e = s[i + 3];
            d[i] = a, d[i + 1] = b, d[i + 2] = c, d[i + 3] = e;
        }
    }
}

static void c_copy_backwards(char* to, char* from, size_t bytes) {
    volatile word *d = (volatile word*)(to + bytes) - 1, *s = (volatile word*)(from + bytes) - 1;
    for (size_t n = bytes / 64; n; n--, d -= 8, s -= 8)
        for (int i = 0; i < 8; i += 4) {
            word a = s[-i], b = s[-i - 1], c = s[-i - 2], e = s[-i - 3];
            d[-i] = a, d[-i - 1] = b, d[-i - 2] = c, d[-i - 3] = e;
        }
}

static void c_copy_backwards_64(char* to, char* from, size_t bytes) {
    for (size_t n = bytes / 64; n--;) c_copy(to + n * 64, from + n * 64, 64);
}

static void two_pass(char* to, char* from, size_t bytes, method* copy) {
    static char bounce[BOUNCE] __attribute__((aligned(64)));
    for (size_t at = 0; at < bytes; at += BOUNCE) {
        copy(bounce, from + at, BOUNCE);
        copy(to + at, bounce, BOUNCE);
    }
}
static void c_2_pass(char* to, char* from, size_t bytes) { two_pass(to, from, bytes, c_copy); }
static void c_2_pass_prefetched(char* to, char* from, size_t bytes) {
    static char bounce[BOUNCE] __attribute__((aligned(64)));
    for (size_t at = 0; at < bytes; at += BOUNCE) {
        c_copy_prefetched(bounce, from + at, BOUNCE);
        c_copy(to + at, bounce, BOUNCE);
    }
}

static void c_fill(char* to, char* from, size_t bytes) {
    volatile word* d = (volatile word*)to;
    (void)from;
    for (size_t n = bytes / 64; n; n--, d += 8) d[0] = d[1] = d[2] = d[3] = d[4] = d[5] = d[6] = d[7] = 1;
}

// The order of the words of a 64-byte block as shuffled as tinymembench's.
static void c_fill_shuffled(char* to, char* from, size_t bytes) {
    volatile word* d = (volatile word*)to;
    (void)from;
    for (size_t n = bytes / 64; n; n--, d += 8) {
        d[5] = 1, d[0] = 1, d[7] = 1, d[1] = 1, d[6] = 1, d[2] = 1, d[3] = 1, d[4] = 1;
    }
}

// One element a turn, up to the first that is not zero.
#define SCAN(name, load, bytes_each) \
    static void name(char* to, char* from, size_t bytes) { \
        const char *p = from, *end = from + bytes; \
        (void)to; \
        __asm__ volatile("1:\n\t" load ", [%0], " #bytes_each "\n\tcbnz x4, 2f\n\tcmp %0, %1\n\tb.ne 1b\n2:" \
                         : "+r"(p) \
                         : "r"(end) \
                         : "x4", "cc", "memory"); \
    }
SCAN(scan_8, "ldrb w4", 1)
SCAN(scan_16, "ldrh w4", 2)
SCAN(scan_32, "ldr w4", 4)
SCAN(scan_64, "ldr x4", 8)

static void libc_memcpy(char* to, char* from, size_t bytes) { memcpy(to, from, bytes); }
static void libc_memset(char* to, char* from, size_t bytes) {
    (void)from;
    memset(to, 1, bytes);
}
static void libc_memchr(char* to, char* from, size_t bytes) {
    (void)to;
    const char* volatile found = memchr(from, 1, bytes);
    (void)found;
}

// STREAM: arrays a, b, c one after the other; built by gcc -O3 like the published runs. `to` is a.
#define STREAM(name, statement) \
    static __attribute__((noinline, optimize("O3"))) void name(char* to, char* from, size_t bytes) { \
        double* restrict a = (double*)to, * restrict b = (double*)from, * restrict c = (double*)(from + BUFFER); \
        (void)b, (void)c; \
        for (size_t i = 0; i < bytes / 8; i++) statement; \
    }
// GCC would call memcpy for the copy, as it does in the published runs.
static void stream_copy(char* to, char* from, size_t bytes) { memcpy(to, from, bytes); }
STREAM(stream_scale, a[i] = 3.0 * b[i])
STREAM(stream_add, a[i] = b[i] + c[i])
STREAM(stream_triad, a[i] = b[i] + 3.0 * c[i])

static const struct entry {
    const char* name;
    method* run;
    unsigned counted; // bytes per byte of one array
    size_t most;      // bytes timed at most, when slow
    int backwards;
} entries[] = {
    {"ldp_load", ldp_load, 1, 0, 0},
    {"ldnp_load", ldnp_load, 1, 0, 0},
    {"neon_ldp_load", neon_ldp_load, 1, 0, 0},
    {"neon_ldnp_load", neon_ldnp_load, 1, 0, 0},
    {"stp_fill", stp_fill, 1, 0, 0},
    {"stnp_fill", stnp_fill, 1, 0, 0},
    {"neon_stp_fill", neon_stp_fill, 1, 0, 0},
    {"neon_stnp_fill", neon_stnp_fill, 1, 0, 0},
    {"c_fill", c_fill, 1, 0, 0},
    {"c_fill_shuffled", c_fill_shuffled, 1, 0, 0},
    {"ldp_stp_copy", ldp_stp_copy, 1, 0, 0},
    {"neon_ldp_stp_copy", neon_ldp_stp_copy, 1, 0, 0},
    {"neon_pldl1keep", neon_pldl1keep, 1, 0, 0},
    {"neon_pldl2strm", neon_pldl2strm, 1, 0, 0},
    {"ld1_st1_copy", ld1_st1_copy, 1, 0, 0},
    {"c_copy", c_copy, 1, 0, 0},
    {"c_copy_prefetched", c_copy_prefetched, 1, 0, 0},
    {"c_copy_backwards", c_copy_backwards, 1, 0, 1},
    {"c_copy_backwards_64", c_copy_backwards_64, 1, 0, 1},
    {"c_2_pass", c_2_pass, 1, 0, 0},
    {"c_2_pass_prefetched", c_2_pass_prefetched, 1, 0, 0},
    {"scan_8", scan_8, 1, 1 << 20, 0},
    {"scan_16", scan_16, 1, 2 << 20, 0},
    {"scan_32", scan_32, 1, 4 << 20, 0},
    {"scan_64", scan_64, 1, 0, 0},
    {"memcpy", libc_memcpy, 1, 0, 0},
    {"memset", libc_memset, 1, 0, 0},
    {"memchr", libc_memchr, 1, 0, 0},
    {"stream_copy", stream_copy, 2, 0, 0},
    {"stream_scale", stream_scale, 2, 0, 0},
    {"stream_add", stream_add, 3, 0, 0},
    {"stream_triad", stream_triad, 3, 0, 0},
};

struct job {
    const struct entry* entry;
    char *to, *from;
    pthread_barrier_t* barrier;
    double begun, ended;
};

static void* work(void* argument) {
    struct job* j = argument;
    const struct entry* e = j->entry;
    const size_t timed = e->most && e->most < TIMED ? e->most : TIMED, warm = e->most ? timed / 4 : WARM;
    char *first = j->to, *second = j->from;
    // Downwards, what is timed lies below what warms up.
    const size_t warm_at = e->backwards ? timed : 0, timed_at = e->backwards ? 0 : warm;
    if (j->barrier) pthread_barrier_wait(j->barrier);
    e->run(first + warm_at, second + warm_at, warm);
    if (j->barrier) pthread_barrier_wait(j->barrier);
    j->begun = now_ns();
    e->run(first + timed_at, second + timed_at, timed);
    j->ended = now_ns();
    return NULL;
}

static void measure(const struct entry* e, unsigned threads, char** memory) {
    struct job jobs[8];
    pthread_t ids[8];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        jobs[i] = (struct job){e, memory[i], memory[i] + BUFFER, threads > 1 ? &barrier : NULL, 0, 0};
        if (i) pthread_create(&ids[i], NULL, work, &jobs[i]);
    }
    work(&jobs[0]);
    double begun = jobs[0].begun, ended = jobs[0].ended;
    for (unsigned i = 1; i < threads; i++) {
        pthread_join(ids[i], NULL);
        if (jobs[i].begun < begun) begun = jobs[i].begun;
        if (jobs[i].ended > ended) ended = jobs[i].ended;
    }
    pthread_barrier_destroy(&barrier);
    const size_t timed = e->most && e->most < TIMED ? e->most : TIMED;
    char name[64];
    snprintf(name, sizeof name, "bw_%s", e->name);
    report(name, threads, (double)timed * e->counted * threads / (ended - begun) * 1e3, "MB/s");
}

int bandwidth(int argc, char** argv) {
    unsigned threads = 1;
    char* memory[8];
    int i = 0;
    if (argc && argv[0][0] >= '1' && argv[0][0] <= '8') threads = (unsigned)(argv[i++][0] - '0');
    for (unsigned t = 0; t < threads; t++) memory[t] = fresh_memory((size_t)STREAM_ARRAYS * BUFFER);
    for (; i < argc; i++) {
        const struct entry* found = NULL;
        for (size_t k = 0; k < sizeof(entries) / sizeof(*entries); k++)
            if (!strcmp(argv[i], entries[k].name)) found = &entries[k];
        if (!found) {
            fprintf(stderr, "calibrate bandwidth: no method '%s'\n", argv[i]);
            return 2;
        }
        measure(found, threads, memory);
    }
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Kernels of known speed: AES in CBC mode, chains of FMLA, pairs of integer instructions, and code of many small functions
// on records and strings. compute NAME...
#include "calibrate/calibrate.h"

#include <arm_neon.h>
#include <stdio.h>
#include <string.h>

// --- AES: the next block is mixed with the first and last round key meanwhile, and the last one stored, so that a block
// costs its rounds. What is stored first is nothing. ---

#define ROUND(key) "aese v0.16b, " key ".16b\n\taesmc v0.16b, v0.16b\n\t"

static void cbc_128(const uint8_t* in, uint8_t* out, size_t blocks, const uint8x16_t* keys) {
    __asm__ volatile(
        "ld1 {v16.16b-v19.16b}, [%3], 64\n\tld1 {v20.16b-v23.16b}, [%3], 64\n\tld1 {v24.16b-v26.16b}, [%3]\n\t"
        "eor v27.16b, v16.16b, v26.16b\n\tmovi v0.2d, 0\n\tld1 {v1.16b}, [%0], 16\n\teor v2.16b, v1.16b, v16.16b\n"
        "1:\n\taese v0.16b, v2.16b\n\taesmc v0.16b, v0.16b\n\tst1 {v3.16b}, [%1], 16\n\t" ROUND("v17")
            ROUND("v18") "subs %2, %2, 1\n\t" ROUND("v19") ROUND("v20") "ld1 {v1.16b}, [%0], 16\n\t" ROUND("v21")
                ROUND("v22") ROUND("v23") "eor v2.16b, v1.16b, v27.16b\n\t" ROUND(
                    "v24") "aese v0.16b, v25.16b\n\teor v3.16b, v0.16b, v26.16b\n\tb.ne 1b\n\tst1 {v3.16b}, [%1]"
        : "+r"(in), "+r"(out), "+r"(blocks), "+r"(keys)
        :
        : "v0", "v1", "v2", "v3", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27",
          "cc", "memory");
}

// Longer schedules do not fit: their middle keys go through two registers, each loaded two rounds before its use, as OpenSSL
// orders them, and so does one that they displace.
#define LOAD(key, from) "ld1 {" key ".16b}, [" from "]\n\t"
#define CBC_LONG(name, more) \
    static void name(const uint8_t* in, uint8_t* out, size_t blocks, const uint8x16_t* keys) { \
        const uint8x16_t* middle = keys + 10; \
        size_t step = 16; \
        __asm__ volatile( \
            "ld1 {v16.16b-v19.16b}, [%3], 64\n\tld1 {v20.16b-v23.16b}, [%3], 64\n\tld1 {v24.16b-v26.16b}, [%3]\n\t" \
            "eor v27.16b, v16.16b, v26.16b\n\tmovi v0.2d, 0\n\tld1 {v4.16b}, [%0], 16\n\teor v4.16b, v4.16b, " \
            "v16.16b\n\t" \
            "mov v5.16b, v17.16b\n" \
            "1:\n\t" ROUND("v4") "st1 {v3.16b}, [%1], 16\n\t" ROUND("v5") ROUND("v18") LOAD( \
                "v4", "%5") "cmp %2, 0\n\t" ROUND("v19") LOAD("v5", "%6") "b.lo 2f\n\t" more \
                ROUND("v4") "subs %2, %2, 1\n\t" ROUND("v5") "csel %4, xzr, %4, eq\n\t" ROUND("v20") ROUND( \
                    "v21") "ld1 {v4.16b}, [%0], %4\n\t" ROUND("v22") "eor v4.16b, v4.16b, v27.16b\n\t" ROUND("v23") \
                    LOAD("v5", "%3") ROUND( \
                        "v24") "aese v0.16b, v25.16b\n\teor v3.16b, v0.16b, v26.16b\n\tb.ne 1b\n2:\tst1 {v3.16b}, " \
                               "[%1]" \
            : "+r"(in), "+r"(out), "+r"(blocks), "+r"(keys), "+r"(step) \
            : "r"(middle), "r"(middle + 1), "r"(middle + 2), "r"(middle + 3) \
            : "v0", "v3", "v4", "v5", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", \
              "v27", "cc", "memory"); \
    }
CBC_LONG(cbc_192, "")
CBC_LONG(cbc_256, ROUND("v4") LOAD("v4", "%7") ROUND("v5") LOAD("v5", "%8") "nop\n\t")

static void aes(const char* name, void (*cbc)(const uint8_t*, uint8_t*, size_t, const uint8x16_t*)) {
    enum { BYTES = 16384, TURNS = 4 };
    static uint8_t in[BYTES + 16] __attribute__((aligned(64))), out[BYTES + 16] __attribute__((aligned(64)));
    uint8x16_t keys[16];
    for (int i = 0; i < 16; i++) keys[i] = vdupq_n_u8((uint8_t)(i * 17));
    cbc(in, out, BYTES / 16, keys);
    double begun = now_ns();
    for (int i = 0; i < TURNS; i++) cbc(in, out, BYTES / 16, keys);
    report(name, BYTES, since_ns(begun) / TURNS / (BYTES / 16), "ns");
}

// --- loops of a few instructions: nanoseconds for one turn ------------------------------------------------------------

#define LOOP(name, body) \
    static __attribute__((noinline)) void name(uint64_t turns, void* memory) { \
        __asm__ volatile( \
            "mov x9, %1\n\tmov x8, 0\n\tmov x10, 1\n\tmov x11, 1\n\t" \
            ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,30,31\n\tmovi v\\r\\().2d, 0\n\t.endr\n\t" \
            ".balign 64\n1:\n\t" body "\n\tsubs %0, %0, 1\n\tb.ne 1b" \
            : "+r"(turns) \
            : "r"(memory) \
            : "x8", "x9", "x10", "x11", "x12", "x13", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", \
              "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v30", "v31", "cc", "memory"); \
    }
#define FMLAS(list) ".irp r," list "\n\tfmla v\\r\\().4s, v30.4s, v31.4s\n\t.endr"
LOOP(fmla_1, FMLAS("0"))
LOOP(fmla_2, FMLAS("0,1"))
LOOP(fmla_5, FMLAS("0,1,2,3,4"))
LOOP(fmla_10, FMLAS("0,1,2,3,4,5,6,7,8,9"))
LOOP(fmla_20, FMLAS("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19"))
LOOP(add_chain, ".rept 96\n\tadd w8, w8, 1\n\t.endr")
LOOP(two_add_chains, ".rept 48\n\tadd w8, w8, 1\n\tadd w10, w10, 1\n\t.endr")
LOOP(add_triplet, ".rept 32\n\tadd w8, w8, 1\n\tadd w12, w8, 1\n\tadd w13, w8, 1\n\t.endr")
LOOP(add_and_ldr, ".rept 32\n\tadd w11, w11, 1\n\tand w12, w11, 0xf8\n\tldr w13, [x9, x12]\n\t.endr")

static void loop(const char* name, void (*run)(uint64_t, void*)) {
    enum { TURNS = 4000 };
    static char memory[512] __attribute__((aligned(64)));
    run(50, memory);
    double begun = now_ns();
    run(TURNS, memory);
    report(name, 0, since_ns(begun) / TURNS, "ns");
}

// --- small functions, records, strings --------------------------------------------------------------------------------

enum colour { RED, GREEN, BLUE, WHITE };
struct record {
    struct record* next;
    enum colour first, second;
    int number;
    char text[31];
};

static struct record *head, *spare;
static int counter, table[50], square[50][50];
static char letter_one, letter_two;

static __attribute__((noinline)) int letters_differ(char a, char b) {
    char c = a;
    return c != b ? 1 : (letter_one = c, 0);
}
static __attribute__((noinline)) int texts_in_order(const char* a, const char* b) {
    int at = 2;
    char which = 'A';
    while (at <= 2)
        if (letters_differ(a[at], b[at + 1]))
            which = 'A', at += 1;
        else
            at += 1;
    if (which >= 'W' && which < 'Z') at = 7;
    if (which == 'R') return 1;
    if (strcmp(a, b) > 0) return at += 7, counter = at, 1;
    return 0;
}
static __attribute__((noinline)) int is_blue(enum colour c) { return c == BLUE; }
static __attribute__((noinline)) void next_colour(enum colour in, enum colour* out) {
    *out = is_blue(in) ? in : WHITE;
    switch (in) {
        case RED: *out = RED; break;
        case GREEN: *out = counter > 100 ? RED : WHITE; break;
        case BLUE: *out = GREEN; break;
        case WHITE: break;
    }
}
static __attribute__((noinline)) void plus_two(int a, int b, int* sum) { *sum = a + 2 + b; }
static __attribute__((noinline)) void fill_tables(int* line, int (*grid)[50], int at, int value) {
    int i = at + 5;
    line[i] = value;
    line[i + 1] = line[i];
    line[i + 30] = i;
    for (int k = i; k <= i + 1; k++) grid[i][k] = i;
    grid[i][i - 1] += 1;
    grid[i + 20][i] = line[i];
    counter = 5;
}
static __attribute__((noinline)) void follow_record(struct record* r) {
    struct record* n = r->next;
    *n = *head;
    r->number = 5;
    n->number = r->number;
    n->next = r->next;
    if (n->first == RED) {
        n->number = 6;
        next_colour(r->second, &n->second);
        n->next = head->next;
        plus_two(n->number, 10, &n->number);
    } else {
        *r = *n;
    }
}
static __attribute__((noinline)) void count_letter(int* n) {
    int at = *n + 10;
    for (;;)
        if (letter_one == 'A') {
            at -= 1;
            *n = at - counter;
            return;
        }
}
static __attribute__((noinline)) void set_letters(void) {
    int is_a = letter_one == 'A';
    counter |= is_a;
    letter_two = 'B';
}

static void integer_code(void) {
    enum { TURNS = 3000 };
    static struct record records[2];
    char one[31], two[31];
    double begun = 0;
    head = &records[0], spare = &records[1];
    *head = (struct record){spare, RED, BLUE, 40, "some text of thirty characters"};
    strcpy(one, "first text of thirty letters 1");
    for (int turn = -200; turn < TURNS; turn++) {
        int a = 2, b = 3, c = 0;
        enum colour colour = GREEN;
        if (turn == 0) begun = now_ns();
        letter_one = 'A';
        set_letters();
        strcpy(two, "first text of thirty letters 2");
        __asm__ volatile("" : : "r"(two), "r"(one) : "memory");
        int ordered = !texts_in_order(one, two);
        while (a < b) {
            c = 5 * a - b;
            plus_two(a, b, &c);
            a += 1;
        }
        fill_tables(table, square, a, c);
        follow_record(head);
        for (char l = 'A'; l <= letter_two; l++)
            if (letters_differ(l, 'C') == 0) {
                next_colour(RED, &colour);
                strcpy(two, "third text of thirty letters 3");
                b = turn;
            }
        b = b * a;
        a = b / (c ? c : 1);
        b = 7 * (b - c) - a;
        count_letter(&a);
        counter += ordered;
        __asm__ volatile("" : : "r"(a), "r"(b), "r"(colour) : "memory");
    }
    report("integer_code", 0, since_ns(begun) / TURNS, "ns");
}

int compute(int argc, char** argv) {
    static const struct {
        const char* name;
        void (*run)(uint64_t, void*);
    } loops[] = {
        {"fmla_1", fmla_1},
        {"fmla_2", fmla_2},
        {"fmla_5", fmla_5},
        {"fmla_10", fmla_10},
        {"fmla_20", fmla_20},
        {"add_chain", add_chain},
        {"two_add_chains", two_add_chains},
        {"add_triplet", add_triplet},
        {"add_and_ldr", add_and_ldr},
    };
    for (int i = 0; i < argc; i++) {
        if (!strcmp(argv[i], "aes_128")) aes(argv[i], cbc_128);
        if (!strcmp(argv[i], "aes_192")) aes(argv[i], cbc_192);
        if (!strcmp(argv[i], "aes_256")) aes(argv[i], cbc_256);
        if (!strcmp(argv[i], "integer_code")) integer_code();
        for (size_t k = 0; k < sizeof(loops) / sizeof(*loops); k++)
            if (!strcmp(argv[i], loops[k].name)) loop(argv[i], loops[k].run);
    }
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Integer work without a C library: prints one checksum per topic. Run by the instruction tests under qemu-user and
// under our semantics, at every optimisation level; both must print the same.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef unsigned __int128 u128;

static long syscall3(long n, long a, long b, long c) {
    register long x8 __asm__("x8") = n;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}

void* memset(void* p, int c, u64 n) {
    for (u64 i = 0; i < n; ++i) ((volatile u8*)p)[i] = (u8)c;
    return p;
}
void* memcpy(void* to, const void* from, u64 n) {
    for (u64 i = 0; i < n; ++i) ((volatile u8*)to)[i] = ((const u8*)from)[i];
    return to;
}

static void print(const char* name, u64 value) {
    char line[64];
    u64 n = 0;
    while (name[n]) line[n] = name[n], ++n;
    line[n++] = ' ';
    for (int i = 60; i >= 0; i -= 4) line[n++] = "0123456789abcdef"[value >> i & 15];
    line[n++] = '\n';
    syscall3(64, 1, (long)line, (long)n);
}

static u64 seed = 88172645463325252ul;
static u64 rnd(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}
static u64 mix(u64 h, u64 v) { return (h ^ v) * 0x9e3779b97f4a7c15ul + (h >> 29); }

#define RMW(OP, SUFFIX, REG, T) \
    { \
        T cell __attribute__((aligned(8))) = (T)a; \
        u64 old; \
        __asm__ volatile(OP SUFFIX " %" REG "[v], %" REG "[o], %[m]" : [o] "=&r"(old), [m] "+Q"(cell) : [v] "r"(b)); \
        h = mix(mix(h, old), (u64)cell); \
    }
#define RMW_SIZES(OP) \
    RMW(OP, "alb", "w", u8) \
    RMW(OP, "ah", "w", u16) \
    RMW(OP, "l", "w", u32) \
    RMW(OP, "", "x", u64)

static u64 atomics(void) {
    static const u64 edge[] = {0,
                               1,
                               0x7f,
                               0x80,
                               0xff,
                               0x7fff,
                               0x8000,
                               0xffff,
                               0x7fffffff,
                               0x80000000,
                               0xffffffff,
                               0x7ffffffffffffffful,
                               0x8000000000000000ul,
                               ~0ul};
    u64 h = 1;
    for (int i = 0; i < 14 * 14 + 300; ++i) {
        const u64 a = i < 196 ? edge[i / 14] : rnd(), b = i < 196 ? edge[i % 14] : rnd();
        RMW_SIZES("ldadd")
        RMW_SIZES("ldclr")
        RMW_SIZES("ldeor")
        RMW_SIZES("ldset")
        RMW_SIZES("ldsmax")
        RMW_SIZES("ldsmin")
        RMW_SIZES("ldumax")
        RMW_SIZES("ldumin")
        RMW_SIZES("swp")
    }
    return h;
}

static u64 exclusives(void) {
    u64 h = 2;
    u64 cells[4] __attribute__((aligned(16))) = {1, 2, 3, 4};
    for (int i = 0; i < 50; ++i) {
        u64 v, w;
        u32 status;
        __asm__ volatile("1: ldaxr %[v], [%[p]]\n add %[v], %[v], %[k]\n stlxr %w[s], %[v], [%[p]]\n cbnz %w[s], 1b"
                         : [v] "=&r"(v), [s] "=&r"(status)
                         : [p] "r"(&cells[0]), [k] "r"((u64)i)
                         : "memory");
        h = mix(h, v + status);
        __asm__ volatile(
            "1: ldxp %[v], %[w], [%[p]]\n eor %[v], %[v], %[w]\n add %[w], %[w], #7\n stxp %w[s], %[v], %[w], [%[p]]\n"
            "cbnz %w[s], 1b"
            : [v] "=&r"(v), [w] "=&r"(w), [s] "=&r"(status)
            : [p] "r"(&cells[2])
            : "memory");
        h = mix(h, v + w + status);
        // The monitor is dropped by CLREX, and a store without a load fails.
        __asm__ volatile("ldxrb %w[v], [%[p]]\n clrex\n stxrb %w[s], %w[k], [%[p]]"
                         : [v] "=&r"(v), [s] "=&r"(status)
                         : [p] "r"(&cells[1]), [k] "r"(i)
                         : "memory");
        h = mix(h, v + status * 1000);
        __asm__ volatile("stxrh %w[s], %w[k], [%[p]]" : [s] "=&r"(status) : [p] "r"(&cells[1]), [k] "r"(i) : "memory");
        h = mix(h, status);
        __asm__ volatile("ldapr %[v], [%[p]]\n stlr %[v], [%[q]]\n ldar %w[w], [%[q]]"
                         : [v] "=&r"(v), [w] "=&r"(w)
                         : [p] "r"(&cells[0]), [q] "r"(&cells[1])
                         : "memory");
        h = mix(h, v ^ w);
    }
    for (int i = 0; i < 4; ++i) h = mix(h, cells[i]);
    return h;
}

static u64 compare_and_swap(void) {
    u64 h = 3;
    u64 pair[2] __attribute__((aligned(16))) = {5, 6};
    for (u64 i = 0; i < 20; ++i) {
        register u64 x0 __asm__("x0") = i & 1 ? pair[0] : 99;
        register u64 x1 __asm__("x1") = pair[1];
        register u64 x2 __asm__("x2") = i;
        register u64 x3 __asm__("x3") = i * i;
        __asm__ volatile("caspal x0, x1, x2, x3, [%[p]]"
                         : "+r"(x0), "+r"(x1)
                         : "r"(x2), "r"(x3), [p] "r"(pair)
                         : "memory");
        h = mix(mix(mix(h, x0), x1), pair[0] + pair[1]);
        u8 byte = (u8)i;
        u32 expect = (u32)(i & 2 ? 0xffffff00u | i : i + 1);
        __asm__ volatile("casab %w[e], %w[n], %[m]" : [e] "+r"(expect), [m] "+Q"(byte) : [n] "r"(0x155));
        h = mix(h, expect * 256u + byte);
    }
    return h;
}

static u64 zero_cache_lines(void) {
    static u8 buffer[256] __attribute__((aligned(64)));
    for (int i = 0; i < 256; ++i) buffer[i] = (u8)(i * 7 + 1);
    __asm__ volatile("dc zva, %0" ::"r"(buffer + 100) : "memory"); // clears bytes 64-127
    u64 h = 4;
    for (int i = 0; i < 256; ++i) h = mix(h, buffer[i]);
    return h;
}

static u64 divisions(void) {
    u64 h = 5;
    for (int i = 0; i < 500; ++i) {
        const u64 a = rnd(), b = rnd() >> (i & 63);
        if (b == 0) continue;
        h = mix(h, a / b);
        h = mix(h, a % b);
        h = mix(h, (u64)((i64)a / (i64)b));
        h = mix(h, (u64)((i64)a % (i64)b));
        if ((u32)b) h = mix(h, (u32)a / (u32)b), h = mix(h, (u64)((i64)(i32)a / ((i64)(u32)b)));
        h = mix(h, (u64)(((u128)a * b) >> 64));
        h = mix(h, (u64)(((__int128)(i64)a * (i64)b) >> 64));
        h = mix(h, a / 7 + a % 1000 + (u64)((i64)a / 13));
    }
    return h;
}

static u64 wide(void) {
    u128 a = 1, b = 3;
    for (int i = 0; i < 300; ++i) {
        a = a * b + rnd();
        b = (b << 3 | b >> 125) - a;
        if (a > b) a ^= b >> 17;
        if ((__int128)a < (__int128)b) b += a << 65;
    }
    return mix((u64)a, mix((u64)(a >> 64), mix((u64)b, (u64)(b >> 64))));
}

static u64 bits(void) {
    u64 h = 6;
    for (int i = 0; i < 300; ++i) {
        const u64 v = rnd() >> (i & 63);
        const u32 w = (u32)v;
        h = mix(h, __builtin_bswap64(v) + __builtin_bswap32(w) + __builtin_bswap16((u16)w));
        if (v) h = mix(h, (u64)(__builtin_clzl(v) * 100 + __builtin_ctzl(v)));
        if (w) h = mix(h, (u64)(__builtin_clz(w) * 100 + __builtin_ctz(w)));
        h = mix(h, (u64)__builtin_clrsbl((i64)v));
        h = mix(h, (v << 13 | v >> 51) ^ (w << 5 | w >> 27));
        h = mix(h, (v >> 5 & 0x3ff) | (v & 0x3f) << 20);
        h = mix(h, (u64)((i64)v >> (i & 31)) + (u64)((i32)w >> (i & 15)));
        h = mix(h, (u64)(i8)v + (u64)(i16)v + (u64)(i32)v);
    }
    return h;
}

struct record {
    u8 a;
    u16 b;
    i8 c;
    u32 d;
    i16 e;
    u64 f : 37;
    i64 g : 20;
};
static u64 records(void) {
    struct record r[20];
    u64 h = 7;
    for (int i = 0; i < 20; ++i) {
        const u64 v = rnd();
        r[i] =
            (struct record){(u8)v, (u16)(v >> 3), (i8)(v >> 9), (u32)(v >> 11), (i16)(v >> 20), v >> 7, (i64)v >> 30};
    }
    for (int i = 0; i < 400; ++i) {
        struct record* p = &r[rnd() % 20];
        const struct record* q = &r[rnd() % 20];
        p->a += q->c;
        p->b ^= (u16)q->e;
        p->d = q->d * 3 - p->a;
        p->f += q->f;
        p->g -= q->g;
        if (p->e < q->e) p->e = (i16)(p->e + 100);
        h = mix(h, p->a + p->b + (u64)p->c + p->d + (u64)p->e + p->f + (u64)(i64)p->g);
    }
    return h;
}

static u64 twice(u64 v) { return v * 2; }
static u64 plus(u64 v) { return v + 12345; }
static u64 minus(u64 v) { return v - 999; }
static u64 (*const functions[3])(u64) = {twice, plus, minus};
static u64 dispatch(u64 op, u64 v) {
    switch (op) {
        case 0: return v + 1;
        case 1: return v ^ 0x5555;
        case 2: return v >> 1;
        case 3: return v * 17;
        case 4: return ~v;
        case 5: return functions[v % 3](v);
        case 6: return v << 3;
        case 7: return v - (v >> 4);
        default: return v & 0xffffffff;
    }
}
static u64 fibonacci(u32 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
static u64 control(void) {
    u64 h = 8;
    for (int i = 0; i < 1000; ++i) h = mix(h, dispatch(rnd() % 10, h));
    return mix(h, fibonacci(15));
}

static u64 sorting(void) {
    static i32 a[300];
    for (int i = 0; i < 300; ++i) a[i] = (i32)rnd();
    for (int i = 1; i < 300; ++i) {
        const i32 v = a[i];
        int k = i;
        for (; k > 0 && a[k - 1] > v; --k) a[k] = a[k - 1];
        a[k] = v;
    }
    u64 h = 9;
    for (int i = 0; i < 300; ++i) h = mix(h, (u64)a[i]);
    return h;
}

void start(void) {
    print("atomics", atomics());
    print("exclusives", exclusives());
    print("cas", compare_and_swap());
    print("zva", zero_cache_lines());
    print("divisions", divisions());
    print("wide", wide());
    print("bits", bits());
    print("records", records());
    print("control", control());
    print("sorting", sorting());
    syscall3(94, 0, 0, 0);
}

// The stack pointer is 16-byte aligned at entry; no frame yet.
__asm__(".globl _start\n_start:\n mov x29, xzr\n mov x30, xzr\n bl start\n");

// SPDX-License-Identifier: Apache-2.0
// Small helpers that every part of miniperf uses.
#ifndef MINIPERF_UTIL_H
#define MINIPERF_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

// Exit statuses, as perf has them.
enum { EXIT_TROUBLE = 255, EXIT_USAGE = 129 };

// An ordered list of numbers: CPUs, process ids, thread ids.
struct int_list {
    int n;
    int* v;
};

// A growing byte buffer. Numbers go in as the machine stores them.
struct buffer {
    unsigned char* p;
    size_t n, room;
};

_Noreturn void fatal(const char* fmt, ...) PRINTF_LIKE(1, 2);
_Noreturn void usage_error(const char* fmt, ...) PRINTF_LIKE(1, 2);
void warn(const char* fmt, ...) PRINTF_LIKE(1, 2);

void* xmalloc(size_t n);
void* xcalloc(size_t n, size_t size);
void* xrealloc(void* p, size_t n);
char* xstrdup(const char* s);
char* xstrndup(const char* s, size_t n);
char* xformat(const char* fmt, ...) PRINTF_LIKE(1, 2);

void buffer_add(struct buffer* b, const void* p, size_t n);
void buffer_zero(struct buffer* b, size_t n);
void buffer_u16(struct buffer* b, uint16_t v);
void buffer_u32(struct buffer* b, uint32_t v);
void buffer_u64(struct buffer* b, uint64_t v);
void buffer_free(struct buffer* b);

void list_add(struct int_list* l, int v);
int list_index(const struct int_list* l, int v);
struct int_list list_copy(const struct int_list* l);
bool list_parse(struct int_list* l, const char* text);
char* list_format(const struct int_list* l);

// Reads a small text file, NUL-terminated and without the final newline; -1 when it cannot be read.
ssize_t read_text(const char* path, char* buf, size_t size);
bool read_number(const char* path, long long* value);
bool parse_u64(const char* text, uint64_t* value);
bool parse_hex(const char* text, uint64_t* value);

uint64_t monotonic_ns(void);
static inline size_t align8(size_t n) { return (n + 7) & ~(size_t)7; }

extern int verbose;

#endif

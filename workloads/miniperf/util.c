// SPDX-License-Identifier: Apache-2.0
// Errors, memory, buffers, number lists and small files.
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int verbose;

static void say(const char* fmt, va_list ap) {
    fflush(stdout);
    fputs("miniperf: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

void fatal(const char* fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    exit(EXIT_TROUBLE);
}

void usage_error(const char* fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    exit(EXIT_USAGE);
}

void warn(const char* fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
}

void* xrealloc(void* p, size_t n) {
    p = realloc(p, n ? n : 1);
    if (!p) fatal("out of memory");
    return p;
}

void* xmalloc(size_t n) { return xrealloc(NULL, n); }

void* xcalloc(size_t n, size_t size) {
    void* p = calloc(n ? n : 1, size ? size : 1);
    if (!p) fatal("out of memory");
    return p;
}

char* xstrndup(const char* s, size_t n) {
    char* p = xmalloc(n + 1);
    memcpy(p, s, n);
    p[n] = 0;
    return p;
}

char* xstrdup(const char* s) { return xstrndup(s, strlen(s)); }

char* xformat(const char* fmt, ...) {
    va_list ap;
    char* p;
    va_start(ap, fmt);
    if (vasprintf(&p, fmt, ap) < 0) fatal("out of memory");
    va_end(ap);
    return p;
}

static unsigned char* buffer_grow(struct buffer* b, size_t n) {
    if (b->n + n > b->room) {
        b->room = 2 * (b->n + n) + 256;
        b->p = xrealloc(b->p, b->room);
    }
    b->n += n;
    return b->p + b->n - n;
}

void buffer_add(struct buffer* b, const void* p, size_t n) {
    if (n) memcpy(buffer_grow(b, n), p, n);
}

void buffer_zero(struct buffer* b, size_t n) {
    if (n) memset(buffer_grow(b, n), 0, n);
}

void buffer_u16(struct buffer* b, uint16_t v) { buffer_add(b, &v, sizeof(v)); }
void buffer_u32(struct buffer* b, uint32_t v) { buffer_add(b, &v, sizeof(v)); }
void buffer_u64(struct buffer* b, uint64_t v) { buffer_add(b, &v, sizeof(v)); }

void buffer_free(struct buffer* b) {
    free(b->p);
    *b = (struct buffer){0};
}

void list_add(struct int_list* l, int v) {
    l->v = xrealloc(l->v, (size_t)(l->n + 1) * sizeof(int));
    l->v[l->n++] = v;
}

int list_index(const struct int_list* l, int v) {
    for (int i = 0; i < l->n; i++)
        if (l->v[i] == v) return i;
    return -1;
}

struct int_list list_copy(const struct int_list* l) {
    struct int_list r = {0};
    for (int i = 0; i < l->n; i++) list_add(&r, l->v[i]);
    return r;
}

// "0-3,5": numbers and ranges. A number named twice counts once.
bool list_parse(struct int_list* l, const char* text) {
    enum { MAX_RANGE = 1 << 16 };
    while (*text) {
        char* end;
        if (*text < '0' || *text > '9') return false;
        long first = strtol(text, &end, 10), last = first;
        if (*end == '-') {
            text = end + 1;
            if (*text < '0' || *text > '9') return false;
            last = strtol(text, &end, 10);
        }
        if (first > last || last > INT32_MAX || last - first >= MAX_RANGE || (*end && *end != ',')) return false;
        for (long i = first; i <= last; i++)
            if (list_index(l, (int)i) < 0) list_add(l, (int)i);
        text = *end ? end + 1 : end;
    }
    return l->n > 0;
}

char* list_format(const struct int_list* l) {
    struct buffer b = {0};
    for (int i = 0; i < l->n; i++) {
        int j = i;
        char t[32];
        while (j + 1 < l->n && l->v[j + 1] == l->v[j] + 1) j++;
        int n = j > i ? snprintf(t, sizeof(t), "%s%d-%d", i ? "," : "", l->v[i], l->v[j])
                      : snprintf(t, sizeof(t), "%s%d", i ? "," : "", l->v[i]);
        buffer_add(&b, t, (size_t)n);
        i = j;
    }
    buffer_add(&b, "", 1);
    return (char*)b.p;
}

ssize_t read_text(const char* path, char* buf, size_t size) {
    size_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    while (n < size - 1) {
        ssize_t r = read(fd, buf + n, size - 1 - n);
        if (r < 0 && errno == EINTR) continue;
        if (r < 0) {
            close(fd);
            return -1;
        }
        if (!r) break;
        n += (size_t)r;
    }
    close(fd);
    while (n && buf[n - 1] == '\n') n--;
    buf[n] = 0;
    return (ssize_t)n;
}

bool read_number(const char* path, long long* value) {
    char text[64], *end;
    if (read_text(path, text, sizeof(text)) <= 0) return false;
    *value = strtoll(text, &end, 0);
    return end != text;
}

static bool parse_base(const char* text, int base, uint64_t* value) {
    char* end;
    if (!*text || *text == '-' || *text == '+' || *text == ' ') return false;
    errno = 0;
    *value = strtoull(text, &end, base);
    return !*end && !errno;
}

bool parse_u64(const char* text, uint64_t* value) { return parse_base(text, 0, value); }
bool parse_hex(const char* text, uint64_t* value) { return parse_base(text, 16, value); }

uint64_t monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

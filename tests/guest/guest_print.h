// SPDX-License-Identifier: Apache-2.0
// How guest programs print: whole lines, results as values or names of errors. Define _GNU_SOURCE before it.
#ifndef GUEST_PRINT_H
#define GUEST_PRINT_H
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 1, 2), unused)) static void say(const char* format, ...) {
    char b[4096];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(b, sizeof b - 1, format, ap);
    va_end(ap);
    b[n++] = '\n';
    if (write(1, b, n) != n) _exit(99);
}

// The result of a call: its value, or the name of the error.
__attribute__((unused)) static const char* res(long r) {
    static __thread char b[8][24];
    static __thread int k;
    if (r < 0) return strerrorname_np(errno);
    k = (k + 1) & 7;
    snprintf(b[k], sizeof b[k], "%ld", r);
    return b[k];
}
#define OK(r) ((long)(r) >= 0 ? "ok" : strerrorname_np(errno))
#define SHOW(expression) say("%s: %s", #expression, res((long)(expression)))
#define TRY(expression) say("%s: %s", #expression, OK((long)(expression)))
#endif

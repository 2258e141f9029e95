// SPDX-License-Identifier: Apache-2.0
// Helpers of the os_*.c guest programs: each prints `name: value` lines that hold on every Linux 6.1.
#ifndef OS_GUEST_H
#define OS_GUEST_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "guest_print.h"

#define PAGE 4096ul

// For functions that return the error's number.
#define ERR(expression) say("%s: %s", #expression, errname(expression))
__attribute__((unused)) static const char* errname(int e) { return e ? strerrorname_np(e) : "ok"; }

__attribute__((unused)) static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

__attribute__((unused)) static void msleep(int ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000l};
    while (nanosleep(&t, &t) && errno == EINTR) {
    }
}

// How a child ended, in words.
__attribute__((unused)) static const char* status_text(int s) {
    static char b[4][48];
    static int k;
    char* t = b[k = (k + 1) & 3];
    if (WIFEXITED(s))
        snprintf(t, 48, "exit %d", WEXITSTATUS(s));
    else if (WIFSIGNALED(s))
        snprintf(t, 48, "signal %d%s", WTERMSIG(s), WCOREDUMP(s) ? " core" : "");
    else if (WIFSTOPPED(s))
        snprintf(t, 48, "stopped %d", WSTOPSIG(s));
    else if (WIFCONTINUED(s))
        snprintf(t, 48, "continued");
    else
        snprintf(t, 48, "status %#x", s);
    return t;
}

// Runs fn in a child and tells how it ended.
__attribute__((unused)) static void in_child(const char* name, void (*fn)(void)) {
    pid_t p = fork();
    if (p == 0) {
        fn();
        _exit(0);
    }
    int s = 0;
    if (p < 0 || waitpid(p, &s, 0) != p)
        say("%s: no child", name);
    else
        say("%s: %s", name, status_text(s));
}
#endif

// SPDX-License-Identifier: Apache-2.0
// Helpers of the *_mixed.c guest programs: events opened with errors as negative numbers, and their counts.
#ifndef MIXED_GUEST_H
#define MIXED_GUEST_H
#include "upr_guest.h"

#include <linux/hw_breakpoint.h>
#include <sys/stat.h>

typedef uint64_t u64;
typedef uint32_t u32;
typedef struct perf_event_attr attr_t;
#define NOINLINE __attribute__((noinline, noclone))
#define N(a) (sizeof(a) / sizeof *(a))

__attribute__((unused)) static const char* err_name(long e) { return errname((int)(e < 0 ? -e : e)); }
__attribute__((unused)) static int pe(attr_t* a, pid_t pid, int cpu, int group, unsigned long flags) {
    a->size = sizeof *a;
    const int r = (int)syscall(SYS_perf_event_open, a, pid, cpu, group, flags);
    return r < 0 ? -errno : r;
}
// The count; 0 at the end of file, which an event in error gives.
__attribute__((unused)) static u64 cnt(int fd) {
    u64 v = 0;
    if (fd < 0) return 9999999;
    return read(fd, &v, sizeof v) < 0 ? 0 : v;
}
#endif

// SPDX-License-Identifier: Apache-2.0
// breakpoints [HITS [KIND]]: a loop whose every turn hits a breakpoint (KIND x), stores to a watched word (w), or misses an
// armed watchpoint (far); prints how often the event counted. none: the loop alone.
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t words[1024] __attribute__((aligned(4096)));

void turns(uint64_t n, uint64_t* cell);
extern char turns_leaf[];
asm(".text\n.balign 64\n"
    "turns:	stp x29, x30, [sp, #-16]!\n"
    "1:	str x0, [x1]\n"
    "	bl turns_leaf\n"
    "	subs x0, x0, #1\n"
    "	b.ne 1b\n"
    "	ldp x29, x30, [sp], #16\n"
    "	ret\n"
    "	.balign 4096\n"
    "turns_leaf: ret\n"
    ".global turns, turns_leaf\n");

int main(int argc, char** argv) {
    uint64_t hits = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000, count = 0;
    const char* kind = argc > 2 ? argv[2] : "x";
    int fd = -1;
    if (strcmp(kind, "none")) {
        struct perf_event_attr a = {
            .type = PERF_TYPE_BREAKPOINT, .size = sizeof a, .exclude_kernel = 1, .exclude_hv = 1};
        a.bp_type = *kind == 'x' ? HW_BREAKPOINT_X : HW_BREAKPOINT_W;
        a.bp_addr = *kind == 'x' ? (uint64_t)turns_leaf : (uint64_t)(*kind == 'w' ? words : words + 768);
        a.bp_len = 8;
        fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
        if (fd < 0) {
            fprintf(stderr, "breakpoints: perf_event_open: %s\n", strerror(errno));
            return 1;
        }
    }
    if (hits) turns(hits, words);
    if (fd >= 0 && read(fd, &count, sizeof count) != sizeof count) return 1;
    printf("%s: %llu turns, %llu hits\n", kind, (unsigned long long)hits, (unsigned long long)count);
    return 0;
}

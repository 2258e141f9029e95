// SPDX-License-Identifier: Apache-2.0
// A hundred threads hit one probe ten thousand times each: the sum is exact [UPR-049].
#include "upr_guest.h"

enum { kThreads = 100, kHits = 10000 };

long r_leaf(long a, long b);
asm(".text\n.balign 64\n.global r_leaf\n"
    "r_leaf:	add x0, x0, x1\n"
    "	ret\n");

static void* runner(void* p) {
    long n = 0;
    for (int i = 0; i < kHits; i++) n += r_leaf(i, 1);
    *(long*)p = n;
    return NULL;
}

int main(void) {
    char text[200];
    snprintf(text, sizeof text, "p:uprt/leaf /proc/self/exe:0x%lx\n", (unsigned long)file_offset(r_leaf));
    const int events = open("/sys/kernel/tracing/uprobe_events", O_WRONLY | O_APPEND);
    if (write(events, text, strlen(text)) < 0) say("not defined: %s", strerror(errno));
    close(events);
    struct perf_event_attr a = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof a, .inherit = 1};
    a.config = (uint64_t)number_in("/sys/kernel/tracing/events/uprt/leaf/id");
    const int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
    static pthread_t t[kThreads];
    static long sum[kThreads];
    long all = 0;
    for (int i = 0; i < kThreads; i++) pthread_create(&t[i], NULL, runner, &sum[i]);
    for (int i = 0; i < kThreads; i++) pthread_join(t[i], NULL), all += sum[i];
    say("sum %ld, hits %lu", all, hits(fd));
    return 0;
}

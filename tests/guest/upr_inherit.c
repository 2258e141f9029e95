// SPDX-License-Identifier: Apache-2.0
// An inherited event of the uprobe PMU on one CPU: parent and child swap contexts when one is switched to the other, and a hit
// of either then meets an event made for the other's memory, which does not count it [UPR-083]. Of a probe defined in
// tracefs all events belong to one definition, and every hit counts.
#include "upr_guest.h"

#include <sched.h>

long r_leaf(long a, long b);
asm(".text\n.balign 64\n.global r_leaf\n"
    "r_leaf:	add x0, x0, x1\n"
    "	ret\n");

static void times(int n) {
    for (int i = 0; i < n; i++) r_leaf(i, 1);
}

static void families(const char* what, int fd) {
    times(3);
    say("%s: before %lu", what, hits(fd));
    for (int i = 0; i < 3; i++) {
        const pid_t child = fork();
        if (!child) {
            times(50);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        times(700);
        say("%s: after child %d %lu", what, i, hits(fd));
    }
    close(fd);
}

int main(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    families("PMU", probe(r_leaf, 0));

    char text[200];
    snprintf(text, sizeof text, "p:upri/leaf /proc/self/exe:0x%lx\n", (unsigned long)file_offset(r_leaf));
    const int events = open("/sys/kernel/tracing/uprobe_events", O_WRONLY | O_APPEND);
    if (write(events, text, strlen(text)) < 0) say("not defined: %s", strerror(errno));
    close(events);
    struct perf_event_attr a = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof a, .inherit = 1};
    a.config = (uint64_t)number_in("/sys/kernel/tracing/events/upri/leaf/id");
    families("tracefs", (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0));
    return 0;
}

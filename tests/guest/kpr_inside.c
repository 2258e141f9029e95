// SPDX-License-Identifier: Apache-2.0
// Kprobes on instructions inside the kernel's functions, through the PMU "kprobe" and through tracefs; what is refused.
#include "upr_guest.h"

static int kprobe(const char* function, uint64_t offset, int ret) {
    struct perf_event_attr a = {.size = sizeof a};
    a.type = (uint32_t)number_in("/sys/bus/event_source/devices/kprobe/type");
    a.config = (uint64_t)ret;
    a.kprobe_func = (uint64_t)function;
    a.probe_offset = offset;
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
}

static int define(const char* text) {
    const int fd = open("/sys/kernel/tracing/kprobe_events", O_WRONLY | O_APPEND);
    const int r = (int)write(fd, text, strlen(text));
    const int e = errno;
    close(fd);
    errno = e;
    return r < 0 ? -1 : 0;
}

static void opens(int n) {
    for (int i = 0; i < n; i++) close(open("/dev/null", O_RDONLY));
}

int main(void) {
    const char* const f = "do_sys_openat2";
    int fd[4];
    for (int i = 0; i < 4; i++) {
        fd[i] = kprobe(f, (uint64_t)i * 4, 0);
        if (fd[i] < 0) say("+%d: %s", i * 4, strerrorname_np(errno)); // ftrace's
    }
    opens(100);
    for (int i = 0; i < 4; i++) {
        if (fd[i] < 0) continue;
        say("+%d: %lu", i * 4, hits(fd[i]));
        close(fd[i]);
    }
    const int twice[2] = {kprobe(f, 8, 0), kprobe(f, 8, 0)};
    opens(10);
    say("the same one twice: %lu %lu", hits(twice[0]), hits(twice[1]));
    close(twice[0]);
    opens(10);
    say("one is left: %lu", hits(twice[1]));
    close(twice[1]);
    SHOW(kprobe(f, 2, 0));
    SHOW(kprobe(f, 4, 1));
    SHOW(kprobe("no_such_function", 4, 0));
    SHOW(kprobe("brk_handler", 4, 0));
    SHOW(kprobe("do_page_fault", 0, 0));
    SHOW(kprobe("call_on_irq_stack", 0, 0));
    SHOW(kprobe("el0t_64_sync_handler", 0, 0));
    SHOW(kprobe("gic_handle_irq", 0, 0)); // there are two
    SHOW(kprobe("gic_handle_irq", 8, 1));
    SHOW(define("p:kpri/two gic_handle_irq"));
    SHOW(define("r:kpri/two gic_handle_irq"));

    SHOW(define("p:kpri/named do_sys_openat2+8"));
    SHOW(define("p do_sys_openat2+4"));
    SHOW(define("p:kpri/unaligned do_sys_openat2+2"));
    SHOW(define("r:kpri/inside do_sys_openat2+8"));
    SHOW(define("p:kpri/minus do_sys_openat2-4"));
    SHOW(define("p:kpri/missing no_such_function+8"));
    FILE* list = fopen("/sys/kernel/tracing/kprobe_events", "r");
    char line[200];
    while (fgets(line, sizeof line, list)) say("%.*s", (int)strcspn(line, "\n"), line);
    fclose(list);
    struct perf_event_attr a = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof a};
    a.config = (uint64_t)number_in("/sys/kernel/tracing/events/kpri/named/id");
    const int t = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
    opens(25);
    say("named: %lu", hits(t));
    close(t);
    SHOW(define("-:kpri/named"));
    SHOW(define("-:kprobes/p_do_sys_openat2_4"));
    return 0;
}

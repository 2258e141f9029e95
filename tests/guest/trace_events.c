// SPDX-License-Identifier: Apache-2.0
// Tracepoints: permissions of tracefs, periods, groups and inheritance of tracepoint events, what sched, signal and timer events say.
#include "trace_guest.h"

static void modes(void) {
    static const char* const paths[] = {"",
                                        "/events",
                                        "/events/enable",
                                        "/events/header_page",
                                        "/events/sched",
                                        "/events/sched/enable",
                                        "/events/sched/filter",
                                        "/events/sched/sched_switch",
                                        "/events/sched/sched_switch/enable",
                                        "/events/sched/sched_switch/filter",
                                        "/events/sched/sched_switch/format",
                                        "/events/sched/sched_switch/id",
                                        "/events/sched/sched_switch/trigger",
                                        "/available_events",
                                        "/set_event",
                                        "/trace",
                                        "/tracing_on",
                                        "/current_tracer",
                                        "/printk_formats",
                                        "/saved_cmdlines"};
    struct stat st;
    char path[256];
    for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
        snprintf(path, sizeof path, TRACE "%s", paths[i]);
        if (stat(path, &st)) {
            printf("%s: %s\n", paths[i], strerror(errno));
            continue;
        }
        printf("%s: %o, size %ld, owner %d\n", paths[i], st.st_mode, (long)st.st_size, st.st_uid);
    }
    printf("debugfs: %s\n", access("/sys/kernel/debug/tracing/events/sched", F_OK) ? "none" : "has it, too");
}

static void files(void) {
    char text[8192];
    slurp("/events/header_page", text, sizeof text);
    printf("%s", text);
    slurp("/events/header_event", text, sizeof text);
    printf("%s", text);
    slurp("/events/sched/sched_switch/format", text, sizeof text);
    printf("%s", text);
    slurp("/events/sched/filter", text, sizeof text);
    printf("%s", text);
    printf("enable: %s", slurp("/events/irq/irq_handler_entry/enable", text, sizeof text));
    printf("write 1: %d\n", put("/events/irq/irq_handler_entry/enable", "1"));
    printf("enable: %s", slurp("/events/irq/irq_handler_entry/enable", text, sizeof text));
    printf("system: %s", slurp("/events/irq/enable", text, sizeof text));
    printf("write 2: %d\n", put("/events/irq/irq_handler_entry/enable", "2"));
    printf("write x: %d\n", put("/events/irq/irq_handler_entry/enable", "x"));
    printf("write 0: %d\n", put("/events/irq/enable", "0"));
    printf("system: %s", slurp("/events/irq/enable", text, sizeof text));
    printf("filter: %d\n", put("/events/sched/sched_switch/filter", "prev_pid == 1"));
    printf("%s", slurp("/events/sched/sched_switch/filter", text, sizeof text));
    printf("filter: %d\n", put("/events/sched/sched_switch/filter", "prev_pid =="));
    printf("%s", slurp("/events/sched/sched_switch/filter", text, sizeof text));
    printf("filter: %d\n", put("/events/sched/sched_switch/filter", "0"));
    printf("%s", slurp("/events/sched/sched_switch/filter", text, sizeof text));
    printf("tracer nop: %d, other: %d\n", put("/current_tracer", "nop"), put("/current_tracer", "nothing"));
}

/// Samples after each of some hits, for some periods.
static void periods(void) {
    for (int period = 1; period <= 4; ++period)
        for (int with_period = 0; with_period <= 1; ++with_period) {
            struct perf_event_attr a = tracepoint("syscalls", "sys_enter_getppid");
            a.sample_period = (unsigned)period;
            a.sample_type = PERF_SAMPLE_RAW | (with_period ? PERF_SAMPLE_PERIOD : 0);
            struct trace_ring r;
            const int fd = open_event(&a, 0, -1, -1);
            map_ring(&r, fd);
            ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
            printf("period %d%s:", period, with_period ? " in the sample" : "");
            for (int i = 0; i < 8; ++i) {
                syscall(SYS_getppid);
                printf(" %d", drain(&r));
            }
            ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
            printf(", count %ld\n", count_of(fd));
            close(fd);
        }
}

static void weights(void) {
    // What sched_stat_runtime weighs is the time that has been run.
    struct perf_event_attr a = tracepoint("sched", "sched_stat_runtime");
    const int fd = open_event(&a, 0, -1, -1);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    for (int i = 0; i < 3; ++i) usleep(1000);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    printf("sched_stat_runtime counts ns: %s\n", count_of(fd) > 1000 ? "yes" : "no");
    close(fd);
}

static void groups(void) {
    struct perf_event_attr a = tracepoint("syscalls", "sys_enter_getppid");
    struct perf_event_attr s = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .size = sizeof s, .disabled = 1};
    const int leader = open_event(&s, 0, -1, -1), member = open_event(&a, 0, -1, leader);
    printf("tracepoint in a software group: %s\n", member >= 0 ? "ok" : strerror(errno));
    ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
    for (int i = 0; i < 7; ++i) syscall(SYS_getppid);
    ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
    printf("%ld calls\n", count_of(member));
    close(member);
    close(leader);
}

static void got_usr1(int sig) { (void)sig; }

static void signals(void) {
    struct perf_event_attr a = tracepoint("signal", "signal_generate"), d = tracepoint("signal", "signal_deliver");
    a.sample_period = d.sample_period = 1;
    a.sample_type = d.sample_type = PERF_SAMPLE_RAW;
    struct trace_ring ra, rd;
    const int fa = open_event(&a, 0, -1, -1), fd = open_event(&d, 0, -1, -1);
    map_ring(&ra, fa);
    map_ring(&rd, fd);
    signal(SIGUSR1, got_usr1);
    signal(SIGUSR2, SIG_IGN);
    ioctl(fa, PERF_EVENT_IOC_ENABLE, 0);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    raise(SIGUSR1);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    ioctl(fa, PERF_EVENT_IOC_DISABLE, 0);
    const unsigned char* p;
    while ((p = next_raw(&ra)))
        printf("generate: sig %ld errno %ld code %ld pid %s group %ld result %ld\n", num(p, 8, 4), num(p, 12, 4),
               num(p, 16, 4), num(p, 36, 4) == getpid() ? "mine" : "?", num(p, 40, 4), num(p, 44, 4));
    while ((p = next_raw(&rd)))
        printf("deliver: sig %ld errno %ld code %ld handler %s\n", num(p, 8, 4), num(p, 12, 4), num(p, 16, 4),
               (unsigned long)num(p, 24, 8) == (unsigned long)got_usr1 ? "mine" : "?");
    close(fa);
    close(fd);
}

static void names(void) {
    struct perf_event_attr a = tracepoint("task", "task_rename"), n = tracepoint("task", "task_newtask");
    a.sample_period = n.sample_period = 1;
    a.sample_type = n.sample_type = PERF_SAMPLE_RAW;
    struct trace_ring ra, rn;
    const int fa = open_event(&a, 0, -1, -1), fn = open_event(&n, 0, -1, -1);
    map_ring(&ra, fa);
    map_ring(&rn, fn);
    prctl(PR_SET_NAME, "before");
    ioctl(fa, PERF_EVENT_IOC_ENABLE, 0);
    ioctl(fn, PERF_EVENT_IOC_ENABLE, 0);
    prctl(PR_SET_NAME, "a-name-that-is-too-long");
    const pid_t child = fork();
    if (!child) _exit(0);
    waitpid(child, NULL, 0);
    const unsigned char* p;
    while ((p = next_raw(&ra))) printf("rename: %s -> %s\n", p + 12, p + 28);
    while ((p = next_raw(&rn)))
        printf("newtask: %s, pid %s, flags %lx\n", p + 12, num(p, 8, 4) == child ? "of the child" : "?", num(p, 32, 8));
    close(fa);
    close(fn);
}

static void timers(void) {
    struct perf_event_attr a = tracepoint("timer", "itimer_state");
    a.sample_period = 1;
    a.sample_type = PERF_SAMPLE_RAW;
    struct trace_ring r;
    const int fd = open_event(&a, 0, -1, -1);
    map_ring(&r, fd);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    const struct itimerval v = {{1, 500}, {2, 700}};
    setitimer(ITIMER_REAL, &v, NULL);
    const struct itimerval none = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &none, NULL);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    const unsigned char* p;
    while ((p = next_raw(&r)))
        printf("itimer_state: which %ld value %ld.%09ld interval %ld.%09ld\n", num(p, 8, 4), num(p, 24, 8),
               num(p, 32, 8), num(p, 40, 8), num(p, 48, 8));
    close(fd);
}

static void errors(void) {
    struct perf_event_attr a = tracepoint("sched", "sched_switch");
    static const char* const filters[] = {"(prev_pid == 1", "prev_pid == 1)", "prev_comm == \"x", "prev_pid == 1 x", "",
                                          "prev_pid == 1"};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; ++i) {
        const int fd = open_event(&a, 0, -1, -1);
        printf("filter '%s': %s\n", filters[i],
               ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filters[i]) ? strerror(errno) : "ok");
        if (i == 5) printf("again: %s\n", ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filters[i]) ? strerror(errno) : "ok");
        close(fd);
    }
}

int main(void) {
    modes();
    files();
    periods();
    weights();
    groups();
    signals();
    names();
    timers();
    errors();
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Whose events go to ftrace's buffer: set_event_pid, set_event_notrace_pid, options/event-fork.
#include "trace_guest.h"

#include <sched.h>

static char text[1 << 20];

static void setting(const char* what, const char* name) {
    printf("%s:", what);
    slurp(name, text, sizeof text);
    for (char* p = text; *p; ++p) putchar(*p == '\n' ? ' ' : *p);
    printf("\n");
}

/// Writes after what is in the list already.
static int append(const char* name, const char* what) {
    char path[256];
    snprintf(path, sizeof path, TRACE "%s", name);
    const int fd = open(path, O_WRONLY | O_APPEND);
    const int error = write(fd, what, strlen(what)) < 0 ? errno : 0;
    close(fd);
    return error;
}

static int put_pid(const char* name, int pid) {
    char number[16];
    snprintf(number, sizeof number, "%d\n", pid);
    return put(name, number);
}

/// Runs in another process and waits for it.
static int child_pid(void (*work)(void)) {
    const int pid = fork();
    if (!pid) {
        work();
        _exit(0);
    }
    return pid;
}

static void ask(void) {
    for (int i = 0; i < 3; ++i) syscall(SYS_getppid);
}

static int gate[2];
static void ask_late(void) {
    char b;
    read(gate[0], &b, 1);
    ask();
    waitpid(child_pid(ask), NULL, 0);
}

/// Records of `event`: how many are about `pid`, as the task that makes them or as a value of `field`, and about others only.
static void counted(const char* what, const char* event, const char* field, int pid) {
    slurp("/trace", text, sizeof text);
    int about = 0, others = 0;
    char mine[32], value[32];
    snprintf(mine, sizeof mine, "-%d ", pid);
    snprintf(value, sizeof value, "%s=%d ", field, pid);
    for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char* at = strstr(line, event);
        if (*line == '#' || !at) continue;
        if (strstr(line, mine) || strstr(at, value))
            ++about;
        else
            ++others;
    }
    printf("%s: %s, of others %d\n", what, about ? "some" : "none", others);
}

/// What a child, its child and this process leave with these lists.
static void run(const char* what, const char* list, int event_fork, int self) {
    put("/set_event_pid", "\n");
    put("/set_event_notrace_pid", "\n");
    put("/options/event-fork", event_fork ? "1" : "0");
    put("/trace", "\n");
    pipe(gate);
    const int child = child_pid(ask_late);
    put_pid(list, self ? getpid() : child);
    put("/tracing_on", "1");
    ask();
    write(gate[1], "x", 1);
    waitpid(child, NULL, 0);
    put("/tracing_on", "0");
    close(gate[0]);
    close(gate[1]);
    slurp("/trace", text, sizeof text);
    int parent = 0, its = 0, grandchild = 0;
    for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char number[32];
        if (*line == '#' || !strstr(line, "sys_getppid(")) continue;
        snprintf(number, sizeof number, "-%d ", getpid());
        const int by_parent = !!strstr(line, number);
        snprintf(number, sizeof number, "-%d ", child);
        const int by_child = !!strstr(line, number);
        ++*(by_parent ? &parent : by_child ? &its : &grandchild);
    }
    printf("%s: parent %d, child %d, grandchild %d\n", what, parent, its, grandchild);
    usleep(300000); // a task is freed some time after it has been waited for
    slurp(list, text, sizeof text);
    printf("  left in the list: %s\n", *text ? "a pid" : "nothing");
}

int main(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(4, &one);
    if (sched_setaffinity(0, sizeof one, &one)) {
        CPU_ZERO(&one);
        CPU_SET(0, &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    put("/tracing_on", "0");
    setting("at first", "/set_event_pid");
    setting("at first", "/set_event_notrace_pid");
    setting("event-fork", "/options/event-fork");
    printf("a pid: %d\n", put("/set_event_pid", "50000"));
    printf("two more: %d\n", append("/set_event_pid", "  7\n0x10\t"));
    setting("list", "/set_event_pid");
    printf("a wrong one among good ones: %d\n", append("/set_event_pid", "8 x 9"));
    setting("list", "/set_event_pid");
    static const char* const words[] = {"-1", "0", "3,4", "1073741823", "1073741824", "99999999999999999999", "", "\n"};
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
        printf("'%s': %d\n", *words[i] == '\n' ? "\\n" : words[i], put("/set_event_pid", words[i]));
        setting("list", "/set_event_pid");
    }
    printf("event-fork 2: %d\n", put("/options/event-fork", "2"));
    printf("event-fork 1: %d\n", put("/options/event-fork", "1"));
    setting("event-fork", "/options/event-fork");

    put("/events/syscalls/sys_enter_getppid/enable", "1");
    run("only the child", "/set_event_pid", 0, 0);
    run("only the child and its children", "/set_event_pid", 1, 0);
    run("not the child", "/set_event_notrace_pid", 0, 0);
    run("not the child and its children", "/set_event_notrace_pid", 1, 0);
    run("only the parent", "/set_event_pid", 0, 1);
    run("only the parent and its children from now on", "/set_event_pid", 1, 1);
    put("/events/syscalls/sys_enter_getppid/enable", "0");

    // Switches and wake-ups are about two tasks.
    put("/set_event_pid", "\n");
    put("/set_event_notrace_pid", "\n");
    put("/options/event-fork", "0");
    put("/trace", "\n");
    put("/events/sched/enable", "1");
    pipe(gate);
    const int child = child_pid(ask_late);
    sched_yield();
    put_pid("/set_event_pid", child);
    put("/tracing_on", "1");
    write(gate[1], "x", 1);
    waitpid(child, NULL, 0);
    put("/tracing_on", "0");
    put("/events/sched/enable", "0");
    counted("switches to or from it", "sched_switch", "next_pid", child);
    counted("wake-ups of it or by it", "sched_waking", "pid", child);
    counted("its runtime", "sched_stat_runtime", "pid", child);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// SIGTRAP of events: what the handler is told, what happens while the signal is blocked or ignored.
// [CORE-290] [CORE-291] [CORE-292]
#include "perf_guest.h"

#ifndef TRAP_PERF
#define TRAP_PERF 6
#endif

static volatile int count, code, flags, type;
static volatile uint64_t data;
static void on_trap(int signo, siginfo_t* info, void* context) {
    (void)signo, (void)context;
    ++count;
    code = info->si_code;
    const char* raw = (const char*)info;
    memcpy((void*)&data, raw + 24, 8);
    memcpy((void*)&type, raw + 32, 4);
    memcpy((void*)&flags, raw + 36, 4);
}
static void show(const char* what) {
    printf("%s: %d times, code %d, type %d, data %lu, flags %d\n", what, count, code, type, (unsigned long)data, flags);
    fflush(stdout);
    count = code = flags = type = 0;
    data = 0;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    touch_pages(8);
    struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
    attr.sample_period = 1;
    attr.sigtrap = attr.remove_on_exec = 1;
    attr.sig_data = 4711;
    attr.exclude_kernel = 1;
    attr.disabled = 1;
    int fd = perf_open(&attr, 0, -1, -1, 0);
    SHOW(fd >= 0);
    ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
    touch_pages(4);
    show("one");
    // Blocked: late, and once.
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    ioctl(fd, PERF_EVENT_IOC_REFRESH, 2);
    touch_pages(4);
    show("blocked");
    sigpending(&pending);
    SHOW(sigismember(&pending, SIGTRAP));
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    show("unblocked");
    // Ignored: nothing at all.
    signal(SIGTRAP, SIG_IGN);
    ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
    touch_pages(4);
    show("ignored");
    sigaction(SIGTRAP, &action, NULL);
    ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
    touch_pages(4);
    show("again");
    // By default it ends the process.
    int pid = fork();
    if (!pid) {
        signal(SIGTRAP, SIG_DFL);
        int own = perf_open(&attr, 0, -1, -1, 0);
        ioctl(own, PERF_EVENT_IOC_REFRESH, 1);
        touch_pages(4);
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    SHOW(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// CPUs, threads, the started program and the signals that end a run.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

volatile sig_atomic_t stop_requested, child_exited, stop_signal;
static int wake_fds[2] = {-1, -1};

static struct int_list cpus_from(const char* file) {
    char path[PATH_MAX], text[512];
    struct int_list l = {0};
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/%s", file);
    if (read_text(path, text, sizeof(text)) > 0 && list_parse(&l, text)) return l;
    // Without sysfs the affinity mask is the best guess.
    l = (struct int_list){0};
    cpu_set_t set;
    CPU_ZERO(&set);
    if (!sched_getaffinity(0, sizeof(set), &set))
        for (int i = 0; i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, &set)) list_add(&l, i);
    if (!l.n) list_add(&l, 0);
    return l;
}

struct int_list cpus_online(void) {
    return cpus_from("online");
}
struct int_list cpus_present(void) {
    return cpus_from("present");
}

static int compare_int(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

struct int_list threads_of(int pid) {
    char path[64];
    struct int_list l = {0};
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR* d = opendir(path);
    struct dirent* e;
    while (d && (e = readdir(d)))
        if (e->d_name[0] >= '0' && e->d_name[0] <= '9') list_add(&l, atoi(e->d_name));
    if (d) closedir(d);
    if (l.n) qsort(l.v, (size_t)l.n, sizeof(int), compare_int);
    return l;
}

void target_check(const struct target* t, const char* command) {
    struct int_list l = {0};
    if (t->pid && t->tid)
        warn("%s: -t %s is not looked at, because -p %s names whole processes", command, t->tid, t->pid);
    if (target_names_tasks(t) && t->cpu_text)
        usage_error("-C names CPUs and -%c tasks: only one of them is possible", t->pid ? 'p' : 't');
    if (target_names_tasks(t) && t->system_wide)
        usage_error("-a means every task and -%c names some: only one of them is possible", t->pid ? 'p' : 't');
    if (t->pid && !list_parse(&l, t->pid)) usage_error("-p wants process ids such as 12 or 12,15, not '%s'", t->pid);
    if (t->tid && !list_parse(&l, t->tid)) usage_error("-t wants thread ids such as 12 or 12,15, not '%s'", t->tid);
    if (t->cpu_text && !list_parse(&l, t->cpu_text))
        usage_error("-C wants CPU numbers such as 0-3,5, not '%s'", t->cpu_text);
}

void target_resolve(struct target* t, const struct workload* w) {
    struct int_list named = {0};
    t->threads = (struct int_list){0};
    if (t->pid) {
        list_parse(&named, t->pid);
        for (int i = 0; i < named.n; i++) {
            struct int_list l = threads_of(named.v[i]);
            if (!l.n) fatal("there is no process %d", named.v[i]);
            for (int j = 0; j < l.n; j++) list_add(&t->threads, l.v[j]);
        }
    } else if (t->tid)
        list_parse(&t->threads, t->tid);
    else
        list_add(&t->threads, target_names_cpus(t) ? -1 : (int)w->pid);
    t->cpus = (struct int_list){0};
    if (t->cpu_text)
        list_parse(&t->cpus, t->cpu_text);
    else if (t->system_wide || t->per_cpu)
        t->cpus = cpus_online();
    else
        list_add(&t->cpus, -1);
}

bool target_alive(const struct target* t) {
    for (int i = 0; i < t->threads.n; i++)
        if (t->threads.v[i] < 0 || !kill(t->threads.v[i], 0) || errno == EPERM) return true;
    return false;
}

// The workload stops before exec until the events are open, so that enable_on_exec sees its first instruction.
void workload_prepare(struct workload* w, char** argv) {
    int go[2], error[2];
    char byte;
    if (pipe2(go, O_CLOEXEC) || pipe2(error, O_CLOEXEC)) fatal("no pipe to the program to start: %s", strerror(errno));
    fflush(NULL);
    w->pid = fork();
    if (w->pid < 0) fatal("cannot start a process: %s", strerror(errno));
    if (!w->pid) {
        forget_signals();
        close(go[1]);
        close(error[0]);
        prctl(PR_SET_NAME, "perf-exec");
        int ready = 0;
        if (write(error[1], &ready, sizeof(ready)) != sizeof(ready)) _exit(126);
        // No byte means that the measuring side gave up.
        if (read(go[0], &byte, 1) != 1) _exit(0);
        execvp(argv[0], argv);
        int err = errno;
        if (write(error[1], &err, sizeof(err)) != sizeof(err)) _exit(126);
        _exit(127);
    }
    close(go[0]);
    close(error[1]);
    w->go_fd = go[1];
    w->error_fd = error[0];
    // From here on the child has the name under which it is recorded.
    int ready;
    while (read(w->error_fd, &ready, sizeof(ready)) < 0 && errno == EINTR) {
    }
}

int workload_start(struct workload* w) {
    int err = 0;
    char byte = 0;
    if (write(w->go_fd, &byte, 1) != 1) err = errno;
    close(w->go_fd);
    // A successful exec closes the other end, so this ends at once either way.
    while (!err) {
        ssize_t n = read(w->error_fd, &err, sizeof(err));
        if (n < 0 && errno == EINTR) continue;
        break;
    }
    close(w->error_fd);
    return err;
}

void workload_wait(struct workload* w, bool kill_it) {
    if (!w->pid) return;
    if (kill_it) kill(w->pid, SIGTERM);
    while (wait4(w->pid, &w->status, 0, &w->usage) < 0)
        if (errno != EINTR) {
            w->status = 0;
            break;
        }
    w->pid = 0;
}

static void on_signal(int sig) {
    int keep = errno;
    char byte = 0;
    if (sig == SIGCHLD)
        child_exited = 1;
    else
        stop_signal = sig;
    stop_requested = 1;
    // A full pipe is fine: it is readable already.
    ssize_t n = write(wake_fds[1], &byte, 1);
    (void)n;
    errno = keep;
}

static const int caught[] = {SIGCHLD, SIGINT, SIGTERM};

void catch_signals(void) {
    struct sigaction sa = {.sa_handler = on_signal};
    if (wake_fds[0] < 0 && pipe2(wake_fds, O_CLOEXEC | O_NONBLOCK)) fatal("no pipe for signals: %s", strerror(errno));
    sigemptyset(&sa.sa_mask);
    for (size_t i = 0; i < ARRAY_SIZE(caught); i++) sigaction(caught[i], &sa, NULL);
    // A reader of our output that has gone shows as an error of write, which can be told to the user.
    signal(SIGPIPE, SIG_IGN);
}

void forget_signals(void) {
    for (size_t i = 0; i < ARRAY_SIZE(caught); i++) signal(caught[i], SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
}

int stop_pipe(void) { return wake_fds[0]; }

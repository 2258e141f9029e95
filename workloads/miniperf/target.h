// SPDX-License-Identifier: Apache-2.0
// What is measured: CPUs, tasks, and the program that miniperf starts itself.
#ifndef MINIPERF_TARGET_H
#define MINIPERF_TARGET_H

#include <signal.h>
#include <sys/resource.h>

#include "events.h"

struct target {
    const char *pid, *tid, *cpu_text;
    bool system_wide;
    bool per_cpu; // open on every CPU even for tasks, so that each CPU has its ring
    struct int_list cpus, threads;
};

struct workload {
    pid_t pid;    // 0: none
    int go_fd;    // a byte here lets the child call exec
    int error_fd; // the child's errno comes back here when exec fails
    int status;
    struct rusage usage;
};

// Who ended the run; set by the signal handlers.
extern volatile sig_atomic_t stop_requested, child_exited, stop_signal;

void target_check(const struct target* t, const char* command);
// Fills in CPUs and threads; the workload, when there is one, is the target unless another is named.
void target_resolve(struct target* t, const struct workload* w);
static inline bool target_names_tasks(const struct target* t) { return t->pid || t->tid; }
static inline bool target_names_cpus(const struct target* t) { return t->system_wide || t->cpu_text; }
static inline bool target_is_workload(const struct target* t) {
    return !target_names_tasks(t) && !target_names_cpus(t);
}
bool target_alive(const struct target* t);

struct int_list cpus_online(void);
struct int_list cpus_present(void);
struct int_list threads_of(int pid);

void workload_prepare(struct workload* w, char** argv);
int workload_start(struct workload* w); // 0, or the errno of exec
void workload_wait(struct workload* w, bool kill_it);
void catch_signals(void);
void forget_signals(void);
int stop_pipe(void); // becomes readable when a signal came

// Opening (open.c): 0, or the errno of the event that *failed is set to.
int evlist_open(struct evlist* list, const struct target* t, bool skip_unsupported, struct event** failed);
void evlist_close(struct evlist* list);
void evlist_ioctl(const struct evlist* list, unsigned long request);
void evlist_read_ids(struct evlist* list);
// Tries an event in a weaker form after errno; true when it is worth to open again.
bool event_fall_back(struct event* e, int err);
_Noreturn void open_failed(const struct event* e, int err, const struct target* t);
int paranoid_level(void);

#endif

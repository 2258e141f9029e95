// SPDX-License-Identifier: Apache-2.0
// Opens the events of a list on their CPUs and threads, and explains the kernel's refusals.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target.h"

static int open_event(struct perf_event_attr* attr, int tid, int cpu, int group) {
    return (int)syscall(SYS_perf_event_open, attr, tid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

int paranoid_level(void) {
    long long level;
    return read_number("/proc/sys/kernel/perf_event_paranoid", &level) ? (int)level : 2;
}

static bool raise_file_limit(void) {
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur == l.rlim_max) return false;
    l.rlim_cur = l.rlim_max;
    return !setrlimit(RLIMIT_NOFILE, &l);
}

// An event with CPUs of its own (a core PMU of a big.LITTLE machine) is opened only there, unless it follows a task.
static struct int_list event_cpus(const struct event* e, const struct target* t) {
    if (t->cpu_text || !e->own_cpus.n || t->cpus.v[0] < 0) return list_copy(&t->cpus);
    struct int_list l = {0};
    for (int i = 0; i < e->own_cpus.n; i++)
        if (list_index(&t->cpus, e->own_cpus.v[i]) >= 0) list_add(&l, e->own_cpus.v[i]);
    return l;
}

static int group_fd(const struct evlist* list, const struct event* e, int cpu, int thread) {
    const struct event* leader = &list->ev[e->leader];
    if (leader == e) return -1;
    int c = list_index(&leader->cpus, cpu);
    return c < 0 ? -1 : leader->fd[c * leader->threads + thread];
}

static void close_cells(struct event* e) {
    for (int i = 0; i < event_cells(e); i++)
        if (e->fd[i] >= 0) {
            close(e->fd[i]);
            e->fd[i] = -1;
        }
}

static int open_cells(struct evlist* list, struct event* e, const struct target* t) {
    int opened = 0, gone = 0;
    for (int c = 0; c < e->cpus.n; c++)
        for (int i = 0; i < t->threads.n; i++) {
            int* fd = &e->fd[c * e->threads + i];
            int group = group_fd(list, e, e->cpus.v[c], i);
            if (e->leader != (int)(e - list->ev) && group < 0) {
                gone = EINVAL;
                continue;
            }
            for (;;) {
                *fd = open_event(&e->attr, t->threads.v[i], e->cpus.v[c], group);
                if (*fd >= 0 || errno != EMFILE || !raise_file_limit()) break;
            }
            if (verbose > 1)
                fprintf(stderr, "perf_event_open: %s, type %u, config %#llx, thread %d, cpu %d, group %d = %d (%s)\n",
                        e->name, e->attr.type, (unsigned long long)e->attr.config, t->threads.v[i], e->cpus.v[c], group,
                        *fd, *fd < 0 ? strerror(errno) : "ok");
            if (*fd >= 0)
                opened++;
            else if (errno == ESRCH && t->threads.n > 1)
                gone = ESRCH; // one of several threads ended meanwhile
            else
                return errno;
        }
    return opened ? 0 : gone ? gone : ENOENT;
}

static bool is_unsupported(int err) {
    return err == EINVAL || err == ENOSYS || err == ENOENT || err == EOPNOTSUPP || err == ENXIO || err == ENODEV;
}

int evlist_open(struct evlist* list, const struct target* t, bool skip_unsupported, struct event** failed) {
    for (int i = 0; i < list->n; i++) {
        struct event* e = &list->ev[i];
        e->cpus = event_cpus(e, t);
        e->threads = t->threads.n;
        e->supported = true;
        e->fd = xmalloc((size_t)event_cells(e) * sizeof(int));
        e->id = xcalloc((size_t)event_cells(e), sizeof(uint64_t));
        e->last = xcalloc((size_t)event_cells(e), sizeof(struct count));
        for (int j = 0; j < event_cells(e); j++) e->fd[j] = -1;
    }
    for (int i = 0; i < list->n; i++) {
        struct event* e = &list->ev[i];
        unsigned precise = e->attr.precise_ip;
        int err;
        if (e->precise_max) e->attr.precise_ip = 3;
        while ((err = open_cells(list, e, t))) {
            close_cells(e);
            if (!e->precise_max || e->attr.precise_ip == precise) break;
            e->attr.precise_ip = (e->attr.precise_ip - 1) & 3;
        }
        if (!err) continue;
        *failed = e;
        if (event_is_leader(list, e) && e->members > 1) return err;
        if (!skip_unsupported || !is_unsupported(err)) return err;
        e->supported = false;
        e->open_errno = err;
    }
    return 0;
}

void evlist_close(struct evlist* list) {
    for (int i = 0; i < list->n; i++) {
        struct event* e = &list->ev[i];
        if (e->fd) close_cells(e);
        free(e->fd);
        free(e->id);
        free(e->last);
        free(e->cpus.v);
        e->fd = NULL;
        e->id = NULL;
        e->last = NULL;
        e->cpus = (struct int_list){0};
        e->threads = 0;
    }
}

// Members follow their leader, so only leaders are told.
void evlist_ioctl(const struct evlist* list, unsigned long request) {
    for (int i = 0; i < list->n; i++) {
        const struct event* e = &list->ev[i];
        if (!event_is_leader(list, e) || e->immediate) continue;
        for (int j = 0; j < event_cells(e); j++)
            if (e->fd[j] >= 0) ioctl(e->fd[j], request, 0);
    }
}

void evlist_read_ids(struct evlist* list) {
    for (int i = 0; i < list->n; i++)
        for (int j = 0; j < event_cells(&list->ev[i]); j++)
            if (list->ev[i].fd[j] >= 0 && ioctl(list->ev[i].fd[j], PERF_EVENT_IOC_ID, &list->ev[i].id[j]))
                fatal("event %s tells no id: %s", list->ev[i].name, strerror(errno));
}

bool event_fall_back(struct event* e, int err) {
    char* old = e->name;
    if ((err == ENOENT || err == ENXIO || err == ENODEV) && event_is(e, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES)) {
        // A machine without a PMU can still be sampled by time.
        e->attr.type = PERF_TYPE_SOFTWARE;
        e->attr.config = PERF_COUNT_SW_CPU_CLOCK;
        e->attr.precise_ip = 0;
        e->precise_max = false;
        e->unit = event_unit(e);
        e->scale = 1e-6;
        e->name = xstrdup("cpu-clock");
        free(old);
        if (verbose) fprintf(stderr, "no event cycles here, cpu-clock is used instead\n");
        return true;
    }
    if (err == EACCES && !e->attr.exclude_kernel && !e->user_chose && paranoid_level() > 1) {
        if (verbose) fprintf(stderr, "no right to see the kernel, %s counts user mode only\n", e->name);
        e->attr.exclude_kernel = 1;
        e->attr.exclude_hv = 1;
        size_t n = strlen(old);
        e->name = xformat("%s%su", old, n && old[n - 1] == '/' ? "" : strchr(old, ':') ? "" : ":");
        free(old);
        return true;
    }
    return false;
}

void open_failed(const struct event* e, int err, const struct target* t) {
    const char* name = e->name;
    switch (err) {
        case EACCES:
        case EPERM:
            fatal(
                "no right to open event %s%s: kernel.perf_event_paranoid is %d, a lower value or CAP_PERFMON would "
                "allow it",
                name, target_names_cpus(t) ? " for whole CPUs" : "", paranoid_level());
        case ENOENT: fatal("event %s is not supported on this machine", name);
        case ESRCH: fatal("the task to measure has ended or never was there (event %s)", name);
        case EMFILE: fatal("too many files are open for event %s: fewer events, or a higher 'ulimit -n'", name);
        case ENODEV: fatal("there is no such CPU, or it is off line (event %s)", name);
        case EOPNOTSUPP:
            if (e->attr.sample_period)
                fatal(
                    "event %s cannot be sampled: its PMU has no overflow interrupt or lacks what was asked for; "
                    "counting may work",
                    name);
            fatal("event %s is not supported on this machine", name);
        case EBUSY: fatal("the PMU is held by somebody else (event %s)", name);
        case ENOSPC: fatal("no hardware register is left for event %s", name);
        case EINVAL:
            fatal("the kernel refuses event %s as it stands (invalid argument); a group may be larger than the PMU",
                  name);
        default: fatal("cannot open event %s: %s", name, strerror(err));
    }
}

// SPDX-License-Identifier: Apache-2.0
// The list of events a command works on, and how their names are read.
#ifndef MINIPERF_EVENTS_H
#define MINIPERF_EVENTS_H

#include <linux/perf_event.h>

#include "util.h"

struct count {
    uint64_t value, enabled, running;
};

// One event as the user named it. It is opened once per CPU and thread: cell (c, t) is c * threads + t.
struct event {
    char* name;
    struct perf_event_attr attr;
    struct int_list own_cpus; // the CPUs of the event's PMU; empty: any
    int leader;               // index of the group's leader, itself when alone
    int members;              // size of the group, valid for the leader
    char* group_name;
    const char* unit;
    double scale;
    bool precise_max; // try the highest precise_ip that opens
    bool user_chose;  // the user said :u, :k or :h
    bool own_period;  // the event's text set period or freq
    bool tracking;    // carries the mmap, comm, task side-band records
    bool immediate;   // counts from the start, not from exec or an ioctl

    bool supported;
    int open_errno;
    struct int_list cpus; // CPUs it is opened on; one -1 for "wherever the task runs"
    int threads;
    int* fd;
    uint64_t* id;
    struct count* last; // stat: values at the previous interval
};

struct evlist {
    struct event* ev;
    int n;
    int groups;
};

uint64_t find_symbol(const char* program, const char* name); // file offset of a symbol (probe.c)
void events_parse(struct evlist* list, const char* text);
struct event* events_add(struct evlist* list, const char* name, uint32_t type, uint64_t config);
const char* event_unit(const struct event* e);
bool event_is(const struct event* e, uint32_t type, uint64_t config);
static inline bool event_is_leader(const struct evlist* l, const struct event* e) { return &l->ev[e->leader] == e; }
static inline int event_cells(const struct event* e) { return e->cpus.n * e->threads; }

// Names known without sysfs (names.c).
struct known_event {
    const char *name, *alias;
    uint32_t type;
    uint64_t config;
};
extern const struct known_event known_events[];
extern const int known_event_count;
bool cache_event_config(const char* name, uint64_t* config);
char* cache_event_name(int cache, int op, int result);

// PMUs found in sysfs (pmu.c).
struct pmu {
    char* name;
    uint32_t type;
    struct int_list cpus;
};
int pmu_list(struct pmu** out);
const struct pmu* pmu_find(const char* name);
bool pmu_has_event(const char* pmu, const char* event);
// Each event name of a PMU goes to the callback.
void pmu_each_event(const char* pmu, void (*each)(const char* name, void* arg), void* arg);
// Applies "event=0x11,long=1" or alias names to an attr; the text of the fault, or NULL when all is well.
char* pmu_apply_terms(const struct pmu* pmu, const char* terms, struct event* e);
bool tracepoint_id(const char* system, const char* name, uint64_t* id);

_Noreturn void unknown_event(const char* name);
int command_list(int argc, char** argv);
int command_probe(int argc, char** argv);

#endif

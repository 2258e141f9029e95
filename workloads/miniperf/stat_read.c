// SPDX-License-Identifier: Apache-2.0
// Reads counters: alone or as groups, since the start or since the last interval.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stat.h"

void spread_add(struct spread* s, double v) {
    double d = v - s->mean;
    s->n++;
    s->mean += d / s->n;
    s->m2 += d * (v - s->mean);
}

double spread_error(const struct spread* s) { return s->n < 2 ? 0 : __builtin_sqrt(s->m2 / (s->n - 1) / s->n); }

static void note(struct event* e, struct result* r, int cell, struct count now, bool differences, bool per_cpu) {
    struct count d = now;
    if (differences) {
        d.value -= e->last[cell].value;
        d.enabled -= e->last[cell].enabled;
        d.running -= e->last[cell].running;
        e->last[cell] = now;
    }
    struct count* to[] = {&r->sum, per_cpu ? &r->per_cpu[cell / e->threads] : NULL};
    for (size_t i = 0; i < ARRAY_SIZE(to) && to[i]; i++) {
        to[i]->value += d.value;
        to[i]->enabled += d.enabled;
        to[i]->running += d.running;
    }
    if (verbose)
        fprintf(stderr, "%s: %llu %llu %llu\n", e->name, (unsigned long long)d.value, (unsigned long long)d.enabled,
                (unsigned long long)d.running);
}

// A pinned event that found no counter reads as end of file; it then stays at nothing counted.
static void read_single(struct event* e, struct result* r, int cell, bool differences, bool per_cpu) {
    uint64_t v[3];
    if (read(e->fd[cell], v, sizeof(v)) != sizeof(v)) return;
    note(e, r, cell, (struct count){v[0], v[1], v[2]}, differences, per_cpu);
}

static void read_group(struct evlist* list, struct event* leader, struct result* results, int cell, bool differences,
                       bool per_cpu) {
    size_t room = (size_t)(3 + 2 * leader->members) * sizeof(uint64_t);
    uint64_t* v = xmalloc(room);
    ssize_t got = read(leader->fd[cell], v, room);
    if (got >= 24 && (size_t)got >= (size_t)(3 + 2 * v[0]) * sizeof(uint64_t))
        for (uint64_t k = 0; k < v[0]; k++)
            for (int m = leader->leader; m < leader->leader + leader->members; m++) {
                struct event* e = &list->ev[m];
                // Members may live on fewer CPUs than their leader.
                int c = list_index(&e->cpus, leader->cpus.v[cell / leader->threads]);
                int own = c < 0 ? -1 : c * e->threads + cell % leader->threads;
                if (own >= 0 && e->fd[own] >= 0 && e->id[own] == v[3 + 2 * k + 1])
                    note(e, &results[m], own, (struct count){v[3 + 2 * k], v[1], v[2]}, differences, per_cpu);
            }
    free(v);
}

void stat_read(struct evlist* list, struct result* results, bool differences, bool per_cpu) {
    for (int i = 0; i < list->n; i++) {
        struct event* e = &list->ev[i];
        results[i].sum = (struct count){0};
        if (per_cpu) {
            results[i].per_cpu = xrealloc(results[i].per_cpu, (size_t)(e->cpus.n + 1) * sizeof(struct count));
            memset(results[i].per_cpu, 0, (size_t)(e->cpus.n + 1) * sizeof(struct count));
        }
    }
    for (int i = 0; i < list->n; i++) {
        struct event* e = &list->ev[i];
        if (!event_is_leader(list, e) || !e->supported) continue;
        for (int j = 0; j < event_cells(e); j++) {
            if (e->fd[j] < 0) continue;
            if (e->members > 1)
                read_group(list, e, results, j, differences, per_cpu);
            else
                read_single(e, &results[i], j, differences, per_cpu);
        }
    }
}

// What the event would have counted, had it had a counter all the time.
void stat_add_run(const struct evlist* list, struct result* results, bool scale) {
    for (int i = 0; i < list->n; i++) {
        struct result* r = &results[i];
        double value = (double)r->sum.value;
        if (scale && r->sum.running && r->sum.running < r->sum.enabled)
            value = (double)(uint64_t)(value * (double)r->sum.enabled / (double)r->sum.running + 0.5);
        spread_add(&r->value, r->sum.running ? value : 0);
        spread_add(&r->enabled, (double)r->sum.enabled);
        spread_add(&r->running, (double)r->sum.running);
    }
}

// SPDX-License-Identifier: Apache-2.0
// What the parts of miniperf stat share.
#ifndef MINIPERF_STAT_H
#define MINIPERF_STAT_H

#include "target.h"

// Mean and spread of a value over the repetitions (Welford's method).
struct spread {
    double n, mean, m2;
};

struct result {
    struct count sum;      // over all cells, raw
    struct count* per_cpu; // the same split by CPU, only for -A
    struct spread value, enabled, running;
};

struct stat_options {
    struct target target;
    const char* separator; // NULL: for people
    const char* output;
    bool append, no_inherit, null_run, big_num, per_cpu_lines, no_scale, all_user, all_kernel;
    int detailed, repeat, interval_ms, interval_count, delay_ms, timeout_ms;
    FILE* out;
};

struct stat_times {
    struct spread elapsed; // ns
    double user, system;   // s
    bool has_usage;
};

void spread_add(struct spread* s, double v);
double spread_error(const struct spread* s); // standard deviation of the mean

// stat_read.c
void stat_read(struct evlist* list, struct result* results, bool differences, bool per_cpu);
void stat_add_run(const struct evlist* list, struct result* results, bool scale);

// stat_print.c: interval_ns is 0 for the final output.
void stat_print_header(const struct stat_options* o, char** program);
void stat_print_counts(const struct stat_options* o, const struct evlist* list, const struct result* results,
                       uint64_t interval_ns, double wall_ns);
void stat_print_footer(const struct stat_options* o, const struct stat_times* times);

// stat_metric.c: the words after the '#'. Calls back once per metric.
typedef void (*metric_sink)(void* arg, const char* format, double value, const char* unit);
void stat_metrics(const struct evlist* list, const struct result* results, int index, double wall_ns, metric_sink sink,
                  void* arg);

#endif

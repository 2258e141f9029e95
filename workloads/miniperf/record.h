// SPDX-License-Identifier: Apache-2.0
#ifndef MINIPERF_RECORD_H
#define MINIPERF_RECORD_H

#include "ring.h"

struct record_options {
    struct target target;
    const char* output;
    uint64_t period, freq;
    bool has_period, has_freq, freq_max, strict_freq;
    bool callchain, no_inherit, per_thread, no_samples, addresses, times, sample_cpu, no_build_ids;
    bool raw, switches, inherit_stat, all_user, all_kernel, no_buffering, quiet, with_period;
    size_t pages;
    bool pages_given;
    int priority;
};

// Turns options into the attributes of all events (record_config.c).
void record_configure(struct evlist* list, struct record_options* o, bool has_workload);
int command_record(int argc, char** argv);
int command_stat(int argc, char** argv);

#endif

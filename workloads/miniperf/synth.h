// SPDX-License-Identifier: Apache-2.0
// Records that the tool makes itself: what was there before the events were switched on.
#ifndef MINIPERF_SYNTH_H
#define MINIPERF_SYNTH_H

#include "perfdata.h"
#include "ring.h"

// trailer: bytes of the sample-id trailer that these events put behind each record.
struct synth {
    struct buffer out;
    size_t trailer;
    bool data_maps; // mappings without execute permission, too
};

size_t trailer_size(uint64_t sample_type);
void synth_time_conversion(struct synth* s, const struct perf_event_mmap_page* page);
void synth_id_index(struct synth* s, const struct evlist* list, const struct target* t);
void synth_kernel(struct synth* s);
void synth_event_updates(struct synth* s, const struct evlist* list, bool names);
void synth_thread_map(struct synth* s, const struct int_list* threads);
void synth_cpu_map(struct synth* s, const struct int_list* cpus);
// One thread: COMM, and the mappings of its process when wanted and when it is the first thread.
void synth_thread(struct synth* s, int tid, bool forks, bool maps);
// The threads of the list; first threads of their processes are added, because they hold the mappings.
void synth_tasks(struct synth* s, const struct int_list* threads, bool maps);
void synth_all_tasks(struct synth* s);
void synth_lost_samples(struct synth* s, const struct event* e, int cell, uint64_t lost);
void synth_marker(struct synth* s, uint32_t type);

#endif

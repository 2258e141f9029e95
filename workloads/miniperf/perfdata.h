// SPDX-License-Identifier: Apache-2.0
// The perf.data file: header, data section, features; as a file or as a stream.
#ifndef MINIPERF_PERFDATA_H
#define MINIPERF_PERFDATA_H

#include "events.h"

// Record types of the tool, which follow the kernel's.
enum {
    RECORD_HEADER_ATTR = 64,
    RECORD_HEADER_TRACING_DATA = 66,
    RECORD_FINISHED_ROUND = 68,
    RECORD_ID_INDEX = 69,
    RECORD_THREAD_MAP = 73,
    RECORD_CPU_MAP = 74,
    RECORD_EVENT_UPDATE = 78,
    RECORD_TIME_CONV = 79,
    RECORD_HEADER_FEATURE = 80,
    RECORD_FINISHED_INIT = 82,
};

enum { CPU_MODE_KERNEL = 1, CPU_MODE_USER = 2 };

struct perfdata {
    int fd;
    bool stream; // no seeking: attributes and features travel as records
    const char* path;
    uint64_t pos;   // bytes written
    uint64_t whole; // end of the last complete record
    uint64_t data_offset;
    bool failed;
};

struct sample_times {
    uint64_t first, last;
};

struct feature_input {
    const struct evlist* list;
    int argc;
    char** argv;
    const struct buffer* build_ids;
    struct sample_times times;
};

bool perfdata_open(struct perfdata* f, const char* path);
bool perfdata_write(struct perfdata* f, const void* p, size_t n);
// A complete record or a run of complete records.
bool perfdata_record(struct perfdata* f, const struct buffer* b);
bool perfdata_start(struct perfdata* f, const struct evlist* list, const struct feature_input* in);
bool perfdata_finish(struct perfdata* f, const struct evlist* list, const struct feature_input* in);

// Features (features.c). False: nothing to say, the feature is left out.
enum { FEATURE_TRACING_DATA = 1, FEATURE_BUILD_ID = 2, FEATURE_COUNT = 32, FEATURE_WORDS = 4 };
bool feature_write(int bit, struct buffer* b, const struct feature_input* in);

#endif

// SPDX-License-Identifier: Apache-2.0
// Goes over a finished recording once: which binaries were hit, when the first and last sample came.
#ifndef MINIPERF_BUILDID_H
#define MINIPERF_BUILDID_H

#include "perfdata.h"

struct scan_result {
    uint64_t samples;
    struct sample_times times;
    struct buffer build_ids; // the content of the BUILD_ID feature
};

void recording_scan(const struct perfdata* f, const struct evlist* list, bool build_ids, struct scan_result* out);

#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef MINIPERF_TRACING_H
#define MINIPERF_TRACING_H

#include "events.h"

// The folder of tracefs, or NULL.
const char* tracing_root(void);
// The TRACING_DATA feature: how the raw data of the list's tracepoints is laid out. False without tracepoints.
bool tracing_data(struct buffer* b, const struct evlist* list);

#endif

// SPDX-License-Identifier: Apache-2.0
// The kernel's ring buffers, as the reader sees them.
#ifndef MINIPERF_RING_H
#define MINIPERF_RING_H

#include "target.h"

struct ring {
    int fd;
    struct perf_event_mmap_page* page;
    unsigned char* data;
    uint64_t size;
};

struct rings {
    struct ring* r;
    int n;
    size_t pages;
};

typedef bool (*ring_sink)(const void* p, size_t n, void* arg);

// Pages for -m: a count of pages, or a size with B, K, M or G; rounded up to a power of two.
size_t ring_pages(const char* text);
// One ring per CPU (per thread when events follow tasks without CPU); further events are sent into it.
void rings_map(struct rings* rs, struct evlist* list, const struct target* t, size_t pages, bool pages_given);
// Hands everything that is new to the sink. False when the sink failed.
bool ring_drain(struct ring* r, ring_sink sink, void* arg);
void rings_unmap(struct rings* rs);

#endif

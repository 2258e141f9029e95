// SPDX-License-Identifier: Apache-2.0
// Short ways to tracefs and to tracepoint events.
#pragma once

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACE "/sys/kernel/tracing"

static inline char* slurp(const char* name, char* text, size_t size) {
    char path[256];
    snprintf(path, sizeof path, TRACE "%s", name);
    const int fd = open(path, O_RDONLY);
    size_t n = 0;
    for (ssize_t got; fd >= 0 && n + 1 < size && (got = read(fd, text + n, size - 1 - n)) > 0;) n += (size_t)got;
    text[n] = 0;
    close(fd);
    return text;
}

/// 0 or the errno of writing `text`.
static inline int put(const char* name, const char* text) {
    char path[256];
    snprintf(path, sizeof path, TRACE "%s", name);
    const int fd = open(path, O_WRONLY | O_TRUNC);
    if (fd < 0) return errno;
    const int error = write(fd, text, strlen(text)) < 0 ? errno : 0;
    close(fd);
    return error;
}

static inline struct perf_event_attr tracepoint(const char* system, const char* name) {
    char file[128], text[32];
    snprintf(file, sizeof file, "/events/%s/%s/id", system, name);
    struct perf_event_attr a = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof a, .disabled = 1};
    a.config = (unsigned long)atol(slurp(file, text, sizeof text));
    return a;
}

static inline int open_event(struct perf_event_attr* a, int pid, int cpu, int group) {
    return (int)syscall(SYS_perf_event_open, a, pid, cpu, group, 0);
}

static inline long count_of(int fd) {
    long v = -1;
    read(fd, &v, sizeof v);
    return v;
}

struct trace_ring {
    struct perf_event_mmap_page* page;
    unsigned long tail, size;
};

static inline void map_ring(struct trace_ring* r, int fd) {
    r->size = 8 * 4096;
    r->tail = 0;
    r->page = mmap(NULL, r->size + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (r->page == MAP_FAILED) {
        printf("mmap: %s\n", strerror(errno));
        exit(1);
    }
}

/// The next record, or null. Few enough come that none wraps around.
static inline struct perf_event_header* next_record(struct trace_ring* r) {
    const unsigned long head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
    if (r->tail == head) return NULL;
    struct perf_event_header* h = (void*)((char*)r->page + 4096 + r->tail % r->size);
    r->tail += h->size;
    return h;
}

static inline int drain(struct trace_ring* r) {
    int n = 0;
    for (struct perf_event_header* h; (h = next_record(r));) n += h->type == PERF_RECORD_SAMPLE;
    return n;
}

/// Raw data of the next sample of an event with PERF_SAMPLE_RAW only.
static inline const unsigned char* next_raw(struct trace_ring* r) {
    for (struct perf_event_header* h; (h = next_record(r));)
        if (h->type == PERF_RECORD_SAMPLE) return (const unsigned char*)(h + 1) + 4;
    return NULL;
}

static inline long num(const unsigned char* p, int offset, int size) {
    if (size == 4) {
        int v;
        memcpy(&v, p + offset, 4);
        return v;
    }
    long v;
    memcpy(&v, p + offset, 8);
    return v;
}

// SPDX-License-Identifier: Apache-2.0
// What guest programs about the kernel's call chains share: its symbols, and the chains in a ring buffer.
#pragma once

#include "perf_guest.h"

enum { kPages = 64, kBytes = kPages * 4096, kMaxSymbols = 250000 };
static struct {
    uint64_t at;
    char name[40];
} * symbols;
static int nsymbols;

static int by_address(const void* a, const void* b) {
    const uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
    return x < y ? -1 : x > y;
}
static void read_symbols(void) {
    symbols = malloc(sizeof *symbols * kMaxSymbols);
    FILE* f = fopen("/proc/kallsyms", "r");
    char line[512], type;
    while (nsymbols < kMaxSymbols && fgets(line, sizeof line, f)) {
        unsigned long long at;
        if (sscanf(line, "%llx %c %39s", &at, &type, symbols[nsymbols].name) != 3) continue;
        if (type != 't' && type != 'T' && type != 'w' && type != 'W') continue;
        symbols[nsymbols++].at = at;
    }
    fclose(f);
    qsort(symbols, (size_t)nsymbols, sizeof *symbols, by_address);
}
/// The function that an address is in; of a return address, the caller.
static const char* name_of(uint64_t pc, int is_return) {
    pc -= is_return ? 4 : 0;
    int lo = 0, hi = nsymbols;
    while (lo + 1 < hi) {
        const int mid = (lo + hi) / 2;
        if (symbols[mid].at <= pc)
            lo = mid;
        else
            hi = mid;
    }
    return nsymbols ? symbols[lo].name : "";
}

static int id_of(const char* event) {
    char path[128], text[16] = "";
    snprintf(path, sizeof path, "/sys/kernel/tracing/events/%s/id", event);
    const int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) return -1;
    close(fd);
    return atoi(text);
}

struct ring {
    char* at;
    uint64_t tail;
};
static struct ring map_ring(int fd) {
    struct ring r = {mmap(NULL, 4096 + kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), 0};
    return r;
}
/// The next sample's chain; its length, or -1.
static int next_chain(struct ring* r, uint64_t* chain, int most) {
    struct perf_event_mmap_page* page = (void*)r->at;
    const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    while (r->tail < head) {
        static char record[65536];
        for (int i = 0; i < 8; ++i) record[i] = r->at[4096 + (r->tail + (uint64_t)i) % kBytes];
        struct perf_event_header h;
        memcpy(&h, record, sizeof h);
        for (int i = 0; i < h.size; ++i) record[i] = r->at[4096 + (r->tail + (uint64_t)i) % kBytes];
        r->tail += h.size;
        __atomic_store_n(&page->data_tail, r->tail, __ATOMIC_RELEASE);
        if (h.type != PERF_RECORD_SAMPLE) continue;
        uint64_t n;
        memcpy(&n, record + 8, 8);
        if (n > (uint64_t)most) n = (uint64_t)most;
        memcpy(chain, record + 16, 8 * n);
        return (int)n;
    }
    return -1;
}

static int open_tracepoint(const char* event) {
    struct perf_event_attr a = {.size = sizeof a, .type = PERF_TYPE_TRACEPOINT, .sample_period = 1, .disabled = 1};
    a.config = (uint64_t)id_of(event);
    a.sample_type = PERF_SAMPLE_CALLCHAIN;
    return perf_open(&a, 0, -1, -1, 0);
}

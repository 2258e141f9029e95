// SPDX-License-Identifier: Apache-2.0
// Maps the ring buffers and takes records out of them.
#include "ring.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

size_t ring_pages(const char* text) {
    char* end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    size_t shift = 0, pages = 1;
    if (end == text || errno || *text == '-')
        usage_error("-m wants a number of pages such as 128, or a size such as 512K, not '%s'", text);
    bool size = *end != 0;
    switch (toupper((unsigned char)*end)) {
        case 0: break;
        case 'B': break;
        case 'K': shift = 10; break;
        case 'M': shift = 20; break;
        case 'G': shift = 30; break;
        default: usage_error("-m wants a number of pages such as 128, or a size such as 512K, not '%s'", text);
    }
    if (size && end[1]) usage_error("-m wants a number of pages such as 128, or a size such as 512K, not '%s'", text);
    if (n > (1ULL << 40) >> shift) usage_error("-m %s is more than any machine has", text);
    unsigned long long want = size ? ((n << shift) + page_size() - 1) / page_size() : n;
    if (!want) usage_error("-m %s leaves no room for a single record: one page is the least", text);
    while (pages < want) pages *= 2;
    if (pages != want || size)
        fprintf(stderr, "rounding mmap pages size to %zuK (%zu pages)\n", pages * page_size() / 1024, pages);
    return pages;
}

// What an unprivileged user may lock, less the control page, rounded down to a power of two.
static size_t default_pages(void) {
    long long kb;
    size_t pages = 1;
    if (!read_number("/proc/sys/kernel/perf_event_mlock_kb", &kb)) kb = 516;
    size_t max = (size_t)(kb > 4 ? kb * 1024 : 8192) / page_size() - 1;
    while (2 * pages <= max) pages *= 2;
    return pages;
}

static void map_one(struct ring* r, int fd, size_t pages, const char* name) {
    size_t page = page_size();
    void* p = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED && errno == EPERM)
        fatal("no right to lock %zu pages for a ring buffer: give a smaller -m, or raise kernel.perf_event_mlock_kb",
              pages);
    if (p == MAP_FAILED) fatal("cannot map a ring buffer of %zu pages for event %s: %s", pages, name, strerror(errno));
    *r = (struct ring){.fd = fd, .page = p, .data = (unsigned char*)p + page, .size = pages * page};
}

void rings_map(struct rings* rs, struct evlist* list, const struct target* t, size_t pages, bool pages_given) {
    bool per_cpu = t->cpus.v[0] >= 0;
    int slots = per_cpu ? t->cpus.n : t->threads.n;
    int* slot_fd = xmalloc((size_t)slots * sizeof(int));
    if (!pages_given) pages = default_pages();
    rs->pages = pages;
    rs->r = xcalloc((size_t)slots, sizeof(*rs->r));
    for (int i = 0; i < slots; i++) slot_fd[i] = -1;
    for (int i = 0; i < list->n; i++) {
        struct event* e = &list->ev[i];
        for (int c = 0; c < e->cpus.n; c++)
            for (int th = 0; th < e->threads; th++) {
                int fd = e->fd[c * e->threads + th], slot = per_cpu ? list_index(&t->cpus, e->cpus.v[c]) : th;
                if (fd < 0 || slot < 0) continue;
                if (slot_fd[slot] < 0) {
                    map_one(&rs->r[rs->n++], fd, pages, e->name);
                    slot_fd[slot] = fd;
                } else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, slot_fd[slot]))
                    fatal("event %s cannot share a ring buffer: %s", e->name, strerror(errno));
            }
    }
    free(slot_fd);
}

bool ring_drain(struct ring* r, ring_sink sink, void* arg) {
    // The kernel's store to data_head comes after the records; the load must keep that order.
    uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE), tail = r->page->data_tail;
    bool ok = true;
    if (head == tail) return true;
    size_t from = (size_t)(tail & (r->size - 1)), n = (size_t)(head - tail);
    size_t first = n > r->size - from ? (size_t)(r->size - from) : n;
    ok = sink(r->data + from, first, arg) && (first == n || sink(r->data, n - first, arg));
    __atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
    return ok;
}

void rings_unmap(struct rings* rs) {
    for (int i = 0; i < rs->n; i++) munmap(rs->r[i].page, (rs->pages + 1) * page_size());
    free(rs->r);
    *rs = (struct rings){0};
}

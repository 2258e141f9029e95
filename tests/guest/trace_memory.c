// SPDX-License-Identifier: Apache-2.0
// Tracepoints of pages and of contended locks: what they say when memory is touched and given back, and in tracefs' own ring.
#include "trace_guest.h"

enum { kPages = 8 };

static void pages(void) {
    struct perf_event_attr a = tracepoint("kmem", "mm_page_alloc"), f = tracepoint("kmem", "mm_page_free");
    a.sample_period = f.sample_period = 1;
    a.sample_type = f.sample_type = PERF_SAMPLE_RAW;
    struct trace_ring ra, rf;
    const int fa = open_event(&a, 0, -1, -1), ff = open_event(&f, 0, -1, -1);
    map_ring(&ra, fa);
    map_ring(&rf, ff);
    char* p = mmap(NULL, kPages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p[0] = 1; // the page tables are there now
    ioctl(fa, PERF_EVENT_IOC_ENABLE, 0);
    for (int i = 1; i < kPages; ++i) p[i * 4096] = 1;
    ioctl(fa, PERF_EVENT_IOC_DISABLE, 0);
    static unsigned long pfn[64];
    int n = 0, same = 0, other = 0;
    const unsigned char* r;
    while ((r = next_raw(&ra))) {
        if (num(r, 24, 8) != 0x140dca) {
            ++other;
            continue;
        }
        printf("page %d: order %ld, flags %lx, type %ld\n", n, num(r, 16, 4), num(r, 24, 8), num(r, 32, 4));
        pfn[n++ & 63] = (unsigned long)num(r, 8, 8);
    }
    printf("count %ld, others %d\n", count_of(fa), other);
    ioctl(ff, PERF_EVENT_IOC_ENABLE, 0);
    madvise(p, kPages * 4096, MADV_DONTNEED);
    ioctl(ff, PERF_EVENT_IOC_DISABLE, 0);
    while ((r = next_raw(&rf)))
        for (int i = 0; i < n; ++i) same += pfn[i] == (unsigned long)num(r, 8, 8);
    printf("given back: at least %d %d, of those that were given: %d\n", kPages, count_of(ff) >= kPages, same);
    munmap(p, kPages * 4096);
    close(fa);
    close(ff);
}

/// A written page that a child shares is copied: without __GFP_ZERO.
static void copies(void) {
    struct perf_event_attr a = tracepoint("kmem", "mm_page_alloc");
    const int fd = open_event(&a, 0, -1, -1);
    char text[64];
    snprintf(text, sizeof text, "gfp_flags == 0x%x && order == 0 && migratetype == 1", 0x140cca);
    printf("filter: %d\n", ioctl(fd, PERF_EVENT_IOC_SET_FILTER, text));
    char* p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, 4 * 4096);
    int go[2];
    pipe(go);
    const pid_t child = fork();
    if (!child) {
        char c;
        read(go[0], &c, 1);
        _exit(0);
    }
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    for (int i = 0; i < 4; ++i) p[i * 4096] = 2;
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    printf("copied: at least four %d\n", count_of(fd) >= 4);
    write(go[1], "x", 1);
    waitpid(child, NULL, 0);
    close(fd);
}

/// As text, in ftrace's ring.
static void text(void) {
    printf("enable: %d %d\n", put("/events/kmem/mm_page_alloc/filter", "gfp_flags == 0x140dca"),
           put("/events/kmem/mm_page_alloc/enable", "1"));
    char* p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p[0] = 1;
    put("/events/kmem/mm_page_alloc/enable", "0");
    put("/events/kmem/mm_page_alloc/filter", "0");
    static char all[65536];
    slurp("/trace", all, sizeof all);
    char name[64];
    snprintf(name, sizeof name, "-%d ", getpid());
    for (char* line = strtok(all, "\n"); line; line = strtok(NULL, "\n")) {
        char* at = strstr(line, "mm_page_alloc: ");
        if (!at || !strstr(line, name)) continue;
        char* order = strstr(at, " order=");
        printf("%.20s...%s\n", at, order ? order : "?");
        break;
    }
    put("/trace", "");
}

/// A file in memory: its pages come without a word, and are told of when they go.
static void file(void) {
    struct perf_event_attr a = tracepoint("filemap", "mm_filemap_add_to_page_cache"),
                           d = tracepoint("filemap", "mm_filemap_delete_from_page_cache");
    d.sample_period = 1;
    d.sample_type = PERF_SAMPLE_RAW;
    struct trace_ring rd;
    const int fa = open_event(&a, 0, -1, -1), fd = open_event(&d, 0, -1, -1);
    map_ring(&rd, fd);
    static char bytes[3 * 4096];
    const int f = open("/tmp/trace_memory_file", O_CREAT | O_RDWR, 0600);
    ioctl(fa, PERF_EVENT_IOC_ENABLE, 0);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    write(f, bytes, sizeof bytes);
    unlink("/tmp/trace_memory_file");
    close(f);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    printf("added %ld, taken away %ld\n", count_of(fa), count_of(fd));
    const unsigned char* r;
    while ((r = next_raw(&rd))) printf("index %ld, order %d\n", num(r, 24, 8), r[36]);
    close(fa);
    close(fd);
}

static void enabled(const char* system, const char* name) {
    struct perf_event_attr a = tracepoint(system, name);
    const int fd = open_event(&a, 0, -1, -1);
    printf("%s:%s %s\n", system, name, fd < 0 ? strerror(errno) : "can be counted");
    close(fd);
}

int main(void) {
    pages();
    copies();
    text();
    file();
    enabled("filemap", "mm_filemap_add_to_page_cache");
    enabled("filemap", "mm_filemap_delete_from_page_cache");
    enabled("lock", "contention_begin");
    enabled("lock", "contention_end");
    enabled("power", "cpu_frequency");
    enabled("power", "cpu_frequency_limits");
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// per_cpu/cpuN/trace_pipe_raw: pages of ftrace's ring as they lie there, by read() and by splice().
#include "trace_guest.h"

#include <poll.h>
#include <sched.h>
#include <stdint.h>

#define RAW "/per_cpu/cpu0/trace_pipe_raw"

static int open_raw(int flags) { return open(TRACE RAW, O_RDONLY | flags); }

static const char* result(long r) {
    static char b[2][32];
    static int k;
    if (r < 0) return strerrorname_np(errno);
    snprintf(b[k ^= 1], sizeof b[0], "%ld", r);
    return b[k];
}
#define SHOW(e) printf("%s: %s\n", #e, result((long)(e))), fflush(stdout)

// Entries of a page: kind, length, the text of those of trace_marker.
static int entries_of(const uint8_t* page, int print) {
    uint64_t commit;
    memcpy(&commit, page + 8, 8);
    const uint32_t bytes = commit & 0xfffffff;
    int n = 0, times = 0;
    for (uint32_t at = 0; at < bytes;) {
        uint32_t w[2];
        memcpy(w, page + 16 + at, 8);
        const uint32_t kind = w[0] & 31;
        if (kind == 30) {
            ++times;
            at += 8;
            continue;
        }
        const uint32_t head = kind ? 4 : 8, length = kind ? kind * 4 : w[1] - 4;
        uint16_t type;
        memcpy(&type, page + 16 + at + head, 2);
        if (print)
            printf("  type %d, length %u, \"%.12s\"%s", type, length, page + 16 + at + head + 16, n ? "" : ", first");
        if (print) printf("%s\n", n == 0 && w[0] >> 5 ? "" : n == 0 ? ", no time" : "");
        at += head + length;
        ++n;
    }
    if (times) printf("  %d for time alone\n", times);
    return n;
}

static void mark(const char* text) {
    const int fd = open(TRACE "/trace_marker", O_WRONLY);
    write(fd, text, strlen(text));
    close(fd);
}

static void fill(int n) {
    const int fd = open(TRACE "/trace_marker", O_WRONLY);
    char b[40];
    for (int i = 0; i < n; ++i) write(fd, b, (size_t)snprintf(b, sizeof b, "record %06d", i));
    close(fd);
}

static uint8_t page[65536];

static void show_page(const char* what, long got) {
    uint64_t commit;
    memcpy(&commit, page + 8, 8);
    printf("%s: %s, commit %u, flags %x\n", what, result(got), (unsigned)(commit & 0xfffffff),
           (unsigned)(commit >> 28 & 15));
}

static void reading(void) {
    int fd = open_raw(O_NONBLOCK);
    SHOW(read(fd, page, 4096));
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(read(fd, page, 0));
    mark("one");
    mark("seven and a bit");
    char long_text[201];
    memset(long_text, 'x', 200);
    long_text[200] = 0;
    mark(long_text);
    struct pollfd p = {fd, POLLIN, 0};
    SHOW(poll(&p, 1, 0));
    SHOW(read(fd, page, 16)); // not even one record
    SHOW(read(fd, page, 20));
    show_page("room for one record", read(fd, page, 60));
    show_page("the rest of that page", read(fd, page + 60, 4096));
    printf("entries %d\n", entries_of(page, 1));
    SHOW(lseek(fd, 0, SEEK_CUR));
    show_page("what is left", read(fd, page, 4096));
    printf("entries %d\n", entries_of(page, 1));
    SHOW(read(fd, page, 4096));
    SHOW(poll(&p, 1, 0));
    close(fd);
    fill(300);
    fd = open_raw(O_NONBLOCK);
    for (int i = 0; i < 5; ++i) {
        long r = read(fd, page, 4096);
        show_page("page", r);
        if (r < 0) break;
        printf("entries %d\n", entries_of(page, 0));
    }
    close(fd);
    SHOW(open(TRACE RAW, O_RDWR) >= 0);
}

static void waiting(void) {
    const pid_t child = fork();
    if (!child) {
        usleep(20000);
        mark("now");
        _exit(0);
    }
    const int fd = open_raw(0);
    show_page("after waiting", read(fd, page, 4096));
    printf("entries %d\n", entries_of(page, 1));
    waitpid(child, NULL, 0);
    close(fd);
}

static void splicing(void) {
    int p[2];
    pipe(p);
    fill(3);
    int fd = open_raw(0);
    SHOW(splice(fd, NULL, p[1], NULL, 100, SPLICE_F_NONBLOCK));
    SHOW(splice(fd, NULL, p[1], NULL, 4096, SPLICE_F_NONBLOCK)); // the writer's page is not given
    fill(300);
    SHOW(splice(fd, NULL, p[1], NULL, 5000, SPLICE_F_NONBLOCK));
    SHOW(read(p[0], page, sizeof page));
    show_page("spliced", 0);
    SHOW(splice(fd, NULL, p[1], NULL, 65536, SPLICE_F_NONBLOCK));
    SHOW(read(p[0], page, sizeof page));
    SHOW(splice(fd, NULL, p[1], NULL, 65536, SPLICE_F_NONBLOCK));
    SHOW(read(fd, page, 100));
    SHOW(splice(fd, NULL, p[1], NULL, 4096, SPLICE_F_NONBLOCK)); // not at a page's start
    SHOW(read(fd, page + 100, 4096));
    show_page("the writer's page by read", 4096);
    close(fd);
    // A small pipe takes what it has room for.
    SHOW(fcntl(p[1], F_SETPIPE_SZ, 8192));
    fill(1000);
    fd = open_raw(0);
    SHOW(splice(fd, NULL, p[1], NULL, 65536, SPLICE_F_NONBLOCK));
    SHOW(splice(fd, NULL, p[1], NULL, 65536, SPLICE_F_NONBLOCK));
    SHOW(read(p[0], page, 4096));
    SHOW(splice(fd, NULL, p[1], NULL, 65536, 0));
    close(p[0]);
    close(p[1]);
    // One who waits is woken by tracing_off, with nothing.
    while (read(fd, page, 4096) == 4096) {
        uint64_t commit;
        memcpy(&commit, page + 8, 8);
        if ((commit & 0xfffffff) < 3900) break;
    }
    pipe(p);
    const pid_t child = fork();
    if (!child) {
        usleep(20000);
        put("/tracing_on", "0");
        _exit(0);
    }
    SHOW(splice(fd, NULL, p[1], NULL, 4096, 0));
    waitpid(child, NULL, 0);
    put("/tracing_on", "1");
    close(fd);
}

static void losing(void) {
    char text[64];
    put("/trace", "");
    SHOW(put("/buffer_percent", "101"));
    SHOW(put("/buffer_percent", "0"));
    printf("percent %s", slurp("/buffer_percent", text, sizeof text));
    fill(40000);
    const int fd = open_raw(O_NONBLOCK);
    const long r = read(fd, page, 4096);
    uint64_t commit, missed = 0;
    memcpy(&commit, page + 8, 8);
    const unsigned bytes = commit & 0xfffffff;
    if (commit & 1u << 30) memcpy(&missed, page + 16 + bytes, 8);
    show_page("after an overrun", r);
    printf("missed so many as fit: %d\n", !(commit & 1u << 30) || (missed > 1000 && missed < 40000));
    show_page("the next", read(fd, page, 4096));
    close(fd);
    // Who waits for any whole page sleeps while there is none.
    put("/trace", "");
    const int waits = open_raw(0);
    int p[2];
    if (pipe(p)) return;
    const pid_t child = fork();
    if (!child) {
        usleep(20000);
        fill(1000);
        _exit(0);
    }
    SHOW(splice(waits, NULL, p[1], NULL, 4096, 0));
    waitpid(child, NULL, 0);
    close(waits);
}

int main(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
    put("/trace", "");
    mark("expands the buffer");
    put("/buffer_size_kb", "400");
    put("/trace", "");
    reading();
    waiting();
    splicing();
    losing();
    return 0;
}

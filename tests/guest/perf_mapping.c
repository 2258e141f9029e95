// SPDX-License-Identifier: Apache-2.0
// What may be done to a mapping of a perf buffer, and mremap in all its forms [CORE-348] [RB-014].
#include "os_guest.h"

#include <linux/perf_event.h>

static char* b;
static int fd;
static const size_t len = 5 * PAGE;

static char* fresh(void) {
    b = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (b == MAP_FAILED) _exit(3);
    return b;
}
static int still_there(void) { return ((struct perf_event_mmap_page*)b)->data_size == 4 * PAGE; }

static void buffer(void) {
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = PERF_COUNT_SW_DUMMY};
    fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
    fresh();
    TRY(munmap(b, PAGE));
    TRY(munmap(b + PAGE, PAGE));
    TRY(munmap(b + 4 * PAGE, PAGE));
    TRY(munmap(b - PAGE, 2 * PAGE));
    TRY(munmap(b + 4 * PAGE, 2 * PAGE));
    TRY(mprotect(b, PAGE, PROT_READ));
    TRY(mprotect(b + PAGE, len - PAGE, PROT_READ));
    TRY(mprotect(b, PAGE, PROT_READ | PROT_WRITE));
    SHOW(still_there());
    TRY(mmap(b, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0);
    TRY(mmap(b + PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0);
    TRY(madvise(b + PAGE, PAGE, MADV_DOFORK));
    TRY(madvise(b + PAGE, PAGE, MADV_DODUMP));
    TRY(madvise(b, len, MADV_DODUMP));
    TRY(madvise(b, len, MADV_WIPEONFORK));
    TRY(mlock(b + PAGE, PAGE));
    TRY(munlock(b + PAGE, PAGE));
    SHOW(still_there());

    char* room = mmap(NULL, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(room, 8 * PAGE);
    TRY(mremap(b, len, len + PAGE, 0) == MAP_FAILED ? -1 : 0);
    TRY(mremap(b, len, len + PAGE, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0);
    TRY(mremap(b, len, PAGE, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0);
    TRY(mremap(b + PAGE, len, PAGE, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0);
    TRY(mremap(b, 0, len, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0);
    TRY(mremap(b + PAGE, len - PAGE, len - PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room) == MAP_FAILED ? -1 : 0);
    TRY(mremap(b, len, len, MREMAP_MAYMOVE | MREMAP_DONTUNMAP) == MAP_FAILED ? -1 : 0);
    SHOW(still_there());
    char* moved = mremap(b, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, room);
    say("whole: %s", moved == room ? "there" : strerrorname_np(errno));
    b = moved;
    SHOW(still_there());
    SHOW(munmap(b, len));
    SHOW(close(fd));
}

static void fill(char* p, int pages) {
    for (int i = 0; i < pages; ++i) p[i * PAGE] = 'a' + i;
}
static void letters(const char* what, const char* p, int pages) {
    char t[32] = {0};
    for (int i = 0; i < pages; ++i) t[i] = p[i * PAGE] ? p[i * PAGE] : '.';
    say("%s: %s", what, t);
}

static void remap(void) {
    const int rw = PROT_READ | PROT_WRITE, priv = MAP_PRIVATE | MAP_ANONYMOUS, shared = MAP_SHARED | MAP_ANONYMOUS;
    char* p = mmap(NULL, 8 * PAGE, rw, priv, -1, 0);
    char* free_room = mmap(NULL, 32 * PAGE, PROT_NONE, priv, -1, 0);
    munmap(free_room, 32 * PAGE);
    fill(p, 8);
    TRY(mremap(p + 1, PAGE, PAGE, 0) == MAP_FAILED ? -1 : 0);
    TRY(mremap(p, PAGE, 0, 0) == MAP_FAILED ? -1 : 0);
    TRY(mremap(p, PAGE, PAGE, MREMAP_FIXED, free_room) == MAP_FAILED ? -1 : 0);
    TRY(mremap(p, PAGE, PAGE, 64) == MAP_FAILED ? -1 : 0);
    TRY(mremap(p, 2 * PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP) == MAP_FAILED ? -1 : 0);
    TRY(mremap(p, 2 * PAGE, 2 * PAGE, MREMAP_DONTUNMAP) == MAP_FAILED ? -1 : 0);
    TRY(mremap(p, 0, PAGE, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0);
    TRY(mremap(p, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, p + PAGE) == MAP_FAILED ? -1 : 0);
    TRY(mremap(p + 7 * PAGE, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0);
    TRY(mremap((char*)0x10000, PAGE, PAGE, 0) == MAP_FAILED ? -1 : 0);
    // Shrinking in place, with a range that is longer than the mapping.
    say("shrunk: %s", mremap(p + 6 * PAGE, 2 * PAGE, PAGE, 0) == p + 6 * PAGE ? "in place" : "no");
    letters("left", p, 7);
    // The middle moves away.
    char* q = mremap(p + 2 * PAGE, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, free_room);
    say("moved: %s", q == free_room ? "there" : "no");
    letters("moved", q, 2);
    letters("before", p, 2);
    letters("after", p + 4 * PAGE, 3);
    unsigned char v[1];
    TRY(mincore(p + 2 * PAGE, PAGE, v));
    // Leaves an empty mapping behind.
    char* r = mremap(p, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP | MREMAP_FIXED, free_room + 8 * PAGE);
    say("dontunmap: %s", r == free_room + 8 * PAGE ? "there" : strerrorname_np(errno));
    letters("taken", r, 2);
    letters("left behind", p, 2);
    // Grows by moving, and with a smaller target.
    char* g = mremap(r, 2 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, free_room + 16 * PAGE);
    letters("grown", g, 4);
    char* h = mremap(g, 4 * PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, free_room + 24 * PAGE);
    letters("cut", h, 1);
    TRY(mincore(g + PAGE, PAGE, v));
    // Shared pages twice.
    char* s = mmap(NULL, 2 * PAGE, rw, shared, -1, 0);
    fill(s, 2);
    char* t = mremap(s, 0, 2 * PAGE, MREMAP_MAYMOVE);
    letters("twin", t, 2);
    t[0] = 'X';
    letters("first", s, 2);
    TRY(mremap(s, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP) == MAP_FAILED ? -1 : 0);
}

static void advice(void) {
    const int rw = PROT_READ | PROT_WRITE;
    char* p = mmap(NULL, 4 * PAGE, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fill(p, 4);
    TRY(madvise(p + PAGE, PAGE, MADV_WIPEONFORK));
    TRY(madvise(p + 2 * PAGE, PAGE, MADV_DONTFORK));
    if (!fork()) {
        letters("child: first two", p, 2);
        unsigned char v[1];
        TRY(mincore(p + 2 * PAGE, PAGE, v));
        letters("child: last", p + 3 * PAGE, 1);
        _exit(0);
    }
    wait(NULL);
    TRY(madvise(p, 4 * PAGE, MADV_KEEPONFORK));
    TRY(madvise(p, 4 * PAGE, MADV_DOFORK));
    if (!fork()) {
        letters("child: all", p, 4);
        _exit(0);
    }
    wait(NULL);
}

int main(void) {
    buffer();
    remap();
    advice();
    return 0;
}

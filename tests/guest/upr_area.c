// SPDX-License-Identifier: Apache-2.0
// The page in which probed instructions run out of line, as a mapping of the program: what is said of it, what may be done to
// it, and what becomes of the probes when the program drops, covers, moves or removes it [UPR-035]. And a mapping that was
// writable once, which does not grow together with its neighbours, so nobody looks for probes of it again [UPR-026].
#include "upr_guest.h"

typedef long (*add_fn)(long);
static add_fn add;
static int counter;
static unsigned long at;
static char text[1 << 18];

static char* maps(const char* file) {
    const int fd = open(file, O_RDONLY);
    size_t n = 0;
    for (ssize_t got; (got = read(fd, text + n, sizeof text - 1 - n)) > 0;) n += (size_t)got;
    text[n] = 0;
    close(fd);
    return strstr(text, "[uprobes]");
}

static unsigned long area(void) {
    char* q = maps("/proc/self/maps");
    if (!q) return 0;
    while (q > text && q[-1] != '\n') q--;
    return strtoul(q, NULL, 16);
}

static void described(const char* when) {
    char* q = maps("/proc/self/smaps");
    static const char* const rows[] = {"Size:", "Rss:", "Pss:", "Private_Clean:", "Anonymous:", "Locked:", "VmFlags:"};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        char* row = strstr(q, rows[i]);
        say("%s: %.*s", when, (int)strcspn(row, "\n"), row);
    }
}

static void hit(const char* what) {
    const long r = add(1);
    say("%s: %ld, hits %lu", what, r, hits(counter));
}

static void advice(void) {
    static const int all[] = {MADV_NORMAL,   MADV_RANDOM,        MADV_SEQUENTIAL,    MADV_WILLNEED,   MADV_DONTNEED,
                              MADV_FREE,     MADV_REMOVE,        MADV_DONTFORK,      MADV_DOFORK,     MADV_MERGEABLE,
                              MADV_DONTDUMP, MADV_DODUMP,        MADV_WIPEONFORK,    MADV_KEEPONFORK, MADV_COLD,
                              MADV_PAGEOUT,  MADV_POPULATE_READ, MADV_POPULATE_WRITE};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        const long r = madvise((void*)at, PAGE, all[i]);
        say("madvise %d: %s", all[i], OK(r));
        hit("then");
    }
}

static void calls(void) {
    unsigned char present;
    int p[2];
    SHOW(mincore((void*)at, PAGE, &present));
    SHOW(msync((void*)at, PAGE, MS_SYNC));
    SHOW(mlock((void*)at, PAGE));
    SHOW(munlock((void*)at, PAGE));
    SHOW(mlockall(MCL_CURRENT));
    described("locked");
    munlockall();
    SHOW(mprotect((void*)at, PAGE, PROT_READ | PROT_EXEC));
    SHOW(mprotect((void*)at, PAGE, PROT_NONE));
    SHOW(mprotect((void*)at, PAGE, PROT_EXEC));
    hit("protected and back");
    TRY(mremap((void*)at, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
    pipe(p);
    SHOW(write(p[1], (void*)at, 8));
    SHOW(read(p[0], (void*)at, 8));
}

static void inherited(void) {
    hit("child");
    say("no area of its own before %d", area() == 0);
    *(volatile uint32_t*)at;
}
static void covered_before(void) {
    char* mine = mmap((void*)at, PAGE, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const long r = add(1);
    say("mine at its place %d: %ld", (unsigned long)mine == at, r);
}
static int own(void) { // a probe of the process itself, so that it gets an area
    counter = probe_file("/tmp/upr_area.so", 0, 0, getpid(), -1);
    hit("own probe");
    at = area();
    return at != 0;
}
static void covered(void) {
    say("area %d", own());
    uint32_t* mine =
        mmap((void*)at, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < PAGE / 4; i++) mine[i] = 0xd65f03c0; // ret: goes back to the caller without the addition
    __builtin___clear_cache((char*)mine, (char*)mine + PAGE);
    hit("covered");
    say("what was written stays %d", mine[1] == 0xd65f03c0);
}
static void removed(void) {
    say("area %d", own());
    SHOW(munmap((void*)at, PAGE));
    hit("removed");
}
static void moved(void) {
    say("area %d", own());
    char* to = mremap((void*)at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, (char*)add + (1 << 24));
    say("moved %d", to == (char*)add + (1 << 24));
    hit("moved");
}
static void moved_back(void) {
    say("area %d", own());
    char* to = mremap((void*)at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, (char*)add + (1 << 24));
    to = mremap(to, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, (void*)at);
    say("moved back %d", (unsigned long)to == at);
    hit("moved back");
}
static void dropped_under_threads(void) {
    say("area %d", own());
    long sum = 0;
    for (int i = 0; i < 200; i++) {
        madvise((void*)at, PAGE, MADV_DONTNEED);
        sum += add(i);
    }
    say("dropped each time: %ld, hits %lu", sum, hits(counter));
}

static void writable_once(int fd) {
    char* m = mmap(NULL, 3 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    for (int write = 0; write < 2; write++) {
        mprotect(m + PAGE, PAGE, write ? PROT_READ | PROT_WRITE : PROT_NONE);
        const int u = probe_file("/tmp/upr_area.so", PAGE, 0, getpid(), -1);
        mprotect(m + PAGE, PAGE, PROT_READ | PROT_EXEC);
        const long r = ((add_fn)(m + PAGE))(1);
        say("%s in between: %ld, hits %lu", write ? "writable" : "no access", r, hits(u));
        close(u);
    }
}

int main(void) {
    mkdir("/tmp", 0777);
    const int fd = open("/tmp/upr_area.so", O_CREAT | O_TRUNC | O_RDWR, 0755);
    static uint32_t words[3 * 1024];
    for (int i = 0; i < 3; i++) words[i * 1024] = 0x91000400, words[i * 1024 + 1] = 0xd65f03c0; // add x0, x0, #1; ret
    write(fd, words, sizeof words);
    add = (add_fn)mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    counter = probe_file("/tmp/upr_area.so", 0, 0, getpid(), -1);
    hit("first");
    at = area();
    described("at first");
    advice();
    described("advised");
    calls();
    in_child("a child", inherited);
    in_child("covered before it is there", covered_before);
    in_child("covered", covered);
    in_child("removed", removed);
    in_child("moved", moved);
    in_child("moved back", moved_back);
    in_child("dropped", dropped_under_threads);
    writable_once(fd);
    return 0;
}

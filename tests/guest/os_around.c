// SPDX-License-Identifier: Apache-2.0
// How many page faults file mappings take: reading maps the neighbours that are in the page cache, writing does not.
#include "os_guest.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>

static int group[3];
static const uint64_t kinds[3] = {PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN,
                                  PERF_COUNT_SW_PAGE_FAULTS_MAJ};

static int counter(uint64_t kind, int leader, int on_exec) {
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = kind, .disabled = leader < 0};
    a.enable_on_exec = on_exec && leader < 0;
    a.inherit = on_exec;
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, leader, 0);
}

static void counters(int on_exec) {
    for (int i = 0; i < 3; i++) group[i] = counter(kinds[i], i ? group[0] : -1, on_exec);
}

static uint64_t value(int i) {
    uint64_t v = 0;
    if (read(group[i], &v, 8) != 8) _exit(98);
    return v;
}

static void begin(void) {
    ioctl(group[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
    ioctl(group[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

static void end(const char* name) {
    ioctl(group[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
    say("%s: %lu faults, %lu minor, %lu major", name, value(0), value(1), value(2));
}

#define COUNT(name, ...) \
    do { \
        begin(); \
        __VA_ARGS__; \
        end(name); \
    } while (0)

static volatile char sink;
enum { PAGES = 100 };
#define RW (PROT_READ | PROT_WRITE)

__attribute__((noinline)) static void read_pages(const char* m, int from, int to, int step) {
    for (int i = from; step > 0 ? i < to : i > to; i += step) sink = m[(size_t)i * PAGE];
}
__attribute__((noinline)) static void write_pages(char* m, int from, int to, int step) {
    for (int i = from; step > 0 ? i < to : i > to; i += step) m[(size_t)i * PAGE] = (char)i;
}

static int file_of(int pages) {
    char path[] = "/tmp/os_aroundXXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    static char page[PAGE];
    for (int i = 0; i < pages; i++) {
        page[0] = (char)i;
        if (write(fd, page, PAGE) != (ssize_t)PAGE) _exit(97);
    }
    return fd;
}

// The mapping begins `skew` pages after a border of 2 MiB, so that windows and tables are the same on every run.
static char* map_at(int skew, int pages, int prot, int flags, int fd, int first) {
    char* base = mmap(NULL, 6ul << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char* at = (char*)(((uintptr_t)base + (2ul << 20) - 1) & ~((2ul << 20) - 1)) + (size_t)skew * PAGE;
    char* m = mmap(at, (size_t)pages * PAGE, prot, flags | MAP_FIXED, fd, (off_t)first * (off_t)PAGE);
    if (m == MAP_FAILED) _exit(96);
    return m;
}

static void reading(int fd) {
    char* m = map_at(0, PAGES, PROT_READ, MAP_PRIVATE, fd, 0);
    COUNT("private, read forwards", read_pages(m, 0, PAGES, 1));
    m = map_at(0, PAGES, PROT_READ, MAP_SHARED, fd, 0);
    COUNT("shared, read forwards", read_pages(m, 0, PAGES, 1));
    m = map_at(0, PAGES, PROT_READ, MAP_SHARED, fd, 0);
    COUNT("shared, read backwards", read_pages(m, PAGES - 1, -1, -1));
    m = map_at(5, PAGES, PROT_READ, MAP_SHARED, fd, 0);
    COUNT("begins inside a window, forwards", read_pages(m, 0, PAGES, 1));
    m = map_at(5, PAGES, PROT_READ, MAP_SHARED, fd, 0);
    COUNT("begins inside a window, backwards", read_pages(m, PAGES - 1, -1, -1));
    m = map_at(5, PAGES, PROT_READ, MAP_SHARED, fd, 0);
    COUNT("begins inside a window, every 13th", read_pages(m, 0, PAGES, 13));
    m = map_at(507, 40, PROT_READ, MAP_SHARED, fd, 3);
    COUNT("over the border of a table", read_pages(m, 0, 40, 1));
    m = map_at(507, 40, PROT_READ, MAP_SHARED, fd, 3);
    COUNT("over the border of a table, backwards", read_pages(m, 39, -1, -1));
    m = map_at(0, 7, PROT_READ, MAP_SHARED, fd, 3);
    COUNT("a small mapping", read_pages(m, 0, 7, 1));
    m = map_at(0, 40, PROT_READ, MAP_SHARED, fd, PAGES - 20);
    COUNT("up to the end of the file", read_pages(m, 0, 20, 1));
    m = map_at(0, PAGES, PROT_READ, MAP_PRIVATE, fd, 0);
    madvise(m, PAGES * PAGE, MADV_RANDOM);
    COUNT("MADV_RANDOM", read_pages(m, 0, PAGES, 1));
    m = map_at(0, PAGES, PROT_READ, MAP_PRIVATE, fd, 0);
    COUNT("MADV_WILLNEED", madvise(m, PAGES * PAGE, MADV_WILLNEED); read_pages(m, 0, PAGES, 1));
    m = map_at(0, PAGES, PROT_READ, MAP_PRIVATE, fd, 0);
    madvise(m, PAGES * PAGE, MADV_SEQUENTIAL);
    COUNT("MADV_SEQUENTIAL", read_pages(m, 0, PAGES, 1));
    COUNT("MADV_DONTNEED", madvise(m, PAGES * PAGE, MADV_DONTNEED); read_pages(m, 0, PAGES, 1));
    COUNT("MADV_DONTNEED of some", madvise(m + 8 * PAGE, 40 * PAGE, MADV_DONTNEED); read_pages(m, 0, PAGES, 1));
    COUNT("MADV_POPULATE_READ", madvise(m, PAGES * PAGE, MADV_DONTNEED); madvise(m, PAGES * PAGE, MADV_POPULATE_READ);
          read_pages(m, 0, PAGES, 1));
    COUNT("MAP_POPULATE", m = map_at(0, PAGES, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
          read_pages(m, 0, PAGES, 1));
    m = map_at(0, PAGES, PROT_READ, MAP_PRIVATE, fd, 0);
    COUNT("by the kernel", syscall(SYS_write, -1, m, 1); int n = open("/dev/zero", O_WRONLY); write(n, m, 1); close(n);
          int p[2]; pipe(p); for (int i = 0; i < PAGES; i++) write(p[1], m + (size_t)i * PAGE, 1); close(p[0]);
          close(p[1]));
}

static void writing(int fd) {
    char* m = map_at(0, PAGES, RW, MAP_PRIVATE, fd, 0);
    COUNT("private, written", write_pages(m, 0, PAGES, 1));
    COUNT("private, read after it", read_pages(m, 0, PAGES, 1));
    m = map_at(0, PAGES, RW, MAP_PRIVATE, fd, 0);
    COUNT("private, every third read", read_pages(m, 0, PAGES, 3));
    COUNT("private, written after reading", write_pages(m, 0, PAGES, 1));
    m = map_at(0, PAGES, RW, MAP_PRIVATE, fd, 0);
    COUNT("private, every third written", write_pages(m, 0, PAGES, 3));
    COUNT("private, the rest read", read_pages(m, 0, PAGES, 1));
    COUNT("private, the rest written", write_pages(m, 0, PAGES, 1));
    m = map_at(0, PAGES, RW, MAP_SHARED, fd, 0);
    COUNT("shared, written", write_pages(m, 0, PAGES, 1));
    COUNT("shared, read after it", read_pages(m, 0, PAGES, 1));
    m = map_at(0, PAGES, RW, MAP_SHARED, fd, 0);
    COUNT("shared, every third written", write_pages(m, 0, PAGES, 3));
    COUNT("shared, the rest read", read_pages(m, 0, PAGES, 1));
    COUNT("private, MAP_POPULATE for writing", m = map_at(0, PAGES, RW, MAP_PRIVATE | MAP_POPULATE, fd, 0);
          write_pages(m, 0, PAGES, 1));
    m = map_at(0, PAGES, RW, MAP_PRIVATE, fd, 0);
    COUNT("MADV_POPULATE_WRITE", madvise(m, PAGES * PAGE, MADV_POPULATE_WRITE); write_pages(m, 0, PAGES, 1));
    m = map_at(0, PAGES, RW, MAP_PRIVATE, fd, 0);
    read_pages(m, 0, PAGES, 1);
    mprotect(m, PAGES * PAGE, PROT_NONE);
    mprotect(m, PAGES * PAGE, RW);
    COUNT("after PROT_NONE, read", read_pages(m, 0, PAGES, 1));
    COUNT("after PROT_NONE, written", write_pages(m, 0, PAGES, 1));
    mprotect(m, PAGES * PAGE, PROT_READ);
    COUNT("read only, read", read_pages(m, 0, PAGES, 1));
    mprotect(m, PAGES * PAGE, RW);
    COUNT("writable again, written", write_pages(m, 0, PAGES, 1));
}

// Memory shared with a child is a file without a name.
static void tmpfs(void) {
    int fd = memfd_create("around", 0);
    ftruncate(fd, PAGES * PAGE);
    char* m = map_at(0, PAGES, RW, MAP_SHARED, fd, 0);
    COUNT("memfd, holes read", read_pages(m, 0, PAGES, 1));
    COUNT("memfd, holes written after reading", write_pages(m, 0, PAGES, 1));
    m = map_at(0, PAGES, RW, MAP_SHARED, fd, 0);
    COUNT("memfd, filled, read", read_pages(m, 0, PAGES, 1));
    COUNT("memfd, filled, written after reading", write_pages(m, 0, PAGES, 1));
    ftruncate(fd, 0);
    ftruncate(fd, PAGES * PAGE);
    m = map_at(0, PAGES, RW, MAP_SHARED, fd, 0);
    write_pages(m, 0, PAGES, 5);
    m = map_at(0, PAGES, RW, MAP_SHARED, fd, 0);
    COUNT("memfd, with holes, read", read_pages(m, 0, PAGES, 1));
    close(fd);
    m = map_at(0, PAGES, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    COUNT("shared, no file, read", read_pages(m, 0, PAGES, 1));
    COUNT("shared, no file, written", write_pages(m, 0, PAGES, 1));
    madvise(m, PAGES * PAGE, MADV_DONTNEED);
    COUNT("shared, no file, read again", read_pages(m, 0, PAGES, 1));
    m = map_at(0, PAGES, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    COUNT("private, no file, read", read_pages(m, 0, PAGES, 1));
    COUNT("private, no file, written", write_pages(m, 0, PAGES, 1));
}

static void forked(int fd) {
    char* m = map_at(0, PAGES, RW, MAP_PRIVATE, fd, 0);
    char* s = map_at(0, PAGES, RW, MAP_SHARED, fd, 0);
    read_pages(m, 0, PAGES, 1), write_pages(m, 0, 50, 1);
    read_pages(s, 0, PAGES, 1), write_pages(s, 0, 50, 1);
    pid_t p = fork();
    if (p == 0) {
        counters(0);
        COUNT("child, private, read", read_pages(m, 0, PAGES, 1));
        COUNT("child, private, written", write_pages(m, 0, PAGES, 1));
        COUNT("child, shared, read", read_pages(s, 0, PAGES, 1));
        COUNT("child, shared, written", write_pages(s, 0, PAGES, 1));
        _exit(0);
    }
    waitpid(p, NULL, 0);
    COUNT("parent, private, written", write_pages(m, 0, PAGES, 1));
}

static void usage(int fd) {
    struct rusage before, after;
    char* m = map_at(0, PAGES, PROT_READ, MAP_PRIVATE, fd, 0);
    getrusage(RUSAGE_SELF, &before);
    getrusage(RUSAGE_SELF, &before);
    read_pages(m, 0, PAGES, 1);
    getrusage(RUSAGE_SELF, &after);
    say("rusage: %ld minor, %ld major", after.ru_minflt - before.ru_minflt, after.ru_majflt - before.ru_majflt);
    unsigned char in[PAGES];
    m = map_at(0, PAGES, PROT_READ, MAP_PRIVATE, fd, 0);
    mincore(m, PAGES * PAGE, in);
    int n = 0;
    for (int i = 0; i < PAGES; i++) n += in[i] & 1;
    say("in core: %d", n);
    char line[256];
    read_pages(m, 0, 1, 1);
    FILE* f = fopen("/proc/self/smaps", "r");
    unsigned long from = 0, to = 0;
    int ours = 0;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) ours = from == (unsigned long)m;
        if (ours && !strncmp(line, "Rss:", 4)) say("%s", strtok(line, "\n"));
    }
}

int main(void) {
    counters(0);
    int fd = file_of(PAGES);
    COUNT("nothing", (void)0);
    reading(fd);
    writing(fd);
    tmpfs();
    forked(fd);
    usage(fd);
    return 0;
}

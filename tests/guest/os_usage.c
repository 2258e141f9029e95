// SPDX-License-Identifier: Apache-2.0
// Resources that children and their children used, as wait4 and getrusage tell; memory locked now and in the future.
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void spin_ms(long ms) {
    struct timespec t;
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}
static long ms(struct timeval t) { return t.tv_sec * 1000 + t.tv_usec / 1000; }
static long cpu_ms(const struct rusage* r) { return ms(r->ru_utime) + ms(r->ru_stime); }
static void touch(long bytes) {
    char* p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, bytes, MADV_NOHUGEPAGE);
    for (long i = 0; i < bytes; i += 4096) p[i] = 1;
    munmap(p, bytes);
}

static void times(void) {
    struct rusage r, self, children, before;
    getrusage(RUSAGE_CHILDREN, &before);
    fflush(stdout);
    const int pid = fork();
    if (!pid) {
        if (!fork()) {
            spin_ms(60);
            touch(12 << 20);
            for (int i = 0; i < 5; ++i) usleep(100);
            _exit(0);
        }
        wait(NULL);
        spin_ms(20);
        touch(4 << 20);
        _exit(0);
    }
    int s;
    wait4(pid, &s, 0, &r);
    getrusage(RUSAGE_CHILDREN, &children);
    getrusage(RUSAGE_SELF, &self);
    printf("child and its child: %d\n", cpu_ms(&r) >= 75);
    printf("children: %d, self: %d\n", cpu_ms(&children) - cpu_ms(&before) >= 75, cpu_ms(&self) < 60);
    printf("most memory: child %d, children %d, self %d\n", r.ru_maxrss >= 12000 && r.ru_maxrss < 16384,
           children.ru_maxrss == r.ru_maxrss, self.ru_maxrss < 8192);
    printf("faults: child %d, children %d\n", r.ru_minflt >= 4096,
           children.ru_minflt - before.ru_minflt == r.ru_minflt);
    printf("switches: child %d, children %d\n", r.ru_nvcsw >= 6, children.ru_nvcsw - before.ru_nvcsw == r.ru_nvcsw);
    touch(10 << 20);
    getrusage(RUSAGE_SELF, &self);
    struct rusage thread;
    getrusage(RUSAGE_THREAD, &thread);
    printf("after a large mapping that is gone: %d %d\n", self.ru_maxrss >= 10240, thread.ru_maxrss == self.ru_maxrss);
}

static void stopped(void) {
    fflush(stdout);
    const int pid = fork();
    if (!pid) {
        spin_ms(20);
        touch(8 << 20);
        kill(getpid(), SIGSTOP);
        _exit(0);
    }
    int s;
    struct rusage r = {0};
    wait4(pid, &s, WUNTRACED, &r);
    printf("stopped: %d %d %d\n", cpu_ms(&r) >= 15, r.ru_maxrss >= 8192, r.ru_minflt >= 2048);
    kill(pid, SIGCONT);
    memset(&r, 0, sizeof r);
    wait4(pid, &s, WCONTINUED, &r);
    printf("continued or ended: %d\n", r.ru_maxrss >= 8192);
    waitpid(pid, &s, 0);
}

static long status_kb(const char* key) {
    char line[256];
    long kb = -1;
    FILE* f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key))) kb = atol(line + strlen(key) + 1);
    fclose(f);
    return kb;
}
static int present(void* at, int pages) {
    unsigned char v[64] = {0};
    int n = 0;
    mincore(at, pages * 4096, v);
    for (int i = 0; i < pages; ++i) n += v[i] & 1;
    return n;
}
static void* map(int pages, int flags) {
    void* p = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (p == MAP_FAILED) printf("mmap: %s\n", strerrorname_np(errno));
    return p;
}
#define SHOW(call) \
    do { \
        const long r_ = (long)(call); \
        printf("%s: %s\n", #call, r_ < 0 ? strerrorname_np(errno) : "done"); \
    } while (0)

static void locks(void) {
    void* p = map(8, 0);
    SHOW(syscall(SYS_mlock2, p, 8 * 4096, 2));
    SHOW(syscall(SYS_mlock2, p, 8 * 4096, MLOCK_ONFAULT));
    printf("on fault: %d pages, %ld kB\n", present(p, 8), status_kb("VmLck"));
    SHOW(mlock(p, 4 * 4096));
    printf("locked: %d pages, %ld kB\n", present(p, 8), status_kb("VmLck"));
    SHOW(munlock(p, 8 * 4096));
    char* one = map(1, 0);
    mlock(one, 4096);
    one = mremap(one, 4096, 10 * 4096, MREMAP_MAYMOVE);
    printf("grown: %d pages, %ld kB\n", present(one, 10), status_kb("VmLck"));
    munmap(one, 10 * 4096);
    printf("gone: %ld kB\n", status_kb("VmLck"));
    one = map(4, 0);
    mlock(one, 4 * 4096);
    char* other = mremap(one, 4 * 4096, 4 * 4096, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0);
    printf("two: %ld kB\n", status_kb("VmLck"));
    munmap(other, 4 * 4096);
    printf("the old one: %ld kB\n", status_kb("VmLck"));
    munmap(one, 4 * 4096);
    gid_t groups[] = {0, 0, 5};
    setgroups(3, groups);
    char line[256];
    FILE* f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, "Groups", 6)) fputs(line, stdout);
    fclose(f);
    SHOW(mlockall(0));
    SHOW(mlockall(MCL_ONFAULT));
    SHOW(mlockall(8));
    SHOW(mlockall(MCL_FUTURE));
    printf("future: %ld kB\n", status_kb("VmLck"));
    p = map(8, 0);
    printf("mapped: %d pages, %ld kB\n", present(p, 8), status_kb("VmLck"));
    char* old = sbrk(0);
    sbrk(8 * 4096);
    char* first = (char*)(((unsigned long)old + 4095) & ~4095ul);
    printf("heap: %d pages, %ld kB\n", present(first, 7), status_kb("VmLck"));
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = PERF_COUNT_SW_DUMMY};
    const int fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
    SHOW(mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    SHOW(mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_LOCKED, fd, 0));
    printf("perf's ring: %ld kB\n", status_kb("VmLck"));
    fflush(stdout);
    if (!fork()) {
        p = map(8, 0);
        printf("in a child: %d pages, %ld kB\n", present(p, 8), status_kb("VmLck"));
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    SHOW(mlockall(MCL_FUTURE | MCL_ONFAULT));
    p = map(8, 0);
    printf("on fault: %d pages\n", present(p, 8));
    p = map(8, MAP_POPULATE);
    printf("populated: %d pages\n", present(p, 8));
    SHOW(munlockall());
    p = map(8, 0);
    printf("no more: %d pages, %ld kB\n", present(p, 8), status_kb("VmLck"));

    fflush(stdout);
    if (!fork()) {
        struct rlimit some = {64 << 20, 64 << 20};
        setrlimit(RLIMIT_MEMLOCK, &some);
        setresuid(1000, 1000, 1000);
        mmap(NULL, 40 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        SHOW(mlockall(MCL_CURRENT | MCL_ONFAULT));
        SHOW(mlockall(MCL_CURRENT | MCL_ONFAULT));
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    struct rlimit few = {16 * 4096, 16 * 4096};
    setrlimit(RLIMIT_MEMLOCK, &few);
    setresuid(1000, 1000, 1000);
    SHOW(mlockall(MCL_CURRENT));
    SHOW(mlockall(MCL_FUTURE));
    map(8, 0);
    map(16, 0);
    map(9, MAP_LOCKED);
    old = sbrk(0);
    printf("heap: %d\n", sbrk(32 * 4096) == (void*)-1);
    printf("limited: %ld kB\n", status_kb("VmLck"));
    SHOW(munlockall());
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_MEMLOCK, &none);
    SHOW(mlockall(MCL_FUTURE));
    map(1, MAP_LOCKED);
    SHOW(mlock(p, 4096));
}

int main(void) {
    times();
    stopped();
    locks();
    return 0;
}

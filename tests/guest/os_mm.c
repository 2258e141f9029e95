// SPDX-License-Identifier: Apache-2.0
// Memory: mmap and its errors, munmap, mprotect, mremap, madvise, mincore, mlock, msync, brk, limits, growth of the stack.
#include "os_guest.h"

#include <linux/mman.h>
#include <sys/uio.h>

#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static char path[] = "/tmp/os_mmXXXXXX";
static int fd;

static void* map(size_t pages, int flags) { return mmap(NULL, pages * PAGE, RW, flags, -1, 0); }
#define MAP(...) say("mmap(%s): %s", #__VA_ARGS__, mmap(__VA_ARGS__) == MAP_FAILED ? strerrorname_np(errno) : "ok")

// Lines of /proc/self/maps within [from, from + bytes), relative to it.
static void maps(const char* name, const void* from, size_t bytes) {
    FILE* f = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long a, b, off;
    char p[8];
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%lx-%lx %7s %lx", &a, &b, p, &off) == 4 && b > (unsigned long)from &&
            a < (unsigned long)from + bytes)
            say("%s: %ld-%ld %s", name, ((long)a - (long)from) / (long)PAGE, ((long)b - (long)from) / (long)PAGE, p);
    if (f) fclose(f);
}

static void errors(void) {
    int ro = open(path, O_RDONLY), wo = open(path, O_WRONLY), dir = open("/tmp", O_RDONLY), p[2];
    if (pipe(p)) return;
    MAP(NULL, 0, RW, ANON, -1, 0);
    MAP(NULL, PAGE, RW, MAP_ANONYMOUS, -1, 0);
    MAP(NULL, PAGE, RW, ANON, -1, 1);
    MAP(NULL, PAGE, RW, MAP_PRIVATE, -1, 0);
    MAP(NULL, PAGE, RW, MAP_PRIVATE, 999, 0);
    MAP(NULL, PAGE, RW, MAP_PRIVATE, fd, 1);
    MAP(NULL, ~0ul, RW, ANON, -1, 0);
    MAP(NULL, 1ul << 48, RW, ANON, -1, 0);
    MAP((void*)1, PAGE, RW, ANON | MAP_FIXED, -1, 0);
    MAP((void*)(1ul << 48), PAGE, RW, ANON | MAP_FIXED, -1, 0);
    MAP(NULL, PAGE, RW, MAP_SHARED, ro, 0);
    MAP(NULL, PAGE, PROT_READ, MAP_SHARED, ro, 0);
    MAP(NULL, PAGE, RW, MAP_PRIVATE, ro, 0);
    MAP(NULL, PAGE, PROT_READ, MAP_PRIVATE, wo, 0);
    MAP(NULL, PAGE, PROT_WRITE, MAP_SHARED, wo, 0);
    MAP(NULL, PAGE, PROT_READ, MAP_PRIVATE, dir, 0);
    MAP(NULL, PAGE, PROT_READ, MAP_PRIVATE, p[0], 0);
    MAP(NULL, PAGE, RW, MAP_SHARED_VALIDATE, fd, 0);
    MAP(NULL, PAGE, RW, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    MAP(NULL, PAGE, RW, MAP_PRIVATE, fd, 0x7ffffffffffff000);
    char* m = map(4, ANON);
    MAP(m, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0);
    munmap(m + PAGE, PAGE);
    MAP(m + PAGE, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0);
    SHOW(munmap(m + 1, PAGE));
    SHOW(munmap(m, 0));
    SHOW(munmap((void*)(1ul << 48), PAGE));
    SHOW(munmap(m, 4 * PAGE));
    SHOW(munmap(m, 4 * PAGE));
    char* r = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, ro, 0);
    SHOW(mprotect(r, PAGE, RW));
    SHOW(mprotect(r + 1, PAGE, PROT_READ));
    SHOW(mprotect(r, 0, PROT_READ));
    SHOW(mprotect(r, PAGE, 0x100));
    SHOW(mprotect((void*)PAGE, PAGE, PROT_READ));
    close(ro), close(wo), close(dir), close(p[0]), close(p[1]);
}

static void splitting(void) {
    char* m = map(9, ANON);
    munmap(m + 8 * PAGE, PAGE);
    for (int i = 0; i < 8; i++) m[i * PAGE] = (char)(i + 1);
    SHOW(mprotect(m + 2 * PAGE, 2 * PAGE, PROT_READ));
    maps("read-only inside", m, 8 * PAGE);
    SHOW(mprotect(m + 3 * PAGE, 3 * PAGE, PROT_NONE));
    maps("none over the edge", m, 8 * PAGE);
    SHOW(mprotect(m, 8 * PAGE, RW));
    maps("all again", m, 8 * PAGE);
    SHOW(munmap(m + 3 * PAGE, 2 * PAGE));
    SHOW(mprotect(m, 8 * PAGE, PROT_READ));
    maps("hole, changed up to it", m, 8 * PAGE);
    SHOW(mprotect(m, 3 * PAGE, RW));
    int sum = 0;
    for (int i = 0; i < 8; i++)
        if (i < 3 || i > 4) sum += m[i * PAGE];
    say("contents: %d", sum);
    munmap(m, 8 * PAGE);
}

static void moving(void) {
    char* area = map(64, ANON);
    munmap(area, 64 * PAGE);
    char* m = mmap(area, 4 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
    for (int i = 0; i < 4; i++) m[i * PAGE] = (char)(i + 1);
    say("grow in place: %d", mremap(m, 4 * PAGE, 8 * PAGE, 0) == m);
    say("new part: %d", m[7 * PAGE]);
    say("shrink: %d", mremap(m, 8 * PAGE, 2 * PAGE, 0) == m);
    maps("shrunk", area, 64 * PAGE);
    char* wall = mmap(m + 2 * PAGE, PAGE, PROT_READ, ANON | MAP_FIXED, -1, 0);
    say("no room: %s", mremap(m, 2 * PAGE, 4 * PAGE, 0) == MAP_FAILED ? strerrorname_np(errno) : "?");
    char* n = mremap(m, 2 * PAGE, 4 * PAGE, MREMAP_MAYMOVE);
    say("moved: %d, %d %d %d", n != m, n[0], n[PAGE], n[3 * PAGE]);
    n = mremap(n, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, area + 10 * PAGE);
    say("fixed: %d, %d %d", n == area + 10 * PAGE, n[0], n[PAGE]);
#define REMAP(...) \
    say("mremap(%s): %s", #__VA_ARGS__, mremap(__VA_ARGS__) == MAP_FAILED ? strerrorname_np(errno) : "ok")
    REMAP(n, 4 * PAGE, 4 * PAGE, MREMAP_FIXED, area + 20 * PAGE);
    REMAP(n, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, n + PAGE);
    REMAP(n, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, n + 8 * PAGE + 1);
    REMAP(n, 4 * PAGE, 0, MREMAP_MAYMOVE);
    REMAP(n + 1, PAGE, PAGE, MREMAP_MAYMOVE);
    REMAP(n, 6 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
    REMAP(area + 40 * PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
    REMAP(n, PAGE, PAGE, 64);
    n = mremap(n + PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, area + 30 * PAGE);
    say("out of the middle: %d", n[0]);
    maps("pieces", area + 10 * PAGE, 22 * PAGE);
    char* s = mmap(NULL, 2 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    s[0] = 5;
    char* t = mremap(s, 0, 2 * PAGE, MREMAP_MAYMOVE);
    if (t != MAP_FAILED) {
        t[1] = 6;
        say("duplicate of a shared mapping: %d %d", t[0], s[1]);
    } else {
        say("duplicate of a shared mapping: %s", strerrorname_np(errno));
    }
    munmap(wall, PAGE);
}

static void advice(void) {
    char* m = map(4, ANON);
    memset(m, 7, 4 * PAGE);
    SHOW(madvise(m + PAGE, 2 * PAGE, MADV_DONTNEED));
    say("gone: %d %d %d %d", m[0], m[PAGE], m[2 * PAGE], m[3 * PAGE]);
    SHOW(madvise(m + 1, PAGE, MADV_DONTNEED));
    SHOW(madvise(m, 0, MADV_DONTNEED));
    SHOW(madvise(m, PAGE, 1000));
    SHOW(madvise(m, PAGE, MADV_FREE));
    SHOW(madvise(m, PAGE, MADV_WILLNEED));
    SHOW(madvise(m, PAGE, MADV_REMOVE));
    SHOW(madvise(m, 4 * PAGE, MADV_POPULATE_WRITE));
    munmap(m + 2 * PAGE, PAGE);
    SHOW(madvise(m, 4 * PAGE, MADV_DONTNEED));
    SHOW(madvise(m, 4 * PAGE, MADV_POPULATE_READ));
    char* f = mmap(NULL, 2 * PAGE, RW, MAP_PRIVATE, fd, 0);
    f[0] = 'X';
    SHOW(madvise(f, PAGE, MADV_DONTNEED));
    say("file's again: %c", f[0]);
    SHOW(madvise(f, PAGE, MADV_FREE));
    unsigned char vec[4];
    char* n = map(4, ANON);
    n[0] = 1, n[2 * PAGE] = 1;
    SHOW(mincore(n, 4 * PAGE, vec));
    say("present: %d %d %d %d", vec[0] & 1, vec[1] & 1, vec[2] & 1, vec[3] & 1);
    SHOW(mincore(n + 1, PAGE, vec));
    SHOW(mincore(n, PAGE, NULL));
    munmap(n + 3 * PAGE, PAGE);
    SHOW(mincore(n, 4 * PAGE, vec));
    SHOW(msync(n, PAGE, MS_SYNC | MS_ASYNC));
    SHOW(msync(n, 4 * PAGE, MS_SYNC));
    SHOW(msync(n + 1, PAGE, MS_SYNC));
    SHOW(msync(n, PAGE, 64));
    SHOW(msync(n, PAGE, MS_SYNC));
}

static void files(void) {
    char b[8] = {0};
    char* s = mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, 0);
    char* p = mmap(NULL, 2 * PAGE, RW, MAP_PRIVATE, fd, 0);
    say("file: %.5s, %.5s", s, p);
    s[0] = 'H';
    pread(fd, b, 5, 0);
    say("written through the mapping: %s, private sees %c", b, p[0]);
    p[1] = 'E';
    pread(fd, b, 5, 0);
    say("written privately: %s, shared sees %c", b, s[1]);
    pwrite(fd, "xyz", 3, 2);
    say("written by pwrite: %.5s, private %.5s", s, p);
    s[PAGE] = 'q';
    pread(fd, b, 1, PAGE);
    say("second page: %c", b[0]);
    pid_t c = fork();
    if (c == 0) {
        s[10] = 'c', p[10] = 'd';
        _exit(0);
    }
    wait(NULL);
    say("child wrote: %c %d", s[10], p[10]);
    // Code written by the program, then executed.
    uint32_t* code = mmap(NULL, PAGE, RW, ANON, -1, 0);
    for (uint32_t k = 1; k < 4; k++) {
        code[0] = 0x52800000 | k << 5, code[1] = 0xd65f03c0; // mov w0, #k; ret
        __builtin___clear_cache((char*)code, (char*)(code + 2));
        mprotect(code, PAGE, PROT_READ | PROT_EXEC);
        say("generated: %d", ((int (*)(void))code)());
        mprotect(code, PAGE, RW);
    }
    int zero = open("/dev/zero", O_RDWR);
    char* z = mmap(NULL, PAGE, RW, MAP_PRIVATE, zero, 0);
    say("/dev/zero: %d", z[5]);
    z[5] = 1;
}

static void lines_of(const char* name) {
    FILE* f = fopen("/proc/self/maps", "r");
    char line[300];
    while (fgets(line, sizeof line, f)) {
        unsigned long start, end;
        char* at = strstr(line, name);
        if (!at || sscanf(line, "%lx-%lx", &start, &end) != 2) continue;
        at[strcspn(at, "\n")] = 0;
        say("%#lx of %s", end - start, at);
    }
    fclose(f);
}
static void zeros(void) {
    int zero = open("/dev/zero", O_RDWR);
    char* p = mmap(NULL, 2 * PAGE, RW, MAP_PRIVATE, zero, 0);
    lines_of("/dev/zero");
    munmap(p, 2 * PAGE);
    p = mmap(NULL, 3 * PAGE, RW, MAP_SHARED, zero, 0);
    p[0] = 1;
    lines_of("/dev/zero");
    munmap(p, 3 * PAGE);
}
/// How large the stack of a new program is.
static void new_stacks(void) {
    static const unsigned long kLimits[] = {0x10000, 0x11005, 0x21000, 1 << 20};
    char *arguments[] = {"os_mm", "stack", NULL}, *none[] = {NULL};
    for (size_t i = 0; i < sizeof kLimits / sizeof *kLimits; i++) {
        struct rlimit limit = {kLimits[i], RLIM_INFINITY};
        const int pid = fork();
        if (!pid) {
            setrlimit(RLIMIT_STACK, &limit);
            execve("/proc/self/exe", arguments, none);
            _exit(1);
        }
        waitpid(pid, NULL, 0);
    }
}

static void brks(void) {
    char* b = sbrk(0);
    say("aligned enough: %d", ((uintptr_t)b & 15) == 0);
    b = (char*)(((uintptr_t)b + PAGE - 1) & ~(PAGE - 1));
    SHOW(brk(b + 4 * PAGE));
    say("zero: %d", b[3 * PAGE]);
    memset(b, 1, 4 * PAGE);
    SHOW(brk(b + PAGE));
    SHOW(brk(b + 4 * PAGE));
    say("zero again: %d %d", b[0], b[2 * PAGE]);
    SHOW(brk((char*)8) == 0 && sbrk(0) == b + 4 * PAGE ? 1 : 0);
    SHOW(brk((char*)(1ul << 47)));
    mmap(b + 8 * PAGE, PAGE, RW, ANON | MAP_FIXED, -1, 0);
    SHOW(brk(b + 9 * PAGE));
    SHOW(brk(b + 6 * PAGE));
}

static void locks(void) {
    char* m = map(4, ANON);
    unsigned char vec[4];
    SHOW(mlock(m, 2 * PAGE));
    mincore(m, 4 * PAGE, vec);
    say("present: %d %d %d %d", vec[0] & 1, vec[1] & 1, vec[2] & 1, vec[3] & 1);
    SHOW(madvise(m, PAGE, MADV_DONTNEED));
    SHOW(munlock(m, 2 * PAGE));
    SHOW(madvise(m, PAGE, MADV_DONTNEED));
    SHOW(mlock((void*)PAGE, PAGE));
    SHOW(mlockall(0));
    SHOW(mlockall(MCL_ONFAULT));
    SHOW(syscall(SYS_mlock2, m, PAGE, 2));
    SHOW(munlockall());
    char* p = map(3, ANON | MAP_POPULATE);
    mincore(p, 3 * PAGE, vec);
    say("populated: %d %d %d", vec[0] & 1, vec[1] & 1, vec[2] & 1);
}

static void limited(void) {
    struct rlimit r = {64ul << 20, 64ul << 20};
    SHOW(setrlimit(RLIMIT_AS, &r));
    MAP(NULL, 128ul << 20, RW, ANON, -1, 0);
    MAP(NULL, 1ul << 20, RW, ANON, -1, 0);
    say("malloc: %d", malloc(100ul << 20) != NULL);
    r = (struct rlimit){3, 2};
    SHOW(setrlimit(RLIMIT_AS, &r));
    SHOW(setrlimit(100, &r));
    SHOW(getrlimit(100, &r));
}

static int deep(int n) {
    volatile char frame[1000];
    frame[0] = (char)n;
    return n ? deep(n - 1) + frame[0] - (char)n : 0;
}
static void deep_stack(void) {
    // 6 MiB of the 8 that are allowed.
    say("deep recursion: %d", deep(6000));
    struct rlimit r;
    getrlimit(RLIMIT_STACK, &r);
    say("stack limit: %lu", (unsigned long)r.rlim_cur >> 20);
}
static void small_stack(void) {
    struct rlimit r = {1ul << 20, 8ul << 20};
    setrlimit(RLIMIT_STACK, &r);
    deep(3000);
}

static void remote(void) {
    int p[2], q[2];
    static char here[16] = "unchanged";
    if (pipe(p) || pipe(q)) return;
    pid_t c = fork();
    if (c == 0) {
        strcpy(here, "the child's");
        write(p[1], "x", 1);
        read(q[0], here + 15, 1);
        _exit(strcmp(here, "changed") == 0 ? 0 : 1);
    }
    char b[16];
    read(p[0], b, 1);
    struct iovec local = {b, 12}, there = {here, 12};
    SHOW(process_vm_readv(c, &local, 1, &there, 1, 0));
    say("read: %s, own: %s", b, here);
    strcpy(b, "changed");
    SHOW(process_vm_writev(c, &local, 1, &there, 1, 0));
    there.iov_base = (void*)8;
    SHOW(process_vm_readv(c, &local, 1, &there, 1, 0));
    SHOW(process_vm_readv(c, &local, 1, &there, 1, 1));
    SHOW(process_vm_readv(999999, &local, 1, &there, 1, 0));
    write(q[1], "", 1);
    int s;
    waitpid(c, &s, 0);
    say("written: %s", status_text(s));
}

// Threads that fault the same pages in and map and unmap beside each other.
enum { THREADS = 6, PAGES = 64 };
static char* common;
static pthread_barrier_t barrier;
static void* toucher(void* arg) {
    long me = (long)arg;
    for (int round = 0; round < 8; round++) {
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < PAGES; i++)
            ((volatile unsigned char*)common)[(unsigned)i * PAGE + (unsigned)me] = (unsigned char)(round + me + i);
        for (int i = 0; i < 10; i++) {
            char* m = map(2, ANON);
            m[PAGE] = 1;
            mprotect(m, PAGE, PROT_READ);
            munmap(m, 2 * PAGE);
        }
        pthread_barrier_wait(&barrier);
        long bad = 0;
        for (int i = 0; i < PAGES; i++)
            for (int k = 0; k < THREADS; k++)
                bad += (unsigned char)common[(unsigned)i * PAGE + (unsigned)k] != (unsigned char)(round + k + i);
        if (bad) return (void*)bad;
        pthread_barrier_wait(&barrier);
        if (me == 0) madvise(common, PAGES * PAGE, MADV_DONTNEED);
    }
    return NULL;
}
static void races(void) {
    pthread_t t[THREADS];
    long bad = 0;
    common = map(PAGES, ANON);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, toucher, (void*)i);
    for (int i = 0; i < THREADS; i++) {
        void* r;
        pthread_join(t[i], &r);
        bad += (long)r;
    }
    say("lost writes: %ld", bad);
}

int main(int argc, char** argv) {
    (void)argv;
    if (argc > 1) {
        lines_of("[stack]");
        return 0;
    }
    fd = mkstemp(path);
    if (fd < 0 || write(fd, "hello, file", 11) != 11 || ftruncate(fd, 2 * PAGE)) return 1;
    errors();
    splitting();
    moving();
    advice();
    files();
    brks();
    locks();
    in_child("limited", limited);
    deep_stack();
    in_child("small stack", small_stack);
    zeros();
    new_stacks();
    remote();
    races();
    unlink(path);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Calls that programs around perf make now and then: files without names, seals, executing by descriptor, /proc/PID.
#include "os_guest.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>

static char* text_of(const char* path) {
    static char b[4][4096];
    static int k;
    char* t = b[k = (k + 1) & 3];
    int fd = open(path, O_RDONLY);
    if (fd < 0) return strcpy(t, strerrorname_np(errno));
    ssize_t n = read(fd, t, 4095);
    int e = errno;
    close(fd);
    if (n < 0) return strcpy(t, strerrorname_np(e));
    t[n] = 0;
    if (n && t[n - 1] == '\n') t[n - 1] = 0;
    return t;
}

static void holes(void) {
    say("[holes]");
    int fd = memfd_create("hole", MFD_ALLOW_SEALING);
    ftruncate(fd, 4 * PAGE);
    char* m = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memset(m, 'x', 4 * PAGE);
    TRY(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2 * PAGE, PAGE));
    say("bytes %d %d", m[PAGE], m[2 * PAGE]);
    TRY(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, PAGE));
    munmap(m, 4 * PAGE);
    SHOW(fcntl(fd, F_GET_SEALS));
    TRY(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
    TRY(ftruncate(fd, PAGE));
    TRY(ftruncate(fd, 5 * PAGE));
    TRY(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW));
    TRY(ftruncate(fd, 6 * PAGE));
    m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    TRY(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
    munmap(m, PAGE);
    TRY(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
    TRY(write(fd, "x", 1));
    TRY(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
    TRY(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
    TRY(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL));
    TRY(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE));
    SHOW(fcntl(fd, F_GET_SEALS));
    int plain = memfd_create("plain", 0);
    SHOW(fcntl(plain, F_GET_SEALS));
    TRY(fcntl(plain, F_ADD_SEALS, F_SEAL_WRITE));
}

static void nameless(void) {
    say("[nameless]");
    mkdir("/tmp/gap", 0755);
    int fd = open("/tmp/gap", O_TMPFILE | O_RDWR, 0640);
    struct stat st;
    fstat(fd, &st);
    say("links %ld, mode %o", (long)st.st_nlink, st.st_mode);
    write(fd, "text\n", 5);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    TRY(linkat(AT_FDCWD, path, AT_FDCWD, "/tmp/gap/named", AT_SYMLINK_FOLLOW));
    fstat(fd, &st);
    say("links %ld, %s", (long)st.st_nlink, text_of("/tmp/gap/named"));
    TRY(linkat(fd, "", AT_FDCWD, "/tmp/gap/again", AT_EMPTY_PATH));
    TRY(open("/tmp/gap", O_TMPFILE | O_RDONLY, 0640));
    int x = open("/tmp/gap", O_TMPFILE | O_RDWR | O_EXCL, 0640);
    snprintf(path, sizeof path, "/proc/self/fd/%d", x);
    TRY(linkat(AT_FDCWD, path, AT_FDCWD, "/tmp/gap/excl", AT_SYMLINK_FOLLOW));
    TRY(unlink("/tmp/gap/named"));
    TRY(unlink("/tmp/gap/again"));
}

static void executing(const char* self) {
    say("[executing]");
    int fd = open(self, O_RDONLY), copy = open("/tmp/gap/prog", O_CREAT | O_RDWR, 0755);
    static char b[65536];
    ssize_t n;
    while ((n = read(fd, b, sizeof b)) > 0) write(copy, b, n);
    char* argv[] = {"again", "@hello", NULL};
    close(copy);
    pid_t p = fork();
    if (!p) {
        TRY(syscall(SYS_execveat, fd, "", argv, environ, 0));
        TRY(syscall(SYS_execveat, fd, "", argv, environ, 0x8000));
        TRY(syscall(SYS_execveat, 77, "", argv, environ, AT_EMPTY_PATH));
        TRY(syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH));
        _exit(1);
    }
    waitpid(p, NULL, 0);
    symlink("prog", "/tmp/gap/link");
    int dir = open("/tmp/gap", O_RDONLY);
    p = fork();
    if (!p) {
        TRY(syscall(SYS_execveat, dir, "link", argv, environ, AT_SYMLINK_NOFOLLOW));
        TRY(syscall(SYS_execveat, dir, "none", argv, environ, 0));
        TRY(syscall(SYS_execveat, dir, "prog", argv, environ, 0));
        _exit(1);
    }
    waitpid(p, NULL, 0);
    unlink("/tmp/gap/link");
    unlink("/tmp/gap/prog");
}

static void resolving(void) {
    say("[resolving]");
    int dir = open("/tmp/gap", O_RDONLY);
    close(open("/tmp/gap/file", O_CREAT | O_WRONLY, 0644));
    symlink("file", "/tmp/gap/link");
    symlink("/tmp/gap/file", "/tmp/gap/absolute");
    symlink("../gap/file", "/tmp/gap/around");
    static const struct {
        const char* name;
        uint64_t resolve;
    } kWays[] = {{"file", RESOLVE_BENEATH},
                 {"link", RESOLVE_BENEATH},
                 {"absolute", RESOLVE_BENEATH},
                 {"around", RESOLVE_BENEATH},
                 {"../gap/file", RESOLVE_BENEATH},
                 {"link", RESOLVE_NO_SYMLINKS},
                 {"file", RESOLVE_NO_SYMLINKS},
                 {"absolute", RESOLVE_IN_ROOT},
                 {"/file", RESOLVE_IN_ROOT},
                 {"../../file", RESOLVE_IN_ROOT},
                 {"/proc/self/exe", RESOLVE_NO_MAGICLINKS},
                 {"/proc/version", RESOLVE_NO_XDEV},
                 {"file", 0x100},
                 {"file", RESOLVE_BENEATH | RESOLVE_IN_ROOT}};
    for (unsigned i = 0; i < sizeof kWays / sizeof *kWays; i++) {
        struct open_how how = {.flags = O_RDONLY, .resolve = kWays[i].resolve};
        say("%s %lx: %s", kWays[i].name, (long)kWays[i].resolve,
            OK(syscall(SYS_openat2, dir, kWays[i].name, &how, sizeof how)));
    }
    struct open_how how = {.flags = O_RDONLY, .mode = 0644};
    TRY(syscall(SYS_openat2, dir, "file", &how, sizeof how));
    how.mode = 0;
    TRY(syscall(SYS_openat2, dir, "file", &how, 8));
    how.flags = 1ull << 40;
    TRY(syscall(SYS_openat2, dir, "file", &how, sizeof how));
    unlink("/tmp/gap/link"), unlink("/tmp/gap/absolute"), unlink("/tmp/gap/around"), unlink("/tmp/gap/file");
}

static void barriers(void) {
    say("[barriers]");
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0));
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 1, 0));
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0));
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0));
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0));
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0));
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0));
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0));
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, MEMBARRIER_CMD_FLAG_CPU, 0));
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 2, 0));
    SHOW(syscall(SYS_membarrier, 3, 0, 0));
    SHOW(syscall(SYS_membarrier, 4096, 0, 0));
}

static void processes(void) {
    say("[processes]");
    float l1, l2, l3;
    int run, all, last;
    say("loadavg: %d fields", sscanf(text_of("/proc/loadavg"), "%f %f %f %d/%d %d", &l1, &l2, &l3, &run, &all, &last));
    int up[2];
    pipe(up);
    pid_t p = fork();
    if (!p) {
        char c;
        read(up[0], &c, 1);
        _exit(0);
    }
    msleep(50);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/syscall", p);
    long nr = -9, a0 = -1;
    char* t = text_of(path);
    int fields = 0;
    for (char* s = t; *s; s++) fields += *s == ' ';
    sscanf(t, "%ld %lx", &nr, &a0);
    say("syscall: %ld, descriptor right %d, %d blanks", nr, a0 == up[0], fields);
    say("own: %d",
        strncmp(text_of("/proc/self/syscall"), "63 ", 3) == 0 || !strcmp(text_of("/proc/self/syscall"), "running"));
    snprintf(path, sizeof path, "/proc/%d/wchan", p);
    say("wchan: %s", text_of(path));
    say("own wchan: %s", text_of("/proc/self/wchan"));
    snprintf(path, sizeof path, "/proc/%d/stack", p);
    t = text_of(path);
    say("stack: %d lines or more, form %d", strchr(t, '\n') ? 2 : 1, !strncmp(t, "[<0>] ", 6));
    write(up[1], "x", 1);
    waitpid(p, NULL, 0);
    static volatile char page[2 * 4096] __attribute__((aligned(4096)));
    page[0] = 1;
    int fd = open("/proc/self/pagemap", O_RDONLY);
    uint64_t e[2] = {0};
    SHOW(pread(fd, e, 16, (uintptr_t)page / 4096 * 8));
    say("present %lu, swapped %lu, frame %d; file page or not %lu", e[0] >> 63, e[0] >> 62 & 1,
        (e[0] & ((1ull << 55) - 1)) != 0, e[0] >> 61 & 1);
    SHOW(pread(fd, e, 7, 0));
    SHOW(pread(fd, e, 8, 4));
    SHOW(pread(fd, e, 8, 0));
    say("unmapped: %lx", (long)e[0]);
    say("io: %d lines", ({
            int n = 0;
            for (char* s = text_of("/proc/self/io"); *s; s++) n += *s == '\n';
            n + 1;
        }));
    say("limits: %d lines", ({
            int n = 0;
            for (char* s = text_of("/proc/self/limits"); *s; s++) n += *s == '\n';
            n + 1;
        }));
    int d = open("/tmp", O_RDONLY | O_DIRECTORY);
    snprintf(path, sizeof path, "/proc/self/fd/%d/gap", d);
    struct stat st;
    TRY(stat(path, &st));
    // Timers of a process's own time.
    struct itimerval it = {.it_value = {0, 20000}};
    sigset_t s;
    sigemptyset(&s), sigaddset(&s, SIGVTALRM), sigaddset(&s, SIGPROF);
    sigprocmask(SIG_BLOCK, &s, NULL);
    TRY(setitimer(ITIMER_VIRTUAL, &it, NULL));
    int sig = 0;
    struct timespec none = {0};
    int64_t end = now_ns() + 3000000000ll;
    while (now_ns() < end && (sig = sigtimedwait(&s, NULL, &none)) < 0) {
        for (volatile int i = 0; i < 20000; i++) {
        }
    }
    say("virtual timer: %d", sig == SIGVTALRM);
    getitimer(ITIMER_VIRTUAL, &it);
    say("left %ld %ld", (long)it.it_value.tv_sec, (long)it.it_value.tv_usec);
    TRY(setitimer(3, &it, NULL));
}

int main(int argc, char** argv) {
    if (argc > 1 && !strcmp(argv[1], "@hello")) {
        say("executed: %s", argv[0]);
        return 0;
    }
    holes();
    nameless();
    executing("/proc/self/exe");
    resolving();
    barriers();
    processes();
    rmdir("/tmp/gap");
    return 0;
}

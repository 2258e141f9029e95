// SPDX-License-Identifier: Apache-2.0
// Corners of files that public test suites look at: O_TMPFILE among others, RESOLVE_NO_XDEV through links that jump,
// programs that are no plain files, the magic links of descriptors by names that are nearly numbers, files without a
// name opened through them, kcmp.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* error(long result) { return result < 0 ? strerrorname_np(errno) : "0"; }

static void open2(const char* path, unsigned long flags, unsigned long mode, unsigned long resolve) {
    const struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
    const long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    printf("openat2 %s flags %lx resolve %lx: ", path, flags, resolve);
    if (fd < 0)
        puts(error(fd));
    else
        printf("opened, flags %x\n", fcntl((int)fd, F_GETFL) & ~0400000);
    if (fd >= 0) close((int)fd);
}

static void run(const char* path) {
    printf("execve %s: ", strrchr(path, '/') + 1);
    execve(path, (char*[]){NULL, NULL}, NULL);
    puts(error(-1));
}

static void loadavg(const char* who) {
    char text[128] = "";
    const int fd = open("/proc/loadavg", O_RDONLY);
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n > 0 && strrchr(text, ' ')) printf("%s: last process %d\n", who, atoi(strrchr(text, ' ')));
}

/// What ftrace's tests set before they begin.
static void rt_limits(void) {
    static const struct {
        const char *file, *value;
    } steps[] = {{"runtime", "-1"},     {"runtime", "-2"},     {"runtime", "2000000"}, {"period", "0"},
                 {"runtime", "900000"}, {"period", "10"},      {"period", "-1"},       {"runtime", "x"},
                 {"period", "2000000"}, {"runtime", "1500000"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; ++i) {
        char path[64], text[32] = "";
        snprintf(path, sizeof path, "/proc/sys/kernel/sched_rt_%s_us", steps[i].file);
        int fd = open(path, O_WRONLY);
        printf("%s = %s: ", steps[i].file, steps[i].value);
        puts(error(write(fd, steps[i].value, strlen(steps[i].value)) < 0 ? -1 : 0));
        close(fd);
        fd = open(path, O_RDONLY);
        read(fd, text, sizeof text - 1);
        close(fd);
        printf("  now %s", text);
    }
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    char dir[] = "/tmp/suiteXXXXXX";
    if (!mkdtemp(dir) || chdir(dir)) return 1;
    open2("/tmp", O_TMPFILE | O_RDWR, 0600, 0);
    open2("/tmp", O_TMPFILE | O_RDWR | O_CREAT, 0600, 0);
    open2("/tmp", O_TMPFILE, 0600, 0);
    open2("/tmp", O_DIRECTORY, 0, 0);
    if (symlink("/", "top") || symlink("/tmp", "tmp")) return 1;
    open2("/proc/self/root", O_PATH, 0, RESOLVE_NO_XDEV);
    open2("/proc/self/cwd", O_PATH, 0, RESOLVE_NO_XDEV);
    open2("/proc/self/exe", O_PATH, 0, RESOLVE_NO_MAGICLINKS);
    const int proc = open("/proc", O_PATH);
    if (fchdir(proc)) return 1;
    open2("self/root", O_PATH, 0, RESOLVE_NO_XDEV);
    open2("self/cwd", O_PATH, 0, RESOLVE_NO_XDEV);
    open2("self/root", O_PATH, 0, RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS);
    if (chdir(dir)) return 1;
    open2("top", O_PATH, 0, 0);

    char path[64];
    snprintf(path, sizeof path, "%s/fifo", dir);
    mkfifo(path, 0777);
    run(path);
    snprintf(path, sizeof path, "%s/block", dir);
    mknod(path, S_IFBLK | 0777, makedev(250, 1));
    run(path);
    snprintf(path, sizeof path, "%s/char", dir);
    mknod(path, S_IFCHR | 0777, makedev(1, 3));
    run(path);
    snprintf(path, sizeof path, "%s/socket", dir);
    mknod(path, S_IFSOCK | 0777, 0);
    run(path);
    run("/tmp");

    static const char* const names[] = {"0", "-0", "+0", "00", " 0", "0 ", "-1", "4294967296", "x"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; ++i) {
        snprintf(path, sizeof path, "/proc/self/fd/%s", names[i]);
        struct stat st;
        printf("lstat of descriptor '%s': %s\n", names[i], error(lstat(path, &st)));
    }

    const int mem = memfd_create("suite", MFD_ALLOW_SEALING);
    if (ftruncate(mem, 100)) return 1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", mem);
    const int again = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct stat st = {0};
    fstat(mem, &st);
    printf("a memfd opened anew to be cut: %s, size %ld\n", again < 0 ? error(again) : "0", (long)st.st_size);

    if (ftruncate(mem, 100) || fcntl(mem, F_ADD_SEALS, F_SEAL_SHRINK)) return 1;
    const int sealed = open(path, O_RDWR | O_TRUNC);
    fstat(mem, &st);
    printf("the same, sealed against it: %s, size %ld\n", error(sealed), (long)st.st_size);

    const int me = getpid(), ep = epoll_create1(0);
    int pipes[2];
    if (pipe(pipes)) return 1;
    struct epoll_event ev = {.events = EPOLLIN};
    epoll_ctl(ep, EPOLL_CTL_ADD, pipes[0], &ev);
    struct kcmp_epoll_slot slot = {.efd = (unsigned)ep, .tfd = (unsigned)pipes[0], .toff = 0};
    printf("kcmp epoll: same %ld", syscall(SYS_kcmp, me, me, KCMP_EPOLL_TFD, pipes[0], &slot));
    printf(", other %d", syscall(SYS_kcmp, me, me, KCMP_EPOLL_TFD, pipes[1], &slot) > 0);
    slot.toff = 1;
    printf(", second %s", error(syscall(SYS_kcmp, me, me, KCMP_EPOLL_TFD, pipes[0], &slot)));
    slot.efd = (unsigned)pipes[0];
    printf(", no epoll %s", error(syscall(SYS_kcmp, me, me, KCMP_EPOLL_TFD, pipes[0], &slot)));
    slot.efd = 99;
    printf(", no file %s\n", error(syscall(SYS_kcmp, me, me, KCMP_EPOLL_TFD, pipes[0], &slot)));
    printf("kcmp file: same %ld, no file %s\n", syscall(SYS_kcmp, me, me, KCMP_FILE, 1, 1),
           error(syscall(SYS_kcmp, me, me, KCMP_FILE, 99, 99)));
    const int child = fork();
    if (!child) {
        pause();
        _exit(0);
    }
    printf("kcmp of parent and child: io %ld, sysvsem %ld\n", syscall(SYS_kcmp, me, child, KCMP_IO, 0, 0),
           syscall(SYS_kcmp, me, child, KCMP_SYSVSEM, 0, 0));
    printf("kcmp of a kind that is not there: %s\n", error(syscall(SYS_kcmp, me, child, 8, 0, 0)));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);

    rt_limits();
    unshare(CLONE_NEWPID);
    const int inner = fork();
    if (!inner) {
        loadavg("/proc/loadavg read in a pid namespace");
        _exit(0);
    }
    waitpid(inner, NULL, 0);
    return 0;
}

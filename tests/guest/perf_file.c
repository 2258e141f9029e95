// SPDX-License-Identifier: Apache-2.0
// The descriptor of an event and its mapping as files: what cannot be done with them, what fork and munmap do.
// [CORE-297] [CORE-348] [CORE-452] [CORE-508] [RB-008] [RB-014]
#include "perf_guest.h"

#include <setjmp.h>
#include <sys/stat.h>
#include <sys/uio.h>

static void* volatile nowhere;
static sigjmp_buf back;
static volatile int got;
static void on_signal(int signo) {
    got = signo;
    siglongjmp(back, 1);
}
/// The signal that an access gives, or 0.
static int access_signal(volatile char* p, int write) {
    got = 0;
    if (!sigsetjmp(back, 1)) {
        if (write)
            *p = 1;
        else
            (void)*p;
    }
    return got;
}

static void as_file(void) {
    struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
    int fd = perf_open(&attr, 0, -1, -1, 0);
    char buffer[64];
    SHOW(write(fd, "x", 1));
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(pread(fd, buffer, 64, 0));
    SHOW(ftruncate(fd, 0));
    SHOW(read(fd, buffer, 7));
    SHOW(read(fd, buffer, 8));
    SHOW(read(fd, nowhere, 8));
    struct iovec v[2] = {{buffer, 4}, {buffer + 4, 60}};
    SHOW(readv(fd, v, 2));
    SHOW(fcntl(fd, F_GETFL) & O_ACCMODE);
    SHOW(fcntl(fd, F_GETFD));
    SHOW(fcntl(fd, F_SETFL, O_NONBLOCK));
    SHOW(read(fd, buffer, 8)); // never waits
    struct stat st;
    SHOW(fstat(fd, &st));
    SHOW(st.st_size);
    char name[64] = "", link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    SHOW(readlink(link, name, sizeof name - 1));
    puts(name);
    close(fd);
    fd = perf_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    SHOW(fcntl(fd, F_GETFD));
    close(fd);
}

static void mapping(void) {
    struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_DUMMY);
    int fd = perf_open(&attr, 0, -1, -1, 0);
    char* p = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    SHOW(p != MAP_FAILED);
    SHOW(access_signal(p, 1));
    SHOW(access_signal(p + 4096, 0));
    SHOW(access_signal(p + 4096, 1) == SIGBUS);
    // In pieces it cannot be taken apart.
    SHOW(munmap(p + 4096, 4096));
    SHOW(munmap(p, 4096));
    SHOW(munmap(p + 4 * 4096, 4096));
    SHOW(mprotect(p, 4096, PROT_READ));
    SHOW(mprotect(p, 5 * 4096, PROT_READ));
    SHOW(mremap(p, 5 * 4096, 6 * 4096, MREMAP_MAYMOVE) == MAP_FAILED);
    int pid = fork();
    if (!pid) _exit(access_signal(p, 0));
    int status;
    waitpid(pid, &status, 0);
    SHOW(WEXITSTATUS(status) == SIGSEGV);
    SHOW(access_signal(p, 0));
    SHOW(munmap(p, 5 * 4096));
    SHOW(access_signal(p, 0) == SIGSEGV);
    p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    SHOW(p != MAP_FAILED);
    SHOW(access_signal(p, 0));
    munmap(p, 4096);
    close(fd);
}

static uint64_t counts[3];
static int fds[3];
static void since(const char* what) {
    printf("%s:", what);
    for (int i = 0; i < 3; ++i) {
        uint64_t now = count_of(fds[i]);
        printf(" %d", (int)(now - counts[i]));
    }
    puts("");
    fflush(stdout);
    for (int i = 0; i < 3; ++i) counts[i] = count_of(fds[i]);
}

static void faults(void) {
    const uint64_t kinds[3] = {PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ};
    for (int i = 0; i < 3; ++i) {
        struct perf_event_attr attr = sw_attr(kinds[i]);
        fds[i] = perf_open(&attr, 0, -1, -1, 0);
        counts[i] = count_of(fds[i]);
    }
    since("warm");
    since("nothing");
    char* p = mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 4; ++i) (void)*(volatile char*)(p + i * 4096);
    since("4 reads of new pages");
    for (int i = 0; i < 4; ++i) *(volatile char*)(p + i * 4096) = 1;
    since("4 writes to them");
    for (int i = 4; i < 8; ++i) *(volatile char*)(p + i * 4096) = 1;
    since("4 writes to new pages");
    // Faults that end in a signal are counted by page-faults alone.
    mprotect(p, 4096, PROT_NONE);
    SHOW(access_signal(p, 0) == SIGSEGV);
    since("a fault that is an error");
    // The kernel's own accesses to user memory count.
    int fd = open("/proc/self/stat", O_RDONLY);
    read(fd, p + 9 * 4096, 10);
    close(fd);
    since("a page that read(2) fills");
}

int main(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    as_file();
    mapping();
    faults();
    return 0;
}

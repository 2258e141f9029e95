// SPDX-License-Identifier: Apache-2.0
// Does at random what programs do with perf events: perf_fuzz SEED STEPS. Knows the structure of what it calls, so that
// most of it succeeds. Prints how much did; ends with nothing left.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kMaxFds = 48, kMaxMaps = 24, kMaxChildren = 6, kOps = 20 };

static uint64_t state;
static uint64_t rnd(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}
static unsigned below(unsigned n) { return (unsigned)(rnd() >> 33) % n; }
static int one_in(unsigned n) { return below(n) == 0; }

struct map {
    char* at;
    size_t size;
    int data;
};
static int fds[kMaxFds], nfds;
static struct map maps[kMaxMaps];
static int nmaps, ncpus, types[4], ntypes;
static int children[kMaxChildren], nchildren;
static unsigned long done[kOps], tried[kOps], signals;
static volatile uint64_t watched[8];
static int depth;
static int alive[2]; // a pipe that every descendant holds open

static void on_signal(int signo) {
    (void)signo;
    ++signals;
}

static int any_fd(void) { return nfds ? fds[below((unsigned)nfds)] : -1; }

static int number_in(const char* path) {
    char text[32] = "";
    int fd = open(path, O_RDONLY), n = -1;
    if (fd < 0) return -1;
    if (read(fd, text, sizeof text - 1) > 0) n = atoi(text);
    close(fd);
    return n;
}

static void fill_attr(struct perf_event_attr* a) {
    memset(a, 0, sizeof *a);
    a->size = sizeof *a;
    switch (below(8)) {
        case 0:
            a->type = PERF_TYPE_HARDWARE;
            a->config = below(10);
            break;
        case 1:
            a->type = PERF_TYPE_HW_CACHE;
            a->config = below(7) | below(3) << 8 | below(2) << 16;
            break;
        case 2:
        case 3:
            a->type = (uint32_t)types[below((unsigned)ntypes)];
            a->config = one_in(4) ? below(0x100) : (const unsigned[]){0x11, 0x08, 0x04, 0x10}[below(4)];
            if (one_in(8)) a->config1 = below(4);
            break;
        case 4:
            a->type = PERF_TYPE_BREAKPOINT;
            a->bp_type = 1 + below(3);
            a->bp_addr = (uintptr_t)&watched[below(8)];
            a->bp_len = 8;
            break;
        default:
            a->type = PERF_TYPE_SOFTWARE;
            a->config = below(12);
            break;
    }
    if (one_in(2)) {
        a->freq = one_in(3);
        // Short periods only for what does not happen all the time.
        const unsigned least = a->type == PERF_TYPE_SOFTWARE && a->config > 1 ? 1 : 2000;
        a->sample_period = a->freq ? 100 + below(20000) : least + below(one_in(4) ? 20 : 50000);
        a->sample_type = rnd() & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
                                  PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                                  PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_WEIGHT |
                                  PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP);
        if (one_in(3)) a->sample_type |= PERF_SAMPLE_READ;
        if (one_in(6)) {
            a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
            a->sample_regs_user = rnd() & 0x1ffffffff;
            a->sample_stack_user = 8 * below(512);
        }
        if (one_in(8)) a->sample_type |= PERF_SAMPLE_REGS_INTR, a->sample_regs_intr = 1 + below(1000);
        if (one_in(4)) a->wakeup_events = 1 + below(5);
        if (one_in(6)) a->watermark = 1, a->wakeup_watermark = below(8192);
    }
    // A signal between a watched store and the step over it starts the store again, for ever (Linux on arm64, too): no
    // overflows of breakpoints.
    if (a->type == PERF_TYPE_BREAKPOINT) a->sample_period = 0, a->freq = 0;
    a->read_format = one_in(2) ? below(32) : 0;
    a->disabled = one_in(2);
    a->inherit = one_in(4);
    a->pinned = one_in(8);
    a->exclusive = one_in(12);
    a->exclude_user = one_in(8);
    a->exclude_kernel = one_in(2);
    a->exclude_idle = one_in(30);
    a->enable_on_exec = one_in(8);
    a->inherit_stat = one_in(8);
    a->task = one_in(4);
    a->comm = one_in(4);
    a->mmap = one_in(4);
    a->mmap2 = one_in(6);
    a->context_switch = one_in(6);
    a->sample_id_all = one_in(2);
    a->write_backward = one_in(10);
    a->namespaces = one_in(10);
    if (one_in(10)) a->use_clockid = 1, a->clockid = (int)below(12);
    if (one_in(12))
        a->remove_on_exec = 1, a->enable_on_exec = 0,
        a->sigtrap = a->type != PERF_TYPE_BREAKPOINT && one_in(2); // a watched store with it never ends
    if (a->inherit) a->inherit_thread = one_in(4), a->sample_type &= ~(uint64_t)PERF_SAMPLE_READ;
    // Something wrong now and then.
    if (one_in(40)) ((unsigned char*)a)[below(sizeof *a)] ^= (unsigned char)(1u << below(8));
}

static int op_open(void) {
    struct perf_event_attr a;
    fill_attr(&a);
    if (nfds == kMaxFds) return 0;
    int pid = one_in(3) ? -1 : 0, cpu = pid < 0 || one_in(4) ? (int)below((unsigned)ncpus) : -1;
    if (nchildren && one_in(4)) pid = children[below((unsigned)nchildren)];
    unsigned long flags = one_in(12) ? below(16) & ~4u : 0;
    int fd = (int)syscall(SYS_perf_event_open, &a, pid, cpu, one_in(3) ? any_fd() : -1, flags);
    if (fd < 0) return 0;
    fds[nfds++] = fd;
    return 1;
}
static int op_read(void) {
    static char buffer[4096];
    return read(any_fd(), buffer, one_in(6) ? below(64) : sizeof buffer) >= 0;
}
static int op_ioctl(void) {
    int fd = any_fd();
    uint64_t value = 1 + below(one_in(3) ? 10 : 100000);
    unsigned long group = one_in(4);
    switch (below(10)) {
        case 0:
        case 1: return !ioctl(fd, PERF_EVENT_IOC_ENABLE, group);
        case 2: return !ioctl(fd, PERF_EVENT_IOC_DISABLE, group);
        case 3: return !ioctl(fd, PERF_EVENT_IOC_RESET, group);
        case 4: return !ioctl(fd, PERF_EVENT_IOC_REFRESH, below(5));
        case 5: return !ioctl(fd, PERF_EVENT_IOC_PERIOD, &value);
        case 6: return !ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, one_in(3) ? -1 : any_fd());
        case 7: return !ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, one_in(2));
        case 8: return !ioctl(fd, PERF_EVENT_IOC_ID, &value);
        default: {
            struct perf_event_attr a;
            fill_attr(&a);
            return !ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &a);
        }
    }
}
static int op_mmap(void) {
    if (nmaps == kMaxMaps) return 0;
    size_t size = (1 + (one_in(8) ? below(9) : 1u << below(4))) * 4096;
    char* p =
        mmap(NULL, size, one_in(3) ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, any_fd(), one_in(20) ? 4096 : 0);
    if (p == MAP_FAILED) return 0;
    maps[nmaps++] = (struct map){p, size, one_in(2)};
    return 1;
}
static int op_munmap(void) {
    if (!nmaps) return 0;
    unsigned i = below((unsigned)nmaps);
    if (one_in(10)) return !munmap(maps[i].at, 4096) && maps[i].size == 4096 ? (maps[i] = maps[--nmaps], 1) : 0;
    munmap(maps[i].at, maps[i].size);
    maps[i] = maps[--nmaps];
    return 1;
}
static int op_consume(void) {
    if (!nmaps) return 0;
    struct map* m = &maps[below((unsigned)nmaps)];
    volatile struct perf_event_mmap_page* page = (void*)m->at;
    // Through read(2), whose EFAULT is not a signal: the mapping may be read-only.
    uint64_t head = page->data_head;
    int null = open("/dev/zero", O_RDONLY);
    char zero[8];
    read(null, zero, 8);
    close(null);
    int pipes[2];
    if (pipe(pipes)) return 0;
    write(pipes[1], &head, 8);
    int ok = read(pipes[0], (void*)&page->data_tail, 8) == 8;
    close(pipes[0]);
    close(pipes[1]);
    return ok;
}
static int op_close(void) {
    if (!nfds) return 0;
    unsigned i = below((unsigned)nfds);
    close(fds[i]);
    fds[i] = fds[--nfds];
    return 1;
}
static int op_dup(void) {
    if (!nfds || nfds == kMaxFds) return 0;
    int fd = dup(any_fd());
    if (fd < 0) return 0;
    fds[nfds++] = fd;
    return 1;
}
static int op_poll(void) {
    struct pollfd p = {any_fd(), POLLIN, 0};
    return poll(&p, 1, 0) >= 0;
}
static int op_prctl(void) { return !prctl(one_in(2) ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE); }
static int op_faults(void) {
    size_t n = 1 + below(6);
    char* p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return 0;
    for (size_t i = 0; i < n; ++i) p[i * 4096] = 1;
    munmap(p, n * 4096);
    return 1;
}
static int op_work(void) {
    // Some stores, each of which may be watched, and time.
    const unsigned n = 10 + below(200);
    for (unsigned i = 0; i < n; ++i) watched[i & 7] += i;
    for (volatile unsigned i = below(10000); i < 10000; ++i) continue;
    return 1;
}
static int op_sleep(void) {
    struct timespec t = {0, (long)below(300000)};
    return one_in(2) ? !sched_yield() : !nanosleep(&t, NULL);
}
static int op_move(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(below((unsigned)ncpus), &set);
    if (one_in(2)) CPU_SET(below((unsigned)ncpus), &set);
    return !sched_setaffinity(0, sizeof set, &set);
}
static int op_async(void) {
    int fd = any_fd();
    fcntl(fd, F_SETOWN, getpid());
    fcntl(fd, F_SETSIG, one_in(2) ? 0 : SIGUSR1);
    return !fcntl(fd, F_SETFL, one_in(2) ? O_ASYNC : 0);
}
static void steps(unsigned n);
static int op_fork(void) {
    if (nchildren == kMaxChildren || depth > 1) return 0;
    int pid = fork();
    if (pid < 0) return 0;
    if (!pid) {
        ++depth;
        nchildren = 0;
        nmaps = 0; // mappings of events are not inherited
        rnd();
        state ^= 0x9e3779b97f4a7c15u * (unsigned)(nfds + 1);
        steps(5 + below(25));
        if (one_in(4)) {
            char* argv[] = {"perf_fuzz", "0", "0", NULL};
            execv("/proc/self/exe", argv);
        }
        _exit(0);
    }
    children[nchildren++] = pid;
    return 1;
}
static int op_wait(void) {
    if (!nchildren) return 0;
    unsigned i = below((unsigned)nchildren);
    if (one_in(8)) kill(children[i], SIGKILL);
    waitpid(children[i], NULL, 0);
    children[i] = children[--nchildren];
    return 1;
}
static void* thread_main(void* arg) {
    (void)arg;
    for (unsigned i = 0; i < 100; ++i) watched[i & 7] += i;
    return NULL;
}
static int op_thread(void) {
    pthread_t t;
    if (pthread_create(&t, NULL, thread_main, NULL)) return 0;
    return !pthread_join(t, NULL);
}
static int op_files(void) {
    static const char* const files[] = {"/proc/sys/kernel/perf_event_max_sample_rate",
                                        "/proc/sys/kernel/perf_cpu_time_max_percent",
                                        "/sys/bus/event_source/devices/armv8_pmuv3/perf_event_mux_interval_ms"};
    static const char* const values[] = {"100000", "1000", "25", "1", "4", "0"};
    int fd = open(files[below(3)], O_WRONLY);
    if (fd < 0) return 0;
    const char* v = values[below(6)];
    int ok = write(fd, v, strlen(v)) > 0;
    close(fd);
    return ok;
}
static int op_cpu(void) {
    char path[64];
    if (!one_in(4) || depth) return 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/online", 1 + (int)below((unsigned)ncpus - 1));
    int fd = open(path, O_WRONLY);
    if (fd < 0) return 0;
    int ok = write(fd, one_in(2) ? "0" : "1", 1) == 1;
    close(fd);
    return ok;
}

static int (*const ops[kOps])(void) = {op_open,  op_read, op_ioctl, op_mmap,   op_munmap, op_consume, op_close,
                                       op_dup,   op_poll, op_prctl, op_faults, op_work,   op_sleep,   op_move,
                                       op_async, op_fork, op_wait,  op_thread, op_files,  op_cpu};
static const unsigned char weights[kOps] = {30, 12, 25, 8, 4, 4, 9, 2, 4, 3, 8, 10, 4, 4, 3, 4, 4, 3, 2, 2};

static void steps(unsigned n) {
    unsigned total = 0;
    for (int i = 0; i < kOps; ++i) total += weights[i];
    while (n--) {
        unsigned w = below(total);
        int op = 0;
        while (w >= weights[op]) w -= weights[op++];
        ++tried[op];
        done[op] += (unsigned long)ops[op]();
    }
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    state = strtoull(argv[1], NULL, 0) * 0x9e3779b97f4a7c15u + 1;
    const unsigned n = (unsigned)strtoul(argv[2], NULL, 0);
    if (!n) return 0; // what a child of it executes
    ncpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (int cluster = 0; cluster < 2; ++cluster) {
        static const char* const names[] = {"armv8_pmuv3", "armv8_cortex_a55"};
        char path[96];
        snprintf(path, sizeof path, "/sys/bus/event_source/devices/%s/type", names[cluster]);
        const int type = number_in(path);
        if (type > 0) types[ntypes++] = type;
    }
    if (!ntypes) types[ntypes++] = PERF_TYPE_RAW;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTRAP, &action, NULL);
    sigaction(SIGIO, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 20; ++i) rnd();
    if (pipe(alive)) return 1;
    steps(n);
    while (nchildren) {
        waitpid(children[--nchildren], NULL, 0);
    }
    // Children of children that were killed may still run.
    char byte;
    close(alive[1]);
    while (read(alive[0], &byte, 1) > 0 || errno == EINTR) errno = 0;
    const struct timespec last_words = {0, 5000000};
    nanosleep(&last_words, NULL);
    while (nmaps) {
        --nmaps;
        munmap(maps[nmaps].at, maps[nmaps].size);
    }
    while (nfds) close(fds[--nfds]);
    static const char* const names[kOps] = {"open",  "read", "ioctl", "mmap",   "munmap", "consume", "close",
                                            "dup",   "poll", "prctl", "faults", "work",   "sleep",   "move",
                                            "async", "fork", "wait",  "thread", "files",  "cpu"};
    for (int i = 0; i < kOps; ++i) printf("%s %lu of %lu\n", names[i], done[i], tried[i]);
    return 0;
}

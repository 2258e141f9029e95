// SPDX-License-Identifier: Apache-2.0
// Where call chains of the kernel begin: at a function that is entered, has returned, raises an event itself or copies for
// its caller. And what of the kernel's stack a probe can read. [CC-037] [CC-038] [CORE-479]
#include "chain_guest.h"

static int other, from_fd, to_fd;
static char* fresh;

static const char* plain(const char* name) { // without what a compiler appends to copies of a function
    static char out[64];
    snprintf(out, sizeof out, "%s", name);
    char* dot = strchr(out, '.');
    if (dot) *dot = 0;
    return out;
}

/// The first `most` functions of the first chain that `work` gives.
static void show(int fd, const char* what, int most, void (*work)(void)) {
    printf("%s:", what);
    if (fd < 0) {
        printf(" %s\n", strerrorname_np(errno));
        return;
    }
    struct ring r = map_ring(fd);
    uint64_t chain[200];
    while (next_chain(&r, chain, 200) >= 0) continue;
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    work();
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    const int n = next_chain(&r, chain, 200);
    for (int i = 0; i < n && i <= most; ++i)
        if (chain[i] < (uint64_t)-4096) printf(" %s", plain(name_of(chain[i], i > 1)));
    printf("\n");
    fflush(stdout);
    munmap(r.at, 4096 + kBytes);
    close(fd);
}

static int probe(const char* function, int ret) {
    struct perf_event_attr a = {
        .size = sizeof a, .type = 6, .config = (uint64_t)ret, .sample_period = 1, .disabled = 1};
    a.kprobe_func = (uint64_t)function;
    a.sample_type = PERF_SAMPLE_CALLCHAIN;
    a.exclude_callchain_user = 1;
    return perf_open(&a, 0, -1, -1, 0);
}
static int software(uint64_t config) {
    struct perf_event_attr a = sw_attr(config);
    a.sample_period = 1;
    a.disabled = 1;
    a.sample_type = PERF_SAMPLE_CALLCHAIN;
    a.exclude_callchain_user = 1;
    return perf_open(&a, 0, -1, -1, 0);
}

static void read_event(void) {
    char b[8];
    if (read(other, b, 8) < 0) printf("read\n");
}
static void sleep_a_little(void) { usleep(1000); }
static void copy_to_fresh(void) {
    fresh = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (read(from_fd, fresh, 64) < 0) printf("read\n");
    munmap(fresh, 8192);
}
static void signal_self(void) { raise(SIGUSR1); }
static void seek(void) { lseek(to_fd, 0x1234, SEEK_CUR); }

/// What a probe on a system call's function reads through its argument, the registers at the entry from EL0.
static void saved_registers(void) {
    const char* const define =
        "p:kframes/seek __arm64_sys_lseek fd=+0(%x0):x64 offset=+8(%x0):x64 whence=+16(%x0):x64 nr=+64(%x0):x64 "
        "first=+272(%x0):x64 number=+280(%x0):s32\n";
    const int f = open("/sys/kernel/tracing/kprobe_events", O_WRONLY | O_APPEND);
    SHOW(write(f, define, strlen(define)) > 0);
    struct perf_event_attr a = {.size = sizeof a, .type = PERF_TYPE_TRACEPOINT, .sample_period = 1, .disabled = 1};
    a.config = (uint64_t)id_of("kframes/seek");
    a.sample_type = PERF_SAMPLE_RAW;
    const int fd = perf_open(&a, 0, -1, -1, 0);
    char* ring = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    seek();
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    // header, size of the data, common fields, address of the probe, the arguments
    const char* args = ring + 4096 + 8 + 4 + 8 + 8;
    uint64_t value[5];
    memcpy(value, args, sizeof value);
    int32_t number;
    memcpy(&number, args + sizeof value, sizeof number);
    SHOW(value[0] == (uint64_t)to_fd);
    SHOW(value[1]);
    SHOW(value[2]);
    SHOW(value[3]);
    SHOW(value[4] == (uint64_t)to_fd);
    SHOW(number);
    munmap(ring, 8192);
    close(fd);
    SHOW(write(f, "-:kframes/seek\n", 15));
    close(f);
}

int main(void) {
    read_symbols();
    struct perf_event_attr count = sw_attr(PERF_COUNT_SW_DUMMY);
    other = perf_open(&count, 0, -1, -1, 0);
    char name[] = "/tmp/kframes-XXXXXX";
    to_fd = mkstemp(name);
    char page[4096] = "x";
    if (write(to_fd, page, sizeof page) < 0) return 1;
    from_fd = open("/proc/self/maps", O_RDONLY);
    signal(SIGUSR1, SIG_IGN);
    // Its caller's frame is not yet there for the walk to see.
    show(probe("perf_read", 0), "entered", 4, read_event);
    show(probe("perf_read", 1), "returned", 3, read_event);
    show(open_tracepoint("sched/sched_switch"), "sched_switch", 3, sleep_a_little);
    show(open_tracepoint("raw_syscalls/sys_enter"), "sys_enter", 3, seek);
    show(open_tracepoint("signal/signal_generate"), "signal_generate", 2, signal_self);
    show(software(PERF_COUNT_SW_CONTEXT_SWITCHES), "context switch", 3, sleep_a_little);
    show(software(PERF_COUNT_SW_PAGE_FAULTS), "fault of a copy", 1, copy_to_fresh);
    show(probe("__arm64_sys_lseek", 0), "a system call's function", 2, seek);
    saved_registers();
    unlink(name);
    return 0;
}

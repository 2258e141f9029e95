// SPDX-License-Identifier: Apache-2.0
// Instructions that the kernel spends on one operation, on a machine of one CPU that executes one instruction a nanosecond:
// the virtual counter tells the time. Prints "name instructions".
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static double ns(void) {
    uint64_t t, hz;
    __asm__ volatile("isb\n mrs %0, cntvct_el0\n mrs %1, cntfrq_el0" : "=r"(t), "=r"(hz)::"memory");
    return (double)t * 1e9 / (double)hz;
}
static long call(long nr, long a, long b, long c) {
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
static int event(struct perf_event_attr* a) {
    a->size = sizeof *a;
    const int fd = (int)syscall(SYS_perf_event_open, a, 0, -1, -1, 0);
    if (fd < 0) {
        perror("perf_event_open");
        exit(1);
    }
    return fd;
}
static struct perf_event_attr cycles(void) {
    struct perf_event_attr a = {0};
    a.type = PERF_TYPE_HARDWARE;
    a.config = PERF_COUNT_HW_CPU_CYCLES;
    a.disabled = 1;
    a.exclude_kernel = 1;
    return a;
}
static int type_of(const char* pmu) {
    char path[96], text[16] = {0};
    snprintf(path, sizeof path, "/sys/bus/event_source/devices/%s/type", pmu);
    const int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) exit(1);
    close(fd);
    return atoi(text);
}

static int fd, sink;
static char* area;
static volatile int watched;
__attribute__((noinline, aligned(64))) static void target(void) { __asm__ volatile("nop"); }

static void getpid_(void) { call(SYS_getpid, 0, 0, 0); }
static void no_call(void) { call(-1, 0, 0, 0); }
static void yield(void) { call(SYS_sched_yield, 0, 0, 0); }
static void write_null(void) { call(SYS_write, sink, (long)"", 1); }
static void disable(void) { call(SYS_ioctl, fd, PERF_EVENT_IOC_DISABLE, 0); }
static void toggle(void) {
    call(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
    call(SYS_ioctl, fd, PERF_EVENT_IOC_DISABLE, 0);
}
static void read_count(void) {
    uint64_t v;
    call(SYS_read, fd, (long)&v, 8);
}
static void map(void) { munmap(mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096); }
enum { kPages = 128 };
/// Pages that are new each time; giving them back is a part of it.
static void touch(void) {
    for (int i = 0; i < kPages; ++i) *(volatile char*)(area + i * 4096L) = 1;
    madvise(area, kPages * 4096L, MADV_DONTNEED);
}
static void hit(void) { target(); }
static void store(void) { watched = 1; }
static void kill_ignored(void) { call(SYS_kill, getpid(), SIGUSR1, 0); }
static void handler(int s) { (void)s; }

/// `user`: instructions of the program in one round, the loop's included, near enough.
static void run(const char* name, int n, double user, void (*f)(void)) {
    double best = 1e12;
    for (int k = 0; k < 5; ++k) {
        const double from = ns();
        for (int i = 0; i < n; ++i) f();
        const double one = (ns() - from) / n - user;
        if (one < best) best = one;
    }
    printf("%s %.0f\n", name, best);
}

/// Of 2n + 1 instructions.
__attribute__((noinline)) static void spin(uint64_t n) {
    __asm__ volatile("1: subs %0, %0, #1\n b.ne 1b" : "+r"(n)::"cc");
}

/// One sample of the event, with a ring that takes them all.
static void sample(const char* name, struct perf_event_attr* a) {
    // More stack than a sample takes, whatever the environment's size.
    volatile char room[16384];
    for (unsigned i = 0; i < sizeof room; i += 1024) room[i] = 1;
    a->sample_period = 50000;
    fd = event(a);
    if (mmap(0, 257 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED) exit(1);
    // Under the tick's time, so that most of the samples stand alone.
    double best = 1e12;
    for (int k = 0; k < 6; ++k) {
        double from = ns();
        spin(500000);
        const double plain = ns() - from;
        ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
        from = ns();
        spin(500000);
        const double sampled = ns() - from;
        ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
        if ((sampled - plain) / 20 < best && plain < 1001000) best = (sampled - plain) / 20;
    }
    printf("%s %.0f\n", name, best);
    close(fd);
}

int main(void) {
    sink = open("/dev/null", O_WRONLY);
    run("getpid", 500, 12, getpid_);
    run("no_call", 500, 12, no_call);
    run("yield", 500, 12, yield);
    run("write_null", 500, 12, write_null);
    run("mmap_munmap", 100, 30, map);
    area = mmap(0, kPages * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    double least = 1e12;
    for (int k = 0; k < 5; ++k) {
        const double from = ns();
        touch();
        const double one = (ns() - from) / kPages - 4;
        if (one < least) least = one;
    }
    printf("anonymous_fault %.0f\n", least);
    signal(SIGUSR1, SIG_IGN);
    run("kill_ignored", 200, 540, kill_ignored); // with a getpid
    signal(SIGUSR1, handler);
    run("kill_handled", 200, 550, kill_ignored);

    struct perf_event_attr a = cycles();
    fd = event(&a);
    run("ioctl_disable_off", 200, 14, disable);
    run("ioctl_enable_disable", 200, 20, toggle);
    run("read_off", 200, 14, read_count);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    run("read_on", 200, 14, read_count);
    close(fd);

    a = cycles();
    a.sample_type = PERF_SAMPLE_IP;
    sample("sample_ip", &a);
    a.sample_type |= PERF_SAMPLE_REGS_USER;
    a.sample_regs_user = (1ull << 33) - 1;
    sample("sample_regs", &a);
    a.sample_type |= PERF_SAMPLE_STACK_USER;
    a.sample_stack_user = 8192;
    sample("sample_regs_stack", &a);
    signal(SIGTRAP, handler);
    a = cycles();
    a.sigtrap = a.remove_on_exec = 1;
    sample("sigtrap", &a);
    // A tick lies in a spin of its length.
    least = 1e12;
    for (int k = 0; k < 5; ++k) {
        const double from = ns();
        spin(2000000);
        const double t = ns() - from - 4000001;
        if (t < least) least = t;
    }
    printf("tick %.0f\n", least);

    struct perf_event_attr b = {0};
    b.type = PERF_TYPE_BREAKPOINT;
    b.bp_type = HW_BREAKPOINT_X;
    b.bp_addr = (uint64_t)target;
    b.bp_len = 4;
    b.exclude_kernel = 1;
    fd = event(&b);
    run("breakpoint", 200, 14, hit);
    close(fd);
    b.bp_type = HW_BREAKPOINT_W;
    b.bp_addr = (uint64_t)&watched;
    fd = event(&b);
    run("watchpoint", 200, 12, store);
    close(fd);

    struct perf_event_attr k = {0};
    k.type = (uint32_t)type_of("kprobe");
    k.config1 = (uint64_t) "__arm64_sys_getpid";
    fd = event(&k);
    run("kprobe_getpid", 200, 12, getpid_);
    close(fd);
    k.config = 1;
    fd = event(&k);
    run("kretprobe_getpid", 200, 12, getpid_);
    close(fd);
    struct perf_event_attr u = {0};
    u.type = (uint32_t)type_of("uprobe");
    u.config1 = (uint64_t) "/proc/self/exe";
    extern char __executable_start[];
    u.config2 = (uint64_t)((char*)target - __executable_start);
    fd = event(&u);
    run("uprobe_nop", 200, 14, hit);
    close(fd);
    u.config2 += 4; // the return
    fd = event(&u);
    run("uprobe_ret", 200, 14, hit);
    close(fd);
    u.config2 -= 4;
    u.config = 1;
    fd = event(&u);
    run("uretprobe", 200, 14, hit);
    return 0;
}

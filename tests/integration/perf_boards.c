// SPDX-License-Identifier: Apache-2.0
// What a perf user on an RK3588 board meets, as calls of perf_event_open: each argument names a question, the answer is
// a line "QUESTION ANSWER" (numbers, or the name of the error).
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void bind_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

// 0 if there is no such PMU
static uint32_t pmu_type(const char* name) {
    char path[128], text[32] = "";
    snprintf(path, sizeof path, "/sys/bus/event_source/devices/%s/type", name);
    const int fd = open(path, O_RDONLY);
    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) < 0) text[0] = 0;
        close(fd);
    }
    return (uint32_t)atoi(text);
}

static struct perf_event_attr event(uint32_t type, uint64_t config) {
    struct perf_event_attr attr = {.type = type, .size = sizeof attr, .config = config, .disabled = 1};
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return attr;
}

static int open_on(struct perf_event_attr* attr, int pid, int cpu, int group) {
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, 0);
}

static const char* answer(int fd) {
    if (fd < 0) return strerrorname_np(errno);
    close(fd);
    return "opens";
}

// Additions; the result is of no use.
__attribute__((noinline)) static void work(long n) {
    __asm__ volatile("1: subs %0, %0, #1\n b.ne 1b\n" : "+r"(n)::"cc");
}

struct Reading {
    uint64_t value, enabled, running;
};

static struct Reading reading(int fd) {
    struct Reading r = {0};
    if (read(fd, &r, sizeof r) != sizeof r) r.value = ~0ull;
    return r;
}

static struct Reading counted(struct perf_event_attr* attr, int pid, int cpu, int run_on) {
    struct Reading r = {~0ull, 0, 0};
    const int fd = open_on(attr, pid, cpu, -1);
    if (fd < 0) return r;
    bind_to(run_on);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    work(100000);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    r = reading(fd);
    close(fd);
    return r;
}

static const char* share(struct Reading r) {
    static char text[64];
    snprintf(text, sizeof text, "%s %s", r.value ? "counts" : "zero",
             !r.enabled               ? "never-enabled"
             : r.running == 0         ? "never-ran"
             : r.running == r.enabled ? "always-ran"
                                      : "partly-ran");
    return text;
}

static sigjmp_buf out;
static void jump(int signo) { siglongjmp(out, signo); }

static long ring_samples(struct perf_event_attr attr, long n) {
    attr.sample_type = PERF_SAMPLE_IP;
    const int fd = open_on(&attr, 0, -1, -1);
    if (fd < 0) return -errno;
    struct perf_event_mmap_page* page = mmap(NULL, 17 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) return -errno;
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    work(n);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    long samples = 0;
    char* const base = (char*)page + 4096;
    for (uint64_t at = 0; at < page->data_head;) {
        struct perf_event_header* h = (void*)(base + at % (16 * 4096));
        samples += h->type == PERF_RECORD_SAMPLE;
        at += h->size;
    }
    munmap(page, 17 * 4096);
    close(fd);
    return samples;
}

int main(int argc, char** argv) {
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    const uint32_t a55 = pmu_type("armv8_cortex_a55"), a76 = pmu_type("armv8_cortex_a76"), v3 = pmu_type("armv8_pmuv3");
    for (int i = 1; i < argc; ++i) {
        const char* q = argv[i];
        printf("%s ", q);
        if (!strcmp(q, "types")) {
            printf("%u %u %u\n", a55, a76, v3);
        } else if (!strcmp(q, "software")) {
            struct perf_event_attr attr = event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
            printf("%s\n", share(counted(&attr, 0, -1, 0)));
        } else if (!strncmp(q, "legacy-", 7)) { // legacy-C: per-task cycles of the generic type on CPU C
            struct perf_event_attr attr = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
            const struct Reading r = counted(&attr, 0, -1, atoi(q + 7));
            printf("%s\n", r.value == ~0ull ? strerrorname_np(errno) : share(r));
        } else if (!strncmp(q, "legacycpu-", 10)) { // the same with cpu = C
            struct perf_event_attr attr = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
            const struct Reading r = counted(&attr, -1, atoi(q + 10), atoi(q + 10));
            printf("%s\n", r.value == ~0ull ? strerrorname_np(errno) : share(r));
        } else if (!strncmp(q, "a76-", 4) || !strncmp(q, "a55-", 4)) { // a76-C: per-task event of that PMU on CPU C
            struct perf_event_attr attr = event(q[3 - 1] == '6' ? a76 : a55, 0x08);
            const struct Reading r = counted(&attr, 0, -1, atoi(q + 4));
            printf("%s\n", r.value == ~0ull ? strerrorname_np(errno) : share(r));
        } else if (!strcmp(q, "wrong-cpu")) {
            struct perf_event_attr attr = event(a55, 0x08);
            printf("%s\n", answer(open_on(&attr, 0, 5, -1)));
        } else if (!strcmp(q, "extended-type")) {
            struct perf_event_attr attr = event(PERF_TYPE_HARDWARE, (uint64_t)a76 << 32 | PERF_COUNT_HW_INSTRUCTIONS);
            printf("%s\n", answer(open_on(&attr, 0, -1, -1)));
        } else if (!strcmp(q, "mixed-group")) {
            struct perf_event_attr leader = event(a55, 0x08), member = event(a76, 0x08);
            const int fd = open_on(&leader, 0, -1, -1);
            printf("%s\n", answer(open_on(&member, 0, -1, fd)));
        } else if (!strcmp(q,
                           "migrate")) { // both PMUs' instructions while the task moves to the other cluster and back
            struct perf_event_attr little = event(a55, 0x08), large = event(a76, 0x08);
            little.exclude_kernel = large.exclude_kernel = 1;
            const int fd1 = open_on(&little, 0, -1, -1), fd2 = open_on(&large, 0, -1, -1);
            bind_to(3);
            ioctl(fd1, PERF_EVENT_IOC_ENABLE, 0);
            ioctl(fd2, PERF_EVENT_IOC_ENABLE, 0);
            work(100000);
            bind_to(4);
            work(300000);
            ioctl(fd2, PERF_EVENT_IOC_DISABLE, 0);
            ioctl(fd1, PERF_EVENT_IOC_DISABLE, 0);
            const struct Reading r1 = reading(fd1), r2 = reading(fd2);
            const uint64_t part = 100 * (r1.running + r2.running) / (r1.enabled ? r1.enabled : 1);
            printf("%ld %ld %d\n", (long)((r1.value + 5000) / 10000), (long)((r2.value + 5000) / 10000),
                   part >= 97 && part <= 102);
        } else if (!strncmp(q, "hw-", 3)) { // generic hardware event N, on the PMU of CPU 0 and of CPU 4
            for (int cpu = 0; cpu <= 4; cpu += 4) {
                struct perf_event_attr attr = event(PERF_TYPE_HARDWARE, (uint64_t)atoi(q + 3));
                printf("%s%c", answer(open_on(&attr, -1, cpu, -1)), cpu ? '\n' : ' ');
            }
        } else if (!strncmp(q, "cache-", 6)) { // hardware cache event, hexadecimal
            struct perf_event_attr attr = event(PERF_TYPE_HW_CACHE, strtoul(q + 6, NULL, 16));
            printf("%s\n", answer(open_on(&attr, 0, -1, -1)));
        } else if (!strncmp(q, "raw-", 4)) { // raw number, hexadecimal: on CPU 0
            struct perf_event_attr attr = event(PERF_TYPE_RAW, strtoul(q + 4, NULL, 16));
            const struct Reading r = counted(&attr, 0, -1, 0);
            printf("%s\n", r.value == ~0ull ? strerrorname_np(errno) : share(r));
        } else if (!strncmp(q, "group-", 6)) { // group-N: cycles and N others; the answer to the last one
            int leader = -1, fd = -1, last = 0;
            struct perf_event_attr attr = event(PERF_TYPE_RAW, 0x11);
            leader = open_on(&attr, 0, -1, -1);
            for (int n = atoi(q + 6); n > 0; --n) {
                struct perf_event_attr member = event(PERF_TYPE_RAW, 0x08);
                member.disabled = 0;
                fd = open_on(&member, 0, -1, leader);
                last = errno;
            }
            errno = last;
            printf("%s\n", answer(fd));
        } else if (!strncmp(q, "long-", 5)) { // long-N: a group of N 64-bit events
            int leader = -1, fd = -1, last = 0;
            for (int n = atoi(q + 5); n > 0; --n) {
                struct perf_event_attr member = event(v3 ? v3 : a55, 0x08);
                member.config1 = 1;
                member.disabled = leader < 0;
                member.enable_on_exec = leader < 0;
                fd = open_on(&member, 0, -1, leader);
                last = errno;
                if (leader < 0) leader = fd;
            }
            errno = last;
            printf("%s\n", answer(fd));
        } else if (!strcmp(q, "precise")) {
            struct perf_event_attr attr = event(PERF_TYPE_RAW, 0x11);
            attr.sample_period = 100000;
            attr.precise_ip = 3;
            printf("%s\n", answer(open_on(&attr, 0, -1, -1)));
        } else if (!strcmp(q, "samples")) { // 0x08 each 10000, in 400000 instructions
            bind_to(0);
            struct perf_event_attr attr = event(PERF_TYPE_RAW, 0x08);
            attr.sample_period = 10000;
            attr.exclude_kernel = 1;
            const long n = ring_samples(attr, 200000);
            if (n < 0) {
                printf("%s\n", strerrorname_np((int)-n));
            } else {
                printf("%ld\n", n);
            }
        } else if (!strcmp(q, "devices")) {
            const char* const names[] = {"arm_spe_0", "arm_dsu_0", "rockchip_ddr", "cpu"};
            for (int k = 0; k < 4; ++k) printf("%u%c", pmu_type(names[k]), k == 3 ? '\n' : ' ');
        } else if (!strcmp(q, "user-read")) { // MRS PMCCNTR_EL0 without leave
            signal(SIGILL, jump);
            const int signo = sigsetjmp(out, 1);
            uint64_t v = 0;
            if (!signo) __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(v));
            printf("%s\n", signo ? sigabbrev_np(signo) : "works");
        } else if (!strcmp(q, "rdpmc")) { // perf_user_access: an event that gives leave
            const int knob = open("/proc/sys/kernel/perf_user_access", O_WRONLY);
            if (knob < 0 || write(knob, "1\n", 2) != 2) printf("no-knob ");
            bind_to(0);
            struct perf_event_attr attr = event(v3 ? v3 : a55, 0x11);
            attr.config1 = 3;
            attr.exclude_kernel = 1;
            const int fd = open_on(&attr, 0, -1, -1);
            struct perf_event_mmap_page* page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
            ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
            printf("cap=%d index=%u", page->cap_user_rdpmc, page->index);
            signal(SIGILL, jump);
            const int signo = sigsetjmp(out, 1);
            uint64_t v = 0;
            if (!signo) __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(v));
            printf(" %s", signo ? sigabbrev_np(signo) : "works");
            if (a55) {
                bind_to(4);
                printf(" there=%u", page->index);
            }
            printf("\n");
        } else if (!strcmp(q, "taken")) { // 0x0C counts taken branches only: one of two is never taken
            bind_to(0);
            struct perf_event_attr attr = event(PERF_TYPE_RAW, 0x0c);
            attr.exclude_kernel = 1;
            const int fd = open_on(&attr, 0, -1, -1);
            ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
            long n = 100000;
            __asm__ volatile("1: cbnz xzr, 1b\n subs %0, %0, #1\n b.ne 1b\n" : "+r"(n)::"cc");
            ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
            printf("%llu\n", (unsigned long long)(reading(fd).value / 1000));
        } else if (!strncmp(q, "pmceid-", 7)) { // is the event named in sysfs: pmceid-PMU/NAME
            char path[256];
            char pmu[64];
            const char* slash = strchr(q + 7, '/');
            snprintf(pmu, sizeof pmu, "%.*s", (int)(slash - (q + 7)), q + 7);
            snprintf(path, sizeof path, "/sys/bus/event_source/devices/%s/events/%s", pmu, slash + 1);
            struct stat st;
            printf("%s\n", stat(path, &st) ? strerrorname_np(errno) : "named");
        } else if (!strcmp(q, "breakpoints")) { // how many of each kind fit
            int n = 0, w = 0;
            for (; n < 20; ++n) {
                struct perf_event_attr attr = event(PERF_TYPE_BREAKPOINT, 0);
                attr.bp_type = HW_BREAKPOINT_X;
                attr.bp_addr = (uintptr_t)work + 4 * (unsigned)n;
                attr.bp_len = 8;
                attr.exclude_kernel = 1;
                if (open_on(&attr, 0, -1, -1) < 0) break;
            }
            const char* const why = strerrorname_np(errno);
            static char data[256];
            for (; w < 20; ++w) {
                struct perf_event_attr attr = event(PERF_TYPE_BREAKPOINT, 0);
                attr.bp_type = HW_BREAKPOINT_W;
                attr.bp_addr = (uintptr_t)(data + 8 * w);
                attr.bp_len = 8;
                attr.exclude_kernel = 1;
                if (open_on(&attr, 0, -1, -1) < 0) break;
            }
            printf("%d %d %s\n", n, w, why);
        } else {
            printf("?\n");
        }
        fflush(stdout);
    }
    return 0;
}

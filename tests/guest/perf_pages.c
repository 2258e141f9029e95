// SPDX-License-Identifier: Apache-2.0
// What the control page says of each kind of event, sampling or not, with and without kernel.perf_user_access.
#include "perf_guest.h"

#include <linux/hw_breakpoint.h>

static void user_access(const char* value) {
    const int fd = open("/proc/sys/kernel/perf_user_access", O_WRONLY);
    write(fd, value, 1);
    close(fd);
}

static void show(const char* when, const volatile struct perf_event_mmap_page* page) {
    printf(" %s: index %d capabilities %llx width %u", when, page->index != 0, (unsigned long long)page->capabilities,
           page->pmc_width);
}

static void try(const char* name, uint32_t type, uint64_t config, uint64_t config1, uint64_t period) {
    struct perf_event_attr attr = sw_attr(config);
    attr.type = type;
    attr.config1 = config1;
    attr.sample_period = period;
    attr.exclude_kernel = 1;
    if (type == PERF_TYPE_BREAKPOINT) {
        static volatile uint64_t watched;
        attr.bp_type = HW_BREAKPOINT_W;
        attr.bp_addr = (uintptr_t)&watched;
        attr.bp_len = 8;
    }
    const int fd = perf_open(&attr, 0, -1, -1, 0);
    void* page = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    printf("%s %s period %llu:", name, config1 ? "rdpmc" : "", (unsigned long long)period);
    if (page != MAP_FAILED) {
        show("mapped", page);
        ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
        show("disabled", page);
        ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
        show("enabled", page);
        munmap(page, 4096);
    }
    printf("\n");
    close(fd);
}

int main(void) {
    bind_to(0);
    for (int access = 0; access < 2; ++access) {
        user_access(access ? "1" : "0");
        printf("user access %d\n", access);
        for (int sampled = 0; sampled < 2; ++sampled) {
            const uint64_t period = sampled ? 1000000000 : 0;
            try("cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0, period);
            try("task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 0, period);
            try("page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, period);
            try("context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 0, period);
            try("dummy", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 0, period);
            try("breakpoint", PERF_TYPE_BREAKPOINT, 0, 0, period);
            for (int flags = 0; flags < 4; ++flags) try("cycles", PERF_TYPE_RAW, 0x11, (uint64_t)flags, period);
        }
    }
    user_access("0");
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Call chains of the kernel: through an interrupt down to the system call it came into, without what is not a frame, and
// with the true caller of a function whose return is probed. [CC-041] [CC-042] [CC-043] [CORE-479]
#include "chain_guest.h"

static void through_interrupts(void) {
    const int fd = open_tracepoint("irq/irq_handler_entry");
    SHOW(fd >= 0);
    struct ring r = map_ring(fd);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    int chains = 0, through = 0, zeros = 0, ends = 0, kernel_parts = 0, user_parts = 0;
    for (int round = 0; round < 4000 && through < 20; ++round) {
        for (int i = 0; i < 50; ++i) {
            void* p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            munmap(p, 65536);
        }
        uint64_t chain[200];
        int n;
        while ((n = next_chain(&r, chain, 200)) >= 0) {
            ++chains;
            int kernel = 0, user = 0, irq = -1, last = 0;
            for (int i = 0; i < n; ++i) {
                if (chain[i] == (uint64_t)-128) { // PERF_CONTEXT_KERNEL
                    kernel = 1;
                    continue;
                }
                if (chain[i] == (uint64_t)-512) { // PERF_CONTEXT_USER
                    user = 1;
                    break;
                }
                if (!chain[i]) ++zeros;
                if (!strcmp(name_of(chain[i], 1), "el1h_64_irq")) irq = i;
                last = i;
            }
            kernel_parts += kernel;
            user_parts += user;
            // The outermost frame is that of the entry from EL0.
            const char* outermost = name_of(chain[last], 1);
            ends += !strcmp(outermost, "el0t_64_sync") || !strcmp(outermost, "el0t_64_irq");
            if (irq >= 0 && irq < last - 1 && !strcmp(outermost, "el0t_64_sync")) ++through;
        }
    }
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    SHOW(chains > 0);
    SHOW(through >= 20);
    SHOW(zeros);
    SHOW(kernel_parts == chains);
    SHOW(user_parts == chains);
    SHOW(ends == chains);
    close(fd);
}

/// A page fault inside of perf_read, whose return is probed.
static void probed_return(void) {
    struct perf_event_attr probe = {.size = sizeof probe, .type = 6, .config = 1};
    probe.kprobe_func = (uint64_t) "perf_read";
    const int kretprobe = perf_open(&probe, 0, -1, -1, 0);
    SHOW(kretprobe >= 0);
    struct perf_event_attr a = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
    a.sample_period = 1;
    a.sample_type = PERF_SAMPLE_CALLCHAIN;
    a.exclude_callchain_user = 1;
    const int fd = perf_open(&a, 0, -1, -1, 0);
    struct ring r = map_ring(fd);
    uint64_t chain[200];
    char* fresh = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    while (next_chain(&r, chain, 200) >= 0) continue;
    SHOW(read(kretprobe, fresh, 8));
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0); // looking at the names may fault, too
    int n, chains = 0, trampolines = 0, to_entry = 0;
    while ((n = next_chain(&r, chain, 200)) >= 0) {
        ++chains;
        for (int i = 1; i < n; ++i) trampolines += strstr(name_of(chain[i], i > 1), "trampoline") != NULL;
        to_entry += n > 2 && !strcmp(name_of(chain[n - 1], 1), "el0t_64_sync");
    }
    SHOW(chains);
    SHOW(trampolines);
    SHOW(to_entry);
    uint64_t hits = 0;
    read(kretprobe, &hits, 8);
    SHOW(hits);
}

int main(void) {
    read_symbols();
    SHOW(nsymbols > 100);
    through_interrupts();
    probed_return();
    return 0;
}

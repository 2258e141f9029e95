// SPDX-License-Identifier: Apache-2.0
// Two events write into one buffer: MMAP records in the task with interrupts on, samples of cycles in the overflow
// interrupt, which comes in the middle of the others again and again. [RB-027] [RB-035] [RB-036] [RB-038] [RB-078]
#include "perf_guest.h"

enum { kPages = 64, kBytes = kPages * 4096 };
static char* ring;

static struct {
    uint64_t at;
    char name[400];
} symbols[20000];
static int nsymbols;

/// Kernel functions in the order of their addresses.
static void read_symbols(void) {
    FILE* f = fopen("/proc/kallsyms", "r");
    char line[512], type;
    unsigned long long at;
    char name[400];
    while (nsymbols < 20000 && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%llx %c %399s", &at, &type, name) != 3 || (type != 't' && type != 'T')) continue;
        // Of a large kernel, only the neighbourhood.
        if (strncmp(name, "perf_", 5) && strncmp(name, "__perf", 6) && nsymbols &&
            strncmp(symbols[nsymbols - 1].name, "perf_", 5))
            continue;
        symbols[nsymbols].at = at;
        strcpy(symbols[nsymbols].name, name);
        ++nsymbols;
    }
    fclose(f);
}
static int in_a_write(uint64_t pc) {
    int found = -1;
    for (int i = 0; i < nsymbols; ++i)
        if (symbols[i].at <= pc && (found < 0 || symbols[i].at >= symbols[found].at)) found = i;
    return found >= 0 && !strncmp(symbols[found].name, "perf_output_", 12);
}

static void copy(uint64_t from, void* to, size_t n) {
    for (size_t i = 0; i < n; ++i) ((char*)to)[i] = ring[4096 + (from + i) % kBytes];
}

int main(void) {
    read_symbols();
    struct perf_event_attr maps = sw_attr(PERF_COUNT_SW_DUMMY);
    maps.mmap = maps.mmap_data = maps.sample_id_all = 1;
    maps.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
    maps.disabled = 1;
    struct perf_event_attr cycles = sw_attr(PERF_COUNT_HW_CPU_CYCLES);
    cycles.type = PERF_TYPE_HARDWARE;
    cycles.sample_period = 9973; // further apart than a sample takes
    cycles.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_IDENTIFIER;
    cycles.disabled = 1;
    int task = perf_open(&maps, 0, -1, -1, 0), irq = perf_open(&cycles, 0, -1, -1, 0);
    SHOW(task >= 0 && irq >= 0);
    ring = mmap(NULL, 4096 + kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, task, 0);
    SHOW(ring != MAP_FAILED);
    SHOW(ioctl(irq, PERF_EVENT_IOC_SET_OUTPUT, task));
    uint64_t ids[2];
    ioctl(task, PERF_EVENT_IOC_ID, &ids[0]);
    ioctl(irq, PERF_EVENT_IOC_ID, &ids[1]);

    struct perf_event_mmap_page* page = (void*)ring;
    long maps_seen = 0, samples = 0, inside = 0, torn = 0, lost = 0;
    uint64_t tail = 0;
    ioctl(task, PERF_EVENT_IOC_ENABLE, 0);
    ioctl(irq, PERF_EVENT_IOC_ENABLE, 0);
    for (int round = 0; round < 100; ++round) {
        uint64_t made[30];
        for (int i = 0; i < 30; ++i) {
            made[i] = (uintptr_t)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            munmap((void*)made[i], 8192);
        }
        int next = 0;
        const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
        while (tail < head) {
            struct perf_event_header h;
            copy(tail, &h, sizeof h);
            if (h.size < 8 || h.size % 8) return 1;
            if (h.type == PERF_RECORD_LOST) ++lost;
            // A torn record has the wrong size, somebody else's numbers, or the wrong end.
            if (h.type == PERF_RECORD_MMAP) {
                uint64_t addr = 0, len = 0, id = 0;
                copy(tail + 16, &addr, 8);
                copy(tail + 24, &len, 8);
                copy(tail + h.size - 8, &id, 8);
                torn += h.size != 40 + 8 + 5 * 8 || addr != made[next] || len != 8192 || id != ids[0];
                ++next;
                ++maps_seen;
            }
            if (h.type == PERF_RECORD_SAMPLE) {
                uint64_t id = 0, ip = 0;
                uint32_t pid = 0;
                copy(tail + 8, &id, 8);
                copy(tail + 16, &ip, 8);
                copy(tail + 24, &pid, 4);
                torn += h.size != 32 || id != ids[1] || pid != (uint32_t)getpid();
                ++samples;
                if ((h.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL) inside += in_a_write(ip);
            }
            tail += h.size;
        }
        if (tail != head) ++torn;
        __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
    }
    ioctl(irq, PERF_EVENT_IOC_DISABLE, 0);
    ioctl(task, PERF_EVENT_IOC_DISABLE, 0);
    SHOW(maps_seen);
    SHOW(samples > 100);
    SHOW(inside > 10);
    SHOW(torn);
    SHOW(lost);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Samples cycles of the kernel while two tasks on one CPU switch to and fro with events of their own, and tells where the
// samples were: in functions that run with interrupts masked, or elsewhere. Switches are recorded into the same buffer.
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBytes = 256 * 4096, kRounds = 300 };
static const char* const kMasked[] = {"event_sched_in", "event_sched_out",         "ctx_sched_in",
                                      "ctx_sched_out",  "group_sched_in",          "group_sched_out",
                                      "merge_sched_in", "perf_event_switch_output"};
static uint64_t first[16], last[16];

static void find_functions(void) {
    FILE* f = fopen("/proc/kallsyms", "r");
    char line[256], name[200], type;
    unsigned long long at;
    int open = -1;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%llx %c %199s", &at, &type, name) != 3) continue;
        if (open >= 0) last[open] = at, open = -1;
        for (unsigned i = 0; i < sizeof kMasked / sizeof *kMasked; ++i)
            if (!strcmp(name, kMasked[i])) first[open = (int)i] = at;
    }
    fclose(f);
}

static int event(uint32_t type, uint64_t config, int pid, int cpu, void (*more)(struct perf_event_attr*)) {
    struct perf_event_attr a = {.type = type, .size = sizeof a, .config = config};
    if (more) more(&a);
    return (int)syscall(SYS_perf_event_open, &a, pid, cpu, -1, 0);
}
static void switches(struct perf_event_attr* a) {
    a->context_switch = a->sample_id_all = 1;
    a->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_IDENTIFIER;
}
static void sampled(struct perf_event_attr* a) {
    a->sample_period = 20011;
    a->exclude_user = 1;
    a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
    a->wakeup_events = 1;
}

int main(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
    const int cpu = sched_getcpu();
    find_functions();
    for (int i = 0; i < 6; ++i) event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 0, -1, NULL);
    const int writer = event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, -1, cpu, switches);
    const int cycles = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, -1, cpu, sampled);
    char* ring = mmap(NULL, 4096 + kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, writer, 0);
    if (ring == MAP_FAILED || ioctl(cycles, PERF_EVENT_IOC_SET_OUTPUT, writer)) return 1;
    uint64_t id;
    ioctl(cycles, PERF_EVENT_IOC_ID, &id);
    int there[2], back[2];
    char byte = 0;
    pipe(there);
    pipe(back);
    if (!fork()) {
        for (int i = 0; i < kRounds; ++i) {
            read(there[0], &byte, 1);
            write(back[1], &byte, 1);
        }
        _exit(0);
    }
    for (int i = 0; i < kRounds; ++i) {
        write(there[1], &byte, 1);
        read(back[0], &byte, 1);
    }
    ioctl(cycles, PERF_EVENT_IOC_DISABLE, 0);
    ioctl(writer, PERF_EVENT_IOC_DISABLE, 0);
    wait(NULL);
    const uint64_t head = ((volatile struct perf_event_mmap_page*)ring)->data_head;
    unsigned samples = 0, masked = 0, switched = 0, lost = 0, torn = 0;
    for (uint64_t at = 0; at < head;) {
        const struct perf_event_header* h = (const void*)(ring + 4096 + at % kBytes);
        const uint64_t* body = (const uint64_t*)(h + 1);
        if (h->size < 8 || h->size % 8) return 2;
        at += h->size;
        if (h->type == PERF_RECORD_SWITCH_CPU_WIDE) {
            ++switched;
            torn += h->size != 8 + 8 + 16;
        }
        lost += h->type == PERF_RECORD_LOST;
        if (h->type != PERF_RECORD_SAMPLE) continue;
        ++samples;
        torn += body[0] != id || h->size != 8 + 8 * (3 + body[2]);
        for (unsigned i = 0; i < sizeof kMasked / sizeof *kMasked; ++i)
            masked += body[1] >= first[i] && body[1] < last[i];
    }
    uint64_t count = 0;
    read(cycles, &count, 8);
    printf("switches %d samples %d masked %d lost %u torn %u\n", switched >= 2 * kRounds, samples > 50, (int)masked,
           lost, torn);
    return 0;
}

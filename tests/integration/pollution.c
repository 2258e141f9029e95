// SPDX-License-Identifier: Apache-2.0
// What kernel code leaves behind in a user program's caches, TLBs and predictors.
//
//   pollution EVENT ROUNDS CALLS PLACES STEP   EVENT in hexadecimal, counted at EL0
//
// Each round walks through PLACES lines of code and of data, STEP bytes apart; CALLS system calls come between two rounds,
// uncounted. Prints the count over all rounds but the first four.
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
    if (argc < 6) return 2;
    struct perf_event_attr attr = {.type = PERF_TYPE_RAW, .size = sizeof attr, .disabled = 1, .exclude_kernel = 1};
    attr.config = strtoul(argv[1], NULL, 16);
    const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    if (fd < 0) return 3;
    const long places = atol(argv[4]), step = atol(argv[5]);
    const size_t bytes = (size_t)(places * step);
    char* data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char* code = mmap(NULL, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < bytes; i += 4096) data[i] = 1;
#define PLACE(i) ((i)*step + (i)*64 % step) // with a page for a step the places use all sets of a cache
    for (long i = 0; i + 1 < places; ++i)
        *(uint32_t*)(code + PLACE(i)) = 0x14000000 | (uint32_t)((PLACE(i + 1) - PLACE(i)) / 4);
    *(uint32_t*)(code + PLACE(places - 1)) = 0xd65f03c0;
    __builtin___clear_cache(code, code + bytes);
    for (long round = 0; round < atol(argv[2]); ++round) {
        if (round == 4) ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
        ((void (*)(void))(void*)code)();
        for (long i = 0; i < places; ++i) ((volatile char*)data)[PLACE(i)];
        for (long call = 0; call < atol(argv[3]); ++call) syscall(SYS_gettid);
    }
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    uint64_t v = 0;
    if (read(fd, &v, sizeof v) != sizeof v) return 4;
    printf("%llu\n", (unsigned long long)v);
    return 0;
}

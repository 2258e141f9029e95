// SPDX-License-Identifier: Apache-2.0
// Hits a uprobe on one of its own instructions: probes HITS [slot|simulated|return|none]. Prints the count; for measuring what
// a hit costs.
#include <elf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

void spin(uint64_t n);
extern char in_slot[], simulated[], leaf[];
__asm__(
    ".text\n.balign 64\n.global spin, in_slot, simulated, leaf\n"
    "spin:	stp x29, x30, [sp, #-16]!\n"
    "1:	bl leaf\n"
    "in_slot: subs x0, x0, #1\n"
    "simulated: b.ne 1b\n"
    "	ldp x29, x30, [sp], #16\n"
    "	ret\n"
    "leaf:	ret\n");

static uint64_t file_offset(const void* p) {
    const Elf64_Phdr* ph = (const Elf64_Phdr*)getauxval(AT_PHDR);
    const uint64_t n = getauxval(AT_PHNUM), a = (uint64_t)p;
    for (uint64_t i = 0; i < n; i++)
        if (ph[i].p_type == PT_LOAD && a - ph[i].p_vaddr < ph[i].p_memsz) return a - ph[i].p_vaddr + ph[i].p_offset;
    exit(1);
}

int main(int argc, char** argv) {
    const uint64_t hits = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000;
    const char* kind = argc > 2 ? argv[2] : "slot";
    int fd = -1;
    if (strcmp(kind, "none")) {
        char text[16] = "";
        const int type = open("/sys/bus/event_source/devices/uprobe/type", O_RDONLY);
        if (type < 0 || read(type, text, sizeof(text) - 1) <= 0) return 1;
        const void* at = !strcmp(kind, "slot") ? in_slot : !strcmp(kind, "return") ? leaf : simulated;
        struct perf_event_attr a = {.size = sizeof(a), .type = (uint32_t)atoi(text)};
        a.uprobe_path = (uint64_t) "/proc/self/exe";
        a.probe_offset = file_offset(at);
        a.config = !strcmp(kind, "return");
        fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
        if (fd < 0) {
            perror("perf_event_open");
            return 1;
        }
    }
    spin(hits);
    uint64_t count = 0;
    if (fd >= 0 && read(fd, &count, sizeof(count)) != sizeof(count)) return 1;
    printf("%s %llu\n", kind, (unsigned long long)count);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Helpers of the upr_*.c guest programs: uprobes on the program itself.
#ifndef UPR_GUEST_H
#define UPR_GUEST_H
#include "os_guest.h"

#include <link.h>
#include <linux/perf_event.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>

__attribute__((unused)) static uint64_t file_offset(const void* p) {
    const Elf64_Phdr* ph = (const Elf64_Phdr*)getauxval(AT_PHDR);
    const uint64_t n = getauxval(AT_PHNUM), a = (uint64_t)p;
    for (uint64_t i = 0; i < n; i++)
        if (ph[i].p_type == PT_LOAD && a - ph[i].p_vaddr < ph[i].p_memsz) return a - ph[i].p_vaddr + ph[i].p_offset;
    _exit(98);
}

__attribute__((unused)) static int number_in(const char* path) {
    char b[32] = "";
    const int fd = open(path, O_RDONLY);
    const ssize_t n = fd < 0 ? -1 : read(fd, b, sizeof b - 1);
    close(fd);
    return n > 0 ? atoi(b) : -1;
}

// Opens a uprobe on `offset` of `path`: a descriptor, or -1 with errno.
__attribute__((unused)) static int probe_file(const char* path, uint64_t offset, int ret, pid_t pid, int cpu) {
    struct perf_event_attr a = {.size = sizeof a};
    a.type = (uint32_t)number_in("/sys/bus/event_source/devices/uprobe/type");
    a.config = (uint64_t)ret;
    a.uprobe_path = (uint64_t)path;
    a.probe_offset = offset;
    a.inherit = pid == 0;
    return (int)syscall(SYS_perf_event_open, &a, pid, cpu, -1, 0);
}
__attribute__((unused)) static int probe(const void* at, int ret) {
    return probe_file("/proc/self/exe", file_offset(at), ret, 0, -1);
}
__attribute__((unused)) static uint64_t hits(int fd) {
    uint64_t v = ~0ull;
    return read(fd, &v, sizeof v) == sizeof v ? v : ~0ull;
}
#endif

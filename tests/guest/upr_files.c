// SPDX-License-Identifier: Apache-2.0
// Files of every file system as places of uprobes, and what tracefs says that probes can be. [UPR-001]
#include "perf_guest.h"

#include <fnmatch.h>
#include <sys/stat.h>

static void probe(const char* path) {
    struct perf_event_attr a = {.size = sizeof a};
    FILE* f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
    if (!f || fscanf(f, "%u", &a.type) != 1) return;
    fclose(f);
    a.uprobe_path = (uint64_t)path;
    const int fd = perf_open(&a, 0, -1, -1, 0);
    printf("%s: %s\n", path, fd < 0 ? strerrorname_np(errno) : "probed");
    if (fd >= 0) close(fd);
}

int main(void) {
    static const char* const places[] = {"/sys/kernel/notes",
                                         "/sys/devices/system/cpu/online",
                                         "/sys/kernel/tracing/README",
                                         "/proc/kallsyms",
                                         "/proc/self/maps",
                                         "/proc/self/exe",
                                         "/dev/null",
                                         "/dev/zero",
                                         "/sys",
                                         "/proc",
                                         "/tmp"};
    for (unsigned i = 0; i < sizeof places / sizeof *places; ++i) probe(places[i]);
    char file[] = "/tmp/upr-XXXXXX";
    const int fd = mkstemp(file);
    SHOW(write(fd, "abcd", 4));
    // What perf probe looks for.
    static const char* const patterns[] = {"*Create/append/*", "*type: * x8/16/32/64,*", "*place (kretprobe): *",
                                           "*ref_ctr_offset*", "*u]<offset>*",           "*\\\\imm-value,*"};
    static char readme[65536];
    FILE* f = fopen("/sys/kernel/tracing/README", "r");
    SHOW(f != NULL);
    if (f) readme[fread(readme, 1, sizeof readme - 1, f)] = 0;
    for (unsigned i = 0; i < sizeof patterns / sizeof *patterns; ++i)
        printf("%s: %d\n", patterns[i], fnmatch(patterns[i], readme, 0) == 0);
    unlink(file);
    return 0;
}

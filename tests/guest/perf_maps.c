// SPDX-License-Identifier: Apache-2.0
// MMAP and MMAP2 records of mappings that are not pages of a file on a disk: the stack of a program with few and with
// many arguments, /dev/zero, a buffer of events itself; and which mappings may grow downwards.
#include "perf_guest.h"

static const char* result(const void* p) { return p == MAP_FAILED ? strerrorname_np(errno) : "ok"; }

static int events(int mmap2, struct perf_event_mmap_page** page) {
    struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_DUMMY);
    attr.mmap = attr.mmap_data = attr.inherit = 1;
    attr.mmap2 = (unsigned)mmap2;
    const int fd = perf_open(&attr, 0, 0, -1, 0);
    *page = mmap(NULL, 33 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return fd;
}

static void show(struct perf_event_mmap_page* page) {
    const char* data = (const char*)page + 4096;
    for (uint64_t at = 0; at < page->data_head;) {
        const struct perf_event_header* header = (const void*)(data + at);
        const uint64_t* words = (const void*)(header + 1);
        const int second = header->type == PERF_RECORD_MMAP2;
        const char* name = (const char*)(words + (second ? 8 : 4));
        const int stack = !strcmp(name, "[stack]");
        if (stack || strstr(name, "zero") || strstr(name, "perf_event")) {
            printf("%s %s length %#llx ", second ? "MMAP2" : "MMAP", name, (unsigned long long)words[2]);
            // Where a stack ends is random; its offset is that of a stack at the very top.
            if (stack)
                printf("offset and length %#llx", (unsigned long long)(words[3] + words[2]));
            else
                printf("offset %#llx", (unsigned long long)words[3]);
            if (second && !stack && !strstr(name, "zero")) printf(" inode %d", words[5] != 0);
            printf("\n");
        }
        at += header->size;
    }
    page->data_tail = page->data_head;
}

static void run(size_t argument) {
    static char text[100000];
    memset(text, 'x', sizeof text);
    text[argument] = 0;
    char* arguments[] = {"perf_maps", "child", text, NULL};
    char* none[] = {NULL};
    fflush(stdout);
    const int pid = fork();
    if (!pid) {
        execve("/proc/self/exe", arguments, none);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
}

int main(int argc, char** argv) {
    (void)argv;
    if (argc > 1) return 0;
    bind_to(0);
    for (int mmap2 = 0; mmap2 < 2; ++mmap2) {
        struct perf_event_mmap_page* page;
        const int fd = events(mmap2, &page), zero = open("/dev/zero", O_RDWR);
        for (int i = 0; i < 2; ++i) {
            char* p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, i ? MAP_SHARED : MAP_PRIVATE, zero, 8192);
            mprotect(p + 4096, 4096, PROT_READ);
            p[0] = 1;
            munmap(p, 3 * 4096);
        }
        close(zero);
        static const size_t kSizes[] = {1, 4050, 4100, 20000, 99999};
        for (size_t i = 0; i < sizeof kSizes / sizeof *kSizes; ++i) run(kSizes[i]);
        mprotect(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), 4096, PROT_NONE);
        show(page);
    }
    const int self = open("/proc/self/exe", O_RDONLY), zero = open("/dev/zero", O_RDWR),
              null = open("/dev/null", O_RDWR);
    const struct {
        const char* what;
        int fd, flags;
    } kMaps[] = {{"a file, private", self, MAP_PRIVATE},
                 {"a file, shared", self, MAP_SHARED},
                 {"zeros, private", zero, MAP_PRIVATE},
                 {"zeros, shared", zero, MAP_SHARED},
                 {"null, private", null, MAP_PRIVATE},
                 {"nothing, private", -1, MAP_PRIVATE | MAP_ANONYMOUS},
                 {"nothing, shared", -1, MAP_SHARED | MAP_ANONYMOUS}};
    for (size_t i = 0; i < sizeof kMaps / sizeof *kMaps; ++i)
        printf("growing downwards, %s: %s\n", kMaps[i].what,
               result(mmap(NULL, 8192, PROT_READ, kMaps[i].flags | MAP_GROWSDOWN, kMaps[i].fd, 0)));
    return 0;
}

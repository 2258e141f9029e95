// SPDX-License-Identifier: Apache-2.0
// What the records of an exec say of the program's mappings, the vDSO's above all: [CORE-420] addresses, lengths, names.
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct record {
    struct perf_event_header h;
    unsigned pid, tid;
    unsigned long addr, len, pgoff;
};
struct record2 {
    struct record r;
    unsigned maj, min;
    unsigned long ino, generation;
    unsigned prot, flags;
    char name[];
};

static void run(int mmap2, int data) {
    struct perf_event_attr a = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .size = sizeof a, .disabled = 1};
    a.enable_on_exec = 1;
    a.mmap = 1, a.mmap2 = (unsigned)mmap2, a.mmap_data = (unsigned)data;
    int says[2], go[2];
    pipe(says), pipe(go);
    const pid_t child = fork();
    if (!child) {
        char c;
        dup2(says[1], 1);
        read(go[0], &c, 1);
        char* argv[] = {"perf_vdso", "child", NULL};
        execv("/proc/self/exe", argv);
        _exit(9);
    }
    const int fd = (int)syscall(SYS_perf_event_open, &a, child, -1, -1, 0);
    struct perf_event_mmap_page* page = mmap(NULL, 9 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    write(go[1], "x", 1);
    unsigned long vdso = 0;
    read(says[0], &vdso, sizeof vdso);
    waitpid(child, NULL, 0);
    printf("mmap2 %d, mmap_data %d\n", mmap2, data);
    for (unsigned long at = 0; at < page->data_head;) {
        const struct record2* m = (void*)((char*)page + 4096 + at);
        at += m->r.h.size;
        if (m->r.h.type != PERF_RECORD_MMAP && m->r.h.type != PERF_RECORD_MMAP2) continue;
        const char* name = mmap2 ? m->name : (const char*)(&m->r + 1);
        const char* base = strrchr(name, '/');
        const int special = name[0] == '[';
        if (!special && !(base && !strcmp(base, "/perf_vdso"))) continue;
        printf("type %u misc %x %s", m->r.h.type, m->r.h.misc, special ? name : base + 1);
        if (strcmp(name, "[vdso]") == 0) printf(" at AT_SYSINFO_EHDR %d, size %u", m->r.addr == vdso, m->r.h.size);
        if (special && strcmp(name, "[stack]") && strcmp(name, "[heap]"))
            printf(" length %lx pgoff %lx", m->r.len, m->r.pgoff);
        if (mmap2) printf(" prot %u flags %x file %d", m->prot, m->flags, m->ino != 0);
        printf("\n");
    }
    close(fd);
    munmap(page, 9 * 4096);
}

int main(int argc, char** argv) {
    (void)argv;
    if (argc > 1) {
        const unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
        write(1, &vdso, sizeof vdso);
        return 0;
    }
    run(0, 0);
    run(1, 0);
    run(0, 1);
    run(1, 1);
    char line[512];
    FILE* f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f)) {
        unsigned long from, to;
        char prot[8];
        if (!strstr(line, "[v") || sscanf(line, "%lx-%lx %7s", &from, &to, prot) != 3) continue;
        printf("%s %lx %s", prot, to - from, strchr(line, '['));
    }
    return 0;
}

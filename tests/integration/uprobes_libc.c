// SPDX-License-Identifier: Apache-2.0
// Uprobes on the functions of the C library that this program is dynamically linked with, found by the unwind tables of the
// library's file: on those of a seeded sample one at a time, then on all of them at once. What the program computes, and
// what a child prints from its first instruction to its last, stays the same. Then a hundred threads share one probe.
//
// uprobes_libc [SAMPLE]: 0 takes every function. With the argument "child": what the child prints.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/perf_event.h>
#include <locale.h>
#include <pthread.h>
#include <regex.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 20000, kThreads = 100, kHits = 10000, kNotSupported = 524 };

// --- what the library is asked for ---

static uint64_t mix(uint64_t h, const void* p, size_t n) {
    for (size_t i = 0; i < n; i++) h = (h ^ ((const uint8_t*)p)[i]) * 1099511628211ull;
    return h;
}

static int compare(const void* a, const void* b) {
    const int x = *(const int*)a, y = *(const int*)b;
    return (x > y) - (x < y);
}

static sigjmp_buf back;
static void jumps(int signo) { siglongjmp(back, signo); }

// A task's events are made anew for a child that it forks, from the path that its memory holds: after exec there is none,
// and fork fails, so that what has been executed anew forks no more.
static size_t work(char* text, size_t room, bool forks) {
    int v[64];
    for (int i = 0; i < 64; i++) v[i] = (i * 7919) % 101;
    qsort(v, 64, sizeof *v, compare);
    FILE* f = fmemopen(text, room, "w");
    for (int i = 0; i < 6; i++)
        fprintf(f, "%d:%s:%.3f:%a:%lx;", v[i * 8], "word", v[i] * 1.25 + 0.5, v[i] / 3.0, v[i] * 977l);
    const time_t t = 1700000000;
    struct tm tm;
    char day[64];
    strftime(day, sizeof day, "%A %F %T", gmtime_r(&t, &tm));
    fprintf(f, "%s %ld;", day, (long)timegm(&tm));
    fprintf(f, "%ld %g %s;", strtol("0x1234", NULL, 0), strtod("2.5e3", NULL), strstr("haystack needle", "needle"));
    regex_t r;
    regmatch_t m[2];
    fprintf(f, "%d", regcomp(&r, "b([a-z]+)[0-9]*$", REG_EXTENDED));
    fprintf(f, " %d", regexec(&r, "a word bcd42", 2, m, 0));
    fprintf(f, " %d %d;", (int)m[1].rm_so, (int)m[1].rm_eo);
    regfree(&r);
    char* copies[40];
    for (int i = 0; i < 40; i++) {
        copies[i] = malloc((size_t)(i * 131 + 1));
        memset(copies[i], i, (size_t)(i * 131 + 1));
    }
    for (int i = 0; i < 40; i += 2) copies[i] = realloc(copies[i], 7000);
    for (int i = 0; i < 40; i++) free(copies[i]);
    char words[] = "one two,three";
    for (char *save = NULL, *w = strtok_r(words, " ,", &save); w; w = strtok_r(NULL, " ,", &save)) fprintf(f, "%s|", w);
    signal(SIGUSR1, jumps);
    const int signo = sigsetjmp(back, 1);
    if (!signo) raise(SIGUSR1);
    fprintf(f, "%d %s;", signo, strsignal(signo));
    FILE* self = fopen("/proc/self/comm", "r");
    char line[64] = "";
    if (!fgets(line, sizeof line, self)) strcpy(line, "none");
    fclose(self);
    fprintf(f, "%zu %s;", strlen(line), strerror(ENOENT));
    void* tree = NULL;
    for (int i = 0; i < 20; i++) tsearch(&v[i * 3], &tree, compare);
    fprintf(f, "%d", tfind(&v[9], &tree, compare) != NULL);
    while (tree) tdelete(*(void**)tree, &tree, compare);
    int status = 0;
    const pid_t pid = forks ? fork() : 0;
    if (forks && !pid) _exit(9);
    while (forks && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    fprintf(f, " %x\n", status);
    const long n = ftell(f);
    fclose(f);
    return (size_t)n;
}

static uint64_t result(void) {
    static char text[4096];
    return mix(14695981039346656037ull, text, work(text, sizeof text, true));
}

// What a child of this program prints, the dynamic loader's work included.
static uint64_t child(void) {
    int p[2];
    if (pipe(p)) exit(3);
    const pid_t pid = fork();
    if (!pid) {
        dup2(p[1], 1);
        close(p[0]);
        execl("/proc/self/exe", "uprobes_libc", "child", NULL);
        _exit(127);
    }
    close(p[1]);
    uint64_t h = 14695981039346656037ull;
    char text[512];
    for (ssize_t n; (n = read(p[0], text, sizeof text)) > 0;) h = mix(h, text, (size_t)n);
    close(p[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    return h + (uint64_t)status;
}

// --- the library's functions, by the offset in its file ---

static struct library {
    const char* path;
    uint64_t base;
    const ElfW(Phdr) * ph;
    int phnum;
} libc;
static uint64_t functions[kMost];
static int count;

static int find_library(struct dl_phdr_info* info, size_t size, void* unused) {
    (void)size, (void)unused;
    if (!strstr(info->dlpi_name, "libc.so")) return 0;
    libc = (struct library){strdup(info->dlpi_name), info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum};
    return 1;
}

static uint64_t offset_of(uint64_t va) {
    for (int i = 0; i < libc.phnum; i++) {
        const ElfW(Phdr)* p = &libc.ph[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && va - p->p_vaddr < p->p_memsz)
            return va - p->p_vaddr + p->p_offset;
    }
    return 0;
}

// .eh_frame_hdr: four bytes of encodings, the address of .eh_frame, a count, and the sorted table (LSB core, 10.6.2).
static void find_functions(void) {
    for (int i = 0; i < libc.phnum; i++) {
        if (libc.ph[i].p_type != PT_GNU_EH_FRAME) continue;
        const uint8_t* header = (const uint8_t*)(libc.base + libc.ph[i].p_vaddr);
        const int32_t* words = (const int32_t*)header;
        if (header[0] != 1 || header[2] != 3 || header[3] != 0x3b) exit(4);
        for (int k = 0; k < words[2] && count < kMost; k++) {
            const uint64_t offset = offset_of(libc.ph[i].p_vaddr + (uint64_t)(int64_t)words[3 + 2 * k]);
            if (offset && (!count || functions[count - 1] != offset)) functions[count++] = offset;
        }
    }
}

static int type;
static int probe_at(uint64_t offset) {
    struct perf_event_attr a = {.size = sizeof a, .type = (uint32_t)type, .inherit = 1};
    a.uprobe_path = (uint64_t)libc.path;
    a.probe_offset = offset;
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
}
static uint64_t hits(int fd) {
    uint64_t v = ~0ull;
    return read(fd, &v, sizeof v) == sizeof v ? v : ~0ull;
}
static bool refused(int error) { return error == EINVAL || error == kNotSupported; }

static uint64_t seed = 20240607;
static uint64_t next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

// --- many threads ---

static int (*volatile abs_of)(int) = abs; // no call that the compiler puts in place
static void* runner(void* p) {
    long n = 0;
    for (int i = 0; i < kHits; i++) n += abs_of(i % 60 - 30);
    *(long*)p = n;
    return NULL;
}

static void threads(uint64_t offset) {
    static pthread_t t[kThreads];
    static long sum[kThreads];
    const int fd = probe_at(offset);
    long all = 0;
    for (int i = 0; i < kThreads; i++) pthread_create(&t[i], NULL, runner, &sum[i]);
    for (int i = 0; i < kThreads; i++) pthread_join(t[i], NULL), all += sum[i];
    printf("threads: sum %ld, hits %lu\n", all, hits(fd));
    close(fd);
}

int main(int argc, char** argv) {
    if (argc > 1 && !strcmp(argv[1], "child")) {
        char text[4096];
        return fwrite(text, 1, work(text, sizeof text, false), stdout) == 0;
    }
    const int sample = argc > 1 ? atoi(argv[1]) : 100;
    char text[16] = "";
    const int fd = open("/sys/bus/event_source/devices/uprobe/type", O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) return 1;
    type = atoi(text);
    close(fd);
    dl_iterate_phdr(find_library, NULL);
    find_functions();
    const uint64_t want = result(), printed = child();
    printf("functions: %d\n", count > 3000);

    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < kMost ? limit.rlim_max : kMost;
    setrlimit(RLIMIT_NOFILE, &limit);

    int tried = 0, no = 0, other = 0, wrong = 0, used = 0;
    for (int i = 0; i < (sample ? sample : count); i++) {
        const uint64_t at = functions[sample ? next_random() % (uint64_t)count : (uint64_t)i];
        const int one = probe_at(at);
        tried++;
        if (one < 0) {
            no += refused(errno);
            other += !refused(errno);
            continue;
        }
        if (result() != want && ++wrong < 10) printf("not the same with a probe at 0x%lx\n", at);
        used += hits(one) > 0;
        close(one);
    }
    printf("one at a time: refused few %d, other errors %d, wrong %d, some hit %d\n", no * 10 < tried, other, wrong,
           used > 0);
    if (!sample) fprintf(stderr, "%d tried, %d refused, %d hit\n", tried, no, used);

    static int all[kMost];
    int opened = 0;
    no = other = 0;
    for (int i = 0; i < count; i++) {
        all[opened] = probe_at(functions[i]);
        if (all[opened] >= 0) {
            opened++;
        } else {
            no += refused(errno);
            other += !refused(errno);
        }
    }
    const bool same = result() == want, child_same = child() == printed;
    uint64_t sum = 0;
    used = 0;
    for (int i = 0; i < opened; i++) {
        const uint64_t n = hits(all[i]);
        sum += n;
        used += n > 0;
    }
    for (int i = 0; i < opened; i++) close(all[i]);
    printf("all at once: refused few %d, other errors %d, same %d, child the same %d, many hit %d, afterwards %d\n",
           no * 10 < count, other, same, child_same, used > 150, result() == want);
    if (!sample) fprintf(stderr, "%d at once, %d refused, %d hit, %lu hits\n", opened, no, used, sum);
    threads(offset_of((uint64_t)abs_of - libc.base));
    return 0;
}

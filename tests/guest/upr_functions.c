// SPDX-License-Identifier: Apache-2.0
// Uprobes on the functions of a real C library, the one this program is linked with: on those of a seeded sample one at a
// time (with the argument "all": on every one), on all of them at once, and on every instruction of some of the program's
// own. What is computed stays the same, and what Linux refuses it refuses with its errors.
#include "upr_guest.h"

#include <elf.h>
#include <stdbool.h>
#include <sys/stat.h>

enum { kSample = 120, kMost = 20000 };

static struct function {
    uint64_t start, size;
    const char* name;
} functions[kMost];
static int count;

static uint64_t seed = 20240607;
static uint64_t next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static int by_start(const void* a, const void* b) {
    const struct function *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void find_functions(void) {
    const int fd = open("/proc/self/exe", O_RDONLY);
    struct stat s;
    fstat(fd, &s);
    const char* elf = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    const Elf64_Ehdr* h = (const Elf64_Ehdr*)elf;
    const Elf64_Shdr* sections = (const Elf64_Shdr*)(elf + h->e_shoff);
    int n = 0;
    for (int i = 0; i < h->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB) continue;
        const Elf64_Sym* symbols = (const Elf64_Sym*)(elf + sections[i].sh_offset);
        const char* names = elf + sections[sections[i].sh_link].sh_offset;
        for (uint64_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++) {
            const Elf64_Sym* f = &symbols[k];
            const int type = ELF64_ST_TYPE(f->st_info);
            if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !f->st_shndx || !f->st_size || n == kMost) continue;
            functions[n++] = (struct function){f->st_value, f->st_size, names + f->st_name};
        }
    }
    qsort(functions, (size_t)n, sizeof *functions, by_start);
    for (int i = 0; i < n; i++) // aliases once
        if (!i || functions[i].start != functions[count - 1].start) functions[count++] = functions[i];
}

static int compare(const void* a, const void* b) {
    const int x = *(const int*)a, y = *(const int*)b;
    return (x > y) - (x < y);
}

static uint64_t mix(uint64_t h, const void* p, size_t n) {
    for (size_t i = 0; i < n; i++) h = (h ^ ((const uint8_t*)p)[i]) * 1099511628211ull;
    return h;
}

static uint64_t work(void) {
    char text[256] = "", other[256];
    int v[32];
    for (int i = 0; i < 32; i++) v[i] = (i * 7919) % 101;
    qsort(v, 32, sizeof *v, compare);
    int n = 0;
    for (int i = 0; i < 4; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%d:%s:%.3f:%lx;", v[i * 8], "word", v[i] * 1.25,
                      (long)v[i] * 977);
    memset(other, 7, sizeof other);
    memcpy(other + 1, text, (size_t)n);
    char* p = strdup(text);
    const long parsed =
        strtol("1234", NULL, 0) + (long)strtod("2.5e3", NULL) + (long)strlen(p) + (strstr(p, "word") - p);
    free(p);
    return mix(mix(14695981039346656037ull, v, sizeof v), other, sizeof other) + (uint64_t)parsed;
}

static int type;
static int probe_at(uint64_t address) {
    struct perf_event_attr a = {.size = sizeof a, .type = (uint32_t)type};
    a.uprobe_path = (uint64_t) "/proc/self/exe";
    a.probe_offset = file_offset((const void*)address);
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
}

static uint64_t want, total;
// Probes one instruction, works, and says whether the result was the same; `refused`: Linux does not take it.
static bool same_with(uint64_t address, bool* refused) {
    const int fd = probe_at(address);
    *refused = fd < 0;
    if (fd < 0) return errno == EINVAL || errno == 524;
    const bool same = work() == want;
    total += hits(fd);
    close(fd);
    return same;
}

// Exclusives are refused, and a probe between two makes the store fail; a literal for a vector register is loaded beside
// the slot: so on Linux.
static bool spoils(uint64_t at) {
    const uint32_t i = *(const uint32_t*)at;
    return (i & 0x3f000000) == 0x08000000 || (i & 0x3f000000) == 0x1c000000;
}

// Every instruction of these, where the library has them under the name; of the second kind only some unless all are asked for.
static const char* const kOwn[] = {"work", "compare", "mix", "next_random", "snprintf", "strdup", "strtol"};
static const char* const kLarge[] = {
    "__vfprintf_internal",   "__printf_fp_l",         "_int_malloc", "_int_free",
    "____strtod_l_internal", "____strtol_l_internal", "qsort_r",     "_IO_default_xsputn"};
static bool among(const char* name, const char* const* list, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (!strcmp(name, list[i])) return true;
    return false;
}
#define AMONG(name, list) among(name, list, sizeof(list) / sizeof *(list))

int main(int argc, char** argv) {
    type = number_in("/sys/bus/event_source/devices/uprobe/type");
    find_functions();
    want = work();
    say("functions of a C library: %d", count > 800);
    const bool all = argc > 1 && !strcmp(argv[1], "all");
    int same = 0, refused = 0, tried = 0;
    for (int i = 0; i < (all ? count : kSample); i++) {
        const struct function* f = &functions[all ? (uint64_t)i : next_random() % (uint64_t)count];
        bool no;
        if (same_with(f->start, &no))
            same++;
        else
            say("not the same with %s", f->name);
        refused += no;
        tried++;
    }
    say("one at a time: same %d, refused few %d", same == tried, refused * 10 < tried);
    if (all) say("%d functions, %d refused, %lu hits", count, refused, total);

    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < kMost ? limit.rlim_max : kMost;
    setrlimit(RLIMIT_NOFILE, &limit);
    static int fd[kMost];
    int opened = 0, failed = 0;
    for (int i = 0; i < count; i++) {
        fd[opened] = probe_at(functions[i].start);
        if (fd[opened] >= 0)
            opened++;
        else
            failed += errno != EINVAL && errno != 524;
    }
    same = 1;
    for (int i = 0; i < 3; i++) same &= work() == want;
    total = 0;
    for (int i = 0; i < opened; i++) {
        total += hits(fd[i]);
        close(fd[i]);
    }
    say("all at once: most of them %d, other errors %d, same %d, hits %d, afterwards %d", opened * 10 > count * 9,
        failed, same, total > 3000, work() == want);
    if (all) say("%d at once, %lu hits", opened, total);

    int instructions = 0, hit = 0, wrong = 0;
    refused = 0;
    for (int i = 0; i < count; i++) {
        const struct function* f = &functions[i];
        const bool own = AMONG(f->name, kOwn);
        if (!own && !AMONG(f->name, kLarge)) continue;
        for (uint64_t at = f->start; at < f->start + f->size; at += 4) {
            if (spoils(at) || (!own && !all && next_random() % 40)) continue;
            bool no;
            total = 0;
            if (!same_with(at, &no) && ++wrong < 10)
                say("not the same with %s+0x%lx: %08x", f->name, at - f->start, *(const uint32_t*)at);
            refused += no;
            hit += total != 0;
            instructions++;
        }
    }
    say("every instruction: more than 150 %d, most were hit %d, wrong %d", instructions > 150, hit * 3 > instructions,
        wrong);
    if (all) say("%d instructions, %d hit, %d refused", instructions, hit, refused);
    return 0;
}

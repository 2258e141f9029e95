// SPDX-License-Identifier: Apache-2.0
// Mappings of a probed file made, cut, moved, protected, dropped and written at random, probes opened and closed meanwhile: after
// each step all words in memory and all counts are Linux's. Which mappings grow together decides where probes appear
// [UPR-026].
#include "upr_guest.h"

enum { kSlots = 8, kPages = 4, kStride = 8, kProbes = 16, kWords = 3 };
static const uint32_t kAdd = 0x91000400, kRet = 0xd65f03c0; // add x0, x0, #1; ret
typedef long (*add_fn)(long);

static uint64_t seed;
static uint32_t rnd(uint32_t n) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % n;
}

static char *base, name[32];
static int file, probes[kProbes];

static long memory(char* at, uint32_t* word, int write) {
    const int fd = open("/proc/self/mem", O_RDWR);
    const long r = write ? pwrite(fd, word, 4, (off_t)at) : pread(fd, word, 4, (off_t)at);
    const long result = r < 0 ? -errno : r;
    close(fd);
    return result;
}

static long toggle(void) {
    const uint32_t i = rnd(kProbes);
    if (probes[i] >= 0) {
        close(probes[i]);
        probes[i] = -1;
        return 1;
    }
    struct perf_event_attr a = {.size = sizeof a};
    rnd(8);
    a.type = (uint32_t)number_in("/sys/bus/event_source/devices/uprobe/type");
    a.config = (i & 1) | (rnd(4) == 0 ? 2 * PAGE << 32 : 0); // a counter for some: a place has only one
    a.uprobe_path = (uint64_t)name;
    a.probe_offset = rnd(kPages) * PAGE;
    a.probe_offset += rnd(kWords) * 8;
    probes[i] = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
    return probes[i] < 0 ? -errno : 2;
}

static long run(char* at, int child) {
    long sum = 0;
    const pid_t p = child ? fork() : 0;
    if (p) {
        int status;
        waitpid(p, &status, 0);
        return WIFEXITED(status) ? status * 1000 + run(at, 0) : status;
    }
    for (int t = 0; t < kWords; t++) sum += ((add_fn)(at + t * 8))(t);
    if (child) _exit(sum & 127);
    return sum;
}

static long seen_by_child(char* at) {
    const pid_t p = fork();
    int status;
    if (!p) {
        int e = 0;
        for (int t = 0; t < kWords; t++) {
            uint32_t word = 0;
            memory(at + t * 8, &word, 0);
            e = e * 3 + (word == 0xd42000a0 ? 1 : word != kAdd ? 2 : 0);
        }
        _exit(e);
    }
    waitpid(p, &status, 0);
    return status;
}

static long step(uint32_t kind, char* at, uint32_t page, uint32_t pages) {
    static const int protections[] = {5, 1, 3, 7, 0, 4, 5, 5};
    const size_t n = pages * PAGE;
    uint32_t word;
    long r;
    switch (kind) {
        case 0:
        case 1: r = (long)mmap(at, n, protections[rnd(8)], MAP_PRIVATE | MAP_FIXED, file, page * PAGE); break;
        case 2: r = munmap(at, n); break;
        case 3:
        case 4: r = mprotect(at, n, protections[rnd(8)]); break;
        case 5:
        case 6: return toggle();
        case 7: {
            const uint32_t slot = rnd(kSlots);
            r = (long)mremap(at, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, base + (slot * kStride + rnd(kPages)) * PAGE);
            break;
        }
        case 8: r = madvise(at, n, rnd(2) ? MADV_DONTNEED : MADV_WILLNEED); break;
        case 9: word = kAdd | rnd(4) << 10; return memory(at + rnd(kWords) * 8, &word, 1);
        case 10: return seen_by_child(at);
        case 11: {
            word = kAdd | rnd(2) << 10;
            const uint32_t to = rnd(kPages);
            return pwrite(file, &word, 4, to * PAGE + rnd(kWords) * 8);
        }
        default: return run(at, 1);
    }
    return r == -1 ? -errno : 0;
}

static uint32_t words(void) {
    uint32_t h = 0;
    for (int s = 0; s < kSlots; s++)
        for (int p = 0; p < kPages; p++)
            for (int t = 0; t < kWords; t++) {
                uint32_t word;
                h = h * 33 + (memory(base + (s * kStride + p) * PAGE + t * 8, &word, 0) == 4 ? word : 5);
            }
    return h;
}

static void story(void) {
    static uint32_t text[kPages * 1024];
    snprintf(name, sizeof name, "/tmp/upr_maps.so");
    file = open(name, O_CREAT | O_TRUNC | O_RDWR, 0755);
    for (int i = 0; i < kPages * 1024; i++) text[i] = i & 1 ? kRet : kAdd;
    write(file, text, sizeof text);
    base = mmap(NULL, kSlots * 2 * kStride * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < kProbes; i++) probes[i] = -1;
    for (int n = 0; n < 240; n++) {
        const uint32_t kind = rnd(14), slot = rnd(kSlots), page = rnd(kPages), pages = 1 + rnd(kPages - page);
        const long r = step(kind, base + (slot * kStride + page) * PAGE, page, pages);
        uint64_t counts = 0;
        for (int i = 0; i < kProbes; i++)
            if (probes[i] >= 0) counts = counts * 31 + hits(probes[i]) + 1;
        say("%d: kind %u at %u.%u, %u pages: %ld, counts %lx, memory %x", n, kind, slot, page, pages, r,
            counts & 0xffffff, words());
    }
}

int main(void) {
    mkdir("/tmp", 0777);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    for (int i = 0; i < 5; i++) {
        seed = 2000 + (uint64_t)i;
        in_child("story", story);
    }
    return 0;
}

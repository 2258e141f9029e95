// SPDX-License-Identifier: Apache-2.0
// Finds the binaries that samples fell into and reads their GNU build ids.
#include "buildid.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ID_MAX = 20, BUCKETS = 256, CHUNK = 1 << 16, MISC_ID_SIZE = 1 << 15 };

struct dso {
    char* path;
    bool hit;
};

struct map {
    uint64_t start, end;
    int pid, dso;
    struct map* next;
};

struct parent {
    int pid, ppid;
    struct parent* next;
};

struct scan {
    const struct evlist* list;
    struct dso* dsos;
    int dso_count;
    struct map* maps[BUCKETS];
    struct parent* parents[BUCKETS];
    bool kernel_hit, maps_wanted;
    struct scan_result* out;
};

// Looks for the GNU build id among notes; their parts are padded to 4 bytes.
static size_t id_in_notes(const unsigned char* p, size_t n, unsigned char* id) {
    while (n >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr h;
        memcpy(&h, p, sizeof(h));
        size_t name = (h.n_namesz + 3u) & ~3u, desc = (h.n_descsz + 3u) & ~3u;
        if (name > n || desc > n || sizeof(h) + name + desc > n) break;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(p + sizeof(h), "GNU", 4)) {
            size_t size = h.n_descsz < ID_MAX ? h.n_descsz : ID_MAX;
            memcpy(id, p + sizeof(h) + name, size);
            return size;
        }
        p += sizeof(h) + name + desc;
        n -= sizeof(h) + name + desc;
    }
    return 0;
}

static bool read_at(int fd, void* p, size_t n, uint64_t at) { return pread(fd, p, n, (off_t)at) == (ssize_t)n; }

static size_t id_of_file(const char* path, unsigned char* id) {
    enum { NOTES_MAX = 1 << 16, SEGMENTS_MAX = 64 };
    Elf64_Ehdr e;
    size_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    if (read_at(fd, &e, sizeof(e), 0) && !memcmp(e.e_ident, ELFMAG, SELFMAG) && e.e_ident[EI_CLASS] == ELFCLASS64 &&
        e.e_phentsize == sizeof(Elf64_Phdr))
        for (int i = 0; i < e.e_phnum && i < SEGMENTS_MAX && !size; i++) {
            Elf64_Phdr h;
            if (!read_at(fd, &h, sizeof(h), e.e_phoff + (uint64_t)i * sizeof(h))) break;
            if (h.p_type != PT_NOTE || h.p_filesz > NOTES_MAX) continue;
            unsigned char* notes = xmalloc(h.p_filesz);
            if (read_at(fd, notes, h.p_filesz, h.p_offset)) size = id_in_notes(notes, h.p_filesz, id);
            free(notes);
        }
    close(fd);
    return size;
}

static size_t id_of_kernel(unsigned char* id) {
    unsigned char notes[4096];
    int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, notes, sizeof(notes));
    close(fd);
    return n > 0 ? id_in_notes(notes, (size_t)n, id) : 0;
}

static void add_id(struct buffer* b, uint16_t mode, const char* name, const unsigned char* id, size_t size) {
    size_t padded = (strlen(name) + 1 + 63) / 64 * 64;
    unsigned char field[24] = {0};
    struct perf_event_header h = {.misc = mode | MISC_ID_SIZE, .size = (uint16_t)(36 + padded)};
    memcpy(field, id, size);
    field[ID_MAX] = (unsigned char)size;
    buffer_add(b, &h, sizeof(h));
    buffer_u32(b, UINT32_MAX); // the host, not a guest
    buffer_add(b, field, sizeof(field));
    buffer_add(b, name, strlen(name));
    buffer_zero(b, padded - strlen(name));
}

static int find_dso(struct scan* s, const char* path) {
    for (int i = 0; i < s->dso_count; i++)
        if (!strcmp(s->dsos[i].path, path)) return i;
    s->dsos = xrealloc(s->dsos, (size_t)(s->dso_count + 1) * sizeof(*s->dsos));
    s->dsos[s->dso_count] = (struct dso){.path = xstrdup(path)};
    return s->dso_count++;
}

static uint32_t get_u32(const unsigned char* p) {
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static uint64_t get_u64(const unsigned char* p) {
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

// The newest mapping comes first in its chain, so that it wins over one that it replaced.
static void add_map(struct scan* s, const unsigned char* r, uint16_t size, size_t name_at) {
    if (size <= name_at || !memchr(r + name_at, 0, size - name_at) || r[name_at] != '/' ||
        !strncmp((const char*)r + name_at, "//", 2))
        return;
    struct map* m = xmalloc(sizeof(*m));
    int pid = (int)get_u32(r + 8);
    struct map** bucket = &s->maps[(unsigned)pid % BUCKETS];
    uint64_t start = get_u64(r + 16);
    *m = (struct map){.start = start,
                      .end = start + get_u64(r + 24),
                      .pid = pid,
                      .dso = find_dso(s, (const char*)r + name_at),
                      .next = *bucket};
    *bucket = m;
}

static int parent_of(const struct scan* s, int pid) {
    for (const struct parent* p = s->parents[(unsigned)pid % BUCKETS]; p; p = p->next)
        if (p->pid == pid) return p->ppid;
    return -1;
}

// A forked process has its mappings from its parents until it calls exec.
static void hit(struct scan* s, int pid, uint64_t ip) {
    enum { GENERATIONS = 64 };
    for (int i = 0; pid > 0 && i < GENERATIONS; i++, pid = parent_of(s, pid))
        for (struct map* m = s->maps[(unsigned)pid % BUCKETS]; m; m = m->next)
            if (m->pid == pid && ip >= m->start && ip < m->end) {
                s->dsos[m->dso].hit = true;
                return;
            }
}

static const struct event* event_of(const struct scan* s, uint64_t id) {
    for (int i = 0; i < s->list->n; i++)
        for (int j = 0; j < event_cells(&s->list->ev[i]); j++)
            if (s->list->ev[i].id[j] == id) return &s->list->ev[i];
    return &s->list->ev[0];
}

static void scan_sample(struct scan* s, const unsigned char* r, const struct perf_event_header* h) {
    uint64_t type = s->list->ev[0].attr.sample_type, ip = 0;
    const unsigned char *p = r + 8, *end = r + h->size;
    int pid = -1;
    s->out->samples++;
    if (type & PERF_SAMPLE_IDENTIFIER) {
        if (p + 8 > end) return;
        type = event_of(s, get_u64(p))->attr.sample_type;
        p += 8;
    }
    if ((type & PERF_SAMPLE_IP) && p + 8 <= end) {
        ip = get_u64(p);
        p += 8;
    }
    if ((type & PERF_SAMPLE_TID) && p + 8 <= end) {
        pid = (int)get_u32(p);
        p += 8;
    }
    if ((type & PERF_SAMPLE_TIME) && p + 8 <= end) {
        uint64_t time = get_u64(p);
        if (!s->out->times.first || time < s->out->times.first) s->out->times.first = time;
        if (time > s->out->times.last) s->out->times.last = time;
    }
    if ((h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
        s->kernel_hit = true;
    else if (s->maps_wanted)
        hit(s, pid, ip);
}

static void scan_record(struct scan* s, const unsigned char* r) {
    struct perf_event_header h;
    memcpy(&h, r, sizeof(h));
    switch (h.type) {
        case PERF_RECORD_SAMPLE: scan_sample(s, r, &h); break;
        case PERF_RECORD_MMAP:
            if (s->maps_wanted && (h.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
                add_map(s, r, h.size, 40);
            break;
        case PERF_RECORD_MMAP2:
            if (s->maps_wanted) add_map(s, r, h.size, 72);
            break;
        case PERF_RECORD_FORK:
            if (s->maps_wanted && h.size >= 32 && get_u32(r + 8) != get_u32(r + 12)) {
                struct parent *p = xmalloc(sizeof(*p)), **bucket = &s->parents[get_u32(r + 8) % BUCKETS];
                *p = (struct parent){.pid = (int)get_u32(r + 8), .ppid = (int)get_u32(r + 12), .next = *bucket};
                *bucket = p;
            }
            break;
        default: break;
    }
}

// The data section in pieces; a record that a piece cuts is read again with the next one. Mappings are
// gathered in a first pass, because the records of different CPUs are not in the order of time.
static void scan_pass(struct scan* s, const struct perfdata* f, bool samples) {
    unsigned char* p = xmalloc(CHUNK);
    uint64_t at = f->data_offset;
    while (at < f->whole) {
        uint64_t left = f->whole - at;
        ssize_t got = pread(f->fd, p, left < CHUNK ? (size_t)left : (size_t)CHUNK, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        size_t used = 0;
        while (got > 0 && used + sizeof(struct perf_event_header) <= (size_t)got) {
            struct perf_event_header h;
            memcpy(&h, p + used, sizeof(h));
            if (h.size < sizeof(h) || used + h.size > (size_t)got) break;
            if ((h.type == PERF_RECORD_SAMPLE) == samples) scan_record(s, p + used);
            used += h.size;
        }
        if (!used) break;
        at += used;
    }
    free(p);
}

void recording_scan(const struct perfdata* f, const struct evlist* list, bool build_ids, struct scan_result* out) {
    struct scan s = {.list = list, .maps_wanted = build_ids, .out = out};
    unsigned char id[ID_MAX];
    size_t n;
    if (build_ids) scan_pass(&s, f, false);
    scan_pass(&s, f, true);
    if (!build_ids) return;
    if (s.kernel_hit && (n = id_of_kernel(id))) add_id(&out->build_ids, CPU_MODE_KERNEL, "[kernel.kallsyms]", id, n);
    for (int i = 0; i < s.dso_count; i++)
        if (s.dsos[i].hit && (n = id_of_file(s.dsos[i].path, id)))
            add_id(&out->build_ids, CPU_MODE_USER, s.dsos[i].path, id, n);
}

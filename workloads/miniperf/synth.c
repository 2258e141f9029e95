// SPDX-License-Identifier: Apache-2.0
// Synthesised records: kernel, existing tasks and their mappings, ids, CPUs.
#include "synth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

size_t trailer_size(uint64_t sample_type) {
    const uint64_t parts = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                           PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
    return 8 * (size_t)__builtin_popcountll(sample_type & parts);
}

// A record is begun with its header and closed when its size is known.
static size_t begin(struct synth* s, uint32_t type, uint16_t misc) {
    size_t start = s->out.n;
    struct perf_event_header h = {.type = type, .misc = misc};
    buffer_add(&s->out, &h, sizeof(h));
    return start;
}

static void end(struct synth* s, size_t start, size_t trailer) {
    buffer_zero(&s->out, align8(s->out.n - start) - (s->out.n - start));
    buffer_zero(&s->out, trailer);
    uint16_t size = (uint16_t)(s->out.n - start);
    memcpy(s->out.p + start + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

static void add_name(struct synth* s, const char* name) { buffer_add(&s->out, name, strlen(name) + 1); }

void synth_marker(struct synth* s, uint32_t type) { end(s, begin(s, type, 0), 0); }

// How to turn counter values of the architecture's clock into perf's time, read under the page's lock.
void synth_time_conversion(struct synth* s, const struct perf_event_mmap_page* page) {
    struct perf_event_mmap_page p;
    uint32_t seq;
    do {
        seq = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
        p = (struct perf_event_mmap_page){.capabilities = page->capabilities,
                                          .time_shift = page->time_shift,
                                          .time_mult = page->time_mult,
                                          .time_zero = page->time_zero,
                                          .time_cycles = page->time_cycles,
                                          .time_mask = page->time_mask};
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while ((seq & 1) || __atomic_load_n(&page->lock, __ATOMIC_RELAXED) != seq);
    if (!p.cap_user_time_zero) return;
    size_t r = begin(s, RECORD_TIME_CONV, 0);
    uint8_t caps[8] = {p.cap_user_time_zero, p.cap_user_time_short};
    buffer_u64(&s->out, p.time_shift);
    buffer_u64(&s->out, p.time_mult);
    buffer_u64(&s->out, p.time_zero);
    buffer_u64(&s->out, p.time_cycles);
    buffer_u64(&s->out, p.time_mask);
    buffer_add(&s->out, caps, sizeof(caps));
    end(s, r, 0);
}

// As many records as the 16-bit record size makes necessary.
void synth_id_index(struct synth* s, const struct evlist* list, const struct target* t) {
    const uint64_t per_record = (UINT16_MAX - 16) / 32;
    uint64_t left = 0, here = 0;
    size_t r = 0;
    for (int i = 0; i < list->n; i++)
        for (int j = 0; j < event_cells(&list->ev[i]); j++) left += list->ev[i].fd[j] >= 0;
    for (int i = 0; i < list->n; i++) {
        const struct event* e = &list->ev[i];
        for (int j = 0; j < event_cells(e); j++) {
            if (e->fd[j] < 0) continue;
            if (!here) {
                here = left < per_record ? left : per_record;
                left -= here;
                r = begin(s, RECORD_ID_INDEX, 0);
                buffer_u64(&s->out, here);
            }
            int cpu = e->cpus.v[j / e->threads], slot = list_index(&t->cpus, cpu);
            buffer_u64(&s->out, e->id[j]);
            buffer_u64(&s->out, (uint64_t)(cpu < 0 ? j : slot));
            buffer_u64(&s->out, (uint64_t)(int64_t)cpu);
            buffer_u64(&s->out, (uint64_t)(int64_t)t->threads.v[j % e->threads]);
            if (!--here) end(s, r, 0);
        }
    }
}

struct lines {
    int fd;
    size_t n, at;
    char buf[8192];
};

// The next line of a file that may be very long (kallsyms), read in pieces and never kept whole.
static char* next_line(struct lines* l) {
    for (;;) {
        char *start = l->buf + l->at, *nl = memchr(start, '\n', l->n - l->at);
        if (nl) {
            *nl = 0;
            l->at = (size_t)(nl - l->buf) + 1;
            return start;
        }
        memmove(l->buf, start, l->n - l->at);
        l->n -= l->at;
        l->at = 0;
        if (l->n == sizeof(l->buf)) l->n = 0;
        ssize_t r = read(l->fd, l->buf + l->n, sizeof(l->buf) - l->n);
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) return NULL;
        l->n += (size_t)r;
    }
}

static struct lines* open_lines(const char* path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    struct lines* l = xmalloc(sizeof(*l));
    l->fd = fd;
    l->n = l->at = 0;
    return l;
}

static void close_lines(struct lines* l) {
    close(l->fd);
    free(l);
}

// _stext is the first text symbol proper; a kernel that has only _text is taken by that.
static uint64_t kernel_start(const char** symbol) {
    struct lines* l = open_lines("/proc/kallsyms");
    uint64_t text = 0;
    char* line;
    *symbol = NULL;
    while (l && (line = next_line(l))) {
        char* end;
        uint64_t address = strtoull(line, &end, 16);
        if (*end != ' ' || strlen(end) < 4) continue;
        const char* name = end + 3;
        if (!strcmp(name, "_stext")) {
            text = address;
            *symbol = "_stext";
            break;
        }
        if (!strcmp(name, "_text") && !*symbol) {
            text = address;
            *symbol = "_text";
        }
    }
    if (l) close_lines(l);
    return text;
}

static void add_kernel_map(struct synth* s, uint64_t start, uint64_t len, uint64_t offset, const char* name) {
    size_t r = begin(s, PERF_RECORD_MMAP, CPU_MODE_KERNEL);
    buffer_u32(&s->out, UINT32_MAX);
    buffer_u32(&s->out, 0);
    buffer_u64(&s->out, start);
    buffer_u64(&s->out, len);
    buffer_u64(&s->out, offset);
    add_name(s, name);
    end(s, r, s->trailer);
}

void synth_kernel(struct synth* s) {
    const char* symbol;
    uint64_t start = kernel_start(&symbol);
    if (!start) return;
    char* name = xformat("[kernel.kallsyms]%s", symbol);
    add_kernel_map(s, start, UINT64_MAX - start, start, name);
    free(name);
    struct lines* l = open_lines("/proc/modules");
    char* line;
    while (l && (line = next_line(l))) {
        char *space = strchr(line, ' '), *at = strrchr(line, ' ');
        // Tainting modules have a last word in parentheses after the address.
        if (at && at[1] == '(') {
            *at = 0;
            at = strrchr(line, ' ');
        }
        uint64_t size = space ? strtoull(space, NULL, 10) : 0, address = at ? strtoull(at + 1, NULL, 16) : 0;
        if (!size || !address) continue;
        *space = 0;
        char* module = xformat("[%s]", line);
        add_kernel_map(s, address, size, 0, module);
        free(module);
    }
    if (l) close_lines(l);
}

static void begin_update(struct synth* s, size_t* r, uint64_t kind, const struct event* e) {
    uint64_t id = 0;
    for (int i = 0; i < event_cells(e) && !id; i++)
        if (e->fd[i] >= 0) id = e->id[i];
    *r = begin(s, RECORD_EVENT_UPDATE, 0);
    buffer_u64(&s->out, kind);
    buffer_u64(&s->out, id);
}

static void add_cpus(struct synth* s, const struct int_list* cpus) {
    buffer_u16(&s->out, 0); // the form that lists each CPU
    buffer_u16(&s->out, (uint16_t)cpus->n);
    for (int i = 0; i < cpus->n; i++) buffer_u16(&s->out, (uint16_t)cpus->v[i]);
}

void synth_event_updates(struct synth* s, const struct evlist* list, bool names) {
    enum { UNIT, SCALE, NAME, CPUS };
    for (int i = 0; i < list->n; i++) {
        const struct event* e = &list->ev[i];
        size_t r;
        if (e->unit && *e->unit) {
            begin_update(s, &r, UNIT, e);
            add_name(s, e->unit);
            end(s, r, 0);
            begin_update(s, &r, SCALE, e);
            buffer_add(&s->out, &e->scale, sizeof(e->scale));
            end(s, r, 0);
        }
        if (e->own_cpus.n) {
            begin_update(s, &r, CPUS, e);
            add_cpus(s, &e->own_cpus);
            end(s, r, 0);
        }
        if (names) {
            begin_update(s, &r, NAME, e);
            add_name(s, e->name);
            end(s, r, 0);
        }
    }
}

void synth_thread_map(struct synth* s, const struct int_list* threads) {
    const int most = (UINT16_MAX - 16) / 24;
    int n = threads->n < most ? threads->n : most;
    size_t r = begin(s, RECORD_THREAD_MAP, 0);
    buffer_u64(&s->out, (uint64_t)n);
    for (int i = 0; i < n; i++) {
        buffer_u64(&s->out, (uint64_t)(int64_t)threads->v[i]);
        buffer_zero(&s->out, 16);
    }
    end(s, r, 0);
}

void synth_cpu_map(struct synth* s, const struct int_list* cpus) {
    size_t r = begin(s, RECORD_CPU_MAP, 0);
    add_cpus(s, cpus);
    end(s, r, 0);
}

// /proc/PID/maps: START-END PERMS OFFSET MAJ:MIN INODE PATH
static void add_maps(struct synth* s, int pid) {
    char path[64], *line;
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    struct lines* l = open_lines(path);
    while (l && (line = next_line(l))) {
        unsigned long long start, stop, offset, inode;
        unsigned major, minor;
        char perms[8];
        int name_at = 0;
        if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu%n", &start, &stop, perms, &offset, &major, &minor, &inode,
                   &name_at) < 7)
            continue;
        if (perms[2] != 'x' && !s->data_maps) continue;
        const char* name = line + name_at;
        name += strspn(name, " ");
        size_t r = begin(s, PERF_RECORD_MMAP2, CPU_MODE_USER | (perms[2] == 'x' ? 0 : PERF_RECORD_MISC_MMAP_DATA));
        buffer_u32(&s->out, (uint32_t)pid);
        buffer_u32(&s->out, (uint32_t)pid);
        buffer_u64(&s->out, start);
        buffer_u64(&s->out, stop - start);
        buffer_u64(&s->out, offset);
        buffer_u32(&s->out, major);
        buffer_u32(&s->out, minor);
        buffer_u64(&s->out, inode);
        buffer_u64(&s->out, 0);
        buffer_u32(&s->out, (perms[0] == 'r' ? PROT_READ : 0u) | (perms[1] == 'w' ? PROT_WRITE : 0u) |
                                (perms[2] == 'x' ? PROT_EXEC : 0u));
        buffer_u32(&s->out, perms[3] == 's' ? MAP_SHARED : MAP_PRIVATE);
        add_name(s, *name ? name : "//anon");
        end(s, r, s->trailer);
    }
    if (l) close_lines(l);
}

struct task_facts {
    char comm[64];
    int tgid, ppid;
};

static bool task_facts(int tid, struct task_facts* f) {
    char path[64], text[2048], *p;
    snprintf(path, sizeof(path), "/proc/%d/status", tid);
    if (read_text(path, text, sizeof(text)) <= 0) return false;
    *f = (struct task_facts){.tgid = tid};
    if (!strncmp(text, "Name:", 5)) {
        p = text + 5 + strspn(text + 5, " \t");
        snprintf(f->comm, sizeof(f->comm), "%.*s", (int)strcspn(p, "\n"), p);
        f->comm[15] = 0; // the kernel's own records hold 15 bytes at most
    }
    if ((p = strstr(text, "\nTgid:"))) f->tgid = atoi(p + 6);
    if ((p = strstr(text, "\nPPid:"))) f->ppid = atoi(p + 6);
    return true;
}

void synth_thread(struct synth* s, int tid, bool forks, bool maps) {
    struct task_facts f;
    if (!task_facts(tid, &f)) return; // ended meanwhile
    if (forks) {
        bool first = f.tgid == tid;
        size_t r = begin(s, PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC);
        buffer_u32(&s->out, (uint32_t)f.tgid);
        buffer_u32(&s->out, (uint32_t)(first ? f.ppid : f.tgid));
        buffer_u32(&s->out, (uint32_t)tid);
        buffer_u32(&s->out, (uint32_t)(first ? f.ppid : f.tgid));
        buffer_u64(&s->out, 0);
        end(s, r, s->trailer);
    }
    size_t r = begin(s, PERF_RECORD_COMM, 0);
    buffer_u32(&s->out, (uint32_t)f.tgid);
    buffer_u32(&s->out, (uint32_t)tid);
    add_name(s, f.comm);
    end(s, r, s->trailer);
    if (maps && f.tgid == tid) add_maps(s, tid);
}

void synth_tasks(struct synth* s, const struct int_list* threads, bool maps) {
    struct int_list done = {0};
    for (int i = 0; i < threads->n; i++) {
        struct task_facts f;
        int tid = threads->v[i];
        if (task_facts(tid, &f) && f.tgid != tid && list_index(threads, f.tgid) < 0 && list_index(&done, f.tgid) < 0) {
            list_add(&done, f.tgid);
            synth_thread(s, f.tgid, false, maps);
        }
        synth_thread(s, tid, false, maps);
    }
    free(done.v);
}

void synth_all_tasks(struct synth* s) {
    struct int_list pids = {0};
    DIR* d = opendir("/proc");
    struct dirent* e;
    while (d && (e = readdir(d)))
        if (e->d_name[0] >= '0' && e->d_name[0] <= '9') list_add(&pids, atoi(e->d_name));
    if (d) closedir(d);
    for (int i = 0; i < pids.n; i++) {
        struct int_list threads = threads_of(pids.v[i]);
        for (int j = 0; j < threads.n; j++) synth_thread(s, threads.v[j], true, true);
        free(threads.v);
    }
    free(pids.v);
}

void synth_lost_samples(struct synth* s, const struct event* e, int cell, uint64_t lost) {
    uint64_t type = e->attr.sample_type;
    size_t r = begin(s, PERF_RECORD_LOST_SAMPLES, 0);
    buffer_u64(&s->out, lost);
    if (type & PERF_SAMPLE_TID) buffer_zero(&s->out, 8);
    if (type & PERF_SAMPLE_TIME) buffer_zero(&s->out, 8);
    if (type & PERF_SAMPLE_ID) buffer_u64(&s->out, e->id[cell]);
    if (type & PERF_SAMPLE_CPU) buffer_u64(&s->out, (uint32_t)e->cpus.v[cell / e->threads]);
    if (type & PERF_SAMPLE_IDENTIFIER) buffer_u64(&s->out, e->id[cell]);
    end(s, r, 0);
}

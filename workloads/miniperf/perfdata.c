// SPDX-License-Identifier: Apache-2.0
// Writes perf.data. A failed write is told once; what was complete before it stays readable.
#include "perfdata.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "tracing.h"

#define MAGIC 0x32454c4946524550ULL // "PERFILE2"
enum { HEADER_SIZE = 104, PIPE_HEADER_SIZE = 16 };

bool perfdata_open(struct perfdata* f, const char* path) {
    *f = (struct perfdata){.path = path};
    if (!strcmp(path, "-")) {
        f->stream = true;
        f->path = "standard output";
        f->fd = STDOUT_FILENO;
        return true;
    }
    // An earlier recording is kept once, so that a slip does not cost it; devices are left alone.
    char old[PATH_MAX];
    if (strncmp(path, "/dev/", 5) && snprintf(old, sizeof(old), "%s.old", path) < (int)sizeof(old) &&
        !access(path, F_OK))
        rename(path, old);
    f->fd = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
    if (f->fd < 0) fatal("cannot create %s: %s", path, strerror(errno));
    return true;
}

bool perfdata_write(struct perfdata* f, const void* p, size_t n) {
    const char* c = p;
    while (n && !f->failed) {
        ssize_t w = write(f->fd, c, n);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) {
            warn("cannot write %s: %s", f->path, w ? strerror(errno) : "nothing was taken");
            f->failed = true;
            break;
        }
        c += w;
        n -= (size_t)w;
        f->pos += (uint64_t)w;
    }
    return !f->failed;
}

bool perfdata_record(struct perfdata* f, const struct buffer* b) {
    if (!perfdata_write(f, b->p, b->n)) return false;
    f->whole = f->pos;
    return true;
}

static size_t id_count(const struct event* e) {
    size_t n = 0;
    for (int i = 0; i < event_cells(e); i++) n += e->fd[i] >= 0;
    return n;
}

static void add_ids(struct buffer* b, const struct event* e) {
    for (int i = 0; i < event_cells(e); i++)
        if (e->fd[i] >= 0) buffer_u64(b, e->id[i]);
}

static void add_header(struct buffer* b, const struct perfdata* f, const struct evlist* list, uint64_t data_size,
                       const uint64_t features[FEATURE_WORDS]) {
    uint64_t ids = 0, entry = sizeof(struct perf_event_attr) + 16;
    for (int i = 0; i < list->n; i++) ids += 8 * id_count(&list->ev[i]);
    buffer_u64(b, MAGIC);
    buffer_u64(b, HEADER_SIZE);
    buffer_u64(b, entry);
    buffer_u64(b, HEADER_SIZE + ids);
    buffer_u64(b, (uint64_t)list->n * entry);
    buffer_u64(b, f->data_offset);
    buffer_u64(b, data_size);
    buffer_zero(b, 16); // event types: obsolete
    buffer_add(b, features, 8 * FEATURE_WORDS);
}

static bool start_stream(struct perfdata* f, const struct evlist* list, const struct feature_input* in) {
    struct buffer b = {0};
    buffer_u64(&b, MAGIC);
    buffer_u64(&b, PIPE_HEADER_SIZE);
    for (int bit = 0; bit < FEATURE_COUNT; bit++) {
        struct buffer content = {0};
        struct perf_event_header h = {.type = RECORD_HEADER_FEATURE};
        // Not padded to 8 bytes: perf takes what follows the core ids of a CPU topology for a list of dies.
        if (bit != FEATURE_TRACING_DATA && bit != FEATURE_BUILD_ID && feature_write(bit, &content, in) &&
            content.n + 16 <= UINT16_MAX) {
            h.size = (uint16_t)(16 + content.n);
            buffer_add(&b, &h, sizeof(h));
            buffer_u64(&b, (uint64_t)bit);
            buffer_add(&b, content.p, content.n);
        }
        buffer_free(&content);
    }
    // An empty feature past the last one ends the list.
    struct perf_event_header last = {.type = RECORD_HEADER_FEATURE, .size = 16};
    buffer_add(&b, &last, sizeof(last));
    buffer_u64(&b, FEATURE_COUNT);
    for (int i = 0; i < list->n; i++) {
        const struct event* e = &list->ev[i];
        struct perf_event_header h = {.type = RECORD_HEADER_ATTR,
                                      .size = (uint16_t)(8 + sizeof(e->attr) + 8 * id_count(e))};
        buffer_add(&b, &h, sizeof(h));
        buffer_add(&b, &e->attr, sizeof(e->attr));
        add_ids(&b, e);
    }
    struct buffer tracing = {0};
    if (tracing_data(&tracing, list)) {
        struct perf_event_header h = {.type = RECORD_HEADER_TRACING_DATA, .size = 16};
        buffer_zero(&tracing, align8(tracing.n) - tracing.n);
        buffer_add(&b, &h, sizeof(h));
        buffer_u32(&b, (uint32_t)tracing.n);
        buffer_zero(&b, 4);
        buffer_add(&b, tracing.p, tracing.n);
        buffer_free(&tracing);
    }
    bool ok = perfdata_record(f, &b);
    buffer_free(&b);
    return ok;
}

bool perfdata_start(struct perfdata* f, const struct evlist* list, const struct feature_input* in) {
    if (f->stream) return start_stream(f, list, in);
    const uint64_t none[FEATURE_WORDS] = {0};
    struct buffer b = {0}, ids = {0};
    uint64_t where = HEADER_SIZE;
    for (int i = 0; i < list->n; i++) add_ids(&ids, &list->ev[i]);
    f->data_offset = HEADER_SIZE + ids.n + (uint64_t)list->n * (sizeof(struct perf_event_attr) + 16);
    add_header(&b, f, list, 0, none);
    buffer_add(&b, ids.p, ids.n);
    for (int i = 0; i < list->n; i++) {
        uint64_t size = 8 * id_count(&list->ev[i]);
        buffer_add(&b, &list->ev[i].attr, sizeof(list->ev[i].attr));
        buffer_u64(&b, where);
        buffer_u64(&b, size);
        where += size;
    }
    bool ok = perfdata_record(f, &b);
    buffer_free(&ids);
    buffer_free(&b);
    return ok;
}

static bool overwrite(struct perfdata* f, const struct buffer* b, uint64_t where) {
    size_t done = 0;
    while (done < b->n) {
        ssize_t w = pwrite(f->fd, b->p + done, b->n - done, (off_t)(where + done));
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return false;
        done += (size_t)w;
    }
    return true;
}

// A write that failed midway has brought some records whole.
static void find_whole_records(struct perfdata* f) {
    struct perf_event_header h;
    while (f->pos - f->whole >= sizeof(h) && pread(f->fd, &h, sizeof(h), (off_t)f->whole) == sizeof(h) &&
           h.size >= sizeof(h) && h.size <= f->pos - f->whole)
        f->whole += h.size;
}

bool perfdata_finish(struct perfdata* f, const struct evlist* list, const struct feature_input* in) {
    if (f->stream) return !f->failed;
    if (f->whole < f->data_offset || !f->data_offset) return false;
    if (f->failed) find_whole_records(f);
    uint64_t features[FEATURE_WORDS] = {0}, end = f->whole;
    struct buffer b = {0}, header = {0};
    size_t where[FEATURE_COUNT], size[FEATURE_COUNT], n = 0;
    for (int bit = 0; bit < FEATURE_COUNT; bit++) {
        size_t start = b.n;
        if (!feature_write(bit, &b, in)) {
            b.n = start;
            continue;
        }
        features[bit / 64] |= 1ULL << bit % 64;
        where[n] = start;
        size[n++] = b.n - start;
    }
    struct buffer table = {0};
    for (size_t i = 0; i < n; i++) {
        buffer_u64(&table, end + 16 * n + where[i]);
        buffer_u64(&table, size[i]);
    }
    buffer_add(&table, b.p, b.n);
    // A half-written record at the end would make the whole file unreadable.
    if (f->pos != end && ftruncate(f->fd, (off_t)end)) return false;
    if (!overwrite(f, &table, end)) {
        if (!f->failed) warn("cannot write the end of %s: %s; its samples are complete", f->path, strerror(errno));
        f->failed = true;
        if (ftruncate(f->fd, (off_t)end)) return false;
        memset(features, 0, sizeof(features));
    }
    add_header(&header, f, list, end - f->data_offset, features);
    if (!overwrite(f, &header, 0)) f->failed = true;
    buffer_free(&b);
    buffer_free(&table);
    buffer_free(&header);
    return !f->failed;
}

// SPDX-License-Identifier: Apache-2.0
// Tracepoint formats, which a reader needs to show the raw data of samples.
#include "tracing.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char* tracing_root(void) {
    static const char* const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/events", roots[i]);
        if (!access(path, F_OK)) return roots[i];
    }
    return NULL;
}

bool tracepoint_id(const char* system, const char* name, uint64_t* id) {
    char path[PATH_MAX];
    long long value;
    const char* root = tracing_root();
    if (!root || strchr(system, '/') || strchr(name, '/')) return false;
    snprintf(path, sizeof(path), "%s/events/%s/%s/id", root, system, name);
    if (!read_number(path, &value)) return false;
    *id = (uint64_t)value;
    return true;
}

// Files of tracefs have no size before they are read.
static void add_whole_file(struct buffer* b, const char* name, bool wide_size) {
    struct buffer content = {0};
    char path[PATH_MAX], piece[4096];
    snprintf(path, sizeof(path), "%s/%s", tracing_root(), name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t n; fd >= 0 && (n = read(fd, piece, sizeof(piece))) != 0;)
        if (n > 0)
            buffer_add(&content, piece, (size_t)n);
        else if (errno != EINTR)
            break;
    if (fd >= 0) close(fd);
    if (wide_size)
        buffer_u64(b, content.n);
    else
        buffer_u32(b, (uint32_t)content.n);
    buffer_add(b, content.p, content.n);
    buffer_free(&content);
}

static void add_text(struct buffer* b, const char* s) { buffer_add(b, s, strlen(s) + 1); }

static bool is_tracepoint(const struct event* e) { return e->attr.type == PERF_TYPE_TRACEPOINT; }

static size_t system_length(const struct event* e) { return strcspn(e->name, ":"); }

static bool same_system(const struct event* a, const struct event* b) {
    return system_length(a) == system_length(b) && !strncmp(a->name, b->name, system_length(a));
}

// True for the first event of its system in the list, so that each system is written once.
static bool opens_system(const struct evlist* list, int index) {
    for (int i = 0; i < index; i++)
        if (is_tracepoint(&list->ev[i]) && same_system(&list->ev[i], &list->ev[index])) return false;
    return true;
}

static bool seen_before(const struct evlist* list, int index) {
    for (int i = 0; i < index; i++)
        if (event_is(&list->ev[i], PERF_TYPE_TRACEPOINT, list->ev[index].attr.config)) return true;
    return false;
}

static void add_system(struct buffer* b, const struct evlist* list, int first) {
    uint32_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) {
            buffer_add(b, list->ev[first].name, system_length(&list->ev[first]));
            buffer_zero(b, 1);
            buffer_u32(b, count);
        }
        for (int i = first; i < list->n; i++) {
            const struct event* e = &list->ev[i];
            if (!is_tracepoint(e) || !same_system(e, &list->ev[first]) || seen_before(list, i)) continue;
            if (!pass) {
                count++;
                continue;
            }
            const char* name = e->name + system_length(e) + 1;
            char* path =
                xformat("events/%.*s/%.*s/format", (int)system_length(e), e->name, (int)strcspn(name, ":"), name);
            add_whole_file(b, path, true);
            free(path);
        }
    }
}

bool tracing_data(struct buffer* b, const struct evlist* list) {
    static const unsigned char start[] = {23, 8, 68, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
    uint32_t systems = 0;
    for (int i = 0; i < list->n; i++) systems += is_tracepoint(&list->ev[i]) && opens_system(list, i);
    if (!systems || !tracing_root()) return false;
    const unsigned char machine[] = {0, sizeof(long)}; // little endian
    buffer_add(b, start, sizeof(start));
    add_text(b, "0.6");
    buffer_add(b, machine, sizeof(machine));
    buffer_u32(b, (uint32_t)sysconf(_SC_PAGESIZE));
    add_text(b, "header_page");
    add_whole_file(b, "events/header_page", true);
    add_text(b, "header_event");
    add_whole_file(b, "events/header_event", true);
    buffer_u32(b, 0); // events of the function tracer: none
    buffer_u32(b, systems);
    for (int i = 0; i < list->n; i++)
        if (is_tracepoint(&list->ev[i]) && opens_system(list, i)) add_system(b, list, i);
    buffer_u32(b, 0); // symbols
    add_whole_file(b, "printk_formats", false);
    add_whole_file(b, "saved_cmdlines", true);
    return true;
}

// SPDX-License-Identifier: Apache-2.0
// The feature sections of perf.data: where, when and on what machine it was recorded.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "perfdata.h"
#include "target.h"
#include "tracing.h"
#include "version.h"

#define CPU_DIR "/sys/devices/system/cpu"
#define NODE_DIR "/sys/devices/system/node"

// Length, then the text filled with zeros to a multiple of 64.
static void add_string(struct buffer* b, const char* s) {
    size_t n = strlen(s) + 1, padded = (n + 63) / 64 * 64;
    buffer_u32(b, (uint32_t)padded);
    buffer_add(b, s, n);
    buffer_zero(b, padded - n);
}

static bool add_file(struct buffer* b, const char* path) {
    char text[512];
    if (read_text(path, text, sizeof(text)) <= 0) return false;
    add_string(b, text);
    return true;
}

// The rest of the first line that starts with the key.
static bool find_line(const char* path, const char* key, char* out, size_t size) {
    char line[512];
    bool found = false;
    FILE* f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof(line), f))
        if (!strncmp(line, key, strlen(key))) {
            char* p = line + strlen(key);
            p += strspn(p, " \t:");
            p[strcspn(p, "\n")] = 0;
            snprintf(out, size, "%s", p);
            found = true;
        }
    if (f) fclose(f);
    return found;
}

static bool write_uname(int bit, struct buffer* b) {
    struct utsname u;
    if (uname(&u)) return false;
    add_string(b, bit == 3 ? u.nodename : bit == 4 ? u.release : u.machine);
    return true;
}

static bool write_cpu_count(struct buffer* b) {
    struct int_list present = cpus_present(), online = cpus_online();
    buffer_u32(b, (uint32_t)present.n);
    buffer_u32(b, (uint32_t)online.n);
    return true;
}

static bool write_cpu_description(struct buffer* b) {
    char text[256];
    if (!find_line("/proc/cpuinfo", "model name", text, sizeof(text))) return false;
    add_string(b, text);
    return true;
}

// The MIDR of the first CPU that shows one, without variant and revision.
static bool write_cpu_id(struct buffer* b) {
    struct int_list cpus = cpus_online();
    for (int i = 0; i < cpus.n; i++) {
        char path[PATH_MAX], text[64], out[32];
        uint64_t midr;
        snprintf(path, sizeof(path), CPU_DIR "/cpu%d/regs/identification/midr_el1", cpus.v[i]);
        if (read_text(path, text, sizeof(text)) <= 0 || !parse_u64(text, &midr)) continue;
        snprintf(out, sizeof(out), "0x%016llx", (unsigned long long)(midr & ~0xf0000fULL));
        add_string(b, out);
        return true;
    }
    return false;
}

static bool write_memory(struct buffer* b) {
    char text[64];
    if (!find_line("/proc/meminfo", "MemTotal", text, sizeof(text))) return false;
    buffer_u64(b, strtoull(text, NULL, 10));
    return true;
}

static bool write_command(struct buffer* b, const struct feature_input* in) {
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n < 0) return false;
    self[n] = 0;
    buffer_u32(b, (uint32_t)in->argc + 1);
    add_string(b, self);
    for (int i = 0; i < in->argc; i++) add_string(b, in->argv[i]);
    return true;
}

static bool write_events(struct buffer* b, const struct feature_input* in) {
    buffer_u32(b, (uint32_t)in->list->n);
    buffer_u32(b, sizeof(struct perf_event_attr));
    for (int i = 0; i < in->list->n; i++) {
        const struct event* e = &in->list->ev[i];
        uint32_t n = 0;
        for (int j = 0; j < event_cells(e); j++) n += e->fd[j] >= 0;
        buffer_add(b, &e->attr, sizeof(e->attr));
        buffer_u32(b, n);
        add_string(b, e->name);
        for (int j = 0; j < event_cells(e); j++)
            if (e->fd[j] >= 0) buffer_u64(b, e->id[j]);
    }
    return true;
}

// Each distinct content of one topology file over all CPUs, once.
static void add_topology_lists(struct buffer* b, const struct int_list* cpus, const char* file, const char* old_file) {
    struct buffer strings = {0};
    char** seen = xcalloc((size_t)cpus->n, sizeof(char*));
    uint32_t n = 0;
    for (int i = 0; i < cpus->n; i++) {
        char path[PATH_MAX], text[256];
        snprintf(path, sizeof(path), CPU_DIR "/cpu%d/topology/%s", cpus->v[i], file);
        if (read_text(path, text, sizeof(text)) <= 0) {
            snprintf(path, sizeof(path), CPU_DIR "/cpu%d/topology/%s", cpus->v[i], old_file);
            if (read_text(path, text, sizeof(text)) <= 0) continue;
        }
        uint32_t j = 0;
        while (j < n && strcmp(seen[j], text)) j++;
        if (j < n) continue;
        seen[n++] = xstrdup(text);
        add_string(&strings, text);
    }
    buffer_u32(b, n);
    buffer_add(b, strings.p, strings.n);
    for (uint32_t i = 0; i < n; i++) free(seen[i]);
    free(seen);
    buffer_free(&strings);
}

static bool write_topology(struct buffer* b) {
    struct int_list cpus = cpus_present();
    add_topology_lists(b, &cpus, "package_cpus_list", "core_siblings_list");
    add_topology_lists(b, &cpus, "core_cpus_list", "thread_siblings_list");
    for (int i = 0; i < cpus.n; i++) {
        char path[PATH_MAX];
        long long core, package;
        snprintf(path, sizeof(path), CPU_DIR "/cpu%d/topology/core_id", cpus.v[i]);
        if (!read_number(path, &core)) return false;
        snprintf(path, sizeof(path), CPU_DIR "/cpu%d/topology/physical_package_id", cpus.v[i]);
        if (!read_number(path, &package)) return false;
        buffer_u32(b, (uint32_t)core);
        buffer_u32(b, (uint32_t)package);
    }
    return true;
}

static bool write_numa(struct buffer* b) {
    char text[256], key[64];
    struct int_list nodes = {0};
    if (read_text(NODE_DIR "/online", text, sizeof(text)) <= 0 || !list_parse(&nodes, text)) return false;
    buffer_u32(b, (uint32_t)nodes.n);
    for (int i = 0; i < nodes.n; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), NODE_DIR "/node%d/meminfo", nodes.v[i]);
        buffer_u32(b, (uint32_t)nodes.v[i]);
        static const char* const fields[] = {"MemTotal", "MemFree"};
        for (size_t j = 0; j < ARRAY_SIZE(fields); j++) {
            snprintf(key, sizeof(key), "Node %d %s", nodes.v[i], fields[j]);
            if (!find_line(path, key, text, sizeof(text))) return false;
            buffer_u64(b, strtoull(text, NULL, 10));
        }
        snprintf(path, sizeof(path), NODE_DIR "/node%d/cpulist", nodes.v[i]);
        if (!add_file(b, path)) return false;
    }
    return true;
}

static bool write_pmus(struct buffer* b) {
    struct pmu* p;
    int n = pmu_list(&p);
    buffer_u32(b, (uint32_t)n);
    for (int i = 0; i < n; i++) {
        buffer_u32(b, p[i].type);
        add_string(b, p[i].name);
    }
    return n > 0;
}

static bool write_groups(struct buffer* b, const struct evlist* list) {
    if (!list->groups) return false;
    buffer_u32(b, (uint32_t)list->groups);
    for (int i = 0; i < list->n; i++) {
        const struct event* e = &list->ev[i];
        if (!event_is_leader(list, e) || e->members < 2) continue;
        add_string(b, e->group_name ? e->group_name : "{anon_group}");
        buffer_u32(b, (uint32_t)i);
        buffer_u32(b, (uint32_t)e->members);
    }
    return true;
}

// What each core PMU says of itself under caps/.
static bool write_pmu_caps(struct buffer* b) {
    static const char* const caps[] = {"slots", "bus_slots", "bus_width"};
    struct buffer all = {0};
    struct pmu* p;
    uint32_t pmus = 0;
    int n = pmu_list(&p);
    for (int i = 0; i < n; i++) {
        struct buffer one = {0};
        uint32_t count = 0;
        for (size_t j = 0; j < ARRAY_SIZE(caps); j++) {
            char path[PATH_MAX], text[64];
            snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/caps/%s", p[i].name, caps[j]);
            if (read_text(path, text, sizeof(text)) <= 0) continue;
            add_string(&one, caps[j]);
            add_string(&one, text);
            count++;
        }
        if (count) {
            buffer_u32(&all, count);
            buffer_add(&all, one.p, one.n);
            add_string(&all, p[i].name);
            pmus++;
        }
        buffer_free(&one);
    }
    buffer_u32(b, pmus);
    buffer_add(b, all.p, all.n);
    buffer_free(&all);
    return pmus > 0;
}

bool feature_write(int bit, struct buffer* b, const struct feature_input* in) {
    switch (bit) {
        case FEATURE_TRACING_DATA: return tracing_data(b, in->list);
        case FEATURE_BUILD_ID:
            if (!in->build_ids || !in->build_ids->n) return false;
            buffer_add(b, in->build_ids->p, in->build_ids->n);
            return true;
        case 3:
        case 4:
        case 6: return write_uname(bit, b);
        case 5: add_string(b, MINIPERF_VERSION); return true;
        case 7: return write_cpu_count(b);
        case 8: return write_cpu_description(b);
        case 9: return write_cpu_id(b);
        case 10: return write_memory(b);
        case 11: return write_command(b, in);
        case 12: return write_events(b, in);
        case 13: return write_topology(b);
        case 14: return write_numa(b);
        case 16: return write_pmus(b);
        case 17: return write_groups(b, in->list);
        case 21:
            if (!in->times.last) return false;
            buffer_u64(b, in->times.first);
            buffer_u64(b, in->times.last);
            return true;
        case 31: return write_pmu_caps(b);
        default: return false;
    }
}

// SPDX-License-Identifier: Apache-2.0
// PMUs as sysfs describes them: type, CPUs, event aliases and the bit fields of their terms.
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"

#define DEVICES "/sys/bus/event_source/devices"

static struct pmu* pmus;
static int pmu_count = -1;

static int by_name(const void* a, const void* b) {
    return strcmp(((const struct pmu*)a)->name, ((const struct pmu*)b)->name);
}

int pmu_list(struct pmu** out) {
    if (pmu_count < 0) {
        DIR* d = opendir(DEVICES);
        struct dirent* e;
        pmu_count = 0;
        while (d && (e = readdir(d))) {
            char path[PATH_MAX], text[256];
            long long type;
            if (e->d_name[0] == '.') continue;
            snprintf(path, sizeof(path), DEVICES "/%s/type", e->d_name);
            if (!read_number(path, &type)) continue;
            pmus = xrealloc(pmus, (size_t)(pmu_count + 1) * sizeof(*pmus));
            struct pmu* p = &pmus[pmu_count++];
            *p = (struct pmu){.name = xstrdup(e->d_name), .type = (uint32_t)type};
            // Core PMUs say "cpus", system PMUs "cpumask".
            snprintf(path, sizeof(path), DEVICES "/%s/cpus", e->d_name);
            if (read_text(path, text, sizeof(text)) <= 0) {
                snprintf(path, sizeof(path), DEVICES "/%s/cpumask", e->d_name);
                if (read_text(path, text, sizeof(text)) <= 0) continue;
            }
            if (!list_parse(&p->cpus, text)) p->cpus = (struct int_list){0};
        }
        if (d) closedir(d);
        if (pmu_count) qsort(pmus, (size_t)pmu_count, sizeof(*pmus), by_name);
    }
    *out = pmus;
    return pmu_count;
}

const struct pmu* pmu_find(const char* name) {
    struct pmu* p;
    int n = pmu_list(&p);
    for (int i = 0; i < n; i++)
        if (!strcmp(p[i].name, name)) return &p[i];
    return NULL;
}

static bool alias_text(const char* pmu, const char* event, char* text, size_t size) {
    char path[PATH_MAX];
    if (strchr(event, '/')) return false;
    snprintf(path, sizeof(path), DEVICES "/%s/events/%s", pmu, event);
    return read_text(path, text, size) > 0;
}

bool pmu_has_event(const char* pmu, const char* event) {
    char text[256];
    return alias_text(pmu, event, text, sizeof(text));
}

static int compare_text(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }

void pmu_each_event(const char* pmu, void (*each)(const char* name, void* arg), void* arg) {
    char path[PATH_MAX], **names = NULL;
    size_t n = 0;
    snprintf(path, sizeof(path), DEVICES "/%s/events", pmu);
    DIR* d = opendir(path);
    struct dirent* e;
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.' && !strstr(e->d_name, ".unit") && !strstr(e->d_name, ".scale")) {
            names = xrealloc(names, (n + 1) * sizeof(*names));
            names[n++] = xstrdup(e->d_name);
        }
    if (d) closedir(d);
    if (n) qsort(names, n, sizeof(*names), compare_text);
    for (size_t i = 0; i < n; i++) {
        each(names[i], arg);
        free(names[i]);
    }
    free(names);
}

// A format file says where a term's bits go: "config:0-15", "config1:0", "config:0-7,32-35".
static char* apply_format(const char* pmu, const char* format, const char* term, uint64_t value,
                          struct perf_event_attr* attr) {
    __u64* word;
    const char* p = strchr(format, ':');
    uint64_t rest = value;
    size_t n = p ? (size_t)(p - format) : 0;
    if (n == 6 && !strncmp(format, "config", n))
        word = &attr->config;
    else if (n == 7 && !strncmp(format, "config1", n))
        word = &attr->config1;
    else if (n == 7 && !strncmp(format, "config2", n))
        word = &attr->config2;
    else
        return xformat("PMU %s describes term '%s' as '%s', which is not understood here", pmu, term, format);
    while (*p) {
        char* end;
        unsigned long lo = strtoul(p + 1, &end, 10), hi = lo;
        if (*end == '-') hi = strtoul(end + 1, &end, 10);
        if (end == p + 1 || hi < lo || hi > 63)
            return xformat("PMU %s describes term '%s' as '%s', which is not understood here", pmu, term, format);
        unsigned long width = hi - lo + 1;
        uint64_t mask = width == 64 ? ~0ULL : (1ULL << width) - 1;
        *word = (*word & ~(mask << lo)) | (rest & mask) << lo;
        rest = width == 64 ? 0 : rest >> width;
        p = end;
    }
    if (rest)
        return xformat("value %#llx of term '%s' does not fit PMU %s, which says %s", (unsigned long long)value, term,
                       pmu, format);
    return NULL;
}

static char* apply_one(const struct pmu* pmu, const char* term, const char* text, struct event* e) {
    char path[PATH_MAX], format[256];
    uint64_t value = 1;
    if (!strcmp(term, "name") && text) {
        free(e->name);
        e->name = xstrdup(text);
        return NULL;
    }
    if (text && !parse_u64(text, &value)) return xformat("'%s' is no number for term '%s'", text, term);
    snprintf(path, sizeof(path), DEVICES "/%s/format/%s", pmu->name, term);
    if (!strchr(term, '/') && read_text(path, format, sizeof(format)) > 0)
        return apply_format(pmu->name, format, term, value, &e->attr);
    if (!strcmp(term, "config"))
        e->attr.config = value;
    else if (!strcmp(term, "config1"))
        e->attr.config1 = value;
    else if (!strcmp(term, "config2"))
        e->attr.config2 = value;
    else if (text && !strcmp(term, "period")) {
        e->attr.sample_period = value;
        e->own_period = true;
    } else if (text && !strcmp(term, "freq")) {
        e->attr.freq = 1;
        e->attr.sample_freq = value;
        e->own_period = true;
    } else if (!text && alias_text(pmu->name, term, format, sizeof(format)))
        return pmu_apply_terms(pmu, format, e);
    else
        return xformat("PMU %s has no event or term '%s'", pmu->name, term);
    return NULL;
}

char* pmu_apply_terms(const struct pmu* pmu, const char* terms, struct event* e) {
    char *copy = xstrdup(terms), *save = NULL, *fault = NULL;
    for (char* t = strtok_r(copy, ",", &save); t && !fault; t = strtok_r(NULL, ",", &save)) {
        char* value = strchr(t, '=');
        if (value) *value++ = 0;
        fault = apply_one(pmu, t, value, e);
    }
    free(copy);
    return fault;
}

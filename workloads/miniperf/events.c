// SPDX-License-Identifier: Apache-2.0
// Reads what the user writes after -e: lists, groups, PMU terms, raw numbers, breakpoints, modifiers.
#include "events.h"

#include <ctype.h>
#include <linux/hw_breakpoint.h>
#include <stdlib.h>
#include <string.h>

#include "tracing.h"

struct event* events_add(struct evlist* list, const char* name, uint32_t type, uint64_t config) {
    list->ev = xrealloc(list->ev, (size_t)(list->n + 1) * sizeof(*list->ev));
    struct event* e = &list->ev[list->n];
    memset(e, 0, sizeof(*e));
    e->name = xstrdup(name);
    e->attr.type = type;
    e->attr.size = sizeof(e->attr);
    e->attr.config = config;
    e->attr.exclude_guest = 1;
    e->leader = list->n++;
    e->members = 1;
    e->scale = 1;
    e->supported = true;
    return e;
}

bool event_is(const struct event* e, uint32_t type, uint64_t config) {
    return e->attr.type == type && e->attr.config == config;
}

// The clocks count nanoseconds and are shown in milliseconds.
const char* event_unit(const struct event* e) {
    bool clock = event_is(e, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK) ||
                 event_is(e, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    return clock ? "msec" : "";
}

static void apply_modifiers(struct event* e, const char* event_text, const char* m, size_t n) {
    struct perf_event_attr* a = &e->attr;
    bool levels = false, user = false, kernel = false, hv = false, guest = false, host = false;
    unsigned precise = 0;
    for (size_t i = 0; i < n; i++) switch (m[i]) {
            case 'u': levels = user = true; break;
            case 'k': levels = kernel = true; break;
            case 'h': levels = hv = true; break;
            case 'G': guest = true; break;
            case 'H': host = true; break;
            case 'p': precise++; break;
            case 'P': e->precise_max = true; break;
            case 'D': a->pinned = 1; break;
            case 'e': a->exclusive = 1; break;
            case 'I': a->exclude_idle = 1; break;
            default:
                usage_error("modifier '%c' of event '%s' is not known; there are u, k, h, G, H, p, P, D, e and I", m[i],
                            event_text);
        }
    if (precise > 3) usage_error("event '%s' asks for more precision than there is: at most ppp", event_text);
    if (precise) a->precise_ip = precise & 3;
    if (levels) {
        a->exclude_user = !user;
        a->exclude_kernel = !kernel;
        a->exclude_hv = !hv;
        e->user_chose = true;
    }
    if (guest || host) {
        a->exclude_guest = !guest;
        a->exclude_host = !host;
    }
}

// mem:ADDRESS[/LENGTH][:ACCESS], where access is of r, w, x; the colon text may be followed by modifiers.
static bool parse_breakpoint(struct evlist* list, const char* text) {
    char* end;
    if (strncmp(text, "mem:", 4)) return false;
    uint64_t address = strtoull(text + 4, &end, 0), length = 0;
    if (end == text + 4) usage_error("event '%s': mem: needs an address", text);
    if (*end == '/') {
        char* start = end + 1;
        length = strtoull(start, &end, 0);
        if (end == start) usage_error("event '%s': a length must follow the slash", text);
    }
    unsigned type = 0;
    const char* p = end;
    if (*p == ':' && strchr("rwx", p[1]) && p[1])
        for (p++; *p && strchr("rwx", *p); p++)
            type |= *p == 'r' ? HW_BREAKPOINT_R : *p == 'w' ? HW_BREAKPOINT_W : HW_BREAKPOINT_X;
    if (!type) type = HW_BREAKPOINT_RW;
    if (*p && *p != ':') usage_error("event '%s': access must be of the letters r, w and x", text);
    struct event* e = events_add(list, text, PERF_TYPE_BREAKPOINT, 0);
    e->attr.bp_addr = address;
    e->attr.bp_type = type;
    e->attr.bp_len = length ? length : type == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
    e->attr.sample_period = 1;
    if (*p) apply_modifiers(e, text, p + 1, strlen(p + 1));
    return true;
}

// uprobe:PROGRAM:SYMBOL|OFFSET[%return], a probe that lives as long as the event.
static bool parse_uprobe(struct evlist* list, const char* text) {
    if (strncmp(text, "uprobe:", 7)) return false;
    const char* path = text + 7;
    const char* place = strrchr(path, ':');
    if (!place || place == path || !place[1]) usage_error("event '%s': uprobe: needs PROGRAM:SYMBOL", text);
    const struct pmu* pmu = pmu_find("uprobe");
    if (!pmu) usage_error("event '%s': there is no PMU 'uprobe' here", text);
    char *program = xstrndup(path, (size_t)(place - path)), *symbol = xstrdup(place + 1);
    char* suffix = strstr(symbol, "%return");
    const bool is_return = suffix && !suffix[7];
    if (is_return) *suffix = 0;
    struct event* e = events_add(list, text, pmu->type, is_return);
    uint64_t offset;
    if (!parse_u64(symbol, &offset)) offset = find_symbol(program, symbol);
    e->attr.uprobe_path = (uint64_t)(uintptr_t)program; // stays for the opening
    e->attr.probe_offset = offset;
    e->attr.sample_period = 1;
    free(symbol);
    return true;
}

static void add_pmu_event(struct evlist* list, const struct pmu* pmu, const char* name, const char* terms,
                          const char* text) {
    struct event* e = events_add(list, name, pmu->type, 0);
    e->own_cpus = list_copy(&pmu->cpus);
    char* fault = pmu_apply_terms(pmu, terms, e);
    if (fault) usage_error("event '%s': %s", text, fault);
}

// PMU/TERMS/MODIFIERS
static bool parse_pmu_event(struct evlist* list, const char* text) {
    const char* slash = strchr(text, '/');
    if (!slash) return false;
    const char* end = strchr(slash + 1, '/');
    if (!end) usage_error("event '%s': the second slash is missing", text);
    char *name = xstrndup(text, (size_t)(slash - text)), *terms = xstrndup(slash + 1, (size_t)(end - slash - 1));
    const struct pmu* pmu = pmu_find(name);
    if (!pmu) usage_error("event '%s': there is no PMU '%s' here", text, name);
    if (!*terms) usage_error("event '%s': nothing stands between the slashes", text);
    add_pmu_event(list, pmu, text, terms, text);
    if (end[1] == ':') end++;
    apply_modifiers(&list->ev[list->n - 1], text, end + 1, strlen(end + 1));
    free(name);
    free(terms);
    return true;
}

// Names without PMU: the ABI's own, then raw numbers, cache events, then events that a PMU announces.
static bool parse_named(struct evlist* list, const char* text, const char* base) {
    uint64_t config;
    struct pmu* pmus;
    for (int i = 0; i < known_event_count; i++) {
        const struct known_event* k = &known_events[i];
        if (!strcmp(base, k->name) || (k->alias && !strcmp(base, k->alias))) {
            events_add(list, text, k->type, k->config);
            return true;
        }
    }
    if (base[0] == 'r' && parse_hex(base + 1, &config)) {
        events_add(list, text, PERF_TYPE_RAW, config);
        return true;
    }
    if (cache_event_config(base, &config)) {
        events_add(list, text, PERF_TYPE_HW_CACHE, config);
        return true;
    }
    // On a machine with several core PMUs one name stands for one event on each.
    int n = pmu_list(&pmus), found = 0;
    for (int i = 0; i < n; i++)
        if (pmu_has_event(pmus[i].name, base)) {
            char* name = xformat("%s/%s/%s", pmus[i].name, base, text[strlen(base)] ? text + strlen(base) + 1 : "");
            add_pmu_event(list, &pmus[i], name, base, text);
            free(name);
            found++;
        }
    return found > 0;
}

static bool parse_tracepoint(struct evlist* list, const char* text, const char* system, const char* name) {
    uint64_t id;
    if (!tracepoint_id(system, name, &id)) return false;
    events_add(list, text, PERF_TYPE_TRACEPOINT, id)->attr.sample_period = 1;
    return true;
}

static void parse_one(struct evlist* list, const char* text) {
    if (!*text) usage_error("an event name is missing: two commas in a row, or an empty -e");
    if (parse_breakpoint(list, text) || parse_uprobe(list, text) || parse_pmu_event(list, text)) return;
    const char* colon = strchr(text, ':');
    char* base = xstrndup(text, colon ? (size_t)(colon - text) : strlen(text));
    int first = list->n;
    if (parse_named(list, text, base)) {
        if (colon)
            for (int i = first; i < list->n; i++) apply_modifiers(&list->ev[i], text, colon + 1, strlen(colon + 1));
    } else if (colon) {
        const char* second = strchr(colon + 1, ':');
        char* name = xstrndup(colon + 1, second ? (size_t)(second - colon - 1) : strlen(colon + 1));
        if (!parse_tracepoint(list, text, base, name)) {
            if (!name[strspn(name, "ukhGHpPDeI")]) unknown_event(base);
            usage_error("there is no tracepoint '%s'%s", text,
                        tracing_root() ? "" : ", as far as can be seen: tracefs is not readable here");
        }
        if (second) apply_modifiers(&list->ev[first], text, second + 1, strlen(second + 1));
        free(name);
    } else
        unknown_event(base);
    free(base);
}

// The end of one item of a comma list: commas inside /.../ belong to the item; slashes of a breakpoint or a path stand alone.
static const char* item_end(const char* p, char closing) {
    bool slash = false, alone = !strncmp(p, "mem:", 4) || !strncmp(p, "uprobe:", 7);
    for (; *p; p++) {
        if (*p == '/' && !alone)
            slash = !slash;
        else if (!slash && (*p == ',' || *p == closing || *p == '{' || *p == '}'))
            break;
    }
    return p;
}

static const char* parse_group(struct evlist* list, const char* p, const char* name) {
    int first = list->n;
    const char* start = p;
    do {
        const char* end = item_end(p + 1, '}');
        char* item = xstrndup(p + 1, (size_t)(end - p - 1));
        parse_one(list, item);
        free(item);
        p = end;
    } while (*p == ',');
    if (*p != '}') usage_error("the group '%s' is not closed by a brace", start);
    p++;
    if (*p == ':') {
        const char* end = item_end(p, ',');
        for (int i = first; i < list->n; i++) {
            struct event* e = &list->ev[i];
            char* old = e->name;
            apply_modifiers(e, start, p + 1, (size_t)(end - p - 1));
            e->name = xformat("%s%s%.*s", old, strchr(old, ':') ? "" : ":", (int)(end - p - 1), p + 1);
            free(old);
        }
        p = end;
    }
    for (int i = first; i < list->n; i++) {
        list->ev[i].leader = first;
        // A pinned or exclusive group is one by its leader; the kernel refuses such members.
        if (i > first) list->ev[i].attr.pinned = list->ev[i].attr.exclusive = 0;
    }
    list->ev[first].members = list->n - first;
    list->ev[first].group_name = name && *name ? xstrdup(name) : NULL;
    if (list->n - first > 1) list->groups++;
    return p;
}

void events_parse(struct evlist* list, const char* text) {
    const char* p = text;
    for (;;) {
        while (isspace((unsigned char)*p)) p++;
        const char* end = item_end(p, ',');
        if (*end == '{') {
            char* name = xstrndup(p, (size_t)(end - p));
            p = parse_group(list, end, name);
            free(name);
        } else {
            char* item = xstrndup(p, (size_t)(end - p));
            size_t n = strlen(item);
            while (n && isspace((unsigned char)item[n - 1])) item[--n] = 0;
            parse_one(list, item);
            free(item);
            p = end;
        }
        if (!*p) break;
        if (*p != ',') usage_error("'%s' in the event list '%s' is not understood", p, text);
        p++;
    }
    for (int i = 0; i < list->n; i++) {
        struct event* e = &list->ev[i];
        e->unit = event_unit(e);
        e->scale = *e->unit ? 1e-6 : 1;
    }
}

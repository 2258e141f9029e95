// SPDX-License-Identifier: Apache-2.0
// Event names that the perf ABI itself defines, the list command, and close matches for a name that is none.
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "events.h"

#define HW(n, a, c) \
    { n, a, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##c }
#define SW(n, a, c) \
    { n, a, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##c }
const struct known_event known_events[] = {
    HW("cycles", "cpu-cycles", CPU_CYCLES),
    HW("instructions", NULL, INSTRUCTIONS),
    HW("cache-references", NULL, CACHE_REFERENCES),
    HW("cache-misses", NULL, CACHE_MISSES),
    HW("branches", "branch-instructions", BRANCH_INSTRUCTIONS),
    HW("branch-misses", NULL, BRANCH_MISSES),
    HW("bus-cycles", NULL, BUS_CYCLES),
    HW("stalled-cycles-frontend", "idle-cycles-frontend", STALLED_CYCLES_FRONTEND),
    HW("stalled-cycles-backend", "idle-cycles-backend", STALLED_CYCLES_BACKEND),
    HW("ref-cycles", NULL, REF_CPU_CYCLES),
    SW("cpu-clock", NULL, CPU_CLOCK),
    SW("task-clock", NULL, TASK_CLOCK),
    SW("page-faults", "faults", PAGE_FAULTS),
    SW("context-switches", "cs", CONTEXT_SWITCHES),
    SW("cpu-migrations", "migrations", CPU_MIGRATIONS),
    SW("minor-faults", NULL, PAGE_FAULTS_MIN),
    SW("major-faults", NULL, PAGE_FAULTS_MAJ),
    SW("alignment-faults", NULL, ALIGNMENT_FAULTS),
    SW("emulation-faults", NULL, EMULATION_FAULTS),
    SW("dummy", NULL, DUMMY),
    SW("bpf-output", NULL, BPF_OUTPUT),
    SW("cgroup-switches", NULL, CGROUP_SWITCHES),
};
const int known_event_count = (int)ARRAY_SIZE(known_events);

// First spelling of each row: the one that is listed.
static const char* const cache_names[][4] = {
    {"L1-dcache", "l1-d", "l1d", "L1-data"},
    {"L1-icache", "l1-i", "l1i", "L1-instruction"},
    {"LLC", "L2"},
    {"dTLB", "d-tlb", "Data-TLB"},
    {"iTLB", "i-tlb", "Instruction-TLB"},
    {"branch", "bpu", "btb", "bpc"},
    {"node"},
};
static const char* const cache_ops[][4] = {
    {"loads", "load", "read"},
    {"stores", "store", "write"},
    {"prefetches", "prefetch", "speculative-read", "speculative-load"},
};
static const char* const cache_results[][4] = {
    {"refs", "Reference", "ops", "access"},
    {"misses", "miss"},
};

static int match_word(const char* const table[][4], int rows, const char** text) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < 4 && table[i][j]; j++) {
            size_t n = strlen(table[i][j]);
            if (!strncasecmp(*text, table[i][j], n) && ((*text)[n] == '-' || !(*text)[n])) {
                *text += n + ((*text)[n] == '-');
                return i;
            }
        }
    return -1;
}

// NAME, NAME-OP, NAME-OP-RESULT or NAME-RESULT; reads and accesses are meant when nothing is said.
bool cache_event_config(const char* name, uint64_t* config) {
    int cache = match_word(cache_names, ARRAY_SIZE(cache_names), &name);
    int op = -1, result = -1;
    if (cache < 0) return false;
    while (*name) {
        int i;
        if (op < 0 && (i = match_word(cache_ops, ARRAY_SIZE(cache_ops), &name)) >= 0)
            op = i;
        else if (result < 0 && (i = match_word(cache_results, ARRAY_SIZE(cache_results), &name)) >= 0)
            result = i;
        else
            return false;
    }
    *config = (uint64_t)cache | (uint64_t)(op < 0 ? 0 : op) << 8 | (uint64_t)(result < 0 ? 0 : result) << 16;
    return true;
}

char* cache_event_name(int cache, int op, int result) {
    const char* c = cache_names[cache][0];
    return result ? xformat("%s-%s-misses", c, cache_ops[op][1]) : xformat("%s-%s", c, cache_ops[op][0]);
}

// Edit distance with early exit; names are short.
static int distance(const char* a, const char* b) {
    enum { MAX = 63 };
    size_t n = strlen(a), m = strlen(b);
    int row[MAX + 1];
    if (n > MAX || m > MAX) return MAX;
    for (size_t j = 0; j <= m; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int old = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
            diagonal = old;
        }
    }
    return row[m];
}

enum { CLOSE_MAX = 5 };
struct closest {
    const char* name;
    const char* prefix;
    char* found[CLOSE_MAX];
    int score[CLOSE_MAX];
};

static void consider(const char* candidate, void* arg) {
    struct closest* c = arg;
    size_t len = strlen(c->name), limit = len / 3 + 1;
    int d = distance(c->name, candidate);
    // A name that is only cut short is close, too.
    if (len >= 4 && !strncmp(candidate, c->name, len)) d = 1;
    if ((size_t)d > limit) return;
    char* text = c->prefix ? xformat("%s/%s/", c->prefix, candidate) : xstrdup(candidate);
    for (int i = 0; i < CLOSE_MAX && c->found[i]; i++)
        if (!strcmp(c->found[i], text)) return;
    for (int i = 0; i < CLOSE_MAX; i++)
        if (!c->found[i] || d < c->score[i]) {
            for (int j = CLOSE_MAX - 1; j > i; j--) {
                c->found[j] = c->found[j - 1];
                c->score[j] = c->score[j - 1];
            }
            c->found[i] = text;
            c->score[i] = d;
            return;
        }
}

void unknown_event(const char* name) {
    struct closest c = {.name = name};
    struct pmu* pmus;
    int n = pmu_list(&pmus);
    for (int i = 0; i < known_event_count; i++) {
        consider(known_events[i].name, &c);
        if (known_events[i].alias) consider(known_events[i].alias, &c);
    }
    for (int cache = 0; cache < (int)ARRAY_SIZE(cache_names); cache++)
        for (int op = 0; op < 3; op++)
            for (int result = 0; result < 2; result++) consider(cache_event_name(cache, op, result), &c);
    for (int i = 0; i < n; i++) {
        c.prefix = pmus[i].name;
        pmu_each_event(pmus[i].name, consider, &c);
    }
    struct buffer b = {0};
    for (int i = 0; i < CLOSE_MAX && c.found[i]; i++) {
        const char* glue = !i ? "" : i + 1 < CLOSE_MAX && c.found[i + 1] ? ", " : " or ";
        buffer_add(&b, glue, strlen(glue));
        buffer_add(&b, c.found[i], strlen(c.found[i]));
    }
    buffer_add(&b, "", 1);
    if (b.n > 1) usage_error("unknown event '%s'; did you mean %s?", name, (char*)b.p);
    usage_error("unknown event '%s'; 'miniperf list' shows those known here", name);
}

static void print_event(const char* name, const char* alias, const char* kind) {
    char both[80];
    snprintf(both, sizeof(both), alias ? "%s OR %s" : "%s", name, alias);
    printf("  %-50s [%s]\n", both, kind);
}

static void print_pmu_event(const char* name, void* pmu) {
    char* text = xformat("%s/%s/", (char*)pmu, name);
    print_event(text, NULL, "Kernel PMU event");
    free(text);
}

int command_list(int argc, char** argv) {
    struct pmu* pmus;
    int n = pmu_list(&pmus);
    if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
        puts("usage: miniperf list");
        return 0;
    }
    if (argc > 1) usage_error("list takes no argument, so '%s' has no meaning", argv[1]);
    for (int i = 0; i < known_event_count; i++)
        print_event(known_events[i].name, known_events[i].alias,
                    known_events[i].type == PERF_TYPE_HARDWARE ? "Hardware event" : "Software event");
    for (int cache = 0; cache < (int)ARRAY_SIZE(cache_names); cache++)
        for (int op = 0; op < 3; op++)
            for (int result = 0; result < 2; result++) {
                // Instructions are fetched, not stored; the branch unit and the instruction TLB are only read.
                if ((cache == 1 && op == 1) || ((cache == 4 || cache == 5) && op)) continue;
                print_event(cache_event_name(cache, op, result), NULL, "Hardware cache event");
            }
    for (int i = 0; i < n; i++) pmu_each_event(pmus[i].name, print_pmu_event, pmus[i].name);
    print_event("rNNN", NULL, "Raw hardware event, hexadecimal");
    print_event("PMU/event=0xNN,TERM=N/MODIFIERS", NULL, "Raw event of one PMU");
    print_event("mem:ADDRESS[/LENGTH][:rwx]", NULL, "Hardware breakpoint");
    print_event("uprobe:PROGRAM:SYMBOL|OFFSET[%return]", NULL, "Probe of a program");
    print_event("SYSTEM:NAME", NULL, "Tracepoint");
    return 0;
}

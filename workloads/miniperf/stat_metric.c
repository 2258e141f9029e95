// SPDX-License-Identifier: Apache-2.0
// Simple ratios between the counted events.
#include "stat.h"

#define CACHE_READ(c, r) ((uint64_t)PERF_COUNT_HW_CACHE_##c | (uint64_t)PERF_COUNT_HW_CACHE_RESULT_##r << 16)

static bool same_modes(const struct event* a, const struct event* b) {
    return a->attr.exclude_user == b->attr.exclude_user && a->attr.exclude_kernel == b->attr.exclude_kernel &&
           a->attr.exclude_hv == b->attr.exclude_hv;
}

// The mean of an event that counts in the same modes; 0 when there is none.
static double other(const struct evlist* list, const struct result* results, const struct event* like, uint32_t type,
                    uint64_t config) {
    for (int i = 0; i < list->n; i++)
        if (event_is(&list->ev[i], type, config) && same_modes(&list->ev[i], like) && results[i].running.mean > 0)
            return results[i].value.mean;
    return 0;
}

static bool is_clock(const struct event* e) { return e->unit && *e->unit; }

static double clock_ns(const struct evlist* list, const struct result* results) {
    for (int i = 0; i < list->n; i++)
        if (is_clock(&list->ev[i]) && results[i].running.mean > 0) return results[i].value.mean;
    return 0;
}

struct share {
    uint32_t type;
    uint64_t part, whole;
    const char *format, *unit;
};

static const struct share shares[] = {
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "%7.2f%%", "of all branches"},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_CACHE_REFERENCES, "%8.3f %%", "of all cache refs"},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, PERF_COUNT_HW_CPU_CYCLES, "%7.2f%%",
     "frontend cycles idle"},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, PERF_COUNT_HW_CPU_CYCLES, "%7.2f%%",
     "backend cycles idle"},
    {PERF_TYPE_HW_CACHE, CACHE_READ(L1D, MISS), CACHE_READ(L1D, ACCESS), "%7.2f%%", "of all L1-dcache accesses"},
    {PERF_TYPE_HW_CACHE, CACHE_READ(L1I, MISS), CACHE_READ(L1I, ACCESS), "%7.2f%%", "of all L1-icache accesses"},
    {PERF_TYPE_HW_CACHE, CACHE_READ(LL, MISS), CACHE_READ(LL, ACCESS), "%7.2f%%", "of all LL-cache accesses"},
    {PERF_TYPE_HW_CACHE, CACHE_READ(DTLB, MISS), CACHE_READ(DTLB, ACCESS), "%7.2f%%", "of all dTLB cache accesses"},
    {PERF_TYPE_HW_CACHE, CACHE_READ(ITLB, MISS), CACHE_READ(ITLB, ACCESS), "%7.2f%%", "of all iTLB cache accesses"},
};

static void rate(double value, double ns, metric_sink sink, void* arg) {
    static const char* const units[] = {"/sec", "K/sec", "M/sec", "G/sec"};
    double r = 1e9 * value / ns;
    size_t i = 0;
    while (r >= 1000 && i + 1 < ARRAY_SIZE(units)) {
        r /= 1000;
        i++;
    }
    sink(arg, "%8.3f", r, units[i]);
}

void stat_metrics(const struct evlist* list, const struct result* results, int index, double wall_ns, metric_sink sink,
                  void* arg) {
    const struct event* e = &list->ev[index];
    double value = results[index].value.mean, ns = clock_ns(list, results);
    if (is_clock(e)) {
        if (wall_ns > 0) sink(arg, "%8.3f", value / wall_ns, "CPUs utilized");
        return;
    }
    if (event_is(e, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS)) {
        double cycles = other(list, results, e, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
        double front = other(list, results, e, PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND);
        double back = other(list, results, e, PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND);
        double stalled = front > back ? front : back;
        if (cycles > 0) sink(arg, "%7.2f ", value / cycles, "insn per cycle");
        if (stalled > 0 && value > 0) sink(arg, "%7.2f ", stalled / value, "stalled cycles per insn");
        return;
    }
    if (event_is(e, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES)) {
        if (ns > 0) sink(arg, "%8.3f", value / ns, "GHz");
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
        const struct share* s = &shares[i];
        if (!event_is(e, s->type, s->part)) continue;
        double whole = other(list, results, e, s->type, s->whole);
        if (whole > 0) {
            sink(arg, s->format, 100 * value / whole, s->unit);
            return;
        }
    }
    if (ns > 0) rate(value, ns, sink, arg);
}

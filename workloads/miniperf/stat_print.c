// SPDX-License-Identifier: Apache-2.0
// The tables of miniperf stat, for people and as separated values.
#include <stdlib.h>
#include <string.h>

#include "stat.h"

enum {
    VALUE_WIDTH = 18,
    UNIT_WIDTH = 4,
    NAME_WIDTH = 32,
    NO_VALUE_NAME_WIDTH = 25,
    METRIC_WIDTH = 35,
    HEADER_EVERY = 25
};

// One line in the making: the metric callback writes into it.
struct line {
    const struct stat_options* o;
    char prefix[48];
    int metrics;
};

static void group_digits(char* out, size_t size, double value, int decimals, bool group) {
    char digits[64];
    snprintf(digits, sizeof(digits), "%.*f", decimals, value);
    size_t whole = strcspn(digits, "."), n = 0;
    for (size_t i = 0; digits[i] && n + 2 < size; i++) {
        if (group && i && i < whole && (whole - i) % 3 == 0 && digits[i - 1] != '-') out[n++] = ',';
        out[n++] = digits[i];
    }
    out[n] = 0;
}

static void add_metric(void* arg, const char* format, double value, const char* unit) {
    struct line* l = arg;
    FILE* f = l->o->out;
    char text[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int n = snprintf(text, sizeof(text), format, value);
#pragma GCC diagnostic pop
    if (l->o->separator) {
        const char *s = l->o->separator, *t = text + strspn(text, " ");
        // A second metric has a line of its own, with the columns of the counter left empty.
        if (l->metrics++) fprintf(f, "\n%s%s%s%s%s%s", l->prefix, s, s, s, s, s);
        while (n && text[n - 1] == ' ') text[--n] = 0;
        fprintf(f, "%s%.*s%s%s", s, (int)strcspn(t, "% "), t, s, unit);
        return;
    }
    if (l->metrics++) fprintf(f, "\n%s%*s", l->prefix, VALUE_WIDTH + 1 + UNIT_WIDTH + 1 + NAME_WIDTH, "");
    n = fprintf(f, " # %s", text);
    fprintf(f, " %-*s", METRIC_WIDTH - n - 1, unit);
}

static void print_noise(const struct stat_options* o, double error, double mean) {
    double percent = mean != 0 ? 100 * error / mean : 0;
    if (o->separator)
        fprintf(o->out, "%s%.2f%%", o->separator, percent);
    else if (percent != 0)
        fprintf(o->out, "  ( +-%6.2f%% )", percent);
}

static void print_share(const struct stat_options* o, double running, double enabled) {
    // Separated values give whole percents, as perf does.
    uint64_t percent = enabled > 0 ? (uint64_t)(100 * running / enabled) : 100;
    if (o->separator)
        fprintf(o->out, "%s%.0f%s%llu.00", o->separator, running, o->separator, (unsigned long long)percent);
    else if (running != enabled)
        fprintf(o->out, "  (%.2f%%)", enabled > 0 ? 100 * running / enabled : 0);
}

static void print_value(const struct stat_options* o, const struct event* e, double value, bool counted) {
    FILE* f = o->out;
    char text[64];
    if (!counted)
        snprintf(text, sizeof(text), "%s", e->supported ? "<not counted>" : "<not supported>");
    else
        group_digits(text, sizeof(text), value * e->scale, *e->unit ? 2 : 0, o->big_num && !o->separator);
    if (o->separator)
        fprintf(f, "%s%s%s%s%s", text, o->separator, e->unit, o->separator, e->name);
    else
        fprintf(f, "%*s %-*s %-*s", VALUE_WIDTH, text, UNIT_WIDTH, e->unit, counted ? NAME_WIDTH : NO_VALUE_NAME_WIDTH,
                e->name);
}

static void print_line(const struct stat_options* o, const struct evlist* list, const struct result* results, int index,
                       const char* prefix, double wall_ns) {
    const struct event* e = &list->ev[index];
    const struct result* r = &results[index];
    struct line l = {.o = o};
    bool counted = r->running.mean > 0 && e->supported;
    snprintf(l.prefix, sizeof(l.prefix), "%s", prefix);
    fputs(prefix, o->out);
    print_value(o, e, r->value.mean, counted);
    if (o->separator) {
        if (o->repeat > 1) print_noise(o, spread_error(&r->value), r->value.mean);
        print_share(o, r->running.mean, r->enabled.mean);
    }
    if (counted) stat_metrics(list, results, index, wall_ns, add_metric, &l);
    if (!l.metrics && o->separator)
        fprintf(o->out, "%s%s", o->separator, o->separator);
    else if (!l.metrics)
        fprintf(o->out, "%*s", METRIC_WIDTH, "");
    if (!o->separator) {
        if (o->repeat > 1) print_noise(o, spread_error(&r->value), r->value.mean);
        print_share(o, r->running.mean, r->enabled.mean);
    }
    fputc('\n', o->out);
}

// One line per CPU: the totals of this CPU alone stand in for the sums.
static void print_per_cpu(const struct stat_options* o, const struct evlist* list, const struct result* results,
                          int cpu, int index, const char* prefix, double wall_ns) {
    struct result* one = xcalloc((size_t)list->n, sizeof(*one));
    for (int i = 0; i < list->n; i++) {
        int c = list_index(&list->ev[i].cpus, cpu);
        if (c >= 0 && results[i].per_cpu) one[i].sum = results[i].per_cpu[c];
    }
    stat_add_run(list, one, !o->no_scale);
    print_line(o, list, one, index, prefix, wall_ns);
    free(one);
}

void stat_print_counts(const struct stat_options* o, const struct evlist* list, const struct result* results,
                       uint64_t interval_ns, double wall_ns) {
    static int lines;
    char time[40] = "", prefix[96];
    const char* sep = o->separator ? o->separator : " ";
    if (interval_ns) {
        if (!o->separator && lines++ % HEADER_EVERY == 0)
            fprintf(o->out, "#           time %s%s\n", o->per_cpu_lines ? "CPU                    " : "            ",
                    o->per_cpu_lines ? "counts unit events" : "counts unit events");
        snprintf(time, sizeof(time), "%6llu.%09llu%s", (unsigned long long)(interval_ns / 1000000000),
                 (unsigned long long)(interval_ns % 1000000000), sep);
    }
    for (int i = 0; i < list->n; i++) {
        const struct event* e = &list->ev[i];
        if (!o->per_cpu_lines) {
            print_line(o, list, results, i, time, wall_ns);
            continue;
        }
        for (int c = 0; c < e->cpus.n; c++) {
            snprintf(prefix, sizeof(prefix), o->separator ? "%sCPU%d%s" : "%sCPU%-7d%s", time, e->cpus.v[c], sep);
            print_per_cpu(o, list, results, e->cpus.v[c], i, prefix, wall_ns);
        }
    }
    fflush(o->out);
}

void stat_print_header(const struct stat_options* o, char** program) {
    const struct target* t = &o->target;
    FILE* f = o->out;
    if (o->separator) return;
    fprintf(f, "\n Performance counter stats for ");
    if (t->system_wide)
        fprintf(f, "'system wide'");
    else if (t->cpu_text)
        fprintf(f, "'CPU(s) %s'", t->cpu_text);
    else if (t->pid)
        fprintf(f, "process id '%s'", t->pid);
    else if (t->tid)
        fprintf(f, "thread id '%s'", t->tid);
    else {
        fprintf(f, "'%s", program[0]);
        for (int i = 1; program[i]; i++) fprintf(f, " %s", program[i]);
        fputc('\'', f);
    }
    if (o->repeat > 1) fprintf(f, " (%d runs)", o->repeat);
    fputs(":\n\n", f);
}

// Digits after the point at which the first figure of a small number stands.
static int first_digit(double v) {
    int n = 0;
    for (; v > 0 && v < 1 && n < 9; n++) v *= 10;
    return n;
}

void stat_print_footer(const struct stat_options* o, const struct stat_times* t) {
    FILE* f = o->out;
    double mean = t->elapsed.mean / 1e9, error = spread_error(&t->elapsed) / 1e9;
    if (o->separator) return;
    if (!o->null_run) fputc('\n', f);
    if (o->repeat > 1) {
        int digits = first_digit(error) + 2;
        fprintf(f, " %17.*f +- %.*f seconds time elapsed", digits, mean, digits, error);
        print_noise(o, error, mean);
    } else {
        fprintf(f, " %17.9f seconds time elapsed", mean);
        if (t->has_usage) fprintf(f, "\n\n %17.9f seconds user\n %17.9f seconds sys\n", t->user, t->system);
    }
    fputs("\n\n", f);
}

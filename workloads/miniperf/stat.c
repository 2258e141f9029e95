// SPDX-License-Identifier: Apache-2.0
// miniperf stat: counts events while a program runs, or while somebody else's does.
#include "stat.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

static const char help[] =
    "usage: miniperf stat [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
    "       miniperf stat [OPTION]... {-a | -C LIST | -p PID | -t TID}\n"
    "  -e, --event LIST           events, as 'miniperf list' names them\n"
    "  -a, --all-cpus             all tasks on all CPUs\n"
    "  -C, --cpu LIST             all tasks on these CPUs\n"
    "  -p, --pid LIST             these processes\n"
    "  -t, --tid LIST             these threads\n"
    "  -i, --no-inherit           not the children\n"
    "  -r, --repeat N             run N times, show mean and spread\n"
    "  -I, --interval-print MS    print what was counted every MS milliseconds\n"
    "      --interval-count N     only N intervals\n"
    "  -D, --delay MS             start to count MS milliseconds after the program\n"
    "      --timeout MS           stop the program after MS milliseconds\n"
    "  -x, --field-separator SEP  separated values instead of a table\n"
    "  -A, --no-aggr              one line per CPU\n"
    "  -o, --output FILE          not to standard error\n"
    "      --append               behind what FILE holds\n"
    "  -d, --detailed             cache events, too (repeat for more)\n"
    "  -n, --null                 no events, only the time\n"
    "  -B, --big-num              group the digits (--no-big-num: do not)\n"
    "      --no-scale             numbers as counted, without estimate for lost time\n"
    "      --all-user, --all-kernel\n"
    "                             only user or only kernel mode\n"
    "  -v, --verbose              more of what happens\n";

enum { OPT_APPEND = 256, OPT_NO_BIG, OPT_NO_SCALE, OPT_COUNT, OPT_TIMEOUT, OPT_ALL_USER, OPT_ALL_KERNEL };

static const struct option long_options[] = {
    {"event", 1, NULL, 'e'},
    {"all-cpus", 0, NULL, 'a'},
    {"cpu", 1, NULL, 'C'},
    {"pid", 1, NULL, 'p'},
    {"tid", 1, NULL, 't'},
    {"no-inherit", 0, NULL, 'i'},
    {"repeat", 1, NULL, 'r'},
    {"interval-print", 1, NULL, 'I'},
    {"interval-count", 1, NULL, OPT_COUNT},
    {"delay", 1, NULL, 'D'},
    {"timeout", 1, NULL, OPT_TIMEOUT},
    {"field-separator", 1, NULL, 'x'},
    {"no-aggr", 0, NULL, 'A'},
    {"output", 1, NULL, 'o'},
    {"append", 0, NULL, OPT_APPEND},
    {"detailed", 0, NULL, 'd'},
    {"null", 0, NULL, 'n'},
    {"big-num", 0, NULL, 'B'},
    {"no-big-num", 0, NULL, OPT_NO_BIG},
    {"no-scale", 0, NULL, OPT_NO_SCALE},
    {"all-user", 0, NULL, OPT_ALL_USER},
    {"all-kernel", 0, NULL, OPT_ALL_KERNEL},
    {"verbose", 0, NULL, 'v'},
    {"help", 0, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int number(const char* option, const char* text, int least, int most) {
    uint64_t v;
    if (!parse_u64(text, &v) || v < (uint64_t)least || v > (uint64_t)most)
        usage_error("%s wants a number from %d to %d, not '%s'", option, least, most, text);
    return (int)v;
}

static void parse_options(int argc, char** argv, struct stat_options* o, struct evlist* list) {
    enum { DAY_MS = 86400000, RUNS_MAX = 100000 };
    int c, index;
    o->repeat = 1;
    o->big_num = true;
    opterr = 0;
    while (index = optind, (c = getopt_long(argc, argv, "+:e:aC:p:t:ir:I:D:x:Ao:dnBvh", long_options, NULL)) != -1)
        switch (c) {
            case 'e': events_parse(list, optarg); break;
            case 'a': o->target.system_wide = true; break;
            case 'C': o->target.cpu_text = optarg; break;
            case 'p': o->target.pid = optarg; break;
            case 't': o->target.tid = optarg; break;
            case 'i': o->no_inherit = true; break;
            case 'r': o->repeat = number("-r", optarg, 1, RUNS_MAX); break;
            case 'I': o->interval_ms = number("-I", optarg, 1, DAY_MS); break;
            case OPT_COUNT: o->interval_count = number("--interval-count", optarg, 1, INT32_MAX); break;
            case 'D': o->delay_ms = number("-D", optarg, 1, DAY_MS); break;
            case OPT_TIMEOUT: o->timeout_ms = number("--timeout", optarg, 10, DAY_MS); break;
            case 'x': o->separator = !strcmp(optarg, "\\t") ? "\t" : optarg; break;
            case 'A': o->per_cpu_lines = true; break;
            case 'o': o->output = optarg; break;
            case OPT_APPEND: o->append = true; break;
            case 'd': o->detailed++; break;
            case 'n': o->null_run = true; break;
            case 'B': o->big_num = true; break;
            case OPT_NO_BIG: o->big_num = false; break;
            case OPT_NO_SCALE: o->no_scale = true; break;
            case OPT_ALL_USER: o->all_user = true; break;
            case OPT_ALL_KERNEL: o->all_kernel = true; break;
            case 'v': verbose++; break;
            case 'h': fputs(help, stdout); exit(0);
            case ':': usage_error("stat: option '%s' needs a value", argv[optind - 1]);
            default: usage_error("stat: there is no option '%s'; 'miniperf stat --help' lists them", argv[index]);
        }
    if (o->all_user && o->all_kernel) usage_error("--all-user and --all-kernel together leave nothing to count");
    if (o->per_cpu_lines && !target_names_cpus(&o->target))
        usage_error("-A shows CPUs one by one, so it needs -a or -C");
    if (o->interval_ms && o->repeat > 1)
        usage_error("-I prints during one run and -r the mean of several: only one of them is possible");
    if (o->interval_count && !o->interval_ms) usage_error("--interval-count needs -I");
}

static void default_events(struct evlist* list, const struct stat_options* o) {
    if (o->null_run) return;
    if (!list->n) {
        events_parse(list, target_names_cpus(&o->target) ? "cpu-clock" : "task-clock");
        events_parse(list, "context-switches,cpu-migrations,page-faults,cycles,instructions,branches,branch-misses");
    }
    if (o->detailed) events_parse(list, "L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses");
    if (o->detailed > 1)
        events_parse(list,
                     "L1-icache-loads,L1-icache-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,iTLB-load-misses");
    if (o->detailed > 2) events_parse(list, "L1-dcache-prefetches,L1-dcache-prefetch-misses");
}

static void configure(struct evlist* list, const struct stat_options* o) {
    for (int i = 0; i < list->n; i++) {
        struct event* e = &list->ev[i];
        struct perf_event_attr* a = &e->attr;
        bool leader = event_is_leader(list, e);
        a->sample_period = 0;
        a->freq = 0;
        a->precise_ip = 0;
        e->precise_max = false;
        a->sample_type = PERF_SAMPLE_IDENTIFIER;
        a->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        if (list->ev[e->leader].members > 1) a->read_format |= PERF_FORMAT_ID | PERF_FORMAT_GROUP;
        a->inherit = !o->no_inherit;
        a->disabled = leader;
        a->enable_on_exec = leader && target_is_workload(&o->target) && !o->delay_ms;
        if (o->all_user || o->all_kernel) {
            a->exclude_kernel = o->all_user;
            a->exclude_user = o->all_kernel;
            e->user_chose = true;
        }
    }
}

static void open_output(struct stat_options* o) {
    o->out = stderr;
    if (!o->output) return;
    o->out = fopen(o->output, o->append ? "ae" : "we");
    if (!o->out) fatal("cannot create %s: %s", o->output, strerror(errno));
    time_t now = time(NULL);
    fprintf(o->out, "# started on %s\n", ctime(&now));
}

static void open_events(struct evlist* list, const struct stat_options* o) {
    struct event* failed;
    int err;
    while ((err = evlist_open(list, &o->target, true, &failed))) {
        if (!event_fall_back(failed, err)) open_failed(failed, err, &o->target);
        evlist_close(list);
    }
    evlist_read_ids(list);
    if (verbose)
        for (int i = 0; i < list->n; i++)
            if (!list->ev[i].supported)
                warn("event %s is not supported here: %s", list->ev[i].name, strerror(list->ev[i].open_errno));
}

// Waits until the time is over or a signal came; true when it was a signal.
static bool wait_for_signal(uint64_t ns) {
    char bytes[64];
    struct pollfd p = {.fd = stop_pipe(), .events = POLLIN};
    uint64_t end = monotonic_ns() + ns;
    while (!stop_requested) {
        uint64_t now = monotonic_ns();
        if (now >= end) return false;
        poll(&p, 1, (int)((end - now + 999999) / 1000000));
    }
    while (read(stop_pipe(), bytes, sizeof(bytes)) > 0) {
    }
    return true;
}

static void print_interval(struct stat_options* o, struct evlist* list, struct result* results, uint64_t since) {
    for (int i = 0; i < list->n; i++) results[i].value = results[i].enabled = results[i].running = (struct spread){0};
    stat_read(list, results, true, o->per_cpu_lines);
    stat_add_run(list, results, !o->no_scale);
    stat_print_counts(o, list, results, monotonic_ns() - since, (double)o->interval_ms * 1e6);
}

// Until the program ends, the tasks are gone, the time is over or somebody interrupts.
static void wait_for_end(struct stat_options* o, struct evlist* list, struct result* results, uint64_t start,
                         bool program) {
    const uint64_t look_ns = 1000000000;
    uint64_t deadline = o->timeout_ms ? start + (uint64_t)o->timeout_ms * 1000000 : UINT64_MAX;
    for (int intervals = 0;;) {
        uint64_t step = o->interval_ms ? (uint64_t)o->interval_ms * 1000000 : program ? UINT64_MAX / 4 : look_ns;
        uint64_t now = monotonic_ns();
        if (now >= deadline) return;
        if (step > deadline - now) step = deadline - now;
        if (step > 1000 * look_ns) step = 1000 * look_ns;
        if (wait_for_signal(step)) return;
        if (o->interval_ms && monotonic_ns() < deadline) {
            print_interval(o, list, results, start);
            if (o->interval_count && ++intervals == o->interval_count) return;
        }
        if (!program && !target_alive(&o->target)) return;
    }
}

static int run_once(struct stat_options* o, struct evlist* list, struct result* results, char** program,
                    struct stat_times* times) {
    struct workload w = {0};
    bool own = target_is_workload(&o->target);
    if (*program) workload_prepare(&w, program);
    target_resolve(&o->target, &w);
    open_events(list, o);
    uint64_t start = monotonic_ns();
    if (!own && !o->delay_ms) evlist_ioctl(list, PERF_EVENT_IOC_ENABLE);
    if (w.pid) {
        int err = workload_start(&w);
        if (err) {
            workload_wait(&w, false);
            fatal("cannot start %s: %s", program[0], strerror(err));
        }
    }
    if (o->delay_ms && !wait_for_signal((uint64_t)o->delay_ms * 1000000)) evlist_ioctl(list, PERF_EVENT_IOC_ENABLE);
    if (!stop_requested) wait_for_end(o, list, results, start, w.pid != 0);
    if (w.pid) {
        // An interrupt from the terminal reached the program as well: it ends in its own time.
        workload_wait(&w, !child_exited && stop_signal != SIGINT);
        times->has_usage = own;
        times->user = (double)w.usage.ru_utime.tv_sec + (double)w.usage.ru_utime.tv_usec / 1e6;
        times->system = (double)w.usage.ru_stime.tv_sec + (double)w.usage.ru_stime.tv_usec / 1e6;
    }
    uint64_t end = monotonic_ns();
    if (!own) evlist_ioctl(list, PERF_EVENT_IOC_DISABLE);
    spread_add(&times->elapsed, (double)(end - start));
    if (o->interval_ms)
        print_interval(o, list, results, start);
    else {
        stat_read(list, results, false, o->per_cpu_lines);
        stat_add_run(list, results, !o->no_scale);
    }
    if (WIFSIGNALED(w.status) && *program) psignal(WTERMSIG(w.status), program[0]);
    child_exited = 0;
    stop_requested = stop_signal != 0;
    return WIFEXITED(w.status) ? WEXITSTATUS(w.status) : 0;
}

static void close_output(const struct stat_options* o) {
    bool bad = ferror(o->out) != 0;
    errno = 0;
    if (fflush(o->out) || bad)
        fatal("cannot write %s: %s", o->output ? o->output : "the counts",
              errno ? strerror(errno) : "an earlier write failed");
}

int command_stat(int argc, char** argv) {
    static struct stat_options o;
    static struct evlist list;
    static struct stat_times times;
    int status = 0, runs = 0;
    parse_options(argc, argv, &o, &list);
    char** program = argv + optind;
    target_check(&o.target, "stat");
    if (!*program && target_is_workload(&o.target))
        usage_error("stat needs a program to run, or -a, -C, -p or -t; 'miniperf stat --help' tells more");
    if (!*program && o.repeat > 1) usage_error("-r repeats a program, but none is given");
    default_events(&list, &o);
    if (o.null_run) list.n = 0;
    configure(&list, &o);
    open_output(&o);
    catch_signals();
    struct result* results = xcalloc((size_t)list.n, sizeof(*results));
    for (; runs < o.repeat && !stop_signal; runs++) {
        if (runs) evlist_close(&list);
        status = run_once(&o, &list, results, program, &times);
    }
    // A run that was cut short is no repetition.
    if (runs < o.repeat) o.repeat = runs;
    if (!o.interval_ms) {
        stat_print_header(&o, program);
        stat_print_counts(&o, &list, results, 0, times.elapsed.mean);
        stat_print_footer(&o, &times);
    }
    close_output(&o);
    if (stop_signal) {
        signal(stop_signal, SIG_DFL);
        raise(stop_signal);
    }
    return status;
}

// SPDX-License-Identifier: Apache-2.0
// miniperf record: takes samples and writes them to a perf.data file.
#include "record.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buildid.h"
#include "perfdata.h"
#include "synth.h"

static const char help[] =
    "usage: miniperf record [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
    "       miniperf record [OPTION]... {-a | -C LIST | -p PID | -t TID}\n"
    "  -e, --event LIST      events, as 'miniperf list' names them (default cycles)\n"
    "  -c, --count N         a sample every N events\n"
    "  -F, --freq N|max      N samples a second (default 4000)\n"
    "  -g                    call chains by frame pointers (also --call-graph fp)\n"
    "  -a, --all-cpus        all tasks on all CPUs\n"
    "  -C, --cpu LIST        all tasks on these CPUs\n"
    "  -p, --pid LIST        these processes\n"
    "  -t, --tid LIST        these threads\n"
    "  -o, --output FILE     output (default perf.data; - is standard output)\n"
    "  -i, --no-inherit      not the children\n"
    "      --per-thread      one ring per thread, events follow the task\n"
    "  -m, --mmap-pages N    ring size in pages, or with K, M, G in bytes\n"
    "  -d, --data            data addresses\n"
    "  -T, --timestamp       times, also where they would be left out\n"
    "  -P, --period          the period in each sample\n"
    "      --sample-cpu      the CPU in each sample\n"
    "  -n, --no-samples      count only\n"
    "  -s, --stat            count per thread\n"
    "  -R, --raw-samples     raw data of tracepoints\n"
    "      --switch-events   records of context switches\n"
    "      --all-user, --all-kernel\n"
    "                        only user or only kernel mode\n"
    "      --no-buffering    wake the reader for each sample\n"
    "      --strict-freq     refuse a frequency above the kernel's limit\n"
    "  -r, --realtime N      read the rings with this SCHED_FIFO priority\n"
    "  -B, --no-buildid      no build ids\n"
    "  -q, --quiet           no closing lines\n"
    "  -v, --verbose         more of what happens\n";

enum {
    OPT_PER_THREAD = 256,
    OPT_CALL_GRAPH,
    OPT_SAMPLE_CPU,
    OPT_SWITCH,
    OPT_ALL_USER,
    OPT_ALL_KERNEL,
    OPT_NO_BUFFERING,
    OPT_STRICT
};

static const struct option long_options[] = {
    {"event", 1, NULL, 'e'},
    {"count", 1, NULL, 'c'},
    {"freq", 1, NULL, 'F'},
    {"call-graph", 1, NULL, OPT_CALL_GRAPH},
    {"all-cpus", 0, NULL, 'a'},
    {"cpu", 1, NULL, 'C'},
    {"pid", 1, NULL, 'p'},
    {"tid", 1, NULL, 't'},
    {"output", 1, NULL, 'o'},
    {"no-inherit", 0, NULL, 'i'},
    {"per-thread", 0, NULL, OPT_PER_THREAD},
    {"mmap-pages", 1, NULL, 'm'},
    {"data", 0, NULL, 'd'},
    {"timestamp", 0, NULL, 'T'},
    {"period", 0, NULL, 'P'},
    {"sample-cpu", 0, NULL, OPT_SAMPLE_CPU},
    {"no-samples", 0, NULL, 'n'},
    {"stat", 0, NULL, 's'},
    {"raw-samples", 0, NULL, 'R'},
    {"switch-events", 0, NULL, OPT_SWITCH},
    {"all-user", 0, NULL, OPT_ALL_USER},
    {"all-kernel", 0, NULL, OPT_ALL_KERNEL},
    {"no-buffering", 0, NULL, OPT_NO_BUFFERING},
    {"strict-freq", 0, NULL, OPT_STRICT},
    {"realtime", 1, NULL, 'r'},
    {"no-buildid", 0, NULL, 'B'},
    {"quiet", 0, NULL, 'q'},
    {"verbose", 0, NULL, 'v'},
    {"help", 0, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void parse_options(int argc, char** argv, struct record_options* o, struct evlist* list) {
    int c, index;
    opterr = 0;
    while (index = optind,
           (c = getopt_long(argc, argv, "+:e:c:F:gaC:p:t:o:im:dTPnsRr:BNqvh", long_options, NULL)) != -1)
        switch (c) {
            case 'e': events_parse(list, optarg); break;
            case 'c':
                if (!parse_u64(optarg, &o->period)) usage_error("-c wants a number of events, not '%s'", optarg);
                if (!o->period) usage_error("-c 0 is no period: a sample would be due before anything happens");
                if (o->period >> 63)
                    usage_error("-c %s is more than the kernel takes: the highest period is 9223372036854775807",
                                optarg);
                o->has_period = true;
                break;
            case 'F':
                if (!strcmp(optarg, "max"))
                    o->freq_max = true;
                else if (!parse_u64(optarg, &o->freq) || !o->freq)
                    usage_error("-F wants a number of samples per second, or max, not '%s'", optarg);
                o->has_freq = true;
                break;
            case 'g': o->callchain = true; break;
            case OPT_CALL_GRAPH:
                if (strcmp(optarg, "fp"))
                    usage_error("--call-graph %s is not possible: this client knows fp (frame pointers) only", optarg);
                o->callchain = true;
                break;
            case 'a': o->target.system_wide = true; break;
            case 'C': o->target.cpu_text = optarg; break;
            case 'p': o->target.pid = optarg; break;
            case 't': o->target.tid = optarg; break;
            case 'o': o->output = optarg; break;
            case 'i': o->no_inherit = true; break;
            case OPT_PER_THREAD: o->per_thread = true; break;
            case 'm':
                o->pages = ring_pages(optarg);
                o->pages_given = true;
                break;
            case 'd': o->addresses = true; break;
            case 'T': o->times = true; break;
            case 'P': o->with_period = true; break;
            case OPT_SAMPLE_CPU: o->sample_cpu = true; break;
            case 'n': o->no_samples = true; break;
            case 's': o->inherit_stat = true; break;
            case 'R': o->raw = true; break;
            case OPT_SWITCH: o->switches = true; break;
            case OPT_ALL_USER: o->all_user = true; break;
            case OPT_ALL_KERNEL: o->all_kernel = true; break;
            case OPT_NO_BUFFERING: o->no_buffering = true; break;
            case OPT_STRICT: o->strict_freq = true; break;
            case 'r':
                o->priority = atoi(optarg);
                if (o->priority < 1 || o->priority > 99)
                    usage_error("-r wants a priority from 1 to 99, not '%s'", optarg);
                break;
            case 'B':
            case 'N': o->no_build_ids = true; break;
            case 'q': o->quiet = true; break;
            case 'v': verbose++; break;
            case 'h': fputs(help, stdout); exit(0);
            case ':': usage_error("record: option '%s' needs a value", argv[optind - 1]);
            default: usage_error("record: there is no option '%s'; 'miniperf record --help' lists them", argv[index]);
        }
    if (o->all_user && o->all_kernel) usage_error("--all-user and --all-kernel together leave nothing to sample");
    if (o->per_thread && target_names_cpus(&o->target))
        usage_error("--per-thread follows tasks, -a and -C mean CPUs: only one of them is possible");
}

struct recording {
    struct record_options o;
    struct evlist list;
    struct workload work;
    struct rings rings;
    struct perfdata file;
    struct synth synth;
    int argc;
    char** argv;
    unsigned long wakeups;
};

static void open_events(struct recording* r) {
    struct event* failed;
    int err;
    while ((err = evlist_open(&r->list, &r->o.target, false, &failed))) {
        if (!event_fall_back(failed, err)) open_failed(failed, err, &r->o.target);
        evlist_close(&r->list);
    }
    rings_map(&r->rings, &r->list, &r->o.target, r->o.pages, r->o.pages_given);
    evlist_read_ids(&r->list);
}

static bool write_start(struct recording* r) {
    struct feature_input in = {.list = &r->list, .argc = r->argc, .argv = r->argv};
    const struct target* t = &r->o.target;
    struct synth* s = &r->synth;
    if (!perfdata_start(&r->file, &r->list, &in)) return false;
    s->trailer = trailer_size(r->list.ev[0].attr.sample_type);
    s->data_maps = r->o.addresses;
    if (r->rings.n) synth_time_conversion(s, r->rings.r[0].page);
    synth_id_index(s, &r->list, t);
    synth_kernel(s);
    synth_event_updates(s, &r->list, r->file.stream);
    synth_thread_map(s, &t->threads);
    synth_cpu_map(s, &t->cpus);
    if (target_names_cpus(t))
        synth_all_tasks(s);
    else {
        synth_tasks(s, &t->threads, target_names_tasks(t));
        if (r->work.pid && target_names_tasks(t)) synth_thread(s, r->work.pid, false, false);
    }
    synth_marker(s, RECORD_FINISHED_INIT);
    bool ok = perfdata_record(&r->file, &s->out);
    s->out.n = 0;
    return ok;
}

static bool to_file(const void* p, size_t n, void* arg) { return perfdata_write(arg, p, n); }

// One pass over all rings; what one pass brings is older than what the pass after the next one will.
static bool drain_all(struct recording* r, bool* got) {
    uint64_t before = r->file.pos;
    *got = false;
    for (int i = 0; i < r->rings.n; i++) {
        if (!ring_drain(&r->rings.r[i], to_file, &r->file)) return false;
        r->file.whole = r->file.pos;
    }
    if (r->file.pos == before) return true;
    *got = true;
    synth_marker(&r->synth, RECORD_FINISHED_ROUND);
    bool ok = perfdata_record(&r->file, &r->synth.out);
    r->synth.out.n = 0;
    return ok;
}

static struct pollfd* poll_list(const struct recording* r, int* count) {
    int n = 1;
    for (int i = 0; i < r->list.n; i++) n += event_cells(&r->list.ev[i]);
    struct pollfd* p = xcalloc((size_t)n, sizeof(*p));
    p[0] = (struct pollfd){.fd = stop_pipe(), .events = POLLIN};
    n = 1;
    for (int i = 0; i < r->list.n; i++)
        for (int j = 0; j < event_cells(&r->list.ev[i]); j++)
            if (r->list.ev[i].fd[j] >= 0) p[n++] = (struct pollfd){.fd = r->list.ev[i].fd[j], .events = POLLIN};
    *count = n;
    return p;
}

// Events whose tasks are all gone hang up; they have nothing more to say.
static int drop_hung_up(struct pollfd* p, int n) {
    int kept = 1;
    for (int i = 1; i < n; i++)
        if (!(p[i].revents & (POLLHUP | POLLERR))) p[kept++] = p[i];
    return kept;
}

static bool record_loop(struct recording* r) {
    int n;
    struct pollfd* p = poll_list(r, &n);
    bool draining = false, disabled = false, got;
    for (;;) {
        bool stopping = stop_requested;
        if (!drain_all(r, &got)) break;
        if (!got) {
            if (stopping || draining) break;
            int ready = poll(p, (nfds_t)n, -1);
            if (ready < 0 && errno != EINTR) fatal("poll: %s", strerror(errno));
            r->wakeups++;
            if (ready > 0) n = drop_hung_up(p, n);
            draining = n == 1;
        }
        // A workload takes its events with it; others would go on filling the rings.
        if (stop_requested && !disabled && !target_is_workload(&r->o.target)) {
            for (int i = 0; i < r->list.n; i++) r->list.ev[i].immediate = false;
            evlist_ioctl(&r->list, PERF_EVENT_IOC_DISABLE);
            disabled = true;
        }
    }
    free(p);
    return !r->file.failed;
}

// What did not fit into the rings, from each event's own count.
static void write_lost(struct recording* r) {
    for (int i = 0; i < r->list.n; i++) {
        const struct event* e = &r->list.ev[i];
        for (int j = 0; j < event_cells(e); j++) {
            uint64_t v[8];
            ssize_t n = e->fd[j] < 0 ? 0 : read(e->fd[j], v, sizeof(v));
            uint64_t lost = n >= 24 && (e->attr.read_format & PERF_FORMAT_LOST) ? v[n / 8 - 1] : 0;
            if (lost) synth_lost_samples(&r->synth, e, j, lost);
        }
    }
    if (r->synth.out.n) perfdata_record(&r->file, &r->synth.out);
    r->synth.out.n = 0;
}

static void write_end(struct recording* r) {
    struct scan_result scan = {0};
    struct feature_input in = {.list = &r->list, .argc = r->argc, .argv = r->argv};
    if (!r->file.failed) write_lost(r);
    if (!r->file.stream) {
        recording_scan(&r->file, &r->list, !r->o.no_build_ids, &scan);
        in.build_ids = &scan.build_ids;
        in.times = scan.times;
    }
    perfdata_finish(&r->file, &r->list, &in);
    if (r->o.quiet || r->file.failed) return;
    struct stat st = {0};
    fstat(r->file.fd, &st);
    char samples[48] = "";
    if (scan.samples) snprintf(samples, sizeof(samples), " (%llu samples)", (unsigned long long)scan.samples);
    fprintf(stderr, "[ miniperf record: Woken up %lu times to write data ]\n", r->wakeups);
    fprintf(stderr, "[ miniperf record: Captured and wrote %.3f MB %s%s ]\n",
            (double)(r->file.stream ? r->file.pos : (uint64_t)st.st_size) / 1024 / 1024, r->file.path, samples);
}

static int run(struct recording* r, char** program) {
    int exec_error = 0;
    if (*program) workload_prepare(&r->work, program);
    target_resolve(&r->o.target, &r->work);
    open_events(r);
    if (r->o.priority) {
        struct sched_param sp = {.sched_priority = r->o.priority};
        if (sched_setscheduler(0, SCHED_FIFO, &sp))
            fatal("no right to use realtime priority %d: %s", r->o.priority, strerror(errno));
    }
    bool ok = write_start(r);
    if (ok) {
        if (!target_is_workload(&r->o.target)) evlist_ioctl(&r->list, PERF_EVENT_IOC_ENABLE);
        if (r->work.pid) exec_error = workload_start(&r->work);
        if (!exec_error) ok = record_loop(r);
    } else if (r->work.pid) {
        close(r->work.go_fd);
        close(r->work.error_fd);
    }
    if (r->work.pid) workload_wait(&r->work, !child_exited || !ok);
    if (exec_error) {
        warn("cannot start %s: %s", program[0], strerror(exec_error));
        r->o.quiet = true;
    }
    write_end(r);
    if (exec_error || r->file.failed) return EXIT_TROUBLE;
    // Whoever started us shall see the signal that ended the run, as if it had hit the program directly.
    int sig = WIFSIGNALED(r->work.status) && !stop_signal ? WTERMSIG(r->work.status) : stop_signal;
    if (sig) {
        signal(sig, SIG_DFL);
        raise(sig);
    }
    return WEXITSTATUS(r->work.status);
}

int command_record(int argc, char** argv) {
    static struct recording r;
    r.argc = argc;
    r.argv = argv;
    parse_options(argc, argv, &r.o, &r.list);
    char** program = argv + optind;
    target_check(&r.o.target, "record");
    if (!*program && target_is_workload(&r.o.target))
        usage_error("record needs a program to run, or -a, -C, -p or -t; 'miniperf record --help' tells more");
    if (!r.list.n) {
        events_parse(&r.list, "cycles");
        r.list.ev[0].precise_max = true;
    }
    record_configure(&r.list, &r.o, *program != NULL);
    catch_signals();
    perfdata_open(&r.file, r.o.output ? r.o.output : "perf.data");
    return run(&r, program);
}

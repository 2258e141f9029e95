// SPDX-License-Identifier: Apache-2.0
// What each event of a recording asks of the kernel.
#include <string.h>

#include "record.h"

enum { DEFAULT_FREQ = 4000, REG_ARM64_LR = 30 };

// The kernel refuses frequencies above its limit; the default yields, a wish of the user is told.
static void check_frequency(struct record_options* o) {
    long long max;
    if (!read_number("/proc/sys/kernel/perf_event_max_sample_rate", &max) || max <= 0) return;
    if (o->freq_max) o->freq = (uint64_t)max;
    if (o->freq <= (uint64_t)max) return;
    if (o->has_freq && o->strict_freq)
        usage_error("-F %llu is more than kernel.perf_event_max_sample_rate, %lld, allows", (unsigned long long)o->freq,
                    max);
    if (o->has_freq)
        warn("-F %llu is more than kernel.perf_event_max_sample_rate allows: %lld Hz is used",
             (unsigned long long)o->freq, max);
    o->freq = (uint64_t)max;
}

static void set_period(struct event* e, const struct record_options* o) {
    struct perf_event_attr* a = &e->attr;
    if (e->own_period && !o->has_period && !o->has_freq) return;
    if (a->sample_period && !o->has_period && !o->has_freq) return; // breakpoints and tracepoints: every one
    if (o->has_period) {
        a->freq = 0;
        a->sample_period = o->period;
    } else {
        a->freq = 1;
        a->sample_freq = o->freq;
    }
}

static void configure_event(struct event* e, bool leader, const struct record_options* o, bool has_workload,
                            bool per_cpu) {
    struct perf_event_attr* a = &e->attr;
    bool cpu_target = target_names_cpus(&o->target);
    a->sample_id_all = 1;
    a->inherit = !o->no_inherit;
    // The kernel then makes known how many samples the ring had no room for.
    a->read_format = PERF_FORMAT_LOST | PERF_FORMAT_ID;
    a->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_TID;
    set_period(e, o);
    if (a->freq || o->with_period) a->sample_type |= PERF_SAMPLE_PERIOD;
    if (o->no_samples) {
        a->sample_freq = 0;
        a->freq = 0;
    }
    if (o->inherit_stat) {
        a->inherit_stat = 1;
        a->read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    }
    bool dummy = event_is(e, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    if (o->addresses && !dummy) a->sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC;
    if (a->type == PERF_TYPE_BREAKPOINT) a->sample_type |= PERF_SAMPLE_ADDR;
    if (o->callchain && !dummy) {
        // A leaf function keeps its return address in the link register only: the reader repairs the chain with it.
        a->sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;
        a->sample_regs_user = 1ULL << REG_ARM64_LR;
    }
    if (cpu_target || o->sample_cpu) a->sample_type |= PERF_SAMPLE_CPU;
    if (!o->no_inherit || cpu_target || per_cpu || o->times) a->sample_type |= PERF_SAMPLE_TIME;
    if (o->raw || a->type == PERF_TYPE_TRACEPOINT)
        a->sample_type |= PERF_SAMPLE_RAW | PERF_SAMPLE_CPU | PERF_SAMPLE_TIME;
    // One sample a hit, whatever it weighs (sched_stat_runtime counts ns).
    if (a->type == PERF_TYPE_TRACEPOINT) a->sample_type |= PERF_SAMPLE_PERIOD;
    if (o->no_buffering) a->wakeup_events = 1;
    if (o->all_user || o->all_kernel) {
        a->exclude_kernel = o->all_user;
        a->exclude_user = o->all_kernel;
        e->user_chose = true;
    }
    // Members start and stop with their leader.
    a->disabled = leader && !e->immediate;
    a->enable_on_exec = leader && !e->immediate && has_workload && target_is_workload(&o->target);
    if (!e->tracking) return;
    a->mmap = a->mmap2 = a->comm = a->comm_exec = a->task = 1;
    a->ksymbol = a->bpf_event = 1;
    a->mmap_data = o->addresses;
    a->context_switch = o->switches;
}

void record_configure(struct evlist* list, struct record_options* o, bool has_workload) {
    bool per_cpu = !o->per_thread, differ = false;
    if (o->has_period && (o->has_freq || o->freq_max))
        usage_error("-c gives a period and -F a frequency: only one of them is possible");
    if (!o->has_freq && !o->freq_max) o->freq = DEFAULT_FREQ;
    if (!o->has_period) check_frequency(o);
    // Whole CPUs and single threads have nothing that could inherit.
    if (o->target.tid && !o->target.pid) o->no_inherit = true;
    if (o->per_thread) o->no_inherit = true;
    o->target.per_cpu = per_cpu;
    if (target_names_cpus(&o->target)) {
        // Side-band records must come even where the sampling events do not run.
        struct event* d = events_add(list, "dummy:HG", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
        d->attr.exclude_guest = 0;
        d->attr.sample_period = 1;
        d->tracking = d->immediate = true;
        d->unit = "";
    } else
        list->ev[0].tracking = true;
    for (int i = 0; i < list->n; i++)
        configure_event(&list->ev[i], event_is_leader(list, &list->ev[i]), o, has_workload, per_cpu);
    // A reader must find the id before it knows the event: at the same place in all, or right at the start.
    for (int i = 1; i < list->n; i++) differ |= list->ev[i].attr.sample_type != list->ev[0].attr.sample_type;
    if (list->n > 1)
        for (int i = 0; i < list->n; i++)
            list->ev[i].attr.sample_type |= differ ? PERF_SAMPLE_IDENTIFIER : PERF_SAMPLE_ID;
}

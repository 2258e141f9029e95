// SPDX-License-Identifier: Apache-2.0
// Records about tasks: FORK, EXIT, COMM, NAMESPACES, SWITCH, READ (CORE-411 to 416, 423 to 425, 428), and about new
// cgroups (CORE-431).
#include "kernel_events/core/sideband.h"

#include <linux/perf_event.h>
#include <string_view>

namespace rkperf::ke {

namespace {

bool perf_event_task_match(const perf_event_attr& a) { return a.comm || a.mmap || a.mmap2 || a.mmap_data || a.task; }

} // namespace

void Perf::Impl::perf_event_task(TaskBase& task, PerfEventContext* task_ctx, bool fresh) {
    if (!counts.nr_comm && !counts.nr_mmap && !counts.nr_task) return;
    KernelFrame frame(kernel, KernelSymbol::perf_event_task);
    perf_iterate_sb(*this, task_ctx, [&](PerfEvent& event) {
        if (!perf_event_task_match(event.attr)) return;
        KernelFrame f(kernel, KernelSymbol::perf_event_task_output);
        perf_output_record(*this, event, fresh ? PERF_RECORD_FORK : PERF_RECORD_EXIT, 0, 24, [&](RecordBody& body) {
            const TaskBase& parent = fresh || !task.real_parent ? *kernel.current() : *task.real_parent;
            body.put(perf_event_pid(*this, event, task));
            body.put(perf_event_pid(*this, event, parent));
            body.put(perf_event_tid(*this, event, task));
            // EXIT gives the parent's process id twice.
            body.put(fresh ? perf_event_tid(*this, event, parent) : perf_event_pid(*this, event, parent));
            body.put(perf_event_clock(event));
        });
    });
}

void Perf::perf_event_fork(TaskBase& child) {
    impl_->perf_event_task(child, nullptr, true);
    perf_event_namespaces(child);
}

void Perf::perf_event_comm(TaskBase& task, bool exec) {
    Impl& p = *impl_;
    if (!p.counts.nr_comm) return;
    KernelFrame frame(kernel_, KernelSymbol::perf_event_comm);
    const std::string comm(task.comm, strnlen(task.comm, sizeof task.comm - 1));
    perf_iterate_sb(p, nullptr, [&](PerfEvent& event) {
        if (!event.attr.comm) return;
        KernelFrame f(kernel_, KernelSymbol::perf_event_comm_output);
        perf_output_record(p, event, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
                           8 + RecordBody::string_size(comm), [&](RecordBody& body) {
                               body.put(perf_event_pid(p, event, task));
                               body.put(perf_event_tid(p, event, task));
                               body.put_string(comm);
                           });
    });
}

void Perf::perf_event_namespaces(TaskBase& task) {
    Impl& p = *impl_;
    if (!p.counts.nr_namespaces) return;
    KernelFrame frame(kernel_, KernelSymbol::perf_event_namespaces);
    const std::array<NsLinkInfo, NR_NAMESPACES> links = kernel_.task_namespaces(task);
    perf_iterate_sb(p, nullptr, [&](PerfEvent& event) {
        if (!event.attr.namespaces) return;
        perf_output_record(p, event, PERF_RECORD_NAMESPACES, 0, 16 + 16 * NR_NAMESPACES, [&](RecordBody& body) {
            body.put(perf_event_pid(p, event, task));
            body.put(perf_event_tid(p, event, task));
            body.put(std::uint64_t{NR_NAMESPACES});
            for (const NsLinkInfo& link : links) {
                body.put(link.dev);
                body.put(link.ino);
            }
        });
    });
}

void Perf::perf_event_cgroup(PerfCgroup& cgroup) {
    Impl& p = *impl_;
    if (!p.counts.nr_cgroup) return;
    KernelFrame frame(kernel_, KernelSymbol::perf_event_cgroup);
    const std::string path = cgroup.path();
    perf_iterate_sb(p, nullptr, [&](PerfEvent& event) {
        if (!event.attr.cgroup) return;
        perf_output_record(p, event, PERF_RECORD_CGROUP, 0, 8 + RecordBody::string_size(path), [&](RecordBody& body) {
            body.put(cgroup.id);
            body.put_string(path);
        });
    });
}

void Perf::Impl::perf_event_switch(TaskBase& task, TaskBase* next_prev, bool sched_in) {
    KernelFrame frame(kernel, KernelSymbol::perf_event_switch);
    std::uint16_t misc = sched_in ? 0 : PERF_RECORD_MISC_SWITCH_OUT;
    if (!sched_in && task.on_rq()) misc |= PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
    perf_iterate_sb(*this, nullptr, [&](PerfEvent& event) {
        if (!event.attr.context_switch) return;
        KernelFrame f(kernel, KernelSymbol::perf_event_switch_output);
        // Who comes and goes beside the task is the business of CPU-wide events only.
        const bool cpu_wide = !event.ctx->task;
        perf_output_record(*this, event, cpu_wide ? PERF_RECORD_SWITCH_CPU_WIDE : PERF_RECORD_SWITCH, misc,
                           cpu_wide ? 8 : 0, [&](RecordBody& body) {
                               if (!cpu_wide) return;
                               body.put(perf_event_pid(*this, event, *next_prev));
                               body.put(perf_event_tid(*this, event, *next_prev));
                           });
    });
}

void Perf::Impl::perf_event_read_event(PerfEvent& event, TaskBase& task) {
    KernelFrame frame(kernel, KernelSymbol::perf_event_read_event);
    PerfSampleData data;
    PerfOutputHandle handle;
    struct {
        perf_event_header header;
        std::uint32_t pid, tid;
    } read_event{{PERF_RECORD_READ, 0, static_cast<std::uint16_t>(16 + event.read_size)},
                 perf_event_pid(*this, event, task),
                 perf_event_tid(*this, event, task)};
    perf_event_header__init_id(*this, read_event.header, data, event);
    if (perf_output_begin(*this, handle, data, event, read_event.header.size)) return;
    perf_output_put(handle, read_event);
    perf_output_read(handle, event);
    perf_event__output_id_sample(event, handle, data);
    perf_output_end(handle);
}

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
// The way of records out: overflow handlers, identification, values, wakeups, and the records that an event writes about
// itself (CORE-287, 379, 392 to 402, 426, 427, 434).
#include "kernel_events/core/output.h"

#include "kernel_events/core/sample_fields.h"
#include "kernel_events/output_costs.h"

#include <utility>

namespace rkperf::ke {

namespace {

using Begin = int (*)(Perf::Impl&, PerfOutputHandle&, PerfSampleData&, PerfEvent&, unsigned);

void __perf_event_output(Perf::Impl& perf, PerfEvent& event, PerfSampleData& data, PtRegs& regs, Begin output_begin) {
    perf_event_header header{};
    perf_prepare_sample(perf, header, data, event, regs);
    PerfOutputHandle handle;
    if (output_begin(perf, handle, data, event, header.size)) {
        if (const auto rb = perf.ring_buffer_get(event); rb && rb->nr_pages)
            perf.notice(EventNotice::What::sample_lost, event, rb->head, rb->lost);
        return;
    }
    perf_output_sample(handle, header, data, event);
    perf.notice(EventNotice::What::sample_written, event, handle.record, header.size);
    perf_output_end(handle);
}

/// One member of a group, in the order of the read format.
void add_member(const PerfEvent& e, std::uint64_t format, std::vector<std::uint64_t>& values) {
    values.push_back(perf_event_count(e));
    if (format & PERF_FORMAT_ID) values.push_back(primary_event_id(e));
    if (format & PERF_FORMAT_LOST) values.push_back(e.lost_samples);
}

} // namespace

namespace {

std::uint32_t perf_event_pid_type(Perf::Impl& perf, const PerfEvent& event, const TaskBase& task, std::int32_t pid) {
    if (task.dead) return ~0u;
    const PerfEvent& root = event.parent ? *event.parent : event;
    return static_cast<std::uint32_t>(root.ns ? perf.kernel.pid_nr_ns(pid, root.ns.get()) : pid);
}

} // namespace

std::uint32_t perf_event_pid(Perf::Impl& perf, const PerfEvent& event, const TaskBase& task) {
    return perf_event_pid_type(perf, event, task, task.tgid);
}
std::uint32_t perf_event_tid(Perf::Impl& perf, const PerfEvent& event, const TaskBase& task) {
    return perf_event_pid_type(perf, event, task, task.pid);
}

void __perf_event_header__init_id(Perf::Impl& perf, PerfSampleData& data, PerfEvent& event, std::uint64_t sample_type) {
    data.type = event.attr.sample_type;
    if (sample_type & PERF_SAMPLE_TID) {
        perf.kernel.charge(cost::kPrepareTid);
        const TaskBase& task = *perf.kernel.current();
        data.pid = perf_event_pid(perf, event, task);
        data.tid = perf_event_tid(perf, event, task);
    }
    if (sample_type & PERF_SAMPLE_TIME) {
        perf.kernel.charge(cost::kPrepareTime);
        data.time = perf.perf_event_clock(event);
    }
    if (sample_type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER)) data.id = primary_event_id(event);
    if (sample_type & PERF_SAMPLE_STREAM_ID) data.stream_id = event.own_id;
    if (sample_type & PERF_SAMPLE_CPU) data.cpu = static_cast<std::uint32_t>(perf.kernel.smp_processor_id());
}

void perf_event_header__init_id(Perf::Impl& perf, perf_event_header& header, PerfSampleData& data, PerfEvent& event) {
    if (!event.attr.sample_id_all) return;
    header.size = static_cast<std::uint16_t>(header.size + event.id_header_size);
    __perf_event_header__init_id(perf, data, event, event.attr.sample_type);
}

void perf_event__output_id_sample(const PerfEvent& event, PerfOutputHandle& handle, const PerfSampleData& data) {
    if (event.attr.sample_id_all) perf_output_words(handle, SampleWords(kSampleIdTrailer, data.type, data));
}

void perf_output_read(PerfOutputHandle& handle, PerfEvent& event) {
    Perf::Impl& perf = *handle.perf;
    KernelFrame frame(perf.kernel, KernelSymbol::perf_output_read);
    const std::uint64_t format = event.attr.read_format;
    std::uint64_t enabled = 0, running = 0, now = 0;
    if (format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING))
        perf.calc_timer_values(event, now, enabled, running);
    std::vector<std::uint64_t> values;
    if (!(format & PERF_FORMAT_GROUP)) {
        values.push_back(perf_event_count(event));
        if (format & PERF_FORMAT_TOTAL_TIME_ENABLED) values.push_back(enabled + event.child_total_time_enabled);
        if (format & PERF_FORMAT_TOTAL_TIME_RUNNING) values.push_back(running + event.child_total_time_running);
        if (format & PERF_FORMAT_ID) values.push_back(primary_event_id(event));
        if (format & PERF_FORMAT_LOST) values.push_back(event.lost_samples);
        perf_output_words(handle, values);
        return;
    }
    PerfEvent& leader = *event.group_leader;
    {
        // Nothing may be scheduled in or out between the members.
        IrqGuard irq(perf.kernel);
        values.push_back(1 + static_cast<std::uint64_t>(leader.nr_siblings));
        if (format & PERF_FORMAT_TOTAL_TIME_ENABLED) values.push_back(enabled);
        if (format & PERF_FORMAT_TOTAL_TIME_RUNNING) values.push_back(running);
        for_each_group_member(leader, [&](PerfEvent& e) {
            // The sampling event itself is up to date, and its driver is in the middle of it.
            if (&e != &event && e.state == PerfEventState::active) e.pmu->read(e);
            add_member(e, format, values);
        });
    }
    perf_output_words(handle, values);
}

void Perf::Impl::perf_event_output_forward(PerfEvent& event, PerfSampleData& data, PtRegs& regs) {
    KernelFrame frame(kernel, KernelSymbol::perf_event_output_forward);
    __perf_event_output(*this, event, data, regs, perf_output_begin_forward);
}

void Perf::Impl::perf_event_output_backward(PerfEvent& event, PerfSampleData& data, PtRegs& regs) {
    KernelFrame frame(kernel, KernelSymbol::perf_event_output_backward);
    __perf_event_output(*this, event, data, regs, perf_output_begin_backward);
}

void Perf::Impl::perf_event_wakeup(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::perf_event_wakeup);
    ring_buffer_wakeup(event);
    if (!event.pending_kill) return;
    const int band = std::exchange(event.pending_kill, 0);
    PerfEvent& root = root_event(event);
    if (!root.fasync || !root.file) return;
    if (FileRef* file = kernel.file_of(root.file)) file->kill_fasync(band);
}

void Perf::Impl::perf_log_throttle(PerfEvent& event, bool enable) {
    KernelFrame frame(kernel, KernelSymbol::perf_log_throttle);
    const std::uint64_t time = perf_event_clock(event);
    perf_output_record(*this, event, enable ? PERF_RECORD_UNTHROTTLE : PERF_RECORD_THROTTLE, 0, 24,
                       [&](RecordBody& body) {
                           body.put(time);
                           body.put(primary_event_id(event));
                           body.put(event.own_id);
                       });
}

void Perf::Impl::perf_log_itrace_start(PerfEvent& event) {
    PerfEvent& root = root_event(event);
    if (!(root.pmu->capabilities & Pmu::PERF_PMU_CAP_ITRACE) || (root.attach_state & PERF_ATTACH_ITRACE)) return;
    const TaskBase& task = *kernel.current();
    perf_output_record(*this, root, PERF_RECORD_ITRACE_START, 0, 8, [&](RecordBody& body) {
        body.put(perf_event_pid(*this, root, task));
        body.put(perf_event_tid(*this, root, task));
    });
}

void Perf::Impl::perf_log_lost_samples(PerfEvent& event, std::uint64_t lost) {
    perf_output_record(*this, event, PERF_RECORD_LOST_SAMPLES, 0, 8, [&](RecordBody& body) { body.put(lost); });
}

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
// Perf events attached to trace events (kernel/trace/trace_event_perf.c, perf_tp_event of kernel/events/core.c; CORE-473 to 478).
#include "kernel_events/bpf/bpf.h"
#include "kernel_events/internal.h"
#include "kernel_events/trace/event_filter.h"
#include "kernel_events/trace/trace_buffer.h"
#include "kernel_events/trace/trace_events.h"

#include <algorithm>
#include <cstring>

namespace rkperf::ke {

namespace {

/// Instructions of a hit beyond what the functions it enters cost: a system call that is counted was measured at 310 to 360.
constexpr std::uint32_t kHitCost = 120;

} // namespace

PerfTraceBuf::~PerfTraceBuf() {
    if (data_) perf_->put_recursion_context(perf_->this_cpu().swevent_recursion, rctx_);
}

int TraceEvents::perf_trace_event_perm(TraceEventCall& call, PerfEvent& event) {
    if (call.perf_perm)
        if (const int error = call.perf_perm(event)) return error;
    if (event.parent) return 0; // the parent was allowed
    if (!(event.attr.sample_type & PERF_SAMPLE_RAW)) return 0;
    if (event.attach_state == PERF_ATTACH_TASK && (call.flags & TRACE_EVENT_FL_CAP_ANY)) return 0;
    return perf_.perf_allow_tracepoint();
}

int TraceEvents::perf_trace_event_reg(TraceEventCall& call, PerfEvent& event) {
    event.tp_event = &call;
    if (call.perf_refcount++) return 0;
    const int error = call.reg(TraceReg::perf_register, nullptr);
    if (error) --call.perf_refcount;
    return error;
}

void TraceEvents::perf_trace_event_unreg(TraceEventCall& call) {
    if (--call.perf_refcount) return;
    call.reg(TraceReg::perf_unregister, nullptr);
    // Nobody may still be on the way to the list.
    perf_.kernel.synchronize_rcu();
}

int TraceEvents::perf_trace_event_init(TraceEventCall& call, PerfEvent& event) {
    if (const int error = perf_trace_event_perm(call, event)) return error;
    if (const int error = perf_trace_event_reg(call, event)) return error;
    const int error = call.reg(TraceReg::perf_open, &event);
    if (error) perf_trace_event_unreg(call);
    return error;
}

int TraceEvents::perf_trace_init(PerfEvent& event) {
    KernelFrame frame(perf_.kernel, KernelSymbol::perf_trace_init);
    MutexGuard lock(event_mutex());
    if (event.attr.config >> 31) return -EINVAL;
    TraceEventCall* call = find(static_cast<int>(event.attr.config));
    return call && call->reg ? perf_trace_event_init(*call, event) : -EINVAL;
}

void TraceEvents::perf_trace_destroy(PerfEvent& event) {
    KernelFrame frame(perf_.kernel, KernelSymbol::perf_trace_destroy);
    MutexGuard lock(event_mutex());
    TraceEventCall& call = *event.tp_event;
    call.reg(TraceReg::perf_close, &event);
    perf_trace_event_unreg(call);
}

int TraceEvents::perf_trace_add(PerfEvent& event, int flags) {
    KernelFrame frame(perf_.kernel, KernelSymbol::perf_trace_add);
    if (!(flags & PERF_EF_START)) event.hw.state = PERF_HES_STOPPED;
    if (is_sampling_event(event)) {
        event.hw.last_period = event.hw.sample_period;
        perf_.perf_swevent_set_period(event);
    }
    if (is_sampling_event(event)) {
        event.hw.last_period = event.hw.sample_period;
        perf_.perf_swevent_set_period(event);
    }
    TraceEventCall& call = *event.tp_event;
    if (!call.reg(TraceReg::perf_add, &event))
        call.perf_events[static_cast<unsigned>(perf_.kernel.smp_processor_id())].push_front(event);
    return 0;
}

void TraceEvents::perf_trace_del(PerfEvent& event, int) {
    KernelFrame frame(perf_.kernel, KernelSymbol::perf_trace_del);
    TraceEventCall& call = *event.tp_event;
    if (!call.reg(TraceReg::perf_del, &event))
        call.perf_events[static_cast<unsigned>(perf_.kernel.smp_processor_id())].erase(event);
}

int TraceEvents::ftrace_profile_set_filter(PerfEvent& event, std::string_view text) {
    MutexGuard lock(event_mutex());
    if (!event.tp_event) return -EINVAL;
    if (event.filter) return -EEXIST;
    FilterError error;
    event.filter = EventFilter::create(*event.tp_event, text, error);
    return event.filter ? 0 : error.result;
}

bool TraceEvents::perf_events_here(const TraceEventCall& call) const {
    return !call.prog_array.empty() ||
           !call.perf_events[static_cast<unsigned>(perf_.kernel.smp_processor_id())].empty();
}

PerfTraceBuf TraceEvents::perf_trace_buf_alloc(std::size_t size) {
    size = ((size + sizeof(std::uint32_t) + 7) & ~std::size_t{7}) - sizeof(std::uint32_t);
    if (size > PERF_MAX_TRACE_SIZE) {
        perf_.kernel.pr_info("perf buffer not large enough, wanted " + std::to_string(size) + ", have " +
                             std::to_string(PERF_MAX_TRACE_SIZE));
        return {};
    }
    const int rctx = perf_.get_recursion_context(perf_.this_cpu().swevent_recursion);
    if (rctx < 0) return {};
    const auto cpu = static_cast<unsigned>(perf_.kernel.smp_processor_id());
    std::vector<std::uint8_t>& data = perf_trace_buf_[cpu][static_cast<unsigned>(rctx)];
    data.assign(size, 0);
    return {perf_, data, rctx};
}

void TraceEvents::perf_trace_buf_update(std::span<std::uint8_t> record, int type) {
    Kernel& k = perf_.kernel;
    TraceEntry entry{};
    entry.type = static_cast<std::uint16_t>(type);
    entry.flags =
        static_cast<std::uint8_t>((k.irqs_disabled() ? TRACE_FLAG_IRQS_OFF : 0) |
                                  (k.need_resched() ? TRACE_FLAG_NEED_RESCHED | TRACE_FLAG_PREEMPT_RESCHED : 0) |
                                  (k.in_hardirq() ? TRACE_FLAG_HARDIRQ : 0) |
                                  (k.in_softirq() ? TRACE_FLAG_SOFTIRQ : 0) | (k.in_nmi() ? TRACE_FLAG_NMI : 0));
    entry.pid = k.current()->pid;
    // common_preempt_count stays 0: PREEMPT_VOLUNTARY does not count.
    std::memcpy(record.data(), &entry, sizeof entry);
}

bool TraceEvents::perf_tp_event_match(PerfEvent& event, std::span<const std::uint8_t> record, const PtRegs& regs) {
    if (event.hw.state & PERF_HES_STOPPED) return false;
    if (event.attr.exclude_kernel && !regs.user_mode()) return false;
    const PerfEvent& root = root_event(event);
    return !root.filter || root.filter->match(perf_.kernel, record);
}

void TraceEvents::perf_tp_event(TraceEventCall& call, std::uint64_t count, const std::vector<std::uint8_t>& record,
                                PtRegs& regs, TaskBase* task) {
    KernelFrame frame(perf_.kernel, KernelSymbol::perf_tp_event);
    const PerfRawFrag raw{record.data(), static_cast<std::uint32_t>(record.size()), nullptr, {}};
    const auto deliver = [&](PerfEvent& event) {
        if (!perf_tp_event_match(event, record, regs)) return;
        PerfSampleData data;
        perf_sample_data_init(data, 0, 0);
        data.raw = &raw;
        data.sample_flags |= PERF_SAMPLE_RAW;
        perf_.perf_swevent_event(event, count, data, &regs);
    };
    // An interrupt on the way may take events off, so the walk goes over a copy and looks at each again.
    Perf::Impl::RcuReadLock rcu(perf_);
    const int cpu = perf_.kernel.smp_processor_id();
    const std::vector<PerfEvent*> here = call.perf_events[static_cast<unsigned>(cpu)];
    for (PerfEvent* event : here)
        if (event->state == PerfEventState::active && event->oncpu == cpu) deliver(*event);
    if (!task || task == perf_.kernel.current()) return;
    PerfEventContext* ctx = task->perf_event_ctxp[static_cast<unsigned>(Pmu::TaskContext::software)];
    if (!ctx) return;
    const std::vector<PerfEvent*> theirs = ctx->event_list;
    for (PerfEvent* event : theirs) {
        if (event->cpu != cpu || event->attr.type != PERF_TYPE_TRACEPOINT) continue;
        if (event->attr.config != static_cast<std::uint64_t>(call.type) || event->attr.sigtrap) continue;
        deliver(*event);
    }
}

void TraceEvents::write_ftrace(TraceEventCall& call, std::span<const std::uint8_t> record) {
    if (pids_.ignores(call, record, perf_.kernel.current() ? perf_.kernel.current()->pid : 0)) return;
    if (!call.filter || call.filter->match(perf_.kernel, record)) buffer_->write(record);
}

void TraceEvents::ftrace_buf_submit(PerfTraceBuf& buf, TraceEventCall& call) {
    perf_trace_buf_update(buf.data(), call.type);
    write_ftrace(call, buf.data());
}

bool TraceEvents::trace_call_bpf(TraceEventCall& call, PtRegs& regs) {
    return call.prog_array.empty() || perf_.perf.bpf().trace_call_bpf(call, {}, regs);
}

void TraceEvents::perf_trace_buf_submit(PerfTraceBuf& buf, TraceEventCall& call, std::uint64_t count, PtRegs& regs,
                                        TaskBase* task) {
    perf_.kernel.charge(kHitCost);
    perf_trace_buf_update(buf.data(), call.type);
    if (call.enabled) write_ftrace(call, buf.data());
    if (!perf_events_here(call) && !task) return;
    // Programs of a probe have run before the record was made.
    const bool probe = call.flags & (TRACE_EVENT_FL_KPROBE | TRACE_EVENT_FL_UPROBE);
    if (!probe && !call.prog_array.empty() && !perf_.perf.bpf().trace_call_bpf(call, buf.data(), regs)) return;
    perf_tp_event(call, count, buf.data(), regs, task);
}

} // namespace rkperf::ke

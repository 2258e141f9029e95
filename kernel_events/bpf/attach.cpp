// SPDX-License-Identifier: Apache-2.0
// Programs of events: PERF_EVENT_IOC_SET_BPF and QUERY_BPF, and what happens at a hit (CORE-481 to 486).
#include "kernel_events/bpf/bpf.h"

#include <algorithm>

namespace rkperf::ke {

namespace {

constexpr std::size_t kMaxProgs = 64; // BPF_TRACE_MAX_PROGS

/// Where the last field of a trace event ends.
std::uint32_t record_end(const TraceEventCall& call) {
    std::uint32_t end = 0;
    for (const TraceField& f : call.fields) end = std::max(end, static_cast<std::uint32_t>(f.offset + f.size));
    return end;
}

} // namespace

int Bpf::perf_event_set_bpf_prog(PerfEvent& event, int fd) {
    int error = 0;
    const BpfProgPtr prog = prog_of_fd(fd, error);
    if (!prog) return error;
    if (!event.tp_event) {
        if (event.kernel_counter) return -EINVAL;
        if (event.prog) return -EEXIST;
        if (prog->type != BPF_PROG_TYPE_PERF_EVENT) return -EINVAL;
        const perf_event_attr& a = event.attr;
        const bool whole_chain =
            (a.sample_type & PERF_SAMPLE_CALLCHAIN) && !a.exclude_callchain_kernel && !a.exclude_callchain_user;
        if (a.precise_ip && prog->uses_stack_helper && !whole_chain) return -EPROTO;
        event.prog = prog;
        event.orig_overflow_handler = event.overflow_handler;
        event.overflow_handler = [this](PerfEvent& e, PerfSampleData& data, PtRegs& regs) {
            KernelFrame frame(kernel_, KernelSymbol::bpf_overflow_handler);
            std::uint64_t result = 0;
            int& active = active_[static_cast<unsigned>(kernel_.smp_processor_id())];
            // Inside another program's run the sample is dropped.
            if (active++ == 0 && e.prog) {
                BpfContext ctx;
                ctx.regs = &regs;
                ctx.event = &e;
                ctx.data = &data;
                result = run(*e.prog, ctx);
            }
            --active;
            if (static_cast<std::uint32_t>(result)) e.orig_overflow_handler(e, data, regs);
        };
        return 0;
    }
    TraceEventCall& call = *event.tp_event;
    const bool probe = call.flags & (TRACE_EVENT_FL_KPROBE | TRACE_EVENT_FL_UPROBE);
    if (prog->type != (probe ? BPF_PROG_TYPE_KPROBE : BPF_PROG_TYPE_TRACEPOINT)) return -EINVAL;
    if (!probe && prog->max_ctx_offset > record_end(call)) return -EACCES;
    if (event.prog) return -EEXIST;
    auto& all = call.prog_array;
    if (all.size() >= kMaxProgs) return -E2BIG;
    if (std::find(all.begin(), all.end(), prog) != all.end()) return -EEXIST;
    all.push_back(prog);
    event.prog = prog;
    return 0;
}

void Bpf::perf_event_free_bpf_prog(PerfEvent& event) {
    if (!event.prog) return;
    if (event.tp_event) {
        auto& all = event.tp_event->prog_array;
        all.erase(std::remove(all.begin(), all.end(), event.prog), all.end());
    }
    event.prog = nullptr;
}

int Bpf::perf_event_query_prog_array(PerfEvent& event, std::uint64_t info) {
    if (!perf().perfmon_capable()) return -EPERM;
    if (event.attr.type != PERF_TYPE_TRACEPOINT) return -EINVAL;
    perf_event_query_bpf query{};
    if (!kernel_.copy_from_user(&query, info, sizeof query)) return -EFAULT;
    if (query.ids_len > kMaxProgs) return -E2BIG;
    std::vector<std::uint32_t> ids;
    for (const BpfProgPtr& p : event.tp_event->prog_array) ids.push_back(p->id);
    const auto count = static_cast<std::uint32_t>(ids.size());
    const int result = count && query.ids_len && query.ids_len < count ? -ENOSPC : 0;
    ids.resize(query.ids_len);
    if (!kernel_.copy_to_user(info + offsetof(perf_event_query_bpf, prog_cnt), &count, sizeof count) ||
        !kernel_.copy_to_user(info + offsetof(perf_event_query_bpf, ids), ids.data(), ids.size() * sizeof ids[0]))
        return -EFAULT;
    return result;
}

bool Bpf::trace_call_bpf(TraceEventCall& call, std::span<const std::uint8_t> record, PtRegs& regs) {
    KernelFrame frame(kernel_, KernelSymbol::trace_call_bpf);
    int& active = active_[static_cast<unsigned>(kernel_.smp_processor_id())];
    bool deliver = false;
    // Not from within a program: what it does is no event.
    if (active++ == 0) {
        BpfContext ctx;
        ctx.regs = &regs;
        ctx.record = record;
        ctx.call = &call;
        std::uint32_t all = 1;
        const std::vector<BpfProgPtr> progs = call.prog_array;
        for (const BpfProgPtr& p : progs) all &= static_cast<std::uint32_t>(run(*p, ctx));
        deliver = all;
    }
    --active;
    return deliver;
}

} // namespace rkperf::ke

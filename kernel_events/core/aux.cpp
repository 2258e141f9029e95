// SPDX-License-Identifier: Apache-2.0
// What events have to do with AUX areas: stopping their writers, AUX records, AUX data in samples (CORE-353, 433, 434,
// RB-074, 103, 104).
#include "kernel_events/core/output.h"

#include <algorithm>

namespace rkperf::ke {

namespace {

/// Stops an event that runs on this CPU. -EAGAIN: it has gone elsewhere meanwhile.
int __perf_event_stop(Perf::Impl& perf, PerfEvent& event, bool restart) {
    if (event.state != PerfEventState::active) return 0;
    if (event.oncpu != perf.kernel.smp_processor_id()) return -EAGAIN;
    event.pmu->stop(event, PERF_EF_UPDATE);
    if (restart) event.pmu->start(event, 0);
    return 0;
}

} // namespace

int Perf::Impl::perf_event_stop(PerfEvent& event, bool restart) {
    for (;;) {
        if (event.state != PerfEventState::active) return 0;
        const int ret = cpu_function_call(event.oncpu, [&] { return __perf_event_stop(*this, event, restart); });
        if (ret != -EAGAIN) return ret;
    }
}

void Perf::Impl::perf_pmu_output_stop(PerfBuffer& rb) {
    // Events of a CPU may have copies that run there; those for any CPU have none.
    const std::vector<PerfEvent*> users = rb.event_list;
    for (PerfEvent* user : users) {
        const auto stop_here = [&](PerfEventContext& ctx) {
            for (PerfEvent* e : ctx.event_list)
                if (has_aux(*e) && root_event(*e).rb.get() == &rb)
                    if (const int error = __perf_event_stop(*this, *e, false)) return error;
            return 0;
        };
        const auto stop = [&]() -> int {
            PerfCpuContext& cpuctx = this_cpu_context(*user->ctx->pmu);
            if (const int error = stop_here(cpuctx.ctx)) return error;
            return cpuctx.task_ctx ? stop_here(*cpuctx.task_ctx) : 0;
        };
        for (;;) {
            const int cpu = user->cpu >= 0 ? user->cpu : user->oncpu;
            if (cpu < 0 || cpu_function_call(cpu, stop) != -EAGAIN) break;
        }
    }
}

void Perf::Impl::perf_event_aux_event(PerfEvent& event, std::uint64_t head, std::uint64_t size, std::uint64_t flags) {
    perf_output_record(*this, event, PERF_RECORD_AUX, 0, 24, [&](RecordBody& body) {
        body.put(head);
        body.put(size);
        body.put(flags);
    });
}

void Perf::Impl::perf_report_aux_output_id(PerfEvent& event, std::uint64_t hw_id) {
    perf_output_record(*this, root_event(event), PERF_RECORD_AUX_OUTPUT_HW_ID, 0, 8,
                       [&](RecordBody& body) { body.put(hw_id); });
}

std::uint64_t perf_prepare_sample_aux(Perf::Impl& perf, PerfEvent& event, PerfSampleData& data, std::uint64_t size) {
    data.aux_size = 0;
    PerfEvent* sampler = event.aux_event;
    if (!sampler || sampler->state != PerfEventState::active || sampler->oncpu != perf.kernel.smp_processor_id())
        return 0;
    const std::shared_ptr<PerfBuffer> rb = perf.ring_buffer_get(*sampler);
    // An NMI inside the copying of another sample gets none.
    if (!rb || rb->aux_in_sampling) return 0;
    data.aux_size = (std::min(size, rb->perf_aux_size()) + 7) & ~std::uint64_t{7};
    return data.aux_size;
}

void perf_aux_sample_output(PerfEvent& event, PerfOutputHandle& handle, const PerfSampleData& data) {
    PerfEvent* sampler = event.aux_event;
    if (!sampler) return;
    Perf::Impl& perf = *handle.perf;
    const std::shared_ptr<PerfBuffer> rb = perf.ring_buffer_get(*sampler);
    if (!rb) return;
    std::int64_t size;
    {
        IrqGuard irq(perf.kernel);
        rb->aux_in_sampling = true;
        size = sampler->pmu->snapshot_aux(*sampler, handle, data.aux_size);
        rb->aux_in_sampling = false;
    }
    if (size < 0) return;
    const std::uint64_t zero = 0;
    const std::uint64_t pad = std::min<std::uint64_t>(data.aux_size - static_cast<std::uint64_t>(size), sizeof zero);
    if (pad) perf_output_copy(handle, &zero, pad);
}

} // namespace rkperf::ke

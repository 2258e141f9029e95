// SPDX-License-Identifier: Apache-2.0
// What an overflow leaves for irq_work: wakeups with SIGIO, SIGTRAP, disabling (CORE-287 to 295).
#include "kernel_events/internal.h"

namespace rkperf::ke {

void Perf::Impl::perf_sigtrap(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::perf_sigtrap);
    // Nobody to tell if the context has gone to another task or its task is leaving.
    if (event.ctx->task != kernel.current() || kernel.current()->exiting) return;
    kernel.send_sigtrap_perf(kernel.current(), event.pending_addr, event.orig_type, event.attr.sig_data);
}

void Perf::Impl::perf_pending_irq(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::perf_pending_irq);
    PerfPerCpu& cpu = this_cpu();
    const int rctx = get_recursion_context(cpu.swevent_recursion);
    if (event.pending_wakeup) {
        event.pending_wakeup = false;
        perf_event_wakeup(event);
    }
    if (event.oncpu >= 0 && (event.pending_sigtrap || event.pending_disable)) {
        if (event.oncpu == kernel.smp_processor_id()) {
            if (event.pending_sigtrap) {
                event.pending_sigtrap = false;
                perf_sigtrap(event);
                --event.ctx->nr_pending;
            }
            if (event.pending_disable) {
                event.pending_disable = false;
                perf_event_disable_local(event);
            }
        } else {
            kernel.irq_work_queue_on(event.pending_irq, event.oncpu);
        }
    }
    if (rctx >= 0) put_recursion_context(cpu.swevent_recursion, rctx);
}

} // namespace rkperf::ke

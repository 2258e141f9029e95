// SPDX-License-Identifier: Apache-2.0
// Installing events in contexts and removing them, and running functions where a context is live (CORE-162 to 166, 173).
#include "kernel_events/internal.h"

#include <algorithm>
#include <stdexcept>

namespace rkperf::ke {

namespace {

bool task_curr(const TaskBase& task) { return task.on_cpu >= 0; }

} // namespace

int Perf::Impl::task_function_call(TaskBase& task, const std::function<int()>& fn) {
    for (;;) {
        int ret = -EAGAIN;
        const int err = kernel.smp_call_function_single(task.task_cpu, [&] {
            KernelFrame frame(kernel, KernelSymbol::remote_function);
            // -EAGAIN: the task has moved on, follow it.
            if (task.task_cpu != kernel.smp_processor_id()) return;
            ret = kernel.current() == &task ? fn() : -ESRCH;
        });
        if (err) return err;
        if (ret != -EAGAIN) return ret;
        kernel.cond_resched();
    }
}

int Perf::Impl::cpu_function_call(int cpu, const std::function<int()>& fn) {
    int ret = -ENXIO;
    kernel.smp_call_function_single(cpu, [&] {
        KernelFrame frame(kernel, KernelSymbol::remote_function);
        ret = fn();
    });
    return ret;
}

void Perf::Impl::event_function_call(PerfEvent& event, const EventFunction& fn) {
    KernelFrame frame(kernel, KernelSymbol::event_function_call);
    PerfEventContext& ctx = *event.ctx;
    const auto event_function = [&]() -> int {
        KernelFrame inner(kernel, KernelSymbol::event_function);
        PerfCpuContext& cpuctx = get_cpu_context(ctx);
        if (ctx.cpu < 0 && ctx.task != kernel.current()) return -ESRCH;
        fn(event, &cpuctx, ctx);
        return 0;
    };
    if (ctx.cpu >= 0) {
        cpu_function_call(event.cpu, event_function);
        return;
    }
    for (;;) {
        TaskBase* task = ctx.task;
        if (ctx.dead) return;
        if (!task_function_call(*task, event_function)) return;
        IrqGuard irq(kernel);
        if (ctx.dead) return;
        if (ctx.is_active) continue;
        fn(event, nullptr, ctx);
        return;
    }
}

void Perf::Impl::event_function_local(PerfEvent& event, const EventFunction& fn) {
    IrqGuard irq(kernel);
    PerfEventContext& ctx = *event.ctx;
    if (ctx.dead) return;
    if (ctx.cpu < 0 && ctx.task != kernel.current()) return;
    fn(event, &get_cpu_context(ctx), ctx);
}

void Perf::Impl::perf_install_in_context(PerfEventContext& ctx, PerfEvent& event, int cpu) {
    KernelFrame frame(kernel, KernelSymbol::perf_install_in_context);
    event.ctx = &ctx;
    // An event that is off needs no scheduling, unless it is the first, which starts the context's time.
    if (effective_state(event) == PerfEventState::off && ctx.nr_events && !event.cgrp) {
        IrqGuard irq(kernel);
        if (!ctx.dead) add_event_to_ctx(event, ctx);
        return;
    }
    const auto install = [&]() -> int {
        KernelFrame inner(kernel, KernelSymbol::__perf_install_in_context);
        PerfCpuContext& cpuctx = get_cpu_context(ctx);
        PerfEventContext* task_ctx = cpuctx.task_ctx;
        bool reprogram = true;
        if (ctx.cpu < 0) {
            task_ctx = &ctx;
            reprogram = ctx.task == kernel.current();
            if (task_curr(*ctx.task) && !reprogram) return -ESRCH;
        }
        // Without a task of its cgroup here it only joins the list.
        if (event.state > PerfEventState::off && event.cgrp)
            reprogram = kernel.perf_cgroup_from_task(*kernel.current())->is_descendant(*event.cgrp);
        if (reprogram) {
            ctx_sched_out(ctx, cpuctx, EVENT_TIME);
            add_event_to_ctx(event, ctx);
            ctx_resched(cpuctx, task_ctx, get_event_type(event, ctx));
        } else {
            add_event_to_ctx(event, ctx);
        }
        return 0;
    };
    if (ctx.cpu >= 0) {
        cpu_function_call(cpu, install);
        return;
    }
    for (;;) {
        if (!task_function_call(*ctx.task, install)) return;
        IrqGuard irq(kernel);
        if (ctx.dead) return;
        if (task_curr(*ctx.task)) continue;
        add_event_to_ctx(event, ctx);
        return;
    }
}

void Perf::Impl::__perf_remove_from_context(PerfEvent& event, PerfCpuContext& cpuctx, PerfEventContext& ctx,
                                            unsigned long flags) {
    KernelFrame frame(kernel, KernelSymbol::__perf_remove_from_context);
    PerfEventState state = PerfEventState::off;
    if (ctx.is_active & EVENT_TIME) {
        update_context_time(ctx);
        update_cgrp_time_from_cpuctx(cpuctx, false);
    }
    if (flags & DETACH_EXIT) state = PerfEventState::exit;
    if (flags & DETACH_DEAD) {
        event.pending_disable = true;
        state = PerfEventState::dead;
    }
    __event_disable(event, cpuctx, ctx, state);
    if (flags & DETACH_GROUP) perf_group_detach(event);
    if (flags & DETACH_CHILD) perf_child_detach(event);
    list_del_event(event, ctx);
    if (!ctx.nr_events && ctx.is_active) {
        ctx.is_active = 0;
        ctx.rotate_necessary = false;
        if (ctx.cpu < 0) cpuctx.task_ctx = nullptr;
    }
}

void Perf::Impl::perf_remove_from_context(PerfEvent& event, unsigned long flags) {
    KernelFrame frame(kernel, KernelSymbol::perf_remove_from_context);
    PerfEventContext& ctx = *event.ctx;
    {
        IrqGuard irq(kernel);
        // Also the way for a context whose task has exited, where a cross call would find nobody.
        if (!ctx.is_active) {
            __perf_remove_from_context(event, get_cpu_context(ctx), ctx, flags);
            return;
        }
    }
    event_function_call(event, [this, flags](PerfEvent& e, PerfCpuContext* cpuctx, PerfEventContext& c) {
        __perf_remove_from_context(e, cpuctx ? *cpuctx : get_cpu_context(c), c, flags);
    });
}

} // namespace rkperf::ke

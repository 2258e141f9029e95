// SPDX-License-Identifier: Apache-2.0
// Event contexts: finding, referencing, un-cloning; linking events and groups (CORE-004, 005, 141, 145, 166, 174, 233).
#include "kernel_events/core/context_lock.h"

#include <algorithm>

namespace rkperf::ke {

namespace {

PerfEventContext::Groups& groups_of(PerfEvent& event, PerfEventContext& ctx) {
    return event.attr.pinned ? ctx.pinned_groups : ctx.flexible_groups;
}

template <class V>
void erase_value(V& v, PerfEvent* e) {
    v.erase(std::remove(v.begin(), v.end(), e), v.end());
}

} // namespace

PerfCpuContext& Perf::Impl::this_cpu_context(const Pmu& pmu) {
    return *pmu.cpu_context[static_cast<unsigned>(kernel.smp_processor_id())];
}

PerfCpuContext& Perf::Impl::get_cpu_context(const PerfEventContext& ctx) { return this_cpu_context(*ctx.pmu); }

Mutex& Perf::Impl::perf_event_mutex(TaskBase& task) {
    if (!task.perf_event_mutex) task.perf_event_mutex = kernel.make_mutex();
    return *task.perf_event_mutex;
}

PerfEventContext* Perf::Impl::alloc_perf_context(Pmu& pmu, TaskBase* task) {
    KernelFrame frame(kernel, KernelSymbol::alloc_perf_context);
    auto* ctx = new PerfEventContext;
    ++nr_live_contexts;
    ctx->pmu = &pmu;
    ctx->mutex = kernel.make_mutex();
    ctx->task = task;
    if (task) kernel.get_task(task);
    return ctx;
}

void Perf::Impl::get_ctx(PerfEventContext& ctx) { ++ctx.refcount; }

void Perf::Impl::put_ctx(PerfEventContext& ctx) {
    if (--ctx.refcount > 0) return;
    if (ctx.parent_ctx) put_ctx(*ctx.parent_ctx);
    if (ctx.task) kernel.put_task(ctx.task);
    --nr_live_contexts;
    delete &ctx;
}

PerfEventContext* Perf::Impl::unclone_ctx(PerfEventContext& ctx) {
    PerfEventContext* parent = ctx.parent_ctx;
    ctx.parent_ctx = nullptr;
    ++ctx.generation;
    return parent;
}

PerfEventContext* Perf::Impl::perf_lock_task_context(TaskBase& task, int ctxn) {
    IrqGuard irq(kernel);
    PerfEventContext* ctx = task.perf_event_ctxp[ctxn];
    if (!ctx || ctx->dead) return nullptr;
    get_ctx(*ctx);
    return ctx;
}

PerfEventContext* Perf::Impl::perf_pin_task_context(TaskBase& task, int ctxn) {
    IrqGuard irq(kernel);
    PerfEventContext* ctx = perf_lock_task_context(task, ctxn);
    if (ctx) ++ctx->pin_count;
    return ctx;
}

void Perf::Impl::perf_unpin_context(PerfEventContext& ctx) {
    IrqGuard irq(kernel);
    --ctx.pin_count;
}

PerfEventContext* Perf::Impl::find_get_context(Pmu& pmu, TaskBase* task, PerfEvent& event, int& error) {
    KernelFrame frame(kernel, KernelSymbol::find_get_context);
    error = 0;
    if (!task) {
        if ((error = perf_allow_cpu())) return nullptr;
        PerfEventContext& ctx = pmu.cpu_context[static_cast<unsigned>(event.cpu)]->ctx;
        IrqGuard irq(kernel);
        get_ctx(ctx);
        ++ctx.pin_count;
        return &ctx;
    }
    if (pmu.task_ctx_nr == Pmu::TaskContext::invalid) {
        error = -EINVAL;
        return nullptr;
    }
    const int ctxn = static_cast<int>(pmu.task_ctx_nr);
    for (;;) {
        PerfEventContext* ctx = nullptr;
        PerfEventContext* clone = nullptr;
        {
            IrqGuard irq(kernel);
            ctx = perf_lock_task_context(*task, ctxn);
            if (ctx) {
                clone = unclone_ctx(*ctx);
                ++ctx->pin_count;
            }
        }
        if (clone) put_ctx(*clone);
        if (ctx) return ctx;

        ctx = alloc_perf_context(pmu, task);
        {
            MutexGuard lock(perf_event_mutex(*task));
            if (task->exiting) {
                error = -ESRCH;
            } else if (task->perf_event_ctxp[ctxn]) {
                error = -EAGAIN;
            } else {
                get_ctx(*ctx);
                ++ctx->pin_count;
                task->perf_event_ctxp[ctxn] = ctx;
                return ctx;
            }
        }
        put_ctx(*ctx);
        if (error != -EAGAIN) return nullptr;
        error = 0;
    }
}

void Perf::Impl::add_event_to_groups(PerfEvent& event, PerfEventContext& ctx) {
    PerfEventContext::Groups& g = groups_of(event, ctx);
    event.group_index = ++g.index;
    g.tree.emplace(std::pair{event.cpu, event.group_index}, &event);
}

void Perf::Impl::del_event_from_groups(PerfEvent& event, PerfEventContext& ctx) {
    groups_of(event, ctx).tree.erase(std::pair{event.cpu, event.group_index});
    event.group_index = 0;
}

void Perf::Impl::list_add_event(PerfEvent& event, PerfEventContext& ctx) {
    KernelFrame frame(kernel, KernelSymbol::list_add_event);
    event.attach_state |= PERF_ATTACH_CONTEXT;
    event.tstamp = perf_event_time(event);
    if (event.group_leader == &event) {
        event.group_caps = event.event_caps;
        add_event_to_groups(event, ctx);
    }
    ctx.event_list.insert(ctx.event_list.begin(), &event);
    ++ctx.nr_events;
    if (event.hw.flags & PERF_EVENT_FLAG_USER_READ_CNT) ++ctx.nr_user;
    if (event.attr.inherit_stat) ++ctx.nr_stat;
    ++ctx.generation;
}

void Perf::Impl::list_del_event(PerfEvent& event, PerfEventContext& ctx) {
    KernelFrame frame(kernel, KernelSymbol::list_del_event);
    if (!(event.attach_state & PERF_ATTACH_CONTEXT)) return;
    event.attach_state &= ~PERF_ATTACH_CONTEXT;
    --ctx.nr_events;
    if (event.hw.flags & PERF_EVENT_FLAG_USER_READ_CNT) --ctx.nr_user;
    if (event.attr.inherit_stat) --ctx.nr_stat;
    erase_value(ctx.event_list, &event);
    if (event.group_leader == &event) del_event_from_groups(event, ctx);
    if (event.state > PerfEventState::off) perf_event_set_state(event, PerfEventState::off);
    ++ctx.generation;
}

void Perf::Impl::add_event_to_ctx(PerfEvent& event, PerfEventContext& ctx) {
    list_add_event(event, ctx);
    perf_group_attach(event);
}

void Perf::Impl::perf_group_attach(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::perf_group_attach);
    if (event.attach_state & PERF_ATTACH_GROUP) return;
    event.attach_state |= PERF_ATTACH_GROUP;
    PerfEvent& leader = *event.group_leader;
    if (&leader == &event) return;
    leader.group_caps &= event.event_caps;
    leader.sibling_list.push_back(&event);
    ++leader.nr_siblings;
    ++leader.group_generation;
    for_each_group_member(leader, [&](PerfEvent& e) { perf_event__header_size(e); });
}

void Perf::Impl::perf_group_detach(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::perf_group_detach);
    if (!(event.attach_state & PERF_ATTACH_GROUP)) return;
    event.attach_state &= ~PERF_ATTACH_GROUP;
    PerfEvent& leader = *event.group_leader;
    PerfEventContext& ctx = *event.ctx;
    if (&leader != &event) {
        // group_leader stays: list_del_event must not look for a former sibling among the groups.
        erase_value(leader.sibling_list, &event);
        --leader.nr_siblings;
        ++leader.group_generation;
        for_each_group_member(leader, [&](PerfEvent& e) { perf_event__header_size(e); });
        return;
    }
    // The siblings become events of their own.
    std::vector<PerfEvent*> siblings;
    siblings.swap(event.sibling_list);
    event.nr_siblings = 0;
    for (PerfEvent* s : siblings) {
        s->group_leader = s;
        s->group_caps = event.group_caps;
        if (s->attach_state & PERF_ATTACH_CONTEXT) {
            add_event_to_groups(*s, ctx);
            if (s->state == PerfEventState::active)
                (s->attr.pinned ? ctx.pinned_active : ctx.flexible_active).push_back(s);
        }
        perf_event__header_size(*s);
    }
    perf_event__header_size(event);
}

void Perf::Impl::perf_child_detach(PerfEvent& event) {
    if (!(event.attach_state & PERF_ATTACH_CHILD)) return;
    event.attach_state &= ~PERF_ATTACH_CHILD;
    sync_child_event(event);
    erase_value(event.parent->child_list, &event);
}

void Perf::Impl::perf_event_ctx_activate(PerfEventContext& ctx) {
    auto& list = this_cpu().active_ctx_list;
    list.insert(list.begin(), &ctx);
}

void Perf::Impl::perf_event_ctx_deactivate(PerfEventContext& ctx) {
    auto& list = this_cpu().active_ctx_list;
    list.erase(std::remove(list.begin(), list.end(), &ctx), list.end());
}

} // namespace rkperf::ke

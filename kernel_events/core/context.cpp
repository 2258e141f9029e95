// SPDX-License-Identifier: Apache-2.0
// Event contexts: finding, referencing, un-cloning; linking events and groups (CORE-004, 005, 141, 145, 166, 174, 233).
#include "kernel_events/core/context_lock.h"

#include <algorithm>
#include <utility>

namespace rkperf::ke {

namespace {

PerfEventContext::Groups& groups_of(PerfEvent& event, PerfEventContext& ctx) {
    return event.attr.pinned ? ctx.pinned_groups : ctx.flexible_groups;
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
    const bool wants_data = event.attach_state & PERF_ATTACH_TASK_DATA;
    for (;;) {
        PerfEventContext* ctx = nullptr;
        PerfEventContext* clone = nullptr;
        {
            IrqGuard irq(kernel);
            ctx = perf_lock_task_context(*task, ctxn);
            if (ctx) {
                clone = unclone_ctx(*ctx);
                ++ctx->pin_count;
                if (wants_data && !ctx->task_ctx_data) ctx->task_ctx_data = pmu.alloc_task_ctx_data();
            }
        }
        if (clone) put_ctx(*clone);
        if (ctx) return ctx;

        ctx = alloc_perf_context(pmu, task);
        if (wants_data) ctx->task_ctx_data = pmu.alloc_task_ctx_data();
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
    if (event.state > PerfEventState::off) perf_cgroup_event_enable(event, ctx);
    if (event.group_leader == &event) {
        event.group_caps = event.event_caps;
        add_event_to_groups(event, ctx);
    }
    ctx.event_list.push_front(event);
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
    ctx.event_list.erase(event);
    if (event.group_leader == &event) del_event_from_groups(event, ctx);
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
    leader.sibling_list.push_back(event);
    ++leader.nr_siblings;
    ++leader.group_generation;
    for_each_group_member(leader, [&](PerfEvent& e) { perf_event__header_size(e); });
}

void Perf::Impl::perf_promote_sibling_to_leader(PerfEvent& sibling, PerfEventContext& ctx, int group_caps) {
    // Some events make no sense alone; they cannot be enabled again either.
    if (sibling.event_caps & PERF_EV_CAP_SIBLING)
        __event_disable(sibling, get_cpu_context(ctx), ctx, PerfEventState::error);
    sibling.group_leader = &sibling;
    sibling.group_caps = group_caps;
    if (sibling.attach_state & PERF_ATTACH_CONTEXT) {
        add_event_to_groups(sibling, ctx);
        if (sibling.state == PerfEventState::active)
            (sibling.attr.pinned ? ctx.pinned_active : ctx.flexible_active).push_back(sibling);
    }
    perf_event__header_size(sibling);
}

bool Perf::Impl::perf_get_aux_event(PerfEvent& event, PerfEvent* group_leader) {
    if (!group_leader) return false;
    const perf_event_attr& a = event.attr;
    if (a.aux_output && a.aux_sample_size) return false;
    // The leader is scheduled first, so its area is there when the event needs it.
    if (a.aux_output && !(has_aux(*group_leader) && event.pmu->aux_output_match(*group_leader))) return false;
    if (a.aux_sample_size && !group_leader->pmu->has_snapshot_aux()) return false;
    if (!group_leader->refcount) return false;
    get_event(*group_leader);
    event.aux_event = group_leader;
    return true;
}

void Perf::Impl::perf_put_aux_event(PerfEvent& event) {
    if (event.aux_event) {
        put_event(*std::exchange(event.aux_event, nullptr));
        return;
    }
    for (PerfEvent* e : event.group_leader->sibling_list) {
        if (e->aux_event != &event) continue;
        e->aux_event = nullptr;
        put_event(event);
        // Without the area it must not run; enabling it again is allowed.
        __event_disable(*e, get_cpu_context(*event.ctx), *event.ctx, PerfEventState::error);
    }
}

void Perf::Impl::perf_group_detach(PerfEvent& event) {
    KernelFrame frame(kernel, KernelSymbol::perf_group_detach);
    // A leader that was detached before (its CPU went, exec removed it) can have got members since. Linux leaves them
    // with a pointer to it; here they are let go.
    if (!(event.attach_state & PERF_ATTACH_GROUP) && event.sibling_list.empty()) return;
    event.attach_state &= ~PERF_ATTACH_GROUP;
    perf_put_aux_event(event);
    PerfEvent& leader = *event.group_leader;
    PerfEventContext& ctx = *event.ctx;
    if (&leader != &event) {
        leader.sibling_list.erase(event);
        --leader.nr_siblings;
        ++leader.group_generation;
        // It may outlive its leader (its CPU goes, both are closed one after the other), so it must not point there.
        perf_promote_sibling_to_leader(event, ctx, event.event_caps);
        for_each_group_member(leader, [&](PerfEvent& e) { perf_event__header_size(e); });
        return;
    }
    // The siblings become events of their own.
    const std::vector<PerfEvent*> siblings = event.sibling_list;
    event.sibling_list.clear();
    event.nr_siblings = 0;
    for (PerfEvent* s : siblings) perf_promote_sibling_to_leader(*s, ctx, event.group_caps);
    perf_event__header_size(event);
}

void Perf::Impl::perf_child_detach(PerfEvent& event) {
    if (!(event.attach_state & PERF_ATTACH_CHILD)) return;
    event.attach_state &= ~PERF_ATTACH_CHILD;
    sync_child_event(event);
    event.parent->child_list.erase(event);
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

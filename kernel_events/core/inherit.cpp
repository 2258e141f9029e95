// SPDX-License-Identifier: Apache-2.0
// fork and clone: the child gets copies of the events that its parent wants inherited (CORE-493 to 499).
#include "kernel_events/internal.h"

namespace rkperf::ke {

namespace {

constexpr std::uint64_t kCloneClearSighand = 0x100000000;

std::vector<PerfEvent*> leaders_in_order(const PerfEventContext::Groups& groups) {
    std::vector<PerfEvent*> v;
    for (const auto& [key, leader] : groups.tree) v.push_back(leader);
    return v;
}

} // namespace

/// A copy of `source` for `child`; null with error 0 if its owner is closing it.
PerfEvent* Perf::Impl::inherit_event(PerfEvent& source, TaskBase& child, PerfEvent* group_leader,
                                     PerfEventContext& child_ctx, int& error) {
    KernelFrame frame(kernel, KernelSymbol::inherit_event);
    const PerfEventState source_state = source.state;
    // No hierarchies: all copies hang on the original.
    PerfEvent& parent = root_event(source);
    EventRequest request{parent.cpu, &child, group_leader, &parent, nullptr, -1};
    PerfEvent* event = perf_event_alloc(parent.attr, request, error);
    if (!event) return nullptr;
    if ((event->attach_state & PERF_ATTACH_TASK_DATA) && !child_ctx.task_ctx_data)
        child_ctx.task_ctx_data = event->pmu->alloc_task_ctx_data();
    MutexGuard lock(*parent.child_mutex);
    if (parent.state == PerfEventState::dead || parent.refcount == 0) {
        free_event(*event);
        return nullptr;
    }
    get_event(parent);
    get_ctx(child_ctx);
    event->state = source_state >= PerfEventState::inactive ? PerfEventState::inactive : PerfEventState::off;
    if (parent.attr.freq) {
        event->hw.sample_period = event->hw.last_period = parent.hw.sample_period;
        event->hw.period_left = static_cast<std::int64_t>(parent.hw.sample_period);
    }
    event->ctx = &child_ctx;
    event->overflow_handler = parent.overflow_handler;
    if (parent.orig_overflow_handler) {
        event->orig_overflow_handler = parent.orig_overflow_handler;
        event->prog = parent.prog;
    }
    perf_event__header_size(*event);
    perf_event__id_header_size(*event);
    {
        IrqGuard irq(kernel);
        add_event_to_ctx(*event, child_ctx);
        event->attach_state |= PERF_ATTACH_CHILD;
    }
    parent.child_list.push_back(*event);
    return event;
}

int Perf::Impl::inherit_group(PerfEvent& source, TaskBase& child, PerfEventContext& child_ctx) {
    int error = 0;
    PerfEvent* leader = inherit_event(source, child, nullptr, child_ctx, error);
    if (error) return error;
    const std::vector<PerfEvent*> siblings = source.sibling_list;
    for (PerfEvent* s : siblings) {
        PerfEvent* copy = inherit_event(*s, child, leader, child_ctx, error);
        if (error) return error;
        if (copy && s->aux_event == &source && !perf_get_aux_event(*copy, leader)) return -EINVAL;
    }
    if (leader) leader->group_generation = source.group_generation;
    return 0;
}

int Perf::Impl::inherit_task_group(PerfEvent& source, TaskBase& child, int ctxn, std::uint64_t clone_flags,
                                   bool& inherited_all) {
    const perf_event_attr& a = source.attr;
    if (!a.inherit || (a.inherit_thread && !(clone_flags & kCloneThread)) ||
        (a.sigtrap && (clone_flags & kCloneClearSighand))) {
        inherited_all = false;
        return 0;
    }
    PerfEventContext*& child_ctx = child.perf_event_ctxp[ctxn];
    if (!child_ctx) child_ctx = alloc_perf_context(*source.ctx->pmu, &child);
    const int error = inherit_group(source, child, *child_ctx);
    if (error) inherited_all = false;
    return error;
}

int Perf::Impl::perf_event_init_context(TaskBase& child, int ctxn, std::uint64_t clone_flags) {
    TaskBase& parent = *kernel.current();
    if (!parent.perf_event_ctxp[ctxn]) return 0;
    PerfEventContext* parent_ctx = perf_pin_task_context(parent, ctxn);
    if (!parent_ctx) return 0;
    int error = 0;
    {
        MutexGuard lock(*parent_ctx->mutex);
        bool inherited_all = true;
        for (PerfEvent* leader : leaders_in_order(parent_ctx->pinned_groups))
            if ((error = inherit_task_group(*leader, child, ctxn, clone_flags, inherited_all))) break;
        if (!error) {
            // Rotation would change the order under our feet.
            parent_ctx->rotate_disable = 1;
            for (PerfEvent* leader : leaders_in_order(parent_ctx->flexible_groups))
                if ((error = inherit_task_group(*leader, child, ctxn, clone_flags, inherited_all))) break;
        }
        if (!error) {
            IrqGuard irq(kernel);
            parent_ctx->rotate_disable = 0;
            PerfEventContext* child_ctx = child.perf_event_ctxp[ctxn];
            if (child_ctx && inherited_all) {
                if (PerfEventContext* origin = parent_ctx->parent_ctx) {
                    child_ctx->parent_ctx = origin;
                    child_ctx->parent_gen = parent_ctx->parent_gen;
                } else {
                    child_ctx->parent_ctx = parent_ctx;
                    child_ctx->parent_gen = parent_ctx->generation;
                }
                get_ctx(*child_ctx->parent_ctx);
            }
        }
    }
    perf_unpin_context(*parent_ctx);
    put_ctx(*parent_ctx);
    return error;
}

int Perf::perf_event_init_task(TaskBase& child, std::uint64_t clone_flags) {
    KernelFrame frame(kernel_, KernelSymbol::perf_event_init_task);
    child.perf_event_ctxp[0] = child.perf_event_ctxp[1] = nullptr;
    child.perf_event_list.clear();
    child.perf_event_mutex = kernel_.make_mutex();
    for (int ctxn = 0; ctxn < 2; ++ctxn)
        if (const int error = impl_->perf_event_init_context(child, ctxn, clone_flags)) {
            perf_event_free_task(child);
            return error;
        }
    return 0;
}

void Perf::perf_event_free_task(TaskBase& task) {
    for (PerfEventContext*& slot : task.perf_event_ctxp) {
        PerfEventContext* ctx = slot;
        if (!ctx) continue;
        {
            MutexGuard lock(*ctx->mutex);
            {
                IrqGuard irq(kernel_);
                slot = nullptr;
                ctx->dead = true;
                ctx->task = nullptr;
                kernel_.put_task(&task);
            }
            while (!ctx->event_list.empty()) {
                PerfEvent& event = *ctx->event_list.front();
                PerfEvent& parent = *event.parent;
                {
                    MutexGuard children(*parent.child_mutex);
                    parent.child_list.erase(event);
                }
                impl_->put_event(parent);
                {
                    IrqGuard irq(kernel_);
                    impl_->perf_group_detach(event);
                    impl_->list_del_event(event, *ctx);
                }
                impl_->free_event(event);
            }
        }
        impl_->put_ctx(*ctx);
    }
}

} // namespace rkperf::ke

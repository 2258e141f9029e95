// SPDX-License-Identifier: Apache-2.0
// perf_event_open: the order of its checks and the making of an event (CORE-037 to 069, 131 to 140), and kernel counters.
#include "kernel_events/core/context_lock.h"

#include <algorithm>
#include <utility>

namespace rkperf::ke {

namespace {

constexpr std::uint64_t kFlagsAll =
    PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC;
constexpr std::uint64_t kMaxReadSize = 16 * 1024;

/// Keeps a reference to a task that find_task_by_vpid gave.
class TaskRef {
  public:
    TaskRef(Kernel& kernel, TaskBase* task) : kernel_(kernel), task_(task) {}
    ~TaskRef() {
        if (task_) kernel_.put_task(task_);
    }
    TaskRef(const TaskRef&) = delete;
    TaskRef& operator=(const TaskRef&) = delete;

  private:
    Kernel& kernel_;
    TaskBase* task_;
};

std::uint64_t read_size(std::uint64_t format, std::uint64_t members) {
    const auto words = [&](std::uint64_t bits) {
        return static_cast<std::uint64_t>(__builtin_popcountll(format & bits));
    };
    const std::uint64_t times = words(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
    const std::uint64_t entry = 1 + words(PERF_FORMAT_ID | PERF_FORMAT_LOST);
    return format & PERF_FORMAT_GROUP ? 8 * (1 + times + entry * members) : 8 * (times + entry);
}

} // namespace

int Perf::Impl::perf_event_validate_size(PerfEvent& event) {
    PerfEvent& leader = *event.group_leader;
    const std::uint64_t members = 1 + static_cast<std::uint64_t>(leader.nr_siblings) + (&leader != &event ? 1 : 0);
    bool ok = read_size(event.attr.read_format, members) <= kMaxReadSize;
    if (&leader != &event)
        for_each_group_member(leader,
                              [&](PerfEvent& e) { ok = ok && read_size(e.attr.read_format, members) <= kMaxReadSize; });
    return ok ? 0 : -E2BIG;
}

void Perf::Impl::perf_event__state_init(PerfEvent& event) {
    event.state = event.attr.disabled ? PerfEventState::off : PerfEventState::inactive;
}

int Perf::Impl::check_open_attr(const perf_event_attr& attr) {
    // Level 3 is a patch of Debian's.
    if (sysctl.perf_event_paranoid > 2 && !kernel.capable(Capability::sys_admin)) return -EACCES;
    if (const int e = kernel.security_perf_event_open(PerfSecurity::open)) return e;
    if (!attr.exclude_kernel || attr.text_poke)
        if (const int e = perf_allow_kernel()) return e;
    if (attr.namespaces && !perfmon_capable()) return -EACCES;
    if (attr.freq) {
        if (attr.sample_freq > static_cast<std::uint64_t>(sysctl.perf_event_max_sample_rate)) return -EINVAL;
    } else if (attr.sample_period >> 63) {
        return -EINVAL;
    }
    if (attr.sample_type & PERF_SAMPLE_PHYS_ADDR)
        if (const int e = perf_allow_kernel()) return e;
    // Registers at an interrupt can be the kernel's.
    return attr.sample_type & PERF_SAMPLE_REGS_INTR ? kernel.security_locked_down_perf() : 0;
}

/// A pure software group gets its first hardware event: all of it goes to the hardware context.
void Perf::Impl::perf_move_group(PerfEvent& leader, PerfEventContext& gctx, PerfEventContext& ctx) {
    for_each_group_member(leader, [&](PerfEvent& e) {
        perf_remove_from_context(e, 0);
        put_ctx(gctx);
    });
    kernel.synchronize_rcu();
    // Siblings first: as soon as the leader is there the group can be scheduled.
    const auto install = [&](PerfEvent& e) {
        perf_event__state_init(e);
        perf_install_in_context(ctx, e, e.cpu);
        get_ctx(ctx);
    };
    for (PerfEvent* s : leader.sibling_list) install(*s);
    install(leader);
}

int Perf::Impl::perf_event_join(PerfEvent& event, PerfEventContext& ctx, PerfEvent* group_leader, TaskBase* task,
                                bool move_group) {
    if (task && !perf_check_permission(event.attr, *task)) return -EACCES;
    PerfEventContext* gctx = nullptr;
    std::unique_ptr<EventContextLock> group_lock;
    if (move_group) {
        group_lock = std::make_unique<EventContextLock>(*this, *group_leader);
        gctx = &group_lock->ctx();
        if (gctx->dead) return -ESRCH;
        // Someone else may have moved the group meanwhile. Or it is a former member of a hardware group, and there already;
        // Linux takes one mutex twice then.
        if (!(group_leader->group_caps & PERF_EV_CAP_SOFTWARE) || gctx == &ctx) {
            if (gctx != &ctx) return -EINVAL;
            group_lock.reset();
            move_group = false;
        }
    }
    MutexGuard lock(*ctx.mutex);
    if (ctx.dead) return -ESRCH;
    if (const int e = perf_event_validate_size(event)) return e;
    if (!task && !event.pmu->cpu_context[static_cast<unsigned>(event.cpu)]->online) return -ENODEV;
    if (perf_need_aux_event(event) && !perf_get_aux_event(event, group_leader)) return -EINVAL;
    // The reference that the AUX link holds goes with the event if it cannot be installed.
    if (!exclusive_event_installable(event, ctx)) return -EBUSY;
    if (move_group) perf_move_group(*group_leader, *gctx, ctx);

    perf_event__header_size(event);
    perf_event__id_header_size(event);
    event.owner = kernel.current();
    perf_install_in_context(ctx, event, event.cpu);
    perf_unpin_context(ctx);
    return 0;
}

std::int64_t Perf::Impl::sys_perf_event_open(std::uint64_t uattr, std::int32_t pid, std::int32_t cpu,
                                             std::int32_t group_fd, std::uint64_t flags) {
    KernelFrame frame(kernel, KernelSymbol::__do_sys_perf_event_open);
    if (flags & ~kFlagsAll) return -EINVAL;
    perf_event_attr attr;
    if (const int e = perf_copy_attr(uattr, attr)) return e;
    if (const int e = check_open_attr(attr)) return e;
    if ((flags & PERF_FLAG_PID_CGROUP) && (pid == -1 || cpu == -1)) return -EINVAL;
    if (const int e = kernel.fd_available()) return e;

    PerfEvent* group_leader = nullptr;
    PerfEvent* output_event = nullptr;
    std::unique_ptr<FileRef> group;
    if (group_fd != -1) {
        group = kernel.fget(group_fd);
        group_leader = perf_event_of(group.get());
        if (!group_leader) return -EBADF;
        if (flags & PERF_FLAG_FD_OUTPUT) output_event = group_leader;
        if (flags & PERF_FLAG_FD_NO_GROUP) group_leader = nullptr;
    }
    TaskBase* task = nullptr;
    if (pid != -1 && !(flags & PERF_FLAG_PID_CGROUP)) {
        if (pid == 0) {
            task = kernel.current();
            kernel.get_task(task);
        } else {
            task = kernel.find_task_by_vpid(pid);
        }
        if (!task) return -ESRCH;
    }
    TaskRef task_ref(kernel, task);
    if (task && group_leader && group_leader->attr.inherit != attr.inherit) return -EINVAL;

    EventRequest request{cpu, task, group_leader, nullptr, nullptr, flags & PERF_FLAG_PID_CGROUP ? pid : -1};
    int error = 0;
    PerfEvent* event = perf_event_alloc(attr, request, error);
    if (!event) return error;
    PerfEventContext* ctx = nullptr;
    const auto fail = [&](int e) -> std::int64_t {
        if (ctx) {
            perf_unpin_context(*ctx);
            put_ctx(*ctx);
        }
        if (event->aux_event) put_event(*std::exchange(event->aux_event, nullptr));
        event->ctx = nullptr;
        free_event(*event);
        return e;
    };
    if (is_sampling_event(*event) && (event->pmu->capabilities & Pmu::PERF_PMU_CAP_NO_INTERRUPT))
        return fail(-EOPNOTSUPP);
    if (attr.use_clockid)
        if (const int e = perf_event_set_clock(*event, attr.clockid)) return fail(e);
    Pmu* pmu = event->pmu;
    if (pmu->task_ctx_nr == Pmu::TaskContext::software) event->event_caps |= PERF_EV_CAP_SOFTWARE;
    bool move_group = false;
    if (group_leader) {
        if (is_software_event(*event) && !in_software_context(*group_leader))
            pmu = group_leader->ctx->pmu;
        else if (!is_software_event(*event) && is_software_event(*group_leader) &&
                 (group_leader->group_caps & PERF_EV_CAP_SOFTWARE))
            move_group = true;
    }
    ctx = find_get_context(*pmu, task, *event, error);
    if (!ctx) return fail(error);
    if (group_leader) {
        if (group_leader->group_leader != group_leader || group_leader->clock != event->clock ||
            group_leader->cpu != event->cpu || group_leader->ctx->dead || group_leader->ctx->task != ctx->task ||
            (!move_group && group_leader->ctx != ctx) || attr.exclusive || attr.pinned)
            return fail(-EINVAL);
    }
    if (output_event)
        if (const int e = perf_event_set_output(*event, output_event)) return fail(e);
    if (const int e = perf_event_join(*event, *ctx, group_leader, task, move_group)) return fail(e);

    {
        MutexGuard lock(perf_event_mutex(*kernel.current()));
        kernel.current()->perf_event_list.push_back(*event);
    }
    notice(EventNotice::What::opened, *event);
    auto* file = new PerfFile(*this, *event);
    event->file = file;
    const int fd = kernel.anon_inode_getfd("[perf_event]", file, flags & PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        event->file = nullptr;
        delete file;
        perf_event_release_kernel(*event);
    }
    return fd;
}

PerfEvent* Perf::Impl::perf_event_create_kernel_counter(
    const perf_event_attr& attr, int cpu, TaskBase* task,
    std::function<void(PerfEvent&, PerfSampleData&, PtRegs&)> overflow, int& error) {
    KernelFrame frame(kernel, KernelSymbol::perf_event_create_kernel_counter);
    error = -EINVAL;
    if (attr.aux_output) return nullptr;
    EventRequest request;
    request.cpu = cpu;
    request.task = task;
    request.overflow_handler = std::move(overflow);
    PerfEvent* event = perf_event_alloc(attr, request, error);
    if (!event) return nullptr;
    event->kernel_counter = true;
    if (event->pmu->task_ctx_nr == Pmu::TaskContext::software) event->event_caps |= PERF_EV_CAP_SOFTWARE;
    PerfEventContext* ctx = find_get_context(*event->pmu, task, *event, error);
    if (ctx) {
        MutexGuard lock(*ctx->mutex);
        if (ctx->dead)
            error = -ESRCH;
        else if (!task && !event->pmu->cpu_context[static_cast<unsigned>(cpu)]->online)
            error = -ENODEV;
        else if (!exclusive_event_installable(*event, *ctx))
            error = -EBUSY;
        else
            perf_install_in_context(*ctx, *event, event->cpu);
        perf_unpin_context(*ctx);
    }
    if (!error) return event;
    if (ctx) put_ctx(*ctx);
    event->ctx = nullptr;
    free_event(*event);
    return nullptr;
}

std::int64_t Perf::sys_perf_event_open(std::uint64_t attr, std::int32_t pid, std::int32_t cpu, std::int32_t group_fd,
                                       std::uint64_t flags) {
    return impl_->sys_perf_event_open(attr, pid, cpu, group_fd, flags);
}

} // namespace rkperf::ke

// SPDX-License-Identifier: Apache-2.0
// Events of a cgroup: they are on while a task of theirs is current on their CPU (CORE-186, 241 to 250).
#include "kernel_events/internal.h"

#include <algorithm>

namespace rkperf::ke {

namespace {

void __update_cgrp_time(PerfCgroupInfo& info, std::uint64_t now, bool advance) {
    if (advance) info.time += now - info.timestamp;
    info.timestamp = now;
    info.timeoffset = info.time - info.timestamp;
}

PerfCgroupInfo& info_of(PerfCgroup& cgroup, int cpu) { return cgroup.info[static_cast<unsigned>(cpu)]; }

} // namespace

int Perf::Impl::perf_cgroup_connect(PerfEvent& event, int fd, const PerfEvent* group_leader) {
    if (!config.cgroup_perf) return -EINVAL;
    int error = 0;
    event.cgrp = kernel.perf_cgroup_of_fd(fd, error);
    if (error) return error;
    // All of a group watch one cgroup.
    return group_leader && group_leader->cgrp != event.cgrp ? -EINVAL : 0;
}

bool Perf::Impl::perf_cgroup_match(const PerfEvent& event) {
    if (!event.cgrp) return true;
    const PerfCpuContext& cpuctx = get_cpu_context(*event.ctx);
    return cpuctx.cgrp && cpuctx.cgrp->is_descendant(*event.cgrp);
}

void Perf::Impl::perf_cgroup_event_enable(PerfEvent& event, PerfEventContext& ctx) {
    if (!event.cgrp || event.cgrp_counted) return;
    event.cgrp_counted = true;
    if (ctx.nr_cgroups++) return;
    PerfCpuContext& cpuctx = *ctx.pmu->cpu_context[static_cast<unsigned>(event.cpu)];
    cpuctx.cgrp = kernel.perf_cgroup_from_task(*kernel.current());
    auto& list = percpu[static_cast<unsigned>(event.cpu)].cgrp_cpuctx_list;
    list.insert(list.begin(), &cpuctx);
}

void Perf::Impl::perf_cgroup_event_disable(PerfEvent& event, PerfEventContext& ctx) {
    if (!event.cgrp_counted) return;
    event.cgrp_counted = false;
    if (--ctx.nr_cgroups) return;
    PerfCpuContext& cpuctx = *ctx.pmu->cpu_context[static_cast<unsigned>(event.cpu)];
    cpuctx.cgrp = nullptr;
    std::erase(percpu[static_cast<unsigned>(event.cpu)].cgrp_cpuctx_list, &cpuctx);
}

void Perf::Impl::update_cgrp_time_from_cpuctx(PerfCpuContext& cpuctx, bool final) {
    if (!cpuctx.cgrp) return;
    const std::uint64_t now = perf_clock();
    for (PerfCgroup* c = cpuctx.cgrp.get(); c; c = c->parent) {
        PerfCgroupInfo& info = info_of(*c, kernel.smp_processor_id());
        __update_cgrp_time(info, now, true);
        if (final) info.active = false;
    }
}

void Perf::Impl::update_cgrp_time_from_event(PerfEvent& event) {
    if (!event.cgrp) return;
    // Of a cgroup whose tasks are not here the time stands still.
    PerfCgroupInfo& info = info_of(*event.cgrp, kernel.smp_processor_id());
    if (info.active) __update_cgrp_time(info, perf_clock(), true);
}

void Perf::Impl::perf_cgroup_set_timestamp(PerfCpuContext& cpuctx) {
    if (!cpuctx.cgrp || !cpuctx.ctx.nr_cgroups) return;
    for (PerfCgroup* c = cpuctx.cgrp.get(); c; c = c->parent) {
        PerfCgroupInfo& info = info_of(*c, kernel.smp_processor_id());
        __update_cgrp_time(info, cpuctx.ctx.timestamp, false);
        info.active = true;
    }
}

std::uint64_t Perf::Impl::perf_cgroup_event_time(const PerfEvent& event, const std::uint64_t* now) {
    const PerfCgroupInfo& info = info_of(*event.cgrp, event.cpu);
    return now && info.active ? *now + info.timeoffset : info.time;
}

void Perf::Impl::perf_cgroup_switch(TaskBase& task) {
    const auto& list = this_cpu().cgrp_cpuctx_list;
    if (list.empty()) return;
    KernelFrame frame(kernel, KernelSymbol::perf_cgroup_switch);
    const std::shared_ptr<PerfCgroup> cgroup = kernel.perf_cgroup_from_task(task);
    const std::vector<PerfCpuContext*> contexts = list;
    for (PerfCpuContext* cpuctx : contexts) {
        if (cpuctx->cgrp == cgroup) continue;
        perf_pmu_disable(*cpuctx->ctx.pmu);
        cpu_ctx_sched_out(*cpuctx, EVENT_ALL);
        // Not before: what goes out is matched with the cgroup it was on for.
        cpuctx->cgrp = cgroup;
        cpu_ctx_sched_in(*cpuctx, EVENT_ALL);
        perf_pmu_enable(*cpuctx->ctx.pmu);
    }
}

void Perf::perf_cgroup_attach(TaskBase& task) {
    KernelFrame frame(kernel_, KernelSymbol::perf_cgroup_attach);
    impl_->task_function_call(task, [this, &task] {
        impl_->perf_cgroup_switch(task);
        return 0;
    });
}

} // namespace rkperf::ke

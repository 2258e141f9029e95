// SPDX-License-Identifier: Apache-2.0
// Registration of PMUs, their CPU contexts and common sysfs files (CORE-093 to 105).
#include "kernel_events/core/parse.h"
#include "kernel_events/internal.h"

#include <algorithm>

namespace rkperf::ke {

std::string cpu_list(CpuMask mask) {
    std::string s;
    for (int c = 0; c < 32; ++c) {
        if (!(mask >> c & 1)) continue;
        int last = c;
        while (last < 31 && (mask >> (last + 1) & 1)) ++last;
        if (!s.empty()) s += ',';
        s += std::to_string(c);
        if (last > c) s += '-' + std::to_string(last);
        c = last;
    }
    return s;
}

void Perf::Impl::perf_pmu_disable(Pmu& pmu) {
    if (!pmu.pmu_disable_count[static_cast<unsigned>(kernel.smp_processor_id())]++) pmu.pmu_disable();
}

void Perf::Impl::perf_pmu_enable(Pmu& pmu) {
    if (!--pmu.pmu_disable_count[static_cast<unsigned>(kernel.smp_processor_id())]) pmu.pmu_enable();
}

void Perf::Impl::init_cpu_contexts(Pmu& pmu) {
    const bool shared = pmu.task_ctx_nr != Pmu::TaskContext::invalid;
    std::array<PerfCpuContext, kMaxCpus>* set =
        shared ? shared_cpu_contexts[static_cast<unsigned>(pmu.task_ctx_nr)] : nullptr;
    if (!set) {
        set = cpu_contexts.emplace_back(std::make_unique<std::array<PerfCpuContext, kMaxCpus>>()).get();
        if (shared) shared_cpu_contexts[static_cast<unsigned>(pmu.task_ctx_nr)] = set;
        for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
            PerfCpuContext& c = (*set)[static_cast<unsigned>(cpu)];
            c.ctx.pmu = &pmu;
            c.ctx.cpu = cpu;
            c.ctx.mutex = kernel.make_mutex();
            c.online = perf_online_mask >> cpu & 1;
            perf_mux_hrtimer_init(c, cpu);
        }
    }
    for (unsigned cpu = 0; cpu < kMaxCpus; ++cpu) pmu.cpu_context[cpu] = &(*set)[cpu];
}

int Perf::Impl::perf_pmu_register(std::unique_ptr<Pmu>&& owned, std::string name, int type) {
    Pmu& pmu = *owned;
    pmu.name = std::move(name);
    pmu.type = static_cast<std::uint32_t>(type);
    if (!pmu.name.empty() && type != PERF_TYPE_SOFTWARE) {
        std::uint32_t id = static_cast<std::uint32_t>(type >= 0 ? type : static_cast<int>(PERF_TYPE_MAX));
        while (type < 0 && pmu_idr.count(id)) ++id;
        if (pmu_idr.count(id)) return -ENOSPC;
        pmu_idr[id] = &pmu;
        pmu.type = id;
    }
    // Two PMUs can share the tasks' hardware context only if they serve different CPUs.
    if (pmu.task_ctx_nr == Pmu::TaskContext::hardware && shared_cpu_contexts[0] && !pmu.heterogeneous()) {
        kernel.pr_info("perf: a second hardware PMU, " + pmu.name + ", does not share the tasks' context");
        pmu.task_ctx_nr = Pmu::TaskContext::invalid;
    }
    init_cpu_contexts(pmu);
    if (type == PERF_TYPE_SOFTWARE || pmu.name.empty())
        pmus.insert(pmus.begin(), &pmu);
    else
        pmus.push_back(&pmu);
    pmu_objects.push_back(std::move(owned));
    if (!pmu.name.empty()) pmu_dev_alloc(pmu);
    return 0;
}

void Perf::Impl::perf_pmu_unregister(Pmu& pmu) {
    std::erase(pmus, &pmu);
    kernel.synchronize_rcu();
    if (!pmu.name.empty()) {
        if (pmu.type != PERF_TYPE_SOFTWARE) pmu_idr.erase(pmu.type);
        kernel.remove_attribute("/sys/bus/event_source/devices/" + pmu.name);
    }
    // Contexts that PMUs share stay, and so does whoever gave them their name; so does the object, for they point to it.
}

void Perf::Impl::perf_pmu_migrate_context(Pmu& pmu, int src_cpu, int dst_cpu) {
    PerfEventContext& src = pmu.cpu_context[static_cast<unsigned>(src_cpu)]->ctx;
    PerfEventContext& dst = pmu.cpu_context[static_cast<unsigned>(dst_cpu)]->ctx;
    MutexGuard src_lock(*src.mutex), dst_lock(*dst.mutex);
    std::vector<PerfEvent*> events = src.event_list;
    std::reverse(events.begin(), events.end());
    for (auto it = events.rbegin(); it != events.rend(); ++it) {
        perf_remove_from_context(**it, 0);
        unaccount_pmu_sb_event(**it);
        put_ctx(src);
    }
    kernel.synchronize_rcu();
    const auto install = [&](PerfEvent& event) {
        if (event.state >= PerfEventState::off) event.state = PerfEventState::inactive;
        event.cpu = dst_cpu;
        account_pmu_sb_event(event);
        perf_install_in_context(dst, event, dst_cpu);
        get_ctx(dst);
    };
    // As soon as a leader is there its group can run, so it comes last.
    for (PerfEvent* e : events)
        if (e->group_leader != e) install(*e);
    for (PerfEvent* e : events)
        if (e->group_leader == e) install(*e);
}

int Perf::Impl::exclusive_event_init(PerfEvent& event) {
    Pmu& pmu = *event.pmu;
    if (!(pmu.capabilities & Pmu::PERF_PMU_CAP_EXCLUSIVE)) return 0;
    const int step = event.attach_state & PERF_ATTACH_TASK ? 1 : -1;
    if (pmu.exclusive_cnt * step < 0) return -EBUSY;
    pmu.exclusive_cnt += step;
    return 0;
}

void Perf::Impl::exclusive_event_destroy(PerfEvent& event) {
    if (event.pmu->capabilities & Pmu::PERF_PMU_CAP_EXCLUSIVE)
        event.pmu->exclusive_cnt -= event.attach_state & PERF_ATTACH_TASK ? 1 : -1;
}

bool Perf::Impl::exclusive_event_installable(PerfEvent& event, PerfEventContext& ctx) {
    if (!(event.pmu->capabilities & Pmu::PERF_PMU_CAP_EXCLUSIVE)) return true;
    return std::none_of(ctx.event_list.begin(), ctx.event_list.end(), [&](const PerfEvent* e) {
        return e->pmu == event.pmu && (e->cpu == event.cpu || e->cpu == -1 || event.cpu == -1);
    });
}

void Perf::Impl::pmu_dev_alloc(Pmu& pmu) {
    const std::string dir = "/sys/bus/event_source/devices/" + pmu.name + "/";
    kernel.add_attribute({dir + "type", 0444, [&pmu] { return std::to_string(pmu.type) + "\n"; }, nullptr});
    if (pmu.nr_addr_filters)
        kernel.add_attribute(
            {dir + "nr_addr_filters", 0444, [&pmu] { return std::to_string(pmu.nr_addr_filters) + "\n"; }, nullptr});
    kernel.add_attribute({dir + "perf_event_mux_interval_ms", 0644,
                          [&pmu] { return std::to_string(pmu.hrtimer_interval_ms) + "\n"; },
                          [this, &pmu](std::string_view text) { return perf_event_mux_interval_ms_store(pmu, text); }});
}

int Perf::Impl::perf_event_mux_interval_ms_store(Pmu& pmu, std::string_view text) {
    int timer = 0;
    if (const int error = kstrtoint(text, timer)) return error;
    if (timer < 1) return -EINVAL;
    if (timer == pmu.hrtimer_interval_ms) return 0;
    pmu.hrtimer_interval_ms = timer;
    for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
        if (!(kernel.cpu_online_mask() >> cpu & 1)) continue;
        PerfCpuContext& cpuctx = *pmu.cpu_context[static_cast<unsigned>(cpu)];
        cpuctx.hrtimer_interval_ns = static_cast<std::uint64_t>(timer) * 1'000'000;
        cpu_function_call(cpu, [&] {
            perf_mux_hrtimer_restart(cpuctx);
            return 0;
        });
    }
    return 0;
}

unsigned Perf::Impl::interrupt_context_level() {
    if (kernel.in_nmi()) return 3;
    if (kernel.in_hardirq()) return 2;
    return kernel.in_softirq() ? 1 : 0;
}

int Perf::Impl::get_recursion_context(std::array<std::uint8_t, PERF_NR_CONTEXTS>& recursion) {
    const unsigned level = interrupt_context_level();
    if (recursion[level]) return -1;
    recursion[level] = 1;
    return static_cast<int>(level);
}

void Perf::Impl::put_recursion_context(std::array<std::uint8_t, PERF_NR_CONTEXTS>& recursion, int rctx) {
    recursion[static_cast<unsigned>(rctx)] = 0;
}

} // namespace rkperf::ke

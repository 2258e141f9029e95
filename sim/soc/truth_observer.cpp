// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/truth_observer.h"

#include "sim/soc/truth_names.h"

#include <algorithm>

namespace rkperf::soc {

using ke::EventNotice;
using ke::PerfEvent;
using ke::PerfEventState;

namespace {

/// Bits of hw.config_base, which are PMEVTYPER's.
constexpr std::uint64_t kExcludeEl1 = 1u << 31, kExcludeEl0 = 1u << 30, kEventMask = 0xffff;

const PerfEvent& root_of(const PerfEvent& e) { return e.parent ? *e.parent : e; }

bool is_hardware(const PerfEvent& e) { return e.pmu && e.pmu->heterogeneous(); }

bool is_clock(const PerfEvent& e) {
    return e.attr.type == PERF_TYPE_SOFTWARE &&
           (e.attr.config == PERF_COUNT_SW_CPU_CLOCK || e.attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

std::uint8_t levels(const PerfEvent& e) {
    std::uint8_t mask = 0;
    if (!(e.hw.config_base & kExcludeEl0)) mask |= 1u << static_cast<unsigned>(ExceptionLevel::el0);
    if (!(e.hw.config_base & kExcludeEl1)) mask |= 1u << static_cast<unsigned>(ExceptionLevel::el1);
    return mask;
}

/// The user asked about one kind of core only. Who asks for "cycles" means all CPUs, even if the kernel gives the event
/// to a PMU that has some of them.
bool names_a_pmu(const PerfEvent& e) {
    const bool generic = e.orig_type == PERF_TYPE_HARDWARE || e.orig_type == PERF_TYPE_HW_CACHE;
    return generic ? e.attr.config >> PERF_PMU_TYPE_SHIFT != 0 : e.orig_type != PERF_TYPE_RAW;
}

/// Enabled, as far as time is concerned: a sibling is only if its leader is.
bool is_enabled(const PerfEvent& e) {
    return e.state >= PerfEventState::inactive &&
           (!e.group_leader || e.group_leader->state >= PerfEventState::inactive);
}

} // namespace

std::uint64_t TruthRow::scaled() const {
    if (!running || running >= enabled) return count;
    return static_cast<std::uint64_t>(
        static_cast<double>(count) * static_cast<double>(enabled) / static_cast<double>(running) + 0.5);
}

TruthObserver::TruthObserver(Machine& machine) : machine_(machine), percpu_(machine.cores()) {
    machine_.kernel().add_observer(*this);
}

TruthObserver::~TruthObserver() = default;

std::uint64_t TruthObserver::total(int cpu, const Active& a) const {
    const cpu::Core& core = machine_.core(static_cast<unsigned>(cpu));
    std::uint64_t sum = 0;
    for (unsigned el = 0; el < kExceptionLevels; ++el)
        if (a.el_mask >> el & 1) sum += core.total(a.event, static_cast<ExceptionLevel>(el));
    return sum;
}

void TruthObserver::settle(int cpu) {
    PerCpu& p = percpu_[static_cast<std::size_t>(cpu)];
    for (std::size_t i = 0; i < p.active.size(); ++i) {
        const std::uint64_t now = total(cpu, p.active[i]);
        rows_[p.active[i].row].truth += now - p.seen[i];
        p.seen[i] = now;
    }
}

void TruthObserver::add_active(PerCpu& p, int cpu, const PerfEvent& e) {
    if (!is_hardware(e) || e.kernel_counter || root_of(e).kernel_counter || !is_enabled(e)) return;
    if (e.cpu != -1 && e.cpu != cpu) return;
    if (names_a_pmu(e) && !(e.pmu->supported_cpus >> cpu & 1)) return;
    const Active a{open_of(root_of(e)).row, static_cast<EventNumber>(e.hw.config_base & kEventMask), levels(e)};
    p.active.push_back(a);
    p.seen.push_back(total(cpu, a));
}

void TruthObserver::recompute(int cpu) {
    PerCpu& p = percpu_[static_cast<std::size_t>(cpu)];
    p.active.clear();
    p.seen.clear();
    // By position: add_active may add to open_.
    for (std::size_t i = 0; i < open_.size(); ++i) {
        const PerfEvent* e = open_[i].event;
        if (e && e->ctx && !e->ctx->task && e->ctx->cpu == cpu) add_active(p, cpu, *e);
    }
    const os::Task* task = machine_.kernel().pcpu(cpu).current;
    if (!task || !p.task_on) return;
    for (const ke::PerfEventContext* ctx : task->perf_event_ctxp)
        if (ctx)
            for (const PerfEvent* e : ctx->event_list) add_active(p, cpu, *e);
}

TruthObserver::Open& TruthObserver::open_of(const PerfEvent& e) {
    if (const auto it = index_.find(&e); it != index_.end()) return open_[it->second];
    const std::string label = event_label(e);
    // The same event for another CPU or task belongs to the same row; opened twice for the same one it does not.
    std::size_t same = 0;
    for (const Open& o : open_)
        if (o.event && rows_[o.row].label == label && o.event->cpu == e.cpu && o.event->hw.target == e.hw.target)
            ++same;
    auto row =
        std::find_if(rows_.begin(), rows_.end(), [&](const TruthRow& r) { return r.label == label && same-- == 0; });
    if (row == rows_.end()) {
        TruthRow r;
        r.label = label;
        r.hardware = is_hardware(e);
        r.is_clock = is_clock(e);
        r.samples = e.attr.sample_period != 0;
        r.event = static_cast<EventNumber>(e.hw.config_base & kEventMask);
        rows_.push_back(std::move(r));
        row = rows_.end() - 1;
    }
    index_[&e] = open_.size();
    open_.push_back({&e, static_cast<std::size_t>(row - rows_.begin()), e.hw.target});
    return open_.back();
}

void TruthObserver::take_figures(const Open& o) {
    TruthRow& r = rows_[o.row];
    const PerfEvent& e = *o.event;
    r.count += e.count + e.child_count;
    const std::uint64_t enabled = e.total_time_enabled + e.child_total_time_enabled;
    if (o.target && e.cpu != -1) {
        // One event of a task, opened for each CPU: all of them are enabled over the same time, and each can run on its
        // own CPU only.
        std::uint64_t& seen = task_enabled_[{o.row, o.target}];
        if (enabled > seen) {
            r.enabled += enabled - seen;
            seen = enabled;
        }
    } else {
        r.enabled += enabled;
    }
    r.running += e.total_time_running + e.child_total_time_running;
}

void TruthObserver::close(const PerfEvent& e) {
    const auto it = index_.find(&e);
    if (it == index_.end()) return;
    Open& o = open_[it->second];
    take_figures(o);
    o.event = nullptr;
    index_.erase(it);
}

void TruthObserver::perf_notice(int cpu, const EventNotice& n) {
    using What = EventNotice::What;
    PerCpu& p = percpu_[static_cast<std::size_t>(cpu)];
    switch (n.what) {
        case What::task_in:
        case What::task_out:
            settle(cpu);
            p.task_on = n.what == What::task_in;
            recompute(cpu);
            break;
        case What::opened: open_of(root_of(*n.event)); [[fallthrough]];
        case What::enabled:
        case What::disabled:
        case What::scheduled_in:
        case What::scheduled_out:
        case What::error:
            settle(cpu);
            recompute(cpu);
            break;
        case What::freed:
            settle(cpu);
            close(*n.event);
            recompute(cpu);
            break;
        case What::overflow: pending_period_[n.event] = n.a; break;
        case What::sample_written:
        case What::sample_lost: {
            const PerfEvent& root = root_of(*n.event);
            if (root.kernel_counter) break;
            TruthRow& r = rows_[open_of(root).row];
            if (n.what == What::sample_lost) {
                ++r.lost;
            } else {
                ++r.written;
                r.period_sum += pending_period_[n.event];
            }
            break;
        }
        case What::throttled:
            if (!root_of(*n.event).kernel_counter) ++rows_[open_of(root_of(*n.event)).row].throttled;
            break;
        case What::reset: {
            // The truth goes on from where it was, so what the program throws away counts as counted.
            const PerfEvent& root = root_of(*n.event);
            if (root.kernel_counter) break;
            TruthRow& r = rows_[open_of(root).row];
            ++r.resets;
            r.count += n.a;
            break;
        }
        case What::wakeup:
        case What::read:
        case What::unthrottled: break;
    }
}

const std::vector<TruthRow>& TruthObserver::finish() {
    if (finished_) return rows_;
    finished_ = true;
    for (std::size_t i = 0; i < percpu_.size(); ++i) settle(static_cast<int>(i));
    for (const Open& o : open_)
        if (o.event) take_figures(o);
    return rows_;
}

} // namespace rkperf::soc

// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/trace_observer.h"

#include "sim/os/syscall/dispatch.h"
#include "sim/soc/truth_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace rkperf::soc {

using ke::EventNotice;

namespace {

constexpr int kTasksRank = 100, kEventsRank = 101;

std::string interrupt_name(unsigned intid) {
    switch (intid) {
        case 23: return "PMU (PPI 7)";
        case 27: return "virtual timer (PPI 11)";
        case 30: return "physical timer (PPI 14)";
        default: return intid < 16 ? fmt::format("SGI {}", intid) : fmt::format("INTID {}", intid);
    }
}

} // namespace

struct TraceObserver::Ear final : pmu::PmuListener {
    Ear(TraceObserver& o, int c) : observer(o), cpu(c) {}
    void overflowed(std::uint32_t counters, Picoseconds when) override { observer.overflowed(cpu, counters, when); }
    void line_changed(bool level, Picoseconds when) override { observer.line_changed(cpu, level, when); }
    void register_accessed(SysReg reg, bool write, std::uint64_t, Picoseconds) override {
        observer.accessed(cpu, reg, write);
    }
    TraceObserver& observer;
    int cpu;
};

TraceObserver::TraceObserver(Machine& machine, TraceFile& file)
    : machine_(machine), file_(file), cpus_(machine.cores()) {
    machine_.kernel().add_observer(*this);
    for (unsigned i = 0; i < machine_.cores(); ++i) {
        CpuTracks& c = cpus_[i];
        const bool a55 = machine_.config().cpus[i].kind == CoreKind::cortex_a55;
        c.group = file_.track(fmt::format("CPU {} Cortex-{}", i, a55 ? "A55" : "A76"), 0, static_cast<int>(i));
        c.task.track = file_.track("running task", c.group, 0);
        c.level.track = file_.track("exception level", c.group, 1);
        c.irq.track = file_.track("interrupts", c.group, 2);
        c.line.track = file_.track("PMU line", c.group, 3);
        c.pmu.track = file_.track("PMU", c.group, 4);
        ears_.push_back(std::make_unique<Ear>(*this, static_cast<int>(i)));
        machine_.pmu(i).add_listener(*ears_.back());
        begin(c.level, Picoseconds(0), "EL1");
    }
    tasks_group_ = file_.track("tasks", 0, kTasksRank);
    events_group_ = file_.track("perf events", 0, kEventsRank);
}

TraceObserver::~TraceObserver() = default;

void TraceObserver::begin(Slices& s, Picoseconds when, std::string_view name) {
    s.last = std::max(s.last, when);
    ++s.open;
    file_.begin(s.track, s.last, name);
}
void TraceObserver::end(Slices& s, Picoseconds when) {
    if (!s.open) return; // it was open before anybody watched
    s.last = std::max(s.last, when);
    --s.open;
    file_.end(s.track, s.last);
}
void TraceObserver::end_all(Slices& s, Picoseconds when) {
    while (s.open) end(s, when);
}
void TraceObserver::instant(Slices& s, Picoseconds when, std::string_view name) {
    s.last = std::max(s.last, when);
    file_.instant(s.track, s.last, name);
}

// --- tasks ---

TraceObserver::TaskTracks& TraceObserver::task_tracks(const os::Task& t) {
    TaskTracks& tracks = tasks_[&t.kstack];
    if (!tracks.kernel.track) {
        // Its name changes with exec; the track of the CPU shows it.
        tracks.name = t.pid ? fmt::format("task {}", t.pid) : std::string(t.comm);
        tracks.kernel.track = file_.track(tracks.name, tasks_group_, tasks_made_++);
        task_order_.push_back(&tracks);
    }
    return tracks;
}

TraceObserver::TaskTracks& TraceObserver::task_of_frames(int cpu) {
    const auto& p = machine_.kernel().pcpu(cpu);
    if (const auto it = tasks_.find(p.frames); it != tasks_.end()) return it->second;
    return task_tracks(*p.current);
}

void TraceObserver::task_created(const os::Task& t) { task_tracks(t); }

void TraceObserver::task_exited(const os::Task& t) {
    const auto it = tasks_.find(&t.kstack);
    if (it == tasks_.end()) return;
    // Its memory may become another task's.
    end_all(it->second.kernel, machine_.kernel().core().now());
    std::erase(task_order_, &it->second);
    tasks_.erase(it);
}

void TraceObserver::show_task(int cpu, const os::Task& t) {
    CpuTracks& c = cpus_[static_cast<std::size_t>(cpu)];
    end_all(c.task, now(cpu));
    c.shown = t.comm;
    if (t.pid) begin(c.task, now(cpu), fmt::format("{}[{}]", t.comm, t.pid));
}

void TraceObserver::task_switch(int cpu, const os::Task&, const os::Task& next) {
    show_task(cpu, next);
    show_counters(cpu);
}

void TraceObserver::kernel_enter(int cpu, KernelSymbol s) { begin(task_of_frames(cpu).kernel, now(cpu), info(s).name); }
void TraceObserver::kernel_leave(int cpu, KernelSymbol) { end(task_of_frames(cpu).kernel, now(cpu)); }

void TraceObserver::syscall(int cpu, const os::Task& t, int nr, bool enter) {
    Slices& s = task_tracks(t).kernel;
    if (!enter) return end(s, now(cpu));
    const os::SyscallRow* row = os::find_syscall(nr);
    begin(s, now(cpu), row ? fmt::format("system call {}", row->name) : fmt::format("system call {}", nr));
}

void TraceObserver::exception(int cpu, std::string_view kind, bool enter) {
    CpuTracks& c = cpus_[static_cast<std::size_t>(cpu)];
    // exec gives a running task another name.
    const os::Task& current = *machine_.kernel().pcpu(cpu).current;
    if (!enter && c.shown != current.comm) show_task(cpu, current);
    Slices& s = c.level;
    end_all(s, now(cpu));
    begin(s, now(cpu), enter ? "EL1" : "EL0");
    if (enter) instant(s, now(cpu), kind);
}

void TraceObserver::irq(int cpu, unsigned intid, bool enter) {
    Slices& s = cpus_[static_cast<std::size_t>(cpu)].irq;
    if (enter)
        begin(s, now(cpu), interrupt_name(intid));
    else
        end(s, now(cpu));
    show_counters(cpu);
}

// --- the PMU ---

void TraceObserver::show_counter(int cpu, unsigned n) {
    CpuTracks& c = cpus_[static_cast<std::size_t>(cpu)];
    pmu::CounterBank& bank = machine_.pmu(static_cast<unsigned>(cpu)).counters();
    TrackId& track = c.counters[n];
    if (!track) {
        const std::string name = n == pmu::kCycleCounter ? "PMCCNTR" : fmt::format("PMEVCNTR{}", n);
        track = file_.counter_track(name, c.group, 10 + static_cast<int>(n));
    }
    // Signed: a counter runs from minus the period to zero, where it wraps.
    const std::uint64_t v = bank.value(n);
    const std::int64_t shown = n == pmu::kCycleCounter ? static_cast<std::int64_t>(v)
                                                       : static_cast<std::int32_t>(static_cast<std::uint32_t>(v));
    file_.counter(track, now(cpu), shown);
}

void TraceObserver::show_counters(int cpu) {
    const std::uint32_t enabled = machine_.pmu(static_cast<unsigned>(cpu)).counters().enabled();
    for (unsigned n = 0; n < pmu::kCounters; ++n)
        if (enabled >> n & 1) show_counter(cpu, n);
}

void TraceObserver::overflowed(int cpu, std::uint32_t counters, Picoseconds when) {
    for (unsigned n = 0; n < pmu::kCounters; ++n) {
        if (!(counters >> n & 1)) continue;
        const std::string name = n == pmu::kCycleCounter ? "PMCCNTR" : fmt::format("PMEVCNTR{}", n);
        instant(cpus_[static_cast<std::size_t>(cpu)].pmu, when, name + " wraps");
        show_counter(cpu, n);
    }
}

void TraceObserver::line_changed(int cpu, bool level, Picoseconds when) {
    Slices& s = cpus_[static_cast<std::size_t>(cpu)].line;
    if (level)
        begin(s, when, "overflow");
    else
        end(s, when);
}

void TraceObserver::accessed(int cpu, SysReg reg, bool write) {
    if (reg == sysreg::PMCCNTR_EL0) show_counter(cpu, pmu::kCycleCounter);
    for (unsigned n = 0; n < 6; ++n)
        if (reg == sysreg::PMEVCNTR_EL0(n)) show_counter(cpu, n);
    if (write && (reg == sysreg::PMCR_EL0 || reg == sysreg::PMCNTENSET_EL0)) show_counters(cpu);
}

// --- perf events ---

TraceObserver::Slices& TraceObserver::event_track(const ke::PerfEvent& e) {
    Slices& s = events_[&e];
    if (!s.track) {
        std::string name = event_label(e);
        if (const auto* task = e.ctx ? e.ctx->task : nullptr) name += fmt::format(" {}[{}]", task->comm, task->pid);
        if (e.cpu >= 0) name += fmt::format(" CPU {}", e.cpu);
        s.track = file_.track(name, events_group_, events_made_++);
        event_order_.push_back(&s);
    }
    return s;
}

void TraceObserver::perf_notice(int cpu, const EventNotice& n) {
    using What = EventNotice::What;
    if (!n.event) return;
    const Picoseconds t = now(cpu);
    const auto state = [&](std::string_view name) {
        Slices& s = event_track(*n.event);
        end_all(s, t);
        begin(s, t, name);
    };
    const auto mark = [&](std::string_view name) { instant(event_track(*n.event), t, name); };
    switch (n.what) {
        case What::opened: mark("opened"); break;
        case What::enabled:
        case What::scheduled_out: state("inactive"); break;
        case What::disabled: state("off"); break;
        case What::scheduled_in:
            state(n.event->pmu->heterogeneous() ? fmt::format("active, index {}", static_cast<std::int64_t>(n.b))
                                                : "active");
            break;
        case What::error: state("error"); break;
        case What::overflow: mark("overflow"); break;
        case What::sample_written: mark(fmt::format("sample written, {} bytes", n.b)); break;
        case What::sample_lost: mark("sample lost"); break;
        case What::wakeup: mark("wakeup"); break;
        case What::read: mark("read"); break;
        case What::reset: mark("reset"); break;
        case What::throttled: mark("throttled"); break;
        case What::unthrottled: mark("unthrottled"); break;
        case What::freed: {
            const auto it = events_.find(n.event);
            if (it == events_.end()) break;
            end_all(it->second, t);
            instant(it->second, t, "freed");
            std::erase(event_order_, &it->second);
            events_.erase(it);
            break;
        }
        case What::task_in:
        case What::task_out: break;
    }
}

void TraceObserver::finish() {
    Picoseconds last{};
    for (unsigned i = 0; i < machine_.cores(); ++i) last = std::max(last, machine_.core(i).now());
    for (CpuTracks& c : cpus_)
        for (Slices* s : {&c.task, &c.level, &c.irq, &c.line, &c.pmu}) end_all(*s, last);
    for (TaskTracks* t : task_order_) end_all(t->kernel, last);
    for (Slices* s : event_order_) end_all(*s, last);
}

} // namespace rkperf::soc

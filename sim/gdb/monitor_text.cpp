// SPDX-License-Identifier: Apache-2.0
// The commands after gdb's "monitor": what the machine and its perf subsystem look like now. They read only.
#include "kernel_events/internal.h"
#include "sim/gdb/machine_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace rkperf::gdb {

namespace {

using Text = std::string;

Text time_text(soc::Machine& m, unsigned cpu) {
    Text out = fmt::format("SystemC time {} ns\n", sc_core::sc_time_stamp().value() / 1000);
    for (unsigned c = 0; c < m.cores(); ++c)
        out += fmt::format("{} CPU {}: {} ns, cycle {}, instructions {} at EL0, {} at EL1\n", c == cpu ? '*' : ' ', c,
                           m.core(c).now().v / 1000, m.core(c).cycle().v,
                           m.core(c).totals().get(pmu_event::INST_RETIRED, ExceptionLevel::el0),
                           m.core(c).totals().get(pmu_event::INST_RETIRED, ExceptionLevel::el1));
    return out;
}

Text tasks_text(soc::Machine& m, unsigned) {
    Text out;
    for (const auto& [tid, t] : m.kernel().tasks())
        out += fmt::format("{:>6} {:<16} process {:>5} {}\n", tid, t->name(), t->tgid,
                           t->on_cpu >= 0 ? fmt::format("on CPU {}", t->on_cpu) : "not on a CPU");
    return out;
}

Text pmu_text(soc::Machine& m, unsigned cpu) {
    pmu::CounterBank& bank = m.pmu(cpu).counters();
    const std::uint32_t pmcr = bank.controls().pmcr;
    Text out = fmt::format("CPU {}: PMCR {:#x} ({}), interrupt line {}\n", cpu, pmcr, pmcr & 1 ? "enabled" : "disabled",
                           m.pmu(cpu).line() ? "high" : "low");
    const auto row = [&](unsigned n, const Text& name) {
        out += fmt::format("  {:<8} type {:#010x} value {:#018x}{}{}{}\n", name, bank.type(n), bank.value(n),
                           bank.enabled() >> n & 1 ? " enabled" : "", bank.interrupts() >> n & 1 ? " interrupts" : "",
                           bank.overflowed() >> n & 1 ? " overflowed" : "");
    };
    for (unsigned n = 0; n < bank.implemented(); ++n) row(n, fmt::format("counter{}", n));
    row(31, "cycles");
    return out;
}

const char* state_name(ke::PerfEventState s) {
    switch (s) {
        case ke::PerfEventState::dead: return "dead";
        case ke::PerfEventState::exit: return "exit";
        case ke::PerfEventState::error: return "error";
        case ke::PerfEventState::off: return "off";
        case ke::PerfEventState::inactive: return "inactive";
        case ke::PerfEventState::active: return "active";
    }
    return "?";
}

/// The contexts that a CPU schedules now: its own and its task's.
std::vector<const ke::PerfEventContext*> contexts_of(soc::Machine& m, unsigned cpu) {
    std::vector<const ke::PerfEventContext*> out;
    for (const auto& contexts : m.kernel().perf().impl().cpu_contexts) out.push_back(&(*contexts)[cpu].ctx);
    for (const ke::PerfEventContext* c : m.kernel().pcpu(static_cast<int>(cpu)).current->perf_event_ctxp)
        if (c) out.push_back(c);
    return out;
}

Text contexts_text(soc::Machine& m, unsigned cpu) {
    Text out;
    for (const ke::PerfEventContext* c : contexts_of(m, cpu)) {
        if (c->event_list.empty()) continue;
        out += c->task ? fmt::format("context of task {}", c->task->pid) : fmt::format("context of CPU {}", cpu);
        out += fmt::format(" ({}): {} events, {} active, time {} ns\n", c->pmu ? c->pmu->name : "?", c->nr_events,
                           c->nr_active, c->time);
        for (const ke::PerfEvent* e : c->event_list)
            out += fmt::format("  event {}: {} config {:#x}, {}, counter {}, count {}, enabled {} ns, running {} ns\n",
                               e->id, e->pmu->name, e->attr.config, state_name(e->state), e->hw.idx, e->count,
                               e->total_time_enabled, e->total_time_running);
    }
    return out.empty() ? fmt::format("CPU {}: no events\n", cpu) : out;
}

Text rings_text(soc::Machine& m, unsigned cpu) {
    Text out;
    std::set<std::uint64_t> seen; // by page: several events may share one
    for (const ke::PerfEventContext* c : contexts_of(m, cpu))
        for (const ke::PerfEvent* e : c->event_list) {
            if (!e->rb || !seen.insert(e->rb->user_page.pa.v).second) continue;
            const ke::PerfBuffer& rb = *e->rb;
            perf_event_mmap_page page{};
            if (rb.user_page) std::memcpy(&page, rb.user_page.host, sizeof page);
            out += fmt::format("ring of event {}: {} KiB{}{}, data_head {}, data_tail {}, lost {}, mapped {} times\n",
                               e->id, rb.perf_data_size() >> 10, rb.overwrite ? ", overwrite" : "",
                               rb.paused ? ", paused" : "", static_cast<std::uint64_t>(page.data_head),
                               static_cast<std::uint64_t>(page.data_tail), rb.lost, rb.mmap_count);
        }
    return out.empty() ? fmt::format("CPU {}: no ring buffers\n", cpu) : out;
}

Text log_text(soc::Machine& m, unsigned) {
    Text out;
    for (const std::string& line : m.kernel().log()) out += line + "\n";
    return out.empty() ? "the kernel's log is empty\n" : out;
}

struct Row {
    std::string_view name, help;
    Text (*text)(soc::Machine&, unsigned cpu);
};
constexpr Row kRows[] = {
    {"time", "simulated time, cycles and instructions of each CPU", time_text},
    {"tasks", "tasks and where they run", tasks_text},
    {"pmu", "counters of a CPU: pmu [CPU]", pmu_text},
    {"contexts", "perf contexts of a CPU and of its task, with their events: contexts [CPU]", contexts_text},
    {"rings", "ring buffers of those events: rings [CPU]", rings_text},
    {"log", "the kernel's log", log_text},
};

} // namespace

std::string monitor_text(soc::Machine& machine, unsigned cpu, std::string_view command) {
    const auto space = command.find(' ');
    const std::string_view name = command.substr(0, space);
    if (space != std::string_view::npos) {
        const std::string_view digits = command.substr(space + 1);
        if (digits.size() != 1 || digits[0] < '0' || static_cast<unsigned>(digits[0] - '0') >= machine.cores())
            return fmt::format("there is no CPU \"{}\"\n", digits);
        cpu = static_cast<unsigned>(digits[0] - '0');
    }
    const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.name == name; });
    if (row != std::end(kRows)) return row->text(machine, cpu);
    std::string out;
    if (name != "help") out = fmt::format("\"{}\" is no command; there are:\n", name);
    for (const Row& r : kRows) out += fmt::format("{:<10} {}\n", r.name, r.help);
    return out;
}

} // namespace rkperf::gdb

// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/skid_observer.h"

#include "kernel_events/internal.h"
#include "sim/soc/config_schema.h"
#include "sim/soc/truth_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

namespace rkperf::soc {

struct SkidObserver::Ear final : pmu::PmuListener {
    Ear(SkidObserver& o, int c) : observer(o), cpu(c) {}
    void overflowed(std::uint32_t counters, Picoseconds) override { observer.overflowed(cpu, counters); }
    SkidObserver& observer;
    int cpu;
};

SkidObserver::SkidObserver(Machine& machine) : machine_(machine), pending_(machine.cores()) {
    machine_.kernel().add_observer(*this);
    for (unsigned i = 0; i < machine_.cores(); ++i) {
        ears_.push_back(std::make_unique<Ear>(*this, static_cast<int>(i)));
        machine_.pmu(i).add_listener(*ears_.back());
    }
}

SkidObserver::~SkidObserver() = default;

std::uint64_t SkidObserver::retired(int cpu) const {
    const cpu::Core& c = machine_.core(static_cast<unsigned>(cpu));
    return c.total(pmu_event::INST_RETIRED, ExceptionLevel::el0) +
           c.total(pmu_event::INST_RETIRED, ExceptionLevel::el1);
}

void SkidObserver::overflowed(int cpu, std::uint32_t counters) {
    if (!(counters & machine_.pmu(static_cast<unsigned>(cpu)).counters().interrupts())) return;
    Pending& p = pending_[static_cast<std::size_t>(cpu)];
    if (p.wrapped) return; // the interrupt is on its way for another counter already
    const cpu::Core& core = machine_.core(static_cast<unsigned>(cpu));
    p = Pending{};
    p.wrapped = true;
    p.masked = core.irq_masked();
    p.cycle0 = core.cycle().v;
    p.start = core.now();
    p.instructions0 = retired(cpu);
}

void SkidObserver::kernel_enter(int cpu, KernelSymbol s) {
    Pending& p = pending_[static_cast<std::size_t>(cpu)];
    if (!p.wrapped) return;
    if (s != KernelSymbol::el0t_64_irq && s != KernelSymbol::el1h_64_irq) return;
    // If this one turns out to be for something else, the next one counts.
    const cpu::Core& core = machine_.core(static_cast<unsigned>(cpu));
    p.skid = {retired(cpu) - p.instructions0, core.cycle().v - p.cycle0, core.now() - p.start};
    p.taken = true;
}

void SkidObserver::perf_notice(int cpu, const ke::EventNotice& n) {
    Pending& p = pending_[static_cast<std::size_t>(cpu)];
    if (n.what == ke::EventNotice::What::sample_written) ++samples_;
    if (n.what != ke::EventNotice::What::overflow || !p.wrapped || !p.taken) return;
    const ke::PerfEvent& root = n.event->parent ? *n.event->parent : *n.event;
    const CoreKind kind = machine_.config().cpus[static_cast<std::size_t>(cpu)].kind;
    SkidSeries& s = series_[{event_label(root), kind}];
    (p.masked ? s.masked : s.open).push_back(p.skid);
    p = Pending{};
}

namespace {

using Values = std::vector<std::uint64_t>;

Values sorted(const std::vector<Skid>& all, const std::function<std::uint64_t(const Skid&)>& of) {
    Values v;
    for (const Skid& s : all) v.push_back(of(s));
    std::sort(v.begin(), v.end());
    return v;
}

std::string row(std::string_view name, const Values& v, std::uint64_t unit = 1) {
    const auto at = [&](unsigned per_mille) {
        const std::uint64_t x = v[std::min(v.size() - 1, v.size() * per_mille / 1000)];
        return unit == 1 ? std::to_string(x)
                         : fmt::format("{:.1f}", static_cast<double>(x) / static_cast<double>(unit));
    };
    return fmt::format("    {:<14}{:>10}{:>10}{:>10}{:>10}{:>10}\n", name, at(0), at(500), at(900), at(990), at(1000));
}

/// Single values up to 15, then four steps for each power of two.
std::uint64_t bucket(std::uint64_t v) {
    if (v < 16) return v;
    const auto shift = static_cast<unsigned>(std::bit_width(v)) - 3;
    return v >> shift << shift;
}

std::string histogram(std::string_view what, const Values& v) {
    std::map<std::uint64_t, std::uint64_t> counts;
    for (const std::uint64_t x : v) ++counts[bucket(x)];
    std::uint64_t most = 0;
    for (const auto& [first, n] : counts) most = std::max(most, n);
    constexpr std::uint64_t kWidth = 50;
    std::string out = fmt::format("    {:>12}  samples\n", what);
    for (const auto& [first, n] : counts) {
        const std::uint64_t step = first < 16 ? 1 : std::uint64_t{1} << (std::bit_width(first) - 3);
        const std::string range = step == 1 ? std::to_string(first) : fmt::format("{}-{}", first, first + step - 1);
        out += fmt::format("    {:>12} {:>8}  {}\n", range, n,
                           std::string(std::max<std::uint64_t>(n * kWidth / most, n != 0), '#'));
    }
    return out;
}

std::string describe(const std::vector<Skid>& all) {
    const Values instructions = sorted(all, [](const Skid& s) { return s.instructions; });
    const Values cycles = sorted(all, [](const Skid& s) { return s.cycles; });
    std::string out =
        fmt::format("    {:<14}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "", "least", "median", "90 %", "99 %", "most");
    out += row("instructions", instructions);
    out += row("cycles", cycles);
    out += row("ns", sorted(all, [](const Skid& s) { return s.time.v; }), 1000);
    out += "\n" + histogram("instructions", instructions) + "\n" + histogram("cycles", cycles);
    return out;
}

} // namespace

std::string print_skid(const SkidObserver& skid, const MachineConfig& config) {
    std::string out;
    for (const auto& [key, s] : skid.series()) {
        out += fmt::format(
            "skid of {} on {}: from the instruction that wrapped the counter to the interrupt's first\n"
            "  parameters: GIC {} (gic.ppi_delay), exception entry {} cycles\n",
            key.first, key.second == CoreKind::cortex_a55 ? "Cortex-A55" : "Cortex-A76",
            format_time(static_cast<std::int64_t>(config.gic_ppi_delay_ps)), default_exception_entry(key.second));
        if (!s.open.empty())
            out += fmt::format("\n  {} overflows while interrupts could be taken\n{}", s.open.size(), describe(s.open));
        if (!s.masked.empty())
            out += fmt::format("\n  {} overflows in kernel code with interrupts masked: taken when it unmasks them\n{}",
                               s.masked.size(), describe(s.masked));
        out += "\n";
    }
    if (out.empty()) out = "no counter wrapped that had a sample to give\n";
    return out;
}

} // namespace rkperf::soc

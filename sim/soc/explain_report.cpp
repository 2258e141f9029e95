// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/explain_observer.h"

#include <fmt/format.h>

#include <algorithm>

namespace rkperf::soc {

namespace {

std::string ns(std::uint64_t picoseconds) { return fmt::format("{}.{:03}", picoseconds / 1000, picoseconds % 1000); }

} // namespace

std::string print_explanation(const Explanation& e, std::uint64_t nth, const MachineConfig& config) {
    const CpuConfig& cpu = config.cpus[static_cast<std::size_t>(e.cpu)];
    std::string out =
        fmt::format("sample {} of {}, period {}: task {} on CPU {} ({}, {} MHz)\n\n", nth, e.event, e.period, e.task,
                    e.cpu, cpu.kind == CoreKind::cortex_a55 ? "Cortex-A55" : "Cortex-A76", cpu.hertz / 1'000'000);
    out += fmt::format("{:>16} {:>14} {:>9} {:>9}  {:<3}  {}\n", "simulated ns",
                       e.from_counter                       ? "ns since wrap"
                       : e.from_breakpoint || e.from_uprobe ? "ns since hit"
                                                            : "ns since IRQ",
                       "cycles", "instr.", "CPU", "step");
    // A line that the GIC will raise was noted when it learned of it.
    std::vector<ExplainStep> steps = e.steps;
    std::stable_sort(steps.begin(), steps.end(),
                     [](const ExplainStep& a, const ExplainStep& b) { return a.when < b.when; });
    for (const ExplainStep& s : steps)
        out += fmt::format("{:>16} {:>14} {:>9} {:>9}  {:<3}  {}\n", ns(s.when.v),
                           s.when < e.start ? "" : ns(s.when.v - e.start.v), s.counted ? std::to_string(s.cycles) : "",
                           s.counted && !s.predicted ? std::to_string(s.instructions) : "", s.cpu, s.text);
    out += "\n";
    if (e.from_counter && e.taken) {
        out += fmt::format(
            "skid: {} instructions, {} cycles, {} ns from the wrap to the interrupt; pc {:#x} at the wrap, "
            "{:#x} in the sample\n",
            e.taken->instructions, e.taken->cycles, ns(e.taken->when.v - e.start.v), e.wrap_pc, e.sample_pc);
    } else if (e.from_breakpoint) {
        out += "a breakpoint: no counter wrapped, the way begins with the debug exception\n";
    } else if (e.from_uprobe) {
        out += "a uprobe: no counter wrapped, the way begins with the exception of its BRK\n";
    } else {
        out += "a software event: no counter wrapped, the way begins with the interrupt\n";
    }
    if (e.written) out += fmt::format("record written {} ns after that start", ns(e.written->when.v - e.start.v));
    if (e.published) out += fmt::format(", visible after {} ns", ns(e.published->when.v - e.start.v));
    if (e.read && e.read->when >= e.start)
        out += fmt::format(", saved by the client after {} ns", ns(e.read->when.v - e.start.v));
    out += "\n";
    if (!e.read) out += "the client had not read it when the run ended\n";
    return out;
}

} // namespace rkperf::soc

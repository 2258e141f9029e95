// SPDX-License-Identifier: Apache-2.0
// The way of one sample, from the event that wrapped the counter to the client that read the record: every step with its
// time. Only listens: to the kernel, the PMUs and the interrupt lines.
#pragma once

#include "models/pmu_v3/pmu_v3.h"
#include "sim/os/kernel.h"
#include "sim/soc/machine.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rkperf::soc {

struct ExplainStep {
    int cpu{};
    Picoseconds when{};
    std::uint64_t cycles{};       ///< of the sampled core since the counter wrapped
    std::uint64_t instructions{}; ///< that it retired since then
    bool counted{};               ///< cycles and instructions are known: the step is on the sampled core
    bool predicted{};             ///< known ahead by time alone: no instructions
    std::string text;
};

/// A finished way, and the figures that people ask for first.
struct Explanation {
    std::vector<ExplainStep> steps;
    std::string event, task;
    std::uint64_t period{};
    std::uint64_t wrap_pc{}, sample_pc{};
    bool from_counter{};    ///< false: a software event, there was no counter that wrapped
    bool from_breakpoint{}; ///< a breakpoint or watchpoint was hit
    bool from_uprobe{};     ///< a uprobe or the return trampoline of one was
    Picoseconds start{};
    int cpu{};
    std::optional<ExplainStep> taken, written, published, read;
};

class ExplainObserver final : public os::KernelObserver {
  public:
    /// Explains the `nth` sample that is written, 1 is the first. `describe` names a user address of a task.
    using Describe = std::function<std::string(const ke::TaskBase& task, std::uint64_t address)>;
    ExplainObserver(Machine& machine, std::uint64_t nth, Describe describe = {});
    ~ExplainObserver() override;

    void task_switch(int cpu, const os::Task& prev, const os::Task& next) override;
    void kernel_enter(int cpu, KernelSymbol s) override;
    void kernel_leave(int cpu, KernelSymbol s) override;
    void exception(int cpu, std::string_view kind, bool enter) override;
    void irq(int cpu, unsigned intid, bool enter) override;
    void perf_notice(int cpu, const ke::EventNotice& n) override;
    void syscall(int cpu, const os::Task& t, int nr, bool enter) override;

    /// Samples seen so far.
    std::uint64_t samples() const { return samples_; }
    /// The sample was written; its way may still lack its end.
    const Explanation* result() const { return selected_ ? &way_ : nullptr; }

  private:
    struct Ear;
    /// What is being collected on a CPU.
    struct Chain {
        bool open{};
        Explanation way;
        std::uint64_t cycle0{}, instructions0{};
        bool line_up{}, in_handler{};
        bool from_el0{}; ///< the debug exception came from there
    };
    /// How far the chosen sample has come.
    enum class Stage : std::uint8_t { collecting, written, published, woken, client_runs, client_back, done };

    void begin(int cpu, bool from_counter);
    void step(int cpu, std::string text);
    void step_at(int cpu, Picoseconds when, std::string text);
    ExplainStep make_step(int cpu, Picoseconds when, std::string text) const;
    void overflowed(int cpu, std::uint32_t counters);
    void line_changed(int cpu, bool level);
    void signalled(int cpu, bool level, Picoseconds when);
    void accessed(int cpu, SysReg reg, bool write, std::uint64_t value);
    void check_published(int cpu);
    /// Steps of a breakpoint hit; false: the function is none of them.
    bool debug_step(int cpu, KernelSymbol s);
    /// Steps of a uprobe hit, which goes on after the exception's handler, on the way back to the program.
    bool uprobe_step(int cpu, KernelSymbol s);
    bool of_uprobe(int cpu) { return selected_ ? way_.from_uprobe : chain(cpu).open && chain(cpu).way.from_uprobe; }
    std::string address(std::uint64_t pc, const ke::TaskBase* task) const;
    std::uint64_t retired(int cpu) const;
    Chain& chain(int cpu) { return chains_[static_cast<std::size_t>(cpu)]; }
    bool mine(int cpu) const { return selected_ && cpu == way_.cpu && stage_ < Stage::client_runs; }

    Machine& machine_;
    std::uint64_t nth_, samples_{};
    Describe describe_;
    std::vector<Chain> chains_;
    std::vector<std::unique_ptr<Ear>> ears_;
    bool selected_{};
    Stage stage_{Stage::collecting};
    Explanation way_;
    std::uint64_t cycle0_{}, instructions0_{};
    std::uint64_t record_end_{};
    std::shared_ptr<ke::PerfBuffer> buffer_;
    const ke::TaskBase* client_{};
    bool irq_over_{}, stepped_over_{};
};

/// For people, ready to print.
std::string print_explanation(const Explanation& e, std::uint64_t nth, const MachineConfig& config);

} // namespace rkperf::soc

// SPDX-License-Identifier: Apache-2.0
// Ground truth beside perf's figures: for every event that a program of the guest opened, what the cores did for the same
// tasks or CPUs at the same exception levels, while the event was enabled (whether or not a counter was free for it).
// Read from the cores' running totals at the moments at which something changes; it feeds nothing back.
#pragma once

#include "sim/os/kernel.h"
#include "sim/soc/machine.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rkperf::soc {

/// One event as its user thinks of it: copies for several CPUs and inherited by children are folded together.
struct TruthRow {
    std::string label;
    bool hardware{}; ///< counted by a core: there is a truth beside perf's count
    bool is_clock{}; ///< the count is a time in ns
    bool samples{};  ///< it is a sampling event
    EventNumber event{};
    std::uint64_t count{};              ///< perf's, summed
    std::uint64_t enabled{}, running{}; ///< ns, summed
    std::uint64_t truth{};
    std::uint64_t overflows{}, written{}, lost{}; ///< samples
    std::uint64_t period_sum{};                   ///< of the samples that were written
    std::uint64_t throttled{}, resets{};

    /// perf's estimate: the count, scaled up for the time without a counter.
    std::uint64_t scaled() const;
};

class TruthObserver final : public os::KernelObserver {
  public:
    explicit TruthObserver(Machine& machine);
    ~TruthObserver() override;

    bool follows_frames() const override { return false; }
    void perf_notice(int cpu, const ke::EventNotice& n) override;

    /// At the end of the run: events that are still open are taken as they are.
    const std::vector<TruthRow>& finish();

  private:
    /// One event that was opened, not a copy inherited by a child.
    struct Open {
        const ke::PerfEvent* event{};
        std::size_t row{};
        const ke::TaskBase* target{}; ///< the task it belongs to, compared only
    };
    /// What counts on a CPU now.
    struct Active {
        std::size_t row{};
        EventNumber event{};
        std::uint8_t el_mask{};
    };
    struct PerCpu {
        std::vector<Active> active;
        std::vector<std::uint64_t> seen; ///< total of active[i] when last looked at
        bool task_on{true};              ///< the contexts of the current task are on this CPU
    };

    std::uint64_t total(int cpu, const Active& a) const;
    void settle(int cpu);
    void recompute(int cpu);
    void add_active(PerCpu& p, int cpu, const ke::PerfEvent& e);
    Open& open_of(const ke::PerfEvent& e);
    void close(const ke::PerfEvent& e);
    void take_figures(const Open& o);

    Machine& machine_;
    std::vector<TruthRow> rows_;
    std::map<const ke::PerfEvent*, std::size_t> index_; ///< into open_; looked up only
    std::vector<Open> open_;                            ///< in order of opening; event null: closed
    std::vector<PerCpu> percpu_;
    std::map<const ke::PerfEvent*, std::uint64_t> pending_period_; ///< of the overflow being handled; looked up only
    /// Longest enabled time of a task's event among its copies for single CPUs; looked up only.
    std::map<std::pair<std::size_t, const ke::TaskBase*>, std::uint64_t> task_enabled_;
    bool finished_{};
};

/// The table for people: a line for each event that was ever enabled.
std::string print_truth(const std::vector<TruthRow>& rows);

} // namespace rkperf::soc

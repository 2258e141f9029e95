// SPDX-License-Identifier: Apache-2.0
// How far samples are from what they stand for: for each overflow that became a sample, the instructions, cycles and time
// from the instruction that wrapped the counter to the interrupt's first instruction. Only listens.
#pragma once

#include "models/pmu_v3/pmu_v3.h"
#include "sim/os/kernel.h"
#include "sim/soc/machine.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rkperf::soc {

/// Way of one overflow from the wrap to the vector.
struct Skid {
    std::uint64_t instructions{}, cycles{};
    Picoseconds time{};
};

/// Overflows of one kind: on one kind of core, while interrupts could be taken or not.
struct SkidSeries {
    std::vector<Skid> open, masked; ///< masked: PSTATE.I was set when the counter wrapped
};

class SkidObserver final : public os::KernelObserver {
  public:
    explicit SkidObserver(Machine& machine);
    ~SkidObserver() override;

    void kernel_enter(int cpu, KernelSymbol s) override;
    void perf_notice(int cpu, const ke::EventNotice& n) override;

    /// By the label of the event and the kind of core.
    const std::map<std::pair<std::string, CoreKind>, SkidSeries>& series() const { return series_; }
    std::uint64_t samples() const { return samples_; }

  private:
    struct Ear;
    struct Pending {
        bool wrapped{}, taken{}, masked{};
        std::uint64_t cycle0{}, instructions0{};
        Picoseconds start{};
        Skid skid;
    };
    void overflowed(int cpu, std::uint32_t counters);
    std::uint64_t retired(int cpu) const;

    Machine& machine_;
    std::vector<Pending> pending_;
    std::vector<std::unique_ptr<Ear>> ears_;
    std::map<std::pair<std::string, CoreKind>, SkidSeries> series_;
    std::uint64_t samples_{};
};

/// Tables and histograms for people.
std::string print_skid(const SkidObserver& skid, const MachineConfig& config);

} // namespace rkperf::soc

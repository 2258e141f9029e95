// SPDX-License-Identifier: Apache-2.0
// Whether the cores time what they execute or only execute it, and how that changes during a run: after a number of
// instructions, or at markers in the program (workloads/include/rkperf_region.h). One for all cores of a machine.
#pragma once

#include <cstdint>
#include <limits>

namespace rkperf::cpu {

/// What is timed once the warm-up is over.
enum class TimingPolicy : std::uint8_t {
    full,    ///< everything
    none,    ///< nothing: one instruction a cycle, no caches, no predictors
    regions, ///< what the program executes between the markers of a region
};

/// Numbers of the HINT instructions that mark a region. The architecture has not allocated them: hardware takes them for
/// NOPs, and so does a core outside of the policy `regions`.
inline constexpr std::uint32_t kRegionBegin = 120, kRegionEnd = 121;

class ExecutionMode {
  public:
    static constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

    explicit ExecutionMode(TimingPolicy policy = TimingPolicy::full, std::uint64_t warm_up = 0)
        : policy_(policy), warm_up_(warm_up) {}

    bool timed() const {
        if (warm_up_) return false;
        return policy_ == TimingPolicy::full || (policy_ == TimingPolicy::regions && in_region_);
    }
    /// Instructions at EL0 until the warm-up ends; kNoEnd if none is going on.
    std::uint64_t warm_up_left() const { return warm_up_ ? warm_up_ : kNoEnd; }
    /// A core has executed so many without timing them.
    void executed(std::uint64_t instructions) { warm_up_ -= instructions < warm_up_ ? instructions : warm_up_; }
    void marker(std::uint32_t hint) {
        if (hint == kRegionBegin) in_region_ = true;
        if (hint == kRegionEnd) in_region_ = false;
    }

  private:
    TimingPolicy policy_;
    bool in_region_{};
    std::uint64_t warm_up_;
};

} // namespace rkperf::cpu

// SPDX-License-Identifier: Apache-2.0
// Frequencies of the CPUs (drivers/cpufreq): a policy for each frequency domain, its limits, governors, and the change of
// the clock. Frequencies are in kHz, as everywhere in cpufreq.
#pragma once

#include "sim/base/types.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace rkperf::os {

class Kernel;

enum class CpuFreqGovernor : std::uint8_t { performance, powersave, userspace };
inline constexpr std::string_view kCpuFreqGovernors[] = {"performance", "powersave", "userspace"};

/// struct cpufreq_policy.
struct CpuFreqPolicy {
    unsigned cpus{}; ///< mask
    int cpu{};       ///< the first of them, which gives the policy its number
    std::span<const unsigned> table;
    unsigned cpuinfo_min{}, cpuinfo_max{};
    unsigned min_request{}, max_request{}; ///< as written to scaling_min_freq, scaling_max_freq
    unsigned min{}, max{};                 ///< what follows from them
    unsigned cur{};
    unsigned setspeed{}; ///< asked for by scaling_setspeed
    CpuFreqGovernor governor{CpuFreqGovernor::performance};
    std::uint64_t transitions{};
    std::vector<Picoseconds> time_in_state; ///< by entry of the table, up to `since`
    Picoseconds since{};
};

class CpuFreq {
  public:
    explicit CpuFreq(Kernel& kernel);

    std::vector<CpuFreqPolicy>& policies() { return policies_; }
    CpuFreqPolicy& policy_of(int cpu);

    /// cpufreq_set_policy: applies the requests for limits, and what the governor makes of them.
    void set_policy(CpuFreqPolicy& p);
    /// scaling_setspeed. 0 or -EINVAL with another governor than userspace.
    int set_speed(CpuFreqPolicy& p, unsigned khz);
    /// Brings time_in_state up to now.
    void account(CpuFreqPolicy& p);

    /// CPUs that share a clock with `cpu`: the Cortex-A55 all, the Cortex-A76 in pairs (device tree: CPUL, CPUB01, CPUB23).
    static unsigned domain_of(Kernel& kernel, int cpu);

    /// clock-latency-ns of the operating points (rk3588-opp.dtsi).
    static constexpr unsigned kTransitionLatencyNs = 40000;

  private:
    void govern(CpuFreqPolicy& p);
    void target(CpuFreqPolicy& p, unsigned khz);

    Kernel& os_;
    std::vector<CpuFreqPolicy> policies_;
};

} // namespace rkperf::os

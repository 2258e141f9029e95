// SPDX-License-Identifier: Apache-2.0
#include "sim/os/cpufreq/cpufreq.h"

#include "kernel_events/trace/tracepoints.h"
#include "sim/os/kernel.h"

#include <algorithm>
#include <cerrno>

namespace rkperf::os {

namespace {

/// Operating points of the device tree (rk3588-opp.dtsi: cluster0, cluster1 and cluster2), kHz.
constexpr unsigned kOppA55[] = {1008000, 1200000, 1416000, 1608000, 1800000};
constexpr unsigned kOppA76[] = {1200000, 1416000, 1608000, 1800000, 2016000, 2208000, 2400000};
constexpr unsigned kPartA76 = 0xd0b;

/// Instructions of a change: the SCMI message to the firmware by SMC and back, notifiers (estimate).
constexpr std::uint32_t kChangeCost = 2500;

bool big(Kernel& k, int cpu) { return (k.pcpu(cpu).core->midr() >> 4 & 0xfff) == kPartA76; }

/// The lowest entry not below `khz` and not above `max`, else the highest not above `max` (CPUFREQ_RELATION_L).
unsigned at_least(const CpuFreqPolicy& p, unsigned khz) {
    unsigned best = p.min;
    for (const unsigned f : p.table) {
        if (f < p.min || f > p.max) continue;
        best = f;
        if (f >= khz) break;
    }
    return best;
}

} // namespace

unsigned CpuFreq::domain_of(Kernel& k, int cpu) {
    unsigned mask = 0;
    for (int c = 0; c < k.num_cpus(); ++c) {
        const bool same = big(k, c) == big(k, cpu) && (!big(k, cpu) || c / 2 == cpu / 2);
        mask |= static_cast<unsigned>(same) << c;
    }
    return mask;
}

CpuFreq::CpuFreq(Kernel& kernel) : os_(kernel) {
    for (int cpu = 0; cpu < kernel.num_cpus(); ++cpu) {
        CpuFreqPolicy p;
        p.cpus = domain_of(kernel, cpu);
        if (__builtin_ctz(p.cpus) != cpu) continue;
        p.cpu = cpu;
        p.table = big(kernel, cpu) ? std::span<const unsigned>(kOppA76) : std::span<const unsigned>(kOppA55);
        // The machine description's clock is where the limit stands at boot, an operating point or not.
        p.cur = static_cast<unsigned>(kernel.pcpu(cpu).core->clock().hertz() / 1000);
        p.cpuinfo_min = std::min(p.table.front(), p.cur);
        p.cpuinfo_max = std::max(p.table.back(), p.cur);
        p.min = p.min_request = p.cpuinfo_min;
        p.max = p.max_request = p.cur;
        p.time_in_state.resize(p.table.size());
        policies_.push_back(std::move(p));
    }
}

CpuFreqPolicy& CpuFreq::policy_of(int cpu) {
    return *std::find_if(policies_.begin(), policies_.end(), [&](const CpuFreqPolicy& p) { return p.cpus >> cpu & 1; });
}

void CpuFreq::set_policy(CpuFreqPolicy& p) {
    p.max = std::clamp(p.max_request, p.cpuinfo_min, p.cpuinfo_max);
    p.min = std::min(std::clamp(p.min_request, p.cpuinfo_min, p.cpuinfo_max), p.max);
    // At least one operating point lies between the limits (cpufreq_frequency_table_verify).
    const auto inside = [&](unsigned f) { return f >= p.min && f <= p.max; };
    if (p.cur != p.max && std::none_of(p.table.begin(), p.table.end(), inside)) {
        const auto above = std::upper_bound(p.table.begin(), p.table.end(), p.max);
        if (above != p.table.end()) p.max = *above;
    }
    os_.tracepoints().trace_cpu_frequency_limits(p.min, p.max, p.cpu);
    govern(p);
}

int CpuFreq::set_speed(CpuFreqPolicy& p, unsigned khz) {
    if (p.governor != CpuFreqGovernor::userspace) return -EINVAL;
    p.setspeed = khz;
    govern(p);
    return 0;
}

void CpuFreq::govern(CpuFreqPolicy& p) {
    switch (p.governor) {
        case CpuFreqGovernor::performance: {
            unsigned best = p.max;
            for (const unsigned f : p.table)
                if (f >= p.min && f <= p.max) best = f;
            // The clock that the machine began with is an operating point of its own.
            return target(p, p.cur == p.max ? p.cur : best);
        }
        case CpuFreqGovernor::powersave: return target(p, at_least(p, p.min));
        case CpuFreqGovernor::userspace: return target(p, at_least(p, std::clamp(p.setspeed, p.min, p.max)));
    }
}

void CpuFreq::account(CpuFreqPolicy& p) {
    const Picoseconds now = os_.core().now();
    for (std::size_t i = 0; i < p.table.size(); ++i)
        if (p.table[i] == p.cur) p.time_in_state[i].v += now.v - std::min(now.v, p.since.v);
    p.since = now;
}

void CpuFreq::target(CpuFreqPolicy& p, unsigned khz) {
    if (khz == p.cur) return;
    account(p);
    os_.charge(kChangeCost);
    p.cur = khz;
    ++p.transitions;
    for (int c = 0; c < os_.num_cpus(); ++c) {
        if (!(p.cpus >> c & 1)) continue;
        os_.pcpu(c).core->set_frequency(std::uint64_t{khz} * 1000);
        os_.tracepoints().trace_cpu_frequency(khz, c);
    }
}

} // namespace rkperf::os

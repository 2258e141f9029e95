// SPDX-License-Identifier: Apache-2.0
// Tasks that are ready on one CPU, and the constants of the fair class (Linux 6.1 defaults).
#pragma once

#include "sim/os/task.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace rkperf::os {

inline constexpr int kSchedOther = 0, kSchedFifo = 1, kSchedRr = 2, kSchedBatch = 3, kSchedIdle = 5;

namespace fair {
/// Times that grow with the number of CPUs that are online (sched_tunable_scaling: logarithmic).
struct Tunables {
    std::uint64_t latency_ns{6'000'000}, min_granularity_ns{750'000}, wakeup_granularity_ns{1'000'000};
};
inline Tunables tunables(unsigned cpus) {
    const unsigned factor = static_cast<unsigned>(std::bit_width(std::clamp(cpus, 1u, 8u)));
    const Tunables one;
    return {one.latency_ns * factor, one.min_granularity_ns * factor, one.wakeup_granularity_ns * factor};
}
/// Tasks among which a latency is shared; with more of them each gets the least granularity (sched_nr_latency).
inline constexpr unsigned kNrLatency = 8;
inline constexpr std::uint64_t kRrSliceNs = 100'000'000;
inline constexpr std::uint64_t kNice0Weight = 1024;
/// Weight by nice -20..19: each step is a factor of about 1.25 (sched(7), "sched_prio_to_weight" in the kernel).
inline constexpr std::array<std::uint32_t, 40> kWeights = {
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906,  3121,  2501,  1991,  1586,  1277,  1024,  820,   655,   526,   423,  335,  272,  215,
    172,   137,   110,   87,    70,    56,    45,    36,    29,    23,    18,   15};
inline std::uint64_t weight(const SchedEntity& e) {
    return e.policy == kSchedIdle ? 3 : kWeights[static_cast<unsigned>(e.nice + 20)];
}
} // namespace fair

inline bool is_rt(const SchedEntity& e) { return e.policy == kSchedFifo || e.policy == kSchedRr; }

struct RunQueue {
    std::vector<Task*> rt;   ///< queued real-time tasks, highest priority first, FIFO within one
    std::vector<Task*> fair; ///< queued fair tasks, by vruntime, then order of arrival
    std::uint64_t min_vruntime{};
    std::uint64_t load{};           ///< sum of weights, running one included
    unsigned nr{};                  ///< tasks on the queue, running one included
    const Task* skip{};             ///< has given way by sched_yield: the next one goes first if it is not far behind
    Picoseconds resched_at{kNever}; ///< another CPU asked for a choice of task at this time of its own
};

} // namespace rkperf::os

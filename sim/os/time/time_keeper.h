// SPDX-License-Identifier: Apache-2.0
// Clocks, high-resolution timers and the tick, on the virtual timer of each CPU (CNTV_CVAL_EL0 by TLM).
#pragma once

#include "kernel_events/kernel.h"

#include <cstdint>
#include <set>
#include <vector>

namespace rkperf::os {

class Kernel;

class TimeKeeper {
  public:
    explicit TimeKeeper(Kernel& k);

    std::uint64_t now_ns();              ///< sched_clock = CLOCK_MONOTONIC: counter * 125 / 3
    std::uint64_t clock_ns(int clockid); ///< any clock of clock_gettime that is not a CPU-time clock
    std::uint64_t jiffies();

    /// Timer queue of one CPU. start acts on the calling CPU's queue unless `cpu` names another one (IPI-free: the
    /// other CPU's hardware timer is reprogrammed by an IPI).
    void start(ke::HrTimer& t, std::uint64_t expires_ns, int cpu);
    bool cancel(ke::HrTimer& t);
    void remove(ke::HrTimer& t); ///< from its queue
    /// Handler of PPI 11.
    void timer_interrupt();
    /// The tick of a CPU: starts when it leaves idle, stops in idle (NOHZ).
    void start_tick(int cpu);
    void stop_tick(int cpu);
    void migrate_timers(int from, int to); ///< of a CPU that goes, interrupts masked
    /// An interrupt at local time `at` that makes this CPU look at its run queue.
    void resched_at(int cpu, Picoseconds at);
    void init_cpu(int cpu);
    void ipi_timer(int cpu); ///< another CPU put a timer first in this one's queue
    std::uint64_t next_expiry(int cpu) const;
    std::int64_t realtime_offset_ns{};

  private:
    void reprogram(int cpu);
    void program(int cpu, std::uint64_t next); ///< the CPU's timer fires at `next`
    Kernel& os_;
    struct CpuQueue {
        std::vector<ke::HrTimer*> timers; ///< sorted by expiry, then by order of starting
        ke::HrTimer tick, resched;
        bool tick_on{};
        std::uint64_t programmed{~0ull};
    };
    std::vector<CpuQueue> queues_;
};

} // namespace rkperf::os

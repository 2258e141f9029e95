// SPDX-License-Identifier: Apache-2.0
// Interval timers and POSIX timers of one process. Those on wall clocks are high-resolution timers; those on CPU-time
// clocks are looked at by the tick, as in a kernel without CONFIG_POSIX_CPU_TIMERS_TASK_WORK.
#pragma once

#include "kernel_events/kernel.h"

#include <cstdint>
#include <map>
#include <memory>

namespace rkperf::os {

class Kernel;
struct Process;
struct Task;

/// What a timer on CPU time counts: time on CPUs, or what was found at EL0 (user) or in all (ticks) by accounting.
enum class CpuClock : std::uint8_t { none, process, process_user, thread, thread_user, thread_ticks };

struct PosixTimer {
    int id{};
    int clockid{};
    int notify{}; ///< SIGEV_SIGNAL 0, SIGEV_NONE 1, SIGEV_THREAD_ID 4
    int signo{};
    int tid{};                                 ///< SIGEV_THREAD_ID
    std::uint64_t value{};                     ///< sigev_value
    std::uint64_t interval_ns{}, expires_ns{}; ///< expires_ns 0: not armed
    int overrun{};
    bool itimer{};
    CpuClock cpu{}; ///< not none: expires_ns is a time of this clock
    int cpu_tid{};  ///< thread whose clock it is
    ke::HrTimer timer;
};

struct ProcessTimers {
    std::map<int, std::unique_ptr<PosixTimer>> timers;
    int next_id{};
    PosixTimer real, virt, prof; ///< ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF
};

/// A CPU-time clock of `p`, or of its thread `t`, in ns.
std::uint64_t read_cpu_clock(Kernel& k, Process& p, Task* t, CpuClock clock);
/// The timer has expired at `now` of its clock: sends its signal and sets the next expiry, if it repeats.
void expire_timer(Kernel& k, Process& p, PosixTimer& timer, std::uint64_t now);
/// From the tick: expired CPU-time timers and RLIMIT_CPU of current's process.
void run_posix_cpu_timers(Kernel& k, Task& current);

} // namespace rkperf::os

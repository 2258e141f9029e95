// SPDX-License-Identifier: Apache-2.0
// Interval timers and POSIX timers of one process.
#pragma once

#include "kernel_events/kernel.h"

#include <cstdint>
#include <map>
#include <memory>

namespace rkperf::os {

struct PosixTimer {
    int id{};
    int clockid{};
    int notify{};          ///< SIGEV_SIGNAL 0, SIGEV_NONE 1, SIGEV_THREAD_ID 4
    int signo{};
    int tid{};             ///< SIGEV_THREAD_ID
    std::uint64_t value{}; ///< sigev_value
    std::uint64_t interval_ns{}, expires_ns{};
    int overrun{};
    ke::HrTimer timer;
};

struct ProcessTimers {
    std::map<int, std::unique_ptr<PosixTimer>> timers;
    int next_id{};
    PosixTimer real; ///< ITIMER_REAL
};

} // namespace rkperf::os

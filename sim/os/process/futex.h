// SPDX-License-Identifier: Apache-2.0
// Tasks that sleep on futex words.
#pragma once

#include "sim/os/task.h"

#include <cstdint>
#include <list>

namespace rkperf::os {

struct FutexKey {
    static constexpr std::uint64_t kShared = ~std::uint64_t{0};
    std::uint64_t space{};   ///< ASID, or kShared
    std::uint64_t address{}; ///< virtual address, or physical if shared
    bool operator==(const FutexKey&) const = default;
};

struct FutexWaiter {
    Task* task{};
    FutexKey key;
    std::uint32_t bitset{};
    bool woken{};
    bool pi{};     ///< waits to be given the lock
    int owner{};   ///< pi: thread that has it
    bool queued{}; ///< was put on the list
    bool for_pi{}; ///< FUTEX_WAIT_REQUEUE_PI: waits to be moved to the PI futex `target`
    FutexKey target{};
};

/// All waiters, in order of arrival.
struct FutexTable {
    std::list<FutexWaiter*> waiters;
};

} // namespace rkperf::os

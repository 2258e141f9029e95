// SPDX-License-Identifier: Apache-2.0
// The time that CPUs wait for each other's spin locks.
#pragma once

#include "kernel_events/kernel.h"
#include "sim/base/types.h"

#include <array>
#include <cstdint>
#include <memory>

namespace rkperf::os {

class Kernel;

/// When CPUs held a lock, of late.
class LockUses {
  public:
    /// `others`: how many that came before hold it, or wait for it; the last lets go at `until`.
    struct Found {
        Picoseconds until{};
        int others{};
    };
    Found at(Picoseconds now, int cpu) const;
    /// From coming to letting go.
    void add(Picoseconds came, Picoseconds until, int cpu);

  private:
    struct Use {
        Picoseconds came{}, until{};
        int cpu{};
    };
    std::array<Use, 16> latest_{};
    unsigned number_{};  ///< how many there have been: the next goes into the place of this number, modulo 16
    Picoseconds last_{}; ///< when the last of them ends
};

/// A spin lock of kernel code that runs with interrupts masked. The host executes such a region as a whole before any other
/// CPU, so nobody ever finds it taken, and no state needs protection. What is left is time: the latest uses are
/// remembered in their CPU's local time, from the moment it came to the moment it let go, and a CPU that comes within uses
/// of others waits for their end. It says so (lock:contention_begin) where Linux does: who comes second waits at the lock
/// itself and is silent, who comes after that queues.
class SpinLock {
  public:
    /// What comes of arriving at a lock; stays good when the lock is gone.
    struct Wait {
        Picoseconds until{};     ///< zero: nobody is in the way
        std::uint64_t address{}; ///< of the lock
        bool queued{};           ///< or at the lock itself
    };

    explicit SpinLock(Kernel& k) : kernel_(k) {}

    /// Interrupts must be masked until the unlock.
    void lock();
    void unlock();
    /// For a holder that does next to nothing: comes now, waits for its turn and lets go. Takes no time and lets nobody
    /// run: the time is for spend() to take.
    [[nodiscard]] Wait arrive();
    /// Waits, with interrupts masked meanwhile. May let others run if they were not, who may take the lock away.
    static void spend(Kernel& k, const Wait& wait);

  private:
    struct Uses : LockUses {
        std::uint64_t address{};
    };
    Wait wait_from(Picoseconds now) const;
    void used(Picoseconds came, Picoseconds until);

    Kernel& kernel_;
    std::unique_ptr<Uses> uses_; ///< once somebody has held it for some time
    Picoseconds came_{};         ///< when who holds it came; between unlock and lock of no meaning
};

} // namespace rkperf::os

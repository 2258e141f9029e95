// SPDX-License-Identifier: Apache-2.0
// A stack that kernel code of one task runs on. Switching is symmetric and costs a few nanoseconds; the SystemC thread
// of a core runs whichever fibre is current on that core.
#pragma once

#include <cstddef>
#include <functional>

namespace rkperf::os {

class Fibre {
  public:
    static constexpr std::size_t kStackBytes = 256 * 1024;

    /// The stack that already runs (a core's SystemC thread).
    Fibre() = default;
    /// A new stack that will run `entry`, which never returns.
    explicit Fibre(std::function<void()> entry);
    ~Fibre();
    Fibre(const Fibre&) = delete;
    Fibre& operator=(const Fibre&) = delete;

    /// Leaves the running fibre `from` (must be the one that calls) and continues `to`.
    static void switch_to(Fibre& from, Fibre& to);

  private:
    void* context_{};
    void* stack_{};
    std::function<void()> entry_;
    friend struct FibreEntry;
};

} // namespace rkperf::os

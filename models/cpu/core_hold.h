// SPDX-License-Identifier: Apache-2.0
// A core that is kept from going on while others run.
#pragma once

namespace rkperf::cpu {

/// What a debug monitor may be as well. Asked where the core gives way to the others, and at boundaries in a program at which
/// the monitor looks (may_stop). While it is held the core's clock stands still: no cycle is counted, no timer of it goes off.
class CoreHold {
  public:
    virtual ~CoreHold() = default;
    virtual bool held() const = 0;
    /// Waits in SystemC until it is not.
    virtual void wait_for_release() = 0;
};

} // namespace rkperf::cpu

// SPDX-License-Identifier: Apache-2.0
// The inner shareable domain: maintenance operations that reach every core of the machine (Arm ARM D5.11, IC IVAU).
#pragma once

#include "sim/base/types.h"

#include <vector>

namespace rkperf::cpu {

class InnerShareable {
  public:
    class Member {
      public:
        virtual ~Member() = default;
        /// IC IVAU of the line at `pa`, by whichever core.
        virtual void icache_invalidated(PhysAddr pa) = 0;
    };

    void join(Member& member) { members_.push_back(&member); }
    void invalidate_icache(PhysAddr pa) {
        for (Member* m : members_) m->icache_invalidated(pa);
    }

  private:
    std::vector<Member*> members_; // in order of construction
};

} // namespace rkperf::cpu

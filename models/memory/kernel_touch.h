// SPDX-License-Identifier: Apache-2.0
// What native kernel code leaves in a core's caches: accesses for whom only lines, counts and times matter.
#pragma once

#include "models/memory/hierarchy.h"

namespace rkperf::mem {

/// Fetches of `lines` lines on end, from that of `pa` on, each when the one before is there. Returns the cycle at which the
/// last one is.
std::uint64_t touch_code(CoreMemory& memory, PhysAddr pa, std::uint64_t lines, std::uint64_t now);

/// A load from or a store to a line.
Timing touch_data(CoreMemory& memory, PhysAddr pa, bool write, std::uint64_t now);

} // namespace rkperf::mem

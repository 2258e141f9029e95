// SPDX-License-Identifier: Apache-2.0
#include "models/memory/kernel_touch.h"

#include "models/memory/private_caches.h"

namespace rkperf::mem {
namespace {

/// Who is snooped is who holds the lines.
PrivateCaches& caches(CoreMemory& memory) { return static_cast<PrivateCaches&>(memory.snoop_port()); }

} // namespace

std::uint64_t touch_code(CoreMemory& memory, PhysAddr pa, std::uint64_t lines, std::uint64_t now) {
    return caches(memory).touch_code(pa.v >> kLineShift, lines, now);
}

Timing touch_data(CoreMemory& memory, PhysAddr pa, bool write, std::uint64_t now) {
    return caches(memory).touch_data(pa.v >> kLineShift, write, now);
}

} // namespace rkperf::mem

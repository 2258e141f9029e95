// SPDX-License-Identifier: Apache-2.0
// The translation table walk itself (Arm ARM D8.2), one level at a time, without any timing: the TLB miss path puts
// walk caches and memory accesses between the steps, software and tests just call walk().
#pragma once

#include "models/memory/descriptors.h"
#include "models/memory/physical_memory.h"
#include "sim/base/types.h"

#include <cstdint>

namespace rkperf::mem {

/// Permissions gathered from tables on the way down.
struct TableAttributes {
    bool no_user{}, read_only{}, no_exec{};
};

/// Where a walk stands: the table to be read next.
struct WalkState {
    PhysAddr table{};
    unsigned level{desc::kFirstLevel};
    TableAttributes attributes{};
};

/// A valid leaf with the access flag set.
struct Leaf {
    PhysAddr output{}; ///< of the page or block
    unsigned level{};
    bool user{}, writable{}, exec{}, global{};
};

enum class WalkStep : std::uint8_t { next_table, leaf, fault };

/// Address of the entry that the step in `state` reads.
inline PhysAddr entry_address(const WalkState& state, VirtAddr va) {
    return PhysAddr(state.table.v + 8 * desc::index(va, state.level));
}

/// Takes one step: reads the entry and moves `state` to the next table, or fills `leaf`, or sets `status` (fault status
/// code with level). A table outside of `memory` is an external abort on a walk.
WalkStep walk_step(const PhysicalMemory& memory, VirtAddr va, WalkState& state, Leaf& leaf, std::uint8_t& status);

/// A whole walk from `root`. 0, or the fault status code.
std::uint8_t walk(const PhysicalMemory& memory, PhysAddr root, VirtAddr va, Leaf& leaf);

} // namespace rkperf::mem

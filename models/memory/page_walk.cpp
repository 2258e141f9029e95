// SPDX-License-Identifier: Apache-2.0
#include "models/memory/page_walk.h"

#include <cstring>

namespace rkperf::mem {

namespace {

Leaf make_leaf(std::uint64_t d, const WalkState& state) {
    Leaf leaf;
    leaf.output = desc::address(d, state.level);
    leaf.level = state.level;
    leaf.user = (d & desc::kApUser) != 0 && !state.attributes.no_user;
    leaf.writable = (d & desc::kApReadOnly) == 0 && !state.attributes.read_only;
    leaf.exec = (d & desc::kUxn) == 0 && !state.attributes.no_exec;
    leaf.global = (d & desc::kNotGlobal) == 0;
    return leaf;
}

} // namespace

WalkStep walk_step(const PhysicalMemory& memory, VirtAddr va, WalkState& state, Leaf& leaf, std::uint8_t& status) {
    const PhysAddr at = entry_address(state, va);
    const auto level = static_cast<std::uint8_t>(state.level);
    if (!memory.contains(at, 8)) {
        status = desc::fsc::kExternalAbortWalk + level;
        return WalkStep::fault;
    }
    std::uint64_t d;
    std::memcpy(&d, memory.host(at), sizeof d);
    if (desc::is_table(d, state.level)) {
        state.table = desc::address(d, state.level);
        state.attributes.no_user |= (d & desc::kApTableNoUser) != 0;
        state.attributes.read_only |= (d & desc::kApTableReadOnly) != 0;
        state.attributes.no_exec |= (d & desc::kUxnTable) != 0;
        ++state.level;
        return WalkStep::next_table;
    }
    if (!desc::is_leaf(d, state.level)) {
        status = desc::fsc::kTranslation + level;
        return WalkStep::fault;
    }
    if ((d & desc::kAf) == 0) {
        status = desc::fsc::kAccessFlag + level;
        return WalkStep::fault;
    }
    leaf = make_leaf(d, state);
    return WalkStep::leaf;
}

std::uint8_t walk(const PhysicalMemory& memory, PhysAddr root, VirtAddr va, Leaf& leaf) {
    WalkState state{.table = root};
    std::uint8_t status = 0;
    for (;;) {
        switch (walk_step(memory, va, state, leaf, status)) {
            case WalkStep::next_table: break;
            case WalkStep::leaf: return 0;
            case WalkStep::fault: return status;
        }
    }
}

} // namespace rkperf::mem

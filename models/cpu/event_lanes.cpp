// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/event_lanes.h"

namespace rkperf::cpu {
namespace {

/// Most accesses of one instruction on the fast path, heavy ones aside: a pair, each half across a line.
constexpr unsigned kMaxAccesses = 4;

/// Lanes of which one instruction feeds at most one.
bool is_branch(Lane l) { return l == Lane::branch_immed || l == Lane::branch_indirect || l == Lane::branch_return; }

unsigned lane_weight(Lane l) {
    switch (l) {
        case Lane::read_hit:
        case Lane::write_hit: return kMaxAccesses;
        default: return index_of(l) < kFastLanes ? 1 : 0;
    }
}

} // namespace

unsigned fast_weight(const EventList& list, EventNumber e) {
    unsigned weight = 0;
    bool branch = false;
    for (const LaneEvent& row : list.lanes) {
        if (row.event != e) continue;
        if (is_branch(row.lane)) {
            branch = true;
        } else {
            weight += lane_weight(row.lane);
        }
    }
    return weight + branch;
}

LaneMap::LaneMap(const EventList& list) {
    for (const LaneEvent& row : list.lanes) events_[index_of(row.lane)].push_back(row.event);
}

std::vector<Lane> LaneMap::lanes_of(EventNumber e) const {
    std::vector<Lane> lanes;
    for (unsigned i = 0; i < kLanes; ++i)
        for (EventNumber n : events_[i])
            if (n == e) lanes.push_back(static_cast<Lane>(i));
    return lanes;
}

} // namespace rkperf::cpu

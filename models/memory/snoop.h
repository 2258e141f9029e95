// SPDX-License-Identifier: Apache-2.0
// How the DSU reaches into a core's private caches.
#pragma once

#include <cstdint>

namespace rkperf::mem {

enum class SnoopKind : std::uint8_t {
    downgrade,  ///< keep the line shared and clean
    invalidate, ///< give the line up
    clean,      ///< keep the line in its state, but clean
};

struct SnoopResult {
    bool held{};
    bool dirty{}; ///< held dirty data, which is handed over
};

/// Implemented by a core's caches. Acts at once, whatever the two cores' local times: tags change in the order of
/// execution, only latencies are annotated. Tells the core's FastPathListener and counts L1D_CACHE_INVAL,
/// L2D_CACHE_INVAL, and for data handed over L1D_CACHE_WB or L2D_CACHE_WB (_CLEAN) and BUS_ACCESS_WR, in the snooped
/// core's totals.
class SnoopPort {
  public:
    virtual ~SnoopPort() = default;
    /// `pline`: physical address >> 6. `want_data`: the line's data is needed even if it is clean.
    virtual SnoopResult snoop(std::uint64_t pline, SnoopKind kind, bool want_data) = 0;
};

} // namespace rkperf::mem

// SPDX-License-Identifier: Apache-2.0
// What charging native kernel code adds to a core's lanes.
#pragma once

#include "models/cpu/branch_predictor.h"
#include "models/cpu/core.h"
#include "models/cpu/event_lanes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace rkperf::cpu {

inline constexpr std::uint64_t kKernelRate = 1024; ///< denominator of KernelRates and of KernelLanes

/// Lanes that native kernel code feeds.
inline constexpr std::array kKernelLanes{Lane::instruction,
                                         Lane::load,
                                         Lane::store,
                                         Lane::read_hit,
                                         Lane::write_hit,
                                         Lane::read_slow,
                                         Lane::write_slow,
                                         Lane::branch_immed,
                                         Lane::branch_indirect,
                                         Lane::branch_return,
                                         Lane::branch_cond,
                                         Lane::branch_taken,
                                         Lane::cond_mispredict,
                                         Lane::data_processing,
                                         Lane::fetch,
                                         Lane::stall_frontend,
                                         Lane::stall_frontend_cache,
                                         Lane::stall_frontend_tlb,
                                         Lane::stall_backend,
                                         Lane::stall_interlock,
                                         Lane::stall_interlock_agu,
                                         Lane::stall_load,
                                         Lane::stall_load_cache,
                                         Lane::stall_load_tlb,
                                         Lane::stall_store,
                                         Lane::wrong_path,
                                         Lane::wrong_load,
                                         Lane::wrong_store,
                                         Lane::wrong_branch_immed,
                                         Lane::wrong_data_processing,
                                         Lane::load_acquire,
                                         Lane::store_release,
                                         Lane::dmb,
                                         Lane::dsb,
                                         Lane::isb};

/// Counts in 1/kKernelRate, so that shares of small charges add up. Some behind stay 0, so that they are added by fours.
using KernelLanes = std::array<std::uint64_t, (kKernelLanes.size() + 3) / 4 * 4>;

/// Where a lane is among kKernelLanes; behind them if it is none.
inline constexpr auto kKernelLaneOf = [] {
    std::array<std::uint8_t, kLanes> at{};
    at.fill(kKernelLanes.size());
    for (std::size_t i = 0; i < kKernelLanes.size(); ++i) at[index_of(kKernelLanes[i])] = static_cast<std::uint8_t>(i);
    return at;
}();

template <Lane lane>
constexpr std::size_t kernel_lane() {
    constexpr std::size_t at =
        static_cast<std::size_t>(std::find(kKernelLanes.begin(), kKernelLanes.end(), lane) - kKernelLanes.begin());
    static_assert(at < kKernelLanes.size());
    return at;
}

template <Lane lane>
constexpr std::uint64_t& of(KernelLanes& counts) {
    return counts[kernel_lane<lane>()];
}
template <Lane lane>
constexpr std::uint64_t of(const KernelLanes& counts) {
    return counts[kernel_lane<lane>()];
}

/// What is whole of `lanes` and of `more`; what is left of a whole one stays in `lanes`. Stalls of the back end are those of its
/// causes, so that they add up whenever somebody looks.
inline KernelLanes take_whole(KernelLanes& lanes, const KernelLanes& more) {
    KernelLanes whole;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        const std::uint64_t all = lanes[i] + more[i];
        whole[i] = all / kKernelRate;
        lanes[i] = all % kKernelRate;
    }
    of<Lane::stall_backend>(whole) =
        of<Lane::stall_interlock>(whole) + of<Lane::stall_load>(whole) + of<Lane::stall_store>(whole);
    return whole;
}

/// A piece of kernel code that was charged before: its share of events, and whether its footprint is still there. It is if
/// nothing has left the caches and TLBs since it was touched as a whole.
struct KernelCharge {
    /// Successive lines of text, by physical address.
    struct Piece {
        std::uint64_t at{}, lines{};
    };
    bool is_of(const KernelWork& work, bool without_timing) const {
        return code_address == work.code_address && instructions == work.instructions && function == work.function &&
               loads == work.loads && stores == work.stores && branches == work.branches && simple == without_timing;
    }

    /// Becomes the record of another charge, with nothing worked out yet.
    void begin(const KernelWork& work, bool without_timing) {
        code_address = work.code_address;
        function = work.function;
        instructions = work.instructions;
        loads = work.loads;
        stores = work.stores;
        branches = work.branches;
        simple = without_timing;
        code_seen = data_seen = pages_seen = 0;
        passage.clear();
        lines = data_lines = 0;
        page = 0;
        pieces = {};
        counts = {};
    }

    // what each charge looks at first
    std::uint64_t code_address{~0ull}, function{};
    std::uint32_t instructions{}, loads{}, stores{}, branches{};
    bool simple{}; ///< charged without timing
    bool listed{};
    std::uint64_t passes{};                               ///< how often its counts are still to be added
    KernelCharge* passed_before{};                        ///< the next one that has any
    std::uint64_t cycles{};                               ///< in 1/kKernelRate
    std::uint64_t code_seen{}, data_seen{}, pages_seen{}; ///< CoreBase's counts of losses at that time
    BranchPredictor::Passage passage{};                   ///< its branches
    unsigned lines{}, data_lines{};                       ///< of text, and of data
    std::uint64_t page{};                                 ///< virtual address in the page of the text
    std::array<Piece, 4> pieces{};                        ///< the lines of text, up to the first empty one
    KernelLanes counts{};
};

/// What was looked up for a charge, and the cycles waited for it beyond hits.
struct KernelFootprint {
    unsigned code{}, loads{}, stores{};
    std::uint64_t code_wait{}, code_tlb_wait{}, data_wait{}, data_tlb_wait{};
    unsigned mispredicts{};
    bool any() const { return code | loads | stores | mispredicts; }
};

/// What of that the core stands still for.
struct KernelStalls {
    std::uint64_t code{}, data{}, flushed{};
    std::uint64_t sum() const { return code + data + flushed; }
};

} // namespace rkperf::cpu

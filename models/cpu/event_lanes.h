// SPDX-License-Identifier: Apache-2.0
// What a core counts while it executes ("lanes"), and how lanes become PMU events. The fast path adds up lanes; each
// core's event list says which events a lane feeds (cpu_a55/events.cpp, cpu_a76/events.cpp).
#pragma once

#include "sim/base/pmu_events.h"
#include "sim/base/types.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace rkperf::cpu {

enum class Lane : std::uint8_t {
    // Static at decode, at most one each per instruction; added per block.
    load,
    store,
    branch_immed,
    branch_indirect, ///< not returns
    branch_return,
    branch_cond,
    data_processing,
    simd,
    fp,
    crypto,
    dmb,
    dsb,
    load_exclusive,
    load_acquire,
    store_release,
    instruction,
    fetch, ///< L1I and ITLB lookup: one per aligned 16 bytes, and one per entry into a block
    static_count,
    // Added by the fast path for what happened.
    read_hit = static_count, ///< data access through a64::MemPort: an L1D and L1 DTLB hit
    write_hit,
    read_unaligned,
    write_unaligned,
    branch_taken,
    fast_count,
    // Noted one by one.
    read_slow = fast_count, ///< data access that CoreMemory has counted
    write_slow,
    wrong_path, ///< operations issued past a mispredicted branch; those of a kind are told apart below
    wrong_load,
    wrong_store,
    wrong_data_processing,
    wrong_simd,
    wrong_fp,
    wrong_crypto,
    wrong_branch_immed,
    wrong_branch_indirect,
    wrong_branch_return,
    isb,
    core_isb, ///< put in by the core itself
    cond_mispredict,
    indirect_mispredict, ///< not returns
    return_mispredict,
    store_exclusive_pass,
    store_exclusive_fail,
    exception_taken,
    exception_return,
    exc_undefined,
    exc_svc,
    exc_insn_abort,
    exc_data_abort,
    exc_irq,
    exc_trap_other,
    contextidr_write,
    ttbr_write,
    // Cycles; counted by the pipelines.
    cycle,
    stall_frontend,
    stall_frontend_cache,
    stall_frontend_tlb,
    stall_backend,
    stall_interlock,
    stall_interlock_agu,
    stall_interlock_fpu,
    stall_load,
    stall_load_cache,
    stall_load_tlb,
    stall_store,
    stall_store_buffer,
    stall_store_tlb,
    count,
};

inline constexpr unsigned kLanes = static_cast<unsigned>(Lane::count);
inline constexpr unsigned kStaticLanes = static_cast<unsigned>(Lane::static_count);
inline constexpr unsigned kFastLanes = static_cast<unsigned>(Lane::fast_count);
inline constexpr unsigned kFirstStall = static_cast<unsigned>(Lane::stall_frontend);
inline constexpr unsigned kStalls = kLanes - kFirstStall;
constexpr unsigned index_of(Lane l) { return static_cast<unsigned>(l); }
constexpr unsigned stall_index(Lane l) { return index_of(l) - kFirstStall; }

/// One event fed by one lane.
struct LaneEvent {
    Lane lane;
    EventNumber event;
};

/// A core's events, as its TRM lists them.
struct EventList {
    std::span<const EventNumber> implemented;
    std::span<const LaneEvent> lanes;
    std::uint64_t pmceid0{}, pmceid1{};

    constexpr bool implements(EventNumber e) const {
        for (EventNumber i : implemented)
            if (i == e) return true;
        return false;
    }
};

/// The events 0x00-0x1F and 0x20-0x3F of a list as PMCEID0_EL0 and PMCEID1_EL0 show them.
constexpr std::uint64_t pmceid(std::span<const EventNumber> implemented, unsigned n) {
    std::uint64_t bits = 0;
    for (EventNumber e : implemented)
        if (e >> 5 == n) bits |= std::uint64_t{1} << (e & 31);
    return bits;
}

/// How many events of number `e` one instruction adds at most through the fast lanes; 0 if it does not depend on them.
/// An instruction marked heavy (decoded_op.h) may exceed it for data accesses.
unsigned fast_weight(const EventList& list, EventNumber e);

/// Lane -> events, laid out for adding.
class LaneMap {
  public:
    explicit LaneMap(const EventList& list);
    std::span<const EventNumber> events(Lane l) const { return events_[index_of(l)]; }
    /// Lanes that feed event `e`.
    std::vector<Lane> lanes_of(EventNumber e) const;

  private:
    std::array<std::vector<EventNumber>, kLanes> events_;
};

} // namespace rkperf::cpu

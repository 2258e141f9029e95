// SPDX-License-Identifier: Apache-2.0
// The memory side of one core: L1 TLBs, L2 TLB, page walker, L1I, L1D, L2. Tags and states only; data lives in
// PhysicalMemory. Hits never leave the core; misses beyond the L2 are b_transport calls to the DSU.
#pragma once

#include "models/memory/physical_memory.h"
#include "sim/base/clock.h"
#include "sim/base/event_totals.h"
#include "sim/base/types.h"

#include <cstdint>
#include <memory>
#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>

namespace rkperf::mem {

struct CacheGeometry {
    unsigned bytes{};
    unsigned ways{};
    unsigned line{64};
};

/// Parameters of one core's private memory side (facts: RK3588 device tree, Arm TRMs 100442 and 100798).
struct CoreMemoryParams {
    CacheGeometry l1i, l1d, l2;
    unsigned itlb_entries{}, dtlb_entries{}; ///< fully associative
    unsigned l2tlb_entries{}, l2tlb_ways{};
    unsigned walk_cache_entries{}, walk_cache_ways{};
    bool l2_inclusive_of_l1d{};
    // Latencies in core cycles, on top of the pipeline's own load-to-use latency (which covers an L1 hit).
    unsigned l2_hit{};          ///< L1 miss, L2 hit
    unsigned l2tlb_hit{};       ///< L1 TLB miss, L2 TLB hit
    unsigned walk_step{};       ///< fixed cost of one walk step on top of its memory access
    unsigned mshrs{};           ///< L1D misses in flight
    unsigned l2_line_interval{};///< cycles between two lines delivered by the L2
    unsigned walks_in_flight{};
};

enum class Access : std::uint8_t { load, store, atomic, fetch, walk, prefetch, zero_line };
enum class Level : std::uint8_t { l1, l2, l3, peer, dram };

/// What an access cost.
struct Timing {
    std::uint64_t ready{};  ///< core cycle at which the data can be used (loads, fetches) or the line is owned (stores)
    Level level{Level::l1};
    bool tlb_miss{};        ///< L1 TLB missed
};

/// A translation as the L1 TLBs hold it. `stamp` is refreshed on each use (see a64::MemPort).
struct TlbEntry {
    std::uint64_t vpn{~0ull};
    std::uint64_t ppn{};
    std::uint32_t asid{};
    bool valid{}, global{};
    bool user{}, writable{}, exec{}; ///< EL0 access permitted, writes permitted (AP[2]=0), EL0 execution permitted (UXN=0)
    std::uint32_t stamp{};
};

/// Result of a translation.
struct Translation {
    TlbEntry* entry{};          ///< null: fault, see status
    std::uint8_t status{};      ///< fault status code as in ESR_ELx.DFSC (0x04+level translation, 0x08+ access flag, 0x0c+ permission)
    std::uint32_t cycles{};     ///< cycles beyond an L1 TLB hit
    bool missed{};
};

/// A line of the L1D or L1I tag array. `stamp` is its recency.
struct CacheLine {
    std::uint64_t pline{~0ull}; ///< physical address >> 6, or all ones
    enum class State : std::uint8_t { invalid, shared, exclusive, modified } state{State::invalid};
    bool prefetched{};
    std::uint32_t stamp{};
};

/// Told when something that the core's fast paths rely on goes away.
class FastPathListener {
  public:
    virtual ~FastPathListener() = default;
    /// The L1D no longer holds the line, or holds it without write permission.
    virtual void l1d_line_lost(std::uint64_t pline, bool write_only) = 0;
    /// The L1 DTLB / ITLB dropped the page; vpn ~0 = all.
    virtual void dtlb_entry_lost(std::uint64_t vpn) = 0;
    virtual void itlb_entry_lost(std::uint64_t vpn) = 0;
    /// The L1I dropped the line; ~0 = all.
    virtual void l1i_line_lost(std::uint64_t pline) = 0;
};

class CoreMemory : public sc_core::sc_module {
  public:
    CoreMemory(sc_core::sc_module_name name, CpuId cpu, const CoreMemoryParams& params, PhysicalMemory& memory,
               EventTotals& totals);
    ~CoreMemory() override;

    /// To the DSU. Delay = the core's local time - sc_time_stamp(); the target adds the latency.
    tlm_utils::simple_initiator_socket<CoreMemory> to_dsu;
    /// From the DSU: snoops and back-invalidations (see dsu.h, SnoopTarget).
    class SnoopPort& snoop_port();

    void set_listener(FastPathListener* l);
    /// Conversion between core cycles and time for calls that leave the core; the core sets it and keeps it current.
    void set_clock(const Clock* clock);

    /// Address space of EL0 translations: root table, ASID. No TLB is flushed.
    void set_ttbr0(PhysAddr table, std::uint16_t asid);
    /// TLB maintenance (ASID ~0: all address spaces; vpn ~0: all pages).
    void tlb_invalidate(std::uint32_t asid, std::uint64_t vpn);

    /// Translates for data or fetch at EL0, counting L1D_TLB/L1I_TLB accesses, refills, walks. `kernel` access ignores
    /// the user permission (copy_to_user and the like) but not writability. now = core cycle of the request.
    Translation translate_data(VirtAddr va, bool write, bool kernel, std::uint64_t now);
    Translation translate_fetch(VirtAddr va, std::uint64_t now);

    /// One access to a physical line (never crosses a line). Counts L1/L2/L3/bus events, moves states, allocates.
    /// On an L1D hit with sufficient state the cost is zero beyond the pipeline's load-to-use. `line` receives the L1
    /// line that now holds the data (null for prefetches that did not allocate).
    Timing access(PhysAddr pa, Access kind, std::uint64_t now, CacheLine** line = nullptr);

    /// Cache maintenance by physical line, to point of coherency / unification; `invalidate` drops the line.
    void clean_line(PhysAddr pa, bool invalidate, std::uint64_t now);
    void invalidate_icache();

    /// For tests and the trace.
    const CacheLine* find_l1d(PhysAddr pa) const;
    bool l2_holds(PhysAddr pa) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rkperf::mem

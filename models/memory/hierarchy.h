// SPDX-License-Identifier: Apache-2.0
// The memory side of one core: L1 TLBs, L2 TLB, page walker, L1I, L1D, L2. Tags and states only; data lives in
// PhysicalMemory. Hits never leave the core; misses beyond the L2 are b_transport calls to the DSU.
//
// Who counts what (meanings: Arm's event lists of the two cores). Every call adds to the EventTotals given to the
// constructor, at the exception level they are set to. Snoops of other cores add to the totals of the snooped core.
//
//   translate_data   L1D_TLB and L1D_TLB_RD/_WR, one per call. On an L1 miss L1D_TLB_REFILL(_RD/_WR), faults included,
//                    and L2D_TLB(_RD/_WR); on an L2 miss DTLB_WALK, L2D_LLWALK_TLB.., and L2D_TLB_REFILL(_RD/_WR)
//                    unless the walk faults.
//   translate_fetch  the same with L1I_TLB, L1I_TLB_REFILL, ITLB_WALK; L2 TLB lookups of fetches count as reads.
//   a walk's reads   like loads: L1D_CACHE and _RD, REFILL when the L1D misses (they do not allocate there); nothing of the
//                    L1D where walks pass it by.
//   access           load: L1D_CACHE, L1D_CACHE_RD. store, atomic, zero_line: L1D_CACHE, L1D_CACHE_WR (an atomic is
//                    one lookup, for writing). fetch: L1I_CACHE. prefetch: no L1 event. On a miss L1D_CACHE_REFILL,
//                    _RD/_WR, _INNER/_OUTER or L1I_CACHE_REFILL (not zero_line, not prefetch, not a store to a shared
//                    line, which needs no data; but see late_prefetch_is_refill), then all of L2D_*, L3D_*, LL_CACHE_*, BUS_ACCESS*, and what victims
//                    cause.
//   not counted here MEM_ACCESS*, LD/ST_*, STALL_*; and what the core's own fast paths do: a hit in a64::MemPort::lines
//                    owes L1D_CACHE, L1D_CACHE_RD/_WR, L1D_TLB, L1D_TLB_RD/_WR; a block executed without
//                    translate_fetch and access(fetch) owes L1I_TLB and L1I_CACHE.
//   L2D_CACHE_REFILL every request of an L1 that brings a line from outside the core, its prefetches and PRFM into the L1D
//                    included; not what is fetched for the L2 alone, by its prefetcher or by PRFM (Arm's event lists)
//   constant 0       REMOTE_ACCESS, REMOTE_ACCESS_RD (one socket), L2D_CACHE_REFILL_PREFETCH (private L2),
//                    L1D_CACHE_ALLOCATE (neither core has it).
//
// L2D_CACHE = requests of the L1s that look it up (demand, walk and prefetch) + upgrades of shared lines + victims and
// whole lines written into it. L3D_CACHE = L3D_CACHE_RD + lines written to the DSU.
#pragma once

#include "models/memory/physical_memory.h"
#include "sim/base/clock.h"
#include "sim/base/event_totals.h"
#include "sim/base/types.h"

#include <tlm_utils/simple_initiator_socket.h>
#include <cstdint>
#include <memory>
#include <systemc>
#include <tlm>

namespace rkperf::mem {

inline constexpr unsigned kLinesPerPageShift = kPageShift - kLineShift;

enum class Replacement : std::uint8_t {
    lru,
    random,
};

struct CacheGeometry {
    unsigned bytes{};
    unsigned ways{};
    unsigned line{64};
    Replacement replacement{Replacement::lru};
};

/// A stride prefetcher: trained by demand misses and first uses of prefetched lines.
struct PrefetchParams {
    unsigned streams{};      ///< streams followed at a time; 0: off
    unsigned confirm{2};     ///< equal strides in a row before it acts
    unsigned l1_ahead{};     ///< strides ahead of the demand, into the L1D (loads)
    unsigned l2_ahead{};     ///< into the L2 (0: not at all)
    unsigned l3_ahead{};     ///< into the L3 (0: not at all)
    unsigned per_trigger{2}; ///< prefetches issued at most per training event and level
    unsigned in_flight{};    ///< prefetches to the L1D or L2 outstanding at most
    unsigned asked_for{16};  ///< fills of the L2 that PRFM asked for outstanding at most
    unsigned max_stride{32}; ///< lines
    bool by_l2_hits{true};   ///< misses of the L1D that hit the L2 train it, too
    /// Streams of loads follow virtual addresses over pages; others, and streams of stores, end with their physical page.
    bool crosses_pages{};
    unsigned l1_ahead_down{}; ///< l1_ahead of descending streams
    /// Streams whose lines are no neighbours are followed in their own way: so many strides ahead into the L1D, into the L2 so
    /// many beyond those within a page (Prefetcher::run_on_in_page), and not into the L3.
    bool apart_differs{};
    unsigned l1_ahead_apart{}, l2_ahead_apart{};
};

/// Write streaming: after this many whole lines stored in a row that all missed, stores stop allocating (0: never).
struct WriteStreamParams {
    unsigned l1_lines{}, l2_lines{}, l3_lines{};
    unsigned buffers{4}; ///< lines on their way out before a store has to wait
    unsigned pause{};    ///< accesses that hit the L1D between two of its lines and end it (0: none do)
};

/// Parameters of one core's private memory side (facts: RK3588 device tree, Arm TRMs 100442 and 100798). The tables of
/// the two cores are in core_params.h.
struct CoreMemoryParams {
    CacheGeometry l1i, l1d, l2;
    unsigned itlb_entries{}, dtlb_entries{}; ///< fully associative
    unsigned l2tlb_entries{}, l2tlb_ways{};
    unsigned walk_cache_entries{}, walk_cache_ways{};
    bool l2_inclusive_of_l1d{}; ///< else the L2 is strictly exclusive: it holds no line that the L1D holds
    bool walks_skip_l1d{};      ///< walks read tables from the L2 on; else they look up the L1D first
    bool
        late_prefetch_is_refill{}; ///< the first access to a prefetched line that is still on its way counts as a refill, fetches too
    // Latencies in core cycles, on top of the pipeline's own load-to-use latency (which covers an L1 hit).
    unsigned l2_hit{};              ///< L1 miss, L2 hit
    unsigned l2tlb_hit{};           ///< L1 TLB miss, L2 TLB hit
    unsigned walk_step{};           ///< fixed cost of one walk step on top of its memory access
    unsigned mshrs{};               ///< L1D misses in flight
    unsigned mshr_release{};        ///< a miss of a load keeps its place so long after its data came
    unsigned mshr_release_memory{}; ///< and so much longer if they came from memory
    bool mshrs_in_order{};          ///< and at least until all older ones have left theirs
    unsigned l2_line_interval{};    ///< quarters of a cycle between two lines delivered by the L2
    unsigned walks_in_flight{};
    unsigned to_dsu{}; ///< L1 miss, L2 miss: all that passes in the core's own clock, to the DSU and back
    unsigned bus_read_beat{16}, bus_write_beat{16};                ///< bytes per BUS_ACCESS beat
    std::uint64_t bus_read_interval_ps{}, bus_write_interval_ps{}; ///< between two lines of this core on the bus
    unsigned l1i_next_lines{}; ///< lines prefetched into the L1I after one that missed
    PrefetchParams prefetch{};
    WriteStreamParams write_stream{};
};

enum class Access : std::uint8_t { load, store, atomic, fetch, walk, prefetch, zero_line, prefetch_l2 };
constexpr bool is_prefetch(Access a) { return a == Access::prefetch || a == Access::prefetch_l2; }
enum class Level : std::uint8_t { l1, l2, l3, peer, dram };

/// What an access cost.
struct Timing {
    std::uint64_t ready{}; ///< core cycle at which the data can be used (loads, fetches) or the line is owned (stores)
    Level level{Level::l1};
    bool tlb_miss{}; ///< L1 TLB missed
};

/// A translation as the L1 TLBs hold it. `stamp` is refreshed on each use (see a64::MemPort).
struct TlbEntry {
    std::uint64_t vpn{~0ull};
    std::uint64_t ppn{};
    std::uint32_t asid{};
    bool valid{}, global{};
    bool user{}, writable{},
        exec{};            ///< EL0 access permitted, writes permitted (AP[2]=0), EL0 execution permitted (UXN=0)
    std::uint8_t level{3}; ///< level of the descriptor (blocks are held as 4 KiB pieces)
    std::uint32_t stamp{};
    std::uint64_t fast_lines{}; ///< lines of the page that may be in the core's fast path. The core's.
};

/// Result of a translation.
struct Translation {
    TlbEntry* entry{}; ///< null: fault, see status
    std::uint8_t
        status{}; ///< fault status code as in ESR_ELx.DFSC (0x04+level translation, 0x08+ access flag, 0x0c+ permission;
                  ///< 0x14+level, 0x10: table or page outside the memory, external abort)
    std::uint32_t cycles{}; ///< cycles beyond an L1 TLB hit
    bool missed{};
};

/// A line of the L1D or L1I tag array. `stamp` is its recency.
struct CacheLine {
    std::uint64_t pline{~0ull}; ///< physical address >> 6, or all ones
    enum class State : std::uint8_t { invalid, shared, exclusive, modified } state{State::invalid};
    bool prefetched{};
    /// The slot of the core's fast path that may hold the line: 0 none, n slot n - 1, kManySlots several. The core's.
    std::uint16_t fast_slot{};
    std::uint32_t stamp{};
    static constexpr std::uint16_t kManySlots = 0xffff;
};
static_assert(sizeof(CacheLine) == 16, "four share a line of the host's");

/// Told when something that the core's fast paths rely on goes away.
class FastPathListener {
  public:
    virtual ~FastPathListener() = default;
    /// The L1D gives up the line, or (`write_only`) the permission to write it.
    virtual void l1d_line_lost(const CacheLine& line, bool write_only) = 0;
    /// The L1 DTLB / ITLB dropped the page; vpn ~0 = all. `fast_lines`: the entry's.
    virtual void dtlb_entry_lost(std::uint64_t vpn, std::uint64_t fast_lines) = 0;
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
    /// The recency clock behind CacheLine::stamp and TlbEntry::stamp of the L1D and the L1 DTLB, shared with the core's
    /// fast path (a64::MemPort::clock). Takes `*clock` over from now on, after setting it to the present value; null:
    /// a clock of our own. An age is a difference modulo 2^32.
    void set_recency_clock(std::uint32_t* clock);

    /// Address space of EL0 translations: root table, ASID. No TLB is flushed.
    void set_ttbr0(PhysAddr table, std::uint16_t asid);
    /// TLB maintenance (ASID ~0: all address spaces; vpn ~0: all pages).
    void tlb_invalidate(std::uint32_t asid, std::uint64_t vpn);

    /// Top-byte-ignore is on, as Linux has it. Attributes are cached as the architecture allows: after a change of a valid
    /// descriptor software must invalidate.
    /// Translates for data or fetch at EL0, counting L1D_TLB/L1I_TLB accesses, refills, walks. `kernel` access ignores
    /// the user permission (copy_to_user and the like) but not writability. now = core cycle of the request.
    Translation translate_data(VirtAddr va, bool write, bool kernel, std::uint64_t now);
    Translation translate_fetch(VirtAddr va, std::uint64_t now);

    /// One access to a physical line (never crosses a line). Counts L1/L2/L3/bus events, moves states, allocates.
    /// On an L1D hit with sufficient state the cost is zero beyond the pipeline's load-to-use. `bytes` from `pa` on are
    /// accessed (write streaming needs to know). `line` receives the L1 line that now holds the data, or null if none
    /// does or if the next access to it has to come here too (prefetch dropped, line just being filled by stores).
    ///
    /// Fast path rules: an L1D line may be put into MemPort for reading if it was returned here, and for writing only if
    /// its state is modified (a store through here makes it so). A line whose fill is in flight (Timing::ready later
    /// than `now`) had better wait until then: accesses to it through here report the time left.
    /// Times may go backwards between calls by what an out-of-order core needs.
    Timing access(PhysAddr pa, Access kind, std::uint64_t now, CacheLine** line = nullptr, unsigned bytes = 8);
    /// What native kernel code leaves in the caches: accesses for whom only lines, counts and times matter. A load from or
    /// a store to a line; fetches of `lines` lines on end, each when the one before is there, and when the last one is.
    Timing touch_data(PhysAddr line, bool write, std::uint64_t now);
    std::uint64_t touch_code(PhysAddr pa, std::uint64_t lines, std::uint64_t now);

    /// Waits for nothing, but lets gathered stores of a write stream go out (barriers). Returns when they have left.
    std::uint64_t drain(std::uint64_t now);

    /// Cache maintenance by physical line, to point of coherency / unification; `invalidate` drops the line everywhere.
    Timing clean_line(PhysAddr pa, bool invalidate, std::uint64_t now);
    void invalidate_icache();
    void invalidate_icache_line(PhysAddr pa);

    /// For tests and the trace.
    const CacheLine* find_l1d(PhysAddr pa) const;
    const CacheLine* find_l2(PhysAddr pa) const;
    bool l2_holds(PhysAddr pa) const { return find_l2(pa) != nullptr; }

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rkperf::mem

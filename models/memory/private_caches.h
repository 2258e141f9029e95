// SPDX-License-Identifier: Apache-2.0
// L1I, L1D and L2 of one core: lookups, MESI states, replacement, misses in flight, write streaming, prefetching, and
// the core's end of the protocol with the DSU. Times are core cycles. What is counted: hierarchy.h.
//
// The states of the two levels: a line that the core owns alone is exclusive or modified in each level that holds it;
// dirty data may be in either, the L1D's being newer. With an inclusive L2, a line in the L1D is also in the L2. An exclusive
// one takes the L1D's victims, what the L1I and walks fetch, whole lines of write streams, and what PRFM asks it for; a line
// that the L1D takes leaves it.
#pragma once

#include "models/memory/dsu_extension.h"
#include "models/memory/fills.h"
#include "models/memory/hierarchy.h"
#include "models/memory/prefetcher.h"
#include "models/memory/slot_calendar.h"
#include "models/memory/snoop.h"
#include "models/memory/tag_array.h"
#include "models/memory/write_stream.h"

#include <cstdint>
#include <vector>

namespace rkperf::mem {

/// Where prefetchers learn of pages they are not told.
class PageLookup {
  public:
    virtual ~PageLookup() = default;
    /// The physical page behind a virtual one, or ~0 if there is none. Costs and counts nothing.
    virtual std::uint64_t page_behind(std::uint64_t vpn) = 0;
};

/// The way out of the core.
class DsuPort {
  public:
    virtual ~DsuPort() = default;
    /// Carries out the transaction in `x` (kind and dirty set; the answer is filled in) for a line, issued at core cycle
    /// `now`; returns the cycles until its answer.
    virtual std::uint64_t transact(DsuExtension& x, std::uint64_t pline, std::uint64_t now) = 0;
};

class PrivateCaches final : public SnoopPort {
  public:
    PrivateCaches(const CoreMemoryParams& params, const PhysicalMemory& memory, EventTotals& totals, DsuPort& dsu);

    Timing access(PhysAddr pa, Access kind, std::uint64_t now, CacheLine** line, unsigned bytes);
    std::uint64_t touch_code(std::uint64_t pline, std::uint64_t lines, std::uint64_t now);
    Timing touch_data(std::uint64_t pline, bool write, std::uint64_t now);
    std::uint64_t drain(std::uint64_t now);
    Timing clean_line(std::uint64_t pline, bool invalidate, std::uint64_t now);
    void invalidate_icache();
    void invalidate_icache_line(std::uint64_t pline);

    void set_listener(FastPathListener* l) { listener_ = l; }
    void set_page_lookup(PageLookup* l) { lookup_ = l; }
    /// The accesses that follow are to this page; vpn ~0: translations have changed.
    void set_page(std::uint64_t vpn, std::uint64_t ppn, std::uint64_t now = 0) {
        vpn_ = vpn;
        ppn_ = ppn;
        if (vpn == ~0ull) {
            other_vpn_ = ~0ull;
        } else if (colours_.changes(ppn, vpn)) {
            recolour(ppn, vpn, now);
        }
    }
    /// Code of this page is fetched by this virtual page.
    void set_code_page(std::uint64_t vpn, std::uint64_t ppn) {
        if (code_colours_.changes(ppn, vpn)) recolour_code(ppn, vpn);
    }
    void set_recency_clock(std::uint32_t* clock) { clock_ = clock; }

    SnoopResult snoop(std::uint64_t pline, SnoopKind kind, bool want_data) override;

    const TagArray& l1d() const { return l1d_; }
    const TagArray& l1i() const { return l1i_; }
    const TagArray& l2() const { return l2_; }

  private:
    using State = CacheLine::State;
    static constexpr unsigned kTouchedBytes = 8;
    enum class For : std::uint8_t { demand, prefetch };
    enum class Into : std::uint8_t { l1d, other };
    struct Fill {
        std::uint64_t ready{};
        Level level{};
        State state{}; ///< for the L1: shared or exclusive; modified only if the L2 gave the line up
        bool in_l2{};  ///< the L2 had it, or had asked for it
    };

    // Requests of the core
    Timing load(std::uint64_t pline, std::uint64_t now, CacheLine** line);
    Timing store(std::uint64_t pline, unsigned offset, unsigned bytes, std::uint64_t now, CacheLine** line);
    Timing zero_line(std::uint64_t pline, std::uint64_t now, CacheLine** line);
    Timing fetch(std::uint64_t pline, std::uint64_t now, CacheLine** line);
    Timing walk_read(std::uint64_t pline, std::uint64_t now);
    // Prefetch instructions are done when they have their place among the misses.
    Timing software_prefetch(std::uint64_t pline, std::uint64_t now, CacheLine** line);
    std::uint64_t software_prefetch_l2(std::uint64_t pline, std::uint64_t now);

    // L1D
    /// needs_data: not of a store of the whole line.
    Timing l1d_hit(CacheLine& l, std::uint64_t now, bool is_load, bool needs_data = true);
    void take_place(Fills::Slot& slot, std::uint64_t pline, const Fill& f);
    Timing store_miss(std::uint64_t pline, std::uint64_t now, CacheLine** line);
    Timing upgrade(CacheLine& l, std::uint64_t now);
    CacheLine& allocate_l1d(std::uint64_t pline, State state, std::uint64_t now);
    void evict_l1d(CacheLine& l, std::uint64_t now);
    void invalidate_l1d(CacheLine& l);
    void recolour(std::uint64_t ppn, std::uint64_t vpn, std::uint64_t now);
    void recolour_code(std::uint64_t ppn, std::uint64_t vpn);
    void count_refill(EventNumber direction, Level level);

    // Write streaming
    Timing streamed_store(std::uint64_t pline, unsigned offset, unsigned bytes, std::uint64_t now, CacheLine** line);
    std::uint64_t write_whole_line(std::uint64_t pline, std::uint64_t now);
    void whole_line_stored(std::uint64_t now);
    void break_stream(std::uint64_t now);
    void account_streaming(std::uint64_t now);

    // L2 and beyond
    Fill from_l2(std::uint64_t pline, Into who, bool unique, For why, std::uint64_t start);
    Fill from_dsu(std::uint64_t pline, DsuKind kind, For why, std::uint64_t start);
    std::uint64_t own(std::uint64_t pline, DsuKind kind, std::uint64_t start);
    /// When a request that reaches the L2 at `start` is served.
    std::uint64_t through_l2_port(std::uint64_t start) { return (l2_port_.reserve(4 * start) + 3) / 4; }
    void count_l2_write();
    CacheLine& l2_victim(std::uint64_t pline) { return l2_.victim(pline, inner_clock_); }
    CacheLine& allocate_l2(CacheLine& place, std::uint64_t pline, State state, std::uint64_t now);
    void evict_l2(CacheLine& l, std::uint64_t now);
    std::uint64_t write_out(std::uint64_t pline, DsuKind kind, std::uint64_t now);

    // Prefetching
    void train(std::uint64_t pline, bool is_load, std::uint64_t now, bool instruction = false);
    std::uint64_t physical_line(std::uint64_t line);
    bool prefetchable(std::uint64_t pline) const;
    bool prefetch_l1d(std::uint64_t pline, std::uint64_t now);
    bool prefetch_l2(std::uint64_t pline, std::uint64_t now);
    void prefetch_l3(std::uint64_t pline, std::uint64_t now);
    void prefetch_l1i_after(std::uint64_t pline, std::uint64_t now);
    CacheLine& allocate_l1i(std::uint64_t pline);

    void count(EventNumber e, std::uint64_t n = 1) { totals_.add(e, n); }
    void count_bus_read();
    void count_bus_write();
    std::uint32_t tick() { return ++*clock_; }

    CoreMemoryParams p_;
    const PhysicalMemory& memory_;
    EventTotals& totals_;
    DsuPort& dsu_;
    FastPathListener* listener_{};
    std::uint32_t* clock_{};
    std::uint32_t inner_clock_{};                 ///< recency of L1I and L2
    std::array<CacheLine*, 1024> touched_{};      ///< of the L1I, by line: where touch_code found it last
    std::array<CacheLine*, 1024> touched_data_{}; ///< the same of the L1D and touch_data
    PageColours colours_;                         ///< of the L1D
    PageColours code_colours_;                    ///< of the L1I
    TagArray l1i_, l1d_, l2_;
    std::vector<CacheLine> moved_; ///< of recolour()
    Fills mshrs_;                  ///< demand misses of the L1D
    std::uint64_t oldest_free_{};  ///< when the places of all misses of loads so far are free, if in order
    Fills prefetches_;             ///< prefetches on their way to L1D or L2
    Fills asked_for_;              ///< lines on their way to the L2 for PRFM
    Fills fetches_;                ///< L1I misses
    Fills stream_out_;             ///< whole lines on their way out of a write stream
    SlotCalendar l2_port_;
    Prefetcher prefetcher_;
    PageLookup* lookup_{};
    std::uint64_t vpn_{~0ull}, ppn_{~0ull};             ///< page of the present access
    std::uint64_t other_vpn_{~0ull}, other_ppn_{~0ull}; ///< the last one looked up
    bool trained_virtual_{};
    std::uint64_t trained_page_{}; ///< the physical page that the stream ends with; ~0: with none
    WriteStream stream_;
    std::uint64_t streaming_since_{}; ///< cycle up to which write-streaming cycles are counted
    DsuExtension x_;
};

} // namespace rkperf::mem

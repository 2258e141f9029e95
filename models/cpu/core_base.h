// SPDX-License-Identifier: Apache-2.0
// Everything of a core but its pipeline: time, deadlines, interrupts, event totals, EL1 work, and the instruction
// semantics' way to memory. core_impl.h adds the pipeline and the execution loop.
#pragma once

#include "models/cpu/branch_predictor.h"
#include "models/cpu/code_cache.h"
#include "models/cpu/core.h"
#include "models/cpu/core_hold.h"
#include "models/cpu/core_quirks.h"
#include "models/cpu/core_tables.h"
#include "models/cpu/execution_mode.h"
#include "models/cpu/fast_port.h"
#include "models/cpu/inner_shareable.h"
#include "models/cpu/kernel_charge.h"
#include "models/cpu/replay.h"
#include "models/cpu/stall_counts.h"
#include "models/memory/page_walk.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

namespace rkperf::cpu {

/// Bits of a64::MemPort::slow.
namespace slow {
inline constexpr std::uint32_t access = 1, tlb_miss = 2, cache_miss = 4, exclusive = 16;
/// Across a line; across a page also where both halves hit.
inline constexpr std::uint32_t split = a64::MemPort::kCrossesPage;
/// Of a hit, too: its address makes the core take it in more pieces than its size (Pipe::more_beats).
inline constexpr std::uint32_t beats = 32;
/// Above these, of stores: the cycles of a translation that missed. Their lines may take longer.
inline constexpr unsigned kTranslationShift = 8;
constexpr std::uint32_t translation(std::uint32_t what) { return what >> kTranslationShift; }
/// The longer one, if an access has two.
constexpr std::uint32_t with_translation(std::uint32_t what, std::uint32_t cycles) {
    constexpr std::uint32_t kMost = ~0u >> kTranslationShift;
    const std::uint32_t longer = std::min(std::max(translation(what), cycles), kMost);
    return (what & ((1u << kTranslationShift) - 1)) | longer << kTranslationShift;
}
} // namespace slow

class CoreBase : public Core, public a64::CoreHooks, public mem::FastPathListener, public InnerShareable::Member {
  public:
    CoreBase(sc_core::sc_module_name name, const CoreConfig& config, const CoreQuirks& quirks, const CoreTables& tables,
             mem::PhysicalMemory& memory);
    ~CoreBase() override;

    // Core
    CpuId id() const override { return config_.cpu; }
    std::uint64_t midr() const override { return tables_.midr; }
    std::uint64_t mpidr() const override;
    mem::CoreMemory& memory() override { return memory_; }
    void set_software(Software& software) override { software_ = &software; }
    void set_overflow_monitor(OverflowMonitor& pmu) override { monitor_ = &pmu; }
    void add_deadline_source(DeadlineSource& source) override { sources_.push_back({&source, {}}); }
    void set_debug_monitor(DebugMonitor& debug) override {
        debug_ = &debug;
        hold_ = dynamic_cast<CoreHold*>(&debug);
    }
    DebugMonitor* debug_monitor() override { return debug_; }
    void debug_changed() override;
    Cycles cycle() const override { return Cycles(cycle_); }
    const Clock& clock() const override { return clock_; }
    void set_frequency(std::uint64_t hertz) override;
    void set_quantum(Picoseconds quantum) override;
    void sync() override;
    void set_address_space(PhysAddr ttbr0, std::uint16_t asid) override;
    void write_contextidr(std::uint32_t value) override;
    void charge(const KernelWork& work) override;
    void kernel_access(PhysAddr pa, std::uint64_t bytes, bool write) override;
    std::uint64_t mrs(SysReg reg) override;
    void msr(SysReg reg, std::uint64_t value) override;
    bool irq_masked() const override { return irq_masked_; }
    void set_irq_mask(bool masked) override;
    void set_priority_mask(bool masked) override;
    void mask_nmi(bool masked) override;
    bool irq_signalled() const override { return irq_due(); }
    void wait_for_interrupt() override;
    void tlb_invalidate(std::uint32_t asid, std::uint64_t vpn) override;
    void code_changed(PhysAddr page) override;
    EventTotals& totals() override;
    const CoreStats& stats() const override { return stats_; }
    std::uint64_t present_pc() const override { return state_ ? state_->pc : kernel_pc_; }

    // EventTotalsView
    std::uint64_t total(EventNumber event, ExceptionLevel el) const override;
    bool knows(EventNumber event) const override { return event < pmu_event::kCount && known_[event]; }
    Picoseconds now() const override { return clock_.time_of(Cycles(cycle_)); }
    void rearm() override;

    // LevelSink: the IRQ input
    void set_level(bool level, Picoseconds when) override;

    // a64::CoreHooks
    std::uint8_t* access(std::uint64_t va, unsigned size, a64::AccessKind kind) override;
    SysRegOutcome read_sysreg(SysReg reg, std::uint64_t& value) override;
    SysRegOutcome write_sysreg(SysReg reg, std::uint64_t value) override;
    void set_exclusive(std::uint64_t va, unsigned size) override;
    bool check_exclusive(std::uint64_t va, unsigned size) override;
    void clear_exclusive() override { exclusive_.valid = false; }
    bool cache_op(SysReg op, std::uint64_t va) override;
    void barrier(unsigned option) override;

    // mem::FastPathListener
    void l1d_line_lost(const mem::CacheLine& line, bool write_only) override;
    void dtlb_entry_lost(std::uint64_t vpn, std::uint64_t fast_lines) override;
    void itlb_entry_lost(std::uint64_t vpn) override;
    void l1i_line_lost(std::uint64_t pline) override {
        ++code_losses_;
        code_.l1i_line_lost(pline);
    }

    // InnerShareable::Member
    void icache_invalidated(PhysAddr pa) override;

  protected:
    /// What follows an instruction boundary at EL0.
    enum class Next : std::uint8_t {
        resume,   ///< go on where it was
        relookup, ///< go on at pc, but code or its translation may have changed
        irq,
        breakpoint,
        step,
    };

    void enter_user(a64::CpuState& state);
    UserExit leave_user(Next why);
    UserExit leave_user_stopped();
    /// The work of a boundary that cannot wait: wraps, deadlines, quantum, interrupts, debug. Sets cycle limits anew.
    /// `op`: what was just executed, or null.
    Next user_boundary(const DecodedOp* op);
    /// Finds or decodes the block at state.pc; null after a fetch fault. Updates the present fetch page; fetch_ready_ is
    /// when the translation asked for at `now` is there.
    Block* find_block(std::uint64_t now);
    /// Leaves timing for fast-forward or comes back (ExecutionMode). At EL0.
    void switch_mode(bool functional);
    bool mode_changed() const { return config_.mode && config_.mode->timed() == functional_; }
    /// Reports what was executed without timing, up to cycle_.
    void account() {
        if (!functional_ || !config_.mode) return;
        config_.mode->executed(cycle_ - accounted_);
        accounted_ = cycle_;
    }
    unsigned dropped_blocks() const { return code_.drops(); }
    void set_handlers(CodeCache::HandlerOf handler_of, Handler end) { code_.set_handlers(handler_of, end); }
    /// In fast-forward: the block at `pc` on another page, which becomes the present one, if find_block() would have nothing
    /// else to do; else null.
    Block* block_on_other_page(std::uint64_t pc) {
        if ((pc & 3) || pc >> 56 || debug_active_ || page_armed_) return nullptr;
        const FetchPage& f = fetch_pages_[(pc >> kPageShift) % kFetchPages];
        if (f.vpn != pc >> kPageShift) return nullptr;
        Block* const b = f.page->at[(pc & (kPageSize - 1)) / 4];
        if (!b) return nullptr;
        vpn_ = f.vpn;
        page_ = f.page;
        return b;
    }
    /// Brings the block's line into the L1I; returns the cycle at which it is there.
    std::uint64_t fetch_line(Block& block, std::uint64_t now);
    /// Budget is used up, or a block may hold a breakpoint. True if one stops it before its next operation, which has not
    /// been looked at yet (`boundary`: it has).
    bool budget_exhausted(const Block& block, unsigned from, bool boundary);

    /// Adds the static lanes of ops [from, to) of a block that was not executed as a whole.
    void count_ops(const Block& block, unsigned from, unsigned to);
    /// Operation `at` has stopped and does not count, but for its fetch, which has been looked up.
    void count_stopped(const Block& block, unsigned at) {
        fast_.fetches += block.op_lanes[at] >> index_of(Lane::fetch) & 1;
    }
    void count_block(Block& block) {
        if (__builtin_expect(block.executions++ == 0, 0)) {
            block.counted_before = counted_;
            counted_ = &block;
        }
    }
    /// Adds to events at once, for lanes that the fast path does not carry.
    void note(Lane lane, std::uint64_t n = 1) {
        for (EventNumber e : lane_map_.events(lane)) totals_.add(e, n);
        if (totals_.dirty) deadline_ = 0;
    }
    /// Of `branch` at `pc`, behind which `n` operations were issued in vain. More than once only of directions, within a
    /// page, and if nobody watches.
    void note_mispredict(Mispredict kind, std::uint64_t n, const DecodedOp& branch, std::uint64_t pc, bool taken,
                         std::uint32_t times = 1);
    bool watches_mispredicts() const { return wrong_paths_armed_; }
    /// Kernel code in so many lines of text was charged: what it leaves in the predictor. Returns how many were mispredicted.
    virtual unsigned kernel_branches(BranchPredictor::Passage& p) = 0;
    /// Moves everything counted into the totals of the present level, but for what kernel code has, which is moved when
    /// somebody asks for it.
    void flush() const;
    void flush_executed(EventTotals::Row& row) const;
    void flush_kernel() const;
    void stop_soon() { deadline_ = 0; }

    struct FastCounts {
        LaneVector lanes{};
        std::uint64_t fetches{}, fetches_slow{}, translations_slow{};
        std::uint64_t reads{};   ///< in fast-forward, which looks at no access
        std::uint64_t hits[2]{}; ///< by DecodedOp::is_store
        std::uint64_t unaligned[2]{};
        std::uint64_t taken{};
        bool any() const {
            return lanes.any() || (fetches | fetches_slow | translations_slow | hits[0] | hits[1] | taken);
        }
    };

    /// A page that fast-forward reads and writes without asking.
    struct alignas(32) FunctionalPage {
        std::uint64_t rtag{~0ull}, wtag{~0ull}; ///< virtual address of the page, if it may be read or written
        std::uint8_t* host{};
        std::uint64_t to_host{}; ///< what to add to a virtual address
    };
    static constexpr unsigned kFunctionalPages = 4096;

    // The hot fields, in the order of use.
    std::uint64_t deadline_{}; ///< look around at the first boundary at or after this cycle
    std::int64_t budget_{};    ///< instructions that cannot wrap an armed counter
    mutable FastCounts fast_;
    mutable Block* counted_{};            ///< blocks with executions, the last one first
    mutable ReplayNode* counted_nodes_{}; ///< the same of blocks that were replayed
    CodePage* page_{};                    ///< page being executed, valid if vpn_ matches
    std::uint64_t vpn_{~0ull};
    std::uint64_t mem_issue_{}; ///< cycle at which the present access asks
    std::uint64_t mem_ready_{}; ///< when its data are there (slow accesses)
    std::uint64_t cycle_{};     ///< boundary of the last instruction
    std::uint64_t horizon_{};   ///< at EL0: no access of this core will ask for an earlier cycle
    a64::CpuState* state_{};    ///< at EL0
    std::uint64_t fetch_ready_{};
    unsigned page_changes_{};
    std::uint64_t barrier_until_{};
    bool relookup_{};
    bool stood_still_{};                           ///< nothing is in flight any more
    bool functional_{};                            ///< fast-forward: not timed
    std::uint64_t accounted_{};                    ///< cycle_ up to which account() has reported
    std::vector<FunctionalPage> functional_pages_; ///< kFunctionalPages of them in fast-forward
    std::vector<std::uint32_t> functional_used_;   ///< those of them that were filled

    const CoreConfig config_;
    const CoreQuirks quirks_;
    const CoreTables& tables_;
    mutable StallCounts stalls_;

  private:
    struct Lump;
    static constexpr std::size_t kArmedKernelLanes = 8;
    struct Armed {
        EventNumber event{};
        std::uint8_t el_mask{};
        bool cycle{};
        int stall{-1};               ///< stall_index of its lane, if a stall
        unsigned weight{};           ///< fast_weight
        std::uint64_t target{};      ///< sum of totals over el_mask at which it wraps
        std::span<const Lane> lanes; ///< that feed it
        /// Of `lanes`, those of kKernelLanes, if it counts at EL1; and their part of kernel_lanes_ with all passes.
        std::span<const std::uint8_t> kernel_lanes;
        mutable std::array<std::uint64_t, kArmedKernelLanes> pending{};
        bool one_by_one{}; ///< no charge may pass uncounted
    };
    /// What does not change of Armed, of one event.
    struct Feed {
        std::vector<Lane> lanes;
        std::vector<std::uint8_t> kernel_lanes; ///< Armed::kernel_lanes
        unsigned weight{};
        int stall{-1};
        bool cycle{}, wrong_path{}, one_by_one{};
    };
    const Feed& feed_of(EventNumber e);
    struct FetchPage {
        std::uint64_t vpn{~0ull};
        CodePage* page{};
        mem::TlbEntry* entry{};
    };
    struct Exclusive {
        bool valid{};
        unsigned size{};
        std::uint64_t va{}, pline{};
        std::uint8_t value[16]{};
    };
    /// Something the fast port relied on.
    struct Loss {
        enum What : std::uint8_t { line, line_writes, page, everything } what;
        std::uint64_t number;       ///< physical line or virtual page
        std::uint64_t where{~0ull}; ///< the line's fast_slot, or the page's fast_lines
    };
    static constexpr unsigned kFetchPages = 64;

    void main();
    /// A time that is asked for often, and the cycle it is due at (~0: never). clock_changed() makes it forget.
    struct Moment {
        Picoseconds at{kNever};
        std::uint64_t cycle{~0ull};
    };
    struct Source {
        DeadlineSource* source{};
        mutable Moment next;
    };
    std::uint64_t cycle_of(Picoseconds t, Moment& known) const {
        if (t != known.at) known = {t, clock_.cycle_at(t).v};
        return known.cycle;
    }
    std::uint64_t cycle_of(const Source& s) const { return cycle_of(s.source->next_deadline(), s.next); }
    bool due(const Source& s) const { return cycle_of(s) <= cycle_; }
    /// A program's access took a line, or the right to write it, from another core. What two cores do by turns must not wait for
    /// quanta to end: for two quanta, in which others that were ahead come near, the core runs ahead by no more than it takes a
    /// line to go from core to core.
    void share_line(std::uint64_t cycle);
    static constexpr Picoseconds kCloseQuantum{50'000};
    bool quantum_due() const { return cycle_of(quantum_end_, quantum_moment_) <= cycle_; }
    bool irq_due() const { return irq_level_ && cycle_of(irq_when_, irq_moment_) <= cycle_; }
    void clock_changed();
    /// Timers, wraps, and what they cause; then the limits of further execution.
    void settle();
    void read_armed();
    bool armed_hit() const;
    std::uint64_t sum(const Armed& a) const;
    void set_limits();
    /// The fetch page or what is armed has changed.
    void look_at_page();
    void yield();
    bool held() const { return hold_ && hold_->held(); }
    /// Until it may go on: the present cycle is then the one that begins.
    void stand_still();
    Picoseconds stand_still_idle();
    /// Boundary at EL1: settle, and take an interrupt or yield if unmasked.
    void kernel_boundary();
    void take_irq_at_el1();
    void run_lump(const Lump& lump);
    bool boundary_due() const { return totals_.dirty || rearm_ || deadline_ <= cycle_; }
    void walk_code(std::uint64_t instructions) {
        if (!kernel_function_bytes_) return;
        const std::uint64_t offset = kernel_pc_ - kernel_function_ + 4 * instructions;
        kernel_pc_ = kernel_function_ + (offset < kernel_function_bytes_ ? offset : offset % kernel_function_bytes_);
    }
    /// Nothing happens in the next `cycles` at EL1, in which `counts` are counted (of spend() and charge()), and nobody looks:
    /// events get their counts when somebody does (kernel_lanes_).
    bool passes_in_one_piece(std::uint64_t cycles, const KernelLanes& counts) const {
        return !totals_.dirty && !rearm_ && deadline_ > cycle_ + cycles &&
               (__builtin_expect(armed_.empty(), 1) || passes_armed(counts));
    }
    /// None of the armed counters wraps by `counts`, which they take note of.
    bool passes_armed(const KernelLanes& counts) const;
    /// kernel_lanes_ holds no more than what is left of whole ones.
    void nothing_pending(const Armed& a) const {
        for (std::size_t i = 0; i < a.kernel_lanes.size(); ++i) a.pending[i] = kernel_lanes_[a.kernel_lanes[i]];
    }
    /// The charge's counts are multiplied when somebody looks, as those of a block are.
    void pass(KernelCharge& c, std::uint64_t cycles) {
        ++c.passes;
        if (!c.listed) {
            c.listed = true;
            c.passed_before = passed_;
            passed_ = &c;
        }
        kernel_counts_ = true;
        cycle_ += cycles;
        walk_code(c.instructions);
    }
    unsigned exception_entry() const {
        return quirks_.exception_entry ? quirks_.exception_entry : tables_.costs.exception_entry;
    }
    void spend(std::uint64_t instructions, std::uint64_t cycles);
    KernelCharge& charge_for(const KernelWork& work);
    void make_charge(const KernelWork& work, KernelCharge& c);
    void charge_touching(const KernelWork& work, KernelCharge& c, std::uint64_t cycles);
    void find_code(const KernelWork& work, KernelCharge& c) const;
    void touch_kernel_code(const KernelCharge& c, KernelFootprint& f);
    void touch_kernel_data(const KernelWork& work, unsigned lines, bool lines_gone, KernelFootprint& f);
    KernelStalls stalls_of(const KernelFootprint& f) const;
    void add_footprint(const KernelFootprint& f, const KernelStalls& stalls, const KernelLanes& counts,
                       KernelLanes& to) const;
    void add_passes(KernelCharge& c) const;
    void run_charge(KernelCharge& c, std::uint64_t cycles, const KernelFootprint* f);
    /// What a wrong direction adds to the totals, as the code that has been decoded tells. Worked out once.
    struct WrongPath {
        const CodePage* page{}; ///< of the branch; null: empty
        std::uint64_t pc{};
        std::uint64_t n{}; ///< operations issued in vain
        bool taken{};
        unsigned changes{}; ///< of the code then
        unsigned count{};
        std::uint64_t passes{};    ///< since the core last counted
        WrongPath* noted_before{}; ///< the next one with passes
        struct Add {
            EventNumber event{};
            std::uint32_t n{};
        };
        std::array<Add, 24> adds{};
    };
    static constexpr unsigned kWrongPaths = 128;
    void learn_wrong_path(WrongPath& w, const DecodedOp& branch) const;
    void flush_wrong_paths() const;
    LaneVector on_wrong_path(std::uint64_t pc, std::uint64_t n) const;
    SysRegOutcome transact(SysReg reg, std::uint64_t& value, bool write, ExceptionLevel el);
    unsigned sysreg_cost(SysReg reg, bool write) const;
    bool fault(std::uint64_t va, std::uint8_t status, bool write, bool maintenance = false);
    std::uint8_t* access_line(PhysAddr pa, unsigned bytes, mem::Access kind, std::uint64_t now, mem::CacheLine*& line);
    void count_simple_hit(bool write);
    std::uint8_t* functional_access(std::uint64_t va, unsigned size, a64::AccessKind kind);
    bool functional_translate(std::uint64_t va, mem::Leaf& leaf, PhysAddr& pa, std::uint8_t& status) const;
    bool functional_fetch_page(std::uint64_t pc);
    Block* block_of_page(const FetchPage& f, std::uint64_t pc);
    /// Translations have changed.
    void forget_functional_pages();
    bool stops_at_watchpoint(std::uint64_t va, unsigned size, a64::AccessKind kind);
    void drop_code(std::uint64_t ppn);
    const std::uint8_t* exclusive_host(std::uint64_t va);
    void detach();
    /// Drops it from the fast port, or remembers it for when the port is attached again.
    void lose(const Loss& l);

    mutable EventTotals totals_; ///< mutable: reading brings them up to date
    bool simple_{};              ///< the simple configuration, or fast-forward
    PhysAddr root_{};            ///< translation table of EL0
    EventTotals unseen_totals_;  ///< what the memory side counts in the simple configuration: walks, misses
    mem::PhysicalMemory& physical_;
    mem::CoreMemory memory_;
    Clock clock_;
    LaneMap lane_map_;
    std::array<bool, pmu_event::kCount> known_{};
    CodeCache code_;
    FastPort port_;
    std::array<WrongPath, kWrongPaths> wrong_paths_{};
    mutable WrongPath* noted_{}; ///< those with passes, the last one first
    bool wrong_paths_armed_{};   ///< an event that they add to is armed
    std::array<FetchPage, kFetchPages> fetch_pages_{};
    std::vector<std::uint64_t> dropped_code_; ///< pages whose blocks go at the next boundary
    Exclusive exclusive_;
    std::uint64_t last_slow_line_{~0ull}; ///< virtual line of the last slow access and where it is
    const std::uint8_t* last_slow_host_{};
    mem::CacheLine simple_line_; ///< stands for every line in the simple configuration and in fast-forward
    mem::TlbEntry simple_page_;  ///< the same of pages in fast-forward

    Software* software_{};
    OverflowMonitor* monitor_{};
    std::vector<Source> sources_;
    DebugMonitor* debug_{};
    CoreHold* hold_{}; ///< the same, if it can hold the core
    bool debug_active_{}, watching_{};
    /// The present fetch page may hold an instruction to stop at: budget_ is 0 so that every block is looked at, and
    /// reserve_ is the true budget.
    bool page_armed_{};
    std::int64_t reserve_{};
    std::vector<Armed> armed_;
    std::array<std::unique_ptr<Feed>, pmu_event::kCount> feeds_; ///< of events that were armed before
    bool rearm_{true};

    Picoseconds quantum_{};
    Picoseconds quantum_end_{};
    Picoseconds shares_until_{}; ///< until then it keeps close to the others (share_line)
    bool irq_level_{};
    Picoseconds irq_when_{};
    mutable Moment quantum_moment_, irq_moment_; ///< of quantum_end_ and irq_when_
    bool irq_masked_{true};                      ///< the core does not yield
    bool daif_i_{true}; ///< what is signalled is not taken; the same unless software masks by priority
    bool waiting_{};
    sc_core::sc_event irq_event_;

    mutable std::uint64_t flushed_cycle_{};
    mutable bool user_counts_{};         ///< something may have been counted at EL0 since the last flush
    mutable KernelLanes kernel_lanes_{}; ///< counted at EL1 since the last flush, and what is left of a whole one
    mutable bool kernel_counts_{};       ///< any
    a64::CpuState* attached_{};
    std::uint32_t attached_clock_{};
    std::vector<Loss> losses_; ///< since the port was detached
    bool port_stale_{};        ///< there were more than it remembers
    std::uint32_t recency_{};
    std::uint64_t kernel_pc_{};
    std::uint64_t kernel_function_{}, kernel_function_bytes_{}; ///< of the work being charged
    std::uint64_t kernel_cycles_{};                             ///< what is left of a cycle, in 1/kKernelRate
    std::vector<KernelCharge> kernel_charges_;                  ///< remembered ones, by hash; made at the first
    mutable KernelCharge* passed_{}; ///< charges whose counts are still to be added, the last one first
    /// Things lost so far that kernel code may have left in L1I and instruction TLB, in the L1D, and in the data TLB.
    std::uint64_t code_losses_{1}, data_losses_{1}, page_losses_{1};
    bool interrupted_{};         ///< the last exit from EL0 was for an interrupt
    std::uint64_t bus_cycles_{}; ///< what the target of the last transaction added
    tlm::tlm_generic_payload sysreg_payload_;
    SysRegExtension sysreg_extension_;
    CoreStats stats_;
};

} // namespace rkperf::cpu

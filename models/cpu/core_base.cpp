// SPDX-License-Identifier: Apache-2.0
// Wiring, totals, time, deadlines and interrupts of a core.
#include "models/cpu/core_base.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace rkperf::cpu {
namespace {

using a64::CpuState;
using a64::Stop;
namespace ev = pmu_event;

/// Lane sums are 16 bits wide and grow by at most one per instruction between two flushes.
constexpr std::int64_t kMaxBudget = 60000;
constexpr int kStackBytes = 1 << 20;
/// Losses to remember while the fast port is detached; beyond, the port is simply not trusted.
constexpr std::size_t kMaxLosses = 256;

constexpr unsigned bit(ExceptionLevel el) { return 1u << static_cast<unsigned>(el); }

/// Event 0x0C feeds nothing where the core does not have it.
LaneMap lane_map(EventList list, const CoreQuirks& quirks) {
    std::vector<LaneEvent> lanes;
    const bool there = !quirks.no_pc_write_retired || std::find(list.implemented.begin(), list.implemented.end(),
                                                                ev::PC_WRITE_RETIRED) != list.implemented.end();
    std::copy_if(list.lanes.begin(), list.lanes.end(), std::back_inserter(lanes),
                 [&](const LaneEvent& row) { return row.event != ev::PC_WRITE_RETIRED || there; });
    list.lanes = lanes;
    return LaneMap(list);
}

/// The lane of what is executed, and that of what is issued in vain.
struct WrongKind {
    Lane right, wrong;
};
constexpr WrongKind kWrongKinds[] = {
    {Lane::load, Lane::wrong_load},
    {Lane::store, Lane::wrong_store},
    {Lane::data_processing, Lane::wrong_data_processing},
    {Lane::simd, Lane::wrong_simd},
    {Lane::fp, Lane::wrong_fp},
    {Lane::crypto, Lane::wrong_crypto},
    {Lane::branch_immed, Lane::wrong_branch_immed},
    {Lane::branch_indirect, Lane::wrong_branch_indirect},
    {Lane::branch_return, Lane::wrong_branch_return},
};
bool is_of_wrong_path(Lane l) {
    return l == Lane::cond_mispredict || l == Lane::wrong_path ||
           std::any_of(std::begin(kWrongKinds), std::end(kWrongKinds),
                       [l](const WrongKind& k) { return k.wrong == l; });
}

} // namespace

CoreBase::CoreBase(sc_core::sc_module_name name, const CoreConfig& config, const CoreQuirks& quirks,
                   const CoreTables& tables, mem::PhysicalMemory& memory)
    : Core(name),
      config_(config),
      quirks_(quirks),
      tables_(tables),
      physical_(memory),
      memory_("memory", config.cpu, tables.memory, memory, config.simple ? unseen_totals_ : totals_),
      clock_(config.hertz),
      lane_map_(lane_map(tables.events, quirks)),
      code_(memory, tables.timing_of),
      quantum_(std::max(config.quantum, Picoseconds(1))),
      quantum_end_(quantum_) {
    for (EventNumber e : tables.events.implemented) known_[e] = true;
    functional_ = config.mode && !config.mode->timed();
    simple_ = config.simple || functional_;
    if (functional_) functional_pages_.resize(kFunctionalPages);
    if (!quirks.no_pc_write_retired) known_[ev::PC_WRITE_RETIRED] = true;
    stalls_.deadline = &deadline_;
    simple_line_.state = mem::CacheLine::State::modified;
    totals_.set_level(ExceptionLevel::el1);
    sysreg_extension_.cpu = config.cpu;
    sysreg_payload_.set_extension(&sysreg_extension_);
    sysreg_payload_.set_data_length(8);
    sysreg_payload_.set_streaming_width(8);
    memory_.set_listener(this);
    memory_.set_clock(&clock_);
    memory_.set_recency_clock(&recency_);
    if (config.domain) config.domain->join(*this);
    sc_core::sc_spawn_options options;
    options.set_stack_size(kStackBytes);
    sc_core::sc_spawn([this] { main(); }, "run", &options);
}

CoreBase::~CoreBase() { sysreg_payload_.clear_extension(&sysreg_extension_); }

void CoreBase::main() {
    if (!software_) throw std::logic_error(std::string(name()) + ": no software was set");
    set_limits();
    software_->cpu_main(*this);
}

/// Affinity 1 is the core within the one DSU, Aff0 = 0, MT = 1 (facts/rk3588.md section 1); bit 31 is RES1.
std::uint64_t CoreBase::mpidr() const { return 0x81000000u | std::uint64_t{config_.cpu.v} << 8; }

// --- totals ---

void CoreBase::flush() const {
    EventTotals::Row& row = totals_.now();
    const auto feed = [&](Lane lane, std::uint64_t n) {
        if (n == 0) return;
        for (EventNumber e : lane_map_.events(lane)) row[e] += n;
    };
    if (!user_counts_) {
        feed(Lane::cycle, cycle_ - flushed_cycle_);
        flushed_cycle_ = cycle_;
        return;
    }
    user_counts_ = state_ != nullptr;
    const bool executed = counted_ || counted_nodes_ || noted_ || fast_.any();
    if (!executed && cycle_ == flushed_cycle_) return; // no instruction since
    if (executed || (fast_.unaligned[0] | fast_.unaligned[1])) flush_executed(row);
    feed(Lane::cycle, cycle_ - flushed_cycle_);
    flushed_cycle_ = cycle_;
    if (stalls_.count == stalls_.flushed) return;
    for (unsigned s = 0; s < kStalls; ++s)
        feed(static_cast<Lane>(kFirstStall + s), stalls_.count[s] - stalls_.flushed[s]);
    stalls_.flushed = stalls_.count;
}

/// What the fast path has counted at EL0.
void CoreBase::flush_executed(EventTotals::Row& row) const {
    const auto feed = [&](Lane lane, std::uint64_t n) {
        if (n == 0) return;
        for (EventNumber e : lane_map_.events(lane)) row[e] += n;
    };
    for (; counted_nodes_; counted_nodes_ = counted_nodes_->counted_before) {
        ReplayNode& n = *counted_nodes_;
        fast_.lanes.add(n.block->lanes, n.executions);
        fast_.fetches += std::uint64_t{n.block->fetches} * n.executions;
        for (unsigned s = 0; s < kStalls; ++s) stalls_.count[s] += std::uint64_t{n.stalls[s]} * n.executions;
        n.executions = 0;
    }
    for (; counted_; counted_ = counted_->counted_before) {
        fast_.lanes.add(counted_->lanes, counted_->executions);
        fast_.fetches += counted_->fetches * counted_->executions;
        if (functional_) fast_.reads += counted_->reads * counted_->executions;
        counted_->executions = 0;
    }
    flush_wrong_paths();
    for (unsigned w = 0; w < fast_.lanes.words.size(); ++w) {
        if (!fast_.lanes.words[w]) continue;
        for (unsigned l = 4 * w; l < 4 * w + 4; ++l) feed(static_cast<Lane>(l), fast_.lanes[l]);
    }
    feed(Lane::fetch, fast_.fetches);
    if (!simple_) { // what CoreMemory was asked for it has counted itself
        row[ev::L1I_CACHE] -= fast_.fetches_slow;
        row[ev::L1I_TLB] -= fast_.translations_slow;
    }
    if (functional_) { // one access each, as nobody asks which go across lines
        feed(Lane::read_slow, fast_.reads);
        feed(Lane::write_slow, fast_.lanes[index_of(Lane::store)]);
    }
    feed(Lane::read_hit, fast_.hits[0]);
    feed(Lane::write_hit, fast_.hits[1]);
    feed(Lane::read_unaligned, fast_.unaligned[0]);
    feed(Lane::write_unaligned, fast_.unaligned[1]);
    feed(Lane::branch_taken, fast_.taken);
    fast_ = FastCounts{};
}

void CoreBase::flush_kernel() const {
    if (!kernel_counts_) return;
    kernel_counts_ = false;
    for (; passed_; passed_ = passed_->passed_before) {
        add_passes(*passed_);
        passed_->listed = false;
    }
    EventTotals::Row& row = totals_.row(ExceptionLevel::el1);
    const KernelLanes whole = take_whole(kernel_lanes_, {});
    for (std::size_t i = 0; i < kKernelLanes.size(); ++i) {
        if (whole[i] == 0) continue;
        for (EventNumber e : lane_map_.events(kKernelLanes[i])) row[e] += whole[i];
    }
    for (const Armed& a : armed_) nothing_pending(a);
}

EventTotals& CoreBase::totals() {
    flush();
    flush_kernel();
    return totals_;
}

std::uint64_t CoreBase::total(EventNumber event, ExceptionLevel el) const {
    if (!knows(event)) return 0;
    flush();
    flush_kernel();
    return totals_.get(event, el);
}

void CoreBase::count_ops(const Block& block, unsigned from, unsigned to) {
    for (unsigned k = from; k < to; ++k) {
        const std::uint32_t lanes = block.op_lanes[k];
        for (unsigned l = 0; l < kVectorLanes; ++l)
            if (lanes >> l & 1) fast_.lanes.add(l);
        fast_.fetches += lanes >> index_of(Lane::fetch) & 1;
        fast_.reads += lanes >> kReads & 1;
    }
}

void CoreBase::note_mispredict(Mispredict kind, std::uint64_t n, const DecodedOp& branch, std::uint64_t pc, bool taken,
                               std::uint32_t times) {
    if (kind != Mispredict::direction || (pc ^ vpn_ << kPageShift) >= kPageSize) {
        // Where an indirect branch was believed to go only the predictor knew.
        note(kind == Mispredict::direction  ? Lane::cond_mispredict
             : kind == Mispredict::indirect ? Lane::indirect_mispredict
                                            : Lane::return_mispredict);
        if (n) note(Lane::wrong_path, n);
        return;
    }
    WrongPath& w = wrong_paths_[(pc >> 2 ^ n << 1 ^ taken) % kWrongPaths];
    if (w.page != page_ || w.pc != pc || w.n != n || w.taken != taken || w.changes != code_.changes()) {
        if (w.passes) flush_wrong_paths();
        w.page = page_;
        w.pc = pc;
        w.n = n;
        w.taken = taken;
        w.changes = code_.changes();
        learn_wrong_path(w, branch);
    }
    if (__builtin_expect(wrong_paths_armed_, 0)) {
        for (unsigned i = 0; i < w.count; ++i) totals_.add(w.adds[i].event, w.adds[i].n);
        if (totals_.dirty) deadline_ = 0;
    } else {
        if (w.passes == 0) {
            w.noted_before = noted_;
            noted_ = &w;
        }
        w.passes += times;
    }
}

void CoreBase::flush_wrong_paths() const {
    EventTotals::Row& row = totals_.now();
    for (; noted_; noted_ = noted_->noted_before) {
        for (unsigned i = 0; i < noted_->count; ++i) row[noted_->adds[i].event] += noted_->adds[i].n * noted_->passes;
        noted_->passes = 0;
    }
}

/// `branch`: as it was executed. What stands in memory may be another one by now.
void CoreBase::learn_wrong_path(WrongPath& w, const DecodedOp& branch) const {
    w.count = 0;
    const auto add = [&](Lane l, std::uint64_t n) {
        for (const EventNumber e : lane_map_.events(l)) w.adds.at(w.count++) = {e, static_cast<std::uint32_t>(n)};
    };
    add(Lane::cond_mispredict, 1);
    if (!w.n) return;
    add(Lane::wrong_path, w.n);
    const std::uint64_t wrong = w.pc + (w.taken ? 4 : static_cast<std::uint64_t>(branch.insn.imm));
    if ((wrong ^ vpn_ << kPageShift) >= kPageSize) return;
    const LaneVector counts = on_wrong_path(wrong, w.n);
    for (const WrongKind& k : kWrongKinds)
        if (const std::uint64_t count = counts[index_of(k.right)]) add(k.wrong, count);
}

/// What was issued in vain is what stands there, as far as it has been decoded and follows in the page; the way behind
/// the next taken branch is not followed.
LaneVector CoreBase::on_wrong_path(std::uint64_t pc, std::uint64_t n) const {
    LaneVector counts;
    std::uint64_t offset = pc & (kPageSize - 1);
    while (n && offset < kPageSize) {
        const Block* b = page_->at[offset / 4];
        if (!b) break;
        const auto ops = std::min<std::uint64_t>(n, b->size);
        if (ops == b->size) {
            counts.add(b->lanes, 1);
        } else {
            for (unsigned k = 0; k < ops; ++k)
                for (std::uint32_t lanes = b->op_lanes[k] & 0xffff; lanes; lanes &= lanes - 1)
                    counts.add(static_cast<unsigned>(std::countr_zero(lanes)));
        }
        n -= ops;
        offset += std::uint64_t{b->size} * 4;
        const a64::InsnKind last = b->ops[b->size - 1].insn.kind;
        if (last >= a64::InsnKind::branch_immed && last <= a64::InsnKind::branch_return &&
            last != a64::InsnKind::branch_cond)
            break;
    }
    return counts;
}

// --- counters that wrap ---

void CoreBase::rearm() {
    rearm_ = true;
    stop_soon();
}

const CoreBase::Feed& CoreBase::feed_of(EventNumber e) {
    std::unique_ptr<Feed>& known = feeds_[e];
    if (known) return *known;
    known = std::make_unique<Feed>();
    known->lanes = lane_map_.lanes_of(e);
    known->weight = fast_weight(tables_.events, e);
    for (const Lane l : known->lanes) {
        known->cycle |= l == Lane::cycle;
        known->wrong_path |= is_of_wrong_path(l);
        if (index_of(l) >= kFirstStall) known->stall = static_cast<int>(stall_index(l));
        const auto add = [&](Lane kernel) { known->kernel_lanes.push_back(kKernelLaneOf[index_of(kernel)]); };
        if (l == Lane::stall_backend) { // the sum of its causes (take_whole)
            add(Lane::stall_interlock);
            add(Lane::stall_load);
            add(Lane::stall_store);
        } else if (kKernelLaneOf[index_of(l)] < kKernelLanes.size()) {
            add(l);
        }
    }
    // The deadline covers cycles alone.
    known->one_by_one = known->kernel_lanes.size() > (known->cycle ? 0 : kArmedKernelLanes);
    if (known->one_by_one) known->kernel_lanes.clear();
    return *known;
}

void CoreBase::read_armed() {
    rearm_ = false;
    for (const Armed& a : armed_) totals_.watch(a.event, false);
    armed_.clear();
    wrong_paths_armed_ = false;
    stalls_.stop_at.fill(~std::uint64_t{0});
    flush();
    if (!monitor_) return;
    const std::span<const ArmedCounter> counters = monitor_->armed();
    if (counters.empty()) return; // what is still to be counted at EL1 nobody looks at
    flush_kernel();
    for (const ArmedCounter& c : counters) {
        if (!knows(c.event)) continue;
        const Feed& feed = feed_of(c.event);
        wrong_paths_armed_ |= feed.wrong_path;
        Armed a{.event = c.event,
                .el_mask = c.el_mask,
                .cycle = feed.cycle,
                .stall = feed.stall,
                .weight = feed.weight,
                .lanes = feed.lanes,
                .kernel_lanes = {}};
        if (c.el_mask & bit(ExceptionLevel::el1)) {
            a.kernel_lanes = feed.kernel_lanes;
            a.one_by_one = feed.one_by_one;
            nothing_pending(a);
        }
        // A 64-bit counter that has just wrapped is further away than the totals can count.
        if (__builtin_add_overflow(sum(a), c.left, &a.target)) a.target = ~std::uint64_t{0};
        totals_.watch(a.event, true);
        armed_.push_back(a);
    }
}

std::uint64_t CoreBase::sum(const Armed& a) const {
    std::uint64_t n = 0;
    for (unsigned el = 0; el < kExceptionLevels; ++el)
        if (a.el_mask >> el & 1) n += totals_.get(a.event, static_cast<ExceptionLevel>(el));
    for (std::size_t i = 0; i < a.kernel_lanes.size(); ++i) n += a.pending[i] / kKernelRate;
    return n;
}

bool CoreBase::passes_armed(const KernelLanes& counts) const {
    for (const Armed& a : armed_) {
        if (a.one_by_one) return false;
        if (a.kernel_lanes.empty()) continue;
        std::uint64_t n = sum(a);
        for (std::size_t i = 0; i < a.kernel_lanes.size(); ++i)
            n += (a.pending[i] % kKernelRate + counts[a.kernel_lanes[i]]) / kKernelRate;
        if (n >= a.target) return false;
    }
    for (const Armed& a : armed_)
        for (std::size_t i = 0; i < a.kernel_lanes.size(); ++i) a.pending[i] += counts[a.kernel_lanes[i]];
    return true;
}

bool CoreBase::armed_hit() const {
    return std::any_of(armed_.begin(), armed_.end(), [&](const Armed& a) { return sum(a) >= a.target; });
}

void CoreBase::set_limits() {
    std::uint64_t deadline = ~std::uint64_t{0};
    std::int64_t budget = kMaxBudget;
    for (const Source& s : sources_) deadline = std::min(deadline, cycle_of(s));
    if (!irq_masked_) deadline = std::min(deadline, cycle_of(quantum_end_, quantum_moment_));
    if (!daif_i_ && irq_level_) deadline = std::min(deadline, cycle_of(irq_when_, irq_moment_));
    if (!armed_.empty() || stalls_.armed) stalls_.stop_at.fill(~std::uint64_t{0});
    stalls_.armed = false;
    for (const Armed& a : armed_) {
        if (!(a.el_mask & bit(totals_.level()))) continue;
        const std::uint64_t total = sum(a);
        if (total >= a.target) { // to be dealt with at this instruction's end
            deadline = 0;
            continue;
        }
        const std::uint64_t left = a.target - total;
        if (a.cycle) deadline = std::min(deadline, cycle_ + left);
        if (a.stall >= 0) {
            stalls_.armed = true;
            std::uint64_t& stop = stalls_.stop_at[static_cast<unsigned>(a.stall)];
            stop = std::min(stop, stalls_.count[static_cast<unsigned>(a.stall)] + left);
        }
        if (a.weight) budget = std::min<std::uint64_t>(static_cast<std::uint64_t>(budget), (left - 1) / a.weight);
    }
    if (functional_) {
        // An instruction is a cycle: the budget covers the deadline as well.
        const std::uint64_t cycles = deadline > cycle_ ? deadline - cycle_ : 1;
        budget = std::min<std::uint64_t>(static_cast<std::uint64_t>(budget), cycles - 1);
        if (config_.mode)
            budget = std::min<std::uint64_t>(static_cast<std::uint64_t>(budget), config_.mode->warm_up_left() - 1);
    }
    deadline_ = totals_.dirty || rearm_ ? 0 : deadline;
    budget_ = budget;
    if (page_armed_) {
        reserve_ = budget;
        budget_ = 0;
    }
}

void CoreBase::settle() {
    if (user_counts_ || !armed_.empty()) flush(); // nobody else looks at the totals before asking for them
    for (;;) {
        for (const Source& s : sources_)
            while (due(s)) s.source->advance_to(now());
        totals_.dirty = false;
        if (rearm_) read_armed();
        if (armed_.empty() || !armed_hit()) break;
        monitor_->sync();
        read_armed();
        if (armed_hit()) throw std::logic_error(std::string(name()) + ": a counter stays at its wrap after sync()");
    }
    set_limits();
}

// --- time and interrupts ---

void CoreBase::set_frequency(std::uint64_t hertz) {
    if (hertz == clock_.hertz()) return;
    clock_.set_hertz(hertz, Cycles(cycle_));
    clock_changed();
    stop_soon();
}

void CoreBase::clock_changed() {
    for (const Source& s : sources_) s.next = {};
    quantum_moment_ = irq_moment_ = {};
}

void CoreBase::set_quantum(Picoseconds quantum) {
    quantum_ = std::max(quantum, Picoseconds(1));
    quantum_end_ = now() + quantum_;
    stop_soon();
}

void CoreBase::set_level(bool level, Picoseconds when) {
    if (level == irq_level_) return;
    irq_level_ = level;
    irq_when_ = when;
    stop_soon();
    if (waiting_) irq_event_.notify(sc_core::SC_ZERO_TIME);
}

void CoreBase::yield() {
    // What is still in flight may ask the memory system for times before the boundary, and may not find them past.
    const Picoseconds horizon = clock_.time_of(Cycles(state_ ? horizon_ : cycle_));
    const Picoseconds global(sc_core::sc_time_stamp().value());
    if (horizon > global) {
        // Without caches nobody takes the line away when another core stores to it: the monitor does not last.
        if (simple_) exclusive_.valid = false;
        sc_core::wait(to_sc_time(horizon - global));
    }
    if (held()) stand_still();
    const Picoseconds ahead = now() < shares_until_ ? std::min(quantum_, kCloseQuantum) : quantum_;
    quantum_end_ = std::max(horizon + ahead, now() + Picoseconds(1));
}

void CoreBase::share_line(std::uint64_t cycle) {
    const Picoseconds at = clock_.time_of(Cycles(cycle));
    shares_until_ = at + quantum_ + quantum_;
    const Picoseconds end = at + std::min(quantum_, kCloseQuantum);
    if (end >= quantum_end_) return;
    quantum_end_ = end;
    stop_soon();
}

void CoreBase::stand_still() {
    if (simple_) exclusive_.valid = false;
    while (held()) hold_->wait_for_release();
    const Picoseconds t(sc_core::sc_time_stamp().value());
    if (t <= now()) return;
    clock_.resume_at(Cycles(cycle_), t);
    clock_changed();
    // No cycle before this one has a time any more.
    if (!state_) return;
    mem_issue_ = mem_ready_ = horizon_ = cycle_;
    stood_still_ = true;
}

/// As stand_still(), while it waits for an interrupt: the time up to here counts as such a wait, what it is held, which is
/// returned, does not.
Picoseconds CoreBase::stand_still_idle() {
    if (!held()) return Picoseconds(0);
    const Picoseconds from(sc_core::sc_time_stamp().value());
    if (from > now() && !quirks_.cycles_stand_in_wfi) cycle_ = clock_.cycle_at(from).v;
    while (held()) hold_->wait_for_release();
    const Picoseconds to(sc_core::sc_time_stamp().value());
    if (to > now()) {
        clock_.resume_at(Cycles(cycle_), to);
        clock_changed();
    }
    return to - from;
}

void CoreBase::sync() {
    flush();
    yield();
    kernel_boundary();
}

void CoreBase::kernel_boundary() {
    settle();
    for (;;) {
        if (!daif_i_ && irq_due())
            take_irq_at_el1();
        else if (!irq_masked_ && quantum_due())
            yield();
        else
            break;
        settle();
    }
}

void CoreBase::take_irq_at_el1() {
    const std::uint64_t interrupted = kernel_pc_, function = kernel_function_, bytes = kernel_function_bytes_;
    const bool masked = irq_masked_;
    irq_masked_ = daif_i_ = true;
    note(Lane::exception_taken);
    note(Lane::exc_irq);
    spend(0, exception_entry());
    software_->irq_from_el1(*this);
    spend(1, tables_.costs.exception_return);
    note(Lane::exception_return);
    daif_i_ = false;
    irq_masked_ = masked;
    kernel_pc_ = interrupted;
    kernel_function_ = function;
    kernel_function_bytes_ = bytes;
}

void CoreBase::set_irq_mask(bool masked) {
    if (masked == irq_masked_ && masked == daif_i_) return;
    irq_masked_ = daif_i_ = masked;
    kernel_boundary();
}

void CoreBase::set_priority_mask(bool masked) {
    irq_masked_ = masked;
    daif_i_ = false;
    kernel_boundary();
}

void CoreBase::mask_nmi(bool masked) {
    daif_i_ = masked;
    kernel_boundary();
}

void CoreBase::wait_for_interrupt() {
    spend(1, 1); // the WFI itself
    flush();
    yield();
    Picoseconds start = now();
    while (!irq_signalled()) {
        Picoseconds wake = irq_level_ ? irq_when_ : kNever;
        for (const Source& s : sources_) wake = std::min(wake, s.source->next_deadline());
        const Picoseconds global(sc_core::sc_time_stamp().value());
        waiting_ = true;
        if (wake == kNever) {
            sc_core::wait(irq_event_);
        } else if (wake > global) {
            sc_core::wait(to_sc_time(wake - global), irq_event_);
        }
        waiting_ = false;
        start = start + stand_still_idle();
        const Picoseconds t(sc_core::sc_time_stamp().value());
        if (t > now() && quirks_.cycles_stand_in_wfi) {
            clock_.resume_at(Cycles(cycle_), t); // the clock stood still: the same cycle begins at the present time
            clock_changed();
        } else if (t > now()) {
            cycle_ = clock_.cycle_at(t).v;
            settle();
        }
        for (const Source& s : sources_)
            if (due(s)) s.source->advance_to(now());
    }
    stats_.idle_time_ps += (now() - start).v;
    quantum_end_ = now() + quantum_;
    settle();
}

// --- EL0 ---

void CoreBase::enter_user(CpuState& state) {
    spend(1, tables_.costs.exception_return);
    note(Lane::exception_return);
    flush();
    const bool core_isb = interrupted_ && quirks_.br_retired_counts_isb && !simple_;
    interrupted_ = false;
    const bool keep = attached_ == &state && state.hooks == this && state.mem.clock == attached_clock_ && !port_stale_;
    attached_ = &state;
    state.hooks = this;
    state.mem.accesses = state.mem.slow = 0;
    memory_.set_recency_clock(&state.mem.clock);
    port_.attach(&state.mem, keep);
    state_ = &state;
    user_counts_ = true;
    if (keep)
        for (const Loss& l : losses_) lose(l);
    losses_.clear();
    port_stale_ = false;
    state.stop = Stop::none;
    state.branch_taken = false;
    totals_.set_level(ExceptionLevel::el0);
    if (core_isb) note(Lane::core_isb);
    irq_masked_ = daif_i_ = false;
    exclusive_.valid = false; // ERET clears the local monitor (DDI 0487 D1.6.3)
    if (debug_active_) debug_->exception_return(spsr_ss);
    mem_issue_ = mem_ready_ = horizon_ = accounted_ = cycle_;
    relookup_ = true;
    last_slow_line_ = ~0ull;
}

void CoreBase::detach() {
    // One tick more than any copy that software may have made of the state, so that an older one is not trusted.
    attached_clock_ = ++state_->mem.clock;
    memory_.set_recency_clock(&recency_);
    port_.detach();
    state_ = nullptr;
}

UserExit CoreBase::leave_user(Next why) {
    const Stop state_stop = why == Next::resume ? state_->stop : Stop::none;
    settle(); // the last instruction may have wrapped a counter
    user_counts_ = false;
    stats_.user_instructions = totals_.get(ev::INST_RETIRED, ExceptionLevel::el0);
    detach();
    irq_masked_ = daif_i_ = true;
    totals_.set_level(ExceptionLevel::el1);
    set_limits();
    note(Lane::exception_taken);
    UserExit exit = UserExit::irq;
    interrupted_ = why == Next::irq;
    if (interrupted_) note(Lane::exc_irq);
    if (why == Next::breakpoint) exit = UserExit::breakpoint;
    if (why == Next::step) {
        exit = UserExit::step;
        step_iss = debug_->step_syndrome();
    }
    spsr_ss = debug_active_ && debug_->exception_entry(state_stop == Stop::svc);
    spend(0, exception_entry());
    return exit;
}

UserExit CoreBase::leave_user_stopped() {
    const Stop stop = state_->stop;
    leave_user(Next::resume);
    switch (stop) {
        case Stop::svc: note(Lane::exc_svc); break;
        case Stop::undefined:
        case Stop::hlt:
        case Stop::illegal: note(Lane::exc_undefined); break;
        case Stop::trap_sysreg: note(Lane::exc_trap_other); break;
        case Stop::data_abort:
        case Stop::watchpoint: note(Lane::exc_data_abort); break;
        case Stop::insn_abort: note(Lane::exc_insn_abort); break;
        default: break;
    }
    kernel_boundary();
    return UserExit::sync;
}

void CoreBase::lose(const Loss& l) {
    if (!state_) {
        if (losses_.size() < kMaxLosses) {
            losses_.push_back(l);
        } else {
            port_stale_ = true;
        }
        return;
    }
    const auto drop_line = [&](const Loss& line, bool write_only) {
        port_.drop_line(physical_.host(PhysAddr(line.number << kLineShift)), static_cast<std::uint16_t>(line.where),
                        write_only);
    };
    switch (l.what) {
        case Loss::line: drop_line(l, false); break;
        case Loss::line_writes: drop_line(l, true); break;
        case Loss::page: port_.drop_page(l.number, l.where); break;
        case Loss::everything: port_.drop_all(); break;
    }
}

CoreBase::Next CoreBase::user_boundary(const DecodedOp* op) {
    if (op && debug_active_) debug_->stepped(op->insn.kind == a64::InsnKind::exclusive_load);
    settle();
    while (!irq_due() && quantum_due()) {
        yield();
        settle();
    }
    for (std::uint64_t ppn : dropped_code_) {
        code_.drop_blocks(ppn);
        relookup_ = true;
    }
    dropped_code_.clear();
    if (debug_active_ && debug_->step_pending()) return Next::step;
    if (irq_due()) return Next::irq;
    if (debug_active_ && held()) {
        stand_still();
        return user_boundary(nullptr); // others have run
    }
    if (debug_active_ && debug_->breakpoint_matches(state_->pc)) {
        // A pc that is not aligned and a fetch that faults come first (DBG-048): run() finds them again.
        const std::uint64_t counted_by_blocks = fast_.translations_slow;
        if (find_block(cycle_)) {
            fast_.translations_slow = counted_by_blocks; // none executes now
            return Next::breakpoint;
        }
        state_->stop = Stop::none;
        relookup_ = true;
    }
    const bool lost = relookup_;
    relookup_ = false;
    return lost ? Next::relookup : Next::resume;
}

bool CoreBase::budget_exhausted(const Block& block, unsigned from, bool boundary) {
    if (page_armed_) {
        if (debug_->may_stop(state_->pc, (block.size - from) * 4u)) {
            if (!boundary && (debug_->breakpoint_matches(state_->pc) || held())) {
                budget_ = 0; // the block comes again
                return true;
            }
            stop_soon();
        }
        reserve_ += budget_; // budget_ was 0
        budget_ = 0;
        if (reserve_ >= 0) return false;
    }
    account();
    const bool stop = deadline_ == 0 || mode_changed();
    flush();
    set_limits();
    std::uint64_t cost = 0;
    for (unsigned k = from; k < block.size; ++k) cost += block.ops[k].heavy ? block.cost : 1;
    std::int64_t& left = page_armed_ ? reserve_ : budget_;
    left -= static_cast<std::int64_t>(cost);
    if (left < 0 || stop) stop_soon();
    return false;
}

void CoreBase::debug_changed() {
    debug_active_ = debug_ && debug_->may_stop(0, ~std::uint64_t{0});
    watching_ = debug_ && debug_->may_watch(0, ~std::uint64_t{0});
    forget_functional_pages();
    // Lines that the fast port holds must not hide an access to a watched address.
    constexpr std::uint64_t kMostPages = 16;
    std::uint64_t first = 0, last = 0;
    for (unsigned n = 0; watching_ && debug_->watched_range(n, first, last); ++n) {
        if ((last >> kPageShift) - (first >> kPageShift) >= kMostPages) {
            lose({Loss::everything, 0});
            break;
        }
        for (std::uint64_t vpn = first >> kPageShift; vpn <= last >> kPageShift; ++vpn) lose({Loss::page, vpn});
    }
    if (vpn_ != ~0ull) look_at_page();
    if (state_) stop_soon();
}

void CoreBase::look_at_page() {
    const bool armed = debug_active_ && debug_->may_stop(vpn_ << kPageShift, kPageSize);
    if (armed == page_armed_) return;
    page_armed_ = armed;
    if (armed) {
        reserve_ = budget_;
        budget_ = 0;
    } else {
        budget_ = reserve_;
    }
}

} // namespace rkperf::cpu

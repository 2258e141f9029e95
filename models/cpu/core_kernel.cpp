// SPDX-License-Identifier: Apache-2.0
// EL1: native kernel code charged in lumps, its accesses, and the system-register bus.
#include "models/cpu/core_base.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace rkperf::cpu {
namespace {

constexpr unsigned kDebugOp0 = 2; // of the encodings of debug registers

} // namespace

/// Work of one kind, spread evenly: after i of n units, floor(i * total / n) of each total has happened.
struct CoreBase::Lump {
    std::uint64_t units{}; ///< instructions, or cycles if there are none
    std::uint64_t cycles{};
    KernelLanes counts{}; ///< of kKernelLanes
    bool walks_code{};    ///< a unit is an instruction of the function being charged

    template <Lane lane>
    void set(std::uint64_t n) {
        counts[kernel_lane<lane>()] = n;
    }
    std::uint64_t count(Lane lane) const {
        if (lane == Lane::cycle) return cycles;
        const std::size_t at = kKernelLaneOf[index_of(lane)];
        return at == kKernelLanes.size() ? 0 : counts[at];
    }

    static std::uint64_t share(std::uint64_t total, std::uint64_t i, std::uint64_t n) {
        if (i == n) return total; // most lumps pass in one piece
        if (i == 0) return 0;
        return static_cast<std::uint64_t>(static_cast<unsigned __int128>(total) * i / n);
    }
    std::uint64_t part(std::uint64_t total, std::uint64_t from, std::uint64_t to) const {
        return share(total, to, units) - share(total, from, units);
    }
    /// Stalls of the back end are those of their causes within each part, too.
    std::uint64_t part_of(Lane lane, std::uint64_t from, std::uint64_t to) const {
        if (lane != Lane::stall_backend) return part(count(lane), from, to);
        return part_of(Lane::stall_interlock, from, to) + part_of(Lane::stall_load, from, to) +
               part_of(Lane::stall_store, from, to);
    }
    /// First unit count in (from, to] at which `reached(count)` holds, or `to`. Precondition: monotonic.
    template <class F>
    static std::uint64_t first(std::uint64_t from, std::uint64_t to, F reached) {
        std::uint64_t lo = from + 1, hi = to;
        while (lo < hi) {
            const std::uint64_t mid = lo + (hi - lo) / 2;
            if (reached(mid)) {
                hi = mid;
            } else {
                lo = mid + 1;
            }
        }
        return lo;
    }
};

void CoreBase::run_lump(const Lump& lump) {
    std::uint64_t done = 0;
    flush();
    while (done < lump.units) {
        std::uint64_t next = lump.units;
        if (deadline_ - cycle_ <= lump.cycles)
            next = lump.first(done, next,
                              [&](std::uint64_t i) { return cycle_ + lump.part(lump.cycles, done, i) >= deadline_; });
        for (const Armed& a : armed_) {
            if (!(a.el_mask >> static_cast<unsigned>(totals_.level()) & 1)) continue;
            const std::uint64_t left = a.target - sum(a);
            const auto reached = [&](std::uint64_t i) {
                std::uint64_t n = 0;
                for (Lane l : a.lanes) n += lump.part_of(l, done, i);
                return n >= left;
            };
            if (reached(next)) next = lump.first(done, next, reached);
        }
        const bool whole = done == 0 && next == lump.units; // as most are
        for (std::size_t i = 0; i < kKernelLanes.size(); ++i) {
            if (!lump.counts[i]) continue;
            const std::uint64_t n = whole ? lump.counts[i] : lump.part_of(kKernelLanes[i], done, next);
            for (EventNumber e : lane_map_.events(kKernelLanes[i])) totals_.now()[e] += n;
        }
        cycle_ += lump.part(lump.cycles, done, next);
        if (lump.walks_code) walk_code(next - done);
        done = next;
        flush();
        if (deadline_ <= cycle_ || armed_hit()) kernel_boundary();
    }
}

void CoreBase::spend(std::uint64_t instructions, std::uint64_t cycles) {
    if (simple_) cycles = instructions;
    if (!instructions && !cycles) return;
    stats_.kernel_instructions += instructions;
    if (boundary_due()) kernel_boundary();
    KernelLanes counts{};
    of<Lane::instruction>(counts) = of<Lane::data_processing>(counts) = instructions * kKernelRate;
    if (passes_in_one_piece(cycles, counts)) {
        of<Lane::instruction>(kernel_lanes_) += instructions * kKernelRate;
        of<Lane::data_processing>(kernel_lanes_) += instructions * kKernelRate;
        kernel_counts_ = true;
        cycle_ += cycles;
        return;
    }
    Lump l;
    l.units = instructions ? instructions : cycles;
    l.cycles = cycles;
    l.set<Lane::instruction>(instructions);
    l.set<Lane::data_processing>(instructions);
    run_lump(l);
}

/// `f`: what the charge has looked up, or null.
void CoreBase::run_charge(KernelCharge& c, std::uint64_t cycles, const KernelFootprint* f) {
    KernelStalls stalls;
    if (f) {
        stalls = stalls_of(*f);
        cycles += stalls.sum();
    }
    KernelLanes counts = c.counts;
    if (f) add_footprint(*f, stalls, c.counts, counts);
    if (passes_in_one_piece(cycles, counts)) {
        if (f) add_footprint(*f, stalls, c.counts, kernel_lanes_);
        return pass(c, cycles);
    }
    flush_kernel();
    Lump l;
    l.units = c.instructions;
    l.cycles = cycles;
    l.walks_code = true;
    l.counts = take_whole(kernel_lanes_, counts);
    for (const Armed& a : armed_) nothing_pending(a);
    // The record may be another one's after this: what runs here is charged, too.
    if (boundary_due()) kernel_boundary();
    run_lump(l);
}

void CoreBase::kernel_access(PhysAddr pa, std::uint64_t bytes, bool write) {
    if (bytes == 0) return;
    if (write)
        for (std::uint64_t ppn = pa.v >> kPageShift; ppn <= (pa.v + bytes - 1) >> kPageShift; ++ppn)
            if (code_.holds_code(ppn)) drop_code(ppn);
    std::uint64_t ready = cycle_, lines = 0;
    for (std::uint64_t at = pa.v; at < pa.v + bytes; at = (at | (kLineSize - 1)) + 1, ++lines) {
        const auto part = static_cast<unsigned>(std::min(pa.v + bytes, (at | (kLineSize - 1)) + 1) - at);
        note(write ? Lane::write_slow : Lane::read_slow);
        if (simple_) {
            count_simple_hit(write);
            continue;
        }
        // One line per two cycles is what a copy loop asks for.
        const mem::Timing t = memory_.access(PhysAddr(at), write ? mem::Access::store : mem::Access::load,
                                             cycle_ + 2 * lines, nullptr, part);
        ready = std::max(ready, t.ready);
    }
    // Stores drain behind the core's back; a load's data are waited for.
    if (!write && ready > cycle_) spend(0, ready - cycle_);
    if (totals_.dirty) kernel_boundary();
}

void CoreBase::write_contextidr(std::uint32_t value) {
    if (debug_) debug_->contextidr(value);
    spend(1, tables_.costs.sysreg_write);
    note(Lane::contextidr_write);
    if (totals_.dirty) kernel_boundary();
}

// --- system registers ---

unsigned CoreBase::sysreg_cost(SysReg reg, bool write) const {
    const SystemCosts& c = tables_.costs;
    if ((reg.crn() == 12 && reg.crm() >= 8) || reg == sysreg::ICC_PMR_EL1) return c.gic_access;
    if (reg.crn() == 14 && reg.op1() == 3 && reg.crm() < 8) return c.timer_access;
    return write ? c.sysreg_write : c.sysreg_read;
}

SysRegOutcome CoreBase::transact(SysReg reg, std::uint64_t& value, bool write, ExceptionLevel el) {
    // Made once: no target asks back while it answers.
    tlm::tlm_generic_payload& payload = sysreg_payload_;
    SysRegExtension& extension = sysreg_extension_;
    extension.el = el;
    extension.outcome = SysRegOutcome::ok;
    payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    payload.set_address(std::uint64_t{reg.encoding} * 8);
    payload.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
    payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    const Picoseconds local = now();
    const Picoseconds global(sc_core::sc_time_stamp().value());
    // A core behind SystemC time (never, but for rounding) asks as of now.
    const Picoseconds ahead = local > global ? local - global : Picoseconds(0);
    sc_core::sc_time delay = to_sc_time(ahead);
    sysreg->b_transport(payload, delay);
    const std::uint64_t taken = to_picoseconds(delay).v - ahead.v;
    if (taken && !simple_) bus_cycles_ = clock_.cycle_at(Picoseconds(local.v + taken)).v - cycle_;
    if (payload.get_response_status() == tlm::TLM_ADDRESS_ERROR_RESPONSE) return SysRegOutcome::undefined;
    if (payload.get_response_status() == tlm::TLM_COMMAND_ERROR_RESPONSE)
        return extension.outcome == SysRegOutcome::ok ? SysRegOutcome::undefined : extension.outcome;
    if (!payload.is_response_ok())
        throw std::logic_error(std::string(name()) + ": system-register bus answered " + payload.get_response_string());
    return SysRegOutcome::ok;
}

std::uint64_t CoreBase::mrs(SysReg reg) {
    spend(1, sysreg_cost(reg, false));
    std::uint64_t value = 0;
    bus_cycles_ = 0;
    if (transact(reg, value, false, ExceptionLevel::el1) != SysRegOutcome::ok)
        throw std::logic_error(std::string(name()) + ": kernel read of an unknown system register, encoding " +
                               std::to_string(reg.encoding));
    if (totals_.dirty || rearm_ || deadline_ <= cycle_) kernel_boundary();
    if (bus_cycles_) spend(0, bus_cycles_);
    return value;
}

void CoreBase::msr(SysReg reg, std::uint64_t value) {
    spend(1, sysreg_cost(reg, true));
    bus_cycles_ = 0;
    if (transact(reg, value, true, ExceptionLevel::el1) != SysRegOutcome::ok)
        throw std::logic_error(std::string(name()) +
                               ": kernel write of an unknown or read-only system register, encoding " +
                               std::to_string(reg.encoding));
    // No debug register moves a counter or a timer; what else they change they say (debug_changed).
    rearm_ |= reg.op0() != kDebugOp0;
    if (totals_.dirty || rearm_ || deadline_ <= cycle_) kernel_boundary();
    if (bus_cycles_) spend(0, bus_cycles_);
}

SysRegOutcome CoreBase::read_sysreg(SysReg reg, std::uint64_t& value) {
    bus_cycles_ = 0;
    const SysRegOutcome outcome = transact(reg, value, false, ExceptionLevel::el0);
    mem_ready_ = mem_issue_ + sysreg_cost(reg, false) + bus_cycles_;
    return outcome;
}

SysRegOutcome CoreBase::write_sysreg(SysReg reg, std::uint64_t value) {
    bus_cycles_ = 0;
    const SysRegOutcome outcome = transact(reg, value, true, ExceptionLevel::el0);
    mem_ready_ = mem_issue_ + sysreg_cost(reg, true) + bus_cycles_;
    rearm();
    return outcome;
}

} // namespace rkperf::cpu

// SPDX-License-Identifier: Apache-2.0
#include "models/debug_regs/debug_regs.h"

#include "sim/base/sysreg_target.h"

#include <algorithm>

namespace rkperf::debug {

namespace {

constexpr ExceptionLevel kUser = ExceptionLevel::el0;

bool overlaps(std::span<const Range> ranges, std::uint64_t va, std::uint64_t bytes) {
    const std::uint64_t last = bytes > ~va ? ~std::uint64_t{0} : va + bytes - 1;
    for (const Range& r : ranges)
        if (r.first <= last && r.last >= va) return true;
    return false;
}

} // namespace

DebugRegs::DebugRegs(sc_core::sc_module_name name, const DebugConfig& config)
    : sc_module(name), sysreg("sysreg"), registers_(config) {
    sysreg.register_b_transport(this, &DebugRegs::transport);
    changed();
}

void DebugRegs::changed() {
    const State& s = state();
    possible_ = matching_possible();
    stepping_ = Step::active(s, kUser, false);
    stop_count_ = watched_count_ = 0;
    for (unsigned n = 0; possible_ && n < kBreakpoints; ++n) {
        if (!enabled(s.bp[n].control)) continue;
        if (const auto r = breakpoint_range(s, n, kUser)) stops_[stop_count_++] = *r;
    }
    for (unsigned n = 0; possible_ && n < kWatchpoints; ++n) {
        if (!enabled(s.wp[n].control)) continue;
        if (const auto r = watchpoint_range(s, n, kUser)) watched_[watched_count_++] = *r;
    }
    if (on_change_) on_change_();
}

bool DebugRegs::matching_possible() const {
    return (state().mdscr & mdscr::MDE) && exceptions_enabled(state(), kUser, false);
}

/// Most writes of MDSCR_EL1 only arm or disarm software step, or change nothing.
void DebugRegs::mdscr_changed() {
    if (matching_possible() != possible_) return changed();
    const bool stepping = Step::active(state(), kUser, false);
    if (stepping == stepping_) return;
    stepping_ = stepping;
    if (on_change_) on_change_();
}

void DebugRegs::contextidr(std::uint32_t value) {
    if (registers_.write(sysreg::CONTEXTIDR_EL1, value, ExceptionLevel::el1).changes_matching) changed();
}

bool DebugRegs::may_stop(std::uint64_t va, std::uint64_t bytes) const {
    return stepping_ || (stop_count_ && overlaps({stops_.data(), stop_count_}, va, bytes));
}

bool DebugRegs::breakpoint_matches(std::uint64_t pc) const {
    return stop_count_ && overlaps({stops_.data(), stop_count_}, pc, 1) && breakpoint(state(), pc, kUser, false);
}

bool DebugRegs::may_watch(std::uint64_t va, std::uint64_t bytes) const {
    return watched_count_ && overlaps(watched(), va, bytes);
}

bool DebugRegs::watchpoint_matches(std::uint64_t va, unsigned bytes, bool write, std::uint64_t& far) const {
    if (!may_watch(va, bytes)) return false;
    const auto hit = watchpoint(state(), va, bytes, write, kUser, kUser, false);
    if (hit) far = *hit;
    return hit.has_value();
}

void DebugRegs::transport(tlm::tlm_generic_payload& trans, sc_core::sc_time&) {
    const auto request = sysreg_request(name(), trans);
    if (!request) return;
    const ExceptionLevel el = request->from.el;
    const Registers::Access a =
        request->write ? registers_.write(request->reg, request->value, el) : registers_.read(request->reg, el);
    sysreg_answer(trans, *request, a.decoded, a.outcome, a.value);
    if (a.outcome != SysRegOutcome::ok) {
        trap_target_ = a.target;
        return;
    }
    if (!a.changes_matching) return;
    request->reg == sysreg::MDSCR_EL1 ? mdscr_changed() : changed();
}

} // namespace rkperf::debug

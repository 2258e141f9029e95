// SPDX-License-Identifier: Apache-2.0
// Self-hosted debug of one core: the registers behind a TLM target socket, and the questions the core asks at EL0. What
// can be told in advance is worked out when a register changes, so that a question costs little.
#pragma once

#include "models/debug_regs/registers.h"
#include "sim/base/sysreg_bus.h"

#include <tlm_utils/simple_target_socket.h>
#include <functional>
#include <systemc>
#include <tlm>

namespace rkperf::debug {

class DebugRegs : public sc_core::sc_module {
  public:
    /// See sim/base/sysreg_bus.h for the conventions of a transaction.
    tlm_utils::simple_target_socket<DebugRegs> sysreg;

    DebugRegs(sc_core::sc_module_name name, const DebugConfig& config);

    /// Called after a write that may change what matches.
    void set_on_change(std::function<void()> fn) { on_change_ = std::move(fn); }

    const State& state() const { return registers_.state(); }
    /// CONTEXTIDR_EL1 written by the core itself.
    void contextidr(std::uint32_t value);
    /// Where the latest refused access with outcome trap_el1 goes: EL1, or EL2 if MDCR_EL2 made it trap.
    ExceptionLevel trap_target() const { return trap_target_; }

    // --- EL0 code; addresses without tags ---
    bool may_stop(std::uint64_t va, std::uint64_t bytes) const;
    bool breakpoint_matches(std::uint64_t pc) const;
    bool may_watch(std::uint64_t va, std::uint64_t bytes) const;
    /// Ranges that may_watch() answers for.
    std::span<const Range> watched() const { return {watched_.data(), watched_count_}; }
    bool watchpoint_matches(std::uint64_t va, unsigned bytes, bool write, std::uint64_t& far) const;
    Step& step() { return step_; }
    bool stepping() const { return stepping_; }

  private:
    void transport(tlm::tlm_generic_payload& trans, sc_core::sc_time& delay);
    void changed();
    void mdscr_changed();
    bool matching_possible() const;

    Registers registers_;
    Step step_;
    std::function<void()> on_change_;
    bool stepping_{}, possible_{};
    std::array<Range, kBreakpoints> stops_{};
    std::array<Range, kWatchpoints> watched_{};
    std::size_t stop_count_{}, watched_count_{};
    ExceptionLevel trap_target_{ExceptionLevel::el1};
};

} // namespace rkperf::debug

// SPDX-License-Identifier: Apache-2.0
// Lets a core ask its debug registers: the rooms of the two do not know each other.
#pragma once

#include "models/cpu/core.h"
#include "models/debug_regs/debug_regs.h"

namespace rkperf::soc {

class DebugAdapter final : public cpu::DebugMonitor {
  public:
    DebugAdapter(debug::DebugRegs& regs, cpu::Core& core) : regs_(regs) {
        regs.set_on_change([&core] { core.debug_changed(); });
        core.set_debug_monitor(*this);
    }
    bool may_stop(std::uint64_t va, std::uint64_t bytes) override { return regs_.may_stop(va, bytes); }
    bool step_pending() override { return regs_.stepping() && regs_.step().pending(regs_.state()); }
    bool breakpoint_matches(std::uint64_t pc) override { return regs_.breakpoint_matches(pc); }
    void stepped(bool load_exclusive) override { regs_.step().stepped(regs_.state(), load_exclusive); }
    bool may_watch(std::uint64_t va, std::uint64_t bytes) override { return regs_.may_watch(va, bytes); }
    bool watched_range(unsigned n, std::uint64_t& first, std::uint64_t& last) override {
        const auto ranges = regs_.watched();
        if (n >= ranges.size()) return false;
        first = ranges[n].first;
        last = ranges[n].last;
        return true;
    }
    bool watchpoint_matches(std::uint64_t va, unsigned bytes, bool write, std::uint64_t& far) override {
        return regs_.watchpoint_matches(va, bytes, write, far);
    }
    void exception_return(bool spsr_ss) override {
        // The kernel masks debug exceptions on its way out, whatever KDE says.
        regs_.step().exception_return(regs_.state(), spsr_ss, true);
    }
    bool exception_entry(bool executed) override { return regs_.step().exception_entry(regs_.state(), executed); }
    std::uint32_t step_syndrome() override { return regs_.step().syndrome(); }
    void contextidr(std::uint32_t value) override { regs_.contextidr(value); }
    bool kernel_breakpoint_matches(std::uint64_t pc) override {
        return debug::breakpoint(regs_.state(), pc, ExceptionLevel::el1, false);
    }
    bool kernel_access_matches(std::uint64_t va, std::uint64_t bytes, bool write, std::uint64_t& far) override {
        if (!regs_.may_watch(va, bytes)) return false;
        const auto hit =
            debug::watchpoint(regs_.state(), va, bytes, write, ExceptionLevel::el0, ExceptionLevel::el1, false);
        if (hit) far = *hit;
        return hit.has_value();
    }

  private:
    debug::DebugRegs& regs_;
};

} // namespace rkperf::soc

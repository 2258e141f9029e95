// SPDX-License-Identifier: Apache-2.0
// The debugger's own breakpoints and watchpoints in the cores. They stand beside the architectural debug registers, which
// stay the program's: the machine stands still inside the core's question whether a breakpoint matches, and the program
// sees nothing of it.
#pragma once

#include "models/cpu/core.h"
#include "models/cpu/core_hold.h"
#include "sim/gdb/target.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace rkperf::gdb {

/// Of all cores.
struct Points {
    struct Point {
        PointKind kind{};
        std::uint64_t address{}, length{};
        bool operator==(const Point&) const = default;
    };
    std::vector<Point> list;

    bool any_break(std::uint64_t va, std::uint64_t bytes) const;
    const Point* break_at(std::uint64_t pc) const;
    const Point* watch_at(std::uint64_t va, std::uint64_t bytes, bool write) const;
    bool any_watch(std::uint64_t va, std::uint64_t bytes) const;
};

/// Stands between a core and what it asked before (its debug registers).
class CoreMonitor final : public cpu::DebugMonitor, public cpu::CoreHold {
  public:
    /// `halt` is called at the boundary before the instruction at state.pc; it returns when the machine is to go on.
    using Halt = std::function<void(const Stop& stop)>;
    CoreMonitor(unsigned cpu, cpu::Core& core, cpu::DebugMonitor& inner, const Points& points,
                std::function<std::uint64_t()> pc, Halt halt);
    ~CoreMonitor() override;

    /// The next instruction boundary in a program stops (`why`: step, start, interrupt).
    void stop_next(Stop::Why why);
    void stop_never();
    /// Keeps the core from going on, or lets it go.
    void hold(bool on);
    /// Points were changed.
    void changed() { core_.debug_changed(); }

    // cpu::DebugMonitor
    bool may_stop(std::uint64_t va, std::uint64_t bytes) override;
    bool step_pending() override { return inner_.step_pending(); }
    bool breakpoint_matches(std::uint64_t pc) override;
    void stepped(bool load_exclusive) override;
    bool may_watch(std::uint64_t va, std::uint64_t bytes) override;
    bool watched_range(unsigned n, std::uint64_t& first, std::uint64_t& last) override;
    bool watchpoint_matches(std::uint64_t va, unsigned bytes, bool write, std::uint64_t& far) override;
    // cpu::CoreHold
    bool held() const override { return held_; }
    void wait_for_release() override;

    void exception_return(bool spsr_ss) override { inner_.exception_return(spsr_ss); }
    bool exception_entry(bool executed) override { return inner_.exception_entry(executed); }
    std::uint32_t step_syndrome() override { return inner_.step_syndrome(); }
    void contextidr(std::uint32_t value) override { inner_.contextidr(value); }
    bool kernel_breakpoint_matches(std::uint64_t pc) override { return inner_.kernel_breakpoint_matches(pc); }
    bool kernel_access_matches(std::uint64_t va, std::uint64_t bytes, bool write, std::uint64_t& far) override;

  private:
    bool due() const { return stop_next_ || hit_; }
    /// Notes an access that a watchpoint is for.
    void watch(std::uint64_t va, std::uint64_t bytes, bool write);

    const unsigned cpu_;
    cpu::Core& core_;
    cpu::DebugMonitor& inner_;
    const Points& points_;
    std::function<std::uint64_t()> pc_;
    Halt halt_;
    bool held_{};
    sc_core::sc_event released_;
    bool stop_next_{};
    Stop::Why why_{};
    bool executed_{true};      ///< an instruction was executed since it last stood still
    std::uint64_t stood_at_{}; ///< where it last stood still
    bool hit_{};               ///< a watched access was made
    Stop watch_stop_;
};

} // namespace rkperf::gdb

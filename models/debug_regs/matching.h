// SPDX-License-Identifier: Apache-2.0
// What breakpoints, watchpoints and software step do, given the debug registers of one core (Arm ARM D2; spec DBG-008 to
// DBG-046). No SystemC.
#pragma once

#include "sim/base/sysreg_debug.h"
#include "sim/base/types.h"

#include <array>
#include <cstdint>
#include <optional>

namespace rkperf::debug {

inline constexpr unsigned kBreakpoints = 6, kWatchpoints = 4;
/// Breakpoints from here on are context aware.
inline constexpr unsigned kFirstContextAware = 4;
/// Unit within which FAR of a watchpoint lies: the block of DC ZVA.
inline constexpr std::uint64_t kFarBlock = 64;

/// The registers by value, and the parts of other registers that matching looks at.
struct State {
    struct Pair {
        std::uint64_t value{};
        std::uint32_t control{};
    };
    std::array<Pair, kBreakpoints> bp{};
    std::array<Pair, kWatchpoints> wp{};
    std::uint32_t mdscr{};
    bool os_lock{}, double_lock{}, no_powerdown{}; ///< OSLSR.OSLK, OSDLR.DLK, DBGPRCR.CORENPDRQ
    std::uint32_t contextidr_el1{}, contextidr_el2{}, vmid{};
    bool e2h{}, tge{}, tde{}; ///< HCR_EL2.E2H, HCR_EL2.TGE, MDCR_EL2.TDE
};

/// DBGBCR.E or DBGWCR.E of a control register.
constexpr bool enabled(std::uint32_t control) { return control & 1; }

/// Debug exceptions from `el` are taken at all (DBG-009, 010). `d`: PSTATE.D.
bool exceptions_enabled(const State& s, ExceptionLevel el, bool d);

/// Levels that HMC, SSC and PMC or PAC of a control register select: bit n is level n (DBG-024 to 026).
unsigned levels(std::uint32_t control);

/// Breakpoint n alone matches the instruction at `pc`, executed at `el` (DBG-016 to 022).
bool breakpoint_matches(const State& s, unsigned n, std::uint64_t pc, ExceptionLevel el);
/// Any breakpoint raises an exception before the instruction at `pc`.
bool breakpoint(const State& s, std::uint64_t pc, ExceptionLevel el, bool d);

/// Addresses that a watchpoint or address breakpoint may match: [first, last]; nothing if it is disabled or reserved.
struct Range {
    std::uint64_t first{}, last{};
};
std::optional<Range> breakpoint_range(const State& s, unsigned n, ExceptionLevel el);
std::optional<Range> watchpoint_range(const State& s, unsigned n, ExceptionLevel el);

/// The access to [va, va + bytes) as level `as` matches a watchpoint, and the exception is taken from `el` with PSTATE.D =
/// `d`: the value of FAR (DBG-038), else nothing. `write`: direction.
std::optional<std::uint64_t> watchpoint(const State& s, std::uint64_t va, std::uint64_t bytes, bool write,
                                        ExceptionLevel as, ExceptionLevel el, bool d);

/// The software-step state machine of code below the debug target level (DBG-039 to 046, 053).
class Step {
  public:
    /// Step is active for code at `el`.
    static bool active(const State& s, ExceptionLevel el, bool d) {
        return (s.mdscr & mdscr::SS) && exceptions_enabled(s, el, d);
    }
    /// ERET from EL1 (PSTATE.D there: `d`) to EL0 with SPSR.SS = `ss`.
    void exception_return(const State& s, bool ss, bool d);
    /// Exception to EL1; `executed`: an SVC and the like, which has executed. Returns SPSR.SS.
    bool exception_entry(const State& s, bool executed);
    /// An instruction completed at EL0.
    void stepped(const State& s, bool load_exclusive);
    bool pending(const State& s) const { return active(s, ExceptionLevel::el0, false) && !ss_; }
    /// ISS of the step exception that is pending.
    std::uint32_t syndrome() const { return esr::kDebugFault | (valid_ ? esr::kISV | (exclusive_ ? esr::kEX : 0) : 0); }

  private:
    bool ss_{}; ///< PSTATE.SS
    bool valid_{}, exclusive_{};
};

} // namespace rkperf::debug

// SPDX-License-Identifier: Apache-2.0
// The Arm generic timer of one core (Arm ARM D12): the system counter and the EL1 physical and virtual timers, by system
// register. CNTVOFF_EL2 is 0, so both counts agree. The RK3588's counter runs at 24 MHz (facts: rk3588.md section 2);
// tick n begins at the first picosecond at which at least n periods have passed.
// The event stream (CNTKCTL_EL1.EVNTEN) generates no events: its fields only read back what was written.
#pragma once

#include "sim/base/sysreg.h"
#include "sim/base/sysreg_bus.h"
#include "sim/base/types.h"
#include "sim/base/wires.h"

#include <tlm_utils/simple_target_socket.h>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <systemc>
#include <tlm>

namespace rkperf::timer {

/// INTIDs of the timers' PPIs (16 + 11 and 16 + 14).
inline constexpr unsigned kVirtualIntid = 27;
inline constexpr unsigned kPhysicalIntid = 30;

struct TimerConfig {
    std::uint64_t hertz{24'000'000};
};

/// Bits of CNTV_CTL_EL0 and CNTP_CTL_EL0.
namespace cnt_ctl {
inline constexpr std::uint32_t ENABLE = 1u << 0, IMASK = 1u << 1, ISTATUS = 1u << 2;
}
/// Bits of CNTKCTL_EL1 that open registers to EL0.
namespace cntkctl {
inline constexpr std::uint32_t EL0PCTEN = 1u << 0, EL0VCTEN = 1u << 1, EL0VTEN = 1u << 8, EL0PTEN = 1u << 9;
inline constexpr std::uint32_t kStored = 0x3ff;
} // namespace cntkctl

class GenericTimer : public sc_core::sc_module, public DeadlineSource {
  public:
    tlm_utils::simple_target_socket<GenericTimer> sysreg;

    GenericTimer(sc_core::sc_module_name name, const TimerConfig& config, LevelSink& virtual_ppi,
                 LevelSink& physical_ppi);

    /// Value of the system counter at `t`.
    std::uint64_t count_at(Picoseconds t) const;
    /// First picosecond at which the counter is `count`, or kNever.
    Picoseconds time_of(std::uint64_t count) const;

    /// A register access may change it: the core asks again after each.
    Picoseconds next_deadline() const override { return next_; }
    /// Lines rise at the very picosecond the count reaches CVAL, however late the call.
    void advance_to(Picoseconds t) override;

    struct Row {
        std::string_view name;
        SysReg reg;
        bool readable, writable; ///< at EL1
        std::uint32_t el0_bits;  ///< any of these bits of CNTKCTL_EL1 opens it to EL0; 0: UNDEFINED at EL0
        unsigned timer;          ///< 0 virtual, 1 physical, where it matters
        std::uint64_t (GenericTimer::*read)(unsigned timer, Picoseconds t) const;
        void (GenericTimer::*write)(unsigned timer, std::uint64_t value, Picoseconds t);
    };
    static std::span<const Row> rows();

  private:
    struct Timer {
        std::uint32_t ctl{};
        std::uint64_t cval{};
        Picoseconds met_at{}; ///< time_of(cval)
        bool line{};
        LevelSink* sink{};
    };

    void transport(tlm::tlm_generic_payload& trans, sc_core::sc_time& delay);
    bool met(const Timer& timer, Picoseconds t) const { return count_at(t) >= timer.cval; }
    bool wanted(const Timer& timer, Picoseconds t) const;
    Picoseconds deadline(const Timer& timer) const;
    void drive(Timer& timer, bool level, Picoseconds t);
    void changed();

    std::uint64_t read_frequency(unsigned, Picoseconds) const { return config_.hertz; }
    std::uint64_t read_count(unsigned, Picoseconds t) const { return count_at(t); }
    std::uint64_t read_tval(unsigned timer, Picoseconds t) const;
    std::uint64_t read_ctl(unsigned timer, Picoseconds t) const;
    std::uint64_t read_cval(unsigned timer, Picoseconds) const { return timers_[timer].cval; }
    std::uint64_t read_cntkctl(unsigned, Picoseconds) const { return cntkctl_; }
    void write_tval(unsigned timer, std::uint64_t value, Picoseconds t);
    void write_ctl(unsigned timer, std::uint64_t value, Picoseconds t);
    void write_cval(unsigned timer, std::uint64_t value, Picoseconds t);
    void write_cntkctl(unsigned, std::uint64_t value, Picoseconds t);

    TimerConfig config_;
    std::array<Timer, 2> timers_{};
    Picoseconds next_{kNever}; ///< next_deadline(), which the core asks for far more often than it changes
    std::uint32_t cntkctl_{};
};

} // namespace rkperf::timer

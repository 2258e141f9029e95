// SPDX-License-Identifier: Apache-2.0
// The self-hosted debug registers of one Cortex-A55 or Cortex-A76 (Arm ARM D17.3; spec DBG-001 to 007, 013, 014). One
// table, rows(), holds each register's name, encoding, access, reset and hooks. No SystemC.
#pragma once

#include "models/debug_regs/matching.h"
#include "sim/base/sysreg_debug.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rkperf::debug {

struct DebugConfig {
    CpuId cpu{};
    /// What the boot code leaves in MDCR_EL2 (TDA, TDOSA, TDRA, TDE) and HCR_EL2 (E2H, TGE).
    std::uint32_t mdcr_el2{};
    bool e2h{}, tge{};
};

/// Bits of MDCR_EL2 that concern debug.
namespace mdcr_el2 {
inline constexpr std::uint32_t TDE = 1u << 8, TDA = 1u << 9, TDOSA = 1u << 10, TDRA = 1u << 11;
} // namespace mdcr_el2

enum class Direction : std::uint8_t { read_only, write_only, read_write };
/// What makes EL1 and EL0 trap to EL2 (DBG-006).
enum class Group : std::uint8_t { debug, os_lock, rom, context };

class Registers {
  public:
    struct Row {
        std::string_view name; ///< "<n>" stands for the number in a row of several registers
        SysReg (*encoding)(unsigned n);
        unsigned count;
        Direction direction;
        Group group;
        bool user;           ///< EL0 may access it, unless MDSCR_EL1.TDCC traps
        std::uint64_t reset; ///< at a cold reset; what the architecture leaves unknown has its most awkward value
        bool changes_matching;
        std::uint64_t (Registers::*read)(unsigned n);
        void (Registers::*write)(unsigned n, std::uint64_t value);
        std::string_view note;
    };
    /// In order of the architecture's register index.
    static std::span<const Row> rows();

    explicit Registers(const DebugConfig& config);

    struct Access {
        bool decoded{};
        SysRegOutcome outcome{SysRegOutcome::ok}; ///< a trap to EL2 too is reported as trap_el1: see `target`
        ExceptionLevel target{ExceptionLevel::el1};
        std::uint64_t value{};
        bool changes_matching{};
    };
    Access read(SysReg reg, ExceptionLevel el);
    Access write(SysReg reg, std::uint64_t value, ExceptionLevel el);
    /// A warm reset keeps what lies in the debug power domain: breakpoints and watchpoints (DBG-005).
    void warm_reset();

    const State& state() const { return state_; }

  private:
    Access check(const Row* row, bool write, ExceptionLevel el) const;
    static const Row* decode(SysReg reg, unsigned& n);

    std::uint64_t read_bvr(unsigned n) { return state_.bp[n].value; }
    void write_bvr(unsigned n, std::uint64_t v);
    std::uint64_t read_bcr(unsigned n) { return state_.bp[n].control; }
    void write_bcr(unsigned n, std::uint64_t v);
    std::uint64_t read_wvr(unsigned n) { return state_.wp[n].value; }
    void write_wvr(unsigned n, std::uint64_t v);
    std::uint64_t read_wcr(unsigned n) { return state_.wp[n].control; }
    void write_wcr(unsigned n, std::uint64_t v);
    std::uint64_t read_mdscr(unsigned) { return state_.mdscr; }
    void write_mdscr(unsigned, std::uint64_t v);
    std::uint64_t read_zero(unsigned) { return 0; }
    std::uint64_t read_mdccint(unsigned) { return mdccint_; }
    void write_mdccint(unsigned, std::uint64_t v);
    void write_oslar(unsigned, std::uint64_t v);
    std::uint64_t read_oslsr(unsigned);
    std::uint64_t read_osdlr(unsigned) { return state_.double_lock; }
    void write_osdlr(unsigned, std::uint64_t v);
    std::uint64_t read_prcr(unsigned) { return state_.no_powerdown; }
    void write_prcr(unsigned, std::uint64_t v);
    std::uint64_t read_claimset(unsigned) { return 0xff; }
    void set_claim(unsigned, std::uint64_t v);
    std::uint64_t read_claimclr(unsigned) { return claim_; }
    void clear_claim(unsigned, std::uint64_t v);
    std::uint64_t read_authstatus(unsigned);
    std::uint64_t read_contextidr(unsigned) { return state_.contextidr_el1; }
    void write_contextidr(unsigned, std::uint64_t v);

    DebugConfig config_;
    State state_;
    std::uint32_t mdccint_{}, claim_{};
};

/// The register table as a Markdown table, for the documentation.
std::string register_documentation();

} // namespace rkperf::debug

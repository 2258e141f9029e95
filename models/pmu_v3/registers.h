// SPDX-License-Identifier: Apache-2.0
// The system registers of one PMUv3 as Cortex-A55 and Cortex-A76 implement it (Arm ARM D17.5; spec PMUV3-044..051 and
// PMUV3-066..068). One table, rows(), holds each register's name, encoding, access and hooks; decode, traps and the
// generated documentation come from it. No SystemC.
#pragma once

#include "models/pmu_v3/counter_bank.h"
#include "sim/base/sysreg.h"
#include "sim/base/types.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rkperf::pmu {

struct PmuConfig {
    CpuId cpu{};
    /// Read-only part of PMCR_EL0: IMP 31:24, IDCODE 23:16, N 15:11 (event counters). A76 0x410b3000, A55 0x41453000.
    std::uint32_t pmcr_ro{0x410b3000};
    std::uint64_t pmceid0{}, pmceid1{};
    /// What the boot code leaves in MDCR_EL2 beyond HPMN = N (fields HPME, HPMD, TPM, TPMCR) ...
    std::uint32_t mdcr_el2{};
    /// ... and in MDCR_EL3: SPME (bit 17) allows counting at EL3, TPM (bit 6) traps all accesses below EL3.
    std::uint32_t mdcr_el3{};
};

namespace mdcr_el3 {
inline constexpr std::uint32_t TPM = 1u << 6, SPME = 1u << 17;
} // namespace mdcr_el3

/// MDCR_EL2 belongs to several units; the PMU answers with its own fields.
inline constexpr SysReg MDCR_EL2 = SysReg::make(3, 4, 1, 1, 1);

/// Bits of PMUSERENR_EL0.
namespace pmuserenr {
inline constexpr std::uint32_t EN = 1u << 0, SW = 1u << 1, CR = 1u << 2, ER = 1u << 3;
inline constexpr std::uint32_t kStored = EN | SW | CR | ER;
} // namespace pmuserenr

enum class Direction : std::uint8_t { read_only, write_only, read_write };

/// Which exception levels reach a register, and at EL0 which bits of PMUSERENR_EL0 open it (PMUV3-066).
enum class Rule : std::uint8_t {
    el2,            ///< EL2 and EL3 only
    el1,            ///< not at EL0
    user_enable,    ///< EL0 if EN
    user_cycles,    ///< EL0 if EN; reads also if CR
    user_counters,  ///< EL0 if EN; reads also if ER
    user_select,    ///< EL0 if EN or ER
    user_increment, ///< EL0 if EN or SW
    user_read,      ///< EL0 may always read, never write
};

class Registers {
  public:
    struct Row {
        std::string_view name; ///< "<n>" stands for the number in a row of several registers
        SysReg (*encoding)(unsigned n);
        unsigned count;
        Direction direction;
        Rule rule;
        std::uint64_t reset;
        bool changes_counting; ///< a write may change what is armed
        std::uint64_t (Registers::*read)(unsigned n, ExceptionLevel el);
        void (Registers::*write)(unsigned n, std::uint64_t value, ExceptionLevel el);
        std::string_view note;
    };
    /// The registers in order of the architecture's register index.
    static std::span<const Row> rows();

    Registers(const PmuConfig& config, EventTotalsView& totals);

    struct Access {
        bool decoded{};                             ///< the encoding is one of ours
        SysRegOutcome outcome{SysRegOutcome::ok};   ///< EL2 and EL3 traps too are reported as trap_el1: see `target`
        ExceptionLevel target{ExceptionLevel::el1}; ///< where the trap goes
        std::uint64_t value{};                      ///< of a successful read
        bool changes_counting{};                    ///< a successful write that may have changed what is armed
    };
    Access read(SysReg reg, ExceptionLevel el);
    Access write(SysReg reg, std::uint64_t value, ExceptionLevel el);

    CounterBank& counters() { return bank_; }
    const PmuConfig& config() const { return config_; }

  private:
    struct Decoded {
        const Row* row{};
        unsigned n{};
    };
    static Decoded decode(SysReg reg);
    /// Whether `el` may do this; fills everything of an Access but the value.
    Access check(const Decoded& d, bool write, ExceptionLevel el) const;
    /// The selected or numbered counter exists for this exception level (PMUV3-049, PMUV3-047).
    bool counter_exists(const Decoded& d, ExceptionLevel el) const;
    unsigned visible_counters(ExceptionLevel el) const;
    /// Bits of the set/clear registers that exist at `el` (PMUV3-048).
    std::uint32_t visible_mask(ExceptionLevel el) const;

    std::uint64_t read_pmcr(unsigned, ExceptionLevel);
    void write_pmcr(unsigned, std::uint64_t, ExceptionLevel);
    std::uint64_t read_enabled(unsigned, ExceptionLevel);
    void set_enabled(unsigned, std::uint64_t, ExceptionLevel);
    void clear_enabled(unsigned, std::uint64_t, ExceptionLevel);
    std::uint64_t read_overflowed(unsigned, ExceptionLevel);
    void set_overflowed(unsigned, std::uint64_t, ExceptionLevel);
    void clear_overflowed(unsigned, std::uint64_t, ExceptionLevel);
    std::uint64_t read_interrupts(unsigned, ExceptionLevel);
    void set_interrupts(unsigned, std::uint64_t, ExceptionLevel);
    void clear_interrupts(unsigned, std::uint64_t, ExceptionLevel);
    void write_swinc(unsigned, std::uint64_t, ExceptionLevel);
    std::uint64_t read_select(unsigned, ExceptionLevel);
    void write_select(unsigned, std::uint64_t, ExceptionLevel);
    std::uint64_t read_ceid(unsigned, ExceptionLevel);
    std::uint64_t read_cycles(unsigned, ExceptionLevel);
    void write_cycles(unsigned, std::uint64_t, ExceptionLevel);
    std::uint64_t read_counter(unsigned, ExceptionLevel);
    void write_counter(unsigned, std::uint64_t, ExceptionLevel);
    std::uint64_t read_type(unsigned, ExceptionLevel);
    void write_type(unsigned, std::uint64_t, ExceptionLevel);
    std::uint64_t read_cycle_filter(unsigned, ExceptionLevel);
    void write_cycle_filter(unsigned, std::uint64_t, ExceptionLevel);
    std::uint64_t read_selected_counter(unsigned, ExceptionLevel);
    void write_selected_counter(unsigned, std::uint64_t, ExceptionLevel);
    std::uint64_t read_selected_type(unsigned, ExceptionLevel);
    void write_selected_type(unsigned, std::uint64_t, ExceptionLevel);
    std::uint64_t read_userenr(unsigned, ExceptionLevel);
    void write_userenr(unsigned, std::uint64_t, ExceptionLevel);
    std::uint64_t read_mdcr_el2(unsigned, ExceptionLevel);
    void write_mdcr_el2(unsigned, std::uint64_t, ExceptionLevel);

    PmuConfig config_;
    CounterBank bank_;
    std::uint32_t select_{};
    std::uint32_t userenr_{};
};

/// The register table as a Markdown table, for the documentation.
std::string register_documentation();

} // namespace rkperf::pmu

// SPDX-License-Identifier: Apache-2.0
// The system-register bus of one core: hands each MRS and MSR to the unit that implements the register, and answers for
// the identification registers itself (Arm ARM D17.3). See sim/base/sysreg_bus.h for the conventions.
#pragma once

#include "sim/base/sysreg.h"
#include "sim/base/sysreg_bus.h"

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <cstdint>
#include <span>
#include <string_view>
#include <systemc>
#include <tlm>
#include <utility>
#include <vector>

namespace rkperf::soc {

/// The constant registers of a core, in any order.
using SysRegConstants = std::vector<std::pair<SysReg, std::uint64_t>>;

class SysRegRouter : public sc_core::sc_module {
  public:
    tlm_utils::simple_target_socket<SysRegRouter> core;
    tlm_utils::simple_initiator_socket<SysRegRouter> pmu;
    tlm_utils::simple_initiator_socket<SysRegRouter> gic;
    tlm_utils::simple_initiator_socket<SysRegRouter> timer;
    /// op0 = 2, and CONTEXTIDR_EL1. May stay unbound: then these registers are unknown.
    tlm_utils::simple_initiator_socket_optional<SysRegRouter> debug;

    /// Constants with op1 = 3 (CTR_EL0, DCZID_EL0) can be read at EL0; the others are UNDEFINED there, and the operating
    /// system emulates them. An identification register (op0 3, op1 0, CRn 0, CRm 1-7) that is not listed reads as zero,
    /// as the architecture says of the reserved ones. Writes are UNDEFINED.
    SysRegRouter(sc_core::sc_module_name name, SysRegConstants constants);

    enum class Unit : std::uint8_t { pmu, gic, timer, debug, constants, none };
    struct Range {
        SysReg first, last; ///< inclusive, in order of encoding
        Unit unit;
        std::string_view what;
    };
    /// The decode table, ascending, without overlaps.
    static std::span<const Range> ranges();
    static Unit unit_of(SysReg reg) { return units()[reg.encoding]; }

  private:
    void transport(tlm::tlm_generic_payload& trans, sc_core::sc_time& delay);
    void read_constant(SysReg reg, tlm::tlm_generic_payload& trans, SysRegExtension& ext) const;

    static const std::vector<Unit>& units(); ///< by encoding

    SysRegConstants constants_; ///< ascending
    const Unit* const units_ = units().data();
};

} // namespace rkperf::soc

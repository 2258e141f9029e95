// SPDX-License-Identifier: Apache-2.0
// TLM-2.0 conventions of the system-register bus of one core. Header only; used by SystemC rooms.
//
// A transaction is a tlm_generic_payload with address = SysReg::encoding * 8, 8 bytes of data, no byte enables, and a
// SysRegExtension. The delay argument of b_transport is the core's local time minus sc_time_stamp(); a target that
// needs "now" adds the two. Response status: TLM_OK_RESPONSE, or for an access that raises an exception in the core
// TLM_ADDRESS_ERROR_RESPONSE (nobody decodes the encoding) or TLM_COMMAND_ERROR_RESPONSE (decoded, not allowed);
// the extension's outcome says which exception.
#pragma once

#include "sim/base/sysreg.h"
#include "sim/base/types.h"

#include <systemc>
#include <tlm>

namespace rkperf {

struct SysRegExtension : tlm::tlm_extension<SysRegExtension> {
    ExceptionLevel el{ExceptionLevel::el1}; ///< exception level of the access
    CpuId cpu{};
    SysRegOutcome outcome{SysRegOutcome::ok}; ///< set by the target

    tlm::tlm_extension_base* clone() const override { return new SysRegExtension(*this); }
    void copy_from(const tlm::tlm_extension_base& o) override { *this = static_cast<const SysRegExtension&>(o); }
};

// The resolution is 1 ps.
inline sc_core::sc_time to_sc_time(Picoseconds t) { return sc_core::sc_time::from_value(t.v); }
inline Picoseconds to_picoseconds(const sc_core::sc_time& t) { return Picoseconds(t.value()); }

/// Local time of an initiator: SystemC time plus the transaction's delay.
inline Picoseconds local_time(const sc_core::sc_time& delay) {
    return Picoseconds(sc_core::sc_time_stamp().value() + delay.value());
}

} // namespace rkperf

// SPDX-License-Identifier: Apache-2.0
// A target's side of the system-register bus (sysreg_bus.h): taking a transaction apart and answering it.
#pragma once

#include "sim/base/sysreg_bus.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace rkperf {

/// What a transaction asks for.
struct SysRegRequest {
    SysReg reg;
    bool write{};
    std::uint64_t value{}; ///< of a write
    SysRegExtension& from;
};

/// Nothing, after a fatal report in the name of `target`, if the transaction does not keep to the bus's conventions.
inline std::optional<SysRegRequest> sysreg_request(const char* target, tlm::tlm_generic_payload& trans) {
    auto* ext = trans.get_extension<SysRegExtension>();
    if (!ext || trans.get_data_length() != sizeof(std::uint64_t)) {
        SC_REPORT_FATAL(target, "transaction is not a system-register access");
        return std::nullopt;
    }
    SysRegRequest request{SysReg{static_cast<std::uint16_t>(trans.get_address() / 8)}, trans.is_write(), 0, *ext};
    if (request.write) std::memcpy(&request.value, trans.get_data_ptr(), sizeof request.value);
    return request;
}

/// Answers with the outcome, and with `value` if a read succeeded. `decoded`: the encoding is one of the target's.
inline void sysreg_answer(tlm::tlm_generic_payload& trans, const SysRegRequest& request, bool decoded,
                          SysRegOutcome outcome, std::uint64_t value) {
    request.from.outcome = outcome;
    if (outcome != SysRegOutcome::ok) {
        trans.set_response_status(decoded ? tlm::TLM_COMMAND_ERROR_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
        return;
    }
    if (!request.write) std::memcpy(trans.get_data_ptr(), &value, sizeof value);
    trans.set_response_status(tlm::TLM_OK_RESPONSE);
}

} // namespace rkperf

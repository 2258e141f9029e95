// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/sysreg_router.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace rkperf::soc {

// clang-format off
std::span<const SysRegRouter::Range> SysRegRouter::ranges() {
    constexpr auto r = SysReg::make;
    static constexpr Range kRanges[] = {
        {r(2, 0, 0, 0, 0),   r(2, 7, 15, 15, 7), Unit::debug,     "debug registers"},
        {r(3, 0, 0, 0, 0),   r(3, 0, 0, 7, 7),   Unit::constants, "identification"},
        {r(3, 0, 4, 6, 0),   r(3, 0, 4, 6, 0),   Unit::gic,       "ICC_PMR_EL1"},
        {r(3, 0, 9, 14, 0),  r(3, 0, 9, 14, 7),  Unit::pmu,       "PMINTENSET_EL1, PMINTENCLR_EL1"},
        {r(3, 0, 12, 8, 0),  r(3, 0, 12, 12, 7), Unit::gic,       "ICC_*_EL1"},
        {r(3, 0, 13, 0, 1),  r(3, 0, 13, 0, 1),  Unit::debug,     "CONTEXTIDR_EL1"},
        {r(3, 0, 14, 1, 0),  r(3, 0, 14, 1, 0),  Unit::timer,     "CNTKCTL_EL1"},
        {r(3, 1, 0, 0, 0),   r(3, 1, 0, 0, 7),   Unit::constants, "cache identification"},
        {r(3, 3, 0, 0, 0),   r(3, 3, 0, 0, 7),   Unit::constants, "CTR_EL0, DCZID_EL0"},
        {r(3, 3, 9, 12, 0),  r(3, 3, 9, 14, 7),  Unit::pmu,       "PM*_EL0"},
        {r(3, 3, 14, 0, 0),  r(3, 3, 14, 3, 7),  Unit::timer,     "CNT*_EL0"},
        {r(3, 3, 14, 8, 0),  r(3, 3, 14, 15, 7), Unit::pmu,       "PMEVCNTRn_EL0, PMEVTYPERn_EL0, PMCCFILTR_EL0"},
        {r(3, 4, 1, 1, 1),   r(3, 4, 1, 1, 1),   Unit::pmu,       "MDCR_EL2"},
    };
    return kRanges;
}
// clang-format on

SysRegRouter::SysRegRouter(sc_core::sc_module_name name, SysRegConstants constants)
    : sc_module(name),
      core("core"),
      pmu("pmu"),
      gic("gic"),
      timer("timer"),
      debug("debug"),
      constants_(std::move(constants)) {
    std::sort(constants_.begin(), constants_.end());
    for (const auto& [reg, value] : constants_)
        if (const Unit unit = unit_of(reg); unit != Unit::constants && unit != Unit::none)
            SC_REPORT_FATAL(this->name(), "a constant register lies in the range of a unit");
    core.register_b_transport(this, &SysRegRouter::transport);
}

const std::vector<SysRegRouter::Unit>& SysRegRouter::units() {
    static const std::vector<Unit> all = [] {
        std::vector<Unit> of(std::size_t{1} << 16, Unit::none); // by encoding
        for (const Range& range : ranges())
            std::fill(of.begin() + range.first.encoding, of.begin() + range.last.encoding + 1, range.unit);
        return of;
    }();
    return all;
}

void SysRegRouter::read_constant(SysReg reg, tlm::tlm_generic_payload& trans, SysRegExtension& ext) const {
    const auto it = std::lower_bound(constants_.begin(), constants_.end(), reg,
                                     [](const auto& entry, SysReg x) { return entry.first < x; });
    const bool listed = it != constants_.end() && it->first == reg;
    const bool reserved = reg >= SysReg::make(3, 0, 0, 1, 0) && reg <= SysReg::make(3, 0, 0, 7, 7);
    ext.outcome = SysRegOutcome::undefined;
    if (!listed && !reserved) return trans.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    if (trans.is_write() || (ext.el == ExceptionLevel::el0 && reg.op1() != 3))
        return trans.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
    const std::uint64_t value = listed ? it->second : 0;
    std::memcpy(trans.get_data_ptr(), &value, sizeof value);
    ext.outcome = SysRegOutcome::ok;
    trans.set_response_status(tlm::TLM_OK_RESPONSE);
}

void SysRegRouter::transport(tlm::tlm_generic_payload& trans, sc_core::sc_time& delay) {
    // Units look at length and extension themselves.
    const std::uint64_t address = trans.get_address();
    const SysReg reg{static_cast<std::uint16_t>(address / 8)};
    const Unit unit = address % 8 == 0 && address / 8 <= 0xffff ? units_[reg.encoding] : Unit::none;
    switch (unit) {
        case Unit::pmu: return pmu->b_transport(trans, delay);
        case Unit::gic: return gic->b_transport(trans, delay);
        case Unit::timer: return timer->b_transport(trans, delay);
        case Unit::debug:
            if (debug.size() != 0) return debug->b_transport(trans, delay);
            break;
        case Unit::constants:
        case Unit::none: break;
    }
    auto* const ext = trans.get_extension<SysRegExtension>();
    if (!ext || trans.get_data_length() != sizeof(std::uint64_t) || address % 8 != 0 || address / 8 > 0xffff) {
        SC_REPORT_FATAL(name(), "transaction is not a system-register access");
        return;
    }
    if (unit != Unit::debug) return read_constant(reg, trans, *ext);
    ext->outcome = SysRegOutcome::undefined;
    trans.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

} // namespace rkperf::soc

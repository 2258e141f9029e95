// SPDX-License-Identifier: Apache-2.0
#include "models/pmu_v3/pmu_v3.h"

#include <cstring>

namespace rkperf::pmu {

PmuV3::PmuV3(sc_core::sc_module_name name, const PmuConfig& config, EventTotalsView& totals, LevelSink& irq)
    : sc_module(name), sysreg("sysreg"), totals_(totals), irq_(irq), registers_(config, totals) {
    sysreg.register_b_transport(this, &PmuV3::transport);
}

void PmuV3::tell_overflows() {
    const std::uint32_t flags = registers_.counters().overflowed();
    const std::uint32_t fresh = flags & ~flags_told_;
    flags_told_ = flags;
    if (!fresh) return;
    for (PmuListener* l : listeners_) l->overflowed(fresh, totals_.now());
}

void PmuV3::drive_line() {
    if (!listeners_.empty()) tell_overflows();
    const bool level = registers_.counters().line();
    if (level == line_) return;
    line_ = level;
    for (PmuListener* l : listeners_) l->line_changed(level, totals_.now());
    irq_.set_level(level, totals_.now());
}

void PmuV3::sync() {
    if (registers_.counters().fold()) totals_.rearm();
    drive_line();
}

std::span<const ArmedCounter> PmuV3::armed() {
    registers_.counters().fold();
    drive_line();
    return registers_.counters().armed();
}

void PmuV3::transport(tlm::tlm_generic_payload& trans, sc_core::sc_time&) {
    auto* ext = trans.get_extension<SysRegExtension>();
    if (!ext || trans.get_data_length() != sizeof(std::uint64_t)) {
        SC_REPORT_FATAL(name(), "transaction is not a system-register access");
        return;
    }
    const SysReg reg{static_cast<std::uint16_t>(trans.get_address() / 8)};
    const bool write = trans.is_write();
    std::uint64_t value = 0;
    if (write) std::memcpy(&value, trans.get_data_ptr(), sizeof value);
    const Registers::Access a = write ? registers_.write(reg, value, ext->el) : registers_.read(reg, ext->el);

    ext->outcome = a.outcome;
    if (a.outcome != SysRegOutcome::ok) {
        trap_target_ = a.target;
        trans.set_response_status(a.decoded ? tlm::TLM_COMMAND_ERROR_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
        return;
    }
    if (!write) std::memcpy(trans.get_data_ptr(), &a.value, sizeof a.value);
    trans.set_response_status(tlm::TLM_OK_RESPONSE);
    for (PmuListener* l : listeners_) l->register_accessed(reg, write, write ? value : a.value, totals_.now());
    drive_line(); // a read too may have folded a wrap in
    if (a.changes_counting) totals_.rearm();
}

} // namespace rkperf::pmu

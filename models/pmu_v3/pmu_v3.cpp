// SPDX-License-Identifier: Apache-2.0
#include "models/pmu_v3/pmu_v3.h"

#include "sim/base/sysreg_target.h"

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
    const auto request = sysreg_request(name(), trans);
    if (!request) return;
    const ExceptionLevel el = request->from.el;
    const Registers::Access a =
        request->write ? registers_.write(request->reg, request->value, el) : registers_.read(request->reg, el);
    sysreg_answer(trans, *request, a.decoded, a.outcome, a.value);
    if (a.outcome != SysRegOutcome::ok) {
        trap_target_ = a.target;
        return;
    }
    for (PmuListener* l : listeners_)
        l->register_accessed(request->reg, request->write, request->write ? request->value : a.value, totals_.now());
    drive_line(); // a read too may have folded a wrap in
    if (a.changes_counting) totals_.rearm();
}

} // namespace rkperf::pmu

// SPDX-License-Identifier: Apache-2.0
#include "models/timer/generic_timer.h"

#include "sim/base/sysreg_target.h"

#include <algorithm>

namespace rkperf::timer {

namespace {
constexpr std::uint64_t kPicosPerSecond = 1'000'000'000'000;
constexpr unsigned kVirtual = 0, kPhysical = 1;
} // namespace

// clang-format off
std::span<const GenericTimer::Row> GenericTimer::rows() {
    using T = GenericTimer;
    using namespace cntkctl;
    static constexpr Row kRows[] = {
        {"CNTKCTL_EL1",   sysreg::CNTKCTL_EL1,   true, true,  0,                   0,         &T::read_cntkctl,   &T::write_cntkctl},
        {"CNTFRQ_EL0",    sysreg::CNTFRQ_EL0,    true, false, EL0PCTEN | EL0VCTEN, 0,         &T::read_frequency, nullptr},
        {"CNTPCT_EL0",    sysreg::CNTPCT_EL0,    true, false, EL0PCTEN,            kPhysical, &T::read_count,     nullptr},
        {"CNTVCT_EL0",    sysreg::CNTVCT_EL0,    true, false, EL0VCTEN,            kVirtual,  &T::read_count,     nullptr},
        {"CNTP_TVAL_EL0", sysreg::CNTP_TVAL_EL0, true, true,  EL0PTEN,             kPhysical, &T::read_tval,      &T::write_tval},
        {"CNTP_CTL_EL0",  sysreg::CNTP_CTL_EL0,  true, true,  EL0PTEN,             kPhysical, &T::read_ctl,       &T::write_ctl},
        {"CNTP_CVAL_EL0", sysreg::CNTP_CVAL_EL0, true, true,  EL0PTEN,             kPhysical, &T::read_cval,      &T::write_cval},
        {"CNTV_TVAL_EL0", sysreg::CNTV_TVAL_EL0, true, true,  EL0VTEN,             kVirtual,  &T::read_tval,      &T::write_tval},
        {"CNTV_CTL_EL0",  sysreg::CNTV_CTL_EL0,  true, true,  EL0VTEN,             kVirtual,  &T::read_ctl,       &T::write_ctl},
        {"CNTV_CVAL_EL0", sysreg::CNTV_CVAL_EL0, true, true,  EL0VTEN,             kVirtual,  &T::read_cval,      &T::write_cval},
    };
    return kRows;
}
// clang-format on

GenericTimer::GenericTimer(sc_core::sc_module_name name, const TimerConfig& config, LevelSink& virtual_ppi,
                           LevelSink& physical_ppi)
    : sc_module(name), sysreg("sysreg"), config_(config) {
    timers_[kVirtual].sink = &virtual_ppi;
    timers_[kPhysical].sink = &physical_ppi;
    sysreg.register_b_transport(this, &GenericTimer::transport);
}

std::uint64_t GenericTimer::count_at(Picoseconds t) const {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(t.v) * config_.hertz / kPicosPerSecond);
}

Picoseconds GenericTimer::time_of(std::uint64_t count) const {
    const unsigned __int128 ps =
        (static_cast<unsigned __int128>(count) * kPicosPerSecond + config_.hertz - 1) / config_.hertz;
    return ps >= kNever.v ? kNever : Picoseconds(static_cast<std::uint64_t>(ps));
}

bool GenericTimer::wanted(const Timer& timer, Picoseconds t) const {
    return (timer.ctl & (cnt_ctl::ENABLE | cnt_ctl::IMASK)) == cnt_ctl::ENABLE && met(timer, t);
}

Picoseconds GenericTimer::deadline(const Timer& timer) const {
    if (timer.line || (timer.ctl & (cnt_ctl::ENABLE | cnt_ctl::IMASK)) != cnt_ctl::ENABLE) return kNever;
    return timer.met_at;
}

void GenericTimer::changed() { next_ = std::min(deadline(timers_[0]), deadline(timers_[1])); }

void GenericTimer::drive(Timer& timer, bool level, Picoseconds t) {
    const bool same = level == timer.line;
    timer.line = level;
    changed();
    if (!same) timer.sink->set_level(level, t);
}

void GenericTimer::advance_to(Picoseconds t) {
    // In order of time, so that whoever listens sees the earlier one first.
    while (next_deadline() <= t && next_deadline() != kNever) {
        Timer& timer =
            deadline(timers_[kVirtual]) <= deadline(timers_[kPhysical]) ? timers_[kVirtual] : timers_[kPhysical];
        drive(timer, true, deadline(timer));
    }
}

// The 32-bit down-counting view: CVAL - count.
std::uint64_t GenericTimer::read_tval(unsigned timer, Picoseconds t) const {
    return static_cast<std::uint32_t>(timers_[timer].cval - count_at(t));
}

std::uint64_t GenericTimer::read_ctl(unsigned timer, Picoseconds t) const {
    const Timer& x = timers_[timer];
    return x.ctl | ((x.ctl & cnt_ctl::ENABLE) && met(x, t) ? cnt_ctl::ISTATUS : 0);
}

void GenericTimer::write_tval(unsigned timer, std::uint64_t value, Picoseconds t) {
    const auto offset = static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(value)));
    write_cval(timer, count_at(t) + static_cast<std::uint64_t>(offset), t);
}

void GenericTimer::write_cval(unsigned timer, std::uint64_t value, Picoseconds t) {
    Timer& x = timers_[timer];
    x.cval = value;
    x.met_at = time_of(value);
    drive(x, wanted(x, t), t);
}

void GenericTimer::write_ctl(unsigned timer, std::uint64_t value, Picoseconds t) {
    Timer& x = timers_[timer];
    x.ctl = static_cast<std::uint32_t>(value) & (cnt_ctl::ENABLE | cnt_ctl::IMASK);
    drive(x, wanted(x, t), t);
}

void GenericTimer::write_cntkctl(unsigned, std::uint64_t value, Picoseconds) {
    cntkctl_ = static_cast<std::uint32_t>(value) & cntkctl::kStored;
}

void GenericTimer::transport(tlm::tlm_generic_payload& trans, sc_core::sc_time& delay) {
    const auto request = sysreg_request(name(), trans);
    if (!request) return;
    const Row* row = nullptr;
    for (const Row& r : rows())
        if (r.reg == request->reg) row = &r;
    const auto refuse = [&](SysRegOutcome outcome) { sysreg_answer(trans, *request, row != nullptr, outcome, 0); };
    if (!row) return refuse(SysRegOutcome::undefined);
    if (request->write ? !row->writable : !row->readable) return refuse(SysRegOutcome::undefined);
    if (request->from.el == ExceptionLevel::el0) {
        if (!row->el0_bits) return refuse(SysRegOutcome::undefined);
        if (!(cntkctl_ & row->el0_bits)) return refuse(SysRegOutcome::trap_el1);
    }

    const Picoseconds now = local_time(delay);
    advance_to(now);
    std::uint64_t value = 0;
    if (request->write)
        (this->*row->write)(row->timer, request->value, now);
    else
        value = (this->*row->read)(row->timer, now);
    sysreg_answer(trans, *request, true, SysRegOutcome::ok, value);
}

} // namespace rkperf::timer

// SPDX-License-Identifier: Apache-2.0
#include "models/pmu_v3/registers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rkperf::pmu {

namespace {

constexpr unsigned kMaxEventCounters = 31;
constexpr unsigned kSelectMask = 31;

constexpr std::uint32_t low32(std::uint64_t v) { return static_cast<std::uint32_t>(v); }

template <auto R>
constexpr SysReg fixed(unsigned) {
    return R;
}
constexpr SysReg ceid(unsigned n) { return n ? sysreg::PMCEID1_EL0 : sysreg::PMCEID0_EL0; }

} // namespace

// clang-format off
std::span<const Registers::Row> Registers::rows() {
    using R = Registers;
    using D = Direction;
    constexpr bool kCounting = true, kQuiet = false;
    static constexpr Row kRows[] = {
        {"PMINTENSET_EL1",    fixed<sysreg::PMINTENSET_EL1>, 1, D::read_write, Rule::el1,            0, kCounting, &R::read_interrupts,      &R::set_interrupts,         "writing 1 enables the overflow interrupt"},
        {"PMINTENCLR_EL1",    fixed<sysreg::PMINTENCLR_EL1>, 1, D::read_write, Rule::el1,            0, kCounting, &R::read_interrupts,      &R::clear_interrupts,       "writing 1 disables the overflow interrupt"},
        {"PMCR_EL0",          fixed<sysreg::PMCR_EL0>,       1, D::read_write, Rule::user_enable,    0, kCounting, &R::read_pmcr,            &R::write_pmcr,             "E P C D X DP LC; IMP, IDCODE, N read-only"},
        {"PMCNTENSET_EL0",    fixed<sysreg::PMCNTENSET_EL0>, 1, D::read_write, Rule::user_enable,    0, kCounting, &R::read_enabled,         &R::set_enabled,            "writing 1 enables the counter"},
        {"PMCNTENCLR_EL0",    fixed<sysreg::PMCNTENCLR_EL0>, 1, D::read_write, Rule::user_enable,    0, kCounting, &R::read_enabled,         &R::clear_enabled,          "writing 1 disables the counter"},
        {"PMOVSCLR_EL0",      fixed<sysreg::PMOVSCLR_EL0>,   1, D::read_write, Rule::user_enable,    0, kCounting, &R::read_overflowed,      &R::clear_overflowed,       "writing 1 clears the overflow flag"},
        {"PMSWINC_EL0",       fixed<sysreg::PMSWINC_EL0>,    1, D::write_only, Rule::user_increment, 0, kCounting, nullptr,                  &R::write_swinc,            "writing 1 counts one SW_INCR on that counter"},
        {"PMSELR_EL0",        fixed<sysreg::PMSELR_EL0>,     1, D::read_write, Rule::user_select,    0, kQuiet,    &R::read_select,          &R::write_select,           "SEL 4:0"},
        {"PMCEID<n>_EL0",     ceid,                          2, D::read_only,  Rule::user_enable,    0, kQuiet,    &R::read_ceid,            nullptr,                    "common events implemented"},
        {"PMCCNTR_EL0",       fixed<sysreg::PMCCNTR_EL0>,    1, D::read_write, Rule::user_cycles,    0, kCounting, &R::read_cycles,          &R::write_cycles,           "64 bits"},
        {"PMXEVTYPER_EL0",    fixed<sysreg::PMXEVTYPER_EL0>, 1, D::read_write, Rule::user_enable,    0, kCounting, &R::read_selected_type,   &R::write_selected_type,    "PMEVTYPER<SEL>, or PMCCFILTR if SEL is 31"},
        {"PMXEVCNTR_EL0",     fixed<sysreg::PMXEVCNTR_EL0>,  1, D::read_write, Rule::user_counters,  0, kCounting, &R::read_selected_counter, &R::write_selected_counter, "PMEVCNTR<SEL>"},
        {"PMUSERENR_EL0",     fixed<sysreg::PMUSERENR_EL0>,  1, D::read_write, Rule::user_read,      0, kQuiet,    &R::read_userenr,         &R::write_userenr,          "EN SW CR ER"},
        {"PMOVSSET_EL0",      fixed<sysreg::PMOVSSET_EL0>,   1, D::read_write, Rule::user_enable,    0, kCounting, &R::read_overflowed,      &R::set_overflowed,         "writing 1 sets the overflow flag"},
        {"PMEVCNTR<n>_EL0",   sysreg::PMEVCNTR_EL0, kMaxEventCounters, D::read_write, Rule::user_counters, 0, kCounting, &R::read_counter,   &R::write_counter,          "32 bits"},
        {"PMEVTYPER<n>_EL0",  sysreg::PMEVTYPER_EL0, kMaxEventCounters, D::read_write, Rule::user_enable,  0, kCounting, &R::read_type,      &R::write_type,             "P U NSK NSU NSH M MT, evtCount 15:0"},
        {"PMCCFILTR_EL0",     fixed<sysreg::PMCCFILTR_EL0>,  1, D::read_write, Rule::user_enable,    0, kCounting, &R::read_cycle_filter,    &R::write_cycle_filter,     "P U NSK NSU NSH M"},
        {"MDCR_EL2",          fixed<MDCR_EL2>,               1, D::read_write, Rule::el2,            0, kCounting, &R::read_mdcr_el2,        &R::write_mdcr_el2,         "HPMN TPMCR TPM HPME HPMD; HPMN resets to N"},
    };
    return kRows;
}
// clang-format on

Registers::Registers(const PmuConfig& config, EventTotalsView& totals)
    : config_(config), bank_(config.pmcr_ro >> 11 & 31, totals) {
    CountControls controls;
    controls.mdcr_el2 = (config.mdcr_el2 & mdcr_el2::kStored & ~mdcr_el2::HPMN) | bank_.implemented();
    controls.el3_allowed = (config.mdcr_el3 & mdcr_el3::SPME) != 0;
    bank_.set_controls(controls);
}

Registers::Decoded Registers::decode(SysReg reg) {
    struct Entry {
        std::uint16_t encoding;
        std::uint8_t row, n;
    };
    static const auto kEntries = [] {
        std::array<Entry, 96> table{};
        std::size_t count = 0;
        for (std::size_t r = 0; r < rows().size(); ++r)
            for (unsigned n = 0; n < rows()[r].count; ++n)
                table[count++] = {rows()[r].encoding(n).encoding, static_cast<std::uint8_t>(r),
                                  static_cast<std::uint8_t>(n)};
        std::fill(table.begin() + static_cast<std::ptrdiff_t>(count), table.end(), Entry{0xffff, 0, 0});
        std::sort(table.begin(), table.end(), [](const Entry& a, const Entry& b) { return a.encoding < b.encoding; });
        return table;
    }();
    const auto it = std::lower_bound(kEntries.begin(), kEntries.end(), reg.encoding,
                                     [](const Entry& e, std::uint16_t code) { return e.encoding < code; });
    if (it == kEntries.end() || it->encoding != reg.encoding || reg.encoding == 0xffff) return {};
    return {&rows()[it->row], it->n};
}

// PMUV3-047: below HPMN at EL0 and EL1, all at EL2 and EL3.
unsigned Registers::visible_counters(ExceptionLevel el) const {
    if (el >= ExceptionLevel::el2) return bank_.implemented();
    return std::min<unsigned>(bank_.controls().mdcr_el2 & mdcr_el2::HPMN, bank_.implemented());
}

std::uint32_t Registers::visible_mask(ExceptionLevel el) const {
    return ((1u << visible_counters(el)) - 1) | kCycleBit;
}

// Accesses to counters that do not exist are constrained unpredictable; here UNDEFINED (PMUV3-049).
bool Registers::counter_exists(const Decoded& d, ExceptionLevel el) const {
    if (d.row->count == kMaxEventCounters) return d.n < visible_counters(el);
    const SysReg reg = d.row->encoding(d.n);
    if (reg == sysreg::PMXEVCNTR_EL0) return select_ < visible_counters(el);
    if (reg == sysreg::PMXEVTYPER_EL0) return select_ < visible_counters(el) || select_ == kCycleCounter;
    return true;
}

// The order of the checks is the architecture's: allocated at this level at all, PMUSERENR_EL0, then the traps of the
// hypervisor and the firmware (PMUV3-067), then the counter's existence.
Registers::Access Registers::check(const Decoded& d, bool write, ExceptionLevel el) const {
    Access a;
    a.decoded = d.row != nullptr;
    const auto refuse = [&a](SysRegOutcome outcome, ExceptionLevel target) {
        a.outcome = outcome;
        a.target = target;
        return a;
    };
    const auto undefined = [&] { return refuse(SysRegOutcome::undefined, ExceptionLevel::el1); };
    if (!d.row) return undefined();
    const Row& row = *d.row;
    if (write ? row.direction == Direction::read_only : row.direction == Direction::write_only) return undefined();
    if (row.rule == Rule::el2) return el >= ExceptionLevel::el2 ? a : undefined();
    if (el == ExceptionLevel::el0) {
        std::uint32_t opens = pmuserenr::EN;
        switch (row.rule) {
            case Rule::el2:
            case Rule::el1: return undefined();
            case Rule::user_read:
                if (write) return undefined();
                opens = 0;
                break;
            case Rule::user_enable: break;
            case Rule::user_cycles: opens |= write ? 0 : pmuserenr::CR; break;
            case Rule::user_counters: opens |= write ? 0 : pmuserenr::ER; break;
            case Rule::user_select: opens |= pmuserenr::ER; break;
            case Rule::user_increment: opens |= pmuserenr::SW; break;
        }
        if (opens && !(userenr_ & opens)) return refuse(SysRegOutcome::trap_el1, ExceptionLevel::el1);
    }
    const std::uint32_t el2 = bank_.controls().mdcr_el2;
    const bool is_pmcr = row.encoding(d.n) == sysreg::PMCR_EL0;
    if (el < ExceptionLevel::el2 && (el2 & mdcr_el2::TPM || (is_pmcr && el2 & mdcr_el2::TPMCR)))
        return refuse(SysRegOutcome::trap_el1, ExceptionLevel::el2);
    if (el < ExceptionLevel::el3 && config_.mdcr_el3 & mdcr_el3::TPM)
        return refuse(SysRegOutcome::trap_el1, ExceptionLevel::el3);
    if (!counter_exists(d, el)) return undefined();
    return a;
}

Registers::Access Registers::read(SysReg reg, ExceptionLevel el) {
    const Decoded d = decode(reg);
    Access a = check(d, false, el);
    if (a.outcome == SysRegOutcome::ok) a.value = (this->*d.row->read)(d.n, el);
    return a;
}

Registers::Access Registers::write(SysReg reg, std::uint64_t value, ExceptionLevel el) {
    const Decoded d = decode(reg);
    Access a = check(d, true, el);
    if (a.outcome != SysRegOutcome::ok) return a;
    a.changes_counting = d.row->changes_counting;
    if (a.changes_counting) bank_.fold();
    (this->*d.row->write)(d.n, value, el);
    return a;
}

std::uint64_t Registers::read_pmcr(unsigned, ExceptionLevel el) {
    constexpr std::uint32_t kN = 31u << 11;
    return (config_.pmcr_ro & ~kN & ~0xffu) | visible_counters(el) << 11 | bank_.controls().pmcr;
}

void Registers::write_pmcr(unsigned, std::uint64_t value, ExceptionLevel el) {
    if (value & pmcr::P)
        for (unsigned n = 0; n < visible_counters(el); ++n) bank_.set_value(n, 0);
    if (value & pmcr::C) {
        bank_.set_value(kCycleCounter, 0);
        bank_.restart_divider();
    }
    CountControls controls = bank_.controls();
    controls.pmcr = low32(value) & pmcr::kStored;
    bank_.set_controls(controls);
}

std::uint64_t Registers::read_enabled(unsigned, ExceptionLevel el) { return bank_.enabled() & visible_mask(el); }
void Registers::set_enabled(unsigned, std::uint64_t value, ExceptionLevel el) {
    bank_.set_enabled(bank_.enabled() | (low32(value) & visible_mask(el)));
}
void Registers::clear_enabled(unsigned, std::uint64_t value, ExceptionLevel el) {
    bank_.set_enabled(bank_.enabled() & ~(low32(value) & visible_mask(el)));
}

std::uint64_t Registers::read_overflowed(unsigned, ExceptionLevel el) {
    bank_.fold();
    return bank_.overflowed() & visible_mask(el);
}
void Registers::set_overflowed(unsigned, std::uint64_t value, ExceptionLevel el) {
    bank_.set_overflowed(bank_.overflowed() | (low32(value) & visible_mask(el)));
}
void Registers::clear_overflowed(unsigned, std::uint64_t value, ExceptionLevel el) {
    bank_.set_overflowed(bank_.overflowed() & ~(low32(value) & visible_mask(el)));
}

std::uint64_t Registers::read_interrupts(unsigned, ExceptionLevel el) { return bank_.interrupts() & visible_mask(el); }
void Registers::set_interrupts(unsigned, std::uint64_t value, ExceptionLevel el) {
    bank_.set_interrupts(bank_.interrupts() | (low32(value) & visible_mask(el)));
}
void Registers::clear_interrupts(unsigned, std::uint64_t value, ExceptionLevel el) {
    bank_.set_interrupts(bank_.interrupts() & ~(low32(value) & visible_mask(el)));
}

void Registers::write_swinc(unsigned, std::uint64_t value, ExceptionLevel el) {
    bank_.software_increment(low32(value) & visible_mask(el), el);
}

std::uint64_t Registers::read_select(unsigned, ExceptionLevel) { return select_; }
void Registers::write_select(unsigned, std::uint64_t value, ExceptionLevel) { select_ = low32(value) & kSelectMask; }

std::uint64_t Registers::read_ceid(unsigned n, ExceptionLevel) { return n ? config_.pmceid1 : config_.pmceid0; }

std::uint64_t Registers::read_cycles(unsigned, ExceptionLevel) { return bank_.value(kCycleCounter); }
void Registers::write_cycles(unsigned, std::uint64_t value, ExceptionLevel) { bank_.set_value(kCycleCounter, value); }

std::uint64_t Registers::read_counter(unsigned n, ExceptionLevel) { return bank_.value(n); }
void Registers::write_counter(unsigned n, std::uint64_t value, ExceptionLevel) { bank_.set_value(n, value); }

std::uint64_t Registers::read_type(unsigned n, ExceptionLevel) { return bank_.type(n); }
void Registers::write_type(unsigned n, std::uint64_t value, ExceptionLevel) {
    bank_.set_type(n, low32(value) & (evtyper::kFilter | evtyper::MT | evtyper::kEvent));
}
std::uint64_t Registers::read_cycle_filter(unsigned, ExceptionLevel) { return bank_.type(kCycleCounter); }
void Registers::write_cycle_filter(unsigned, std::uint64_t value, ExceptionLevel) {
    bank_.set_type(kCycleCounter, low32(value) & evtyper::kFilter);
}

std::uint64_t Registers::read_selected_counter(unsigned, ExceptionLevel el) { return read_counter(select_, el); }
void Registers::write_selected_counter(unsigned, std::uint64_t value, ExceptionLevel el) {
    write_counter(select_, value, el);
}
std::uint64_t Registers::read_selected_type(unsigned, ExceptionLevel) { return bank_.type(select_); }
void Registers::write_selected_type(unsigned, std::uint64_t value, ExceptionLevel el) {
    select_ == kCycleCounter ? write_cycle_filter(0, value, el) : write_type(select_, value, el);
}

std::uint64_t Registers::read_userenr(unsigned, ExceptionLevel) { return userenr_; }
void Registers::write_userenr(unsigned, std::uint64_t value, ExceptionLevel) {
    userenr_ = low32(value) & pmuserenr::kStored;
}

std::uint64_t Registers::read_mdcr_el2(unsigned, ExceptionLevel) { return bank_.controls().mdcr_el2; }
void Registers::write_mdcr_el2(unsigned, std::uint64_t value, ExceptionLevel) {
    CountControls controls = bank_.controls();
    controls.mdcr_el2 = low32(value) & mdcr_el2::kStored;
    bank_.set_controls(controls);
}

std::string register_documentation() {
    constexpr std::array<std::string_view, 3> kDirections{"RO", "WO", "RW"};
    constexpr std::array<std::string_view, 8> kRules{"EL2",          "EL1",    "EN",     "EN; reads CR",
                                                     "EN; reads ER", "EN, ER", "EN, SW", "reads always"};
    std::string text =
        "| register | encoding (op0 op1 CRn CRm op2) | access | EL0 (PMUSERENR_EL0) | reset | note |\n"
        "| --- | --- | --- | --- | --- | --- |\n";
    for (const Registers::Row& row : Registers::rows()) {
        const auto code = [](SysReg r) {
            return fmt::format("{} {} {} {} {}", r.op0(), r.op1(), r.crn(), r.crm(), r.op2());
        };
        std::string encoding = code(row.encoding(0));
        if (row.count > 1) encoding += " to " + code(row.encoding(row.count - 1));
        text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", row.name, encoding,
                            kDirections[static_cast<unsigned>(row.direction)],
                            row.rule == Rule::el1 || row.rule == Rule::el2
                                ? fmt::format("from {}", kRules[static_cast<unsigned>(row.rule)])
                                : std::string(kRules[static_cast<unsigned>(row.rule)]),
                            row.reset, row.note);
    }
    return text;
}

} // namespace rkperf::pmu

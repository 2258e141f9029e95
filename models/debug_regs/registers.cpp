// SPDX-License-Identifier: Apache-2.0
#include "models/debug_regs/registers.h"

#include <fmt/format.h>

#include <vector>

namespace rkperf::debug {

namespace {

constexpr std::uint32_t low32(std::uint64_t v) { return static_cast<std::uint32_t>(v); }

template <auto R>
constexpr SysReg fixed(unsigned) {
    return R;
}

/// Fields of the control registers (DBG-002, DBG-003); the others are RES0.
constexpr std::uint32_t kBcrFields = 0x00ffe1e7, kWcrFields = 0x1f1fffff;
/// Fields of MDSCR_EL1 that hold a value while the OS lock is open; those for saving are writable only while it is locked.
constexpr std::uint32_t kMdscrOpen = mdscr::SS | mdscr::TDCC | mdscr::KDE | mdscr::HDE | mdscr::MDE;
constexpr std::uint32_t kMdscrSaved = 0x6ce00040;
/// VA[63:2] of the value registers; bits 1:0 are RES0. Context types use the low ones too.
constexpr std::uint64_t kAddressBits = ~std::uint64_t{3};
constexpr std::uint32_t kMdccintFields = 0x60000000;

constexpr std::uint64_t kUnknownControl = 1;
constexpr std::uint64_t kUnknownMdscr = mdscr::SS | mdscr::KDE | mdscr::MDE;

} // namespace

// clang-format off
std::span<const Registers::Row> Registers::rows() {
    using R = Registers;
    using D = Direction;
    using G = Group;
    constexpr bool kMatching = true, kQuiet = false, kUser = true, kNoUser = false;
    static constexpr Row kRows[] = {
        {"DBGBVR<n>_EL1",     sysreg::DBGBVR_EL1, kBreakpoints,         D::read_write, G::debug,   kNoUser, 0, kMatching, &R::read_bvr, &R::write_bvr, "VA 63:2, or context"},
        {"DBGBCR<n>_EL1",     sysreg::DBGBCR_EL1, kBreakpoints,         D::read_write, G::debug,   kNoUser, kUnknownControl, kMatching, &R::read_bcr, &R::write_bcr, "E PMC BAS HMC SSC LBN BT"},
        {"DBGWVR<n>_EL1",     sysreg::DBGWVR_EL1, kWatchpoints,         D::read_write, G::debug,   kNoUser, 0, kMatching, &R::read_wvr, &R::write_wvr, "VA 63:2"},
        {"DBGWCR<n>_EL1",     sysreg::DBGWCR_EL1, kWatchpoints,         D::read_write, G::debug,   kNoUser, kUnknownControl, kMatching, &R::read_wcr, &R::write_wcr, "E PAC LSC BAS HMC SSC LBN WT MASK"},
        {"MDCCINT_EL1",       fixed<sysreg::MDCCINT_EL1>, 1,            D::read_write, G::debug,   kNoUser, 0, kQuiet, &R::read_mdccint, &R::write_mdccint, "RX TX; there is no debugger on the other side"},
        {"MDSCR_EL1",         fixed<sysreg::MDSCR_EL1>, 1,              D::read_write, G::debug,   kNoUser, kUnknownMdscr, kMatching, &R::read_mdscr, &R::write_mdscr, "SS TDCC KDE HDE MDE"},
        {"MDRAR_EL1",         fixed<sysreg::MDRAR_EL1>, 1,              D::read_only,  G::rom,     kNoUser, 0, kQuiet, &R::read_zero, nullptr, "no ROM table"},
        {"OSLAR_EL1",         fixed<sysreg::OSLAR_EL1>, 1,              D::write_only, G::os_lock, kNoUser, 0, kMatching, nullptr, &R::write_oslar, "OSLK"},
        {"OSLSR_EL1",         fixed<sysreg::OSLSR_EL1>, 1,              D::read_only,  G::os_lock, kNoUser, 0, kQuiet, &R::read_oslsr, nullptr, "OSLM 10, OSLK; locked at a cold reset"},
        {"OSDLR_EL1",         fixed<sysreg::OSDLR_EL1>, 1,              D::read_write, G::os_lock, kNoUser, 0, kMatching, &R::read_osdlr, &R::write_osdlr, "DLK"},
        {"DBGPRCR_EL1",       fixed<sysreg::DBGPRCR_EL1>, 1,            D::read_write, G::os_lock, kNoUser, 0, kMatching, &R::read_prcr, &R::write_prcr, "CORENPDRQ"},
        {"DBGCLAIMSET_EL1",   fixed<sysreg::DBGCLAIMSET_EL1>, 1,        D::read_write, G::debug,   kNoUser, 0, kQuiet, &R::read_claimset, &R::set_claim, "writing 1 sets a claim tag"},
        {"DBGCLAIMCLR_EL1",   fixed<sysreg::DBGCLAIMCLR_EL1>, 1,        D::read_write, G::debug,   kNoUser, 0, kQuiet, &R::read_claimclr, &R::clear_claim, "writing 1 clears a claim tag"},
        {"DBGAUTHSTATUS_EL1", fixed<sysreg::DBGAUTHSTATUS_EL1>, 1,      D::read_only,  G::debug,   kNoUser, 0, kQuiet, &R::read_authstatus, nullptr, "Non-secure debug allowed"},
        {"MDCCSR_EL0",        fixed<sysreg::MDCCSR_EL0>, 1,             D::read_only,  G::debug,   kUser,   0, kQuiet, &R::read_zero, nullptr, "nothing received, nothing to send"},
        {"CONTEXTIDR_EL1",    fixed<sysreg::CONTEXTIDR_EL1>, 1,         D::read_write, G::context, kNoUser, 0, kMatching, &R::read_contextidr, &R::write_contextidr, "PROCID"},
    };
    return kRows;
}
// clang-format on

Registers::Registers(const DebugConfig& config) : config_(config) {
    for (const Row& row : rows())
        for (unsigned n = 0; n < row.count && row.write && row.reset; ++n) (this->*row.write)(n, row.reset);
    warm_reset();
}

void Registers::warm_reset() {
    state_.mdscr = static_cast<std::uint32_t>(kUnknownMdscr);
    state_.os_lock = true;
    state_.double_lock = state_.no_powerdown = false;
    state_.e2h = config_.e2h;
    state_.tge = config_.tge;
    state_.tde = config_.mdcr_el2 & mdcr_el2::TDE;
    state_.contextidr_el1 = 0;
}

void Registers::write_bvr(unsigned n, std::uint64_t v) { state_.bp[n].value = v; }
void Registers::write_bcr(unsigned n, std::uint64_t v) { state_.bp[n].control = low32(v) & kBcrFields; }
void Registers::write_wvr(unsigned n, std::uint64_t v) { state_.wp[n].value = v & kAddressBits; }
void Registers::write_wcr(unsigned n, std::uint64_t v) { state_.wp[n].control = low32(v) & kWcrFields; }

void Registers::write_mdscr(unsigned, std::uint64_t v) {
    const std::uint32_t fields = state_.os_lock ? kMdscrOpen | kMdscrSaved : kMdscrOpen;
    state_.mdscr = (state_.mdscr & ~fields) | (low32(v) & fields);
}

void Registers::write_mdccint(unsigned, std::uint64_t v) { mdccint_ = low32(v) & kMdccintFields; }
void Registers::write_oslar(unsigned, std::uint64_t v) { state_.os_lock = v & 1; }

std::uint64_t Registers::read_oslsr(unsigned) {
    constexpr std::uint64_t kOslm = 1u << 3, kOslk = 1u << 1;
    return kOslm | (state_.os_lock ? kOslk : 0);
}

void Registers::write_osdlr(unsigned, std::uint64_t v) { state_.double_lock = v & 1; }
void Registers::write_prcr(unsigned, std::uint64_t v) { state_.no_powerdown = v & 1; }
void Registers::set_claim(unsigned, std::uint64_t v) { claim_ |= low32(v) & 0xff; }
void Registers::clear_claim(unsigned, std::uint64_t v) { claim_ &= ~low32(v); }
std::uint64_t Registers::read_authstatus(unsigned) { return 0x0f; }
void Registers::write_contextidr(unsigned, std::uint64_t v) { state_.contextidr_el1 = low32(v); }

const Registers::Row* Registers::decode(SysReg reg, unsigned& n) {
    struct Place {
        const Row* row;
        unsigned n;
    };
    struct Index {
        std::vector<Place> places{{nullptr, 0}};
        std::vector<std::uint8_t> of = std::vector<std::uint8_t>(std::size_t{1} << 16); ///< by encoding
    };
    static const Index index = [] {
        Index made;
        for (const Row& row : rows())
            for (unsigned i = 0; i < row.count; ++i) {
                std::uint8_t& place = made.of[row.encoding(i).encoding];
                if (place) continue;
                place = static_cast<std::uint8_t>(made.places.size());
                made.places.push_back({&row, i});
            }
        return made;
    }();
    const Place& p = index.places[index.of[reg.encoding]];
    n = p.n;
    return p.row;
}

Registers::Access Registers::check(const Row* row, bool write, ExceptionLevel el) const {
    Access a;
    a.outcome = SysRegOutcome::undefined;
    if (!row) return a;
    a.decoded = true;
    if (el == ExceptionLevel::el0 && !row->user) return a;
    if (row->direction == (write ? Direction::read_only : Direction::write_only)) return a;
    if (el == ExceptionLevel::el0 && (state_.mdscr & mdscr::TDCC)) {
        a.outcome = SysRegOutcome::trap_el1;
        return a;
    }
    std::uint32_t trap = 0;
    switch (row->group) {
        case Group::debug: trap = mdcr_el2::TDA | mdcr_el2::TDE; break;
        case Group::os_lock: trap = mdcr_el2::TDOSA | mdcr_el2::TDE; break;
        case Group::rom: trap = mdcr_el2::TDRA | mdcr_el2::TDE; break;
        case Group::context: break;
    }
    if (el < ExceptionLevel::el2 && (config_.mdcr_el2 & trap)) {
        a.outcome = SysRegOutcome::trap_el1;
        a.target = ExceptionLevel::el2;
        return a;
    }
    a.outcome = SysRegOutcome::ok;
    a.changes_matching = write && row->changes_matching;
    return a;
}

Registers::Access Registers::read(SysReg reg, ExceptionLevel el) {
    unsigned n = 0;
    const Row* row = decode(reg, n);
    Access a = check(row, false, el);
    if (a.outcome == SysRegOutcome::ok) a.value = (this->*row->read)(n);
    return a;
}

Registers::Access Registers::write(SysReg reg, std::uint64_t value, ExceptionLevel el) {
    unsigned n = 0;
    const Row* row = decode(reg, n);
    const Access a = check(row, true, el);
    if (a.outcome == SysRegOutcome::ok) (this->*row->write)(n, value);
    return a;
}

std::string register_documentation() {
    std::string out = "| register | op0 op1 CRn CRm op2 | access | EL0 | fields |\n| --- | --- | --- | --- | --- |\n";
    for (const Registers::Row& r : Registers::rows()) {
        const SysReg e = r.encoding(0);
        const std::string crm = r.count > 1 ? std::string("n") : std::to_string(e.crm());
        const char* access = r.direction == Direction::read_only    ? "RO"
                             : r.direction == Direction::write_only ? "WO"
                                                                    : "RW";
        out += fmt::format("| {} | {} {} {} {} {} | {} | {} | {} |\n", r.name, e.op0(), e.op1(), e.crn(), crm, e.op2(),
                           access, r.user ? "unless TDCC" : "no", r.note);
    }
    return out;
}

} // namespace rkperf::debug

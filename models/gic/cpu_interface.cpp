// SPDX-License-Identifier: Apache-2.0
#include "models/gic/cpu_interface.h"

#include <algorithm>

namespace rkperf::gic {

namespace {

constexpr std::uint8_t kPriorityMask = 0xF8; // five bits
constexpr std::uint8_t kIdle = 0xFF;
// The smallest binary points that five bits of group priority allow, for Group 0 and Group 1.
constexpr std::array<std::uint8_t, 2> kMinBpr{2, 3};
constexpr std::uint64_t kCtlrConstant = 4u << 8 | 1u << 15; // PRIbits 5 - 1, A3V
constexpr std::uint64_t kSreConstant = 7;                   // DIB, DFB, SRE: system registers only
constexpr unsigned kIntidMask = 0xffffff;

} // namespace

// clang-format off
std::span<const CpuInterface::Row> CpuInterface::rows() {
    using I = CpuInterface;
    using namespace sysreg;
    static constexpr Row kRows[] = {
        {"ICC_PMR_EL1",     ICC_PMR_EL1,     0, &I::read_pmr,               &I::write_pmr},
        {"ICC_IAR0_EL1",    ICC_IAR0_EL1,    0, &I::acknowledge,            nullptr},
        {"ICC_EOIR0_EL1",   ICC_EOIR0_EL1,   0, nullptr,                    &I::end},
        {"ICC_HPPIR0_EL1",  ICC_HPPIR0_EL1,  0, &I::read_highest,           nullptr},
        {"ICC_BPR0_EL1",    ICC_BPR0_EL1,    0, &I::read_bpr,               &I::write_bpr},
        {"ICC_AP0R0_EL1",   ICC_AP0R0_EL1,   0, &I::read_active_priorities, &I::write_active_priorities},
        {"ICC_AP1R0_EL1",   ICC_AP1R0_EL1,   1, &I::read_active_priorities, &I::write_active_priorities},
        {"ICC_DIR_EL1",     ICC_DIR_EL1,     0, nullptr,                    &I::write_dir},
        {"ICC_RPR_EL1",     ICC_RPR_EL1,     0, &I::read_running,           nullptr},
        {"ICC_SGI1R_EL1",   ICC_SGI1R_EL1,   1, nullptr,                    &I::write_sgi},
        {"ICC_ASGI1R_EL1",  ICC_ASGI1R_EL1,  1, nullptr,                    &I::write_sgi},
        {"ICC_SGI0R_EL1",   ICC_SGI0R_EL1,   0, nullptr,                    &I::write_sgi},
        {"ICC_IAR1_EL1",    ICC_IAR1_EL1,    1, &I::acknowledge,            nullptr},
        {"ICC_EOIR1_EL1",   ICC_EOIR1_EL1,   1, nullptr,                    &I::end},
        {"ICC_HPPIR1_EL1",  ICC_HPPIR1_EL1,  1, &I::read_highest,           nullptr},
        {"ICC_BPR1_EL1",    ICC_BPR1_EL1,    1, &I::read_bpr,               &I::write_bpr},
        {"ICC_CTLR_EL1",    ICC_CTLR_EL1,    0, &I::read_ctlr,              &I::write_ctlr},
        {"ICC_SRE_EL1",     ICC_SRE_EL1,     0, &I::read_sre,               &I::write_sre},
        {"ICC_IGRPEN0_EL1", ICC_IGRPEN0_EL1, 0, &I::read_group_enable,      &I::write_group_enable},
        {"ICC_IGRPEN1_EL1", ICC_IGRPEN1_EL1, 1, &I::read_group_enable,      &I::write_group_enable},
    };
    return kRows;
}
// clang-format on

namespace {

const CpuInterface::Row* row_of(SysReg reg) {
    const auto rows = CpuInterface::rows();
    const auto it = std::find_if(rows.begin(), rows.end(), [reg](const auto& row) { return row.reg == reg; });
    return it == rows.end() ? nullptr : &*it;
}

} // namespace

CpuInterface::Access CpuInterface::read(SysReg reg, ExceptionLevel el, Picoseconds t) {
    const Row* row = row_of(reg);
    if (!row) return {};
    if (!row->read || el == ExceptionLevel::el0) return {true, false, 0};
    return {true, true, (this->*row->read)(row->group, t)};
}

CpuInterface::Access CpuInterface::write(SysReg reg, std::uint64_t value, ExceptionLevel el, Picoseconds t) {
    const Row* row = row_of(reg);
    if (!row) return {};
    if (!row->write || el == ExceptionLevel::el0) return {true, false, 0};
    (this->*row->write)(row->group, value, t);
    return {true, true, 0};
}

std::optional<Offer> CpuInterface::highest(Picoseconds t) {
    std::optional<Offer> best;
    distributor_.for_each_offer(cpu_, [&](unsigned intid, const Interrupt& x) {
        if (x.visible_at > t || !group_enabled_[x.group1]) return;
        if (!best || x.priority < best->priority) best = Offer{intid, x.priority, x.group1}; // lowest INTID first
    });
    return best;
}

std::uint8_t CpuInterface::group_mask(bool group1) const {
    const unsigned point = group1 && !(ctlr_ & kCtlrCbpr) ? bpr_[1] : bpr_[0] + 1u;
    return static_cast<std::uint8_t>(0xffu << point);
}

std::uint8_t CpuInterface::running() const {
    const std::uint32_t active = active_priorities_[0] | active_priorities_[1];
    return active ? static_cast<std::uint8_t>(__builtin_ctz(active) * 8) : kIdle;
}

bool CpuInterface::signals(const Offer& offer) const {
    return offer.priority < pmr_ && (offer.priority & group_mask(offer.group1)) < running();
}

void CpuInterface::offers_changed(Picoseconds t, Picoseconds fall) { drive(t, fall); }

void CpuInterface::drive(Picoseconds t, Picoseconds fall) {
    drive(false, t, fall);
    drive(true, t, fall);
}

// The line is a function of time to come: high from the first moment at which the highest-priority visible interrupt is
// of this group and may be signalled.
void CpuInterface::drive(bool group1, Picoseconds t, Picoseconds fall) {
    Line& line = lines_[group1];
    if (!line.sink) return;
    Picoseconds rise = kNever;
    distributor_.for_each_offer(cpu_, [&](unsigned, const Interrupt& x) {
        const Picoseconds from = std::max(x.visible_at, t);
        if (from >= rise) return;
        const auto best = highest(from);
        if (best && best->group1 == group1 && signals(*best)) rise = from;
    });

    const auto say = [&line](bool level, Picoseconds when) {
        line.level = level;
        line.when = when;
        line.sink->set_level(level, when);
    };
    if (rise == kNever) {
        if (line.level) say(false, line.when > t ? t : fall);
        return;
    }
    if (!line.level) return say(true, rise);
    if (line.when > t) { // still low, a rise announced
        if (rise == line.when) return;
        say(false, t);
        return say(true, rise);
    }
    if (rise <= fall) return; // high, and no gap
    say(false, fall);
    say(true, rise);
}

void CpuInterface::write_pmr(unsigned, std::uint64_t value, Picoseconds t) {
    pmr_ = static_cast<std::uint8_t>(value) & kPriorityMask;
    drive(t, t);
}

std::uint64_t CpuInterface::acknowledge(unsigned group, Picoseconds t) {
    const auto best = highest(t);
    if (!best || best->group1 != (group == 1) || !signals(*best)) return kSpurious;
    active_priorities_[group] |= 1u << (best->priority & group_mask(best->group1)) / 8;
    distributor_.acknowledge(cpu_, best->intid, t);
    drive(t, t);
    return best->intid;
}

void CpuInterface::deactivate(std::uint64_t intid, Picoseconds t) {
    if (intid < kIntids) distributor_.set_active(cpu_, static_cast<unsigned>(intid), false, t);
}

void CpuInterface::end(unsigned group, std::uint64_t value, Picoseconds t) {
    const std::uint64_t intid = value & kIntidMask;
    if (intid >= kIntids) return; // special and unimplemented INTIDs have no effect
    std::uint32_t& active = active_priorities_[group];
    active &= active - 1; // priority drop: the lowest bit is the highest priority
    if (!(ctlr_ & kCtlrEoiMode)) deactivate(intid, t);
    drive(t, t);
}

void CpuInterface::write_dir(unsigned, std::uint64_t value, Picoseconds t) {
    if (ctlr_ & kCtlrEoiMode) deactivate(value & kIntidMask, t);
}

std::uint64_t CpuInterface::read_highest(unsigned group, Picoseconds t) {
    const auto best = highest(t);
    return best && best->group1 == (group == 1) ? best->intid : kSpurious;
}

std::uint64_t CpuInterface::read_bpr(unsigned group, Picoseconds) {
    if (group == 1 && ctlr_ & kCtlrCbpr) return std::min(bpr_[0] + 1, 7);
    return bpr_[group];
}

void CpuInterface::write_bpr(unsigned group, std::uint64_t value, Picoseconds t) {
    if (group == 1 && ctlr_ & kCtlrCbpr) return;
    bpr_[group] = std::max(static_cast<std::uint8_t>(value & 7), kMinBpr[group]);
    drive(t, t);
}

void CpuInterface::write_active_priorities(unsigned group, std::uint64_t value, Picoseconds t) {
    active_priorities_[group] = static_cast<std::uint32_t>(value);
    drive(t, t);
}

std::uint64_t CpuInterface::read_ctlr(unsigned, Picoseconds) { return kCtlrConstant | ctlr_; }

void CpuInterface::write_ctlr(unsigned, std::uint64_t value, Picoseconds t) {
    ctlr_ = static_cast<std::uint8_t>(value & (kCtlrCbpr | kCtlrEoiMode));
    drive(t, t);
}

std::uint64_t CpuInterface::read_sre(unsigned, Picoseconds) { return kSreConstant; }

void CpuInterface::write_group_enable(unsigned group, std::uint64_t value, Picoseconds t) {
    group_enabled_[group] = value & 1;
    drive(t, t);
    if (group == 1) distributor_.reroute_any(t);
}

// SGI registers: TargetList 15:0, Aff1 23:16, INTID 27:24, Aff2 39:32, IRM 40, RS 47:44, Aff3 55:48. An SGI reaches a
// core only if that core has it in the group asked for.
void CpuInterface::send_sgi(std::uint64_t value, bool group1, Picoseconds t) {
    const auto intid = static_cast<unsigned>(value >> 24 & 15);
    const auto send = [&](CpuId to) {
        if (distributor_.state(to, intid).group1 == group1) distributor_.set_pending(to, intid, true, t);
    };
    if (value >> 40 & 1) {
        for (unsigned c = 0; c < kCpus; ++c)
            if (c != cpu_.v) send(CpuId(c));
        return;
    }
    const auto cluster =
        static_cast<std::uint32_t>((value >> 48 & 0xff) << 24 | (value >> 32 & 0xff) << 16 | (value >> 16 & 0xff) << 8);
    const auto first = static_cast<std::uint32_t>((value >> 44 & 15) * 16);
    for (std::uint32_t n = 0; n < 16; ++n)
        if (value >> n & 1)
            if (const auto to = distributor_.find(cluster | (first + n))) send(*to);
}

} // namespace rkperf::gic

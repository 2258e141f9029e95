// SPDX-License-Identifier: Apache-2.0
#include "models/gic/distributor.h"

#include <algorithm>

namespace rkperf::gic {

namespace {

/// GICD_IROUTER holds Aff3 in bits 39:32.
constexpr std::uint32_t affinity_of_route(std::uint64_t route) {
    return static_cast<std::uint32_t>((route >> 32 & 0xff) << 24 | (route & 0xffffff));
}

} // namespace

Distributor::Distributor(const GicConfig& config) : config_(config) {
    asleep_.fill(true);
    for (auto& bank : private_)
        for (unsigned intid = 0; intid < kSgis; ++intid) bank[intid].edge = true;
}

std::optional<CpuId> Distributor::find(std::uint32_t affinity) const {
    const auto it = std::find(config_.affinity.begin(), config_.affinity.end(), affinity);
    if (it == config_.affinity.end()) return std::nullopt;
    return CpuId(static_cast<std::uint32_t>(it - config_.affinity.begin()));
}

Picoseconds Distributor::delay(unsigned intid) const {
    if (intid < kSgis) return config_.params.sgi_to_cpu;
    return is_private(intid) ? config_.params.ppi_to_cpu : config_.params.spi_to_cpu;
}

// An SPI for any core goes to the lowest-numbered one that participates: the GIC-600 chooses by its own load
// information, which is not published.
int Distributor::target(CpuId cpu, unsigned intid, const Interrupt& x) const {
    if (is_private(intid)) return static_cast<int>(cpu.v);
    if (x.route & gicd::kIrm) {
        for (unsigned c = 0; c < kCpus; ++c)
            if (!asleep_[c] && !excluded_[c] && listeners_[c] && listeners_[c]->participates())
                return static_cast<int>(c);
        return -1;
    }
    const auto found = find(affinity_of_route(x.route));
    return found ? static_cast<int>(found->v) : -1;
}

int Distributor::settle(CpuId cpu, unsigned intid, Picoseconds t) {
    Interrupt& x = at(cpu, intid);
    const bool eligible = x.pending() && x.enabled && !x.active && group_enabled(x.group1);
    const int wanted = eligible ? target(cpu, intid, x) : -1;
    const int now = offerable(wanted) ? wanted : -1;
    const std::uint64_t bit = std::uint64_t{1} << intid % 64;
    const int before = x.offered_to;
    if (now == before) {
        // A cause may arrive from a core whose local time is earlier.
        if (now >= 0) x.visible_at = std::min(x.visible_at, t + delay(intid));
        return -1;
    }
    if (before >= 0) offers_[static_cast<std::size_t>(before)][intid / 64] &= ~bit;
    x.offered_to = now;
    if (now >= 0) {
        offers_[static_cast<std::size_t>(now)][intid / 64] |= bit;
        x.visible_at = t + delay(intid);
    }
    return before;
}

void Distributor::refresh(CpuId cpu, unsigned intid, Picoseconds t) {
    const Picoseconds fall = t + delay(intid);
    const int loser = settle(cpu, intid, t);
    const int holder = at(cpu, intid).offered_to;
    for (const int c : {loser, holder})
        if (c >= 0 && listeners_[static_cast<std::size_t>(c)])
            listeners_[static_cast<std::size_t>(c)]->offers_changed(t, fall);
}

void Distributor::refresh_all(Picoseconds t) {
    for (unsigned c = 0; c < kCpus; ++c)
        for (unsigned intid = 0; intid < kPrivate; ++intid) refresh(CpuId(c), intid, t);
    for (unsigned intid = kPrivate; intid < kIntids; ++intid) refresh(CpuId(0), intid, t);
}

void Distributor::set_line(CpuId cpu, unsigned intid, bool level, Picoseconds t) {
    Interrupt& x = at(cpu, intid);
    if (level == x.line) return;
    if (x.edge && level) x.latch = true;
    x.line = level;
    refresh(cpu, intid, t);
}

void Distributor::set_pending(CpuId cpu, unsigned intid, bool pending, Picoseconds t) {
    at(cpu, intid).latch = pending;
    refresh(cpu, intid, t);
}

void Distributor::set_enabled(CpuId cpu, unsigned intid, bool enabled, Picoseconds t) {
    at(cpu, intid).enabled = enabled;
    refresh(cpu, intid, t);
}

void Distributor::set_active(CpuId cpu, unsigned intid, bool active, Picoseconds t) {
    at(cpu, intid).active = active;
    refresh(cpu, intid, t);
}

void Distributor::set_group1(CpuId cpu, unsigned intid, bool group1, Picoseconds t) {
    at(cpu, intid).group1 = group1;
    refresh(cpu, intid, t);
}

void Distributor::set_priority(CpuId cpu, unsigned intid, std::uint8_t priority, Picoseconds t) {
    at(cpu, intid).priority = priority;
    refresh(cpu, intid, t);
}

void Distributor::set_edge(CpuId cpu, unsigned intid, bool edge, Picoseconds t) {
    at(cpu, intid).edge = edge;
    refresh(cpu, intid, t);
}

void Distributor::set_route(unsigned intid, std::uint64_t route, Picoseconds t) {
    at(CpuId(0), intid).route = route;
    refresh(CpuId(0), intid, t);
}

void Distributor::set_groups_enabled(bool group0, bool group1, Picoseconds t) {
    group0_enabled_ = group0;
    group1_enabled_ = group1;
    refresh_all(t);
}

void Distributor::set_asleep(CpuId cpu, bool asleep, Picoseconds t) {
    asleep_[cpu.v] = asleep;
    refresh_all(t);
}

void Distributor::set_excluded(CpuId cpu, bool excluded, Picoseconds t) {
    excluded_[cpu.v] = excluded;
    reroute_any(t);
}

void Distributor::reroute_any(Picoseconds t) {
    for (unsigned intid = kPrivate; intid < kIntids; ++intid)
        if (at(CpuId(0), intid).route & gicd::kIrm) refresh(CpuId(0), intid, t);
}

void Distributor::acknowledge(CpuId cpu, unsigned intid, Picoseconds t) {
    Interrupt& x = at(cpu, intid);
    x.latch = false;
    x.active = true;
    settle(cpu, intid, t);
}

} // namespace rkperf::gic

// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/fast_port.h"

namespace rkperf::cpu {

void FastPort::attach(a64::MemPort* port, bool keep) {
    port_ = port;
    if (keep) return;
    // The port was elsewhere: nothing is known about its slots.
    filled_.fill(0);
    groups_.fill(0);
    for (a64::MemPort::Line& l : port_->lines) l.rtag = l.wtag = ~0ull;
}

void FastPort::fill(std::uint64_t va, std::uint8_t* host_line, mem::TlbEntry& page, mem::CacheLine& line,
                    bool writable) {
    const unsigned slot = a64::MemPort::slot(va);
    a64::MemPort::Line& l = port_->lines[slot];
    l.rtag = va & ~(kLineSize - 1);
    l.wtag = writable ? l.rtag : ~0ull;
    l.host = host_line;
    l.tlb_stamp = &page.stamp;
    l.line_stamp = &line.stamp;
    page.fast_lines |= std::uint64_t{1} << slot % kPerPage;
    const auto mark = static_cast<std::uint16_t>(slot + 1);
    line.fast_slot = line.fast_slot == 0 || line.fast_slot == mark ? mark : mem::CacheLine::kManySlots;
    filled_[slot / kPerPage] |= std::uint64_t{1} << slot % kPerPage;
    groups_[slot % kPerPage] = static_cast<std::uint16_t>(groups_[slot % kPerPage] | 1u << slot / kPerPage);
}

void FastPort::drop_line(const std::uint8_t* host_line, std::uint16_t fast_slot, bool write_only) {
    if (!port_ || fast_slot == 0) return;
    const auto take = [&](unsigned group, unsigned i) {
        a64::MemPort::Line& l = port_->lines[group * kPerPage + i];
        if (l.host != host_line || l.rtag == ~0ull) return;
        l.wtag = ~0ull;
        if (!write_only) drop(group, i);
    };
    if (fast_slot != mem::CacheLine::kManySlots) {
        const unsigned slot = fast_slot - 1u;
        return take(slot / kPerPage, slot % kPerPage);
    }
    // Only the bits above the page offset are unknown: one candidate slot per group.
    const unsigned i = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(host_line) >> kLineShift) % kPerPage;
    for (unsigned groups = groups_[i]; groups; groups &= groups - 1)
        take(static_cast<unsigned>(std::countr_zero(groups)), i);
}

void FastPort::drop_page(std::uint64_t vpn, std::uint64_t fast_lines) {
    if (!port_) return;
    const unsigned group = static_cast<unsigned>(vpn % kGroups);
    for (std::uint64_t bits = filled_[group] & fast_lines; bits; bits &= bits - 1) {
        const auto i = static_cast<unsigned>(std::countr_zero(bits));
        if (port_->lines[group * kPerPage + i].rtag >> kPageShift == vpn) drop(group, i);
    }
}

void FastPort::drop_writes(const std::uint8_t* host_page) {
    if (!port_) return;
    for (unsigned group = 0; group < kGroups; ++group)
        each(group, [&](a64::MemPort::Line& l, unsigned) {
            if (l.host >= host_page && l.host < host_page + kPageSize) l.wtag = ~0ull;
        });
}

void FastPort::drop_all() {
    if (!port_) return;
    for (unsigned group = 0; group < kGroups; ++group)
        each(group, [&](a64::MemPort::Line&, unsigned i) { drop(group, i); });
}

const std::uint8_t* FastPort::find(std::uint64_t va) const {
    const a64::MemPort::Line& l = port_->lines[a64::MemPort::slot(va)];
    return l.rtag == (va & ~(kLineSize - 1)) ? l.host : nullptr;
}

} // namespace rkperf::cpu

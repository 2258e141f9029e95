// SPDX-License-Identifier: Apache-2.0
#include "models/memory/dram.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace rkperf::mem {

Dram::Dram(sc_core::sc_module_name name, PhysAddr base, std::uint64_t bytes, const DramTiming& timing)
    : sc_module(name),
      socket("socket"),
      base_(base),
      bytes_(bytes),
      t_(timing),
      banks_(static_cast<std::size_t>(timing.channels) * timing.banks),
      channels_(timing.channels, Channel{.pins = SlotCalendar(timing.line)}) {
    if (!std::has_single_bit(timing.channels) || !std::has_single_bit(timing.banks) ||
        !std::has_single_bit(timing.row_bytes)) {
        throw std::invalid_argument("Dram: channels, banks and row size must be powers of two");
    }
    socket.register_b_transport(this, &Dram::b_transport);
}

Dram::Place Dram::place(PhysAddr pa) const {
    const std::uint64_t unit = (pa.v - base_.v) >> t_.channel_shift;
    // Higher address bits are folded in, so that power-of-two strides use all channels and banks.
    const std::uint64_t channel =
        (unit ^ unit >> 2 ^ unit >> 5 ^ unit >> 8 ^ unit >> 11 ^ unit >> 14 ^ unit >> 17 ^ unit >> 20) % t_.channels;
    const std::uint64_t rows = (unit / t_.channels << t_.channel_shift) / t_.row_bytes;
    const std::uint64_t row = rows / t_.banks;
    const std::uint64_t bank = (rows ^ rows >> 4 ^ rows >> 7 ^ rows >> 11) % t_.banks;
    return {.channel = static_cast<unsigned>(channel), .bank = static_cast<unsigned>(bank), .row = row};
}

// Banks of a channel are refreshed in turn, one every t_refi; channels are out of step. The turn is not the order of
// addresses, lest a stream follow the refreshes from bank to bank (real controllers put off the refresh of a busy bank).
std::uint64_t Dram::last_refresh(const Place& p, std::uint64_t at) const {
    const std::uint64_t round = t_.t_refi * t_.banks;
    const std::uint64_t turn = p.bank * 7 % t_.banks;
    const std::uint64_t offset = t_.t_refi * turn + t_.t_refi / t_.channels * p.channel;
    return at < offset ? 0 : (at - offset) / round * round + offset;
}

std::uint64_t Dram::after_refresh(const Place& p, std::uint64_t at) const {
    const std::uint64_t begun = last_refresh(p, at);
    return begun != 0 && at < begun + t_.t_rfc ? begun + t_.t_rfc : at;
}

std::uint64_t Dram::transfer(PhysAddr pa, std::uint64_t arrival, bool write) {
    const Place p = place(pa);
    Bank& b = banks_[p.channel * t_.banks + p.bank];
    std::uint64_t at = after_refresh(p, arrival);
    // A request from before the bank became busy belongs to a core that lags behind: it finds the bank idle.
    if (at >= b.busy_from && at < b.busy_until) at = b.busy_until;
    const std::uint64_t begun = at;
    const bool open = b.row != kClosed && at < b.used + t_.idle_close && last_refresh(p, at) <= b.used;
    if (open && b.row == p.row) {
        ++stats_.row_hits;
    } else {
        if (open) {
            ++stats_.row_conflicts;
            const std::uint64_t ras = b.activated + t_.t_ras;
            if (at < ras && at >= b.activated) at = ras;
            at += t_.t_rp;
        } else {
            ++stats_.row_closed;
        }
        b.activated = at;
        b.row = p.row;
        at += t_.t_rcd;
    }
    Channel& c = channels_[p.channel];
    const std::uint64_t data = c.pins.reserve(at + t_.rl);
    if (!write) {
        c.last_read = data;
    } else if (data < c.last_read + t_.write_queue && c.last_read < data + t_.write_queue) {
        // Writes go out in batches; what turning the pins around costs is shared by those of a batch.
        c.turning += t_.turnaround;
        if (c.turning >= t_.line) {
            c.turning -= t_.line;
            c.pins.reserve(data + t_.line);
        }
    }
    b.used = at;
    b.busy_from = begun;
    b.busy_until = at + t_.line;
    return data;
}

void Dram::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    const PhysAddr pa(payload.get_address());
    if (pa < base_ || pa.v - base_.v + kLineSize > bytes_) {
        payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
        return;
    }
    const std::uint64_t base = sc_core::sc_time_stamp().value();
    const std::uint64_t arrival = base + delay.value();
    const std::uint64_t data = transfer(pa, arrival + t_.controller / 2, payload.is_write());
    if (payload.is_write()) {
        ++stats_.writes;
        // Writes are queued; the requester waits only while the queue is full.
        const std::uint64_t room = arrival + t_.write_queue;
        delay = sc_core::sc_time::from_value(arrival - base + (data > room ? data - room : 0));
    } else {
        ++stats_.reads;
        delay = sc_core::sc_time::from_value(data + t_.line + t_.controller / 2 - base);
    }
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

} // namespace rkperf::mem

// SPDX-License-Identifier: Apache-2.0
// The DRAM: channels, banks with an open row each, per-bank refresh, and the data pins of each channel, which bound
// bandwidth for all cores together. Timing only; contents are in PhysicalMemory.
#pragma once

#include "models/memory/dram_timing.h"
#include "models/memory/slot_calendar.h"
#include "sim/base/types.h"

#include <tlm_utils/simple_target_socket.h>
#include <cstdint>
#include <systemc>
#include <tlm>
#include <vector>

namespace rkperf::mem {

class Dram : public sc_core::sc_module {
  public:
    struct Stats {
        std::uint64_t reads{}, writes{}, row_hits{}, row_closed{}, row_conflicts{};
    };
    /// Where a line is.
    struct Place {
        unsigned channel{}, bank{};
        std::uint64_t row{};
    };

    /// Answers addresses from `base` on, `bytes` of them.
    Dram(sc_core::sc_module_name name, PhysAddr base, std::uint64_t bytes, const DramTiming& timing = kLpddr4x2112);

    /// One line per transaction. Delay: in, local time of arrival; out, of the data (read), or of acceptance (write).
    tlm_utils::simple_target_socket<Dram> socket;

    Place place(PhysAddr pa) const;
    /// When the last refresh of a bank up to `at` began (ps; 0: there was none).
    std::uint64_t last_refresh(const Place& p, std::uint64_t at) const;
    const Stats& stats() const { return stats_; }
    const DramTiming& timing() const { return t_; }

  private:
    struct Bank {
        std::uint64_t row{kClosed};
        std::uint64_t activated{};
        std::uint64_t used{}; ///< last command
        std::uint64_t busy_from{}, busy_until{};
    };
    static constexpr std::uint64_t kClosed = ~std::uint64_t{0};

    struct Channel {
        SlotCalendar pins;
        std::uint64_t last_read{};
        std::uint64_t turning{}; ///< lost to changes of direction, not yet taken from the pins
    };

    void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
    std::uint64_t transfer(PhysAddr pa, std::uint64_t arrival, bool write);
    std::uint64_t after_refresh(const Place& p, std::uint64_t at) const;

    PhysAddr base_;
    std::uint64_t bytes_;
    DramTiming t_;
    std::vector<Bank> banks_;
    std::vector<Channel> channels_;
    Stats stats_;
};

} // namespace rkperf::mem

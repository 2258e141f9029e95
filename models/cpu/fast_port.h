// SPDX-License-Identifier: Apache-2.0
// Keeps a64::MemPort::lines true: fills entries for lines that hit in L1D and L1 DTLB, drops them when a line or page
// goes. Knows which slots are filled, so that dropping is cheap.
#pragma once

#include "models/a64/state.h"
#include "models/memory/hierarchy.h"

#include <array>
#include <bit>
#include <cstdint>

namespace rkperf::cpu {

class FastPort {
  public:
    /// Works on `port` from now on; its contents are trusted if `keep`, else dropped.
    void attach(a64::MemPort* port, bool keep);
    void detach() { port_ = nullptr; }
    a64::MemPort* port() { return port_; }

    /// Enters the line of `va`. Precondition: attached.
    void fill(std::uint64_t va, std::uint8_t* host_line, mem::TlbEntry& page, mem::CacheLine& line, bool writable);
    /// The line at `host_line` left the L1D (or lost write permission only). `fast_slot`: the line's.
    void drop_line(const std::uint8_t* host_line, std::uint16_t fast_slot, bool write_only);
    /// Of the page, those of the lines in `fast_lines`.
    void drop_page(std::uint64_t vpn, std::uint64_t fast_lines);
    /// No more fast writes to the physical page at `host_page`.
    void drop_writes(const std::uint8_t* host_page);
    void drop_all();
    /// Host address of the guest line of `va` if it may be read, else null.
    const std::uint8_t* find(std::uint64_t va) const;

  private:
    static constexpr unsigned kPerPage = kPageSize / kLineSize;
    static constexpr unsigned kGroups = a64::MemPort::kLines / kPerPage;
    static_assert(kPerPage == 64);

    template <class F>
    void each(unsigned group, F f) {
        for (std::uint64_t bits = filled_[group]; bits; bits &= bits - 1) {
            const auto i = static_cast<unsigned>(std::countr_zero(bits));
            f(port_->lines[group * kPerPage + i], i);
        }
    }
    void drop(unsigned group, unsigned i) {
        a64::MemPort::Line& l = port_->lines[group * kPerPage + i];
        l.rtag = l.wtag = ~0ull;
        filled_[group] &= ~(std::uint64_t{1} << i);
        groups_[i] = static_cast<std::uint16_t>(groups_[i] & ~(1u << group));
    }

    a64::MemPort* port_{};
    std::array<std::uint64_t, kGroups> filled_{};  ///< per group of 64 slots (one page's worth): slots in use
    std::array<std::uint16_t, kPerPage> groups_{}; ///< the same by line within the page: groups in which it is in use
    static_assert(kGroups <= 16);
};

} // namespace rkperf::cpu

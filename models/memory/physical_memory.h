// SPDX-License-Identifier: Apache-2.0
// Simulated DRAM contents. Host memory is taken only for pages that were touched.
#pragma once

#include "sim/base/types.h"

#include <cstddef>
#include <cstdint>

namespace rkperf::mem {

class PhysicalMemory {
  public:
    /// DRAM from physical address `base`, `bytes` long (multiples of 4 KiB). Reads of untouched memory give zeros.
    PhysicalMemory(PhysAddr base, std::uint64_t bytes);
    ~PhysicalMemory();
    PhysicalMemory(const PhysicalMemory&) = delete;
    PhysicalMemory& operator=(const PhysicalMemory&) = delete;

    PhysAddr base() const { return base_; }
    std::uint64_t size() const { return bytes_; }
    bool contains(PhysAddr pa, std::uint64_t n = 1) const { return pa >= base_ && pa.v - base_.v + n <= bytes_; }
    /// Host address of a byte of DRAM; stable for the life of this object. Precondition: contains(pa).
    std::uint8_t* host(PhysAddr pa) const { return host_ + (pa.v - base_.v); }
    PhysAddr phys(const void* host) const {
        return PhysAddr(base_.v + static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(host) - host_));
    }
    /// Gives a page's host memory back; it reads as zeros afterwards.
    void discard(PhysAddr page, std::uint64_t bytes);

  private:
    PhysAddr base_;
    std::uint64_t bytes_;
    std::uint8_t* host_;
};

} // namespace rkperf::mem

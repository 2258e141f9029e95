// SPDX-License-Identifier: Apache-2.0
// The virtual dynamic shared object: clocks that programs read without a system call, and the signal trampoline. As
// arch/arm64/kernel/vdso: two data pages [vvar] and, behind them, one page of an ELF file [vdso].
#pragma once

#include "sim/base/types.h"
#include "sim/os/mm/page_allocator.h"

#include <cstdint>

namespace rkperf::os {

class Kernel;

class Vdso {
  public:
    static constexpr std::uint64_t kDataPages = 2; ///< the second one is there for time namespaces only
    static constexpr std::uint64_t kTextPages = 1;
    static constexpr std::uint64_t kSigreturn = 0x450; ///< __kernel_rt_sigreturn, from the start of the ELF file

    explicit Vdso(Kernel& k);

    /// What a fault at page `index` of [vdso] maps.
    PhysAddr text(std::uint64_t index) const { return index < kTextPages ? text_ : PhysAddr(0); }
    /// The same for [vvar]; 0: nothing is there.
    PhysAddr data(std::uint64_t index) const { return index == 0 ? data_ : PhysAddr(0); }
    /// CLOCK_REALTIME was set: bytes of the data page change as update_vsyscall's do.
    void update();

  private:
    void write_data(std::uint32_t sequence);

    Kernel& os_;
    PhysAddr text_, data_;
    std::uint32_t sequence_{};
};

} // namespace rkperf::os

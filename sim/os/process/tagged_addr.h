// SPDX-License-Identifier: Apache-2.0
// Tagged addresses: the processor ignores the top byte of user addresses, the kernel only where it says so
// (Documentation/arm64/tagged-address-abi.rst).
#pragma once

#include "sim/os/task.h"

#include <linux/prctl.h>
#include <cerrno>

namespace rkperf::os {

/// untagged_addr: without the top byte if it is an address of the lower half, which bit 55 tells.
constexpr std::uint64_t untagged_addr(std::uint64_t addr) {
    return addr >> 55 & 1 ? addr : addr & 0x00ff'ffff'ffff'ffffull;
}

/// PR_TAGGED_ADDR_* of a task, for prctl and for the register set NT_ARM_TAGGED_ADDR_CTRL.
inline std::uint64_t get_tagged_addr_ctrl(const Task& t) { return t.tagged_addr ? PR_TAGGED_ADDR_ENABLE : 0; }
inline int set_tagged_addr_ctrl(Task& t, std::uint64_t ctrl) {
    if (ctrl & ~std::uint64_t{PR_TAGGED_ADDR_ENABLE}) return -EINVAL;
    t.tagged_addr = ctrl;
    return 0;
}

} // namespace rkperf::os

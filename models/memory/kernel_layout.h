// SPDX-License-Identifier: Apache-2.0
// Where the simulated kernel's own code and data lie. Nothing is stored there, as the kernel runs natively; but caches and
// TLBs hold their lines and pages. Physical places count from the start of the memory.
#pragma once

#include <cstdint>

namespace rkperf::mem::kernel_layout {

/// Text: the first 16 MiB from 2 MiB on (Linux's image on the RK3588 starts there), mapped at KIMAGE_VADDR with 48-bit
/// addresses; all else is seen through the linear map, below it in the upper half.
inline constexpr std::uint64_t kText = 0x200000, kTextBytes = 0x1000000;
inline constexpr std::uint64_t kImageVa = 0xffff800008000000, kLinearVa = 0xffff000000000000;

/// Stacks of the CPUs, then other data of each CPU. The kernel's code on one CPU has no data in common with another: how
/// far CPUs run ahead of each other would decide who waits for them.
inline constexpr std::uint64_t kStacks = kText + kTextBytes, kStackBytes = 0x4000;
inline constexpr std::uint64_t kData = kStacks + 0x100000, kDataBytes = 0x10000;

/// Translation tables that the walks for all this read.
inline constexpr std::uint64_t kTables = kData + 0x100000, kTableBytes = 0x20000;
inline constexpr std::uint64_t kEnd = kTables + kTableBytes;

} // namespace rkperf::mem::kernel_layout

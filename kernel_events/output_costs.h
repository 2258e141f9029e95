// SPDX-License-Identifier: Apache-2.0
// Instructions of writing records, beside the fixed costs of functions in kernel_symbols_perf.def. Fitted to overflow
// samples of a real Linux 6.1 arm64 that differ in one field: TID, TIME and PERIOD together 319, READ 110, a call chain
// 137 + 77 for each entry, 33 user registers 3,230, 8,192 bytes of stack 3,155. Of a sample of 1,848 with its IP only,
// 785 are outside of the handler proper (entry, exit, interrupt controller) and 546 are perf_event_output_forward's.
#pragma once

#include <cstdint>

namespace rkperf::ke::cost {

inline constexpr std::uint32_t kStep = 8;            ///< a few loads and stores between two points of interruption
inline constexpr std::uint32_t kReserve = 24;        ///< one round of the reservation loop
inline constexpr std::uint32_t kRaiseWakeup = 330;   ///< up to the self-interrupt
inline constexpr std::uint32_t kCopyWord = 1;        ///< each 8 bytes of one copy after the first
inline constexpr std::uint32_t kPrepareTid = 110;    ///< pid and tid in the namespace of the event's owner
inline constexpr std::uint32_t kPrepareTime = 89;    ///< the event's clock
inline constexpr std::uint32_t kUserRegs = 35;       ///< finding the user's registers and their ABI
inline constexpr std::uint32_t kRegister = 55;       ///< one register, beside its copy
inline constexpr std::uint32_t kCopyUserChunk = 178; ///< a piece of user memory that ends with a buffer page
inline constexpr std::uint32_t kCopyUserWord8 = 19;  ///< eighths of an instruction for each 8 bytes of it
inline constexpr std::uint32_t kFrame = 76;          ///< an entry of a call chain, beside its copy
inline constexpr std::uint32_t kAllocPage = 1000;    ///< a zeroed page
inline constexpr std::uint32_t kFreePage = 400;
/// A grace period of RCU was measured to take three ticks.
inline constexpr std::uint64_t kGracePeriodTicks = 3;

} // namespace rkperf::ke::cost

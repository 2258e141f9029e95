// SPDX-License-Identifier: Apache-2.0
// One instruction ready to execute: decoded operands, body, static timing, and how the core loops go about it. One host
// cache line.
#pragma once

#include "models/a64/insn.h"
#include "models/cpu/event_lanes.h"

#include <cstdint>

namespace rkperf::cpu {

/// Both cores fetch 128 bits at a time (TRMs 100442, 100798).
inline constexpr std::uint64_t kFetchBytes = 16;

class CoreBase;
struct DecodedOp;
/// What a threaded loop does for an operation at `pc`, all that follows included (threads.h).
using Handler = void (*)(CoreBase&, a64::CpuState&, const DecodedOp*, std::uint64_t pc);

/// How the core loop treats an operation.
enum class OpGroup : std::uint8_t {
    simple,  ///< cannot stop, no memory; one micro-operation, at most two operands and one result
    flags,   ///< the same for integer and compare operations with up to three operands and two results
    general, ///< cannot stop, no memory
    divide,  ///< as general, latency depends on the operands
    load,
    store, ///< atomics and DC ZVA too
    branch,
    system, ///< barriers, system registers, exceptions: everything that is rare and may stop
};

/// Slot of a pipeline's ready times that nobody reads: results in reg::none go there.
inline constexpr std::uint8_t kReadySink = a64::reg::count;
inline constexpr unsigned kReadySlots = a64::reg::count + 8;

/// Static timing of one operation, from a core's own tables. The meaning of `pipes` is the core's.
struct OpTiming {
    std::uint8_t latency{1};   ///< cycles from issue to result; loads: L1 hit, load to use
    std::uint8_t pipes{};      ///< mask of issue ports it may use
    std::uint8_t occupancy{1}; ///< cycles during which the port takes nothing else
    std::uint8_t uops{1};      ///< micro-operations on those ports
    std::uint8_t accumulate{}; ///< cycles by which the accumulator operand may come late if it comes from its like
    std::uint8_t second{};     ///< extra latency of the second result
    std::uint8_t detail{};     ///< core specific
    std::uint8_t dst[3]{kReadySink, kReadySink, kReadySink};
    std::uint8_t forward{}; ///< loads: latency if served by an older store that is still under way
};

struct alignas(64) DecodedOp {
    a64::Insn insn;
    OpTiming timing;
    OpGroup group{};
    std::uint8_t align_mask{}; ///< size of one element - 1: which addresses count as unaligned
    bool is_store : 1 {};
    bool heavy : 1 {}; ///< may make more data accesses than fast_weight says
    bool plain : 1 {}; ///< one micro-operation, at most two operands (store data apart) and one result (stores: none)
    Handler handler{};
};
static_assert(sizeof(DecodedOp) == 64);

/// A core's static timing of an instruction.
using TimingOf = OpTiming (*)(const a64::Insn&);

/// Where a block's notes for placing an operation are (threads.h): each of its operations has a slot of its own.
inline constexpr unsigned kNoteSlots = 16;
inline unsigned note_slot(const DecodedOp* op) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(op) / sizeof(DecodedOp)) % kNoteSlots;
}

/// Prepares the instruction `raw`; the handler is left out.
DecodedOp make_op(std::uint32_t raw, TimingOf timing_of);
/// Bit n: it feeds static lane n. `entry`: it begins a block; `pc_low`: its address within the page.
std::uint32_t static_lanes(const a64::Insn& insn, std::uint64_t pc_low, bool entry);
/// It reads memory and does no more with it: neither a prefetch nor an atomic, which both feed Lane::load.
bool reads_memory(const a64::Insn& insn);
/// Where reads_memory() stands beside an operation's static lanes.
inline constexpr unsigned kReads = 31;

} // namespace rkperf::cpu

// SPDX-License-Identifier: Apache-2.0
// The pipelines of the simple configuration and of fast-forward: one instruction per cycle.
#pragma once

#include "models/cpu/code_cache.h"
#include "models/cpu/decoded_op.h"
#include "models/cpu/stall_counts.h"

#include <cstdint>

namespace rkperf::cpu {

class SimplePipe {
  public:
    static constexpr bool kSimple = true; ///< predicts everything right
    static constexpr bool kReplays = false, kReadsAddresses = false;
    static constexpr bool more_beats(bool, unsigned, std::uint64_t) { return false; }

    explicit SimplePipe(StallCounts&) {}
    void restart(std::uint64_t cycle) { cycle_ = cycle; }
    void enter_block(unsigned, BlockPlace) {}
    std::uint64_t fetch_at() const { return cycle_; }
    void fetch_stall(std::uint64_t, Lane) {}
    void simple(const DecodedOp&) { ++cycle_; }
    void flags(const DecodedOp&) { ++cycle_; }
    void general(const DecodedOp&) { ++cycle_; }
    void divide(const DecodedOp&, unsigned) { ++cycle_; }
    std::uint64_t begin(const DecodedOp&) const { return cycle_; }
    std::uint64_t begin_system(const DecodedOp&) const { return cycle_; }
    void load(const DecodedOp&, std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t) { ++cycle_; }
    void store(const DecodedOp&, std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t) { ++cycle_; }
    void fault(std::uint64_t) {}
    void system(const DecodedOp&, std::uint64_t) { ++cycle_; }
    std::uint64_t branch(const DecodedOp&) { return ++cycle_; }
    void mispredict(std::uint64_t) {}
    void taken(unsigned) {}
    std::uint64_t wrong_path(std::uint64_t) const { return 0; }
    std::uint64_t horizon() const { return cycle_; }
    std::uint64_t retired() const { return cycle_; }
    std::uint64_t ceiling() const { return cycle_; }
    std::uint64_t least_ceiling(std::uint64_t) const { return cycle_; }
    unsigned mispredict_penalty() const { return 0; }

  protected:
    std::uint64_t cycle_{};
};

/// The pipeline of what is not timed at all (ExecutionMode).
class InstructionCounter : public SimplePipe {
  public:
    using SimplePipe::SimplePipe;
    void take_back() { --cycle_; }
    void advance(unsigned instructions) { cycle_ += instructions; }
};

} // namespace rkperf::cpu

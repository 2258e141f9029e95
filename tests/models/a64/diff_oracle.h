// SPDX-License-Identifier: Apache-2.0
// Unicorn (QEMU's TCG) as the other opinion on one instruction.
#pragma once

#include "models/a64/state.h"

#include <array>
#include <cstdint>
#include <memory>

namespace rkperf::a64::test {

/// What an EL0 instruction can see and change, without memory.
struct ArchState {
    std::array<std::uint64_t, 31> x{};
    std::uint64_t sp{}, pc{};
    std::array<Vec, 32> v{};
    std::uint32_t nzcv{}, fpcr{}, fpsr{};
    std::uint64_t tpidr_el0{}, tpidrro_el0{};
};

enum class Outcome : std::uint8_t { done, svc, brk, undefined, fault, other };
const char* name_of(Outcome o);

struct OracleResult {
    Outcome outcome{};
    std::uint64_t fault_va{};
    int detail{}; ///< Unicorn's error or exception number, for reports
};

class Oracle {
  public:
    // Guest memory: two writable pages and a read-only one, then nothing; code is readable. Not at round addresses, which
    // are frequent operands: a branch must not land in the code by chance.
    static constexpr std::uint64_t kData = 0x2b7c4000, kCode = 0x4d5a6000;
    static constexpr std::uint64_t kWritable = 2 * kPageSize, kDataBytes = 3 * kPageSize, kCodeBytes = 1u << 20;

    Oracle();
    ~Oracle();
    Oracle(const Oracle&) = delete;
    Oracle& operator=(const Oracle&) = delete;

    std::uint8_t* data();
    std::uint8_t* code();
    /// A place in the code region at which nothing has run yet; the instruction is stored there.
    std::uint64_t place(std::uint32_t raw);
    /// Executes the instruction at `state.pc`, placed before; the state afterwards in `state`.
    OracleResult run(ArchState& state);
    /// Executes a branch alone in the page of `state.pc`, anywhere; it is done wherever it goes.
    OracleResult run_branch(std::uint32_t raw, ArchState& state);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rkperf::a64::test

// SPDX-License-Identifier: Apache-2.0
// One run of a program: its registers, stack and context, and the helpers it calls.
#pragma once

#include "kernel_events/bpf/bpf.h"

#include <cstdint>
#include <vector>

namespace rkperf::ke {

/// Where a program sees its memory: the upper bits of an address say what it is.
namespace bpf_address {
inline constexpr unsigned kRegionBits = 32;
inline constexpr std::uint64_t kStack = 0x10000, kContext = 0x10001, kMaps = 0x10002, kMapValues = 0x10100;
/// Distance of the frame pointers of caller and callee.
inline constexpr std::uint64_t kFrameStack = 512;
} // namespace bpf_address

class BpfRun {
  public:
    BpfRun(Bpf& bpf, BpfProg& prog, const BpfContext& context);
    std::uint64_t run();

  private:
    void fill_context();
    /// Host memory behind an address; null: there is none. What the verifier has passed stays inside.
    std::uint8_t* memory(std::uint64_t address, std::uint64_t size);
    std::uint64_t load(std::uint64_t address, unsigned size);
    void store(std::uint64_t address, std::uint64_t v, unsigned size);
    void atomic(const bpf_insn& i, unsigned size);
    std::uint64_t call(std::int32_t helper); ///< arguments in R1 to R5 (helper_calls.cpp)
    BpfProg* tail_call();                    ///< null: no program there
    BpfMap* map(std::uint64_t address);
    std::uint32_t map_index(std::uint64_t address) const;
    std::uint64_t map_helper(std::int32_t helper);
    std::int64_t probe_read(std::uint64_t to, std::uint64_t size, std::uint64_t from, bool user, bool string);
    std::int64_t trace_printk();
    PerfEvent* event_of(BpfMap& map, std::uint64_t flags, std::int64_t& error);
    std::int64_t perf_event_output();
    std::int64_t perf_event_read_value(PerfEvent* event, std::uint64_t buffer, std::uint64_t size, std::int64_t error);
    std::int64_t get_stack();

    Bpf& bpf;
    BpfProg* prog;
    const BpfContext& context;
    const int cpu;
    std::uint64_t r[11]{};
    std::uint8_t stack[bpf_address::kFrameStack * 8]{};
    std::vector<std::uint8_t> ctx;
};

} // namespace rkperf::ke

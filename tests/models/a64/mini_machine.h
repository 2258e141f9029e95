// SPDX-License-Identifier: Apache-2.0
// Just enough of a machine to run a static program on the instruction bodies: flat memory, a decode cache, and a handful
// of system calls. No kernel, no timing.
#pragma once

#include "models/a64/insn.h"
#include "tests/models/a64/flat_memory.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rkperf::a64::test {

class MiniMachine {
  public:
    /// Loads the program; throws std::runtime_error if it is not a static AArch64 ELF file.
    explicit MiniMachine(const std::string& path);
    /// Runs until exit, at most `max_instructions`. False if that was not enough or the program stopped in another way;
    /// `error` says how.
    bool run(std::uint64_t max_instructions);

    std::string output; ///< what the program wrote to descriptors 1 and 2
    std::string error;  ///< why run() gave up
    int exit_status = -1;
    std::uint64_t instructions = 0;
    CpuState state;

  private:
    static constexpr std::uint64_t kStackTop = 0x7ffff0000000, kStackBytes = 1u << 20;
    static constexpr std::uint64_t kHeapBytes = 16u << 20, kMmapBase = 0x7f0000000000, kMmapBytes = 16u << 20;

    void load(const std::string& path);
    void build_stack(const std::string& path);
    void system_call();
    bool copy_out(std::uint64_t va, std::uint64_t bytes, std::string& to);

    struct Memory : FlatMemory {
        using FlatMemory::FlatMemory;
        // A program may read its identification registers (as Linux emulates them); the dynamic loader's choice of
        // string functions depends on them.
        SysRegOutcome read_sysreg(SysReg reg, std::uint64_t& value) override;
    };

    Memory memory_{state};
    std::vector<std::vector<std::uint8_t>> storage_;
    std::uint64_t entry_ = 0, program_headers_ = 0, program_header_count_ = 0;
    std::uint64_t text_base_ = 0;
    std::vector<Insn> code_; ///< decoded when first executed (fn null before)
    std::vector<std::uint8_t>* text_ = nullptr;
    std::uint64_t heap_base_ = 0, heap_end_ = 0, mmap_next_ = kMmapBase;
    bool running_ = false;
};

} // namespace rkperf::a64::test

// SPDX-License-Identifier: Apache-2.0
// A state over three pages for tests of single instructions written by hand.
#pragma once

#include "models/a64/insn.h"
#include "tests/models/a64/flat_memory.h"

#include <array>
#include <vector>

namespace rkperf::a64::test {

/// Page 0 writable, page 1 read-only, page 2 absent.
struct Bench {
    static constexpr std::uint64_t kBase = 0x10000, kReadOnly = kBase + kPageSize, kAbsent = kBase + 2 * kPageSize;

    CpuState state;
    FlatMemory memory{state};
    std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(2 * kPageSize);

    Bench() {
        memory.map(kBase, bytes.data(), kPageSize, true);
        memory.map(kReadOnly, bytes.data() + kPageSize, kPageSize, false);
        for (std::size_t n = 0; n < bytes.size(); ++n) bytes[n] = static_cast<std::uint8_t>(n * 37 + 11);
        for (unsigned n = 0; n < 31; ++n) state.x[n] = 0x1111111111111111u * (n + 1);
        for (unsigned n = 0; n < 32; ++n) state.v[n].d[0] = n, state.v[n].d[1] = ~std::uint64_t{n};
        state.x[kSp] = kBase + 0x100;
        state.pc = 0x400000;
    }
    /// Executes one instruction as a core would.
    Stop run(std::uint32_t raw) {
        state.stop = Stop::none;
        state.branch_taken = false;
        const Insn insn = decode(raw);
        insn.fn(state, insn);
        if (state.stop == Stop::none && !state.branch_taken) state.pc += 4;
        return state.stop;
    }
    /// Everything architectural but stop and fault.
    struct Picture {
        std::array<std::uint64_t, 31> x;
        std::uint64_t sp, pc;
        std::uint32_t nzcv;
        std::array<std::array<std::uint64_t, 2>, 32> v;
        std::vector<std::uint8_t> bytes;
        bool operator==(const Picture&) const = default;
    };
    Picture picture() const {
        Picture p{};
        for (unsigned n = 0; n < 31; ++n) p.x[n] = state.x[n];
        for (unsigned n = 0; n < 32; ++n) p.v[n] = {state.v[n].d[0], state.v[n].d[1]};
        p.sp = state.x[kSp];
        p.pc = state.pc;
        p.nzcv = state.nzcv;
        p.bytes = bytes;
        return p;
    }
};

} // namespace rkperf::a64::test

// SPDX-License-Identifier: Apache-2.0
// The kernel functions that the simulated kernel names: what samples in the kernel, kernel call chains and
// /proc/kallsyms show, and what entering each one costs.
#pragma once

#include <cstdint>
#include <string_view>

namespace rkperf {

/// X(name, instructions): instructions charged on entry, callees not included.
enum class KernelSymbol : std::uint16_t {
#define X(name, instructions) name,
#include "kernel_events/kernel_symbols.def"
#undef X
    count_
};

struct KernelSymbolInfo {
    std::string_view name;
    std::uint32_t instructions;
};

inline constexpr KernelSymbolInfo kKernelSymbols[] = {
#define X(name, instructions) {#name, instructions},
#include "kernel_events/kernel_symbols.def"
#undef X
};

constexpr const KernelSymbolInfo& info(KernelSymbol s) { return kKernelSymbols[static_cast<unsigned>(s)]; }

} // namespace rkperf

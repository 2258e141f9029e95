// SPDX-License-Identifier: Apache-2.0
// The kernel functions that the simulated kernel names: what samples in the kernel, kernel call chains and
// /proc/kallsyms show, and what entering each one costs.
#pragma once

#include <cstdint>
#include <string_view>

namespace rkperf {

/// The functions of the system calls: what they do is charged by those that they call.
inline constexpr std::uint32_t kSyscallFunctionCost = 10;

/// X(name, instructions): instructions charged on entry, callees not included. Behind them the functions of the system calls.
enum class KernelSymbol : std::uint16_t {
#define X(name, instructions) name,
#include "kernel_events/kernel_symbols.def"
#undef X
#define X(nr, name, id, params) __arm64_sys_##name,
#include "kernel_events/trace/syscall_events.def"
#undef X
    count_
};

/// The function of a system call: its argument is the address of the registers saved at the entry from EL0.
constexpr bool takes_pt_regs(KernelSymbol s) {
    return s >= KernelSymbol::__arm64_sys_io_setup && s < KernelSymbol::count_; // the first of syscall_events.def
}

struct KernelSymbolInfo {
    std::string_view name;
    std::uint32_t instructions;
};

inline constexpr KernelSymbolInfo kKernelSymbols[] = {
#define X(name, instructions) {#name, instructions},
#include "kernel_events/kernel_symbols.def"
#undef X
#define X(nr, name, id, params) {"__arm64_sys_" #name, kSyscallFunctionCost},
#include "kernel_events/trace/syscall_events.def"
#undef X
};

constexpr const KernelSymbolInfo& info(KernelSymbol s) { return kKernelSymbols[static_cast<unsigned>(s)]; }

} // namespace rkperf

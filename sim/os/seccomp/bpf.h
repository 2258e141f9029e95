// SPDX-License-Identifier: Apache-2.0
// Classic BPF as seccomp takes it (linux/filter.h, linux/seccomp.h): what a program may be, and what it returns.
#pragma once

#include <cstdint>
#include <span>

namespace rkperf::os::bpf {

/// struct sock_filter.
struct Insn {
    std::uint16_t code;
    std::uint8_t jt, jf;
    std::uint32_t k;
};
static_assert(sizeof(Insn) == 8);

inline constexpr unsigned kMaxInsns = 4096; ///< BPF_MAXINSNS
inline constexpr unsigned kMemWords = 16;   ///< BPF_MEMWORDS

inline constexpr std::uint32_t kAuditArchAarch64 = 0xc00000b7; ///< AUDIT_ARCH_AARCH64

/// struct seccomp_data: what a program looks at.
struct SeccompData {
    std::int32_t nr;
    std::uint32_t arch;
    std::uint64_t instruction_pointer;
    std::uint64_t args[6];
};
static_assert(sizeof(SeccompData) == 64);

/// Every instruction is one that seccomp allows, every path ends in a return, every load of a memory word follows a store
/// (bpf_check_classic, seccomp_check_filter).
bool valid(std::span<const Insn> program);

/// Runs a valid program. `executed`: instructions that took.
std::uint32_t run(std::span<const Insn> program, const SeccompData& data, unsigned& executed);

} // namespace rkperf::os::bpf

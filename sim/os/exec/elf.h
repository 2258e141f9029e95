// SPDX-License-Identifier: Apache-2.0
// Reads the headers of an AArch64 ELF executable. Pure: bytes in, description or reason out; never trusts the file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rkperf::os {

struct ElfSegment {
    std::uint64_t vaddr{}, memsz{}, offset{}, filesz{};
    bool read{}, write{}, exec{};
};

struct ElfImage {
    bool position_independent{};
    std::uint64_t entry{};
    std::uint64_t phoff{};
    unsigned phnum{};
    std::vector<ElfSegment> segments; ///< PT_LOAD, ascending addresses, page ranges disjoint
    std::string interpreter;          ///< PT_INTERP, empty for a static program
    bool exec_stack{};
    std::uint64_t lowest() const;       ///< page that holds the first byte
    std::uint64_t highest() const;      ///< end of the last segment
    std::uint64_t phdr_address() const; ///< where the program headers are mapped (without bias), 0 if they are not
};

/// Why a file is not accepted.
struct ElfError {
    int errno_value{};  ///< what execve returns: ENOEXEC, EINVAL, ENOMEM
    std::string reason; ///< for a person: "not an ELF file", ...
};

/// Reads `n` bytes at `offset`; false if the file does not have them.
using ElfReader = std::function<bool(std::uint64_t offset, std::span<std::uint8_t> to)>;

/// 0 on success; otherwise error.errno_value (positive) with error filled.
int read_elf(const ElfReader& read, std::uint64_t file_size, ElfImage& image, ElfError& error);

} // namespace rkperf::os

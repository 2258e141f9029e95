// SPDX-License-Identifier: Apache-2.0
// Names of guest addresses, from the symbol tables of the ELF files that a task has mapped.
#pragma once

#include "sim/os/kernel.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rkperf::soc {

struct ElfSymbol {
    std::uint64_t start{}, size{}; ///< size 0: up to the next one
    std::string name;
};

/// Functions of an AArch64 ELF file, by the file offset at which their code lies, ascending. Empty if the file has no
/// symbol table or is not such a file.
std::vector<ElfSymbol> read_elf_functions(const std::string& host_path);

class GuestSymbols {
  public:
    /// `host_path`: the host's name of a guest path.
    using HostPath = std::function<std::optional<std::string>(const std::string& guest)>;
    GuestSymbols(os::Kernel& kernel, HostPath host_path) : kernel_(kernel), host_path_(std::move(host_path)) {}
    /// "main+0x14", or empty.
    std::string name(const ke::TaskBase& task, std::uint64_t address);

  private:
    os::Kernel& kernel_;
    HostPath host_path_;
    std::map<std::string, std::vector<ElfSymbol>> files_;
};

} // namespace rkperf::soc

// SPDX-License-Identifier: Apache-2.0
// GNU objdump's reading of instruction words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rkperf::a64::test {

/// True if the cross binutils are installed.
bool have_objdump();
/// The mnemonic of each word as `objdump -M no-aliases` prints it; ".inst" where it knows none. Throws on failure.
std::vector<std::string> objdump_mnemonics(std::span<const std::uint32_t> words);
/// Words of all executable code in an object, archive or program, with objdump's mnemonics.
struct CodeWord {
    std::uint32_t raw;
    std::string mnemonic;
    bool operator<(const CodeWord& o) const { return raw < o.raw; }
};
/// Each word once.
std::vector<CodeWord> objdump_code(const std::string& path);

} // namespace rkperf::a64::test

// SPDX-License-Identifier: Apache-2.0
#include "tests/models/a64/objdump.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

namespace rkperf::a64::test {
namespace {

constexpr const char* kObjdump = "aarch64-linux-gnu-objdump";

/// Calls `f(raw, mnemonic)` for each instruction line "ADDRESS:\tWORD \tMNEMONIC[\tOPERANDS]" of a command's output.
template <class F>
void for_each_line(const std::string& command, F f) {
    FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) throw std::runtime_error("cannot run " + command);
    char line[512];
    while (std::fgets(line, sizeof line, pipe)) {
        char* tab = std::strchr(line, '\t');
        if (!tab || tab == line || tab[-1] != ':') continue;
        char* end = nullptr;
        const unsigned long raw = std::strtoul(tab + 1, &end, 16);
        char* mnemonic = std::strchr(end, '\t');
        if (!mnemonic) continue;
        ++mnemonic;
        mnemonic[std::strcspn(mnemonic, "\t\n ")] = 0;
        f(static_cast<std::uint32_t>(raw), mnemonic);
    }
    if (pclose(pipe) != 0) throw std::runtime_error(command + " failed");
}

} // namespace

bool have_objdump() { return std::system("command -v aarch64-linux-gnu-objdump >/dev/null 2>&1") == 0; }

std::vector<std::string> objdump_mnemonics(std::span<const std::uint32_t> words) {
    const auto path = std::filesystem::temp_directory_path() / ("rkperf_words_" + std::to_string(getpid()) + ".bin");
    {
        std::ofstream file(path, std::ios::binary);
        file.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size_bytes()));
    }
    std::vector<std::string> out;
    for_each_line(fmt::format("{} -D -z -b binary -m aarch64 -M no-aliases {}", kObjdump, path.string()),
                  [&](std::uint32_t, const char* mnemonic) { out.emplace_back(mnemonic); });
    std::filesystem::remove(path);
    if (out.size() != words.size()) throw std::runtime_error("objdump left out lines");
    return out;
}

std::vector<CodeWord> objdump_code(const std::string& path) {
    std::set<CodeWord> words;
    for_each_line(fmt::format("{} -d -M no-aliases {}", kObjdump, path), [&](std::uint32_t raw, const char* mnemonic) {
        words.insert({raw, mnemonic});
    });
    return {words.begin(), words.end()};
}

} // namespace rkperf::a64::test

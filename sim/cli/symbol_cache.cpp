// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/symbol_cache.h"

#include "sim/os/kernel.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace rkperf::cli {

std::string store_kernel_symbols() {
    namespace fs = std::filesystem;
    const char* home = std::getenv("HOME");
    if (!home || !*home) return {};
    std::string id;
    for (const std::uint8_t b : os::Kernel::build_id()) id += fmt::format("{:02x}", b);
    // Layout of perf's cache: a folder per name and build id, and a link per build id.
    const fs::path cache = fs::path(home) / ".debug";
    const fs::path folder = cache / "[kernel.kallsyms]" / id;
    const fs::path link = cache / ".build-id" / id.substr(0, 2) / id.substr(2);
    std::error_code error;
    if (fs::exists(link / "kallsyms", error)) return {};
    fs::create_directories(folder, error);
    if (!error) fs::create_directories(link.parent_path(), error);
    if (error)
        return fmt::format("the kernel's symbols are not in perf's cache: {}: {}", cache.string(), error.message());
    std::ofstream(folder / "kallsyms") << os::Kernel::kallsyms(true);
    fs::remove(link, error);
    fs::create_directory_symlink(fs::path("../../[kernel.kallsyms]") / id, link, error);
    if (error || !fs::exists(link / "kallsyms"))
        return fmt::format("the kernel's symbols are not in perf's cache: {} cannot be written", link.string());
    return {};
}

} // namespace rkperf::cli

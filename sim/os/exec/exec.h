// SPDX-License-Identifier: Apache-2.0
// execve(2), and the first program of a run.
#pragma once

#include "sim/os/kernel.h"

#include <string>
#include <vector>

namespace rkperf::os {

/// Replaces current's program. Returns only on failure (negative errno); on success it returns 0 with the new registers
/// in place.
std::int64_t do_execve(Kernel& k, Task& t, FileHandle file, const std::string& path, std::vector<std::string> argv,
                       std::vector<std::string> envp);

/// AT_HWCAP of the Cortex-A55 and Cortex-A76 (facts: cpuinfo of RK3588 boards).
std::uint64_t elf_hwcap();

} // namespace rkperf::os

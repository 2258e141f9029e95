// SPDX-License-Identifier: Apache-2.0
// Descriptors that stand for a process (pidfd_open(2)).
#pragma once

#include "sim/os/fs/file.h"

namespace rkperf::os {

FileHandle make_pidfd(Kernel& k, Task& leader, std::uint32_t flags);
bool is_pidfd(const File& file);
/// The leader of the process behind a pidfd, a zombie included; null for other files, and when it has been reaped.
Task* pidfd_task(const File& file);

} // namespace rkperf::os

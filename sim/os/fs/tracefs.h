// SPDX-License-Identifier: Apache-2.0
// tracefs at /sys/kernel/tracing, and debugfs, which shows it again at /sys/kernel/debug/tracing.
#pragma once

#include "sim/os/fs/vfs_impl.h"

namespace rkperf::os {

void add_tracefs(VfsImpl& vfs, Kernel& kernel);

} // namespace rkperf::os

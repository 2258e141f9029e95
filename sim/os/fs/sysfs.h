// SPDX-License-Identifier: Apache-2.0
// /sys: the skeleton and what describes the CPUs.
#pragma once

#include "sim/os/fs/vfs_impl.h"

namespace rkperf::os {

void add_sysfs(VfsImpl& vfs, Kernel& kernel);

} // namespace rkperf::os

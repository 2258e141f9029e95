// SPDX-License-Identifier: Apache-2.0
// File systems that a program may mount beside cgroup2: tmpfs, ramfs, proc, sysfs, tracefs, debugfs.
#pragma once

#include "sim/os/fs/vfs_impl.h"

namespace rkperf::os {

void add_mount_types(VfsImpl& vfs, Kernel& kernel);

} // namespace rkperf::os

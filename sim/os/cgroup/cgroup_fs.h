// SPDX-License-Identifier: Apache-2.0
// The cgroup2 file system: folders are cgroups.
#pragma once

#include "sim/os/cgroup/cgroup.h"
#include "sim/os/fs/vfs_impl.h"

namespace rkperf::os {

inline constexpr std::uint64_t kCgroup2Magic = 0x63677270;

/// Mounts it at /sys/fs/cgroup and makes the type known to mount(2).
void add_cgroupfs(VfsImpl& vfs, Kernel& kernel);
/// The cgroup whose folder an open file is; null for every other file.
CgroupPtr cgroup_of(File& file);
CgroupPtr cgroup_of(const Node& node);

} // namespace rkperf::os

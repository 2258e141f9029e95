// SPDX-License-Identifier: Apache-2.0
// Character devices: the memory devices, the terminal, and the command's own standard streams.
#pragma once

#include "sim/os/fs/file_kinds.h"

namespace rkperf::os {

/// open(2) of a character device by number; -ENXIO if there is none behind it.
int open_char_device(const DentryPtr& name, std::uint64_t rdev, std::uint32_t flags, FileHandle& out);

/// A stream of the host's command. A terminal stays one; whatever else it is, the guest sees a pipe, so that counts
/// do not depend on where output goes. Standard input from a regular file is a file that can be sought.
FileHandle make_host_stream(FsServices& s, int host_fd);

/// A row of /dev.
struct DeviceInfo {
    const char* name;
    std::uint32_t mode;
    std::uint32_t major, minor;
};
std::span<const DeviceInfo> char_devices();

} // namespace rkperf::os

// SPDX-License-Identifier: Apache-2.0
// Files that the driver core gives to every device and bus in sysfs, whatever they are.
#pragma once

#include "sim/os/fs/attr_tree.h"

namespace rkperf::os {

/// `uevent` and `power/` of a device without power management; `dir` ends with a slash.
void add_device_files(AttrFs& fs, const std::string& dir);
/// `uevent`, `drivers_autoprobe` and `drivers_probe` of a bus without drivers.
void add_bus_files(AttrFs& fs, const std::string& dir);

} // namespace rkperf::os

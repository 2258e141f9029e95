// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/os/fs/services.h"

#include <memory>

namespace rkperf::os {

std::unique_ptr<FsServices> make_kernel_services(Kernel& kernel);

} // namespace rkperf::os

// SPDX-License-Identifier: Apache-2.0
// Leaves the simulated kernel's symbols where the host's perf looks for those of a recorded kernel, as perf record does
// with the symbols of the kernel it runs on: $HOME/.debug, by build id.
#pragma once

#include <string>

namespace rkperf::cli {

/// Does nothing without a home directory. Returns an empty string, or one sentence on why the symbols were not stored.
std::string store_kernel_symbols();

} // namespace rkperf::cli
